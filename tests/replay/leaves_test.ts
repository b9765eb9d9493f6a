/**
 * States of several leaves: what is refused, what TypeScript knows, and the calls that change or relabel one leaf.
 *
 * @module
 */

import {
  type Batch,
  type Column,
  ExperienceReplay,
  float32,
  prioritized,
  type Selector,
  spaceColumns,
  uint8,
  uniform,
} from "@exrp/replay";
import { assertEquals, assertInstanceOf, assertMatch, assertThrows } from "../_assert.ts";
import { native } from "../_native.ts";
import { assertReplayRejects, visibleState } from "./_helpers.ts";

const STATE = { image: uint8(2), camera: { left: float32(), right: float32(3) } };

/** An error of this class, with this text. */
type Kind = typeof TypeError | typeof RangeError | typeof Error;

function refuses(call: () => unknown, kind: Kind, text: RegExp): void {
  const error = assertThrows(call);
  assertInstanceOf(error, kind);
  assertMatch(error.message, text);
}

async function rejects(call: () => Promise<unknown>, kind: Kind, text: RegExp): Promise<void> {
  let error: unknown;
  await call().catch((thrown) => error = thrown);
  refuses(
    () => {
      throw error;
    },
    kind,
    text,
  );
}

/** A state that tells its time. */
function at(time: number): { image: number[]; camera: { left: number; right: number[] } } {
  return { image: [time, time], camera: { left: time, right: [time, time, time] } };
}

Deno.test("a batch, its shapes and its next states have the structure of the state, and TypeScript knows it", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 100,
    state: STATE,
    pick: { stack: { image: 4 }, nStep: 2, nextState: { image: "copy", camera: { right: false } } },
    seed: 1,
  });
  let episode = replay.newEpisode();
  for (let time = 0; time < 4; time++) episode = replay.record(episode, at(time), 0, 1);
  replay.record(episode, at(4), 0, 1, { finalState: at(5) });
  const batch = replay.getBatch(2, replay.newPickSelector(uniform()));
  const image: Uint8Array<ArrayBuffer> = batch.state.image;
  const left: Float32Array<ArrayBuffer> = batch.state.camera.left;
  const next: Float32Array<ArrayBuffer> = batch.nStep[0].nextState.camera.left;
  const stacked: readonly [number, number, 4, 2] = batch.shape.state.image;
  const plain: readonly [number, number, 3] = batch.shape.state.camera.right;
  // @ts-expect-error: there is no such leaf.
  assertEquals(batch.state.speed, undefined);
  // @ts-expect-error: a leaf is no array of all.
  assertEquals(batch.state.length, undefined);
  assertEquals([stacked, plain], [[2, 1, 4, 2], [2, 1, 3]]);
  assertEquals(batch.shape.nextState, {
    image: [2, 1, 4, 2],
    camera: { left: [2, 0], right: [2, 0, 3] },
  });
  assertEquals(batch.nStep[0].shape.nextState.camera, { left: [2, 1], right: [2, 0, 3] });
  for (const [k, position] of batch.pickPosition.entries()) {
    const frames = [3, 2, 1, 0].map((back) => Math.max(0, position - back));
    assertEquals([...image.subarray(8 * k, 8 * k + 8)], frames.flatMap((each) => [each, each]));
    assertEquals([left[k], next[k]], [position, Math.min(5, position + 2)]);
  }
  assertEquals(batch.nStep[0].nextState.camera.right.length, 0);
  assertEquals(replay.pickViews[0].policy.stack, { image: 4, camera: { left: 1, right: 1 } });
  assertEquals(Object.isFrozen(batch.state.camera), true);
});

Deno.test("a list of leaves is a tuple for TypeScript", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 9,
    state: [uint8(2), { speed: float32() }],
    pick: { stack: [2] },
  });
  const steps = replay.newEpisode();
  replay.record(steps, [[1, 2], { speed: 3 }], 0, 0, { finalState: [[3, 4], { speed: 5 }] });
  const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
  const bytes: Uint8Array<ArrayBuffer> = batch.state[0];
  const speed: Float32Array<ArrayBuffer> = batch.nextState[1].speed;
  const shape: readonly [number, number, 2, 2] = batch.shape.state[0];
  assertEquals([[...bytes], [...speed], shape], [[1, 2, 1, 2], [5], [1, 1, 2, 2]]);
  refuses(
    // @ts-expect-error: the speed is missing.
    () => replay.record(steps, [[1, 2]], 0, 0),
    TypeError,
    /state must be a list of 2 parts, got 1$/,
  );
});

