/**
 * A replay whose state has several leaves does what replays of one leaf each do, side by side: the same random program gives the same batches,
 * leaf by leaf.
 *
 * @module
 */

import {
  type Column,
  type ExperienceReplay,
  ExperienceReplay as Replay,
  float32,
  int16,
  type PickOptions,
  prioritized,
  uint8,
  uniform,
} from "@exrp/replay";
import { assertEquals } from "../../_assert.ts";
import { testRandom } from "../../replay/_helpers.ts";

type Random = (bound: number) => number;

/** What one of the leaves is, and what it has for itself. */
interface Leaf {
  readonly column: Column;
  readonly stack: number | undefined;
  readonly stackCompact: boolean | undefined;
  readonly nextState: "copy" | "overlap" | false | undefined;
}

const COLUMNS = [uint8(3), float32(), int16(2, 2), float32(60), uint8()];

/** The value of a leaf at a time of an episode: all leaves tell the same time. */
function valuesOf({ column }: Leaf, time: number): number[] {
  return Array.from({ length: column.elementCount }, (_, k) => (time + k) % 100);
}

/** The ways to put together one to three leaves, each with the values in the order of the leaves. */
const SHAPES: readonly ((of: readonly unknown[]) => unknown)[] = [
  ({ length, 0: a, 1: b, 2: c }) =>
    length === 3 ? { a, inner: { b, c } } : length === 2 ? { a, b } : { a },
  ({ length, 0: a, 1: b, 2: c }) => length === 3 ? [a, { b, c }] : length === 2 ? [a, b] : [a],
  ({ length, 0: a, 1: b, 2: c }) =>
    length === 3 ? { inner: [a, b], c } : length === 2 ? [[a], { b }] : [[a]],
];

function leafOf(random: Random, hasNStep: boolean, isReversed: boolean): Leaf {
  const column = COLUMNS[random(COLUMNS.length)] as Column;
  const stackCompact = !isReversed && random(3) === 0 ? true : undefined;
  const modes = [
    ...stackCompact ? [] : ["copy" as const],
    ...isReversed ? [] : ["overlap" as const],
    ...hasNStep ? [] : [false as const],
    undefined,
  ];
  const stack = random(2) === 0 ? undefined : 1 + random(3);
  return { column, stack, stackCompact, nextState: modes[random(modes.length)] };
}

/** Options of picks that all leaves share. */
function sharedOptions(random: Random): PickOptions {
  const isReversed = random(5) === 0;
  return {
    length: 1 + random(3),
    discount: 0.9,
    ...isReversed ? { reversed: true } : { burnIn: random(3), allowOpenEnd: random(2) === 0 },
    ...random(2) === 0 ? { nStep: [1, 3].slice(random(2)) } : {},
    ...random(2) === 0 ? { stackPadding: "zeros" as const } : {},
    allowShort: random(2) === 0,
    ends: random(2) === 0,
  };
}

/** Options of one leaf, without what is left out. */
function ownOptions({ stack, stackCompact, nextState }: Leaf): PickOptions {
  return {
    ...stack === undefined ? {} : { stack },
    ...stackCompact === undefined ? {} : { stackCompact },
    ...nextState === undefined ? {} : { nextState },
  };
}

/** A replay of any state. */
// deno-lint-ignore no-explicit-any -- the structure of the state is random
type Any = any;

/** A replay of several leaves, and one of each leaf. */
class Twins {
  readonly whole: ExperienceReplay;
  readonly parts: readonly ExperienceReplay[];
  readonly leaves: readonly Leaf[];
  readonly put: (of: readonly unknown[]) => unknown;

  private constructor(
    whole: ExperienceReplay,
    parts: readonly ExperienceReplay[],
    leaves: readonly Leaf[],
    put: (of: readonly unknown[]) => unknown,
  ) {
    this.whole = whole;
    this.parts = parts;
    this.leaves = leaves;
    this.put = put;
  }

