/**
 * Central inference: one policy acts for the environments of all actors, as in SEED RL.
 *
 * A request goes through three states. First its steps are recorded; a full replay may hold it there. Then it waits with others for the next batch. Last, the
 * policy gives its actions, and it is answered. Requests of different actors meet only in the batch. So an actor that is slow or dead holds up nobody.
 *
 * The file is long because the docs of a server's options and figures are in it.
 *
 * Invariants:
 * 1. Of each actor, one request at most is being worked on; one that comes meanwhile replaces any other that waits behind it.
 * 2. A request that comes again gets the same answer, and nothing is recorded for it.
 * 3. The policy is never called twice at a time.
 * 4. A request that is meant for another server of the same name is not worked on.
 *
 * @module
 */

import { checkInteger, checkNumber, show } from "../base/checks.ts";
import { reasonOf, ReplayError } from "../base/errors.ts";
import { numberOf, showAs } from "../base/inspect.ts";
import { checkOptions } from "../base/option_names.ts";
import { unref } from "../base/platform.ts";
import { bytesOf } from "../base/typed_arrays.ts";
import { checkWait, nextTurn, TIMER_MAX_MS, waitUntil } from "../base/waits.ts";
import type { WaitOptions } from "../mod.ts";
import { checkColumn, type Column, type Columns, type NoColumns } from "../schema/columns.ts";
import type { StateColumns } from "../schema/state.ts";
import {
  type Connection,
  type ConnectionMessage,
  type ConnectionSubscription,
  payloadMax,
} from "../shards/connection.ts";
import { ActorEnvironments } from "./_actor_environments.ts";
import { BatchMemory, type BatchNeeds } from "./_inference_batch_memory.ts";
import {
  encodeActions,
  encodeError,
  InferenceLayout,
  type InferenceRequest,
} from "./_inference_message.ts";
import { checkName, randomWord } from "./_names.ts";
import { type AnyWriter, WriterPool } from "./_writer_pool.ts";
import type { InferenceActions, InferenceBatch, ServeInferenceOptions } from "./types.ts";

const WHERE = "serveInference()";
const OPTIONS = [
  ...["state", "action", "reward", "extras", "recurrent", "act", "writer"],
  ...["maxBatch", "maxWaitMs", "dropAfterMs", "maxEnvironments"],
];

/**
 * Acts for the environments of all actors, as in SEED RL: they ask by {@linkcode inferenceClient}, and `act` answers for many of them at once. The server keeps their
 * recurrent states, and records their steps by `writer`. So actors need neither weights nor a replay.
 *
 * A step is recorded once its outcome is known, before the next action is chosen. If the replay is full and its rate limiter makes a step wait,
 * only that actor waits. An actor that has been silent for `dropAfterMs` counts as dead: its episodes end as truncated.
 *
 * @param connection A connection of NATS, or any other {@linkcode Connection}.
 * @param name What actors call it: words with dots between them.
 * @throws {TypeError} For an option of another kind, or an unknown one.
 * @throws {RangeError} For a number out of its range.
 * @example Steps of an actor, in a replay
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import { inferenceClient, serveInference } from "@exrp/replay/fleet";
 * import { replayWriter } from "@exrp/replay/learner";
 * import { localConnection } from "@exrp/replay/shards";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
 * const connection = localConnection(); // or one of NATS, in each process
 * const server = await serveInference(connection, "policy", {
 *   state: float32(),
 *   recurrent: { steps: float32() },
 *   act: ({ size, state, recurrent: { steps } }) => {
 *     for (let k = 0; k < size; k++) steps[k] = (steps[k] ?? 0) + 1; // yours: a network
 *     return { action: state.map((each, k) => (each > 0 ? 1 : 0) * (steps[k] ?? 0)) };
 *   },
 *   writer: () => replayWriter(replay),
 * });
 *
 * const client = inferenceClient(connection, "policy", { state: float32() });
 * console.log([...await client.reset([5])]); // [1]
 * const step = { reward: [1], terminated: [false], nextState: [6], state: [6] };
 * console.log([...await client.step(step)]); // [2]
 * await client.close();
 * await server.close();
 * console.log([...replay.episodeRecords(0).action]); // [1]
 * ```
 */
