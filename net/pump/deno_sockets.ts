/**
 * The sockets of Deno, for the pump.
 *
 * @module
 */
import type { Socket, SocketServer, SocketTaker } from "./socket.ts";

/** Listens by Deno's own sockets. */
export function listenByDeno(
  hostname: string,
  port: number,
  taker: SocketTaker,
): Promise<SocketServer> {
  const listener = Deno.listen({ hostname, port });
  let isClosed = false;
  async function accept(): Promise<void> {
    while (!isClosed) {
      try {
        taker.take(new DenoSocket(await listener.accept()));
      } catch (error) {
        if (isClosed) return;
        const ms = taker.refuse(error);
        await new Promise((resolve) => setTimeout(resolve, ms));
      }
    }
  }
  const accepting = accept();
  return Promise.resolve({
    port: listener.addr.port,
    close(): Promise<void> {
      isClosed = true;
      listener.close();
      return accepting;
    },
  });
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
