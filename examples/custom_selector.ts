/**
 * Your own selector, in plain TypeScript: each draw halves a pick's chance, and a large priority restores it.
 *
 * Run it: `deno run --allow-ffi=zig-out/lib examples/custom_selector.ts`
 *
 * @module
 */

import { ExperienceReplay, float32 } from "@exrp/replay";
import type { PickSelector, RandomStream, Selection } from "@exrp/replay/selectors";

/** How many times a chance is halved at most. */
const LEVEL_MAX = 10;

/**
 * Draws picks in proportion to 2^-level. A new pick has level 0. Each draw adds one, and a priority of 1 or more brings it back to 0.
 * Picks of one level are equal. So a draw chooses a level, and then any pick of it: O(levels).
 */
export class Halving implements PickSelector {
  readonly name = "halving";
  readonly weighted = true;
  /** The picks of each level, in any order. */
  readonly #members: number[][] = Array.from({ length: LEVEL_MAX + 1 }, () => []);
  /** The level of each pick, and its place among the members of that level. */
  readonly #level: number[] = [];
  readonly #place: number[] = [];

  pushed(index: number): void {
    this.#add(index, 0);
  }

  moved(from: number, to: number): void {
    const level = this.#level[from] ?? 0;
    this.#remove(to);
    this.#add(to, level);
  }

  popped(index: number): void {
    this.#remove(index);
    this.#level.pop();
    this.#place.pop();
  }

  setPriority(indices: Uint32Array, priorities: Float64Array): void {
    for (const [k, index] of indices.entries()) {
      if ((priorities[k] ?? 0) < 1) continue;
      this.#remove(index);
      this.#add(index, 0);
    }
  }

  select(count: number, out: Selection, random: RandomStream): void {
    const total = this.#members.reduce((sum, { length }, level) => sum + length * 2 ** -level, 0);
    for (let k = 0; k < count; k++) {
      let rest = random.uniform() * total;
      let level = 0;
      for (const [candidate, { length }] of this.#members.entries()) {
        if (length === 0) continue;
        level = candidate;
        rest -= length * 2 ** -candidate;
        if (rest < 0) break;
      }
      const members = this.#members[level] ?? [];
      out.index[k] = members[random.below(members.length)] ?? 0;
      out.probability[k] = 2 ** -level / total;
    }
    for (const index of out.index) {
      const level = Math.min((this.#level[index] ?? 0) + 1, LEVEL_MAX);
      this.#remove(index);
      this.#add(index, level);
    }
  }

  /** For each level the number of its members, then the members. Their order decides draws, so it is saved too. */
  save(): Uint8Array {
    const words = this.#members.flatMap((members) => [members.length, ...members]);
    return new Uint8Array(new Uint32Array(words).buffer);
  }

  load(bytes: Uint8Array): void {
    const words = [...new Uint32Array(bytes.slice().buffer)];
    const count = this.#level.length;
    const levels = this.#members.map(() => words.splice(0, 1 + (words[0] ?? 0)).slice(1));
    const all = levels.flat().sort((a, b) => a - b);
    if (words.length > 0 || all.length !== count || all.some((index, k) => index !== k)) {
      throw new RangeError(`these bytes do not name ${count} picks once each`);
    }
    for (const members of this.#members) members.length = 0;
    for (const [level, members] of levels.entries()) {
      for (const index of members) this.#add(index, level);
    }
  }

  #add(index: number, level: number): void {
    const members = this.#members[level] ?? [];
    this.#level[index] = level;
    this.#place[index] = members.length;
    members.push(index);
  }

  #remove(index: number): void {
    const members = this.#members[this.#level[index] ?? 0] ?? [];
    const last = members.pop();
    if (last === undefined || last === index) return;
    const place = this.#place[index] ?? 0;
    members[place] = last;
    this.#place[last] = place;
  }
}

if (import.meta.main) {
  using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(1), seed: 3 });
  const selector = replay.newPickSelector(new Halving());
  let episode = replay.newEpisode();
  for (let step = 0; step < 99; step++) episode = replay.record(episode, [step], 0, 0);
  replay.record(episode, [99], 0, 0, { finalState: [100] });

  const drawn = new Array<number>(100).fill(0);
  for (let round = 0; round < 100; round++) {
    for (const step of replay.getBatch(10, selector).state) drawn[step] = (drawn[step] ?? 0) + 1;
  }
  console.log(`1000 draws of 100 picks: each ${Math.min(...drawn)} to ${Math.max(...drawn)} times`);

  // A priority of 1 or more makes a pick fresh again.
  replay.setPriority(selector, [episode], [42], [1]);
  const chance = replay.getBatch(1000, selector).state.filter((step) => step === 42).length / 1000;
  console.log(`pick 42, made fresh: ${(100 * chance).toFixed(0)} % of the next batch`);
}
