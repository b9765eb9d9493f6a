/**
 * The sockets of `node:net`, for the pump where there is no Deno.
 *
 * @module
 */
import { createServer, type Socket as NodeSocket } from "node:net";
import type { Socket, SocketServer } from "./socket.ts";

/** Listens by the sockets of Node. */
export async function listenByNode(hostname: string, port: number): Promise<SocketServer> {
  const accepted: Socket[] = [];
  let wake: (() => void) | undefined;
  let isClosed = false;
  const server = createServer({ allowHalfOpen: true, noDelay: true, keepAlive: true }, (socket) => {
    accepted.push(new NetSocket(socket));
    wake?.();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, hostname, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    close(): void {
      isClosed = true;
      server.close();
      wake?.();
    },
    async *[Symbol.asyncIterator](): AsyncGenerator<Socket> {
      while (!isClosed) {
        const next = accepted.shift();
        if (next !== undefined) yield next;
        else await new Promise<void>((resolve) => wake = resolve);
      }
    },
  };
}

/** A socket that is read by pulling: it stands still until the pump asks. */
class NetSocket implements Socket {
  readonly #socket: NodeSocket;
  /** Bytes that the last buffer had no room for. */
  #rest: Uint8Array = new Uint8Array(0);
  #hasEnded = false;
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(socket: NodeSocket) {
    this.#socket = socket;
    const wake = (): void => this.#wake?.();
    socket.pause();
    socket.on("data", (chunk: Uint8Array) => {
      this.#rest = chunk;
      socket.pause();
      wake();
    });
    socket.on("end", () => {
      this.#hasEnded = true;
      wake();
    });
    socket.on("close", () => {
      this.#hasEnded = true;
      wake();
    });
    socket.on("error", (error) => {
      this.#error = error;
      wake();
    });
  }

  async read(buffer: Uint8Array<ArrayBuffer>): Promise<number | null> {
    while (this.#rest.length === 0) {
      if (this.#error !== undefined) throw this.#error;
      if (this.#hasEnded) return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#socket.resume();
      });
    }
    const count = Math.min(buffer.length, this.#rest.length);
    buffer.set(this.#rest.subarray(0, count));
    this.#rest = this.#rest.subarray(count);
    return count;
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<number> {
    return new Promise((resolve, reject) => {
      const onClose = (): void => reject(this.#error ?? new Error("the socket was closed"));
      this.#socket.once("close", onClose);
      this.#socket.write(bytes, (error) => {
        this.#socket.off("close", onClose);
        if (error) reject(error);
        else resolve(bytes.length);
      });
    });
  }

  endWriting(): void {
    this.#socket.end();
  }

  close(): void {
    this.#socket.destroy();
  }
}
