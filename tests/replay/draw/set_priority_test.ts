/**
 * `setPriority` finds the picks of the last draw by what that draw knew of them. The priorities must be the same whether
 * or not it finds them. A twin gets the picks in another order, so that, with more than a few picks, it finds none.
 *
 * @module
 */

import {
  type Batch,
  type Column,
  ExperienceReplay,
  float32,
  prioritized,
  rankBased,
  type Selector,
} from "@exrp/replay";
import { RandomStream } from "@exrp/replay/selectors";
import { assert, assertEquals, assertMatch, assertThrows } from "../../_assert.ts";

interface Twin {
  readonly replay: ExperienceReplay<{ state: Column; action: Column; reward: Column }>;
  readonly selectorOf: (index: number) => Selector;
}

async function make(blockLength: number, stride: number): Promise<Twin> {
  const replay = await ExperienceReplay.create({
    capacity: 700,
    state: float32(2),
    action: float32(1),
    pick: { length: 2, stride },
    segmentLength: 60,
    blockLength,
    seed: 5,
  });
  const proportional = replay.newPickSelector(prioritized());
  const ranked = replay.newPickSelector(rankBased());
  return {
    replay: replay as unknown as Twin["replay"],
    selectorOf: (index) => (index === 0 ? proportional : ranked) as Selector,
  };
}

/** Episodes of random length, by three actors in turn. */
function record({ replay }: Twin, random: RandomStream, steps: number): void {
  const episodes = [0, 1, 2].map(() => replay.newEpisode());
  for (let step = 0; step < steps; step++) {
    const actor = Math.floor(3 * random.uniform());
    const finalState = random.uniform() < 0.05 ? new Float32Array(2) : undefined;
    const handle = replay.record(episodes[actor] ?? -1, [step, 1], [2], 3, { finalState });
    episodes[actor] = finalState === undefined ? handle : replay.newEpisode();
  }
}

/** The same for every pick, so that neither order nor repetition matters. */
function priorityOf(episode: number, position: number, round: number): number {
  return (episode * 31 + position * 17 + round * 7) % 23 + 0.5;
}

function update(twin: Twin, selector: number, places: [number, number][], round: number): number {
  const episodes = Float64Array.from(places, ([episode]) => episode);
  const positions = Int32Array.from(places, ([, position]) => position);
  const priorities = Float32Array.from(
    places,
    ([episode, position]) => priorityOf(episode, position, round),
  );
  return twin.replay.setPriority(
    twin.selectorOf(selector),
    episodes,
    positions,
    priorities,
  );
}

function placesOf(batch: Pick<Batch, "pickEpisode" | "pickPosition">): [number, number][] {
  return Array.from(batch.pickEpisode, (
    episode,
    k,
  ) => [episode, batch.pickPosition[k] ?? -1]);
}

Deno.test("setPriority finds the same picks in whatever order they come", async () => {
  const seed = 261123;
  const random = new RandomStream(seed, 0);
  let applied = 0;
  let skipped = 0;
  for (let program = 0; program < 20; program++) {
    const blockLength = [2, 16, 64][program % 3] ?? 16;
    const stride = 1 + program % 2;
    const [one, two] = [await make(blockLength, stride), await make(blockLength, stride)];
    for (let round = 0; round < 30; round++) {
      const recordSeed = Math.floor(2 ** 31 * random.uniform());
      const steps = round === 0 ? 900 : Math.floor(40 * random.uniform());
      for (const twin of [one, two]) record(twin, new RandomStream(recordSeed, 1), steps);
      const size = [1, 5, 64, 130, 300][Math.floor(5 * random.uniform())] ?? 1;
      const selector = Math.floor(2 * random.uniform());
      const drawn = [one, two].map(({ replay, selectorOf }) => {
        const batch = replay.getBatch(size, selectorOf(selector));
        return placesOf(batch);
      });
      assertEquals(drawn[0], drawn[1]);
      const places = drawn[0] ?? [];
      // Sometimes records come and picks go before the update, or another batch is drawn, or half of the picks are others.
      const kind = Math.floor(4 * random.uniform());
      const lateSeed = Math.floor(2 ** 31 * random.uniform());
      for (const twin of [one, two]) {
        if (kind === 1) record(twin, new RandomStream(lateSeed, 1), 200);
        if (kind === 2) {
          twin.replay.getBatch(size, twin.selectorOf(1 - selector));
        }
      }
      if (kind === 3) {
        for (let k = 0; k < places.length; k += 2) places[k] = [places[k]?.[0] ?? 0, 1e6];
      }
      const got = update(one, selector, places, round);
      assertEquals(got, update(two, selector, places.toReversed(), round));
      applied += got;
      skipped += places.length - got;
    }
    for (const k of [0, 1]) {
      const [a, b] = [one, two].map(({ replay, selectorOf }) =>
        replay.getBatch(512, selectorOf(k))
      );
      assertEquals(a?.pickEpisode, b?.pickEpisode);
      assertEquals(a?.pickPosition, b?.pickPosition);
      assertEquals(a?.probability, b?.probability);
      assertEquals(a?.importanceWeight, b?.importanceWeight);
    }
    one.replay[Symbol.dispose]();
    two.replay[Symbol.dispose]();
  }
  assert(applied > 1000 && skipped > 100, `${applied} applied, ${skipped} skipped`);
});

