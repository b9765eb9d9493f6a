/**
 * The static types follow the schema: what is wrong here must not compile, what is right must.
 *
 * @module
 */

import {
  type Batch,
  bool,
  type Column,
  combined,
  ExperienceReplay,
  float16,
  float32,
  int32,
  laber,
  mixture,
  type PickOptions,
  type PickView,
  uint8,
  uniform,
} from "@exrp/replay";
import type { ShareTicket } from "@exrp/replay/types";
import { assertEquals, assertInstanceOf, assertStrictEquals, assertThrows } from "../_assert.ts";
import { native } from "../_native.ts";

Deno.test("a batch has the typed arrays of the schema", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: uint8(2, 2),
    action: float16(3),
    extras: { logProb: float32(), mask: bool(2) },
  });
  const selector = replay.newPickSelector(uniform());
  const episode = replay.newEpisode();
  replay.record(episode, new Uint8Array(4), [0.5, 1, 2], 1, {
    finalState: [1, 2, 3, 4],
    extras: { logProb: -1, mask: [true, false] },
  });
  const batch = replay.getBatch(2, selector);
  const state: Uint8Array<ArrayBuffer> = batch.state;
  const nextState: Uint8Array<ArrayBuffer> = batch.nextState;
  const action: Float16Array<ArrayBuffer> = batch.action;
  const logProb: Float32Array<ArrayBuffer> = batch.extras.logProb;
  const mask: Uint8Array<ArrayBuffer> = batch.extras.mask;
  const shape: readonly [number, number, 2, 2] = batch.shape.state;
  assertInstanceOf(state, Uint8Array);
  assertInstanceOf(nextState, Uint8Array);
  assertEquals([...action], [0.5, 1, 2, 0.5, 1, 2]);
  assertEquals([...logProb], [-1, -1]);
  assertEquals([...mask], [1, 0, 1, 0]);
  assertEquals(shape, [2, 1, 2, 2]);
  assertEquals(batch.shape.extras.mask, [2, 1, 2]);
});

Deno.test("many steps are typed by the schema", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: uint8(2),
    action: int32(),
    extras: { done: bool() },
  });
  const episode = replay.newEpisode();
  const state = new Uint8Array(4);
  const reward = [1, 1];
  const extras = { done: [true, false] };
  replay.recordMany(episode, { state, action: [1, 2], reward, extras, finalState: [1, 2] });
  const episodes = Float64Array.of(replay.newEpisode(), replay.newEpisode());
  replay.recordBatch(episodes, { state, action: new Int32Array(2), reward, extras });
  const extra = { extras: { done: true } };
  const next = replay.recordStep(replay.newEpisode(), {
    state: [1, 2],
    action: 0,
    reward: 0,
    terminated: false,
    truncated: false,
    nextState: [1, 2],
    ...extra,
  });
  assertEquals(replay.endEpisode(next, { finalState: [3, 4] }), true);

  const big = new BigInt64Array(4);
  // @ts-expect-error: the elements are no numbers.
  assertThrows(() => replay.recordMany(next, { state: big, action: [1, 2], reward, extras }));
  // @ts-expect-error: the extras are missing.
  assertThrows(() => replay.recordMany(next, { state, action: [1, 2], reward }));
  // @ts-expect-error: the handles are written to.
  assertThrows(() => replay.recordBatch([0, 1], { state, action: [1, 2], reward, extras }));
  // @ts-expect-error: there is no such option.
  assertThrows(() => replay.recordBatch(episodes, { state, action: [1, 2], reward, extras, x: 1 }));
  // @ts-expect-error: the final state is missing.
  assertThrows(() => replay.endEpisode(next, {}));
  assertThrows(() =>
    // @ts-expect-error: the extras are missing.
    replay.recordStep(next, {
      state: [1, 2],
      action: 0,
      reward: 0,
      terminated: false,
      truncated: false,
      nextState: [1, 2],
    })
  );
});

