/**
 * A shard on a simulated network, with a real durable replay in a folder, which loses power, fills its disk and begins anew.
 *
 * @module
 */

import type { ExperienceReplay } from "@exrp/replay";
import { ReplayError } from "@exrp/replay";
import { serveShard, type Shard } from "@exrp/replay/shards";
import { pause } from "../_wait.ts";
import type { Fabric, Peer } from "../shards/_fabric.ts";
import { type Numbered, openNumbered } from "../shards/_numbered.ts";

/** The file that the log of a shard is in, and the size from which on there would be another one. */
const LOG = "log-00000001.exrp";
const SEGMENT_BYTES = 2 ** 26;

/** One shard of a schedule. */
export class SimulatedShard {
  readonly name: string;
  replay: ExperienceReplay<Numbered> | undefined;
  shard: Shard | undefined;
  peer: Peer;
  /** The disk is full: nothing gets onto it any more. */
  isFull = false;
  /** Records that a power cut took from the replay: none of them was confirmed. */
  lost = 0;
  lives = 0;
  /** How often it ended by itself: its disk was full, or another shard had its name. */
  endings = 0;
  readonly #fabric: Fabric;
  readonly #folder: string;
  /** Bytes of the log that are on the disk for sure. */
  #flushedBytes = 0;
  #recordsAtDeath = 0;

  constructor(fabric: Fabric, name: string, folder: string) {
    this.#fabric = fabric;
    this.name = name;
    this.#folder = folder;
    this.peer = fabric.peer(name);
  }

  /** Whether it serves. */
  get isServing(): boolean {
    return this.shard !== undefined && this.peer.isAlive;
  }

  /** Begins a process, which opens the folder. It may die before it serves. */
  begin(): void {
    const fabric = this.#fabric;
    this.lives++;
    const peer = this.peer = fabric.peer(this.name);
    peer.run(async () => {
      const replay = await fabric.outside(openNumbered(this.#folder, SEGMENT_BYTES));
      this.replay = replay;
      if (this.lives > 1) this.lost += this.#recordsAtDeath - recordedIn(replay);
      this.#flushedBytes = logBytes(replay);
      this.#givePower(replay);
      const shard = await serveShard(replay as unknown as ExperienceReplay, peer.connect(), {
        name: this.name,
      });
      this.shard = shard;
      return await shard.closed;
    }).then(() => this.endings++, (error) => {
      if (!(error instanceof ReplayError && error.code === "shard-taken")) fabric.fail(error);
      else this.endings++;
    }).then(() => peer.kill());
  }

  /** Cuts the power of a process that is dead: of what was not flushed, any part may be on the disk. */
  async bury(): Promise<void> {
    const { replay } = this;
    if (this.peer.isAlive) throw new Error(`${this.name} is alive`);
    this.replay = this.shard = undefined;
    if (replay === undefined) return;
    const fabric = this.#fabric;
    const flushed = this.#flushedBytes;
    await fabric.outside((async () => {
      this.#recordsAtDeath = recordedIn(replay);
      Reflect.deleteProperty(replay, "flush");
      await replay.flush();
      const all = logBytes(replay);
      replay[Symbol.dispose]();
      await Deno.truncate(`${this.#folder}/${LOG}`, flushed + fabric.below(all - flushed + 1));
    })());
  }

  /** Its flushes take virtual time, and fail where the disk is full. */
  #givePower(replay: ExperienceReplay<Numbered>): void {
    const flush = replay.flush.bind(replay);
    const value = async (): Promise<void> => {
      if (this.isFull) {
        throw new ReplayError("disk", "flush(): the simulated disk is full", {
          detail: { reason: "full" },
        } as never);
      }
      await this.#fabric.outside(flush());
      const bytes = logBytes(replay);
      await pause(this.#fabric.between([0.1, 5]));
      this.#flushedBytes = Math.max(this.#flushedBytes, bytes);
    };
    Object.defineProperty(replay, "flush", { value, configurable: true });
  }
}

/** Bytes of the log that were written. */
function logBytes(replay: ExperienceReplay<Numbered>): number {
  return replay.durability?.logBytes ?? 0;
}

/** How many records were ever written; none is evicted. */
function recordedIn(replay: ExperienceReplay<Numbered>): number {
  return replay.recordCount;
}
