/**
 * Registers the checks of an eviction policy's contract, each as a test of its own; and that the limits beside the capacity hold
 * under it.
 *
 * @module
 */

import type { Selector } from "@exrp/replay";
import { uniform } from "@exrp/replay";
import { type EvictionCase, evictionChecks } from "@exrp/replay/testing";
import { assert, assertEquals, assertStrictEquals } from "../_assert.ts";
import { amount } from "../_amount.ts";
import { recordEpisode, type SmallReplay, smallReplay, testRandom } from "../replay/_helpers.ts";

/** Registers the tests of the contract for one rule. */
export function conforms(rule: EvictionCase): void {
  for (const { name, run } of evictionChecks(rule)) Deno.test(name, run);
  const name = rule.name ?? rule.make().name;
  Deno.test(`${name}: with maxAge, nothing older is stored or drawn, whatever the rule would keep`, async () => {
    const ages = [[1, 40], [2, 200], [3, 200], [4, 25]] as const;
    for (const [seed, capacity] of ages.slice(0, amount(2, 4))) {
      await keepsAges(rule, seed, capacity);
    }
  });
  Deno.test(`${name}: with capacityBytes, records and final states never take more`, async () => {
    for (const seed of [1, 2, 3].slice(0, amount(1, 3))) await keepsBytes(rule, seed);
  });
  if (rule.savable === false) return;
  Deno.test(`${name}: with limits too, after saving and loading, it evicts the same episodes`, async () => {
    for (const seed of [1, 2, 3].slice(0, amount(1, 3))) await savesLimits(rule, seed);
  });
}

/** Bytes of a record of `smallReplay`, and of its state. */
const [RECORD_BYTES, STATE_BYTES] = [12, 4];

interface Limits {
  readonly capacity: number;
  readonly capacityBytes?: number;
  readonly maxAge?: number;
}

/** A replay driven by seeded operations. Every record's state is one more than that of the record before. */
class Limited {
  readonly replay: SmallReplay;
  readonly selector: Selector;
  /** All that was evicted, in order. */
  readonly evicted: number[] = [];
  readonly #random: (bound: number) => number;
  readonly #open: number[] = [];
  #live: number[] = [];
  /** The youngest record's state. */
  newest = -1;

  private constructor(replay: SmallReplay, seed: number) {
    this.replay = replay;
    this.selector = replay.newPickSelector(uniform());
    this.#random = testRandom(seed);
  }

  static async start(rule: EvictionCase, seed: number, limits: Limits): Promise<Limited> {
    const eviction = rule.make();
    return new Limited(await smallReplay({ segmentLength: 12, seed, eviction, ...limits }), seed);
  }

  /** One random operation. */
  step(): void {
    const { replay } = this;
    const choice = this.#random(16);
    if (this.#open.length === 0 || (choice === 0 && this.#open.length < 5)) {
      this.#open.push(replay.newEpisode());
    } else if (choice < 12) {
      const place = this.#random(this.#open.length);
      const ends = this.#random(6) === 0;
      const options = ends ? { finalState: [-1] } : undefined;
      const handle = replay.record(this.#open[place] ?? NaN, [++this.newest], 0, 0, options);
      assert(replay.episode(handle).recordCount >= 1, "the record just written is there");
      if (ends) this.#open.splice(place, 1);
      else this.#open[place] = handle;
    } else if (replay.pickCount > 0) {
      replay.getBatch(1 + this.#random(10), this.selector);
    }
    const live = [...replay.episodes().handle];
    for (const handle of this.#live) if (!live.includes(handle)) this.evicted.push(handle);
    this.#live = live;
  }
}

async function keepsAges(rule: EvictionCase, seed: number, capacity: number): Promise<void> {
  const maxAge = 60;
  const driven = await Limited.start(rule, seed, { capacity, maxAge });
  using replay = driven.replay;
  let nearlyAll = 0;
  for (let step = 0; step < 600; step++) {
    driven.step();
    if (replay.pickCount === 0) continue;
    for (const state of replay.getBatch(32, driven.selector).state) {
      assert(driven.newest - state < maxAge, `seed ${seed}, step ${step}: record ${state}`);
    }
    if (replay.recordCount > 0.6 * Math.min(capacity, maxAge)) nearlyAll++;
  }
  // It is a window of that width, not less: most of what is young enough is there.
  assert(nearlyAll > 50, `seed ${seed}: ${nearlyAll}`);
  assert(driven.evicted.length > 10, `seed ${seed}: ${driven.evicted.length} were evicted`);
  for (const handle of driven.evicted) {
    assertStrictEquals(replay.episode(handle).ending, "evicted");
  }
}

async function keepsBytes(rule: EvictionCase, seed: number): Promise<void> {
  const capacityBytes = 20 * RECORD_BYTES + STATE_BYTES + seed;
  const driven = await Limited.start(rule, seed, { capacity: 40, capacityBytes });
  using replay = driven.replay;
  assertStrictEquals(replay.capacity, 20);
  let nearly = 0;
  for (let step = 0; step < 600; step++) {
    driven.step();
    const infos = [...replay.episodes().handle].map((handle) => replay.episode(handle));
    const ended = infos.filter(({ ending }) => ending !== "open").length;
    const bytes = RECORD_BYTES * replay.recordCount + STATE_BYTES * ended;
    assertStrictEquals(replay.describe().memory.stored, bytes);
    assert(bytes <= capacityBytes, `seed ${seed}, step ${step}: ${bytes} bytes`);
    if (bytes + RECORD_BYTES > capacityBytes) nearly++;
  }
  assert(nearly > 20, `seed ${seed}: ${nearly}`);
}

async function savesLimits(rule: EvictionCase, seed: number): Promise<void> {
  const limits = { capacity: 40, maxAge: 37, capacityBytes: 30 * RECORD_BYTES };
  const driven = await Limited.start(rule, seed, limits);
  using replay = driven.replay;
  for (let step = 0; step < 300; step++) driven.step();
  recordEpisode(replay, 3);
  const eviction = rule.make();
  using loaded = await smallReplay({ segmentLength: 12, seed: 77, eviction, ...limits });
  const selector = loaded.newPickSelector(uniform());
  await loaded.unserialize(await replay.serialize());
  for (let round = 0; round < 150; round++) {
    assertEquals(loaded.getBatch(6, selector).bytes, replay.getBatch(6, driven.selector).bytes);
    for (const each of [replay, loaded]) recordEpisode(each, 1 + round % 4, round);
    assertEquals(loaded.episodes().handle, replay.episodes().handle);
  }
}