Deno.test("an extra may have the name of a column or of an option", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: float32(2),
    extras: { state: float32(), reward: uint8(1), finalState: int32() },
  });
  const extras = { state: 5, reward: [6], finalState: 7 };
  replay.record(replay.newEpisode(), [1, 2], 3, 4, { finalState: [8, 9], extras });
  const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
  assertEquals([...batch.state, ...batch.action, ...batch.reward], [1, 2, 3, 4]);
  assertEquals([...batch.extras.state, ...batch.extras.reward, ...batch.extras.finalState], [
    5,
    6,
    7,
  ]);
});

Deno.test("a shape is written as arguments, and one written as an array is told so", () => {
  const loose = float32 as unknown as (...shape: unknown[]) => unknown;
  const error = assertThrows(() => loose([84, 84]), TypeError);
  assertStrictEquals(
    (error as Error).message,
    "float32() takes each dimension as an argument, got Array(2); write float32(84, 84)",
  );
});

Deno.test("what does not fit the schema does not compile", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: uint8(2),
    extras: { logProb: float32() },
  });
  using plain = await ExperienceReplay.create({ capacity: 10, state: float32() });
  const selector = replay.newPickSelector(uniform());
  const episode = replay.newEpisode();
  const state = new Uint8Array(2);
  replay.record(episode, state, 0, 0, { finalState: state, extras: { logProb: 0 } });
  const batch = replay.getBatch(1, selector);

  // @ts-expect-error: a batch of uint8 states is a Uint8Array.
  const _floats: Float32Array = batch.state;
  // @ts-expect-error: there is no such extra.
  const _none: unknown = batch.extras.entropy;
  const _neither = (plain: Batch<{ state: Column<"float32", []> }>): unknown =>
    // @ts-expect-error: no extras at all here.
    plain.extras.logProb;

  const big = new BigInt64Array(2);
  // @ts-expect-error: the elements are no numbers.
  assertThrows(() => replay.record(episode, big, 0, 0, { extras: { logProb: 0 } }));
  // @ts-expect-error: the state has two elements, one number is not it.
  assertThrows(() => replay.record(episode, 1, 0, 0, { extras: { logProb: 0 } }));
  // @ts-expect-error: the extras are missing.
  assertThrows(() => replay.record(episode, state, 0, 0));
  // @ts-expect-error: an extra is missing.
  assertThrows(() => replay.record(episode, state, 0, 0, { extras: {} }));
  // @ts-expect-error: there is no such extra.
  assertThrows(() => replay.record(episode, state, 0, 0, { extras: { logProb: 0, entropy: 1 } }));
  // @ts-expect-error: this schema has no extras.
  assertThrows(() => plain.record(plain.newEpisode(), 0, 0, 0, { extras: { logProb: 0 } }));
  // @ts-expect-error: the state is one number.
  assertThrows(() => plain.record(plain.newEpisode(), [0], 0, 0));
  // @ts-expect-error: an action is a number.
  assertThrows(() => plain.record(plain.newEpisode(), 0, "left", 0));
  // @ts-expect-error: an unknown option.
  assertThrows(() => plain.record(plain.newEpisode(), 0, 0, 0, { done: true }));
  // @ts-expect-error: an unknown option.
  assertThrows(() => replay.getBatch(1, selector, { betta: 1 }));
  const _into = (other: Batch<{ state: Column<"float32", []> }>): unknown =>
    // @ts-expect-error: a batch of another schema.
    replay.getBatch(1, selector, { into: other });
  // @ts-expect-error: an unknown option.
  const _create = () => ExperienceReplay.create({ capacity: 1, state: int32(), size: 3 });
});

Deno.test("a replay of any schema fits where any replay is wanted", async () => {
  function count(replay: ExperienceReplay): number {
    return replay.recordCount;
  }
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: uint8(2),
    extras: { a: bool() },
  });
  assertEquals(count(replay), 0);
});

