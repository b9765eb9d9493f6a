/**
 * The learner's end: batches from all shards as from one replay.
 *
 * Each draw takes one round trip. The learner splits it over shards in proportion to the sums of weights that it knows: each pick goes to a shard by chance, so the
 * counts are multinomial. Each shard draws its part, and says what its sum is now. The probability of a pick is that with which it was really drawn: the share
 * that was used, times its probability within the shard. So a sum that was old changes how often a pick comes, and its importance weight makes up for that.
 *
 * The file is long because all its parts share what is known of the shards.
 *
 * @module
 */

import { checkInteger, checkNumber, checkNumbers } from "../base/checks.ts";
import { reasonOf, ReplayError } from "../base/errors.ts";
import { checkOptions } from "../base/option_names.ts";
import { checkWait, waitUntil } from "../base/waits.ts";
import { type Kernel, openKernel } from "../ffi/library.ts";
import type { Batch, WaitOptions } from "../mod.ts";
import type { RateLimiter } from "../rate_limiters/rate_limiter.ts";
import { OwnedBatch } from "../replay/draw/owned_batch.ts";
import type { PickView } from "../replay/register/pick_view.ts";
import type { ReplayConfig } from "../schema/create_options.ts";
import type { AnySchema, Schema } from "../schema/schema.ts";
import { RandomStream } from "../selectors/random_stream.ts";
import type { Connection } from "./connection.ts";
import { payloadMax } from "./connection.ts";
import type { Announcement, SelectorFigures } from "./_announcement.ts";
import { type Counted, LIMIT, SharedRateLimiter } from "./_shared_rate_limiter.ts";
import { type Member, Members } from "./_members.ts";
import { DRAWN, type PicksPart, putRows, writePriorities } from "./_draw_message.ts";
import { noSelector, ShardModel } from "./_shard_model.ts";
import { ANSWER_MS, DrawRequests, LOOK_MS } from "./_draw_requests.ts";
import type {
  ConnectShardsOptions,
  ShardChange,
  ShardKeys,
  ShardPicks,
  ShardsBatchesOptions,
  ShardsFigures,
  ShardsGetBatchOptions,
} from "./types.ts";
import { checkToken, refusedBy, Subjects } from "./_message_bytes.ts";

const WHERE = "connectShards()";
const GET = "getBatch()";
/** All limits are sent again so often. */
const LIMITS_MS = 1000;
const BATCH_MAX = 2 ** 24;

/**
 * Connects a learner to the shards of a connection. It waits until so many are there as you say; `timeoutMs` and `signal` end the wait; by default, it
 * waits 10 s. {@linkcode serveShard} has an example.
 *
 * @throws {TypeError} For an unknown option, or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @throws {ReplayError} `timeout` if there are too few shards; `shard-mismatch` if they are of different replays; `refused` if the server of NATS does not let this
 * user subscribe.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
 * import { connectShards, localConnection, serveShard } from "@exrp/replay/shards";
 *
 * const connection = localConnection();
 * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32() });
 * replay.newPickSelector(prioritized());
 * replay.record(replay.newEpisode(), 1, 0, 0.5, { finalState: 2 });
 * await using _shard = await serveShard(replay, connection, { name: "a" });
 *
 * const changes: string[] = [];
 * await using shards = await connectShards(connection, {
 *   shards: 1,
 *   seed: 7,
 *   onChange: ({ kind, shard }) => changes.push(`${shard} ${kind}`),
 * });
 * const batch = await shards.getBatch(4, { beta: 0.4, timeoutMs: 1000 });
 * console.log(batch.reward, changes); // Float32Array(4) [0.5, 0.5, 0.5, 0.5] ["a came"]
 * ```
 */
