/**
 * The whole contract of a selector as one call, which any rule must pass: the library's own or a user's.
 *
 * Rules are driven through a replay, by seeded operations, with a plain shadow of what is stored.
 *
 * @module
 */

import {
  type Batch,
  type Column,
  type EvictionRule,
  fifo,
  type Selector,
  type SelectorRule,
} from "@exrp/replay";
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertLess,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import {
  assertReplayError,
  recordEpisode,
  type SmallReplay,
  smallReplay,
  testRandom,
} from "../replay/_helpers.ts";

/** A rule and what it promises beyond the contract. */
export interface SelectorCase {
  /** Says which rule and options. */
  readonly name: string;
  /** Makes the rule, a fresh one each time. */
  readonly make: () => SelectorRule;
  /** True when draws do not change the chances of later ones, so that probabilities over the table sum to 1. */
  readonly stationary?: boolean;
  /** True when a pick of priority 0 is never drawn while another has more. */
  readonly zeroIsNever?: boolean;
  /** True when a larger priority makes a pick more likely, whatever else. */
  readonly followsPriority?: boolean;
  /** True when a draw depends on no random number. */
  readonly deterministic?: boolean;
  /** True when there are picks that are never drawn as long as nothing changes. */
  readonly someOnly?: boolean;
  /** True when a batch has no pick twice, and so at most as many as there are. */
  readonly distinct?: boolean;
}

type SmallBatch = Batch<Column<"float32", readonly [1]>>;

/** A replay driven by seeded operations, and what it must hold. */
class Driven {
  readonly replay: SmallReplay;
  readonly selector: Selector;
  readonly #item: SelectorCase;
  readonly #random: (bound: number) => number;
  /** The states of each episode, by handle. */
  readonly #states = new Map<number, number[]>();
  readonly #open: number[] = [];
  #next = 0;

  constructor(item: SelectorCase, replay: SmallReplay, selector: Selector, seed: number) {
    this.#item = item;
    this.replay = replay;
    this.selector = selector;
    this.#random = testRandom(seed);
  }

  static async start(
    item: SelectorCase,
    seed: number,
    eviction: EvictionRule = fifo(),
  ): Promise<Driven> {
    const replay = await smallReplay({ capacity: 60, segmentLength: 25, seed, eviction });
    return new Driven(item, replay, replay.newPickSelector(item.make()), seed);
  }

