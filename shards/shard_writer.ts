/**
 * What an actor records through: a replay that stores nothing itself, and sends its records to a shard.
 *
 * The file is long because the docs of a writer's options are in it.
 *
 * @module
 */

import { checkInteger, checkNumber } from "../base/checks.ts";
import { ReplayError } from "../base/errors.ts";
import { checkOptions } from "../base/option_names.ts";
import { dispose } from "../base/platform.ts";
import { checkWait, waitUntil } from "../base/waits.ts";
import { openKernel } from "../ffi/library.ts";
import type { ExperienceReplay, WaitOptions } from "../mod.ts";
import { ReplayCore } from "../replay/core.ts";
import { replayOver } from "../replay/experience_replay.ts";
import type { ReplayConfig } from "../schema/create_options.ts";
import type { AnySchema, Schema } from "../schema/schema.ts";
import { type Connection, type ConnectionSubscription, payloadMax } from "./connection.ts";
import { CALL, type Call, callBytes, CHUNK_HEAD, writeCall } from "./_chunk_message.ts";
import { readConfirm } from "./_confirm_message.ts";
import { fewerWriters, ShardChoice } from "./_shard_choice.ts";
import { ChunkSender } from "./_chunk_sender.ts";
import { type Member, Members } from "./_members.ts";
import { NotingKernel } from "./_noting_kernel.ts";
import { BYE, checkToken, randomId, refusedBy, Subjects } from "./_message_bytes.ts";

const WHERE = "shardWriter()";
const TICK_MS = 50;
/** Between the first answer of a shard and the choice of one: so long the others have time to answer, too. */
const CHOICE_MS = 100;

/** The options of {@linkcode shardWriter}, which has an example. */
export interface ShardWriterOptions extends WaitOptions {
  /** What the subjects of the shards begin with; `"exrp"` by default. */
  readonly prefix?: string;
  /** The name of the only shard to write to. By default, it is the one with fewer writers of two at random, and another one if that one dies or has too many. */
  readonly shard?: string;
  /**
   * How many milliseconds it stays at least where it has gone of its own accord, as its shard had more writers than another: 30,000 by default, from 100 on. It compares
   * shards six times as often. `Infinity`: it goes only if its shard dies.
   */
  readonly stayMs?: number;
  /** Records go off once they have so many bytes: from 1 KiB; 256 KiB by default, and at most what the connection carries. */
  readonly chunkBytes?: number;
  /** Records go off after so many milliseconds at the latest: 100 by default. Smaller chunks cost a shard more. */
  readonly sendIntervalMs?: number;
  /** How many bytes may wait to be confirmed by one shard; then `record` is held back, as by a rate limiter. 16 MiB by default. */
  readonly unconfirmedBytes?: number;
}

/** What a {@linkcode ShardWriter} has done. */
export interface ShardWriterFigures {
  /** The shard that it writes to now. */
  readonly shard: string;
  /** Bytes that are not confirmed. */
  readonly unconfirmedBytes: number;
  /** Chunks that were sent again. */
  readonly repeated: number;
  /** How often it went on to another shard. */
  readonly moves: number;
}

/**
 * Makes what an actor records through. Its `replay` takes records as a replay does, by an `ActorWriter` or a `replayWriter`, too, and stores
 * nothing itself: they go to a shard. {@linkcode serveShard} has an example.
 *
 * Each record gets into a shard once, whatever dies: the writer keeps what the shard has not confirmed, and sends it again. If too much is not confirmed, `record`
 * throws `rate-limiter`, and `whenReady` waits, as with a rate limiter. A writer whose shard dies goes on with another one. Its open episodes end in the old
 * shard as truncated, once that shard is back, and other episodes begin in the new one.
 *
 * It waits until there is a shard. `timeoutMs` and `signal` end the wait; by default, it waits 10 s.
 *
 * @throws {TypeError} For an unknown option, or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @throws {ReplayError} `timeout` if no shard is there; `refused` if the server of NATS does not let this user subscribe.
 * @example
 * ```ts
 * import { type Column, ExperienceReplay, float32, uniform } from "@exrp/replay";
 * import { localConnection, serveShard, shardWriter } from "@exrp/replay/shards";
 *
 * const connection = localConnection();
 * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32() });
 * replay.newPickSelector(uniform());
 * await using _shard = await serveShard(replay, connection, { name: "a" });
 *
 * await using writer = await shardWriter<{ state: Column<"float32", []> }>(connection, { chunkBytes: 2 ** 16, timeoutMs: 5000 });
 * let episode = writer.replay.newEpisode();
 * for (let k = 0; k < 5; k++) episode = writer.replay.record(episode, k, 0, 1);
 * await writer.flush();
 * console.log(replay.recordCount); // 5
 * ```
 */
