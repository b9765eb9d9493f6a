/**
 * The sockets of Deno, for the pump.
 *
 * @module
 */
import type { Socket, SocketServer } from "./socket.ts";

/** Listens by Deno's own sockets. */
export function listenByDeno(hostname: string, port: number): SocketServer {
  const listener = Deno.listen({ hostname, port });
  let isClosed = false;
  return {
    port: listener.addr.port,
    close(): void {
      isClosed = true;
      listener.close();
    },
    async *[Symbol.asyncIterator](): AsyncGenerator<Socket> {
      while (!isClosed) {
        let socket: Socket;
        try {
          socket = new DenoSocket(await listener.accept());
        } catch (error) {
          if (isClosed) return;
          throw error;
        }
        yield socket;
      }
    },
  };
}

class DenoSocket implements Socket {
  readonly #conn: Deno.TcpConn;
  #isClosed = false;

  constructor(conn: Deno.TcpConn) {
    this.#conn = conn;
    try {
      conn.setNoDelay(true);
      conn.setKeepAlive(true);
    } catch {
      // Some systems refuse it where the client has left already. Reading tells so, too.
    }
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