  static async make(random: Random): Promise<Twins> {
    const shared = sharedOptions(random);
    const count = 1 + random(3);
    const leaves = Array.from(
      { length: count },
      () => leafOf(random, shared.nStep !== undefined, shared.reversed === true),
    );
    const put = SHAPES[random(SHAPES.length)] as (of: readonly unknown[]) => unknown;
    const own = (name: "stack" | "stackCompact" | "nextState"): unknown =>
      leaves.every((leaf) => leaf[name] === undefined)
        ? undefined
        : put(leaves.map((leaf) => leaf[name]));
    const same = {
      capacity: 40,
      seed: random(1000),
      keepNextState: random(2) === 0,
      extras: { extra: float32() },
    };
    const pick: Any = { ...shared };
    for (const name of ["stack", "stackCompact", "nextState"] as const) {
      const option = own(name);
      if (option !== undefined) pick[name] = option;
    }
    const whole: Any = await Replay.create({
      ...same,
      state: put(leaves.map(({ column }) => column)) as Column,
      pick,
    });
    const parts: Any[] = [];
    for (const leaf of leaves) {
      parts.push(
        await Replay.create({
          ...same,
          state: leaf.column,
          pick: { ...shared, ...ownOptions(leaf) } as Any,
        }),
      );
    }
    return new Twins(whole, parts, leaves, put);
  }

  /** Makes the same call of all replays, and gives what each returned. */
  call<T>(run: (replay: Any, state: (values: (leaf: Leaf) => unknown) => unknown) => T): T[] {
    const whole = run(this.whole, (values) => this.put(this.leaves.map(values)));
    const parts = this.parts.map((replay, k) =>
      run(replay, (values) => values(this.leaves[k] as Leaf))
    );
    return [whole, ...parts];
  }

  /** Compares what the replays gave: arrays of states leaf by leaf, all else as it is. */
  compare(results: readonly Any[], names: readonly string[], states: readonly string[]): void {
    const [whole, ...parts] = results;
    for (const name of names) {
      for (const part of parts) assertEquals(whole[name], part[name], name);
    }
    for (const name of states) {
      assertEquals(whole[name], this.put(parts.map((part) => part[name])), name);
    }
  }
}

/** The value of a leaf where the replay takes one step, and of many where it takes many. */
function one(leaf: Leaf, time: number): unknown {
  const values = valuesOf(leaf, time);
  return leaf.column.shape.length === 0 ? values[0] : values;
}
function many(leaf: Leaf, times: readonly number[]): number[] {
  return times.flatMap((time) => valuesOf(leaf, time));
}

const RECORDED = ["size", "action", "reward", "extras", "handle", "ending", "firstPosition"];
const DRAWN = [
  ...["size", "length", "action", "reward", "extras", "seqLen", "nextSeqLen", "pickEpisode"],
  ...["pickPosition", "probability", "importanceWeight", "discount", "learnMask"],
  ...["contextMask", "terminated", "truncated"],
];