Deno.test("a batch of leaves is a batch of any replay, and a view of any replay reads it", async () => {
  using replay = await ExperienceReplay.create({ capacity: 9, state: STATE });
  const any: ExperienceReplay = replay;
  const selector: Selector = replay.newPickSelector(prioritized());
  replay.record(replay.newEpisode(), at(1), 0, 0, { finalState: at(2) });
  const batch: Batch = any.getBatch(1, selector);
  assertEquals(batch.state.image.length, 2);
  assertEquals(replay.getPriority(selector, batch).length, 1);
  // @ts-expect-error: a replay of any schema is none of this one.
  const _narrow: ExperienceReplay<{ state: { image: typeof STATE.image } }> = any;
  // @ts-expect-error: the image has another shape.
  const _other: ExperienceReplay<{ state: { image: Column<"uint8", [3]> } }> = replay;
});

Deno.test("a wrong leaf is refused by its name, and nothing has changed", async () => {
  using replay = await ExperienceReplay.create({ capacity: 9, state: STATE, checkFinite: true });
  const episode = replay.newEpisode();
  replay.record(episode, at(0), 0, 0);
  const before = visibleState(replay);
  const { camera, image } = at(1);
  const many = { image: [1, 2, 3, 4], camera: { left: [1, 2], right: [1, 2, 3, 4, 5, 6] } };
  const rest = { action: [0, 0], reward: [0, 0] };
  const refused: readonly (readonly [() => unknown, RegExp])[] = [
    [
      // @ts-expect-error: the camera is missing.
      () => replay.record(episode, { image }, 0, 0),
      /^record\(\): state\.camera must be an object with left, right, got undefined$/,
    ],
    [
      // @ts-expect-error: a leaf is missing.
      () => replay.record(episode, { image, camera: { right: [1, 2, 3] } }, 0, 0),
      /^record\(\): state\.camera\.left must be a number .* got undefined$/,
    ],
    [
      // @ts-expect-error: there is no such leaf.
      () => replay.record(episode, { image, camera, imagee: 1 }, 0, 0),
      /^record\(\): state has no part "imagee"; did you mean image\?/,
    ],
    [
      // @ts-expect-error: the state is no array.
      () => replay.record(episode, [1, 2], 0, 0),
      /^record\(\): state must be an object with image, camera, got Array\(2\)$/,
    ],
    [
      // @ts-expect-error: the state is no array.
      () => replay.record(episode, new Uint8Array(2), 0, 0),
      /^record\(\): state must be an object with image, camera, got Uint8Array\(2\)$/,
    ],
    [
      () => replay.record(episode, { image: [1, 2, 3], camera }, 0, 0),
      /^record\(\): state\.image is uint8\(2\) and takes 2 values, got 3$/,
    ],
    [
      () => replay.record(episode, { image: [1, 256], camera }, 0, 0),
      /^record\(\): state\.image\[1\] must be an integer from 0 to 255/,
    ],
    [
      () => replay.record(episode, { image, camera: { left: NaN, right: [1, 2, 3] } }, 0, 0),
      /^record\(\): state\.camera\.left is NaN as float32/,
    ],
    [
      () => replay.record(episode, at(1), 0, 0, { finalState: { ...at(1), image: [1] } }),
      /^record\(\): finalState\.image is uint8\(2\) and takes 2 values, got 1$/,
    ],
    [
      () => replay.endEpisode(episode, { finalState: { ...at(1), image: [1] } }),
      /^endEpisode\(\): finalState\.image is/,
    ],
    [
      () => replay.recordMany(episode, { state: { ...many, image: [1, 2] }, ...rest }),
      /^recordMany\(\): state\.camera\.left is float32\(\) and takes 1 value for 1 step, got 2$/,
    ],
    [
      () =>
        replay.recordFlat(episode, {
          state: many,
          ...rest,
          nextState: { ...many, image: [1] },
        }),
      /^recordFlat\(\): nextState\.image is uint8\(2\) and takes 4 values for 2 steps, got 1$/,
    ],
    [
      () =>
        replay.recordBatch(Float64Array.of(episode, 1), {
          state: { ...many, camera: { left: [1, 2], right: [1] } },
          ...rest,
        }),
      /^recordBatch\(\): state\.camera\.right is float32\(3\) and takes 6 values for 2 steps, got 1$/,
    ],
    [
      () =>
        replay.recordStep(episode, {
          state: at(1),
          action: 0,
          reward: 0,
          terminated: false,
          nextState: { ...at(2), image: [0] },
        }),
      /^recordStep\(\): nextState\.image is/,
    ],
    [
      // @ts-expect-error: there is no such leaf.
      () => replay.update([episode], [0], { state: { imagee: [1, 2] } }),
      /^update\(\): state has no part "imagee"/,
    ],
    [
      () => replay.update([episode], [0], { state: { image: [1] } }),
      /^update\(\): state\.image is uint8\(2\)/,
    ],
    [
      () => replay.update([episode], [0], { state: {} }),
      /^update\(\) takes at least one column/,
    ],
  ];
  for (const [call, text] of refused) {
    refuses(call, Error, text);
    assertEquals(visibleState(replay), before, String(text));
  }
});

