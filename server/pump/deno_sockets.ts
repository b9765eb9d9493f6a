/**
 * The sockets of Deno, for the pump.
 *
 * @module
 */
import type { Socket, SocketServer } from "./socket.ts";

/** Listens by Deno's own sockets. */
export function listenByDeno(hostname: string, port: number): SocketServer {
  const listener = Deno.listen({ hostname, port });
  return {
    port: listener.addr.port,
    close: () => listener.close(),
    async *[Symbol.asyncIterator](): AsyncGenerator<Socket> {
      for await (const conn of listener) yield new DenoSocket(conn);
    },
  };
}

class DenoSocket implements Socket {
  readonly #conn: Deno.TcpConn;
  #isClosed = false;

  constructor(conn: Deno.TcpConn) {
    this.#conn = conn;
    conn.setNoDelay(true);
    conn.setKeepAlive(true);
  }

  read(buffer: Uint8Array<ArrayBuffer>): Promise<number | null> {
    return this.#conn.read(buffer);
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<number> {
    return this.#conn.write(bytes);
  }

  endWriting(): void {
    this.#conn.closeWrite().catch(() => {});
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#conn.close();
  }
}
