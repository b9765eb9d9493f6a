/**
 * A server of tables for Reverb's clients.
 *
 * @module
 */
import { checkInteger, showUnlike } from "../base/checks.ts";
import { ReplayError } from "../base/errors.ts";
import { checkOptions } from "../base/option_names.ts";
import { RateMeter, type ServerFigures, type TableFigures } from "./figures.ts";
import { GrpcConnection, type StartCall } from "../net/grpc/calls.ts";
import { HeldBytes } from "../net/grpc/held_bytes.ts";
import { Pump } from "../net/pump/pump.ts";
import { Tables } from "../tables/tables.ts";
import { checkBusyPoll, checkLimits, fillLimits, type ServeLimits } from "./serve_limits.ts";
import { tableFigures } from "./table_figures.ts";
import {
  checkCheckpointOptions,
  type CheckpointOptions,
  type Checkpoints,
  type LoadedCheckpoint,
  openCheckpoints,
} from "./checkpoints/checkpoints.ts";
import { type Checkpointer, Service } from "./service.ts";
import { answerHttp1, type Page, plain } from "../net/http1.ts";
import { metricsText, metricsType } from "./web/metrics.ts";
import { statusPage } from "./web/status_page.ts";

/** The options of {@linkcode serve}. */
export interface ServeOptions {
  /** The tables. They stay yours: the server never disposes of them. Stop it before you do. */
  readonly tables: Tables;
  /** The address to listen on; `"127.0.0.1"` by default, so that only this machine can call. */
  readonly hostname?: string;
  /** The port; 0, the default, takes a free one. */
  readonly port?: number;
  /**
   * Where checkpoints are written, and which one is loaded now. Without it, `checkpoint()` of a client is refused, as by a server of Reverb's that has no
   * checkpointer; for durable tables, it returns once all is on the disk. Durable tables load none: they begin with what their own folder has.
   */
  readonly checkpoint?: CheckpointOptions;
  /** Who writes checkpoints instead, such as into a store of your own. */
  readonly checkpointer?: Checkpointer;
  /** What clients may take. */
  readonly limits?: ServeLimits;
  /**
   * Milliseconds for which the server goes on to look for input after the last one, in place of sleeping: 0 to 1,000, default 2. Small calls are
   * faster by it, up to 1.4 times where nobody else calls. It takes a core for so long. So it is done only while fewer clients have called in the
   * last 50 ms than the machine has cores, and while no `ReverbClient` of this program is connected. It rests for a second where other programs
   * want the core, and does not begin for a call that comes alone. 0 turns it off, such as for a program that serves and learns in one thread.
   */
  readonly busyPollMs?: number;
  /** Is told of errors of the server's own, which no client caused. By default they go to `console.error`. */
  readonly onError?: (error: unknown) => void;
}

/** How a server stops: {@linkcode ReverbServer.stop} takes it. {@linkcode ReverbServer} has an example. */
export interface StopOptions {
  /** Milliseconds for which clients may go on with inserts that have begun; 1,000 by default. */
  readonly graceMs?: number;
}

/** How often a server that stops looks whether its inserts have ended. */
const stopStepMs = 20;

/** Milliseconds that clients have to read the last answers of a server that stops. */
const lastAnswersMs = 500;

/** Lets so many milliseconds pass for all connections of a server, besides those of its timer. For tests. */
export let passTime: (server: ReverbServer, ms: number) => void;

/**
 * A server that runs. {@linkcode serve} makes it.
 *
 * @example
 * ```ts
 * import { type ReverbServer, serve } from "@exrp/replay/server";
 * import { Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { replay: { maxSize: 9 } } });
 * const server: ReverbServer = await serve({ tables });
 * console.log(server.port > 0); // true
 * console.log(server.figures().tables.map(({ name, maxSize }) => [name, maxSize])); // [["replay", 9]]
 * await server.stop({ graceMs: 100 });
 * ```
 */