export async function connectShards<S extends Schema = AnySchema>(
  connection: Connection,
  options: ConnectShardsOptions = {},
): Promise<Shards<S>> {
  checkOptions(WHERE, options, [
    ...["prefix", "shards", "selector", "seed", "rateLimiter", "onChange", "timeoutMs", "signal"],
  ]);
  const { prefix = "exrp", shards = 1, selector = 0, timeoutMs = 10_000, signal } = options;
  const { seed = Math.floor(Math.random() * 2 ** 53), rateLimiter, onChange } = options;
  const subjects = new Subjects(checkToken(`${WHERE}: prefix`, prefix, true));
  checkInteger(`${WHERE}: shards`, shards, 1, 65_536);
  checkInteger(`${WHERE}: selector`, selector, 0, 63);
  checkInteger(`${WHERE}: seed`, seed, 0, Number.MAX_SAFE_INTEGER);
  checkWait(WHERE, { timeoutMs });
  const kernel = await openKernel({});
  const made = new Shards<S>({
    kernel,
    connection,
    subjects,
    selector,
    seed,
    rateLimiter,
    onChange,
  });
  try {
    await made.untilThere(shards, { timeoutMs, ...signal === undefined ? {} : { signal } });
  } catch (error) {
    await made.close();
    throw error;
  }
  return made;
}

/** The columns of the shards' replays, for other files of this folder. */
export let configOfShards: (shards: Shards) => ReplayConfig;

/**
 * All shards of a prefix, as one replay to draw from. {@linkcode connectShards} makes it.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
 * import { connectShards, localConnection, serveShard } from "@exrp/replay/shards";
 *
 * const connection = localConnection();
 * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32() });
 * replay.newPickSelector(prioritized());
 * replay.record(replay.newEpisode(), 1, 0, 0.5, { finalState: 2 });
 * await using _shard = await serveShard(replay, connection, { name: "a" });
 *
 * await using shards = await connectShards(connection);
 * let updates = 0;
 * const beta = (): number => 0.4 + updates / 10; // asked at each draw
 * for await (const batch of shards.batches(32, { beta, prefetch: 2 })) {
 *   const errors = new Float32Array(batch.size).fill(0.5); // yours: the TD errors
 *   shards.setPriority(batch, errors);
 *   if (++updates === 3) break;
 * }
 * console.log(shards.figures().shards.map(({ name, picks }) => [name, picks])); // [["a", 1]]
 * ```
 */
