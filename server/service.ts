/**
 * Which method serves which path, and how the calls of all connections work together on one set of tables.
 *
 * A message only changes the tables. What that makes ready, for its own call and for others, is sent by `settle()`, once all that came with
 * the same read of a socket was taken in. So many items are confirmed by one message.
 *
 * One thread uses it.
 *
 * @module
 */
import { create, toBinary } from "@bufbuild/protobuf";
import { ReplayError } from "../base/errors.ts";
import { dispose } from "../base/platform.ts";
import {
  CheckpointRequestSchema,
  CheckpointResponseSchema,
  MutatePrioritiesRequestSchema,
  ResetRequestSchema,
  ReverbService,
  ServerInfoRequestSchema,
} from "../reverb/messages/reverb_pb.ts";
import { Health as HealthService } from "../reverb/messages/health_pb.ts";
import { Limiters, SetLimiterRequestSchema } from "../reverb/messages/limiter_pb.ts";
import { Health, HealthWatch } from "./calls/health_watch.ts";
import { InsertCall, type InsertOwner } from "./calls/insert_call.ts";
import {
  CallError,
  type MethodCall,
  namingTable,
  parseMessage,
  tableNotFound,
} from "./calls/method_call.ts";
import { SampleCall, type SampleOwner, type StartTimer, startTimer } from "./calls/sample_call.ts";
import { type Answer, UnaryCall } from "./calls/unary_call.ts";
import type { CallFigures } from "./figures.ts";
import type { StartCall } from "../net/grpc/calls.ts";
import { Status } from "../net/grpc/status.ts";
import type { Inserter, LowTables, Sampler } from "../tables/low.ts";
import { lowOf, type Tables } from "../tables/tables.ts";
import { serverInfo } from "./server_info.ts";
import { setRateLimiter } from "./set_rate_limiter.ts";

/** Who writes checkpoints for {@linkcode serve}. */
export interface Checkpointer {
  /** Writes all tables to a place of its own, and returns its path. */
  save(): Promise<string>;
}

/** The answers that have no fields. */
const nothing = new Uint8Array(0);

/** The calls of a server. */
export class Service implements InsertOwner, SampleOwner {
  /** How it is, for whoever asks by gRPC's health service. */
  readonly health: Health = new Health();
  /** @inheritDoc */
  readonly heldChunkBytes: number;
  /** @inheritDoc */
  readonly startTimer: StartTimer;
  readonly #tables: Tables;
  readonly #low: LowTables;
  readonly #checkpointer: Checkpointer | undefined;
  readonly #onError: (error: unknown) => void;
  readonly #names: ReadonlySet<string>;
  readonly #inserts = new Set<InsertCall>();
  readonly #samples = new Set<SampleCall>();
  #touched = new Set<MethodCall>();
  #isStopping = false;
  #isLossTold = false;
  #isSettling = false;
  #isSettlePlanned = false;
  /** How many calls ended, by `method status`. */
  readonly #ended = new Map<string, CallFigures>();
  readonly #stateId = crypto.getRandomValues(new BigUint64Array(2));
  readonly #starts: ReadonlyMap<string, StartCall>;

  /** Serves these tables. */
  constructor(
    tables: Tables,
    checkpointer: Checkpointer | undefined,
    onError: (error: unknown) => void,
    heldChunkBytes: number,
    timers: StartTimer = startTimer,
  ) {
    this.#tables = tables;
    this.#checkpointer = checkpointer;
    this.#onError = onError;
    this.heldChunkBytes = heldChunkBytes;
    this.startTimer = timers;
    this.#low = lowOf(tables);
    this.#names = new Set(tables.names);
    this.#starts = this.#makeStarts();
  }

  /** Says who serves a path. */
  handler(path: string): StartCall | undefined {
    return this.#starts.get(path);
  }

