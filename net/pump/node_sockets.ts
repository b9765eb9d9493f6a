/**
 * The sockets of `node:net`, for the pump where there is no Deno. The module is not imported, because bundlers for browsers would look
 * for it.
 *
 * @module
 */
import { builtinModule } from "../../base/platform.ts";
import type { Socket, SocketServer, SocketTaker } from "./socket.ts";

/** What is used of a socket of `node:net`. The library has its own types for it, so that its users need not have those of Node. */
interface NodeSocket {
  iterator(options: { readonly destroyOnReturn: boolean }): AsyncIterator<Uint8Array>;
  on(event: "error", listener: (error: Error) => void): void;
  once(event: "close", listener: () => void): void;
  off(event: "close", listener: () => void): void;
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

function findNet(): NodeNet {
  const net = builtinModule<NodeNet>("node:net");
  if (net === undefined) throw new Error("serve() needs sockets, which Deno, Node and Bun have");
  return net;
}

/** Listens by the sockets of Node, which tries again by itself where the system gives no socket. */
export async function listenByNode(
  hostname: string,
  port: number,
  taker: SocketTaker,
): Promise<SocketServer> {
  const server = findNet().createServer(
    { allowHalfOpen: true, noDelay: true, keepAlive: true },
    (socket) => taker.take(new NetSocket(socket)),
  );
  let isListening = false;
  await new Promise<void>((resolve, reject) => {
    server.on("error", (error) => isListening ? taker.refuse(error) : reject(error));
    server.listen(port, hostname, resolve);
  });
  isListening = true;
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    close(): Promise<void> {
      server.close();
      return Promise.resolve();
    },
  };
}

/** A socket that is read by pulling: it stands still until the pump asks. */
class NetSocket implements Socket {
  readonly #socket: NodeSocket;
  readonly #pieces: AsyncIterator<Uint8Array>;
  /** Bytes that the last buffer had no room for. */
  #rest: Uint8Array = new Uint8Array(0);

  constructor(socket: NodeSocket) {
    this.#socket = socket;
    // A client that has ended may still read.
    this.#pieces = socket.iterator({ destroyOnReturn: false });
    // Reading and writing tell of it, too.
    socket.on("error", () => {});
  }

  async read(buffer: Uint8Array<ArrayBuffer>): Promise<number | null> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#pieces.next();
      if (done) return null;
      this.#rest = value;
    }
    const count = Math.min(buffer.length, this.#rest.length);
    buffer.set(this.#rest.subarray(0, count));
    this.#rest = this.#rest.subarray(count);
    return count;
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<number> {
    return new Promise((resolve, reject) => {
      const closed = Object.assign(new Error("the socket was closed"), { code: "EPIPE" });
      const onClose = (): void => reject(closed);
      this.#socket.once("close", onClose);
      this.#socket.write(bytes, (error) => {
        this.#socket.off("close", onClose);
        if (error) reject(error);
        else resolve(bytes.length);
      });
    });
  }

  closeWrite(): Promise<void> {
    this.#socket.end();
    return Promise.resolve();
  }

  close(): void {
    this.#socket.destroy();
  }
}