Deno.test("a state without a column, with too many leaves, or in itself is refused", async () => {
  const state = (given: unknown): Promise<unknown> =>
    ExperienceReplay.create({ capacity: 9, state: given as typeof STATE });
  await rejects(() => state({}), TypeError, /: state has no column$/);
  await rejects(() => state({ a: [] }), TypeError, /: state\.a has no column$/);
  await rejects(
    () => state({ a: float32(), "b c": 3 }),
    TypeError,
    /: state\["b c"\] must be a column .*; got 3$/,
  );
  await rejects(() => state(new Map()), TypeError, /: state must be a column .*; got Map$/);
  const ring: Record<string, unknown> = { a: float32() };
  ring["b"] = ring;
  await rejects(() => state(ring), RangeError, /: state is nested deeper than 32 parts/);
  const leaves = (count: number): unknown => Array.from({ length: count }, () => float32());
  await rejects(() => state(leaves(33)), RangeError, /at most 32 leaves, got 33$/);
  const most = await state(leaves(32)) as Disposable;
  most[Symbol.dispose]();
});

Deno.test("a wrong option of a leaf is refused by its name", async () => {
  const pick = (given: object): Promise<unknown> =>
    ExperienceReplay.create({ capacity: 9, state: STATE, pick: given });
  for (
    const [given, text] of [
      [{ stack: { imagee: 4 } }, /pick\.stack has no part "imagee"; did you mean image\?/],
      [{ stack: { image: 0 } }, /pick\.stack\.image must be an integer from 1 to 65536, got 0/],
      [{ stack: [4] }, /pick\.stack must be an object with image, camera, got Array\(1\)/],
      [{ stack: { camera: { left: "2" } } }, /pick\.stack\.camera\.left must be an integer/],
      [{ stackCompact: { camera: 1 } }, /pick\.stackCompact\.camera\.left must be true or false/],
      [{ nextState: { image: true } }, /pick\.nextState\.image must be "copy", "overlap" or false/],
      [
        { stackCompact: { image: true }, nextState: { image: "copy" } },
        /stackCompact can't be had with nextState "copy"/,
      ],
      [
        { reversed: true, nextState: { camera: "overlap" } },
        /reversed can't be had with nextState/,
      ],
    ] as const
  ) {
    await rejects(() => pick(given), Error, text);
  }
  await rejects(
    () => ExperienceReplay.create({ capacity: 9, state: float32(), pick: { stack: { image: 2 } } }),
    TypeError,
    /pick\.stack must be one value, as the state is one column; got Object$/,
  );
  const list = [float32(), float32()];
  await rejects(
    () => ExperienceReplay.create({ capacity: 9, state: list, pick: { stack: [2, 2, 2] } }),
    TypeError,
    /pick\.stack must be a list of at most 2 parts, got 3$/,
  );
  const state = float32();
  const action: unknown = { move: float32() };
  await rejects(
    () => ExperienceReplay.create({ capacity: 9, state, action: action as Column }),
    TypeError,
    /action must be a column .* got Object; only the state may have parts, so put each part .* into extras/,
  );
  await rejects(
    () => ExperienceReplay.create({ capacity: 9, state, extras: { a: list as unknown as Column } }),
    TypeError,
    /extras\.a must be a column .* got Array\(2\); only the state may have parts/,
  );
});