export function serveInference<
  const State extends StateColumns,
  Action extends Column = Column<"int32", []>,
  Reward extends Column = Column<"float32", []>,
  Extras extends Columns = NoColumns,
  Recurrent extends Columns = NoColumns,
>(
  connection: Connection,
  name: string,
  options: ServeInferenceOptions<State, Action, Reward, Extras, Recurrent>,
): Promise<InferenceServer> {
  return new Promise((resolve) => {
    checkName(WHERE, name);
    checkOptions(WHERE, options, OPTIONS);
    const { state, action, reward, extras, recurrent = {}, act, writer } = options;
    const columns = { state, action, reward, extras };
    const given = Object.fromEntries(
      Object.entries(columns).filter(([, each]) => each !== undefined),
    );
    const layout = new InferenceLayout(WHERE, given as never);
    const limits = { maxBatch: 1024, maxWaitMs: 2, dropAfterMs: 10_000, maxEnvironments: 65_536 };
    for (const each of ["maxBatch", "maxEnvironments"] as const) {
      limits[each] = checkInteger(`${WHERE}: ${each}`, options[each] ?? limits[each], 1, 2 ** 20);
    }
    for (const [each, least] of [["maxWaitMs", 0], ["dropAfterMs", 1]] as const) {
      limits[each] = checkNumber(
        `${WHERE}: ${each}`,
        options[each] ?? limits[each],
        least,
        TIMER_MAX_MS,
      );
    }
    if (typeof act !== "function") {
      throw new TypeError(`${WHERE}: act must be a function, got ${show(act)}`);
    }
    if (writer !== undefined && typeof writer !== "function") {
      throw new TypeError(`${WHERE}: writer must be a function, got ${show(writer)}`);
    }
    const states = Object.entries<unknown>(recurrent).map(([each, column]) => ({
      name: `recurrent.${each}`,
      column: checkColumn(`${WHERE}: recurrent.${each}`, column),
    }));
    const names = Object.keys(recurrent);
    const policy = act as unknown as Policy;
    resolve(
      new InferenceServer(connection, name, {
        ...{ layout, recurrent: states, recurrentNames: names, limits, act: policy },
        writers: new WriterPool(writer as ((environment: number) => AnyWriter) | undefined),
      }),
    );
  });
}

type Policy = (batch: InferenceBatch) => InferenceActions | Promise<InferenceActions>;

/** What a server needs besides. */
interface ServerNeeds extends BatchNeeds {
  readonly limits: Readonly<
    Required<
      Pick<ServeInferenceOptions, "maxBatch" | "maxWaitMs" | "dropAfterMs" | "maxEnvironments">
    >
  >;
  readonly act: Policy;
  readonly writers: WriterPool;
}

/** An actor, and the request that it waits for. */
interface Actor {
  readonly key: number;
  readonly environments: ActorEnvironments;
  /** The number of its latest request, and where the answer goes. */
  number: number;
  reply: string;
  isNew: boolean;
  /** The answer; undefined while the request is worked on. */
  answer: Uint8Array | undefined;
  /** A later request, which came while that one was worked on. */
  next: (() => void) | undefined;
  heardAt: number;
}

/**
 * A server of {@linkcode serveInference}. Close it at the end: that closes its writers, too.
 *
 * @example
 * ```ts
 * import { float32 } from "@exrp/replay";
 * import { inferenceClient, type InferenceServer, serveInference } from "@exrp/replay/fleet";
 * import { localConnection } from "@exrp/replay/shards";
 *
 * const connection = localConnection();
 * await using server: InferenceServer = await serveInference(connection, "policy", {
 *   state: float32(),
 *   act: ({ size }) => ({ action: new Int32Array(size) }),
 * });
 * await using client = inferenceClient(connection, "policy", { state: float32() }, { environments: 3 });
 * await client.reset([1, 2, 3]);
 * console.log(server.actorCount, server.environmentCount, server.batchCount); // 1 3 1
 * ```
 */
