/**
 * The folder of something durable, and the file in it that says what that is: a JSON with a format, the library's version, a configuration and a sum of all three.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { reasonOf, ReplayError } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import { browserFolder } from "../ffi/browser_folder.ts";
import type { SnapshotKind } from "./frames.ts";
import {
  attemptOn,
  checkPermitted,
  filesFor,
  pathOf,
  unlessMissing,
  writeNewFile,
} from "./file.ts";

/** The file that says which tables a folder has. */
export const TABLES_FILE = "tables.json";

/** Snapshots of tables. */
export const TABLES_KIND: SnapshotKind = { magic: "EXRPTABL", version: 2, of: "tables" };

/** What folders of one kind have. */
export interface DescribedKind {
  /** The call that opens one, for errors. */
  readonly operation: string;
  /** The file's name. */
  readonly name: string;
  /** The version of the file. */
  readonly format: number;
  /** What it describes, such as `"replay"`. */
  readonly of: string;
  /** The same with its article, such as `"a replay"`. */
  readonly one: string;
}

/** The path of a folder, as a program gives it. */
export function folderPath({ operation }: DescribedKind, directory: string | URL): string {
  if (directory === "" || (typeof directory !== "string" && !(directory instanceof URL))) {
    throw new TypeError(
      `${operation}: directory must be a path or a file URL, got ${show(directory)}`,
    );
  }
  if (browserFolder(String(directory)) !== undefined) return String(directory);
  return pathOf(operation, directory, filesFor(operation));
}

/** Throws unless the file of a folder may be read and written. */
export function checkFolderPermitted({ operation, name }: DescribedKind, folder: string): void {
  if (browserFolder(folder) !== undefined) return;
  const files = filesFor(operation);
  checkPermitted(operation, files.path.join(folder, name), files);
}

/** What the file of a folder says. */
export interface Description {
  /** The configuration of what is in the folder. */
  readonly config: unknown;
  /** The byte of the file in which a flipped bit was repaired, in memory; undefined if there was none. */
  readonly repairedByte: number | undefined;
}

/** Reads the file of a folder; undefined if it is not there. */
export function readDescription(kind: DescribedKind, folder: string): Description | undefined {
  const { operation, name, format, one } = kind;
  const opened = browserFolder(folder);
  const file = opened !== undefined
    ? `${folder}/${name}`
    : filesFor(operation).path.join(folder, name);
  const bytes = opened !== undefined ? opened.read(name) : readBytes(operation, file);
  if (bytes === undefined) return undefined;
  const repairedByte = writtenIn(bytes) === undefined ? repair(bytes) : undefined;
  let json: Partial<Written>;
  try {
    json = JSON.parse(new TextDecoder().decode(bytes));
    if (json.config === undefined) throw new TypeError("it has no config");
  } catch (cause) {
    throw new ReplayError(
      "log-mismatch",
      `${operation}: ${show(file)} does not describe ${one}: ${cause}`,
      { cause },
    );
  }
  if (json.format !== format) {
    throw new ReplayError(
      "log-mismatch",
      `${operation}: ${show(file)} has format ${show(json.format)} of library version ${
        show(json.library)
      }, and this is ${VERSION}, which reads format ${format}`,
    );
  }
  if (json.sum !== sumOf(json.format, json.library, json.config)) {
    throw new ReplayError(
      "log-damaged",
      `${operation}: ${show(file)} is damaged: it has not the bytes that were written`,
    );
  }
  return { config: json.config, repairedByte };
}

/** What stands in the file. */
interface Written {
  readonly format: unknown;
  readonly library: unknown;
  readonly sum: unknown;
  readonly config: unknown;
}

/** What stands in these bytes; undefined if they are not those that were written. */
function writtenIn(bytes: Uint8Array): Written | undefined {
  try {
    const json: Written = JSON.parse(new TextDecoder().decode(bytes));
    return json.sum === sumOf(json.format, json.library, json.config) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** A larger file is not repaired: each bit is tried, and twice the bytes take four times as long. */
const REPAIRED_BYTES_MAX = 2 ** 13;

/** Looks for the one flipped bit of a file, and flips it back in memory; gives its byte. */
function repair(bytes: Uint8Array): number | undefined {
  if (bytes.length > REPAIRED_BYTES_MAX) return undefined;
  for (let at = 0; at < bytes.length; at++) {
    const was = bytes[at] ?? 0;
    for (let bit = 0; bit < 8; bit++) {
      bytes[at] = was ^ 1 << bit;
      if (writtenIn(bytes) !== undefined) return at;
    }
    bytes[at] = was;
  }
  return undefined;
}

function readBytes(operation: string, file: string): Uint8Array | undefined {
  const files = filesFor(operation);
  return attemptOn(operation, "read", file, files, () => {
    using open = unlessMissing(() => files.open(file));
    if (open === undefined) return undefined;
    const { bytes = 0 } = open.look();
    const all = new Uint8Array(bytes);
    let at = 0;
    for (let got = 1; got > 0 && at < bytes; at += got) got = open.read(all.subarray(at));
    return all.subarray(0, at);
  });
}

/** A sum of what the file says (FNV-1a), which differs where a bit of it does. */
function sumOf(format: unknown, library: unknown, config: unknown): number {
  const text = JSON.stringify({ format, library, config });
  let sum = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) sum = Math.imul(sum ^ byte, 0x01000193);
  return sum >>> 0;
}

/** Makes a folder, if it is not there, with its parents. */
export function makeFolder({ operation }: DescribedKind, folder: string): void {
  if (browserFolder(folder) !== undefined) return;
  const files = filesFor(operation);
  attemptOn(operation, "write", folder, files, () => files.makeFolder(folder));
}

/** Writes the file of a folder. */
export async function writeDescription(
  { operation, name, format }: DescribedKind,
  folder: string,
  config: object,
): Promise<void> {
  const sum = sumOf(format, VERSION, config);
  const json = JSON.stringify({ format, library: VERSION, sum, config });
  const bytes = new TextEncoder().encode(json);
  const opened = browserFolder(folder);
  if (opened === undefined) {
    const files = filesFor(operation);
    return await writeNewFile(operation, files.path.join(folder, name), files, [bytes]);
  }
  try {
    opened.replace(name, bytes);
  } catch (cause) {
    const message = `${operation}: the browser can't write ${name} of ${show(folder)}: ${
      reasonOf(cause)
    }`;
    throw new ReplayError("disk", message, { cause });
  }
}

/**
 * Throws for the first fact that differs.
 *
 * @param given What the program asks for, by its name in errors.
 * @param found What the folder has.
 */
export function checkSameFacts(
  { operation, of }: DescribedKind,
  folder: string,
  given: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): void {
  for (const name of new Set([...given.keys(), ...found.keys()])) {
    if (given.get(name) === found.get(name)) continue;
    throw new ReplayError(
      "log-mismatch",
      `${operation}: ${name} is ${found.get(name) ?? "not there"} in the ${of} of ${
        show(folder)
      }, and ${
        given.get(name) ?? "not there"
      } in the options that you gave; leave the options out, or give those of the folder`,
    );
  }
}