Deno.test("what stands for a part of the state holds for each leaf of it, and equal options are one", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 9,
    state: STATE,
    pick: { stack: { image: 2, camera: 2 }, nextState: { camera: false } },
  });
  const [{ policy }] = replay.pickViews;
  assertEquals(policy.stack, 2);
  assertEquals(policy.nextState, { image: "copy", camera: { left: false, right: false } });
  const view = replay.newPickView({
    stack: { camera: 3 },
    stackCompact: { camera: { left: true } },
  });
  assertEquals(view.policy.nextState, {
    image: "copy",
    camera: { left: "overlap", right: "copy" },
  });
  assertEquals(
    String(view),
    "PickView 1: 0 picks of length 1, stacks of { image: 1, camera: { left: 3, right: 3 } }, " +
      "frames once { image: false, camera: { left: true, right: false } }, " +
      'next states { image: "copy", camera: { left: "overlap", right: "copy" } }',
  );
});

Deno.test("without next states of all leaves, n-step returns have no states; the word for all means only batch.nextState", async () => {
  using replay = await ExperienceReplay.create({ capacity: 9, state: STATE });
  replay.record(replay.newEpisode(), at(1), 0, 0, { finalState: at(2) });
  for (
    const [nextState, count] of [
      [{ image: false, camera: false }, 0],
      [false, 2],
    ] as const
  ) {
    const view = replay.newPickView({ nStep: 1, nextState });
    const batch = replay.getBatch(1, view.newPickSelector(uniform()));
    assertEquals(batch.nStep[0].nextState.image.length, count);
    assertEquals(batch.nextState.image.length, 0);
  }
});

Deno.test("update changes one leaf, and only where it is a single row of the batch", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 9,
    state: STATE,
    frozen: ["state.camera.right"],
    pick: { stack: { image: 2 } },
  });
  const episode = replay.newEpisode();
  replay.record(episode, at(1), 0, 0, { finalState: at(2) });
  const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
  assertEquals(replay.update(batch, { state: { camera: { left: [7] } } }), 1);
  assertEquals(replay.update([episode], [0], { state: { image: [8, 9] }, reward: [4] }), 1);
  const { state, reward } = replay.episodeRecords(episode);
  assertEquals([...state.image, ...state.camera.left, ...state.camera.right, ...reward], [
    ...[8, 9, 7, 1, 1, 1, 4],
  ]);
  refuses(
    () => replay.update(batch, { state: { image: [1, 2] } }),
    TypeError,
    /the state\.image of this batch are no single rows \(stack\)/,
  );
  refuses(
    () => replay.update(batch, { state: { camera: { right: [1, 2, 3] } } }),
    TypeError,
    /state\.camera\.right can't change/,
  );
});

Deno.test("hindsight relabels a goal in one leaf", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 9,
    state: { place: float32(1), goal: float32(2), image: uint8(3) },
    pick: { stack: { image: 4 } },
  });
  const hindsight = replay.newHindsight({
    achieved: { state: { place: [0, 1] } },
    desired: { state: { goal: [1, 2] } },
    strategy: "final",
    share: 1,
    reward: (achieved: Float32Array<ArrayBuffer>, desired: Float32Array<ArrayBuffer>) =>
      achieved.map((place, k) => place === desired[k] ? 1 : 0),
  });
  const state = (place: number) => ({ place: [place], goal: [5, 9], image: [1, 2, 3] });
  let episode = replay.newEpisode();
  episode = replay.record(episode, state(0), 0, 0);
  replay.record(episode, state(1), 0, 0, { finalState: state(2) });
  const batch = replay.getBatch(8, replay.newPickSelector(uniform()));
  assertEquals(hindsight.relabel(batch).count, 8);
  for (const [k, position] of batch.pickPosition.entries()) {
    assertEquals([...batch.state.goal.subarray(2 * k, 2 * k + 2)], [5, 2]);
    assertEquals([...batch.nextState.goal.subarray(2 * k, 2 * k + 2)], [5, 2]);
    assertEquals(batch.reward[k], position);
  }
  const options = { desired: { state: { goal: [0, 1] } }, reward: () => [] } as const;
  refuses(
    // @ts-expect-error: there is no such leaf.
    () => replay.newHindsight({ ...options, achieved: { state: { places: [0, 1] } } }),
    TypeError,
    /achieved: state has no part "places"/,
  );
  refuses(
    () => replay.newHindsight({ ...options, achieved: { state: {} } }),
    TypeError,
    /achieved: a goal is in one leaf of the state, got 0 of state\.place, state\.goal, state\.image/,
  );
  refuses(
    () => replay.newHindsight({ ...options, achieved: { state: { place: [0, 2] } } }),
    RangeError,
    /achieved: state\.place\[1\] must be an integer from 1 to 1, got 2/,
  );
  const stacked = replay.newHindsight({
    ...options,
    desired: { state: { image: [1, 2] } },
    achieved: { state: { image: [0, 1] } },
  });
  refuses(() => stacked.relabel(batch), TypeError, /goals in the state need single states/);
});