Deno.test("a pick view's batches are typed by its policy", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 40,
    state: uint8(2, 3),
    reward: float32(2),
    pick: { stack: 4 },
  });
  const plain = replay.newPickView({ nStep: [1, 3] }).newPickSelector(uniform());
  const stacked = replay.newPickView({ stack: 5, nStep: 3 }).newPickSelector(uniform());
  const compact = replay.newPickView({ stack: 5, stackCompact: true }).newPickSelector(uniform());
  const single = replay.newPickView({ stack: 1, nextState: false }).newPickSelector(uniform());
  const first = replay.newPickSelector(uniform());
  const state = new Uint8Array(6);
  replay.record(replay.newEpisode(), state, 0, [1, 2], { finalState: state });

  const inFirst: readonly [number, number, number, 2, 3] = replay.getBatch(2, first).shape.state;
  assertEquals(inFirst, [2, 1, 4, 2, 3]);
  const batch = replay.getBatch(2, stacked);
  const shape: readonly [number, number, number, 2, 3] = batch.shape.state;
  const nextShape: readonly [number, number, number, 2, 3] = batch.shape.nextState;
  assertEquals([shape, nextShape], [[2, 1, 5, 2, 3], [2, 0, 5, 2, 3]]);
  const plainBatch = replay.getBatch(2, plain);
  const plainShape: readonly [number, number, 2, 3] = plainBatch.shape.state;
  assertEquals(plainShape, [2, 1, 2, 3]);
  const frames: readonly [number, number, 2, 3] = replay.getBatch(2, compact).shape.state;
  assertEquals(frames, [2, 6, 2, 3]);
  const one: readonly [number, number, 2, 3] = replay.getBatch(2, single).shape.state;
  assertEquals(one, [2, 1, 2, 3]);
  // n-step parts: returns are single precision whatever the reward is, states are of the state's dtype.
  for (const part of [...batch.nStep, ...plainBatch.nStep]) {
    const reward: Float32Array<ArrayBuffer> = part.reward;
    const nextState: Uint8Array<ArrayBuffer> = part.nextState;
    assertEquals([reward.length, part.discount.length], [4, 2]);
    assertInstanceOf(nextState, Uint8Array);
  }

  // @ts-expect-error: states of five frames have an axis more.
  const _flat: readonly [number, number, 2, 3] = batch.shape.state;
  // @ts-expect-error: there is no axis of frames.
  const _deep: readonly [number, number, number, 2, 3] = plainBatch.shape.state;
  // @ts-expect-error: the states are bytes.
  const _floats: Float32Array | undefined = batch.nStep[0]?.nextState;
  // @ts-expect-error: the batch of another view, whose states have no frames.
  assertThrows(() => replay.getBatch(2, stacked, { into: plainBatch }), TypeError);
  // @ts-expect-error: the batch of another view, whose states have frames.
  assertThrows(() => replay.getBatch(2, plain, { into: batch }), TypeError);
  // @ts-expect-error: the first view has stacks of four frames.
  assertThrows(() => replay.getBatch(2, first, { into: plainBatch }), TypeError);
  const stackedTable = replay.newPickView({ stack: 2 });
  // @ts-expect-error: a view of stacks is none of single frames.
  const _other: PickView<typeof plainBatch> = stackedTable;
});

Deno.test("options known at run time only leave the shape of states open", async () => {
  using replay = await ExperienceReplay.create({ capacity: 40, state: uint8(2) });
  const state = new Uint8Array(2);
  replay.record(replay.newEpisode(), state, 0, 0, { finalState: state });
  const options: PickOptions = { stack: 3 };
  const open = replay.getBatch(1, replay.newPickView(options).newPickSelector(uniform()));
  const shape: readonly number[] = open.shape.state;
  assertEquals(shape, [1, 1, 3, 2]);
  // @ts-expect-error: there may be an axis of frames.
  const _flat: readonly [number, number, 2] = open.shape.state;
  const frames: number = 3;
  const view = replay.newPickView({ stack: frames });
  const counted = replay.getBatch(1, view.newPickSelector(uniform()));
  assertEquals<readonly number[]>(counted.shape.state, [1, 1, 3, 2]);
  // @ts-expect-error: there may be an axis of frames.
  const _one: readonly [number, number, 2] = counted.shape.state;
  // Without the option there is none, whatever the others are.
  const length: number = 1;
  const sequences = replay.getBatch(1, replay.newPickView({ length }).newPickSelector(uniform()));
  const known: readonly [number, number, 2] = sequences.shape.state;
  assertEquals(known, [1, 1, 2]);
});

