/**
 * A learner on a simulated network: draws batches, checks every pick, and gives each record a priority that no other record has.
 *
 * @module
 */

import { samplesPerInsert } from "@exrp/replay";
import { connectShards, type ConnectShardsOptions, type Shards } from "@exrp/replay/shards";
import { assertEquals } from "../_assert.ts";
import { pause } from "../_wait.ts";
import type { Fabric, Peer } from "../shards/_fabric.ts";
import type { Numbered } from "../shards/_numbered.ts";

/** The priority that a learner gives a record: below 1, which is that of a new one. */
export function priorityOf(environment: number, number: number): number {
  return 0.1 + ((Math.imul(environment + 1, 7919) + Math.imul(number, 613)) >>> 0) % 8000 / 10_000;
}

/** A limit for all shards. */
export interface LimitNumbers {
  readonly ratio: number;
  readonly minSize: number;
  readonly error: number;
}

/** One learner's life. */
export class SimulatedLearner {
  readonly peer: Peer;
  readonly size: number;
  readonly limits: LimitNumbers | undefined;
  batches = 0;
  shards: Shards<Numbered> | undefined;
  #isOver = false;
  readonly #fabric: Fabric;

  constructor(fabric: Fabric, peer: Peer, size: number, limits: LimitNumbers | undefined) {
    this.#fabric = fabric;
    this.peer = peer;
    this.size = size;
    this.limits = limits;
  }

  /** Begins its process. */
  begin(): void {
    const { peer, size, limits } = this;
    peer.run(async () => {
      let limited: ConnectShardsOptions = {};
      if (limits !== undefined) {
        const { ratio, minSize, error } = limits;
        limited = { rateLimiter: samplesPerInsert(ratio, { minSize, error }) };
      }
      const shards = this.shards = await connectShards<Numbered>(peer.connect(), {
        timeoutMs: 3_600_000,
        ...limited,
      });
      const prefetch = this.#fabric.below(3);
      for await (const batch of shards.batches(size, { prefetch })) {
        const { state, action } = batch as unknown as { state: Int32Array; action: Int32Array };
        const priorities = new Float64Array(size);
        for (let k = 0; k < size; k++) {
          const [number = -1, environment = -1] = state.subarray(2 * k);
          assertEquals(action[k], number % 7, `record ${number} of environment ${environment}`);
          priorities[k] = priorityOf(environment, number);
        }
        if (this.#fabric.below(4) > 0) shards.setPriority(batch, priorities);
        this.batches++;
        await pause(1 + this.#fabric.below(60));
      }
    }).catch((error) => {
      if (!this.#isOver) this.#fabric.fail(error);
    });
  }

  /** Ends it, alive or dead, so that it leaves nothing behind. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.shards?.close();
  }
}