export class ReverbServer implements AsyncDisposable {
  /** The address that it listens on. */
  readonly hostname: string;
  /** What it began with: the path that was loaded, and newer checkpoints that are damaged. */
  readonly loaded: LoadedCheckpoint;
  readonly #tables: Tables;
  readonly #service: Service;
  readonly #rates: RateMeter;
  readonly #startedAt = Date.now();
  readonly #onError: (error: unknown) => void;
  #pump: Pump | undefined;
  #opened = 0;
  readonly #checkpoints: Checkpoints | undefined;
  readonly #checkpointer: Checkpointer | undefined;
  #stopped: Promise<void> | undefined;

  private constructor(
    options: ServeOptions,
    limits: Required<ServeLimits>,
    checkpoints: Checkpoints | undefined,
    loaded: LoadedCheckpoint,
  ) {
    const { hostname = "127.0.0.1", tables, checkpointer } = options;
    this.hostname = hostname;
    this.loaded = loaded;
    this.#tables = tables;
    this.#rates = new RateMeter(this.#tableFigures());
    this.#onError = onErrorOf(options);
    this.#checkpoints = checkpoints;
    const { heldChunkBytes } = limits;
    this.#checkpointer = checkpoints ?? flusherOf(tables);
    this.#service = new Service(
      tables,
      checkpointer ?? this.#checkpointer,
      this.#onError,
      heldChunkBytes,
    );
  }

  static {
    passTime = (server, ms) => server.#pump?.tick(ms);
  }

  /** {@linkcode serve} calls this. */
  static async start(options: ServeOptions): Promise<ReverbServer> {
    const { tables, checkpoint = {} } = options;
    const begins = tables.durability === undefined ? checkpoint : { ...checkpoint, load: false };
    const { checkpoints, loaded } = await openCheckpoints(
      tables,
      checkpoint.folder === undefined ? checkpoint : begins,
      onErrorOf(options),
    );
    const limits = fillLimits(options.limits ?? {});
    const server = new ReverbServer(options, limits, checkpoints, loaded);
    try {
      await server.#listen(options, limits);
      return server;
    } catch (error) {
      await checkpoints?.close(false);
      // They were empty before, so that the next serve() can load again.
      if (loaded.path !== undefined) tables.names.forEach((name) => tables.table(name).clear());
      throw error;
    }
  }

  async #listen(
    { port = 0, busyPollMs = 2 }: ServeOptions,
    limits: Required<ServeLimits>,
  ): Promise<void> {
    const { hostname } = this;
    const onError = this.#onError;
    const { keepaliveMs, keepaliveTimeoutMs, idleMs, messageStallMs } = limits;
    const held = new HeldBytes(limits.bytesInFlight);
    const ofConnections = { ...limits, streamsMax: limits.calls, messageMax: limits.messageBytes };
    this.#pump = await Pump.listen({
      ...{ hostname, port, busyPollMs, onError },
      accept: (onOutput) => {
        this.#opened++;
        const handler = (path: string): StartCall | undefined => this.#service.handler(path);
        return new GrpcConnection({ handler, limits: ofConnections, held, onOutput, onError });
      },
      answerOther: (first) =>
        answerHttp1(first, {
          answer: (path) => this.#page(path),
          isKnownHost: (name, path) => this.#isKnownHost(name, path),
        }),
      afterRead: () => this.#service.sendReady(),
      connectionsMax: limits.connections,
      stallMs: keepaliveMs + keepaliveTimeoutMs,
      tickMs: tickOf(keepaliveMs, keepaliveTimeoutMs, idleMs, messageStallMs),
    });
  }

  /** The port that it listens on. */
  get port(): number {
    return this.#pump?.port ?? 0;
  }

  /** The address as clients take it, such as `127.0.0.1:8000`. */
  get address(): string {
    const host = this.hostname.includes(":") ? `[${this.hostname}]` : this.hostname;
    return `${host}:${this.port}`;
  }

  /**
   * Writes a checkpoint of all tables, as `checkpoint()` of a client does. Calls of clients go on meanwhile. For durable tables without a
   * `checkpoint.folder`, it is `tables.flush()`.
   *
   * @returns Its path, or the folder of the durable tables, once all is on the disk.
   * @throws {ReplayError} `order` if the server has no `checkpoint.folder`, or has stopped; `disk`, `file`, `permission` or `memory`. Older checkpoints are then as they were.
   * @example
   * ```ts
   * import { serve } from "@exrp/replay/server";
   * import { Tables } from "@exrp/replay/tables";
   *
   * const folder = await Deno.makeTempDir();
   * const options = { tables: { replay: { maxSize: 100 } } };
   * using tables = await Tables.create(options);
   * await tables.insert({ reward: 1 }, { replay: 1 });
   * const server = await serve({ tables, checkpoint: { folder, onStop: false } });
   * const path = await server.checkpoint();
   * await server.stop();
   *
   * using others = await Tables.create(options);
   * const next = await serve({ tables: others, checkpoint: { folder, onStop: false } });
   * console.log([next.loaded.path === path, others.table("replay").size]); // [true, 1]
   * await next.stop();
   * await Deno.remove(folder, { recursive: true });
   * ```
   */
  async checkpoint(): Promise<string> {
    if (this.#checkpointer === undefined) {
      throw new ReplayError("order", "checkpoint(): the server has no checkpoint.folder");
    }
    return await this.#checkpointer.save();
  }

  /** The figures that metrics and the status page show. */
  figures(): ServerFigures {
    return {
      uptime: (Date.now() - this.#startedAt) / 1000,
      startedAt: this.#startedAt / 1000,
      connections: this.#pump?.connectionCount ?? 0,
      connectionsOpened: this.#opened,
      receivedBytes: this.#pump?.received ?? 0,
      sentBytes: this.#pump?.sent ?? 0,
      ...this.#tables.info(),
      calls: this.#service.callFigures,
      tables: this.#tableFigures(),
      checkpoints: this.#checkpoints?.figures,
    };
  }

  #tableFigures(): TableFigures[] {
    return this.#tables.names.map((name) => tableFigures(this.#tables, name));
  }

  /**
   * Stops gracefully: takes no new connections and calls, ends streams of samples, and lets inserts that have begun be confirmed. Items
   * that were confirmed are in the tables, which go on without the server, and in the last checkpoint. Clients see UNAVAILABLE and try again.
   *
   * @returns A promise that resolves once all connections are closed and the last checkpoint is on the disk.
   * @throws {ReplayError} `file`, `permission` or `memory` if the last checkpoint can't be written, or `busy` where `tables.serialize()` has not ended
   * 30 s later. The server is stopped then, too.
   */
  stop(options: StopOptions = {}): Promise<void> {
    checkOptions("stop()", options, ["graceMs"]);
    const graceMs = checkInteger("stop(): graceMs", options.graceMs ?? 1000, 0, 2 ** 31 - 1);
    this.#stopped ??= this.#stop(graceMs);
    return this.#stopped;
  }

  /** The same as `stop()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #page(path: string): Page {
    const { lost } = this.#service;
    if (lost !== undefined) return plain(503, lost);
    if (path === "/metrics") {
      return { status: 200, type: metricsType, text: metricsText(this.figures()) };
    }
    if (path === "/healthz") {
      return this.#service.isServing ? plain(200, "serving") : plain(503, "stopping");
    }
    if (path !== "/") return plain(404, `there is no ${path}; there are /, /metrics and /healthz`);
    const figures = this.figures();
    const rates = this.#rates.measure(figures, performance.now());
    return { status: 200, type: "text/html; charset=utf-8", text: statusPage(figures, rates) };
  }

  #isKnownHost(name: string, path: string): boolean {
    // Old probes give none. Browsers always do, and this page says nothing that is worth reading.
    if (name === "" && path === "/healthz") return true;
    // A name that an attacker chose can lead to this machine; an address can't be chosen.
    const isAddress = /^(?:[\d.]+|[\da-f.]*:[\da-f:.]*)$/.test(name);
    return name === "localhost" || name.endsWith(".localhost") || isAddress ||
      name === this.hostname.toLowerCase() || !isLoopback(this.hostname);
  }

  async #stop(graceMs: number): Promise<void> {
    this.#service.stop();
    const stopped = this.#pump?.stop(graceMs + lastAnswersMs);
    const end = performance.now() + graceMs;
    // What came already is on its way through the sockets.
    for (let left = 1; left > 0 && performance.now() < end;) {
      await new Promise((resolve) => setTimeout(resolve, stopStepMs));
      left = this.#service.endInserts(false);
    }
    this.#service.endInserts(true);
    await stopped;
    await this.#checkpoints?.close(true);
  }
}

/** How often connections are looked at: some times within the shortest of these times, and every two seconds at least. */
function tickOf(...times: readonly number[]): number {
  return Math.max(5, Math.min(2000, Math.floor(Math.min(...times) / 8)));
}

