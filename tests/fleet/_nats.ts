/**
 * A server of NATS for a test or a bench: the installed `nats-server`, on a free port, which ends with it.
 */
import { connect, type NatsConnection } from "npm:@nats-io/transport-node@3.4.0";

/** Whether `nats-server` is installed. */
export const hasNats: boolean = await isInstalled();

async function isInstalled(): Promise<boolean> {
  try {
    const { success } = await new Deno.Command("nats-server", { args: ["--version"] }).output();
    return success;
  } catch {
    return false;
  }
}

/** A server, and the connections to it. */
export class NatsServer implements AsyncDisposable {
  readonly port: number;
  readonly #process: Deno.ChildProcess;
  readonly #connections: NatsConnection[] = [];

  private constructor(port: number, process: Deno.ChildProcess) {
    this.port = port;
    this.#process = process;
  }

  /** Starts one. On another port than 0, it takes the place of one that ended. */
  static async start(port = 0): Promise<NatsServer> {
    const free = port === 0 ? freePort() : port;
    const args = ["--addr", "127.0.0.1", "--port", `${free}`];
    const process = new Deno.Command("nats-server", { args, stdout: "null", stderr: "null" })
      .spawn();
    const server = new NatsServer(free, process);
    await server.connect();
    return server;
  }

  /** A new connection. */
  async connect(): Promise<NatsConnection> {
    const connection = await connectTo(this.port);
    this.#connections.push(connection);
    return connection;
  }

  /** Kills the server. Its connections try to find another one on the same port. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
  }

  /** Ends the connections, and the server. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
    try {
      await this.kill();
    } catch {
      return; // it was killed before
    }
  }
}

/** A connection to the server at a port, once it is there. */
export function connectTo(port: number): Promise<NatsConnection> {
  return connect({
    servers: `127.0.0.1:${port}`,
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 20,
    reconnectJitter: 0,
  });
}

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}