Deno.test("setPriority() of a batch does what its two arrays do, whatever rule draws", async () => {
  using twins = new DisposableStack();
  const [replay, twin] = await Promise.all([0, 1].map(async () => {
    const made = await make(16, 1);
    twins.use(made.replay);
    record(made, new RandomStream(3, 0), 300);
    return made;
  })) as [Twin, Twin];
  for (const index of [0, 1]) {
    const [selector, other] = [replay.selectorOf(index), twin.selectorOf(index)];
    for (let round = 0; round < 5; round++) {
      const batch = replay.replay.getBatch(20, selector);
      const same = twin.replay.getBatch(20, other);
      assertEquals(same.bytes, batch.bytes);
      const errors = Float32Array.from(batch.pickPosition, (position) => position + round + 0.5);
      const { pickEpisode, pickPosition } = same;
      assertEquals(
        replay.replay.setPriority(selector, batch, errors),
        twin.replay.setPriority(other, pickEpisode, pickPosition, errors),
      );
    }
  }
});

Deno.test("setPriority() of a batch refuses what does not go with it, and changes nothing", async () => {
  const twin = await make(16, 1);
  using replay = twin.replay;
  record(twin, new RandomStream(4, 0), 300);
  const selector = twin.selectorOf(0);
  const batch = replay.getBatch(3, selector);
  const before = await replay.serialize();
  const loose = replay.setPriority.bind(replay) as (...values: unknown[]) => number;
  const cases: readonly (readonly [readonly unknown[], RegExp])[] = [
    [[batch, [1, 2]], /priority must have 3 numbers, one for each pick of the batch; got 2$/],
    [
      [batch, new Array(6).fill(1)],
      /got 6 \(for the errors of single rows see sequencePriority\(\)\)$/,
    ],
    [[batch], /priority must be a plain or typed array of numbers, got undefined/],
    [[batch, [1, 2, 3], [1, 2, 3]], /takes a batch and its priorities, got a third array/],
    [[{ ...batch }, [1, 2, 3]], /pickEpisode must be a plain or typed array/],
  ];
  for (const [values, text] of cases) {
    assertMatch((assertThrows(() => loose(selector, ...values)) as Error).message, text);
  }
  batch[Symbol.dispose]();
  const error = assertThrows(() => replay.setPriority(selector, batch, [1, 2, 3])) as Error;
  assertMatch(error.message, /pickEpisode has lost its memory: its batch was handed back/);
  assertEquals(await replay.serialize(), before);
});

Deno.test("setPriority() refuses a batch of another replay or pick view, and changes nothing", async () => {
  const [twin, other] = [await make(16, 1), await make(16, 1)];
  using replay = twin.replay;
  using foreign = other.replay;
  for (const each of [twin, other]) record(each, new RandomStream(4, 0), 50);
  const selector = twin.selectorOf(0);
  const second = replay.newPickView({ length: 3 });
  const ofSecond = second.newPickSelector(prioritized());
  const batch = foreign.getBatch(3, other.selectorOf(0));
  const batchOfSecond = replay.getBatch(3, ofSecond);
  const cases: readonly (readonly [Selector, Batch, RegExp])[] = [
    [selector, batch, /the batch is one of another replay; give it to the replay that drew it$/],
    [
      selector,
      batchOfSecond,
      /one of pick view 1, but the selector prioritized 0 draws from pick view 0/,
    ],
    [ofSecond, replay.getBatch(3, selector), /one of pick view 0, but the selector prioritized 2/],
  ];
  const before = await replay.serialize();
  for (const [given, wrong, text] of cases) {
    assertMatch(
      assertThrows(() => replay.setPriority(given, wrong, [1, 2, 3]), TypeError).message,
      text,
    );
  }
  assertEquals(await replay.serialize(), before);
  // The memory belongs to the replay that drew into it last.
  foreign.getBatch(3, other.selectorOf(0), { into: batch });
  assertEquals(foreign.setPriority(other.selectorOf(0), batch, [1, 2, 3]), 3);
  const swapped = replay.setPriority.bind(replay) as (...values: unknown[]) => number;
  const error = assertThrows(() => swapped(batch, selector, [1, 2, 3]), TypeError);
  assertMatch(error.message, /^setPriority\(\): the selector comes first, got a Batch$/);
});