Deno.test("a snapshot keeps the options of leaves, and loads into no other state", async () => {
  const make = (state: typeof STATE | ReturnType<typeof float32>) =>
    ExperienceReplay.create({ capacity: 9, state, seed: 3 });
  using replay = await make(STATE) as ExperienceReplay<{ state: typeof STATE }>;
  const view = replay.newPickView({
    stack: { image: 2 },
    nStep: 1,
    nextState: { camera: { left: false } },
  });
  replay.record(replay.newEpisode(), at(1), 0, 0, { finalState: at(2) });
  const saved = await replay.serialize();
  using again = await make(STATE) as ExperienceReplay<{ state: typeof STATE }>;
  await again.unserialize(saved);
  assertEquals(again.pickViews[1]?.policy, view.policy);
  const draw = (from: ExperienceReplay<{ state: typeof STATE }>): unknown => {
    const batch = from.getBatch(2, from.pickViews[1]?.newPickSelector(uniform()) as Selector);
    return [batch.state, batch.nStep[0]?.nextState, batch.nextState];
  };
  assertEquals(draw(again), draw(replay));
  using plain = await make(float32());
  const error = await assertReplayRejects(plain.unserialize(saved), "snapshot-mismatch");
  assertEquals(
    error.message,
    "unserialize(): the snapshot does not fit: column 0: this replay has state, the snapshot state.image",
  );
});

native.test("a thread that attaches gets the leaves and their options", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 9,
    state: STATE,
    pick: { stack: { image: 3 } },
  });
  replay.record(replay.newEpisode(), at(1), 0, 0, { finalState: at(2) });
  const ticket = replay.share();
  using same = await ExperienceReplay.attach(ticket);
  const right: Float32Array<ArrayBuffer> = same.getBatch(1, same.newPickSelector(uniform()))
    .nextState.camera.right;
  assertEquals([...right], [2, 2, 2]);
  same.record(same.newEpisode(), at(3), 0, 0, { finalState: at(4) });
  assertEquals(replay.recordCount, 2);
  const asked = { state: STATE, pick: { stack: { image: 3 } } } as const;
  using typed = await ExperienceReplay.attach(structuredClone(ticket), asked);
  const shape: readonly [number, number, 3, 2] =
    typed.getBatch(1, typed.newPickSelector(uniform())).shape.state.image;
  assertEquals(shape, [1, 1, 3, 2]);
  await assertReplayRejects(
    ExperienceReplay.attach(ticket, { state: STATE, pick: { stack: { image: 2 } } }),
    "ticket-mismatch",
  );
  await assertReplayRejects(
    ExperienceReplay.attach(ticket, { state: { ...STATE, image: uint8(3) } }),
    "ticket-mismatch",
  );
});

Deno.test("a replay of leaves is described by their names", async () => {
  using replay = await ExperienceReplay.create({ capacity: 9, state: STATE });
  assertEquals(
    replay.describe().columns.map(({ name }) => name),
    ["state.image", "state.camera.left", "state.camera.right", "action", "reward"],
  );
  assertEquals(
    String(replay.columns),
    "RecordColumns { state.image: uint8(2), state.camera.left: float32(), state.camera.right: float32(3), action: int32(), reward: float32() }",
  );
  assertEquals(replay.columns.state.camera.right, STATE.camera.right);
});

Deno.test("create takes what spaceColumns() makes of a Dict, and TypeScript checks no leaf of it", async () => {
  const state = spaceColumns(
    "Dict('image': Box(0, 255, (2, 2), uint8), 'pair': Tuple(Discrete(3)))",
  );
  using replay = await ExperienceReplay.create({
    capacity: 9,
    state,
    pick: { stack: { image: 2 } },
  });
  const finalState = { image: [5, 6, 7, 8], pair: [1] };
  replay.record(replay.newEpisode(), { image: [1, 2, 3, 4], pair: [2] }, 0, 0, { finalState });
  const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
  assertEquals(batch.shape.state, { image: [1, 1, 2, 2, 2], pair: [[1, 1]] });
  assertEquals([...batch.nextState.image, ...batch.nextState.pair[0]], [1, 2, 3, 4, 5, 6, 7, 8, 1]);
  assertEquals(replay.drain().lastNextState.pair[0].length, 1);
});
