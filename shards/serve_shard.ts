/**
 * Serves a replay as a shard: actors send it records, learners draw from it.
 *
 * @module
 */

import { checkInteger } from "../base/checks.ts";
import { ReplayError } from "../base/errors.ts";
import { checkOptions } from "../base/option_names.ts";
import type { ExperienceReplay } from "../mod.ts";
import { type Connection, type ConnectionSubscription, payloadMax } from "./connection.ts";
import { readBeat } from "./_announcement.ts";
import { LIMIT } from "./_shared_rate_limiter.ts";
import { ShardReplay } from "./_shard_replay.ts";
import {
  BYE,
  checkToken,
  randomId,
  readAs,
  readJson,
  refusedBy,
  Subjects,
} from "./_message_bytes.ts";
import { PART_BYTES, PICKS, readDraw, readPriorities } from "./_draw_message.ts";

const WHERE = "serveShard()";

/** Heartbeats, a second. */
export const BEATS_A_SECOND = 4;

/** How long a shard waits for another one of its name to say so. */
const NAME_WAIT_MS = 300;

/** How long the last heartbeat may take to the server. */
const GOODBYE_MS = 1000;

/** The options of {@linkcode serveShard}, which has an example. */
export interface ServeShardOptions {
  /** The name of the shard: 1 to 64 letters, digits, hyphens and underscores. No other shard with the same prefix may have it. */
  readonly name: string;
  /** What the subjects of all shards of one experiment begin with; `"exrp"` by default. */
  readonly prefix?: string;
  /**
   * After so many milliseconds without a word of an actor, its open episodes end, and the shard forgets it; 24 hours by default. An actor that comes back later
   * than that, with chunks that were taken and not confirmed, would store these twice.
   */
  readonly forgetActorMs?: number;
}

/** What a {@linkcode Shard} has done. */
export interface ShardFigures {
  /** Records of actors that it took. */
  readonly recorded: number;
  /** Chunks that it took. */
  readonly chunks: number;
  /** Chunks that came again, and were dropped. */
  readonly repeated: number;
  /** Messages that were not what they must be. */
  readonly damaged: number;
  /** Actors that it knows. */
  readonly actors: number;
  /** Picks that it drew for learners. */
  readonly drawn: number;
  /** Bytes of chunks that wait, because a rate limiter holds them back. */
  readonly waitingBytes: number;
}

/**
 * Serves a replay to the actors and learners of a connection, until you `close` it. {@linkcode connectShards} has the other end, with an example.
 *
 * With a replay of `ExperienceReplay.open`, the shard confirms records once they are on the disk. After a crash, open the same folder and serve it under the same
 * name: then the actors send what was not confirmed, and no record is there twice. With a replay of `create`, records are confirmed once they are in
 * memory.
 *
 * The replay stays yours: draw from it, watch it, and make selectors before you serve it. Do not record into it by other threads.
 *
 * @param connection A `NatsConnection`, or what does the same. It stays yours, too.
 * @throws {TypeError} If `replay` is none, or for a wrong option.
 * @throws {ReplayError} `not-sharable` if the replay is shared between threads or served already, or its eviction policy is written in TypeScript. `shard-taken` if another shard
 * answers to the name. `refused` if the server of NATS does not let this user subscribe.
 * @example
 * ```ts
 * import { type Column, ExperienceReplay, float32, prioritized } from "@exrp/replay";
 * import { connectShards, localConnection, serveShard, shardWriter } from "@exrp/replay/shards";
 *
 * const connection = localConnection(); // or that of NATS: await connect({ servers: "127.0.0.1:4222" })
 * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32() });
 * replay.newPickSelector(prioritized());
 * await using shard = await serveShard(replay, connection, { name: "a" });
 *
 * await using writer = await shardWriter<{ state: Column<"float32", []> }>(connection);
 * writer.replay.record(writer.replay.newEpisode(), 1, 0, 0.5, { finalState: 2 });
 * await writer.flush(); // the shard has confirmed it
 *
 * await using shards = await connectShards(connection, { shards: 1 });
 * console.log((await shards.getBatch(32)).size, shard.figures().recorded); // 32 1
 * ```
 */