export class Shards<S extends Schema = AnySchema> implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #subjects: Subjects;
  readonly #kernel: Kernel;
  readonly #selector: number;
  readonly #random: RandomStream;
  readonly #onChange: ((change: ShardChange) => void) | undefined;
  readonly #limits: SharedRateLimiter | undefined;
  readonly #members: Members;
  readonly #requests: DrawRequests;
  readonly #timer: ReturnType<typeof setInterval>;
  /** The latest that is known of the selector, by the name of the shard. */
  readonly #known = new Map<string, SelectorFigures>();
  /** How many records the present process of each shard was ever written. */
  readonly #recorded = new Map<string, number>();
  readonly #differs = new Map<string, string>();
  readonly #origins = new WeakMap<object, readonly ShardPicks[]>();
  readonly #waiters = new Set<() => void>();
  readonly #end = new AbortController();
  #model: ShardModel | undefined;
  #failure: ReplayError | undefined;
  #isConnected = false;
  #limitsSent = 0;
  #drawn = 0;
  #redrawn = 0;

  static {
    configOfShards = (shards) => shards.#common().config;
  }

  /** Begins to look for shards; {@linkcode connectShards} calls it. */
  constructor({ kernel, connection, subjects, selector, seed, rateLimiter, onChange }: {
    readonly kernel: Kernel;
    readonly connection: Connection;
    readonly subjects: Subjects;
    readonly selector: number;
    readonly seed: number;
    readonly rateLimiter: RateLimiter | undefined;
    readonly onChange: ((change: ShardChange) => void) | undefined;
  }) {
    this.#connection = connection;
    this.#subjects = subjects;
    this.#kernel = kernel;
    this.#selector = selector;
    this.#random = new RandomStream(seed);
    this.#onChange = onChange;
    this.#limits = rateLimiter === undefined ? undefined : new SharedRateLimiter(rateLimiter);
    const refused = (error: Error): void => {
      this.#failure ??= refusedBy(WHERE, error);
      this.#wake();
    };
    const hears = (shard: string, part: PicksPart, busyMs: number): void =>
      this.#heard(shard, part, busyMs);
    this.#requests = new DrawRequests(connection, subjects, hears, refused);
    this.#members = new Members(connection, subjects, {
      came: (member, isNew) => this.#came(member, isNew),
      left: (member) => this.#left(member),
      beat: (member) => this.#beat(member),
      refused,
    });
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  /** The pick view of the selector: what a batch shows. */
  get pickView(): PickView {
    return this.#common().view;
  }

  /** Waits until so many shards are there. */
  async untilThere(count: number, options: WaitOptions): Promise<void> {
    await this.#until(
      options,
      () => this.#alive().length >= count ? true : undefined,
      () => {
        const words = `${this.#alive().length} of ${count} shards were there`;
        return new ReplayError(
          "timeout",
          `${WHERE}: ${words} within ${options.timeoutMs} ms${this.#members.why}`,
        );
      },
    );
    this.#isConnected = true;
    // One that differed was told of, and is left out.
    this.#failure = undefined;
  }

  /**
   * Draws a batch from all shards. It waits until there is something to draw, and until the rate limiter allows it. With `timeoutMs: 0` it waits for nothing but
   * the shards' answers.
   *
   * The picks of one shard stand together. `pickEpisode` has handles of the shards' replays, so the same number may stand for several episodes.
   *
   * @param size How many picks, 1 to 2^24.
   * @throws {ReplayError} `timeout`, also while shards draw; `shard-refused` if a shard can't draw so many; `disk` or `log-damaged` if one can't read its rows;
   * `disposed`.
   */
  async getBatch(size: number, options: ShardsGetBatchOptions = {}): Promise<Batch<S>> {
    checkOptions(GET, options, ["beta", "timeoutMs", "signal"]);
    const { beta = 1, timeoutMs, signal } = options;
    checkInteger(`${GET}: size`, size, 1, BATCH_MAX);
    checkNumber(`${GET}: beta`, beta, 0, 2 ** 53);
    checkWait(GET, options);
    this.#checkOpen(GET);
    signal?.throwIfAborted();
    const end = timeoutMs === undefined ? Infinity : performance.now() + timeoutMs;
    const lost = { rounds: 0 };
    for (;;) {
      await this.#mayDraw(size, options, end);
      const batch = await this.#drawWithin(size, beta, options, end, lost);
      if (batch !== undefined) return batch as unknown as Batch<S>;
      if (performance.now() >= end) throw this.#late(GET, timeoutMs);
      await this.#change(options, end);
    }
  }

  /** Draws batch after batch, for `for await`, and some ahead. Leave the loop by `break` or the `signal`. */
  async *batches(
    size: number,
    options: ShardsBatchesOptions = {},
  ): AsyncGenerator<Batch<S>, void, void> {
    const where = "batches()";
    checkOptions(where, options, ["beta", "prefetch", "signal"]);
    const { beta = 1, prefetch = 1, signal } = options;
    checkInteger(`${where}: prefetch`, prefetch, 0, 16);
    const own = new AbortController();
    const both = signal === undefined ? own.signal : AbortSignal.any([signal, own.signal]);
    const ahead: Promise<Batch<S>>[] = [];
    const ask = (): void => {
      const drawn = this.getBatch(size, {
        beta: typeof beta === "function" ? beta() : beta,
        signal: both,
      });
      // Perhaps nobody waits for it any more.
      drawn.catch(() => {});
      ahead.push(drawn);
    };
    try {
      for (;;) {
        while (ahead.length < prefetch + 1) ask();
        yield await (ahead.shift() as Promise<Batch<S>>);
      }
    } finally {
      own.abort();
    }
  }

  /** The shards of the picks of a batch that {@linkcode Shards.getBatch} drew: setPriority takes it in place of the batch. */
  keysOf(batch: Batch): ShardKeys {
    const origins = this.#origins.get(batch);
    if (origins === undefined) {
      throw new TypeError("keysOf() takes a batch that these shards drew");
    }
    return { origins, pickEpisode: batch.pickEpisode, pickPosition: batch.pickPosition };
  }

  /**
   * Sets the priorities of a batch's picks, in each shard by one message. Those that were evicted meanwhile are skipped, and those of a shard that died since.
   *
   * It does not wait: draws of this learner that follow come behind it.
   *
   * @param drawn The batch, or its keys.
   * @param priorities `[size]`: one for each pick, finite and not negative.
   */
  setPriority(drawn: Batch<S> | ShardKeys, priorities: ArrayLike<number>): void {
    this.#checkOpen("setPriority()");
    const keys = "origins" in drawn ? drawn : this.keysOf(drawn as unknown as Batch);
    const { origins, pickEpisode, pickPosition } = keys;
    const size = pickEpisode.length;
    const list = checkNumbers("setPriority()", "priorities", priorities);
    if (list.length !== size) {
      throw new RangeError(`setPriority() takes ${size} priorities, got ${list.length}`);
    }
    const values = Float64Array.from(list as ArrayLike<number>, (value, k) => {
      if (value >= 0 && value < Infinity) return value;
      const words = `priority ${k} must be finite and not negative, got ${value}`;
      throw new ReplayError("invalid-priority", `setPriority(): ${words}`);
    });
    const most = Math.floor((payloadMax(this.#connection) - 64) / 20);
    const { schema } = this.#common();
    for (const { shard, incarnation, first, count } of origins) {
      const member = this.#members.all.get(shard);
      if (member?.isAlive !== true || member.announcement.incarnation !== incarnation) continue;
      for (let from = first; from < first + count; from += most) {
        const to = Math.min(first + count, from + most);
        const bytes = writePriorities({
          ...{ schema, incarnation, selector: this.#selector },
          episodes: pickEpisode.slice(from, to),
          positions: pickPosition.slice(from, to),
          priorities: values.slice(from, to),
        });
        this.#publish(this.#subjects.shard(shard, "priorities"), bytes);
      }
    }
  }

  /** What is known of the shards, and what was done. */
  figures(): ShardsFigures {
    const shards = [...this.#members.all.values()].map(({ name, isAlive, beat }) => {
      const { picks = 0, sum = 0 } = this.#known.get(name) ?? {};
      const differs = this.#differs.get(name);
      return {
        ...{ name, isAlive: isAlive && differs === undefined, differs, picks, sum },
        ...{ records: beat.records, recorded: this.#recorded.get(name) ?? beat.recorded },
        writers: beat.writers,
      };
    });
    const damaged = this.#requests.damaged + this.#members.damaged;
    return { shards, drawn: this.#drawn, redrawn: this.#redrawn, damaged };
  }

  /** Ends calls that wait with the error `disposed`. The shards and the connection stay. A second call does nothing. */
  close(): Promise<void> {
    if (this.#end.signal.aborted) return Promise.resolve();
    this.#end.abort(new ReplayError("disposed", "close(): these shards are closed"));
    clearInterval(this.#timer);
    this.#members.end();
    this.#requests.end();
    this.#model?.dispose();
    return Promise.resolve();
  }

  /** The same as {@linkcode Shards.close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // ---- shards that come and go ----

  #alive(): Member[] {
    return this.#members.alive.filter(({ name }) => !this.#differs.has(name));
  }

  /** Those to draw from: not such a one of which the last answer never came. */
  #trusted(): Member[] {
    const alive = this.#alive();
    const trusted = alive.filter(({ name }) => !this.#requests.isLeftOut(name));
    // If none is left, the network was at fault, and not a shard.
    return trusted.length > 0 ? trusted : alive;
  }

  #came(member: Member, isNew: boolean): void {
    const { name, announcement } = member;
    if (isNew) {
      this.#requests.gone(name);
      this.#recorded.delete(name);
    }
    this.#requests.came(name);
    const text = this.#differenceOf(announcement);
    if (text === undefined) this.#differs.delete(name);
    else {
      this.#differs.set(name, text);
      // Later ones are only told of.
      if (!this.#isConnected) {
        this.#failure ??= new ReplayError("shard-mismatch", `${WHERE}: ${text}`);
      }
    }
    this.#beat(member);
    this.#sendLimits(true);
    this.#tell({ kind: text === undefined ? "came" : "differs", shard: name, text: text ?? "" });
    this.#wake();
  }

  #left({ name }: Member): void {
    this.#requests.gone(name);
    this.#known.delete(name);
    this.#tell({ kind: "left", shard: name, text: "" });
    this.#wake();
  }

  #tell(change: ShardChange): void {
    try {
      this.#onChange?.(change);
    } catch (error) {
      reportLater(error);
    }
  }

  /** What differs from the first shard; undefined if nothing does. The first one decides what a batch is. */
  #differenceOf(announcement: Announcement): string | undefined {
    const { name, rules } = announcement;
    if (this.#model !== undefined) return this.#model.differenceOf(announcement);
    if (rules[this.#selector] === undefined) return noSelector(name, this.#selector);
    try {
      this.#model = new ShardModel(this.#kernel, announcement, this.#selector);
      return undefined;
    } catch (error) {
      return `the shard ${name} announces a replay that can't be: ${reasonOf(error)}`;
    }
  }

  /** What all shards have in common. */
  #common(): ShardModel {
    if (this.#model !== undefined) return this.#model;
    throw new ReplayError("empty", `${WHERE}: there is no shard yet`);
  }

  #beat({ name, beat }: Member): void {
    const figures = beat.selectors[this.#selector];
    if (figures !== undefined) this.#known.set(name, figures);
    this.#count(name, beat.recorded);
    this.#sendLimits(false);
    this.#wake();
  }

  #count(shard: string, recorded: number): void {
    this.#recorded.set(shard, Math.max(recorded, this.#recorded.get(shard) ?? 0));
  }

  /** What an answer to a request says of its shard. */
  #heard(
    shard: string,
    { status, picks, sum, recorded, body: rows, total }: PicksPart,
    busyMs: number,
  ): void {
    // Heartbeats wait behind a long answer.
    if (rows.length < total) this.#members.hear(shard, busyMs);
    const isAlive = this.#members.all.get(shard)?.isAlive === true;
    if (isAlive && status !== DRAWN.refused) this.#known.set(shard, { picks, sum });
    this.#count(shard, recorded);
  }

  #counted(members: Iterable<Member>): Counted[] {
    return Array.from(members, ({ name, announcement: { incarnation }, beat }) => ({
      ...{ name, incarnation, records: beat.records },
      recorded: this.#recorded.get(name) ?? beat.recorded,
    }));
  }

  /** Tells shards how many records may come. A learner without a limiter says so once, as one before may have had one. */
  #sendLimits(isAll: boolean): void {
    const alive = this.#counted(this.#alive());
    let credits: Iterable<readonly [shard: Counted, most: number]>;
    if (this.#limits !== undefined) {
      const all = this.#counted(this.#members.all.values());
      credits = this.#limits.credits(alive, all, isAll);
    } else credits = isAll ? alive.map((shard) => [shard, Infinity] as const) : [];
    for (const [{ name, incarnation }, most] of credits) {
      this.#publish(this.#subjects.shard(name, "limit"), LIMIT.write({ incarnation, most }));
    }
  }

  // ---- a draw ----

  /** Waits until the rate limiter allows a draw. */
  async #mayDraw(size: number, options: ShardsGetBatchOptions, end: number): Promise<void> {
    const limits = this.#limits;
    if (limits === undefined) return;
    const mayDraw = (): boolean => {
      const all = this.#counted(this.#members.all.values());
      return limits.mayDraw(size, this.#counted(this.#alive()), all);
    };
    while (!mayDraw()) {
      if (performance.now() >= end) throw this.#late(GET, options.timeoutMs);
      await this.#change(options, end);
    }
    limits.drew(size);
    this.#sendLimits(false);
  }

  /** Draws once, and gives up at the signal or in the end of time; undefined if no shard has anything now. */
  #drawWithin(
    size: number,
    beta: number,
    { signal, timeoutMs }: ShardsGetBatchOptions,
    end: number,
    lost: { rounds: number },
  ): Promise<OwnedBatch | undefined> {
    // Without any time, it waits for answers and for nothing else.
    const isTimed = end !== Infinity && timeoutMs !== 0;
    const left = isTimed ? Math.max(0, end - performance.now()) : undefined;
    return waitUntil<OwnedBatch | undefined>(
      { timeoutMs: left, signal },
      (done, fail) => {
        const given = { isUp: false };
        this.#draw(size, beta, given, lost).then(done, fail);
        return () => given.isUp = true;
      },
      () => this.#late(GET, timeoutMs),
    );
  }

  /**
   * Draws once, unless it is given up; undefined if no shard has anything now.
   *
   * @param lost How often it has asked for this batch in vain. Each time it waits for half as long, or a learner would stand still for as many times. But some
   * shard may need long, so the fourth time is as the first.
   */
  async #draw(
    size: number,
    beta: number,
    given: { readonly isUp: boolean },
    lost: { rounds: number },
  ): Promise<OwnedBatch | undefined> {
    const model = this.#common();
    const { schema } = model;
    const [layout, strides] = model.layoutOf(size);
    // The sums that are known now are used for the whole batch. A shard that gives nothing is left out, and then the shares are those of the others.
    const trusted = this.#trusted();
    // If all weights are 0, a replay draws uniformly, and so do all together.
    const isZero = trusted.every(({ name }) => (this.#known.get(name)?.sum ?? 0) === 0);
    const shares = trusted.map(({ name, announcement: { incarnation } }) => {
      const { picks = 0, sum = 0 } = this.#known.get(name) ?? {};
      return { name, incarnation, sum: isZero ? picks : sum };
    }).filter(({ sum }) => sum > 0);
    const parts = new Map<string, { count: number; readonly rows: [Uint8Array, number][] }>();
    let left = size;
    while (left > 0) {
      this.#checkOpen(GET);
      if (shares.length === 0 || given.isUp) return this.#notDrawn(size);
      const counts = split(left, shares.map(({ sum }) => sum), this.#random);
      left = 0;
      let isLost = false;
      const patienceMs = ANSWER_MS / 2 ** (lost.rounds % 3);
      const asked = shares.flatMap((share, k) => {
        const count = counts[k] ?? 0;
        if (count === 0) return [];
        const { pickBytes } = strides;
        const rows = { schema, selector: this.#selector, count, pickBytes };
        const request = { shard: share.name, ...rows, patienceMs };
        return [{ share, count, answer: this.#requests.ask(request) }];
      });
      for (const { share, count, answer } of asked) {
        const answered = await answer;
        if (answered.kind === "rows") {
          const part = parts.get(share.name) ?? { count: 0, rows: [] };
          part.count += count;
          part.rows.push([answered.rows, count]);
          parts.set(share.name, part);
          continue;
        }
        this.#checkOpen(GET);
        if (answered.kind === "refused") {
          this.#notDrawn(size);
          throw refusedDraw(share.name, answered.text);
        }
        isLost ||= answered.kind === "gone";
        left += count;
        this.#redrawn++;
        shares.splice(shares.indexOf(share), 1);
        // What a shard that is left out gave before, in the same batch, goes with it.
        const before = parts.get(share.name);
        if (before !== undefined) {
          left += before.count;
          parts.delete(share.name);
        }
      }
      if (isLost) lost.rounds++;
    }
    if (given.isUp) return this.#notDrawn(size);
    this.#drawn += size;
    const batch = new OwnedBatch(layout);
    const memory = OwnedBatch.memoryOf(batch);
    const total = shares.reduce((sum, share) => sum + share.sum, 0);
    const origins: ShardPicks[] = [];
    let first = 0;
    for (const { name, incarnation, sum } of shares) {
      const part = parts.get(name);
      if (part === undefined) continue;
      const from = first;
      for (const [rows, count] of part.rows) {
        putRows(memory, strides, rows, first, count);
        first += count;
      }
      const { probability } = batch;
      for (let k = from; k < first; k++) probability[k] = (probability[k] ?? 0) * (sum / total);
      origins.push({ shard: name, incarnation, first: from, count: part.count });
    }
    weigh(batch, model.isWeighted ? beta : 0);
    this.#origins.set(batch, origins);
    return batch;
  }

  /** A draw that was counted came to nothing. */
  #notDrawn(size: number): undefined {
    this.#limits?.drew(-size);
    return undefined;
  }

  /** Gives up what takes too long, and sends limits again. */
  #look(): void {
    const now = performance.now();
    // One may be lost on its way.
    if (this.#limits !== undefined && now - this.#limitsSent > LIMITS_MS) {
      this.#limitsSent = now;
      this.#sendLimits(true);
    }
    this.#requests.look();
  }

  #publish(subject: string, data: Uint8Array): void {
    try {
      this.#connection.publish(subject, data);
    } catch {
      // The connection is broken: the shards will be silent, too.
    }
  }

  // ---- waiting ----

  #checkOpen(where: string): void {
    if (!this.#end.signal.aborted) return;
    throw new ReplayError("disposed", `${where}: these shards are closed`);
  }

  #late(where: string, timeoutMs: number | undefined): ReplayError {
    const alive = this.#alive().length;
    const words =
      `not done after ${timeoutMs} ms: ${alive} of ${this.#members.all.size} shards live`;
    return new ReplayError("timeout", `${where}: ${words}`);
  }

  #wake(): void {
    for (const waiter of [...this.#waiters]) waiter();
  }

  /** Waits for a change of what is known of shards. */
  async #change({ signal, timeoutMs }: WaitOptions, end: number): Promise<void> {
    let isFirst = true;
    const left = end === Infinity ? {} : { timeoutMs: Math.max(0, end - performance.now()) };
    await this.#until(
      { ...left, ...signal === undefined ? {} : { signal } },
      () => {
        if (!isFirst) return true;
        isFirst = false;
        return undefined;
      },
      () => this.#late(GET, timeoutMs),
    );
  }

  async #until<T>(
    { timeoutMs, signal }: WaitOptions,
    look: () => T | undefined,
    late: () => ReplayError,
  ): Promise<T> {
    const closed = this.#end.signal;
    const both = signal === undefined ? closed : AbortSignal.any([signal, closed]);
    return await waitUntil<T>({ timeoutMs, signal: both }, (done, fail) => {
      const again = (): void => {
        if (this.#failure !== undefined) return fail(this.#failure);
        const found = look();
        if (found !== undefined) done(found);
      };
      this.#waiters.add(again);
      queueMicrotask(again);
      return () => this.#waiters.delete(again);
    }, late);
  }
}