  /** How many calls ended, by method and status. */
  get callFigures(): readonly CallFigures[] {
    return [...this.#ended.values()];
  }

  /** Sends what is ready, for every call that has news. It never throws. */
  settle(): void {
    // A call that is pumped may lead here again.
    if (this.#isSettling) return;
    this.#isSettling = true;
    try {
      this.#settle();
    } catch (error) {
      this.#onError(error);
    } finally {
      this.#isSettling = false;
    }
  }

  #settle(): void {
    while (this.#touched.size > 0) {
      const calls = this.#touched;
      this.#touched = new Set();
      for (const call of calls) call.pump();
    }
  }

  /** Ends all calls that would never end by themselves, and refuses new ones. Inserts go on until `endInserts()`. */
  stop(): void {
    this.#isStopping = true;
    this.health.stop();
    for (const watch of this.health.watchers) watch.finish(Status.ok);
    for (const call of this.#samples) call.finish(Status.unavailable, stopping);
  }

  /** Ends the inserts of which everything is confirmed, or with `all` every one. Returns how many are left. */
  endInserts(all: boolean): number {
    for (const call of this.#inserts) {
      if (all || call.isQuiet) call.finish(Status.unavailable, stopping);
    }
    return this.#inserts.size;
  }

  /**
   * Why nothing can be served any more, where the program has disposed of the tables; undefined else. Whoever runs the server is told once.
   */
  get lost(): string | undefined {
    if (!this.#low.isDisposed) return undefined;
    if (!this.#isLossTold) this.#onError(new ReplayError("disposed", tablesLost));
    this.#isLossTold = true;
    return tablesLost;
  }

  // What calls need.

  /** @inheritDoc */
  ended(method: string, status: number): void {
    const key = `${method} ${status}`;
    const count = (this.#ended.get(key)?.count ?? 0) + 1;
    this.#ended.set(key, { method, code: status, count });
  }

  /** @inheritDoc */
  failed(method: string, error: unknown): void {
    this.#onError(new Error(`${method} failed`, { cause: error }));
  }

  /** @inheritDoc */
  touch(call: MethodCall): void {
    this.#touched.add(call);
  }

  /** @inheritDoc */
  openInserter(call: InsertCall): Inserter {
    const inserter = this.#low.inserter(() => this.#ready(call));
    this.#inserts.add(call);
    return inserter;
  }

  /** @inheritDoc */
  closeInserter(inserter: Inserter, call: InsertCall): void {
    this.#inserts.delete(call);
    inserter[dispose]();
  }

  /** @inheritDoc */
  openSampler(table: string, call: SampleCall): Sampler {
    this.#check(table);
    const sampler = this.#low.sampler(this.#low.numberOf(table), () => this.#ready(call));
    this.#samples.add(call);
    return sampler;
  }

  /** @inheritDoc */
  closeSampler(sampler: Sampler, call: SampleCall): void {
    this.#samples.delete(call);
    sampler[dispose]();
  }

  /** A call for somebody else, perhaps of this program's own, made something ready for this one. */
  #ready(call: MethodCall): void {
    this.#touched.add(call);
    if (this.#isSettling || this.#isSettlePlanned) return;
    this.#isSettlePlanned = true;
    queueMicrotask(() => {
      this.#isSettlePlanned = false;
      this.settle();
    });
  }

  /** Throws in Reverb's words unless there is such a table. */
  #check(table: string): void {
    if (!this.#names.has(table)) throw tableNotFound(table);
  }

  /** What begins the calls of each path. */
  #makeStarts(): Map<string, StartCall> {
    const starts = new Map<string, StartCall>();
    const add = (service: string, method: string, start: StartCall): void => {
      starts.set(`/${service}/${method}`, (call) => {
        if (this.#isStopping) call.finish(Status.unavailable, stopping);
        else if (this.lost !== undefined) call.finish(Status.failedPrecondition, this.lost);
        else return start(call);
        return undefined;
      });
    };
    const unary = (method: string, answer: Answer, service: string = reverb): void =>
      add(service, method, (call) => new UnaryCall(method, call, this, answer));
    add(reverb, "InsertStream", (call) => new InsertCall(call, this));
    add(reverb, "SampleStream", (call) => new SampleCall(call, this));
    unary("MutatePriorities", (message) => {
      namingTable(
        () => this.#low.mutate(message),
        () => parseMessage(MutatePrioritiesRequestSchema, message).table,
      );
      return nothing;
    });
    unary("Reset", (message) => {
      const { table } = parseMessage(ResetRequestSchema, message);
      this.#check(table);
      this.#low.reset(this.#low.numberOf(table));
      return nothing;
    });
    unary("ServerInfo", (message) => {
      parseMessage(ServerInfoRequestSchema, message);
      return serverInfo(this.#tables, this.#stateId);
    });
    unary("Checkpoint", (message) => this.#checkpoint(message));
    // A client asks for a table in its own memory. An empty answer means that it has to call: an address would make it read there.
    unary("InitializeConnection", () => nothing);
    const setIt = (message: Uint8Array): Uint8Array => {
      const request = parseMessage(SetLimiterRequestSchema, message);
      this.#check(request.table);
      setRateLimiter(this.#tables, request);
      return nothing;
    };
    unary("SetLimiter", setIt, Limiters.typeName);
    unary("Check", (message) => this.health.check(message), HealthService.typeName);
    add(HealthService.typeName, "Watch", (call) => new HealthWatch(call, this, this.health));
    return starts;
  }

  async #checkpoint(message: Uint8Array): Promise<Uint8Array> {
    parseMessage(CheckpointRequestSchema, message);
    if (this.#checkpointer === undefined) {
      throw new CallError(
        Status.invalidArgument,
        "no Checkpointer configured for the replay service.",
      );
    }
    try {
      const checkpointPath = await this.#checkpointer.save();
      return toBinary(
        CheckpointResponseSchema,
        create(CheckpointResponseSchema, { checkpointPath }),
      );
    } catch (error) {
      if (!(error instanceof ReplayError)) throw error;
      // The client hears why, and so does whoever runs the server.
      this.#onError(error);
      throw new CallError(
        error.code === "memory" ? Status.resourceExhausted : Status.internal,
        error.message,
      );
    }
  }
}

const reverb = ReverbService.typeName;
const stopping = "the server is stopping";
const tablesLost =
  "the server's tables are disposed; a program must stop its server before it disposes of the tables";