/** One random program. */
async function program(seed: number): Promise<void> {
  const random = testRandom(seed);
  const twins = await Twins.make(random);
  const { whole, parts } = twins;
  let time = random(50);
  let episode = twins.call((replay) => replay.newEpisode())[0] as number;
  const environments = twins.call((replay) =>
    Float64Array.from({ length: 2 }, () => replay.newEpisode())
  );
  const selectors = [whole, ...parts].map((replay) => [
    replay.newPickSelector(uniform()),
    replay.newPickSelector(prioritized()),
  ]);
  const extras = { extra: 7 };
  for (let step = 0; step < 60; step++) {
    const operation = random(9);
    const count = 1 + random(4);
    const times = Array.from({ length: count }, (_, k) => time + k);
    const numbers = times.map((each) => each % 10);
    const isEnd = random(3) === 0;
    const truncated = random(2) === 0;
    if (operation <= 1) {
      const end = isEnd ? { truncated } : {};
      [episode = 0] = twins.call<number>((replay, state) =>
        replay.record(episode, state((leaf) => one(leaf, time)), 1, 2, {
          extras,
          ...end,
          ...isEnd ? { finalState: state((leaf) => one(leaf, time + 1)) } : {},
        })
      );
      if (isEnd) [episode = 0] = twins.call<number>((replay) => replay.newEpisode());
    } else if (operation === 2) {
      [episode = 0] = twins.call<number>((replay, state) =>
        replay.recordMany(episode, {
          state: state((leaf) => many(leaf, times)),
          action: numbers,
          reward: numbers,
          extras: { extra: numbers },
          ...isEnd ? { finalState: state((leaf) => one(leaf, time + count)) } : {},
        })
      );
      if (isEnd) [episode = 0] = twins.call<number>((replay) => replay.newEpisode());
    } else if (operation === 3) {
      const flags = times.map(() => random(3) === 0);
      const nextState = random(2) === 0 || flags.includes(true);
      [episode = 0] = twins.call<number>((replay, state) =>
        replay.recordFlat(episode, {
          state: state((leaf) => many(leaf, times)),
          action: numbers,
          reward: numbers,
          extras: { extra: numbers },
          terminated: flags,
          ...nextState
            ? { nextState: state((leaf) => many(leaf, times.map((each) => each + 1))) }
            : {},
        }).episode
      );
    } else if (operation === 4) {
      const flags = [random(4) === 0, random(4) === 0];
      for (const [k, replay] of [whole, ...parts].entries()) {
        const state = (of: (leaf: Leaf) => unknown): unknown =>
          k === 0 ? twins.put(twins.leaves.map(of)) : of(twins.leaves[k - 1] as Leaf);
        (replay as Any).recordBatch(environments[k], {
          state: state((leaf) => many(leaf, [time, time + 5])),
          action: [1, 2],
          reward: [3, 4],
          extras: { extra: [5, 6] },
          nextState: state((leaf) => many(leaf, [time + 1, time + 6])),
          terminated: flags,
        });
      }
    } else if (operation === 5) {
      [episode = 0] = twins.call<number>((replay, state) =>
        replay.recordStep(episode, {
          state: state((leaf) => one(leaf, time)),
          action: 1,
          reward: 2,
          extras,
          nextState: state((leaf) => one(leaf, time + 1)),
          terminated: isEnd,
        })
      );
    } else if (operation === 6 && (whole.episode(episode).recordCount > 0)) {
      twins.call((replay, state) =>
        replay.endEpisode(episode, { finalState: state((leaf) => one(leaf, time)), truncated })
      );
      [episode = 0] = twins.call<number>((replay) => replay.newEpisode());
    } else if (operation === 7) {
      const steps = twins.call((replay) => replay.drain({ minSteps: count, keep: true }));
      const names = ["size", "action", "reward", "discount", "seqLen", "episode", "actor", "lost"];
      twins.compare(steps, names, ["state", "lastNextState", "nextState"]);
      const order = steps.map((each: Any) => [...each.minibatches(3, { seed: 5 })].map(copyOf));
      for (const k of (order[0] as Any[]).keys()) {
        twins.compare(order.map((each: Any) => each[k]), ["size", "index", "action"], ["state"]);
      }
    } else if (operation === 8 && whole.episode(episode).recordCount > 0) {
      const { firstPosition } = whole.episode(episode);
      const counts = twins.call((replay, state) =>
        replay.update([episode], [firstPosition], {
          state: state((leaf) => valuesOf(leaf, 90)),
          reward: [5],
        })
      );
      assertEquals(new Set(counts).size, 1);
    }
    time += count;
    // A pick goes with the oldest frame that one of its leaves shows, so a replay of another leaf has it longer.
    const stacks = new Set(twins.leaves.map(({ stack = 1 }) => stack));
    if (stacks.size > 1 && whole.episodes().firstPosition.some((first) => first > 0)) break;
    for (const which of [0, 1]) {
      if (whole.pickCount === 0) continue;
      const batches = [whole, ...parts].map((replay, k) =>
        replay.getBatch(3, selectors[k]?.[which] as Any) as Any
      );
      twins.compare(batches, DRAWN, ["state", "nextState"]);
      twins.compare(batches.map(({ shape }) => shape), ["action", "extras"], [
        "state",
        "nextState",
      ]);
      for (const n of batches[0].nStep.keys()) {
        const found = batches.map((batch) => batch.nStep[n]);
        twins.compare(found, ["n", "reward", "discount"], ["nextState"]);
        twins.compare(found.map(({ shape }) => shape), ["reward"], ["nextState"]);
      }
    }
    for (const handle of whole.episodes().handle) {
      const records = twins.call((replay) => replay.episodeRecords(handle)) as Any[];
      const ended = records[0].finalState !== undefined;
      twins.compare(records, RECORDED, ended ? ["state", "finalState"] : ["state"]);
    }
    if (step === 40) {
      const again = await Promise.all([whole, ...parts].map((replay) => replay.serialize()));
      for (const [k, replay] of [whole, ...parts].entries()) {
        await replay.unserialize(again[k] as Uint8Array<ArrayBuffer>);
      }
    }
  }
  for (const replay of [whole, ...parts]) replay[Symbol.dispose]();
}

/** A minibatch whose arrays the next one does not use again. */
function copyOf(batch: Any): Any {
  return structuredClone({
    size: batch.size,
    index: batch.index,
    action: batch.action,
    state: batch.state,
  });
}

Deno.test("a state of several leaves is as a state of each leaf by itself", async () => {
  for (let seed = 0; seed < 60; seed++) {
    try {
      await program(seed);
    } catch (cause) {
      throw new Error(`seed ${seed}`, { cause });
    }
  }
});
