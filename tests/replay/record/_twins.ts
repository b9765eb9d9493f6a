/** Two replays with equal fates, of which one is recorded into by many calls and the other by one. */
import {
  afterDraws,
  bool,
  type Column,
  ExperienceReplay,
  fifo,
  float32,
  int16,
  lfu,
  lowestPriorityFirst,
  lru,
  prioritized,
  reservoir,
  secondChance,
  ucb,
} from "@exrp/replay";
import type { EvictionRule } from "@exrp/replay/eviction";
import type { PickSelector } from "@exrp/replay/selectors";
import { assert, assertEquals } from "../../_assert.ts";
import { testRandom } from "../_helpers.ts";
import { youngestButOne } from "./_record_helpers.ts";

/** A user's selector that says all it was told. */
export function listener(): PickSelector & { readonly heard: string[] } {
  const heard: string[] = [];
  return {
    heard,
    name: "listener",
    pushed: (index) => void heard.push(`+${index}`),
    moved: (from, to) => void heard.push(`${from}>${to}`),
    popped: (index) => void heard.push(`-${index}`),
    setPriority: () => {},
    select: (count, out) => {
      for (let k = 0; k < count; k++) [out.index[k], out.probability[k]] = [0, 1];
    },
    save: () => new TextEncoder().encode(heard.join()),
    load: () => {},
  };
}

const EVICTIONS: readonly (() => EvictionRule)[] = [
  fifo,
  secondChance,
  lru,
  lfu,
  youngestButOne,
  lowestPriorityFirst,
  () => afterDraws(2),
  reservoir,
];

/** A replay of the pair. */
export type Twin = ExperienceReplay<
  {
    state: Column<"float32", [3]>;
    action: Column<"int16", []>;
    extras: { mask: Column<"bool", [2]> };
  }
>;

/** The pair, and what decides its fate. */
export interface Twins {
  readonly one: Twin;
  readonly many: Twin;
  readonly random: (bound: number) => number;
  readonly capacity: number;
}

/** Two replays with equal fates so far, of a configuration made from the seed. */
export async function twins(seed: number): Promise<Twins> {
  const random = testRandom(seed);
  const length = 1 + random(5);
  const capacity = length + 5 + random(60);
  const eviction = EVICTIONS[seed % EVICTIONS.length] ?? fifo;
  const segmentLength = length + random(capacity - length + 1);
  const pick = { length, allowShort: random(2) === 0, allowOpenEnd: random(2) === 0 };
  const blockLength = 2 ** (1 + random(4));
  const make = async (): Promise<Twin> => {
    const replay = await ExperienceReplay.create({
      capacity,
      segmentLength,
      blockLength,
      pick,
      state: float32(3),
      action: int16(),
      extras: { mask: bool(2) },
      eviction: eviction(),
      seed,
    });
    replay.newPickSelector(prioritized());
    replay.newPickSelector(ucb());
    if (seed % 3 === 0) replay.newPickSelector(listener());
    return replay;
  };
  return { one: await make(), many: await make(), random, capacity };
}

/** Draws and sets priorities on both alike, so that clocks and priorities move; draws must be equal. */
export function draw(one: Twin, many: Twin, random: (bound: number) => number): void {
  if (one.pickCount === 0) return;
  for (const [k, selector] of one.selectors.entries()) {
    const [twin] = many.selectors.slice(k, k + 1);
    assert(twin);
    const [a, b] = [one.getBatch(5, selector), many.getBatch(5, twin)];
    assertEquals(a.bytes, b.bytes);
    const priorities = Float64Array.from({ length: 5 }, () => random(100) / 10);
    one.setPriority(selector, a.pickEpisode, a.pickPosition, priorities);
    many.setPriority(twin, b.pickEpisode, b.pickPosition, priorities);
  }
}

/** Random whole numbers below `bound`. */
export function numbers(
  count: number,
  random: (bound: number) => number,
  bound: number,
): number[] {
  return Array.from({ length: count }, () => random(bound));
}