  /** One random operation; draws are checked and returned. */
  step(): SmallBatch | undefined {
    const { replay } = this;
    const choice = this.#random(20);
    if (choice === 0 || this.#open.length === 0) {
      const handle = replay.newEpisode();
      this.#open.push(handle);
      this.#states.set(handle, []);
    } else if (choice < 12) {
      const place = this.#random(this.#open.length);
      const given = this.#open[place] as number;
      const ends = this.#random(8) === 0;
      const state = this.#next++;
      const options = ends
        ? { finalState: [state + 0.5], truncated: this.#random(2) === 0 }
        : undefined;
      const handle = replay.record(given, [state], 0, 0, options);
      if (!this.#states.has(handle)) this.#states.set(handle, []);
      this.#states.get(handle)?.push(state);
      if (ends) this.#open.splice(place, 1);
      else this.#open[place] = handle;
    } else if (choice === 12) {
      const live = replay.episodes();
      replay.evict(live[this.#random(live.length)] as number);
    } else if (replay.pickCount > 0) {
      return choice < 17 ? this.draw() : this.update();
    }
    return undefined;
  }

  /** Draws, and checks that every pick is stored and every number is sound. */
  draw(): SmallBatch {
    const size = sizeFor(this.#item, this.replay, 1 + this.#random(20));
    const batch = this.replay.getBatch(size, this.selector, { beta: this.#random(11) / 10 });
    let largest = 0;
    for (let k = 0; k < batch.size; k++) {
      const episode = batch.pickEpisode[k] as number;
      const position = batch.pickPosition[k] as number;
      assert(this.replay.episode(episode).state !== "evicted", `episode ${episode} was evicted`);
      assertStrictEquals(batch.state[k], this.#states.get(episode)?.[position]);
      const probability = batch.probability[k] as number;
      assert(probability > 0 && probability <= 1, `probability ${probability}`);
      const weight = batch.importanceWeight[k] as number;
      assert(weight > 0 && weight <= 1, `importance weight ${weight}`);
      largest = Math.max(largest, weight);
    }
    assert(largest > 0 && largest <= 1);
    return batch;
  }

  /** Draws, and sets priorities of what was drawn. */
  update(): SmallBatch {
    const batch = this.draw();
    if (this.#item.distinct) assertStrictEquals(new Set(batch.state).size, batch.size);
    const priorities = Float64Array.from(batch.state, () => this.#random(5) / 2);
    const applied = this.replay.setPriority(
      this.selector,
      batch.pickEpisode,
      batch.pickPosition,
      priorities,
    );
    assertStrictEquals(applied, batch.size);
    return batch;
  }
}

/** A replay with `count` picks in one ended episode. */
async function filled(
  item: SelectorCase,
  count: number,
  seed = 1,
): Promise<[SmallReplay, Selector, number]> {
  const replay = await smallReplay({ capacity: 4096, seed });
  const selector = replay.newPickSelector(item.make());
  return [replay, selector, recordEpisode(replay, count)];
}

/** Sets the priorities of positions 0, 1, … of an episode. */
function prioritize(
  replay: SmallReplay,
  selector: Selector,
  episode: number,
  values: number[],
): number {
  return replay.setPriority(
    selector,
    new Float64Array(values.length).fill(episode),
    Int32Array.from(values.keys()),
    values,
  );
}

/** The batch size that comes nearest to `size` and that the rule can draw. */
function sizeFor({ distinct }: SelectorCase, replay: SmallReplay, size: number): number {
  return distinct ? Math.max(1, Math.min(size, replay.pickCount)) : size;
}

/** Asserts that all picks were seen, or at least one if the rule leaves some out. */
function assertSeen({ someOnly }: SelectorCase, seen: ReadonlySet<number>, count: number): void {
  if (someOnly) assert(seen.size >= 1 && seen.size <= count, `${seen.size} picks were seen`);
  else assertStrictEquals(seen.size, count);
}

/** How often each position is drawn in `draws` draws. */
function tally(replay: SmallReplay, selector: Selector, count: number, draws: number): number[] {
  const drawn = new Array<number>(count).fill(0);
  for (let left = draws; left > 0; left -= 100) {
    for (const position of replay.getBatch(Math.min(100, left), selector).pickPosition) {
      drawn[position] = (drawn[position] ?? 0) + 1;
    }
  }
  return drawn;
}

/**
 * Asserts that the probabilities of the positions 0 to `count` - 1 of the only episode sum to 1, and that draws follow
 * them: 50,000 draws, six standard deviations each.
 */
export function assertDrawsFollow(replay: SmallReplay, selector: Selector, count: number): void {
  const probability = new Map<number, number>();
  for (let round = 0; round < 200; round++) {
    const batch = replay.getBatch(50, selector);
    for (const [k, position] of batch.pickPosition.entries()) {
      probability.set(position, batch.probability[k] ?? 0);
    }
  }
  assertStrictEquals(probability.size, count);
  assertAlmostEquals([...probability.values()].reduce((sum, p) => sum + p, 0), 1, 1e-5);
  const draws = 50_000;
  for (const [position, drawn] of tally(replay, selector, count, draws).entries()) {
    const expected = probability.get(position) ?? 0;
    const deviation = Math.sqrt(expected * (1 - expected) / draws);
    assertLess(Math.abs(drawn / draws - expected), 6 * deviation, `pick ${position}`);
  }
}

/** Registers the tests of the contract for one rule. */
export function conforms(item: SelectorCase): void {
  const { name } = item;

  Deno.test(`${name}: only picks that are stored are drawn, whatever is recorded and evicted`, async () => {
    for (let seed = 1; seed <= 8; seed++) {
      const driven = await Driven.start(item, seed);
      using _replay = driven.replay;
      for (let step = 0; step < 800; step++) driven.step();
    }
  });

  Deno.test(`${name}: every pick can be drawn, and after eviction none of the evicted`, async () => {
    const [replay, selector] = await filled(item, 12);
    using _replay = replay;
    const second = recordEpisode(replay, 9, 100);
    const seen = new Set<number>();
    for (let round = 0; round < 400; round++) {
      for (const state of replay.getBatch(sizeFor(item, replay, 10), selector).state) {
        seen.add(state);
      }
    }
    assertSeen(item, seen, 21);
    replay.evict(0);
    for (let round = 0; round < 50; round++) {
      assertEquals(
        new Set(replay.getBatch(sizeFor(item, replay, 10), selector).pickEpisode),
        new Set([second]),
      );
    }
  });

  Deno.test(`${name}: an emptied table is an error, a filled one works again`, async () => {
    const [replay, selector, episode] = await filled(item, 5);
    using _replay = replay;
    replay.getBatch(3, selector);
    replay.evict(episode);
    assertReplayError(() => replay.getBatch(3, selector), "empty");
    recordEpisode(replay, 2, 50);
    const seen = new Set(replay.getBatch(sizeFor(item, replay, 20), selector).state);
    assert(seen.isSubsetOf(new Set([50, 51])));
    assertSeen(item, seen, 2);
  });

  Deno.test(`${name}: picks that are there before the selector are drawn too`, async () => {
    using replay = await smallReplay();
    recordEpisode(replay, 6);
    const selector = replay.newPickSelector(item.make());
    const seen = new Set<number>();
    for (let round = 0; round < 100; round++) {
      for (const state of replay.getBatch(sizeFor(item, replay, 10), selector).state) {
        seen.add(state);
      }
    }
    assertSeen(item, seen, 6);
  });

  Deno.test(`${name}: setPriority counts what it applied; evicted picks are skipped`, async () => {
    const [replay, selector, first] = await filled(item, 3);
    using _replay = replay;
    const second = recordEpisode(replay, 3, 10);
    assertStrictEquals(replay.setPriority(selector, [], [], []), 0);
    assertStrictEquals(replay.setPriority(selector, [first, second], [0, 2], [1, 2]), 2);
    replay.evict(first);
    assertStrictEquals(replay.setPriority(selector, [first, second], [0, 2], [1, 2]), 1);
    assertStrictEquals(replay.setPriority(selector, [first], [0], [1]), 0);
    assertStrictEquals(replay.setPriority(selector, [second, second], [3, 2], [1, 2]), 1);
    assertThrows(() => replay.setPriority(selector, [second, second], [0, -1], [1, 2]), RangeError);
    assertReplayError(() => replay.setPriority(selector, [2], [0], [1]), "episode-unknown");
  });

  Deno.test(`${name}: an invalid priority changes nothing`, async () => {
    const [replay, selector, episode] = await filled(item, 8);
    const [twin, twinSelector] = await filled(item, 8);
    using _replay = replay;
    using _twin = twin;
    for (const bad of [NaN, -1, Infinity]) {
      const values = [5, 5, 5, 5, 5, 5, 5, bad];
      const set = (): number => prioritize(replay, selector, episode, values);
      assertStrictEquals(assertReplayError(set, "invalid-priority").detail[0], 7);
    }
    for (let round = 0; round < 20; round++) {
      assertEquals(
        replay.getBatch(sizeFor(item, replay, 16), selector).bytes,
        twin.getBatch(sizeFor(item, twin, 16), twinSelector).bytes,
      );
    }
  });

  Deno.test(`${name}: the same seed and operations give the same draws`, async () => {
    const run = async (seed: number): Promise<number[]> => {
      const driven = await Driven.start(item, seed);
      using _replay = driven.replay;
      const drawn: number[] = [];
      for (let step = 0; step < 400; step++) drawn.push(...(driven.step()?.state ?? []));
      return drawn;
    };
    assertEquals(await run(3), await run(3));
    if (item.deterministic) return;
    const draw = async (seed: number): Promise<string> => {
      const [replay, selector] = await filled(item, 50, seed);
      using _replay = replay;
      return replay.getBatch(sizeFor(item, replay, 64), selector).state.join();
    };
    assert(await draw(1) !== await draw(2), "another seed gives other draws");
  });

  Deno.test(`${name}: saved and loaded, it goes on as if nothing had been`, async () => {
    for (let seed = 1; seed <= 4; seed++) {
      const driven = await Driven.start(item, seed);
      using replay = driven.replay;
      for (let step = 0; step < 300; step++) driven.step();
      recordEpisode(replay, 5, 1000);
      using loaded = await smallReplay({ capacity: 60, segmentLength: 25, seed: seed + 100 });
      const selector = loaded.newPickSelector(item.make());
      if (seed % 2 === 0) {
        recordEpisode(loaded, 7, 2000); // what was there before leaves no trace
        loaded.setPriority(selector, [0], [0], [77]);
        loaded.getBatch(5, selector);
      }
      await loaded.unserialize(await replay.serialize());
      for (let round = 0; round < 200; round++) {
        const size = sizeFor(item, replay, 7);
        const [a, b] = [replay.getBatch(size, driven.selector), loaded.getBatch(size, selector)];
        assertEquals(b.bytes, a.bytes);
        const priorities = a.state.map((state) => (state * 7 + round) % 5);
        for (const [target, own] of [[replay, driven.selector], [loaded, selector]] as const) {
          target.setPriority(own, a.pickEpisode, a.pickPosition, priorities);
          if (round % 10 === 0) recordEpisode(target, 4, 3000 + round);
        }
      }
    }
  });

  if (item.stationary) {
    Deno.test(`${name}: the probabilities of all picks sum to 1, and draws follow them`, async () => {
      const [replay, selector, episode] = await filled(item, 10);
      using _replay = replay;
      prioritize(replay, selector, episode, [0.1, 3, 1, 2, 0.5, 4, 1, 1, 2, 0.2]);
      assertDrawsFollow(replay, selector, 10);
    });
  }

  if (item.zeroIsNever) {
    Deno.test(`${name}: a pick of priority 0 is never drawn, unless all are 0`, async () => {
      const [replay, selector, episode] = await filled(item, 7);
      using _replay = replay;
      prioritize(replay, selector, episode, [0, 1, 0, 0, 2, 0, 0]);
      const drawn = tally(replay, selector, 7, 5000);
      assertEquals(drawn.map((count) => count > 0), [
        false,
        true,
        false,
        false,
        true,
        false,
        false,
      ]);
      prioritize(replay, selector, episode, [0, 0, 0, 0, 0, 0, 0]);
      assert(
        tally(replay, selector, 7, 2000).every((count) => count > 150),
        "uniform when all are 0",
      );
    });
  }

  if (item.followsPriority) {
    Deno.test(`${name}: a larger priority is drawn more, and of two for one pick the last wins`, async () => {
      const [replay, selector, episode] = await filled(item, 6);
      using _replay = replay;
      prioritize(replay, selector, episode, [1, 1, 1, 1, 1, 1]);
      replay.setPriority(selector, [episode, episode], [2, 2], [1, 50]);
      replay.setPriority(selector, [episode, episode], [4, 4], [50, 0.01]);
      const drawn = tally(replay, selector, 6, 6000);
      for (const [position, count] of drawn.entries()) {
        if (position !== 2) assertLess(count, drawn[2] ?? 0);
        if (position !== 4) assertLess(drawn[4] ?? Infinity, count);
      }
    });

    Deno.test(`${name}: a new pick has the largest priority set so far`, async () => {
      const [replay, selector, episode] = await filled(item, 2);
      using _replay = replay;
      prioritize(replay, selector, episode, [20, 0.01]);
      recordEpisode(replay, 1, 500);
      const seen = new Map<number, number>();
      for (let round = 0; round < 30; round++) {
        for (const state of replay.getBatch(100, selector).state) {
          seen.set(state, (seen.get(state) ?? 0) + 1);
        }
      }
      const [large = 0, fresh = 0] = [seen.get(0), seen.get(500)];
      assertLess(Math.abs(large - fresh), 0.25 * large);
    });
  }
}