Deno.test("a pick policy that can't be does not compile", async () => {
  using replay = await ExperienceReplay.create({ capacity: 40, state: uint8(2) });
  // @ts-expect-error: there is no such option.
  assertThrows(() => replay.newPickView({ lenght: 3 }));
  // @ts-expect-error: there is no such option, beside one that there is.
  assertThrows(() => replay.newPickView({ length: 3, nStepp: 3 }));
  const _create = () =>
    // @ts-expect-error: there is no such option.
    ExperienceReplay.create({ capacity: 9, state: uint8(2), pick: { length: 2, stacks: 2 } });
  // @ts-expect-error: next states are "copy", "overlap" or false.
  assertThrows(() => replay.newPickView({ nextState: "none" }));
  // @ts-expect-error: true is none of them.
  assertThrows(() => replay.newPickView({ nextState: true }));
  // @ts-expect-error: n is a number.
  assertThrows(() => replay.newPickView({ nStep: "3" }));
  // @ts-expect-error: a stack is padded by "repeat" or "zeros".
  assertThrows(() => replay.newPickView({ stack: 2, stackPadding: "none" }));
  // @ts-expect-error: a policy is an object of options.
  assertThrows(() => replay.newPickView());

  const { policy } = replay.newPickView({ nStep: [1, 2], length: 2 });
  assertThrows(() => {
    // @ts-expect-error: a policy is read only.
    policy.length = 3;
  });
  assertThrows(() => {
    // @ts-expect-error: and so are its numbers of steps.
    policy.nStep.push(3);
  });
  const complete: Required<Omit<PickOptions, "where" | "transform">> = { ...policy };
  assertEquals(complete.stride, 1);
  assertEquals([policy.length, policy.nStep], [2, [1, 2]]);
});

Deno.test("a replay fits where any replay is wanted, and nobody records into one of which they know nothing", async () => {
  function draw(replay: ExperienceReplay): number {
    const batch: Batch = replay.getBatch(2, replay.newPickSelector(uniform()));
    const states: ArrayLike<number> = batch.state;
    return states.length;
  }
  function put(replay: ExperienceReplay): void {
    // @ts-expect-error: what this replay holds is not known.
    replay.record(replay.newEpisode(), [1, 2], 0, 0);
    // @ts-expect-error: what this replay holds is not known.
    replay.recordMany(replay.newEpisode(), { state: [1, 2], action: [0], reward: [0] });
    // @ts-expect-error: what this replay holds is not known.
    replay.endEpisode(replay.newEpisode(), { finalState: [1, 2] });
  }
  using bytes = await ExperienceReplay.create({ capacity: 9, state: uint8(2), action: int32(3) });
  bytes.record(bytes.newEpisode(), [1, 2], [0, 0, 0], 0, { finalState: [1, 2] });
  using stacked = await ExperienceReplay.create({
    capacity: 9,
    state: float32(),
    extras: { a: bool() },
    pick: { stack: 3, nStep: [1, 2] },
  });
  const extras = { a: true };
  stacked.record(stacked.newEpisode(), 1, 0, 0, { finalState: 2, extras });
  assertEquals([draw(bytes), draw(stacked)], [4, 6]);
  assertThrows(() => put(bytes), TypeError);
  assertThrows(() => put(stacked), TypeError);
  const any: ExperienceReplay = stacked;
  // @ts-expect-error: a replay of any schema is none of this one.
  const _narrow: ExperienceReplay<{ state: Column<"uint8", [2]> }> = any;
  // @ts-expect-error: the states are single floats.
  const _other: ExperienceReplay<{ state: Column<"uint8", [2]> }> = stacked;
});