export async function serveShard(
  replay: ExperienceReplay,
  connection: Connection,
  options: ServeShardOptions,
): Promise<Shard> {
  checkOptions(WHERE, options, ["name", "prefix", "forgetActorMs"]);
  const { prefix = "exrp", forgetActorMs = 86_400_000 } = options;
  const name = checkToken(`${WHERE}: name`, options.name);
  checkInteger(`${WHERE}: forgetActorMs`, forgetActorMs, 1000, Number.MAX_SAFE_INTEGER);
  const subjects = new Subjects(checkToken(`${WHERE}: prefix`, prefix, true));
  await checkFree(connection, subjects, name);
  const inner = new ShardReplay(WHERE, replay, name);
  return new Shard(inner, connection, subjects, forgetActorMs);
}

/** Asks whether a shard of this name is there already. */
async function checkFree(connection: Connection, subjects: Subjects, name: string): Promise<void> {
  const inbox = subjects.inbox(randomId());
  const isTaken = await new Promise<boolean>((resolve, reject) => {
    const subscription = connection.subscribe(inbox, {
      callback: (error, message) => {
        if (error !== null) {
          clearTimeout(timer);
          return reject(refusedBy(WHERE, error));
        }
        try {
          // One of another version is there, too.
          if (readJson(message.data)["name"] === name) end(true);
        } catch {
          // Whatever that was, it is no shard.
        }
      },
    });
    const timer = setTimeout(() => end(false), NAME_WAIT_MS);
    const end = (isTaken: boolean): void => {
      clearTimeout(timer);
      subscription.unsubscribe();
      resolve(isTaken);
    };
    connection.publish(subjects.find, undefined, { reply: inbox });
  });
  if (!isTaken) return;
  throw new ReplayError("shard-taken", `${WHERE}: a shard named ${name} is there already`);
}

/**
 * A replay that is served. {@linkcode serveShard} makes it.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
 * import { localConnection, serveShard } from "@exrp/replay/shards";
 *
 * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32() });
 * replay.newPickSelector(uniform());
 * const shard = await serveShard(replay, localConnection(), { name: "a" });
 * console.log(shard.name, shard.figures().actors); // a 0
 * await shard.close();
 * console.log(await shard.closed); // undefined: no error ended it
 * ```
 */
export class Shard implements AsyncDisposable {
  /** Resolves once the shard has ended: with the error that ended it, such as a full disk, or with nothing. */
  readonly closed: Promise<Error | undefined>;
  readonly #inner: ShardReplay;
  readonly #connection: Connection;
  readonly #subjects: Subjects;
  readonly #subscriptions: ConnectionSubscription[] = [];
  readonly #timer: ReturnType<typeof setInterval>;
  #end: (error: Error | undefined) => void = () => {};
  #isClosed = false;
  #damaged = 0;

