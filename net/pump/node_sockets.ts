/**
 * The sockets of `node:net`, for the pump where there is no Deno. The module is not imported, because bundlers for browsers would look
 * for it.
 *
 * @module
 */
import type { Socket, SocketServer } from "./socket.ts";

/** What is used of a socket of `node:net`. The library has its own types for it, so that its users need not have those of Node. */
interface NodeSocket {
  on(event: "data", listener: (bytes: Uint8Array) => void): void;
  on(event: "end", listener: () => void): void;
  on(event: "close", listener: () => void): void;
  on(event: "error", listener: (error: Error) => void): void;
  once(event: "close", listener: () => void): void;
  off(event: "close", listener: () => void): void;
  pause(): void;
  resume(): void;
  write(bytes: Uint8Array, done: (error?: Error | null) => void): boolean;
  end(): void;
  destroy(): void;
}

/** What is used of a server of `node:net`. */
interface NodeServer {
  on(event: "error", listener: (error: Error) => void): void;
  listen(port: number, hostname: string, listener: () => void): void;
  address(): { readonly port: number } | string | null;
  close(): void;
}

/** What is used of `node:net`. */
interface NodeNet {
  createServer(
    options: Readonly<Record<string, boolean>>,
    listener: (socket: NodeSocket) => void,
  ): NodeServer;
}

/** What Node, Bun and Deno have, and browsers have not. */
interface Process {
  getBuiltinModule?: (name: string) => unknown;
}

function findNet(): NodeNet {
  const { process } = globalThis as { process?: Process };
  const net = process?.getBuiltinModule?.("node:net") as NodeNet | undefined;
  if (net === undefined) throw new Error("serve() needs sockets, which Deno, Node and Bun have");
  return net;
}

/** Listens by the sockets of Node. */
export async function listenByNode(hostname: string, port: number): Promise<SocketServer> {
  const accepted: Socket[] = [];
  let error: Error | undefined;
  let wake: (() => void) | undefined;
  let isClosed = false;
  const server = findNet().createServer(
    { allowHalfOpen: true, noDelay: true, keepAlive: true },
    (socket) => {
      accepted.push(new NetSocket(socket));
      wake?.();
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.on("error", (thrown) => {
      reject(thrown);
      // While it listens: an error that nobody heard would end the program.
      error = thrown;
      wake?.();
    });
    server.listen(port, hostname, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    close(): void {
      isClosed = true;
      server.close();
      for (const socket of accepted.splice(0)) socket.close();
      wake?.();
    },
    async *[Symbol.asyncIterator](): AsyncGenerator<Socket> {
      while (!isClosed) {
        const next = accepted.shift();
        if (next !== undefined) {
          yield next;
          continue;
        }
        const thrown = error;
        error = undefined;
        if (thrown !== undefined) throw thrown;
        await new Promise<void>((resolve) => wake = resolve);
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
