/**
 * What a shard does with its replay, whatever carries the messages: it takes chunks in order and once, makes their calls, confirms them once they are on the
 * disk, draws, and says what it is. The file is long because all of that shares one replay and its actors.
 *
 * @module
 */

import { reasonOf, ReplayError } from "../base/errors.ts";
import { lengthOf } from "../base/typed_arrays.ts";
import { VERSION } from "../base/version.ts";
import * as abi from "../ffi/symbols.ts";
import type { ExperienceReplay } from "../mod.ts";
import type { ReplayCore } from "../replay/core.ts";
import { BatchLayout } from "../replay/draw/batch_layout.ts";
import { OwnedBatch } from "../replay/draw/owned_batch.ts";
import { insideOf } from "../replay/experience_replay.ts";
import { notedSelector } from "../replay/register/noted_register.ts";
import type { PickView } from "../replay/register/pick_view.ts";
import type { Register, SelectorEntry } from "../replay/register/register.ts";
import { coreOf } from "../replay/replay_view.ts";
import { schemaSum, type SelectorFigures } from "./_announcement.ts";
import { CALL, type Call, type Chunk, kindOf, readChunk, StepsPacking } from "./_chunk_message.ts";
import { CONFIRM, type Confirm, writeConfirm } from "./_confirm_message.ts";
import { type ActorEntry, ACTORS_MAX, Ledger, STREAMS_MAX } from "./_actor_ledger.ts";
import {
  DRAWN,
  type DrawRequest,
  type PicksPart,
  type Priorities,
  rowsOf,
  type Strides,
  stridesOf,
} from "./_draw_message.ts";
import { jsonBytes, randomId, refused, WIRE_VERSION } from "./_message_bytes.ts";

/** Bytes of chunks after which a group of the log ends. */
const GROUP_BYTES = 2 ** 20;
/** Bytes of chunks that may wait for a rate limiter; more are not taken, and their actors send them again. */
const WAITING_MAX = 2 ** 26;
/** A batch of more bytes is refused. */
const BATCH_BYTES_MAX = 2 ** 28;
const LAYOUTS_MAX = 256;
/** So long the name of an actor that has ended is kept. */
const GONE_MS = 60_000;
/** Who sent nothing for so long is no writer any more. Who waits for an answer sends again within 8 s. */
const WRITER_MS = 10_000;
/** The most characters of the reason why a chunk was refused. */
const REASON_MAX = 1000;

/** The replays that are served now. */
const served = new WeakSet<ReplayCore>();

/** Chunks of one actor that wait, and where to confirm. */
interface Waiting {
  readonly chunks: Chunk[];
  readonly entry: ActorEntry;
  readonly reply: string;
  /** There was no room for the next one. */
  isFull: boolean;
}

/** A draw's answer, before it is cut into parts. */
type Drawn = Omit<PicksPart, "id" | "total" | "body" | "from"> & { readonly rows: Uint8Array };

/** One replay as a shard. */
export class ShardReplay {
  /** The shard's name. */
  readonly name: string;
  /** A random name of this process's service. */
  readonly incarnation: string = randomId();
  /** Sends bytes to a subject. */
  send: (to: string, bytes: Uint8Array) => void = () => {};
  /** Hears of an error that ends the shard. */
  fail: (error: Error) => void = () => {};
  /** Chunks that could not be taken, and draws that could not be done. */
  refusedCount = 0;
  readonly #replay: ExperienceReplay;
  readonly #core: ReplayCore;
  readonly #register: Register;
  readonly #schema: number;
  readonly #packing: StepsPacking;
  readonly #ledger = new Ledger();
  readonly #isDurable: boolean;
  readonly #waiting = new Map<string, Waiting>();
  #waitingBytes = 0;
  /** Where to confirm to, for the actors of which chunks came since the last flush. */
  #unconfirmed = new Map<string, { reply: string; round: number }>();
  #lastBeat: object = {};
  #groupBytes = 0;
  #flushing: Promise<void> | undefined;
  #limit = Infinity;
  #isEnded = false;
  readonly #layouts = new Map<string, [BatchLayout, Strides]>();
  readonly #counts = { recorded: 0, chunks: 0, repeated: 0, drawn: 0 };