export class InferenceServer implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #needs: ServerNeeds;
  readonly #actors = new Map<number, Actor>();
  readonly #batch: BatchMemory;
  readonly #subscription: ConnectionSubscription;
  readonly #sweeping: ReturnType<typeof setInterval>;
  /** The numbers of environments that nobody has. */
  readonly #free: number[] = [];
  readonly #leaving = new Set<Promise<void>>();
  /** The actors that wait for the next batch. */
  #queue: Actor[] = [];
  #queuedEnvironments = 0;
  #recordingCount = 0;
  #environmentCount = 0;
  #numbers = 0;
  /** When it last looked for the dead, and how often it does. */
  #swept = performance.now();
  readonly #sweepMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #acting: Promise<void> | undefined;
  #isClosed = false;
  /** What tells it from other servers of its name. */
  readonly #word = randomWord() || 1;
  #stepCount = 0;
  #batchCount = 0;
  #droppedCount = 0;
  #refusedCount = 0;
  #lastRefusal: string | undefined;
  #failure: unknown;

  /** Users call {@linkcode serveInference}. */
  constructor(connection: Connection, name: string, needs: ServerNeeds) {
    this.#connection = connection;
    this.#needs = needs;
    this.#batch = new BatchMemory(needs);
    this.#subscription = connection.subscribe(name, {
      callback: (error, message) => {
        if (error === null) this.#take(message);
        else this.#failure = error;
      },
    });
    const { dropAfterMs } = needs.limits;
    this.#sweepMs = Math.max(1, dropAfterMs / 4);
    this.#sweeping = setInterval(() => this.#sweep(), this.#sweepMs);
    unref(this.#sweeping);
  }

  /** How many actors it knows. */
  get actorCount(): number {
    return this.#actors.size;
  }

  /** How many environments they have. */
  get environmentCount(): number {
    return this.#environmentCount;
  }

  /** How many actions it has chosen. */
  get stepCount(): number {
    return this.#stepCount;
  }

  /** How often it called the policy. */
  get batchCount(): number {
    return this.#batchCount;
  }

  /** How many actors it took for dead. */
  get droppedCount(): number {
    return this.#droppedCount;
  }

  /** How many requests it refused: damaged ones, those of other columns, and those whose step or action failed. */
  get refusedCount(): number {
    return this.#refusedCount;
  }

  /** Why it refused the last of them. */
  get lastRefusal(): string | undefined {
    return this.#lastRefusal;
  }

  /** Why no request comes any more, if that is so: the connection has ended, or its server refused the subject. */
  get failure(): unknown {
    if (this.#failure !== undefined || !this.#connection.isClosed()) return this.#failure;
    return new ReplayError("disposed", "the connection is closed");
  }

  /** How many open episodes the replay had evicted so long ago that it did not know them any more. It is too small for so many environments. */
  get evictedCount(): number {
    return this.#needs.writers.evictedCount;
  }

  /** How many actors wait because a writer waits, such as that of a full replay. */
  get recordingCount(): number {
    return this.#recordingCount;
  }

  /**
   * Ends serving: open episodes end as truncated, and the writers are closed. Actors get no answer any more. A second call does nothing.
   *
   * @param options `timeoutMs` and `signal` end the wait, such as that for a replay that is full. What could not be written by then is lost.
   * @throws {ReplayError} `timeout` if not all was written in time.
   */
  async close(options: WaitOptions = {}): Promise<void> {
    checkOptions("close()", options, ["signal", "timeoutMs"]);
    checkWait("close()", options);
    if (this.#isClosed) return;
    const { timeoutMs = Infinity, signal } = options;
    const end = performance.now() + timeoutMs;
    this.#isClosed = true;
    this.#subscription.unsubscribe();
    clearInterval(this.#sweeping);
    clearTimeout(this.#timer);
    this.#actors.clear();
    try {
      await waitUntil<void>(options, (done, fail) => {
        Promise.all([this.#acting, ...this.#leaving]).then(() => done(), fail);
        return () => {};
      }, () =>
        new ReplayError(
          "timeout",
          `close(): not all episodes had ended within ${timeoutMs} ms`,
        ));
    } finally {
      await this.#needs.writers.close({
        ...signal === undefined ? {} : { signal },
        ...timeoutMs === Infinity ? {} : { timeoutMs: Math.max(0, end - performance.now()) },
      });
    }
  }

  /** The same as {@linkcode InferenceServer.close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #take({ data, reply }: ConnectionMessage): void {
    if (this.#isClosed || reply === undefined) return;
    let request: InferenceRequest;
    try {
      request = this.#needs.layout.decode(data, this.#needs.limits.maxEnvironments);
    } catch (error) {
      this.#send(reply, this.#refusal(0, reasonOf(error)));
      return;
    }
    const actor = this.#actors.get(request.actor);
    if (request.server !== 0 && request.server !== this.#word) {
      // Another server of this name answered it, and has its environments now.
      const isOver = actor?.answer !== undefined && request.number > actor.number;
      if (isOver) this.#drop(actor);
      return;
    }
    if (actor === undefined) this.#meet(request, reply);
    else this.#hear(actor, request, reply);
  }

  /** A request of an actor that is known. */
  #hear(actor: Actor, request: InferenceRequest, reply: string): void {
    actor.heardAt = performance.now();
    const { number } = request;
    const server = this.#word;
    if (number < actor.number) return; // it came late
    if (number === actor.number) {
      actor.reply = reply;
      if (actor.answer !== undefined) this.#send(reply, actor.answer);
      return;
    }
    if (actor.answer === undefined) {
      actor.next = () => this.#hear(actor, request, reply);
      return;
    }
    actor.number = number;
    actor.reply = reply;
    actor.isNew = false;
    if (request.isEnd) {
      this.#answer(actor, encodeActions({ number, server }));
      this.#drop(actor);
    } else if (request.environments !== actor.environments.count) {
      const { count } = actor.environments;
      this.#refuse(
        actor,
        `the actor had ${count} environments, and has ${request.environments} now`,
      );
    } else {
      actor.answer = undefined;
      this.#record(actor, request);
    }
  }

  /** The first request of an actor. In the middle of an episode, another one begins: what was before is not known. */
  #meet(request: InferenceRequest, reply: string): void {
    const { actor: key, number, environments: count } = request;
    if (request.isEnd) {
      this.#send(reply, encodeActions({ number, server: this.#word }));
      return;
    }
    const { maxEnvironments } = this.#needs.limits;
    // Those count, too, whose actor is gone and whose episodes are about to end.
    if (this.#numbers - this.#free.length + count > maxEnvironments) {
      const words = `with its environments there would be above ${maxEnvironments}`;
      this.#send(reply, this.#refusal(number, words));
      return;
    }
    const { column } = this.#needs.layout.action;
    const answer = encodeActions({ number, server: this.#word }).length +
      count * column.elementBytes * column.elementCount;
    if (answer > payloadMax(this.#connection)) {
      this.#send(
        reply,
        this.#refusal(number, `its actions take ${answer} bytes, too many for a message`),
      );
      return;
    }
    let numbers: readonly number[];
    try {
      numbers = this.#numbersFor(count);
    } catch (error) {
      this.#send(reply, this.#refusal(number, reasonOf(error)));
      return;
    }
    const { layout, recurrent, writers } = this.#needs;
    const environments = new ActorEnvironments(layout, recurrent, { request, numbers, writers });
    this.#environmentCount += count;
    const actor = {
      ...{ key, environments, number, reply, isNew: !request.isReset },
      ...{ answer: undefined, next: undefined, heardAt: performance.now() },
    };
    this.#actors.set(key, actor);
    this.#enqueue(actor);
  }

  /** Takes the numbers of `count` environments, which have writers. */
  #numbersFor(count: number): readonly number[] {
    const more = Math.max(0, count - this.#free.length);
    this.#needs.writers.grow(this.#numbers + more);
    for (let k = 0; k < more; k++) this.#free.push(this.#numbers++);
    return this.#free.splice(-count);
  }

  /** Records what came of the last actions, and then queues the request. */
  #record(actor: Actor, request: InferenceRequest): void {
    this.#recordingCount++;
    actor.environments.take(request).then(
      () => {
        this.#recordingCount--;
        if (!this.#isClosed) this.#enqueue(actor);
      },
      (error) => {
        this.#recordingCount--;
        this.#refuse(actor, reasonOf(error));
      },
    );
  }

  #enqueue(actor: Actor): void {
    this.#queue.push(actor);
    this.#queuedEnvironments += actor.environments.count;
    this.#actIfDue();
  }

  /** Whether the next batch need not wait: it is full, or nobody else can come. */
  get #isDue(): boolean {
    const waiting = this.#queue.length + this.#recordingCount;
    return this.#queuedEnvironments >= this.#needs.limits.maxBatch || waiting >= this.#actors.size;
  }

  #actIfDue(): void {
    if (this.#acting !== undefined || this.#queue.length === 0) return;
    const { maxWaitMs } = this.#needs.limits;
    // In a later turn, so that all who ask in this one are in the batch.
    if (this.#isDue || maxWaitMs === 0) nextTurn(() => this.#startActing());
    else this.#timer ??= setTimeout(() => this.#startActing(), maxWaitMs);
  }

  #startActing(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#acting !== undefined || this.#isClosed || this.#queue.length === 0) return;
    this.#acting = this.#act().finally(() => {
      this.#acting = undefined;
      this.#actIfDue();
    });
  }

  /** Acts for one batch. */
  async #act(): Promise<void> {
    const actors = this.#nextBatch();
    const environments = actors.map((actor) => actor.environments);
    try {
      const given = await this.#needs.act(this.#batch.gather(environments));
      this.#batch.scatter(environments, given);
    } catch (error) {
      for (const actor of actors) this.#refuse(actor, reasonOf(error));
      return;
    }
    this.#batchCount++;
    for (const actor of actors) {
      this.#stepCount += actor.environments.count;
      const actions = bytesOf(actor.environments.lastAction.array) as Uint8Array;
      const { number, isNew } = actor;
      this.#answer(actor, encodeActions({ number, server: this.#word, isNew }, actions));
    }
  }

  /** Takes as many actors out of the queue as fit into a batch, and at least one. */
  #nextBatch(): Actor[] {
    const { maxBatch } = this.#needs.limits;
    let [count, size] = [0, 0];
    for (const { environments } of this.#queue) {
      if (count > 0 && size + environments.count > maxBatch) break;
      count++;
      size += environments.count;
    }
    this.#queuedEnvironments -= size;
    return this.#queue.splice(0, count);
  }

  /** Answers the request that an actor waits for, and then hears the one behind it. */
  #answer(actor: Actor, answer: Uint8Array): void {
    actor.answer = answer;
    actor.heardAt = performance.now();
    this.#send(actor.reply, answer);
    const { next } = actor;
    actor.next = undefined;
    if (next !== undefined && this.#actors.get(actor.key) === actor) next();
  }

  /** Refuses the request of an actor, whose episodes end there. Its next request is that of a new one. */
  #refuse(actor: Actor, reason: string): void {
    this.#drop(actor);
    this.#answer(actor, this.#refusal(actor.number, reason));
  }

  #refusal(number: number, reason: string): Uint8Array {
    this.#refusedCount++;
    this.#lastRefusal = reason;
    return encodeError({ number, server: this.#word }, reason);
  }

  #send(subject: string, data: Uint8Array): void {
    if (this.#isClosed) return;
    try {
      this.#connection.publish(subject, data);
    } catch (error) {
      this.#lastRefusal = reasonOf(error); // the connection is closed, or about to be
    }
  }

  /** Forgets the actors that have been silent for too long. Those that wait for an answer can't speak. */
  #sweep(): void {
    const now = performance.now();
    const stoodStill = now - this.#swept - this.#sweepMs;
    this.#swept = now;
    const before = now - this.#needs.limits.dropAfterMs;
    for (const actor of this.#actors.values()) {
      // What waits in the socket was not read meanwhile.
      if (stoodStill > this.#sweepMs) actor.heardAt = Math.min(now, actor.heardAt + stoodStill);
      if (actor.answer === undefined || actor.heardAt > before) continue;
      this.#droppedCount++;
      this.#drop(actor);
    }
    this.#actIfDue(); // for those that waited for the dead
  }

  /** Forgets an actor. The numbers of its environments are free once their episodes have ended. */
  #drop(actor: Actor): void {
    if (!this.#actors.delete(actor.key)) return;
    const { environments } = actor;
    this.#environmentCount -= environments.count;
    const leaving = environments.leave()
      .catch((error) => {
        this.#lastRefusal = reasonOf(error);
      })
      .then(() => {
        this.#free.push(...environments.numbers);
        this.#leaving.delete(leaving);
      });
    this.#leaving.add(leaving);
  }
}

showAs(
  InferenceServer,
  (server) =>
    `InferenceServer { ${numberOf(server.actorCount, "actor")}, ${
      numberOf(server.environmentCount, "environment")
    }, ${numberOf(server.stepCount, "step")} in ${numberOf(server.batchCount, "call")} }`,
);
