/**
 * An actor on a simulated network: writes numbered records of some environments in one of the ways in which actors do, and knows what was confirmed.
 *
 * @module
 */

import { type ShardWriter, shardWriter } from "@exrp/replay/shards";
import { pause } from "../_wait.ts";
import type { Fabric, Peer } from "../shards/_fabric.ts";
import { batchOf, manyOf, type Numbered, step } from "../shards/_numbered.ts";

/** Options of a {@linkcode SimulatedActor}. */
export interface ActorOptions {
  /** The number of its first environment; the others have the next ones. Records carry it. */
  readonly first: number;
  readonly environments: number;
  /** How many records each environment writes at most, and at least a tenth of them. */
  readonly records: number;
  readonly chunkBytes: number;
  readonly unconfirmedBytes: number;
  /** How long it stays where it has gone of its own accord; the default of writers by default. */
  readonly stayMs?: number;
  /** Whether it records step by step; by chance it may record otherwise. */
  readonly isPlain?: boolean;
}

/** Records of one step each, of one environment after the other. */
export class SimulatedActor {
  readonly peer: Peer;
  readonly options: ActorOptions;
  /** How many records each environment has written, and how many of them were confirmed. */
  readonly written: number[];
  readonly confirmed: number[];
  isDone = false;
  /** Ends its work. */
  isEnough = false;
  writer: ShardWriter<Numbered> | undefined;
  readonly #fabric: Fabric;

  constructor(fabric: Fabric, peer: Peer, options: ActorOptions) {
    this.#fabric = fabric;
    this.peer = peer;
    this.options = options;
    this.written = Array<number>(options.environments).fill(0);
    this.confirmed = [...this.written];
  }

  /** Begins its process. */
  begin(): void {
    const { peer } = this;
    peer.run(async () => {
      const { chunkBytes, unconfirmedBytes, stayMs } = this.options;
      this.writer = await shardWriter<Numbered>(peer.connect(), {
        ...{ chunkBytes, unconfirmedBytes, ...stayMs === undefined ? {} : { stayMs } },
        sendIntervalMs: 5 + this.#fabric.below(45),
        timeoutMs: 3_600_000,
      });
      const ways = this.options.isPlain === true
        ? [this.#bySteps]
        : [this.#bySteps, this.#byBatches, this.#byMany];
      await ways[this.#fabric.below(ways.length)]?.call(this);
      await this.#flush();
      await this.writer.close();
      this.isDone = true;
    }).catch((error) => this.#fabric.fail(error));
  }

  get #isOver(): boolean {
    const { records } = this.options;
    return this.written.every((count) => count >= (this.isEnough ? records / 10 : records));
  }

  async #flush(): Promise<void> {
    const written = [...this.written];
    await this.writer?.flush();
    for (const [k, count] of written.entries()) this.confirmed[k] = count;
  }

  async #rest(): Promise<void> {
    const chance = this.#fabric.below(40);
    if (chance === 0) await this.#flush();
    else if (chance < 12) await pause(this.#fabric.below(40));
  }

  #step(environment: number, ahead = 0): ReturnType<typeof step> {
    const number = (this.written[environment] ?? 0) + ahead;
    return step(this.options.first + environment, number, this.#fabric.below(15) === 0);
  }

  async #bySteps(): Promise<void> {
    const { replay } = this.writer as ShardWriter<Numbered>;
    const episodes = this.written.map(() => replay.newEpisode());
    while (!this.#isOver) {
      for (const k of this.written.keys()) {
        const one = this.#step(k);
        await replay.whenReady(() => {
          episodes[k] = replay.recordStep(episodes[k] as number, one as never);
        });
        this.written[k] = (this.written[k] ?? 0) + 1;
        await this.#rest();
      }
    }
  }

  async #byBatches(): Promise<void> {
    const { replay } = this.writer as ShardWriter<Numbered>;
    const episodes = Float64Array.from(this.written, () => replay.newEpisode());
    while (!this.#isOver) {
      const steps = [...this.written.keys()].map((k) => this.#step(k));
      await replay.whenReady(() => replay.recordBatch(episodes, batchOf(steps) as never));
      for (const k of this.written.keys()) this.written[k] = (this.written[k] ?? 0) + 1;
      await this.#rest();
    }
  }

  async #byMany(): Promise<void> {
    const { replay } = this.writer as ShardWriter<Numbered>;
    const episodes = this.written.map(() => replay.newEpisode());
    while (!this.#isOver) {
      for (const k of this.written.keys()) {
        const steps = Array.from(
          { length: 1 + this.#fabric.below(6) },
          (_, ahead) => this.#step(k, ahead),
        );
        const isLast = this.#fabric.below(5) === 0;
        await replay.whenReady(() =>
          episodes[k] = replay.recordMany(episodes[k] as number, {
            ...manyOf(steps),
            ...isLast ? { finalState: steps.at(-1)?.nextState } : {},
          } as never)
        );
        this.written[k] = (this.written[k] ?? 0) + steps.length;
        if (isLast) episodes[k] = replay.newEpisode();
        await this.#rest();
      }
    }
  }
}
