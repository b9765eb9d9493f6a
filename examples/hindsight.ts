/**
 * An agent flips bits until they match a goal, and hears only whether they match. The paper on hindsight experience replay starts with
 * this task. By chance, 15 bits match once in 32,768 times, so a learner that replays its own steps sees almost no success. With
 * hindsight, the bits that it reached become its goal, and it learns what each flip does.
 *
 * The learner is Q-learning on a linear function of which bits differ, with 16 weights for each action.
 *
 * Run it: `deno run --allow-ffi=zig-out/lib examples/hindsight.ts`
 *
 * @module
 */

import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
import { BitFlip } from "@exrp/replay/envs";
import { RandomStream } from "@exrp/replay/selectors";

const BITS = 15;
const EPISODES = 600;
const UPDATES_PER_EPISODE = 4;
const GAMMA = 0.9;

type Bits = Uint8Array<ArrayBuffer>;

/** One number for each action: the value of flipping that bit. */
class Flips {
  readonly #weights = new Float64Array(BITS * (BITS + 1));
  readonly #values = new Float64Array(BITS);

  /** The values of all flips, for `bits` and `goal` from element `at` on. The array is valid until the next call. */
  values(bits: Bits, goal: Bits, at = 0): Float64Array {
    for (let action = 0; action < BITS; action++) {
      const first = action * (BITS + 1);
      let sum = this.#weights[first + BITS] ?? 0;
      for (let k = 0; k < BITS; k++) {
        const weight = this.#weights[first + k] ?? 0;
        sum += bits[at + k] === goal[at + k] ? weight : -weight;
      }
      this.#values[action] = sum;
    }
    return this.#values;
  }

  /** Moves the value of one flip by `error` times the rate. */
  learn(bits: Bits, goal: Bits, at: number, action: number, error: number): void {
    const first = action * (BITS + 1);
    const step = 0.3 * error / (BITS + 1);
    for (let k = 0; k < BITS; k++) {
      const own = bits[at + k] === goal[at + k] ? step : -step;
      this.#weights[first + k] = (this.#weights[first + k] ?? 0) + own;
    }
    this.#weights[first + BITS] = (this.#weights[first + BITS] ?? 0) + step;
  }
}

function best(values: Float64Array): number {
  let at = 0;
  for (const [k, value] of values.entries()) if (value > (values[at] ?? 0)) at = k;
  return at;
}

function same(a: Bits, b: Bits, at: number): boolean {
  for (let k = at; k < at + BITS; k++) if (a[k] !== b[k]) return false;
  return true;
}

/** Learns from `EPISODES` episodes of at most `BITS` flips. Returns the share of 200 tries that then succeed. */
async function train(share: number, seed: number): Promise<number> {
  using replay = await ExperienceReplay.create({
    capacity: 20_000, // records
    state: uint8(BITS),
    extras: { achieved: uint8(BITS), desired: uint8(BITS) },
    pick: { discount: GAMMA },
    seed,
  });
  const selector = replay.newPickSelector(uniform());
  const hindsight = replay.newHindsight({
    achieved: "achieved",
    desired: "desired",
    strategy: "future",
    share,
    reward: (achieved, desired, { count }) => {
      const reached = Array.from({ length: count }, (_, k) => same(achieved, desired, k * BITS));
      return { reward: reached.map((yes) => yes ? 0 : -1), terminated: reached };
    },
  });
  const environment = new BitFlip({ bitCount: BITS, seed });
  const random = new RandomStream(seed, 1);
  const flips = new Flips();

  /** Plays an episode, and records it if `records` says so. Returns whether it reached the goal. */
  const play = (explore: number, records: boolean): boolean => {
    let bits = environment.reset();
    const { goal } = environment;
    let episode = records ? replay.newEpisode() : -1;
    while (true) {
      const action = random.uniform() < explore
        ? random.below(BITS)
        : best(flips.values(bits, goal));
      const { state: next, reward, terminated, truncated } = environment.step(action);
      const isOver = terminated || truncated;
      if (records) {
        episode = replay.record(episode, bits, action, reward, {
          extras: { achieved: next, desired: goal }, // the goal it reached, and the goal it had
          ...(isOver ? { finalState: next, truncated } : {}),
        });
      }
      if (isOver) return terminated;
      bits = next;
    }
  };

  for (let episode = 0; episode < EPISODES; episode++) {
    play(0.2, true);
    for (let update = 0; update < UPDATES_PER_EPISODE; update++) {
      const batch = replay.getBatch(64, selector);
      hindsight.relabel(batch);
      const { state, nextState, extras: { desired }, reward, discount, action } = batch;
      for (let k = 0; k < batch.size; k++) {
        const at = k * BITS;
        const gamma = discount[k] ?? 0;
        const later = gamma === 0 ? 0 : gamma * Math.max(...flips.values(nextState, desired, at));
        const flip = action[k] ?? 0;
        const error = (reward[k] ?? 0) + later - (flips.values(state, desired, at)[flip] ?? 0);
        flips.learn(state, desired, at, flip, error);
      }
    }
  }
  let successes = 0;
  for (let attempt = 0; attempt < 200; attempt++) successes += play(0, false) ? 1 : 0;
  return successes / 200;
}

const plain: number[] = [];
const told: number[] = [];
for (let seed = 1; seed <= 3; seed++) {
  plain.push(await train(0, seed));
  told.push(await train(0.8, seed));
}
const percent = (shares: number[]): string => shares.map((share) => `${100 * share} %`).join(", ");
console.log(`without hindsight: ${percent(plain)} of 200 tries succeed (seeds 1 to 3)`);
console.log(`with hindsight:    ${percent(told)}`);
if (Math.max(...plain) > 0.1 || Math.min(...told) < 0.95) {
  throw new Error("hindsight made no difference");
}
