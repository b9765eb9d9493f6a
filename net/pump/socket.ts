/**
 * What the pump needs of a platform's sockets.
 *
 * @module
 */

/** A socket of any platform. A connection of Deno's is one. */
export interface Socket {
  /** Reads what there is, at least a byte; null at the end. */
  read(buffer: Uint8Array<ArrayBuffer>): Promise<number | null>;
  /** Writes some of the bytes, at least one; returns how many. */
  write(bytes: Uint8Array<ArrayBuffer>): Promise<number>;
  /** Says that no more is written. It may fail where the client has left. */
  closeWrite(): Promise<void>;
  /** Ends both directions. It is called once. */
  close(): void;
}

/** A port that listens. */
export interface SocketServer {
  readonly port: number;
  /** Listens no more. Resolves when nothing more is told. */
  close(): Promise<void>;
}

/** What is told of a port. */
export interface SocketTaker {
  /** A client has come. */
  take(socket: Socket): void;
  /** The system gave no socket, such as where too many files are open. Returns the milliseconds after which to try again. */
  refuse(error: unknown): number;
}

/** Listens at an address. */
export type Listen = (hostname: string, port: number, taker: SocketTaker) => Promise<SocketServer>;