Deno.test("a schema may name what is as by default, or leave it out", async () => {
  using replay = await ExperienceReplay.create({ capacity: 9, state: float32(4) });
  const short: ExperienceReplay<{ state: Column<"float32", [4]> }> = replay;
  const long: ExperienceReplay<
    { state: Column<"float32", [4]>; action: Column<"int32", []>; pick: { stack: 1 } }
  > = short;
  const again: ExperienceReplay<{ state: Column<"float32", readonly [4]> }> = long;
  assertStrictEquals(again, replay);
  // @ts-expect-error: the action is a whole number.
  const _floats: ExperienceReplay<
    { state: Column<"float32", [4]>; action: Column<"float32", []> }
  > = replay;
  assertEquals(replay.columns.state.shape, [4]);
  const first: 4 = replay.columns.state.shape[0];
  assertStrictEquals(first, 4);
});

Deno.test("n-step returns have shapes, one part for each n, and whole stacks where stacks are compact", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 40,
    state: uint8(2, 3),
    reward: float32(2),
    pick: { stack: 4, stackCompact: true, nStep: 3 },
  });
  for (let k = 0; k < 2; k++) {
    const state = new Uint8Array(6);
    replay.record(replay.newEpisode(), state, 0, [1, 2], { finalState: state });
  }
  const batch = replay.getBatch(5, replay.newPickSelector(uniform()));
  // Frames once, and no next states: those of the n-step return serve.
  assertStrictEquals(replay.pickViews[0].policy.nextState, false);
  const frames: readonly [number, number, 2, 3] = batch.shape.state;
  assertEquals(frames, [5, 4, 2, 3]);
  const none: readonly [number, number, 4, 2, 3] = batch.shape.nextState;
  assertEquals(none, [5, 0, 4, 2, 3]);
  const [part] = batch.nStep;
  const { shape } = part;
  const stacks: readonly [number, number, 4, 2, 3] = shape.nextState;
  const reward: readonly [number, number, 2] = shape.reward;
  const discount: readonly [number, number] = shape.discount;
  assertEquals([stacks, reward, discount], [[5, 1, 4, 2, 3], [5, 1, 2], [5, 1]]);
  assertStrictEquals(part.nextState.length, 5 * 4 * 6);
  // @ts-expect-error: these are whole stacks.
  const _frames: readonly [number, number, 2, 3] = shape.nextState;
  // @ts-expect-error: there is one n.
  assertStrictEquals(batch.nStep[1], undefined);
  const two = replay.newPickView({ nStep: [1, 3] });
  const [one, three] = replay.getBatch(5, two.newPickSelector(uniform())).nStep;
  const plain: readonly [number, number, 2, 3] = three.shape.nextState;
  assertEquals([one.n, three.n, plain], [1, 3, [5, 1, 2, 3]]);
  const without = replay.getBatch(5, replay.newPickView({}).newPickSelector(uniform()));
  // @ts-expect-error: there is no n-step return.
  assertStrictEquals(without.nStep[0], undefined);
  assertEquals(without.nStep.length, 0);
});

Deno.test("of selectors and views that are listed, the batches are of the schema, and their states of any shape", async () => {
  using replay = await ExperienceReplay.create({ capacity: 9, state: uint8(2) });
  replay.newPickSelector(uniform());
  replay.newPickView({ stack: 3 }).newPickSelector(uniform());
  replay.record(replay.newEpisode(), [1, 2], 0, 0, { finalState: [1, 2] });
  const shapes = replay.selectors.map((selector) => {
    const batch = replay.getBatch(1, selector);
    const state: Uint8Array<ArrayBuffer> = batch.state;
    assertInstanceOf(state, Uint8Array);
    // @ts-expect-error: it may be the selector of another view, whose states have frames.
    const _flat: readonly [number, number, 2] = batch.shape.state;
    const shape: readonly number[] = batch.shape.state;
    return shape;
  });
  assertEquals(shapes, [[1, 1, 2], [1, 1, 3, 2]]);
  const [first, second] = replay.pickViews;
  const batch = replay.getBatch(1, first.newPickSelector(uniform()));
  const flat: readonly [number, number, 2] = batch.shape.state;
  assertEquals(flat, [1, 1, 2]);
  assertStrictEquals(second?.policy.stack, 3);
  // @ts-expect-error: the type of a selector's batches is no property.
  assertStrictEquals(replay.selectors[0]?.batch, undefined);
});

