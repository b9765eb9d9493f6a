/**
 * The sockets of Deno, for the pump.
 *
 * @module
 */
import type { SocketServer, SocketTaker } from "./socket.ts";

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
        const socket = await listener.accept();
        tune(socket);
        taker.take(socket);
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

function tune(socket: Deno.TcpConn): void {
  try {
    socket.setNoDelay(true);
    socket.setKeepAlive(true);
  } catch {
    // Some systems refuse it where the client has left already. Reading tells so, too.
  }
}
