/**
 * The whole contract of an eviction policy as one call, which any rule must pass: the library's own or a user's.
 *
 * @module
 */

import { type EvictionRule, type Selector, uniform } from "@exrp/replay";
import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { recordEpisode, type SmallReplay, smallReplay, testRandom } from "../replay/_helpers.ts";

/** A rule to be tested. */
export interface EvictionCase {
  /** Says which rule. */
  readonly name: string;
  /** Makes the rule, a fresh one each time. */
  readonly make: () => EvictionRule;
}

const CAPACITY = 40;

/** A replay driven by seeded operations, with all that was evicted in order. */
class Driven {
  readonly replay: SmallReplay;
  readonly selector: Selector;
  readonly evicted: number[] = [];
  readonly #random: (bound: number) => number;
  readonly #open: number[] = [];
  #live: number[] = [];
  #next = 0;

  private constructor(replay: SmallReplay, seed: number) {
    this.replay = replay;
    this.selector = replay.newPickSelector(uniform());
    this.#random = testRandom(seed);
  }

  static async start(
    item: EvictionCase,
    seed: number,
    limits: { capacity?: number; capacityBytes?: number; maxAge?: number } = {},
  ): Promise<Driven> {
    const eviction = item.make();
    return new Driven(
      await smallReplay({ capacity: CAPACITY, segmentLength: 12, seed, eviction, ...limits }),
      seed,
    );
  }

  /** The youngest record's state; every record has one more than the record before. */
  get newest(): number {
    return this.#next - 1;
  }