export async function shardWriter<S extends Schema = AnySchema>(
  connection: Connection,
  options: ShardWriterOptions = {},
): Promise<ShardWriter<S>> {
  checkOptions(WHERE, options, [
    ...["prefix", "shard", "stayMs", "chunkBytes", "sendIntervalMs", "unconfirmedBytes"],
    ...["timeoutMs", "signal"],
  ]);
  const { prefix = "exrp", shard, chunkBytes = 2 ** 18, sendIntervalMs = 100 } = options;
  const { unconfirmedBytes = 2 ** 24, stayMs = 30_000, timeoutMs = 10_000, signal } = options;
  const subjects = new Subjects(checkToken(`${WHERE}: prefix`, prefix, true));
  if (shard !== undefined) checkToken(`${WHERE}: shard`, shard);
  if (stayMs !== Infinity) checkNumber(`${WHERE}: stayMs`, stayMs, 100, 2 ** 53);
  checkInteger(`${WHERE}: chunkBytes`, chunkBytes, 1024, 2 ** 26);
  checkInteger(`${WHERE}: sendIntervalMs`, sendIntervalMs, 1, 60_000);
  checkInteger(`${WHERE}: unconfirmedBytes`, unconfirmedBytes, 2 ** 16, 2 ** 40);
  checkWait(WHERE, { timeoutMs });
  const kernel = await openKernel({});
  const wait = { timeoutMs, ...signal === undefined ? {} : { signal } };
  const begun = performance.now();
  let why = (): string => "";
  const parts = await waitUntil<ConstructorParameters<typeof ShardWriter>[0]>(
    wait,
    (done, fail) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      let isDone = false;
      const hub: Hub = { came: () => {}, left: () => {}, refused: fail };
      const members = new Members(connection, subjects, {
        came: (member, isNew) => {
          if (isDone) return hub.came(member, isNew);
          if (shard !== undefined && member.name !== shard) return;
          // The others answer soon, too, so that there is a choice.
          const left = timeoutMs - (performance.now() - begun);
          const choiceMs = shard === undefined ? Math.min(CHOICE_MS, left / 2) : 0;
          timer ??= setTimeout(() => {
            isDone = true;
            const limits = { chunkBytes, sendIntervalMs, unconfirmedBytes, shard, stayMs };
            done({ kernel, connection, subjects, members, hub, limits, first: member });
          }, choiceMs);
        },
        left: (member) => hub.left(member),
        refused: (error) => hub.refused(refusedBy(WHERE, error)),
      });
      why = () => members.why;
      return () => {
        clearTimeout(timer);
        if (!isDone) members.end();
      };
    },
    () => {
      const which = shard === undefined ? "no shard" : `no shard named ${shard}`;
      return new ReplayError(
        "timeout",
        `${WHERE}: ${which} was there within ${timeoutMs} ms${why()}`,
      );
    },
  );
  return new ShardWriter<S>(parts);
}

/** Who hears of shards that come and go. */
interface Hub {
  came: (member: Member, isNew: boolean) => void;
  left: (member: Member) => void;
  refused: (error: ReplayError) => void;
}

/** The options that count later. */
interface WriterLimits {
  readonly chunkBytes: number;
  readonly sendIntervalMs: number;
  readonly unconfirmedBytes: number;
  readonly shard: string | undefined;
  readonly stayMs: number;
}