  /** Begins to serve; {@linkcode serveShard} calls it. */
  constructor(
    inner: ShardReplay,
    connection: Connection,
    subjects: Subjects,
    forgetActorMs: number,
  ) {
    this.#inner = inner;
    this.#connection = connection;
    this.#subjects = subjects;
    this.closed = new Promise((resolve) => this.#end = resolve);
    inner.send = (to, bytes) => connection.publish(to, bytes);
    inner.fail = (error) => this.#stop(error);
    const listen = (subject: string, take: (data: Uint8Array, reply: string) => void): void => {
      this.#subscriptions.push(connection.subscribe(subject, {
        callback: (error, { data, reply }) => {
          if (error !== null) return this.#stop(refusedBy(WHERE, error));
          if (this.#isClosed) return;
          this.#guard(() => take(data, reply ?? ""));
        },
      }));
    };
    const { name } = inner;
    listen(subjects.shard(name, "chunk"), (data, reply) => inner.takeChunk(data, reply));
    listen(subjects.shard(name, "draw"), (data, reply) => this.#draw(data, reply));
    listen(subjects.shard(name, "priorities"), (data) => inner.setPriorities(readPriorities(data)));
    listen(subjects.shard(name, "limit"), (data) => {
      const { incarnation, most } = readAs("limit", LIMIT, data);
      // One of a process before this one counted its records.
      if (incarnation === inner.incarnation) inner.limit(most);
    });
    listen(subjects.shard(name, "bye"), (data) => inner.forget(readAs("goodbye", BYE, data).actor));
    let rival = "";
    listen(subjects.beat(name), (data) => {
      const beat = readBeat(data);
      if (beat.name !== name || beat.isLast || beat.incarnation >= inner.incarnation) return;
      // A single one may be damaged.
      const isAgain = beat.incarnation === rival;
      rival = beat.incarnation;
      if (!isAgain) return;
      const words = `another shard named ${name} has begun at the same time`;
      this.#stop(new ReplayError("shard-taken", `${WHERE}: ${words}`));
    });
    listen(subjects.find, (_data, reply) => {
      if (reply !== "") connection.publish(reply, inner.announcement());
    });
    this.#beat();
    this.#timer = setInterval(() => {
      if (connection.isClosed()) return this.#stop(new Error("the connection has ended"));
      this.#beat();
      this.#guard(() => inner.forgetSilent(forgetActorMs));
    }, 1000 / BEATS_A_SECOND);
  }

  /** The name. */
  get name(): string {
    return this.#inner.name;
  }

  /** What it has done since it is served. */
  figures(): ShardFigures {
    return { ...this.#inner.figures(), damaged: this.#damaged + this.#inner.refusedCount };
  }

  /** Confirms what came, tells everybody that it goes, and ends. The replay and the connection stay open. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    try {
      // Under a steady load, a flush that takes new chunks has no end. Actors send those to another shard.
      this.#subscriptions[0]?.unsubscribe();
      await this.#inner.flush();
    } finally {
      this.#stop(undefined);
    }
    // Where NATS is away, nobody has to hear that the shard goes.
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, GOODBYE_MS));
    await Promise.race([this.#connection.flush().catch(() => {}), late]);
    clearTimeout(timer);
  }

  /** The same as {@linkcode Shard.close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #stop(error: Error | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    try {
      // Others need not wait until it is silent for long.
      this.#connection.publish(this.#subjects.beat(this.name), this.#inner.beat(true));
    } catch {
      // The connection has ended, or the replay.
    }
    for (const subscription of this.#subscriptions) {
      try {
        subscription.unsubscribe();
      } catch {
        // The connection has ended.
      }
    }
    this.#inner.end();
    this.#end(error);
  }

  /** What a peer sends may be anything. It costs nobody more than the message itself. */
  #guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      if (error instanceof ReplayError && (error.code === "disk" || error.code === "disposed")) {
        return this.#stop(error);
      }
      this.#damaged++;
    }
  }

  #beat(): void {
    const subject = this.#subjects.beat(this.name);
    this.#guard(() => this.#connection.publish(subject, this.#inner.beat()));
  }

  #draw(data: Uint8Array, reply: string): void {
    if (reply === "") return;
    const request = readDraw(data);
    const { rows, ...drawn } = this.#inner.draw(request);
    const most = Math.min(payloadMax(this.#connection) - PICKS.bytes, PART_BYTES);
    for (let from = 0; from === 0 || from < rows.length; from += most) {
      const part = { ...drawn, id: request.id, total: rows.length, from };
      const bytes = PICKS.write(part, [rows.subarray(from, from + most)]);
      this.#connection.publish(reply, bytes);
    }
    this.#inner.applyWaiting();
  }
}
