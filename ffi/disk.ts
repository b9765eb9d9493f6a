/**
 * A folder and its files, as the WebAssembly kernel needs them: kernel/log/disk.hpp in TypeScript.
 *
 * @module
 */

/** How a file is opened. The numbers are those of `OpenFile` in kernel/log/disk.hpp. */
export const FRESH = 0;
/** To be read and written. */
export const WRITE = 1;

/** An open file of a folder. What fails, throws. */
export interface DiskFile {
  /** How many bytes it has. */
  size(): number;
  /** Reads what there is from `at` on, as much as fits; returns how many bytes that is, 0 at the end. */
  read(into: Uint8Array, at: number): number;
  /** Writes some of the bytes, at least one; returns how many. */
  write(bytes: Uint8Array, at: number): number;
  /** Returns once all is on the disk. */
  sync(): void;
  /** Makes it so long. */
  truncate(bytes: number): void;
  /** Closes it. */
  close(): void;
}

/** A folder: that of a durable replay, or of tables. What fails, throws. kernel/log/disk.hpp says what each call promises. */
export interface DiskFolder {
  /** Opens a file; {@linkcode FRESH} makes it, and throws where it is there. */
  open(name: string, how: number): DiskFile;
  /** Takes the place of a file `to` in one step. */
  rename(from: string, to: string): void;
  /** Removes a file. */
  remove(name: string): void;
  /** Gives a file a second name, in another folder. */
  link(name: string, folder: string): void;
  /** The files, and how many bytes each has. */
  list(): (readonly [name: string, bytes: number])[];
  /** Returns once the names of new files are on the disk. */
  sync(): void;
  /** Throws where the folder was removed. */
  find(): void;
  /** How many bytes are free. */
  freeBytes(): number;
  /** Takes the folder for this program's thread alone; false where another has it. */
  lock(name: string): boolean;
  /** How many files of the next segments can be made now. */
  filesAhead(): number;
  /** Gives the lock back. */
  close(): void;
}

/** An error with the name of a system's number. */
export function systemError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