function onErrorOf({ onError }: ServeOptions): (error: unknown) => void {
  return onError ??
    ((error) => console.error(error instanceof ReplayError ? `serve: ${error.message}` : error));
}

/** What answers a client's `checkpoint()` for durable tables: all is on the disk then. */
function flusherOf(tables: Tables): Checkpointer | undefined {
  const { directory } = tables.durability ?? {};
  if (directory === undefined) return undefined;
  return {
    save: async () => {
      await tables.flush();
      return directory;
    },
  };
}

function isLoopback(hostname: string): boolean {
  return /^127\.|^::1$|^localhost$/.test(hostname);
}

/**
 * Serves tables to Reverb's clients, the one in Python and {@linkcode ReverbClient}.
 *
 * The same port has a status page at `/`, metrics for Prometheus at `/metrics`, and `/healthz`.
 *
 * @returns The server, once it listens. Dispose of it to stop it; the tables stay.
 * @throws {TypeError} For an option that is unknown or of the wrong kind.
 * @throws {RangeError} For a port, a limit or `busyPollMs` out of its range.
 * @throws {ReplayError} Where a checkpoint can't be loaded, or another server has the folder (`busy`).
 * @throws {Error} Where the system refuses: the address is in use, is not this machine's, or may not be listened on. The text names it.
 * @example
 * ```ts
 * import { serve } from "@exrp/replay/server";
 * import { Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { jobs: { maxSize: 10 } } });
 * await using server = await serve({ tables, limits: { connections: 16 } });
 * const answer = await fetch(`http://${server.address}/healthz`);
 * console.log(await answer.text()); // serving
 * ```
 */
export function serve(options: ServeOptions): Promise<ReverbServer> {
  checkOptions("serve()", options, [
    ...["tables", "hostname", "port", "checkpoint", "checkpointer", "limits", "busyPollMs"],
    "onError",
  ]);
  const { tables, port = 0, limits = {}, busyPollMs = 0, checkpoint } = options;
  if (!(tables instanceof Tables)) {
    throw new TypeError(`serve(): tables must be Tables, got ${showUnlike(tables, Tables)}`);
  }
  if (checkpoint !== undefined) {
    checkCheckpointOptions("serve(): checkpoint", checkpoint);
    if (options.checkpointer !== undefined) {
      throw new TypeError("serve() takes checkpoint or checkpointer, got both");
    }
  }
  checkInteger("serve(): port", port, 0, 65_535);
  checkLimits("serve(): limits", limits);
  checkBusyPoll("serve(): busyPollMs", busyPollMs);
  return ReverbServer.start(options);
}