/**
 * A writer to shards. {@linkcode shardWriter} makes it.
 *
 * @example
 * ```ts
 * import { type Column, ExperienceReplay, float32, uniform } from "@exrp/replay";
 * import { localConnection, serveShard, shardWriter } from "@exrp/replay/shards";
 *
 * const connection = localConnection();
 * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32() });
 * replay.newPickSelector(uniform());
 * await using _shard = await serveShard(replay, connection, { name: "a" });
 *
 * const writer = await shardWriter<{ state: Column<"float32", []> }>(connection);
 * writer.replay.record(writer.replay.newEpisode(), 1, 0, 0.5, { finalState: 2 });
 * await writer.close(); // the shard has it
 * console.log(writer.figures().unconfirmedBytes, replay.recordCount); // 0 1
 * ```
 */
export class ShardWriter<S extends Schema = AnySchema> implements AsyncDisposable {
  /** Records into it go to a shard. It stores none, so there is nothing to draw from or to read. */
  readonly replay: ExperienceReplay<S>;
  readonly #core: ReplayCore;
  readonly #connection: Connection;
  readonly #subjects: Subjects;
  readonly #members: Members;
  readonly #noting: NotingKernel;
  readonly #schema: number;
  readonly #inbox: string;
  readonly #subscription: ConnectionSubscription;
  readonly #senders = new Map<string, ChunkSender>();
  readonly #limits: WriterLimits;
  readonly #timers: ReturnType<typeof setInterval>[];
  readonly #callBytesMax: number;
  readonly #chooser: ShardChoice | undefined;
  #current: ChunkSender;
  #moves = 0;
  /** Chunks that were sent again on ways that are not there any more. */
  #repeated = 0;
  #failure: ReplayError | undefined;
  #isClosed = false;

