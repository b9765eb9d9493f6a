/**
 * Which method serves which path, and how the calls of all connections work together on one set of tables.
 *
 * A message only changes the tables. What that makes ready, for its own call and for others, is sent by `sendReady()`, once all that came with
 * the same read of a socket was taken in. So many items are confirmed by one message.
 *
 * One thread uses it.
 *
 * @module
 */
import { create, toBinary } from "@bufbuild/protobuf";
import { ReplayError } from "../base/errors.ts";
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
import { type Health, healthAnswer, HealthWatch } from "./calls/health_call.ts";
import { InsertCall } from "./calls/insert_call.ts";
import {
  CallError,
  type CallOwner,
  type MethodCall,
  namingTable,
  parseMessage,
  type StartTimer,
  stoppingWords,
} from "./calls/method_call.ts";
import { SampleCall } from "./calls/sample_call.ts";
import { type Answer, UnaryCall } from "./calls/unary_call.ts";
import type { CallFigures } from "./figures.ts";
import type { GrpcCall, StartCall } from "../net/grpc/calls.ts";
import { Status } from "../net/grpc/status.ts";
import type { KernelTables } from "../tables/kernel_tables.ts";
import { kernelTablesOf, type Tables } from "../tables/tables.ts";
import { serverInfo } from "./server_info.ts";
import { setRateLimiter } from "./set_rate_limiter.ts";

/** Who writes checkpoints for {@linkcode serve}. */
export interface Checkpointer {
  /** Writes all tables to a place of its own, and returns its path. */
  save(): Promise<string>;
}

/** The answers that have no fields. */
const nothing = new Uint8Array(0);

/** The timers of the platform. */
const platformTimer: StartTimer = (then, ms) => {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
};

/** The calls of a server. */
export class Service implements CallOwner, Health {
  /** @inheritDoc */
  readonly heldChunkBytes: number;
  /** @inheritDoc */
  readonly startTimer: StartTimer;
  /** @inheritDoc */
  readonly kernelTables: KernelTables;
  /** @inheritDoc */
  isServing = true;
  readonly #tables: Tables;
  readonly #checkpointer: Checkpointer | undefined;
  readonly #onError: (error: unknown) => void;
  /** The open calls that are streams, as all others end by themselves; and the calls that have news. */
  readonly #streams = new Set<MethodCall>();
  #touched = new Set<MethodCall>();
  #isLossTold = false;
  #isSending = false;
  #isSendPlanned = false;
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
    timers: StartTimer = platformTimer,
  ) {
    this.#tables = tables;
    this.#checkpointer = checkpointer;
    this.#onError = onError;
    this.heldChunkBytes = heldChunkBytes;
    this.startTimer = timers;
    this.kernelTables = kernelTablesOf(tables);
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
  sendReady(): void {
    // A call that is pumped may lead here again.
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      while (this.#touched.size > 0) {
        const calls = this.#touched;
        this.#touched = new Set();
        for (const call of calls) call.pump();
      }
    } catch (error) {
      this.#onError(error);
    } finally {
      this.#isSending = false;
    }
  }

  /** Ends all calls that would never end by themselves, and refuses new ones. Inserts go on until `endInserts()`. */
  stop(): void {
    this.isServing = false;
    for (const call of this.#streams) call.stop();
  }

  /** Ends the inserts of which everything is confirmed, or with `all` every one. Returns how many are left. */
  endInserts(all: boolean): number {
    let left = 0;
    for (const call of this.#streams) {
      if (!(call instanceof InsertCall)) continue;
      if (all || call.isQuiet) call.finish(Status.unavailable, stoppingWords);
      else left++;
    }
    return left;
  }

  /**
   * Why nothing can be served any more, where the program has disposed of the tables; undefined else. Whoever runs the server is told once.
   */
  get lost(): string | undefined {
    if (!this.kernelTables.isDisposed) return undefined;
    if (!this.#isLossTold) this.#onError(new ReplayError("disposed", tablesLost));
    this.#isLossTold = true;
    return tablesLost;
  }

  // What calls need.

  /** @inheritDoc */
  ended(call: MethodCall, status: number): void {
    this.#streams.delete(call);
    const { method } = call;
    const key = `${method} ${status}`;
    const count = (this.#ended.get(key)?.count ?? 0) + 1;
    this.#ended.set(key, { method, code: status, count });
  }

  /** @inheritDoc */
  failed({ method }: MethodCall, error: unknown): void {
    this.#onError(new Error(`${method} failed`, { cause: error }));
  }

  /** @inheritDoc */
  touch(call: MethodCall): void {
    this.#touched.add(call);
    // Where no read of a socket leads here, but a call of this program, nobody else sends.
    if (this.#isSending || this.#isSendPlanned) return;
    this.#isSendPlanned = true;
    queueMicrotask(() => {
      this.#isSendPlanned = false;
      this.sendReady();
    });
  }

  /** What begins the calls of each path. */
  #makeStarts(): Map<string, StartCall> {
    const starts = new Map<string, StartCall>();
    const add = (service: string, method: string, begin: (call: GrpcCall) => MethodCall): void => {
      starts.set(`/${service}/${method}`, (call) => {
        if (!this.isServing) return void call.finish(Status.unavailable, stoppingWords);
        const { lost } = this;
        if (lost !== undefined) return void call.finish(Status.failedPrecondition, lost);
        return begin(call);
      });
    };
    const stream = (service: string, method: string, begin: (call: GrpcCall) => MethodCall): void =>
      add(service, method, (call) => {
        const begun = begin(call);
        this.#streams.add(begun);
        return begun;
      });
    const unary = (method: string, answer: Answer, service: string = reverb): void =>
      add(service, method, (call) => new UnaryCall(method, call, this, answer));
    stream(reverb, "InsertStream", (call) => new InsertCall(call, this));
    stream(reverb, "SampleStream", (call) => new SampleCall(call, this));
    unary("Check", (message) => healthAnswer(message, this, false), HealthService.typeName);
    stream(HealthService.typeName, "Watch", (call) => new HealthWatch(call, this, this));
    unary("MutatePriorities", (message) => {
      namingTable(
        () => this.kernelTables.mutate(message),
        () => parseMessage(MutatePrioritiesRequestSchema, message).table,
      );
      return nothing;
    });
    unary("Reset", (message) => {
      const { table } = parseMessage(ResetRequestSchema, message);
      namingTable(() => this.kernelTables.reset(this.kernelTables.numberOf(table)), () => table);
      return nothing;
    });
    unary("ServerInfo", (message) => {
      parseMessage(ServerInfoRequestSchema, message);
      return serverInfo(this.#tables, this.#stateId);
    });
    unary("Checkpoint", (message) => this.#checkpoint(message));
    // A client asks for a table in its own memory. An empty answer means that it has to call: an address would make it read there.
    unary("InitializeConnection", () => nothing);
    const setLimiter: Answer = (message) => {
      const request = parseMessage(SetLimiterRequestSchema, message);
      namingTable(() => setRateLimiter(this.#tables, request), () => request.table);
      return nothing;
    };
    unary("SetLimiter", setLimiter, Limiters.typeName);
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
const tablesLost =
  "the server's tables are disposed; a program must stop its server before it disposes of the tables";