/** The error of a draw that a shard refused: what the replay of the shard says itself, where it is its disk that fails. */
function refusedDraw(shard: string, text: string): ReplayError {
  const [, code, words] = /^(disk|log-damaged): (?:\w+\(\): )?(.*)$/s.exec(text) ?? [];
  if (code === undefined) return new ReplayError("shard-refused", `${GET}: ${text}`);
  return new ReplayError(code as "disk" | "log-damaged", `${GET}: the shard ${shard}: ${words}`);
}

/** Splits a draw: each pick goes to a shard by chance, in proportion to the weights. */
function split(
  count: number,
  weights: readonly number[],
  random: RandomStream,
): Uint32Array<ArrayBuffer> {
  const counts = new Uint32Array(weights.length);
  if (weights.length === 1) {
    counts[0] = count;
    return counts;
  }
  const ends = new Float64Array(weights.length);
  let total = 0;
  for (const [k, weight] of weights.entries()) ends[k] = total += weight;
  for (let pick = 0; pick < count; pick++) {
    const at = random.uniform() * total;
    let [low, high] = [0, weights.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at < (ends[middle] as number)) high = middle;
      else low = middle + 1;
    }
    (counts[low] as number)++;
  }
  return counts;
}

/** Writes the importance weights: (N P)^-beta, divided by the largest of the batch. So N, the number of all picks, does not matter. */
function weigh({ probability, importanceWeight }: OwnedBatch, beta: number): void {
  let least = Infinity;
  for (const each of probability) if (each < least) least = each;
  for (let k = 0; k < importanceWeight.length; k++) {
    importanceWeight[k] = (least / (probability[k] as number)) ** beta;
  }
}

/** An error of the user's callback is the user's: it ends nothing here. */
function reportLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