  /** Takes a replay, with what it knows of actors. */
  constructor(where: string, replay: ExperienceReplay, name: string) {
    const core = coreOf(where, replay);
    core.checkUsable(where);
    const { config, shared, kernel } = core;
    if (shared !== undefined) {
      throw new ReplayError(
        "not-sharable",
        `${where}: a shard records by itself, and this replay is shared between threads`,
      );
    }
    if (!("native" in config.eviction)) {
      const words = `the eviction policy ${config.eviction.name} is written in TypeScript`;
      throw new ReplayError("not-sharable", `${where}: ${words}, and a shard takes the library's`);
    }
    this.name = name;
    this.#replay = replay;
    this.#core = core;
    this.#register = insideOf(replay).register;
    this.#schema = schemaSum(kernel.symbols, config);
    this.#packing = new StepsPacking(core);
    if (served.has(core)) {
      throw new ReplayError("not-sharable", `${where}: another shard serves this replay`);
    }
    served.add(core);
    const kept = core.durable?.keep(() => this.#ledger.save());
    this.#isDurable = kept !== undefined;
    if (kept !== undefined) this.#ledger.load(kept);
  }

  // ---- what it is ----

  /** A heartbeat. */
  beat(isLast = false): Uint8Array {
    return jsonBytes({ ...this.#beat(), ...isLast ? { isLast } : {} });
  }

  /** An announcement. */
  announcement(): Uint8Array {
    return jsonBytes({
      ...this.#beat(),
      library: VERSION,
      config: this.#core.config,
      views: this.#register.views.map(({ policy }) => policy),
      rules: this.#register.entries.map(notedSelector),
    });
  }

  #beat(): object {
    // While the replay is being saved or loaded, the figures stay what they were.
    if (this.#core.busyWith !== undefined) return this.#lastBeat;
    const info = this.#core.info("a heartbeat");
    return this.#lastBeat = {
      version: WIRE_VERSION,
      ...{ name: this.name, incarnation: this.incarnation, schema: this.#schema },
      records: info[abi.EXRP_INFO_RECORD_COUNT],
      recorded: info[abi.EXRP_INFO_RECORDED_COUNT],
      writers: this.#ledger.writersSince(performance.now() - WRITER_MS),
      selectors: this.#register.entries.map((entry) => this.#sumOf(entry)),
    };
  }

  /** How many picks a selector has, and the sum of their weights; for rules without weights, each pick weighs 1. */
  #sumOf({ nativeId, selector }: SelectorEntry): SelectorFigures {
    const { id, kernel: { symbols } } = this.#core;
    if (nativeId >= 0) {
      const summary = new Float64Array(abi.EXRP_SUMMARY_NUMBERS);
      const counts = new Float64Array(1);
      const size = lengthOf(summary);
      const what = abi.EXRP_SUMS_TOTAL;
      const none = new Float64Array(1);
      const status = symbols.exrp_selector_sums(id, nativeId, what, none, 0, counts, summary, size);
      this.#core.check("a heartbeat", status);
      const [picks = 0, sum = 0] = summary;
      return { picks, sum };
    }
    const info = new Float64Array(abi.EXRP_PICK_VIEW_INFO_COUNT);
    const status = symbols.exrp_pick_view_info(id, selector.view, info, lengthOf(info));
    this.#core.check("a heartbeat", status);
    const picks = info[abi.EXRP_PICK_VIEW_PICK_COUNT] ?? 0;
    return { picks, sum: picks };
  }

  /** What it has done. */
  figures(): {
    recorded: number;
    chunks: number;
    repeated: number;
    drawn: number;
    actors: number;
    waitingBytes: number;
  } {
    return { ...this.#counts, actors: this.#ledger.liveCount, waitingBytes: this.#waitingBytes };
  }

  // ---- chunks ----

  /** Takes a chunk: at once, or once the rate limiter lets it in; or drops it, because it came before. */
  takeChunk(data: Uint8Array, reply: string): void {
    // While the replay is being saved or loaded, nothing is taken, and the actors send it again.
    if (this.#core.busyWith !== undefined) return;
    const chunk = readChunk(this.#core.kernel.symbols, this.#schema, data);
    const { actor, number, round } = chunk;
    const known = this.#ledger.find(actor);
    const waiting = this.#waiting.get(actor);
    const last = (known?.last ?? 0) + (waiting?.chunks.length ?? 0);
    if (known !== undefined) known.seen = known.wrote = performance.now();
    if (number > last + 1) {
      // It was dropped for lack of room, so it will be sent again without a word.
      if (waiting?.isFull === true) return;
      return this.#answer(CONFIRM.gap, actor, reply, { expected: last + 1, round, number });
    }
    if (number <= last) {
      this.#counts.repeated++;
      this.#noteUnconfirmed(actor, reply, round);
      // It may be on the disk already, and the answer was lost.
      if (this.#flushing === undefined) this.#beginFlush();
      return;
    }
    if (known === undefined && this.#ledger.size >= ACTORS_MAX) {
      const said = { number: 0, expected: number, round };
      const why = `the shard ${this.name} knows ${ACTORS_MAX} actors, and takes no more`;
      return this.#answer(CONFIRM.refused, actor, reply, said, why);
    }
    const entry = known ?? this.#ledger.entry(actor);
    entry.wrote = entry.seen;
    if (waiting !== undefined || !this.#isAllowed(chunk)) {
      if (this.#waitingBytes + bytesOf(chunk) > WAITING_MAX) {
        if (waiting !== undefined) waiting.isFull = true;
        return;
      }
      if (waiting === undefined) {
        this.#waiting.set(actor, { chunks: [chunk], entry, reply, isFull: false });
      } else {
        waiting.chunks.push(chunk);
        waiting.isFull = false;
      }
      this.#waitingBytes += bytesOf(chunk);
      return;
    }
    this.#noteUnconfirmed(actor, reply, round);
    this.#apply(entry, chunk);
    this.#beginFlush();
  }

  #noteUnconfirmed(actor: string, reply: string, round: number): void {
    this.#unconfirmed.set(actor, { reply, round });
  }

  /** How many records may be written in all, by the limits of a learner. */
  limit(most: number): void {
    if (!(most >= 0)) throw refused(`a limit is ${most}`);
    this.#limit = most;
    this.applyWaiting();
  }

  /** Whether the rate limiters let a chunk in. */
  #isAllowed({ recordCount }: Chunk): boolean {
    const core = this.#core;
    const { symbols } = core.kernel;
    const recorded = core.info("a chunk")[abi.EXRP_INFO_RECORDED_COUNT] ?? 0;
    // A chunk may have more records than a learner allows at once, so each shard may write up to one chunk too many.
    if (recordCount > 0 && recorded >= this.#limit) return false;
    const info = new Float64Array(abi.EXRP_RATE_LIMITER_COUNT);
    core.check("a chunk", symbols.exrp_rate_limiter_info(core.id, info, lengthOf(info)));
    const isLimited = info[abi.EXRP_RATE_LIMITER_MIN_SIZE] !== 0;
    return !isLimited || recordCount <= (info[abi.EXRP_RATE_LIMITER_INSERTS_ALLOWED] ?? 0);
  }

  /** Lets waiting chunks in, those of each actor in order. */
  applyWaiting(): void {
    if (this.#core.busyWith !== undefined) return;
    let isAny = false;
    for (const [actor, { chunks, entry, reply }] of this.#waiting) {
      for (let [chunk] = chunks; chunk !== undefined && this.#isAllowed(chunk); [chunk] = chunks) {
        chunks.shift();
        this.#waitingBytes -= bytesOf(chunk);
        this.#noteUnconfirmed(actor, reply, chunk.round);
        this.#apply(entry, chunk);
        isAny = true;
      }
      if (chunks.length === 0) this.#waiting.delete(actor);
    }
    if (isAny) this.#beginFlush();
  }

  /** Makes all calls of a chunk, and notes its number with them. Nothing comes in between, so both are in one group of the log. */
  #apply(entry: ActorEntry, chunk: Chunk): void {
    let failure: unknown;
    for (const call of chunk.calls) {
      try {
        this.#call(entry, call);
        this.#counts.recorded += call.count;
      } catch (error) {
        failure ??= error;
        // The other calls are made. What follows of these streams begins new episodes, so no episode has a hole.
        for (const stream of streamsOf(call)) this.#leave(entry, stream);
        if (isOfDisk(error)) break;
      }
    }
    entry.last = chunk.number;
    this.#ledger.changed();
    this.#core.changed();
    this.#counts.chunks++;
    if (failure !== undefined) {
      if (isOfDisk(failure)) throw failure;
      this.refusedCount++;
      entry.refused = { number: chunk.number, text: reasonOf(failure).slice(0, REASON_MAX) };
    }
    this.#groupBytes += bytesOf(chunk);
    if (!this.#isDurable || this.#groupBytes < GROUP_BYTES) return;
    this.#groupBytes = 0;
    this.#core.durable?.note();
  }

  #call(entry: ActorEntry, call: Call): void {
    const { kind: of, flags, count, stream, tag, payload } = call;
    const core = this.#core;
    const { symbols } = core.kernel;
    const [kind, isPacked] = kindOf(of);
    if (kind === CALL.begin) {
      this.#leave(entry, stream);
      const handle = this.#begin(entry, stream);
      if (tag !== 0) core.check("a chunk", symbols.exrp_episode_tag(core.id, handle, tag));
      return;
    }
    if (kind === CALL.leave) return this.#leave(entry, stream);
    if (kind === CALL.end) {
      const handle = entry.streams.get(stream);
      if (handle === undefined) return;
      const ended = new Uint32Array(1);
      const final = new Uint8Array(payload);
      const size = final.length;
      const status = symbols.exrp_episode_end(core.id, handle, final, size, flags, ended);
      // Somebody here may have ended it, or it was evicted.
      if (status !== abi.EXRP_STATUS_EPISODE_ENDED) core.check("a chunk", status);
      entry.streams.delete(stream);
      return;
    }
    if (count === 0) throw refused("a call has no records");
    const head = kind === CALL.batch ? 4 * count + 4 * (count % 2) : 0;
    if (payload.length < head) throw refused("a call names too few episodes");
    const streams = streamsOf(call);
    const body = payload.subarray(head);
    const steps = isPacked ? this.#packing.unpack(body, count) : new Uint8Array(body);
    const handles = new Float64Array(streams.length);
    const again = (): number => {
      for (const [k, stream] of streams.entries()) {
        handles[k] = entry.streams.get(stream) ?? this.#begin(entry, stream);
      }
      return this.#record(kind, handles, steps, count, flags);
    };
    let status = again();
    // Somebody here has ended an episode, or it was evicted long ago. That one begins anew.
    if (status === abi.EXRP_STATUS_EPISODE_ENDED) {
      for (const [k, stream] of streams.entries()) {
        if (!isOpen(this.#infoOf(handles[k] ?? 0))) entry.streams.delete(stream);
      }
      status = again();
    }
    core.check("a chunk", status);
    const isOver = (kind === CALL.many || kind === CALL.row) &&
      (flags & abi.EXRP_RECORD_ENDS) !== 0 && (flags & abi.EXRP_RECORD_BEGINS) === 0;
    for (const [k, stream] of streams.entries()) {
      if (isOver) entry.streams.delete(stream);
      else entry.streams.set(stream, handles[k] ?? 0);
    }
  }

  /** Makes a call that records. It writes the handles of the episodes that are open then. */
  #record(
    kind: number,
    handles: Float64Array<ArrayBuffer>,
    steps: Uint8Array<ArrayBuffer>,
    count: number,
    flags: number,
  ): number {
    const { id, kernel: { symbols } } = this.#core;
    const size = steps.length;
    const done = new Uint32Array(2);
    switch (kind) {
      case CALL.row: {
        if (size < 8) throw refused("a row is too short");
        const view = new DataView(steps.buffer);
        view.setFloat64(0, handles[0] ?? 0, true);
        const status = symbols.exrp_record(id, steps, size, flags);
        handles[0] = view.getFloat64(0, true);
        return status;
      }
      case CALL.many:
        return symbols.exrp_record_many(id, handles, steps, size, count, flags, done);
      case CALL.batch:
        return symbols.exrp_record_batch(id, handles, steps, size, count, flags, done);
      default: {
        const all = new Float64Array(count);
        return symbols.exrp_record_flat(id, handles, steps, size, count, flags, done, all, count);
      }
    }
  }

  /** What the replay says of an episode. */
  #infoOf(handle: number): Float64Array {
    const { id, kernel: { symbols } } = this.#core;
    const info = new Float64Array(abi.EXRP_EPISODE_INFO_COUNT);
    symbols.exrp_episode_info(id, handle, info, lengthOf(info));
    return info;
  }

  #begin(entry: ActorEntry, stream: number): number {
    const core = this.#core;
    if (entry.streams.size >= STREAMS_MAX) {
      throw new ReplayError(
        "shard-refused",
        `an actor may have ${STREAMS_MAX} open episodes in a shard; end episodes, or record into the one that you have`,
      );
    }
    const handle = new Float64Array(1);
    core.check("a chunk", core.kernel.symbols.exrp_episode_create(core.id, handle));
    const [made = 0] = handle;
    entry.streams.set(stream, made);
    return made;
  }

  /** Ends the episode of a stream as truncated, if its last next state is known. If not, it stays open until it is evicted. */
  #leave(entry: ActorEntry, stream: number): void {
    const handle = entry.streams.get(stream);
    entry.streams.delete(stream);
    this.#ledger.changed();
    if (handle === undefined) return;
    const { id, kernel: { symbols }, config: { leaves } } = this.#core;
    const handles = Float64Array.of(handle);
    const there = new Uint8Array(1);
    const bytes = leaves.reduce(
      (sum, { column }) => sum + 8 * Math.ceil(column.elementCount * column.elementBytes / 8),
      0,
    );
    const state = new Uint8Array(bytes);
    const status = symbols.exrp_next_states_get(id, handles, 1, there, state, bytes);
    const info = this.#infoOf(handle);
    const isEmpty = info[abi.EXRP_EPISODE_RECORD_COUNT] === 0;
    if (status !== 0 || !isOpen(info) || !(isEmpty || there[0] === 1)) return;
    const ended = new Uint32Array(1);
    symbols.exrp_episode_end(id, handle, state, bytes, abi.EXRP_RECORD_TRUNCATED, ended);
  }

  // ---- confirming ----

  #answer(
    kind: Confirm["kind"],
    actor: string,
    reply: string,
    said: Pick<Confirm, "number" | "expected" | "round">,
    text = "",
  ): void {
    if (reply === "") return;
    const { name: shard, incarnation } = this;
    this.send(reply, writeConfirm({ kind, shard, incarnation, actor, text, ...said }));
  }

  #beginFlush(): void {
    if (this.#flushing !== undefined || this.#isEnded) return;
    this.#flushing = this.#flushAll().catch((error) => {
      if (!this.#isEnded) this.fail(error instanceof Error ? error : new Error(String(error)));
    }).finally(() => {
      this.#flushing = undefined;
      // A chunk may have come behind the last look.
      if (this.#unconfirmed.size > 0) this.#beginFlush();
    });
  }

  /** Flushes and confirms until nothing is left. Chunks that come during a flush share the next one. */
  async #flushAll(): Promise<void> {
    while (this.#unconfirmed.size > 0 && !this.#isEnded) {
      // What this turn of the event loop still brings shares the flush.
      await Promise.resolve();
      const taken = this.#unconfirmed;
      this.#unconfirmed = new Map();
      const numbers = [...taken.keys()].map((actor) =>
        [
          actor,
          this.#ledger.find(actor)?.last ?? 0,
        ] as const
      );
      this.#groupBytes = 0;
      if (this.#isDurable) await this.#replay.flush();
      for (const [actor, number] of numbers) {
        const { reply, round } = taken.get(actor) ?? { reply: "", round: 0 };
        const { refused } = this.#ledger.find(actor) ?? {};
        if (refused !== undefined && refused.number <= number) {
          const said = { number, expected: refused.number, round };
          this.#answer(CONFIRM.refused, actor, reply, said, refused.text);
          continue;
        }
        const expected = number + 1 + (this.#waiting.get(actor)?.chunks.length ?? 0);
        this.#answer(CONFIRM.stored, actor, reply, { number, expected, round });
      }
    }
  }

  /** Confirms all that was taken. */
  async flush(): Promise<void> {
    this.#beginFlush();
    await this.#flushing;
    if (this.#isDurable && !this.#isEnded) await this.#replay.flush();
  }

  /** An actor has ended, and all that it sent is confirmed. */
  forget(actor: string): void {
    const entry = this.#ledger.find(actor);
    if (entry === undefined || this.#waiting.has(entry.id)) return;
    for (const stream of [...entry.streams.keys()]) this.#leave(entry, stream);
    entry.isGone = true;
    entry.seen = performance.now();
    this.#core.changed();
  }

  #forget(entry: ActorEntry): void {
    if (this.#waiting.has(entry.id)) return;
    for (const stream of [...entry.streams.keys()]) this.#leave(entry, stream);
    this.#ledger.forget(entry.id);
    this.#core.changed();
  }

  /** Forgets the actors that were silent for so long. */
  forgetSilent(milliseconds: number): void {
    const now = performance.now();
    for (const entry of [...this.#ledger.actors]) {
      const patience = entry.isGone ? Math.min(GONE_MS, milliseconds) : milliseconds;
      if (entry.seen < now - patience) this.#forget(entry);
    }
    if (this.#waiting.size > 0) this.applyWaiting();
  }

  /** Nothing is sent any more. */
  end(): void {
    this.#isEnded = true;
    served.delete(this.#core);
  }

  // ---- drawing ----

  /** Draws what a learner asks for. Call {@linkcode ShardReplay.applyWaiting} then: a rate limiter may let more in. */
  draw({ schema, selector, count }: DrawRequest): Drawn {
    const entry = this.#register.entries[selector];
    const none = new Uint8Array(0);
    const info = this.#core.info("a draw");
    const recorded = info[abi.EXRP_INFO_RECORDED_COUNT] ?? 0;
    if (entry === undefined || schema !== this.#schema) {
      const why = entry === undefined
        ? `the shard ${this.name} has no selector ${selector}`
        : `the shard ${this.name} has another schema`;
      this.refusedCount++;
      return { status: DRAWN.refused, count: 0, picks: 0, sum: 0, recorded, rows: textBytes(why) };
    }
    const figures = { ...this.#sumOf(entry), recorded };
    const nothing = (status: number, rows: Uint8Array = none): Drawn => ({
      ...{ status, count: 0, rows },
      ...figures,
    });
    if (figures.picks === 0) return nothing(DRAWN.empty);
    const [layout, strides] = this.#layoutOf(entry.selector.view, count);
    if (layout.bytes > BATCH_BYTES_MAX) {
      this.refusedCount++;
      const words = `a draw of ${count} picks has ${layout.bytes} bytes`;
      return nothing(DRAWN.refused, textBytes(`${words}, and a shard sends ${BATCH_BYTES_MAX}`));
    }
    try {
      const batch = this.#replay.getBatch(count, entry.selector, { beta: 0 }) as OwnedBatch;
      const rows = rowsOf(OwnedBatch.memoryOf(batch), strides, count);
      batch[Symbol.dispose]();
      this.#counts.drawn += count;
      return { status: DRAWN.rows, count, rows, ...figures };
    } catch (error) {
      if (!(error instanceof ReplayError)) throw error;
      if (error.code === "empty") return nothing(DRAWN.empty);
      if (error.code === "rate-limiter") return nothing(DRAWN.limited);
      // What its own disk does is no fault of who asks.
      const isOwn = isOfDisk(error) || error.code === "log-damaged";
      if (!isOwn) this.refusedCount++;
      return nothing(DRAWN.refused, textBytes((isOwn ? `${error.code}: ` : "") + error.message));
    }
  }

  #layoutOf(view: number, count: number): [BatchLayout, Strides] {
    const key = `${view} ${count}`;
    let known = this.#layouts.get(key);
    if (known === undefined) {
      const layout = new BatchLayout(this.#core, this.#register.views[view] as PickView, count);
      known = [layout, stridesOf(layout)];
      if (this.#layouts.size >= LAYOUTS_MAX) this.#layouts.clear();
      this.#layouts.set(key, known);
    }
    return known;
  }

  /** Sets priorities that a learner sends, unless they are of records of an earlier process, whose handles may be others' now. */
  setPriorities(
    { schema, incarnation, selector, episodes, positions, priorities }: Priorities,
  ): void {
    if (schema !== this.#schema) throw refused("its priorities are of another schema");
    if (incarnation !== this.incarnation) return;
    const entry = this.#register.entries[selector];
    if (entry === undefined) throw refused(`there is no selector ${selector}`);
    this.#replay.setPriority(entry.selector, episodes, positions, priorities);
  }
}

/** The streams that a call records into. */
function streamsOf({ kind, count, stream, payload }: Call): readonly number[] | Uint32Array {
  if (kindOf(kind)[0] !== CALL.batch) return [stream];
  if (payload.length < 4 * count) return [];
  return new Uint32Array(new Uint8Array(payload.subarray(0, 4 * count)).buffer);
}

function isOpen(info: Float64Array): boolean {
  return info[abi.EXRP_EPISODE_STATE] === abi.EXRP_EPISODE_OPEN;
}

function isOfDisk(error: unknown): boolean {
  return error instanceof ReplayError && error.code === "disk";
}

function textBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text.slice(0, 4096));
}

/** The bytes that a chunk takes, about. */
function bytesOf({ calls }: Chunk): number {
  return calls.reduce((sum, { payload }) => sum + payload.length + 24, 0);
}