  /** Begins to write; {@linkcode shardWriter} calls it. */
  constructor({ kernel, connection, subjects, members, hub, limits, first }: {
    readonly kernel: Awaited<ReturnType<typeof openKernel>>;
    readonly connection: Connection;
    readonly subjects: Subjects;
    readonly members: Members;
    readonly hub: Hub;
    readonly limits: WriterLimits;
    readonly first: Member;
  }) {
    this.#connection = connection;
    this.#subjects = subjects;
    this.#members = members;
    const most = payloadMax(connection);
    this.#limits = { ...limits, chunkBytes: Math.min(limits.chunkBytes, most - CHUNK_HEAD) };
    this.#callBytesMax = most - CHUNK_HEAD;
    this.#noting = new NotingKernel(kernel, {
      checkOpen: () => this.#checkOpen(),
      add: (call) => this.#add(call),
      ended: () => this.#chooser?.ended(),
    });
    const { announcement } = first;
    this.#schema = announcement.schema;
    this.#core = new ReplayCore(this.#noting.kernel, smallConfig(announcement.config));
    this.#noting.core = this.#core;
    this.replay = replayOver(this.#core) as unknown as ExperienceReplay<S>;
    this.#inbox = subjects.inbox(randomId());
    this.#subscription = connection.subscribe(this.#inbox, {
      callback: (error, { data }) => {
        if (error === null) this.#hear(data);
        else this.#fail(refusedBy(WHERE, error));
      },
    });
    hub.came = (member) => this.#came(member);
    hub.left = () => this.#chooser?.look();
    hub.refused = (error) => this.#fail(error);
    const fit = members.alive.filter((member) => this.#fits(member));
    this.#current = this.#senderFor(limits.shard ?? fewerWriters(fit)?.name ?? first.name);
    if (limits.shard === undefined) {
      this.#chooser = new ShardChoice(members, {
        shard: () => this.#current.shard,
        sendsTo: () => [...this.#senders.keys()],
        isBetweenEpisodes: () => this.#noting.isBetweenEpisodes,
        fits: (member) => this.#fits(member),
        move: (name) => this.#move(name),
      }, limits.stayMs);
    }
    members.follow([this.#current.shard]);
    this.#timers = [
      setInterval(() => this.#seal(), limits.sendIntervalMs),
      setInterval(() => this.#look(), TICK_MS),
    ];
  }

  /** What it has done. */
  figures(): ShardWriterFigures {
    let repeated = this.#repeated;
    for (const sender of this.#senders.values()) repeated += sender.repeated;
    return {
      shard: this.#current.shard,
      unconfirmedBytes: this.#bytes,
      repeated,
      moves: this.#moves,
    };
  }

  /**
   * Sends what waits, and waits until shards have confirmed all of it.
   *
   * @throws {ReplayError} `timeout`; `shard-refused` if a shard could not take records that it got; `shard-mismatch` if one came back with other columns, so that
   * what it had not confirmed is lost. A second call waits for the rest.
   */
  async flush(options: WaitOptions = {}): Promise<void> {
    checkOptions("flush()", options, ["signal", "timeoutMs"]);
    checkWait("flush()", options);
    options.signal?.throwIfAborted();
    this.#seal();
    const { timeoutMs } = options;
    await waitUntil<void>(options, (done, fail) => {
      const ear = this.#core.bell.listen();
      let isOver = false;
      const again = async (): Promise<void> => {
        while (!isOver) {
          ear.ready();
          if (this.#failure !== undefined) return fail(this.#takeFailure());
          if (this.#isEmpty) return done();
          if (this.#isClosed) {
            return fail(new ReplayError("disposed", "flush(): the writer is closed"));
          }
          await ear.heard();
        }
      };
      again().catch(fail);
      return () => {
        isOver = true;
        ear.close();
      };
    }, () => {
      const words = `${this.#bytes} bytes were not confirmed within ${timeoutMs} ms`;
      return new ReplayError("timeout", `flush(): ${words}`);
    });
  }

  /** Flushes, ends, and tells the shards so. After a `timeout` you may call it again. */
  async close(options: WaitOptions = {}): Promise<void> {
    if (this.#isClosed) return;
    await this.flush(options);
    for (const sender of this.#senders.values()) this.#sayGoodbye(sender);
    this.#connection.flush().catch(() => {});
    this.abandon();
  }

  /** Ends without waiting: what is not confirmed may be lost. */
  abandon(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#members.end();
    try {
      this.#subscription.unsubscribe();
    } catch {
      // The connection has ended.
    }
    this.#core.changed();
    this.replay[dispose]();
  }

  /** The same as {@linkcode ShardWriter.close}, without a limit. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #bytes(): number {
    let bytes = 0;
    for (const sender of this.#senders.values()) bytes += sender.bytes;
    return bytes;
  }

  get #isEmpty(): boolean {
    for (const sender of this.#senders.values()) if (!sender.isEmpty) return false;
    return true;
  }

  #takeFailure(): ReplayError {
    const failure = this.#failure as ReplayError;
    this.#failure = undefined;
    return failure;
  }

  #checkOpen(): void {
    if (this.#failure !== undefined) throw this.#takeFailure();
    // What waits for a shard that is gone does not hold records for another one back.
    const { shard, bytes } = this.#current;
    const { unconfirmedBytes } = this.#limits;
    if (bytes < unconfirmedBytes) return;
    throw new ReplayError(
      "rate-limiter",
      `the shard ${shard} has not confirmed ${bytes} bytes, and ${unconfirmedBytes} may wait (unconfirmedBytes); record again once it has, and whenReady() waits for that`,
    );
  }

  #add(call: Call): void {
    const bytes = callBytes(call.payload.length);
    if (bytes > this.#callBytesMax) {
      throw new RangeError(
        `the records of one call take ${bytes} bytes, and the connection carries ${this.#callBytesMax} at once; record fewer in a call, or raise max_payload of the server`,
      );
    }
    this.#put(call);
  }

  /** Puts a call into the open chunk of the shard, and sends that if it is full. */
  #put(call: Call, isVital = true): void {
    const current = this.#current;
    const { chunkBytes } = this.#limits;
    if (current.openBytes + callBytes(call.payload.length) > chunkBytes) current.seal();
    current.add(writeCall(call), isVital);
    if (current.openBytes >= chunkBytes) current.seal();
  }

  #seal(): void {
    for (const sender of this.#senders.values()) sender.seal();
  }

  #look(): void {
    for (const [name, sender] of this.#senders) {
      const member = this.#members.all.get(name);
      if (member?.isAlive !== true) continue;
      if (this.#fits(member)) sender.look();
      else this.#lose(sender);
    }
    this.#chooser?.look();
  }

  #hear(data: Uint8Array): void {
    try {
      const confirm = readConfirm(data);
      const sender = this.#senders.get(confirm.shard);
      if (sender?.actor !== confirm.actor || !sender.hear(confirm)) return;
      if (this.#leave(sender)) this.#chooser?.left();
      this.#core.changed();
    } catch {
      this.#members.damaged++;
    }
  }

  /** Whether a shard has the same columns, as a checksum says: the shard takes chunks by that, too. */
  #fits({ announcement }: Member): boolean {
    return announcement.schema === this.#schema;
  }

  #came(member: Member): void {
    const sender = this.#senders.get(member.name);
    if (this.#fits(member)) sender?.resend();
    else if (sender !== undefined) this.#lose(sender);
    this.#chooser?.look();
  }

  /** Gives up what waits for a shard that has other columns now, and so can never confirm it. Each loss is told: one that is found before the last error was, later. */
  #lose(sender: ChunkSender): void {
    const { shard, bytes, isEmpty } = sender;
    if (bytes === 0 || (!isEmpty && this.#failure !== undefined)) return;
    this.#repeated += sender.repeated;
    this.#senders.delete(shard);
    if (sender === this.#current) {
      this.#noting.moveStreams(); // wherever they go on, they begin anew
      this.#current = this.#senderFor(shard);
    } else this.#chooser?.left();
    if (isEmpty) return;
    const words =
      `the shard ${shard} has other columns than before: ${bytes} bytes that it had not confirmed are lost`;
    this.#fail(new ReplayError("shard-mismatch", words));
  }

  #fail(error: ReplayError): void {
    this.#failure ??= error;
    this.#core.changed();
  }

  /** Goes on with another shard: its open episodes end in the old one, and others begin in the new one. */
  #move(name: string): void {
    const payload = new Uint8Array(0);
    for (const stream of this.#noting.moveStreams()) {
      this.#put({ kind: CALL.leave, flags: 0, count: 0, stream, tag: 0, payload }, false);
    }
    const old = this.#current;
    old.seal();
    this.#current = this.#senderFor(name);
    this.#leave(old);
    this.#moves++;
    this.#core.changed();
  }

  /** Ends the way to a shard that it has left, once all is confirmed. Who comes again has another name, so the shard may forget this one. */
  #leave(sender: ChunkSender): boolean {
    if (sender === this.#current || sender.bytes > 0) return false;
    this.#sayGoodbye(sender);
    this.#repeated += sender.repeated;
    return this.#senders.delete(sender.shard);
  }

  #sayGoodbye({ shard, actor, isUsed }: ChunkSender): void {
    if (isUsed) this.#publish(this.#subjects.shard(shard, "bye"), BYE.write({ actor }));
  }

  #senderFor(name: string): ChunkSender {
    let sender = this.#senders.get(name);
    if (sender === undefined) {
      sender = new ChunkSender(name, {
        symbols: this.#core.kernel.symbols,
        schema: this.#schema,
        send: (shard, data) =>
          this.#publish(this.#subjects.shard(shard, "chunk"), data, this.#inbox),
        refused: (shard, why) => {
          const words = `the shard ${shard} could not take records: ${why}`;
          this.#fail(new ReplayError("shard-refused", words));
        },
      });
      this.#senders.set(name, sender);
    }
    return sender;
  }

  #publish(subject: string, data: Uint8Array, reply?: string): void {
    try {
      this.#connection.publish(subject, data, reply === undefined ? undefined : { reply });
    } catch {
      // The connection is broken: it is sent again once the shard is heard.
    }
  }
}

/** The configuration of a replay that stores nothing. */
function smallConfig(config: ReplayConfig): ReplayConfig {
  return {
    ...config,
    capacity: Math.min(config.capacity, Math.max(config.segmentLength ?? 0, 65_536)),
    capacityBytes: 0,
    maxAge: 0,
  };
}
