/**
 * What the pump needs of a platform's sockets.
 *
 * @module
 */

/** A socket of any platform. */
export interface Socket {
  /** Reads what there is, at least a byte; null at the end. */
  read(buffer: Uint8Array<ArrayBuffer>): Promise<number | null>;
  /** Writes some of the bytes, at least one; returns how many. */
  write(bytes: Uint8Array<ArrayBuffer>): Promise<number>;
  /** Says that no more is written. */
  endWriting(): void;
  /** Ends both directions. May be called twice. */
  close(): void;
}

/**
 * A port that listens. Its iterator throws where the system gives no socket, such as where too many files are open. You may then begin
 * another one, as long as the port is not closed.
 */
export interface SocketServer extends AsyncIterable<Socket> {
  readonly port: number;
  close(): void;
}
