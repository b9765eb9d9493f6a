/**
 * Processes for bench/reverb.ts: the two servers, and clients of Python that are told what to measure.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { inRepository } from "../../tools/_repository.ts";
import { lineReader, plainTable, RealServer, type RealTable } from "./_real_server.ts";

/** The tables of both servers. */
export const tables: readonly RealTable[] = [
  plainTable("uniform", { max_size: 200_000 }),
  plainTable("images", { max_size: 2048 }),
];

/** A process that answers each line with a line. */
export class Worker {
  readonly #child: Deno.ChildProcess;
  readonly #lines: () => Promise<string>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;

  private constructor(command: readonly string[]) {
    const [program = "", ...args] = command;
    this.#child = new Deno.Command(program, {
      args,
      env: { TF_CPP_MIN_LOG_LEVEL: "3" },
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#lines = lineReader(this.#child.stdout);
    this.#writer = this.#child.stdin.getWriter();
  }

  /** Starts a program. Its first line says that it is ready. */
  static async start(command: readonly string[]): Promise<Worker> {
    const worker = new Worker(command);
    await worker.#lines();
    return worker;
  }

  /** Gives an order and waits for the answer. One with `error` is an Error. */
  async ask(order: Readonly<Record<string, unknown>>): Promise<Record<string, number>> {
    await this.#writer.write(new TextEncoder().encode(`${JSON.stringify(order)}\n`));
    const answer = JSON.parse(await this.#lines());
    if (typeof answer.error === "string") throw new Error(answer.error);
    return answer;
  }

  /** Ends it. */
  async stop(): Promise<void> {
    await this.#writer.close().catch(() => {});
    await this.#child.status;
    await this.#child.stdout.cancel().catch(() => {});
  }
}

/** A client of Python. */
export async function startClient(python: string): Promise<Worker> {
  const script = fileURLToPath(new URL("client.py", import.meta.url));
  return await Worker.start([python, "-E", "-s", "-B", script]);
}

/** A server of the contest. */
export interface Contestant {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Reverb's server. */
export async function startTheirs(python: string): Promise<Contestant> {
  const server = await RealServer.start(python, tables);
  return { port: server.port, pid: server.pid, stop: () => server[Symbol.asyncDispose]() };
}

/** Our server: the program of `deno task serve`. */
export async function startOurs(): Promise<Contestant> {
  const config = await Deno.makeTempFile({ suffix: ".json" });
  const described = tables.map(({ name, max_size }) => [
    name,
    { sampler: "uniform", remover: "fifo", maxSize: max_size },
  ]);
  await Deno.writeTextFile(config, JSON.stringify({ tables: Object.fromEntries(described) }));
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-all", inRepository("server", "main.ts"), "--config", config],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const line = await lineReader(child.stdout)();
  await Deno.remove(config);
  const port = Number(/ on 127\.0\.0\.1:(\d+)$/.exec(line)?.[1]);
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await child.status;
  };
  return { port, pid: child.pid, stop };
}

/** Bytes of memory that a process has. */
export async function residentBytes(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

/** Seconds of processor time that a process has had, of all its threads. Linux only. */
export async function cpuSeconds(pid: number): Promise<number> {
  let nanoseconds = 0;
  for await (const { name } of Deno.readDir(`/proc/${pid}/task`)) {
    const text = await Deno.readTextFile(`/proc/${pid}/task/${name}/schedstat`).catch(() => "0");
    nanoseconds += Number(text.split(" ")[0]);
  }
  return nanoseconds / 1e9;
}