Deno.test("laber's scorer knows its candidates, and one of another schema does not compile", async () => {
  using replay = await ExperienceReplay.create({ capacity: 40, state: uint8(2) });
  const selector = replay.newPickSelector(laber({
    score: (candidates) => {
      const states: Uint8Array<ArrayBuffer> = candidates.state;
      return Array.from({ length: candidates.size }, (_, k) => states[2 * k] ?? 0);
    },
  }));
  replay.record(replay.newEpisode(), [1, 2], 0, 0, { finalState: [1, 2] });
  assertStrictEquals(replay.getBatch(3, selector).size, 3);
  const other = laber({
    score: (candidates: Batch<{ state: Column<"float32", [4]> }>) => candidates.reward,
  });
  // @ts-expect-error: the batches have bytes, two a state.
  replay.newPickSelector(other);
  // @ts-expect-error: as a part, too.
  replay.newPickSelector(mixture([{ rule: other, share: 1 }, { rule: uniform(), share: 1 }]));
  // @ts-expect-error: and for another pick view.
  replay.newPickView({ length: 2 }).newPickSelector(combined({ rest: other }));
  const ofAny = laber({ score: ({ reward }: Batch) => Array.from(reward, Number) });
  assertStrictEquals(replay.newPickSelector(ofAny).kind, "laber");
});

Deno.test("where n may be a number or a list, the type does not say how many parts a batch has", async () => {
  for (const nStep of [2, [1, 3]] as (number | number[])[]) {
    using replay = await ExperienceReplay.create({
      capacity: 10,
      state: float32(),
      pick: { nStep },
    });
    replay.record(replay.newEpisode(), 1, 0, 0, { finalState: 2 });
    const { nStep: parts } = replay.getBatch(1, replay.newPickSelector(uniform()));
    // @ts-expect-error: there may be more than one part.
    const _one: readonly [unknown] = parts;
    const count: number = parts.length;
    assertEquals(count, Array.isArray(nStep) ? nStep.length : 1);
  }
});

native.test("a ticket has the type of its replay, and a schema gives a message its type", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: uint8(2),
    extras: { goal: int32() },
    pick: { nStep: [1, 3] },
  });
  type Schema = {
    state: Column<"uint8", [2]>;
    extras: { goal: Column<"int32", []> };
    pick: { nStep: [1, 3] };
  };
  const ticket: ShareTicket<Schema> = replay.share();
  const anyTicket: ShareTicket = ticket;
  // @ts-expect-error: the states have another dtype.
  const _other: ShareTicket<{ state: Column<"float32", [2]> }> = ticket;
  using typed = await ExperienceReplay.attach(ticket);
  const same: ExperienceReplay<Schema> = typed;
  same.record(same.newEpisode(), [1, 2], 0, 0, { extras: { goal: 1 }, finalState: [3, 4] });
  // @ts-expect-error: the extras are missing.
  assertThrows(() => same.record(same.newEpisode(), [1, 2], 0, 0));
  using unknown = await ExperienceReplay.attach(anyTicket);
  // @ts-expect-error: nobody knows what it holds.
  assertThrows(() => unknown.record(unknown.newEpisode(), [1, 2], 0, 0));

  const message: unknown = structuredClone(ticket);
  // @ts-expect-error: an unknown value is no ticket without a schema.
  using bare = await ExperienceReplay.attach(message);
  assertStrictEquals(bare.recordCount, 1);
  using checked = await ExperienceReplay.attach(message, {
    state: uint8(2),
    extras: { goal: int32() },
    pick: { nStep: [1, 3] },
  });
  const checkedSame: ExperienceReplay<Schema> = checked;
  const batch = checkedSame.getBatch(2, checkedSame.newPickSelector(uniform()));
  const [one, three] = batch.nStep;
  const goals: Int32Array<ArrayBuffer> = batch.extras.goal;
  assertEquals([one.n, three.n, goals[0]], [1, 3, 1]);
  // @ts-expect-error: it needs a state.
  const wrong = ExperienceReplay.attach(message, { action: int32() });
  assertInstanceOf(await wrong.catch((error: unknown) => error), TypeError);
  replay.revoke(ticket);
});
