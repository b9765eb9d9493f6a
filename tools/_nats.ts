/**
 * Finds and starts a NATS server, for tests and benches of shards.
 *
 * It is the one that the environment variable EXRP_NATS_SERVER names, that of `deno task nats:install`, or the first of PATH.
 *
 * @module
 */

import { inRepository } from "./_repository.ts";

/** Where `deno task nats:install` puts it. */
export const NATS_FOLDER: string = inRepository(".cache", "nats");

/** The path of a server; undefined if there is none. */
export async function findNats(): Promise<string | undefined> {
  const given = Deno.env.get("EXRP_NATS_SERVER");
  const candidates = [
    ...given === undefined ? [] : [given],
    `${NATS_FOLDER}/nats-server`,
    ...(Deno.env.get("PATH") ?? "").split(":").filter((part) => part !== "").map((folder) =>
      `${folder}/nats-server`
    ),
    "/usr/sbin/nats-server",
  ];
  for (const path of candidates) {
    try {
      if ((await Deno.stat(path)).isFile) return path;
    } catch {
      // There is none here.
    }
  }
  return undefined;
}

/** A server that runs. */
export interface NatsServer {
  /** Its address, such as `127.0.0.1:4222`. */
  readonly address: string;
  /** The process that it is now. */
  readonly pid: number;
  /** Kills it at once, and waits until it has gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port, after it was killed. */
  restart(): Promise<void>;
}

/** A port that nobody has now. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Starts a server on a free port of this machine. */
export async function startNats(path: string, config = ""): Promise<NatsServer> {
  const port = freePort();
  const folder = await Deno.makeTempDir({ prefix: "exrp-nats-" });
  const file = `${folder}/nats.conf`;
  await Deno.writeTextFile(file, `listen: "127.0.0.1:${port}"\n${config}\n`);
  let child = await begin();
  async function begin(): Promise<Deno.ChildProcess> {
    const begun = new Deno.Command(path, {
      args: ["-c", file],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    for (let tries = 0; tries < 400; tries++) {
      try {
        using _ = await Deno.connect({ hostname: "127.0.0.1", port });
        return begun;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
    }
    begun.kill("SIGKILL");
    throw new Error(`${path} did not listen on port ${port}`);
  }
  return {
    address: `127.0.0.1:${port}`,
    get pid(): number {
      return child.pid;
    },
    async kill(): Promise<void> {
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended.
      }
      await child.status;
      await Deno.remove(folder, { recursive: true }).catch(() => {});
    },
    async restart(): Promise<void> {
      await Deno.mkdir(folder, { recursive: true });
      await Deno.writeTextFile(file, `listen: "127.0.0.1:${port}"\n${config}\n`);
      child = await begin();
    },
  };
}