  /** One random operation, after which the counts must agree. */
  step(): void {
    const { replay } = this;
    const choice = this.#random(16);
    if (this.#open.length === 0 || (choice === 0 && this.#open.length < 5)) {
      this.#open.push(replay.newEpisode());
    } else if (choice < 11) {
      const place = this.#random(this.#open.length);
      const ends = this.#random(6) === 0;
      const options = ends ? { finalState: [-1] } : undefined;
      const handle = replay.record(this.#open[place] as number, [this.#next++], 0, 0, options);
      assert(replay.episode(handle).recordCount >= 1, "the record just written is there");
      if (ends) this.#open.splice(place, 1);
      else this.#open[place] = handle;
    } else if (choice === 11) {
      const live = replay.episodes();
      assertStrictEquals(replay.evict(live[this.#random(live.length)] as number), true);
    } else if (replay.pickCount > 0) {
      replay.getBatch(1 + this.#random(10), this.selector);
    }
    this.#check();
  }

  #check(): void {
    const { replay } = this;
    const live = [...replay.episodes()];
    for (const handle of this.#live) if (!live.includes(handle)) this.evicted.push(handle);
    this.#live = live;
    assertStrictEquals(live.length, replay.episodeCount);
    let records = 0;
    for (const handle of live) {
      const info = replay.episode(handle);
      assert(info.state !== "evicted");
      records += info.recordCount;
    }
    assertStrictEquals(records, replay.recordCount);
    assert(records <= replay.capacity);
  }
}

/** Bytes of a record of `smallReplay`, and of its state. */
const [RECORD_BYTES, STATE_BYTES] = [12, 4];

/** Registers the tests of the contract for one rule. */
export function conforms(item: EvictionCase): void {
  const { name, make } = item;

  Deno.test(`${name}: capacity is exact: nothing is evicted before it is reached, never more is stored`, async () => {
    using replay = await smallReplay({ capacity: 12, eviction: make() });
    for (let k = 0; k < 50; k++) {
      recordEpisode(replay, 1, k);
      assertStrictEquals(replay.recordCount, Math.min(12, k + 1));
      assertStrictEquals(replay.episodeCount, Math.min(12, k + 1));
    }
  });

  Deno.test(`${name}: whatever is recorded, drawn and evicted, the store stays sound`, async () => {
    for (let seed = 1; seed <= 6; seed++) {
      const driven = await Driven.start(item, seed);
      using _replay = driven.replay;
      for (let step = 0; step < 600; step++) driven.step();
      assert(driven.evicted.length > 10);
      assertStrictEquals(new Set(driven.evicted).size, driven.evicted.length);
    }
  });

  Deno.test(`${name}: episodes may be removed in any order, the last too`, async () => {
    for (const order of [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]]) {
      using replay = await smallReplay({ capacity: 12, eviction: make() });
      for (let k = 0; k < 4; k++) recordEpisode(replay, 3, 10 * k);
      for (const handle of order) replay.evict(handle);
      assertEquals([replay.episodeCount, replay.recordCount, replay.pickCount], [0, 0, 0]);
      for (let k = 0; k < 10; k++) recordEpisode(replay, 3, 10 * k);
      assertEquals([replay.episodeCount, replay.recordCount], [4, 12]);
    }
  });

  Deno.test(`${name}: one open episode alone can go on for ever`, async () => {
    using replay = await smallReplay({ capacity: 12, segmentLength: 5, eviction: make() });
    let episode = replay.newEpisode();
    for (let step = 0; step < 200; step++) episode = replay.record(episode, [step], 0, 0);
    assertStrictEquals(replay.episode(episode).state, "open");
    assert(replay.recordCount <= 12 && replay.pickCount > 0);
  });

  Deno.test(`${name}: with maxAge, nothing older is stored or drawn, whatever the rule would keep`, async () => {
    for (const [seed, capacity] of [[1, CAPACITY], [2, 200], [3, 200], [4, 25]] as const) {
      const maxAge = 60;
      const driven = await Driven.start(item, seed, { capacity, maxAge });
      using replay = driven.replay;
      let fromFullStore = 0;
      for (let step = 0; step < 600; step++) {
        driven.step();
        if (replay.pickCount === 0) continue;
        for (const state of replay.getBatch(32, driven.selector).state) {
          assert(driven.newest - state < maxAge, `seed ${seed}, step ${step}: record ${state}`);
        }
        if (replay.recordCount > 0.6 * Math.min(capacity, maxAge)) fromFullStore++;
      }
      // It is a window of that width, not less: most of what is young enough is there.
      assert(fromFullStore > 50, `seed ${seed}: ${fromFullStore}`);
      for (const handle of driven.evicted) {
        assertStrictEquals(replay.episode(handle).state, "evicted");
      }
    }
  });

  Deno.test(`${name}: with capacityBytes, records and final states never take more`, async () => {
    for (let seed = 1; seed <= 3; seed++) {
      const capacityBytes = 20 * RECORD_BYTES + STATE_BYTES + seed;
      const driven = await Driven.start(item, seed, { capacityBytes });
      using replay = driven.replay;
      assertStrictEquals(replay.capacity, 20);
      let nearly = 0;
      for (let step = 0; step < 600; step++) {
        driven.step();
        const infos = [...replay.episodes()].map((handle) => replay.episode(handle));
        const ended = infos.filter(({ state }) => state !== "open").length;
        const bytes = RECORD_BYTES * replay.recordCount + STATE_BYTES * ended;
        assertStrictEquals(replay.describe().memory.stored, bytes);
        assert(bytes <= capacityBytes);
        if (bytes + RECORD_BYTES > capacityBytes) nearly++;
      }
      assert(nearly > 20, `seed ${seed}: ${nearly}`);
    }
  });

  Deno.test(`${name}: the same operations evict the same episodes`, async () => {
    const run = async (): Promise<number[]> => {
      const driven = await Driven.start(item, 9);
      using _replay = driven.replay;
      for (let step = 0; step < 500; step++) driven.step();
      return driven.evicted;
    };
    assertEquals(await run(), await run());
  });

  Deno.test(`${name}: saved and loaded, it evicts as if nothing had been`, async () => {
    for (let seed = 1; seed <= 6; seed++) {
      const limits = seed <= 4 ? {} : { maxAge: 37, capacityBytes: 30 * RECORD_BYTES };
      const driven = await Driven.start(item, seed, limits);
      using replay = driven.replay;
      for (let step = 0; step < 300; step++) driven.step();
      recordEpisode(replay, 3);
      using loaded = await smallReplay({
        capacity: CAPACITY,
        segmentLength: 12,
        seed: 77,
        eviction: make(),
        ...limits,
      });
      const selector = loaded.newPickSelector(uniform());
      if (seed % 2 === 0) { for (let k = 0; k < 20; k++) recordEpisode(loaded, 3); }
      await loaded.unserialize(await replay.serialize());
      for (let round = 0; round < 150; round++) {
        assertEquals(loaded.getBatch(6, selector).bytes, replay.getBatch(6, driven.selector).bytes);
        for (const each of [replay, loaded]) recordEpisode(each, 1 + round % 4, round);
        assertEquals(loaded.episodes(), replay.episodes());
      }
    }
  });
}
