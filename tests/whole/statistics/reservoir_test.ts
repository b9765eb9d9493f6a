/**
 * Whether reservoir() keeps each set of episodes as often as any other: a chi-square test, with twins that must fail.
 *
 * @module
 */

import { assertGreater, assertLess } from "../../_assert.ts";
import { reservoir } from "@exrp/replay";
import type { EvictionPolicy, EvictionRule } from "@exrp/replay/eviction";
import { RandomStream } from "@exrp/replay/selectors";
import { recordEpisode, smallReplay } from "../../replay/_helpers.ts";
import { ChiSquare } from "./chi_square.ts";

const SEED = Number(environment("EXRP_STATISTICS_SEED") ?? 20_261_121);

/** A result with a smaller probability than this is a failure. The twins must be far below it. */
const TAIL_MIN = 1e-4;
const TWIN_TAIL_MAX = 1e-9;

/** The capacity in episodes, with the one being recorded, and the number of episodes that end before it. */
const [ROOM, ENDED, ROUNDS] = [4, 7, 40_000];

function environment(name: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable: name });
  return state === "granted" ? Deno.env.get(name) : undefined;
}

/** How often each set of episodes was what was left of seven, while the eighth is recorded. */
async function countSets(eviction: EvictionRule, length: number): Promise<Map<string, number>> {
  using replay = await smallReplay({ capacity: ROOM * length, eviction, seed: SEED });
  const counts = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    const first = recordEpisode(replay, length);
    for (let k = 1; k < ENDED; k++) recordEpisode(replay, length);
    replay.record(replay.newEpisode(), [0], 0, 0);
    const handles = [...replay.episodes().handle];
    const kept = handles.slice(0, -1).map((handle) => handle - first).join();
    counts.set(kept, (counts.get(kept) ?? 0) + 1);
    for (const handle of handles) replay.evict(handle);
  }
  return counts;
}

/** All sets of three of seven: 35. */
function allSets(): string[] {
  const sets: string[] = [];
  for (let a = 0; a < ENDED; a++) {
    for (let b = a + 1; b < ENDED; b++) {
      for (let c = b + 1; c < ENDED; c++) sets.push([a, b, c].join());
    }
  }
  return sets;
}

function tailOf(counts: ReadonlyMap<string, number>, weights: readonly number[]): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const test = new ChiSquare();
  test.add(
    allSets().map((set) => counts.get(set) ?? 0),
    weights.map((weight) => ROUNDS * weight / total),
  );
  return test.tail;
}

/** The usual mistake: any stored episode goes, so that the old ones grow fewer and fewer. */
function anyGoes(): EvictionPolicy {
  const random = new RandomStream(SEED);
  let handles: number[] = [];
  return {
    name: "anyGoes",
    created: (handle) => void handles.push(handle),
    removed: (handle) => void (handles = handles.filter((other) => other !== handle)),
    // The last is the one that is being recorded.
    victim: () => handles[random.below(Math.max(1, handles.length - 1))] ?? -1,
  };
}

for (const length of [1, 3]) {
  Deno.test(`reservoir() keeps any three of seven episodes of ${length} records equally often (seed ${SEED})`, async () => {
    const counts = await countSets(reservoir(), length);
    const tail = tailOf(counts, allSets().map(() => 1));
    assertGreater(tail, TAIL_MIN, `seed ${SEED}: the tail is ${tail}`);
    // A twin that keeps the first episode a fifth more often than the others.
    const tilted = tailOf(counts, allSets().map((set) => set.startsWith("0") ? 1.2 : 1));
    assertLess(tilted, TWIN_TAIL_MAX, `seed ${SEED}: the twin's tail is ${tilted}`);
    const wrong = tailOf(await countSets(anyGoes(), length), allSets().map(() => 1));
    assertLess(wrong, TWIN_TAIL_MAX, `seed ${SEED}: the tail of anyGoes is ${wrong}`);
  });
}
