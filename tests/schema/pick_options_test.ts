/**
 * What each option of a pick policy makes of a batch: small episodes, and numbers that were worked out by hand.
 *
 * @module
 */

import { assertEquals, assertRejects, assertStrictEquals, assertThrows } from "../_assert.ts";
import {
  bool,
  ExperienceReplay,
  float16,
  float32,
  float64,
  highestPriority,
  int16,
  int32,
  int8,
  uint8,
} from "@exrp/replay";
import { choose, positions, type Steps, stepsReplay } from "../replay/_pick_helpers.ts";

// ---- n-step returns ----

/** One n-step part of the pick at `position`: [return, next state, discount]. */
function part(steps: Steps, position: number, k = 0): number[] {
  const batch = steps.draw(0, position);
  const found = batch.nStep[k];
  return [...found?.reward ?? [], ...found?.nextState ?? [], ...found?.discount ?? []];
}

Deno.test("nStep: where the episode terminated the sum stops, and nothing is bootstrapped", async () => {
  using steps = await stepsReplay({ nStep: 2, discount: 0.5 });
  steps.record([8, 4, 2], "terminated"); // states 10, 11, 12, and 13 at the end
  assertEquals(part(steps, 0), [8 + 0.5 * 4, 12, 0.25]);
  assertEquals(part(steps, 1), [4 + 0.5 * 2, 13, 0]);
  assertEquals(part(steps, 2), [2, 13, 0]);
});

Deno.test("nStep: where the episode was cut off the final state is bootstrapped from, with gamma^m", async () => {
  using steps = await stepsReplay({ nStep: 3, discount: 0.5 });
  steps.record([8, 4, 2], "truncated");
  assertEquals(part(steps, 0), [10.5, 13, 0.125]);
  assertEquals(part(steps, 1), [5, 13, 0.25]);
  assertEquals(part(steps, 2), [2, 13, 0.5]);
});

Deno.test("nStep: an episode cut into segments bootstraps from where it was cut", async () => {
  using steps = await stepsReplay({ nStep: 3, discount: 0.5 }, { segmentLength: 2 });
  steps.record([8, 4, 2, 1], "truncated"); // handles 0 and 1: the state after 11 is 12, which begins the second
  assertEquals(part(steps, 0), [10, 12, 0.25]);
  assertEquals(part(steps, 1), [4, 12, 0.5]);
  const second = steps.draw(1, 0);
  assertEquals([...second.state], [12]);
  assertEquals([...second.nStep[0]?.nextState ?? []], [14]);
});

Deno.test("nStep: the newest records of an open episode begin no pick until their return is known", async () => {
  using steps = await stepsReplay({ nStep: 2, discount: 0.5 });
  steps.record([8, 4], "open");
  assertStrictEquals(steps.replay.pickCount, 0); // the state two steps on is not there
  using three = await stepsReplay({ nStep: 2, discount: 0.5 });
  three.record([8, 4, 2, 1], "open");
  assertEquals(positions(three.replay, three.view), [0, 1]);
  assertEquals(part(three, 1), [5, 13, 0.25]);
});

Deno.test("nStep with allowOpenEnd: as many rewards as there are, and no state that is not known", async () => {
  using steps = await stepsReplay({ nStep: 2, discount: 0.5, allowOpenEnd: true });
  steps.record([8, 4, 2, 1], "open");
  assertEquals(positions(steps.replay, steps.view), [0, 1, 2, 3]);
  assertEquals(part(steps, 1), [5, 13, 0.25]);
  assertEquals(part(steps, 2), [2, 13, 0.5]);
  assertEquals(part(steps, 3), [1, 0, 0]); // its own reward; its next state is not known yet
  assertEquals([...steps.draw(0, 3).nextSeqLen], [0]);
});

Deno.test("nStep: several at once, in the order they were asked for", async () => {
  using steps = await stepsReplay({ nStep: [3, 1, 2], discount: 0.5 });
  steps.record([8, 4, 2, 1], "truncated");
  assertEquals(steps.draw(0, 0).nStep.map(({ n }) => n), [3, 1, 2]);
  assertEquals(part(steps, 0, 0), [10.5, 13, 0.125]);
  assertEquals(part(steps, 0, 1), [8, 11, 0.5]);
  assertEquals(part(steps, 0, 2), [10, 12, 0.25]);
  assertEquals(part(steps, 2, 0), [2.5, 14, 0.25]);
  assertEquals(part(steps, 2, 1), [2, 13, 0.5]);
  assertEquals(part(steps, 2, 2), [2.5, 14, 0.25]);
});

Deno.test("nStep of a sequence: one return for each row, past the pick's end too", async () => {
  using steps = await stepsReplay({ nStep: 2, length: 2, allowShort: true, discount: 0.5 });
  steps.record([8, 4, 2], "terminated");
  assertEquals(part(steps, 0), [10, 5, 12, 13, 0.25, 0]);
  assertEquals(part(steps, 2), [2, 0, 13, 0, 0, 0]); // the second row is padding
});

Deno.test("nStep of a sequence far from its episode's end: every row looks the whole way", async () => {
  using steps = await stepsReplay({ nStep: [2, 1], length: 3, nextState: "copy", discount: 0.5 });
  steps.record([8, 4, 2, 1, 16, 32, 64], "terminated"); // 10 to 16, and 17
  const { state, nextState, reward, discount, seqLen, nextSeqLen } = steps.draw(0, 1);
  assertEquals([...state, ...nextState, ...reward], [11, 12, 13, 12, 13, 14, 4, 2, 1]);
  assertEquals([...discount, ...seqLen, ...nextSeqLen], [0.5, 0.5, 0.5, 3, 3]);
  assertEquals(part(steps, 1, 0), [5, 2.5, 9, 13, 14, 15, 0.25, 0.25, 0.25]);
  assertEquals(part(steps, 1, 1), [4, 2, 1, 12, 13, 14, 0.5, 0.5, 0.5]);
  // The last pick: 16 + 32 / 2, 32 + 64 / 2, and 64 alone, after which it terminated.
  assertEquals(part(steps, 4, 0), [32, 64, 64, 16, 17, 17, 0.25, 0, 0]);
  assertEquals([...steps.draw(0, 4).discount], [0.5, 0.5, 0]);
});

Deno.test("nStep gives next states of its own; the one-step ones come only when asked for", async () => {
  using steps = await stepsReplay({ nStep: 2 });
  steps.record([8, 4, 2], "terminated");
  const { nextState, shape, state } = steps.draw(0, 0);
  assertEquals([nextState.length, shape.nextState], [0, [1, 0]]);
  assertEquals([...state], [10]);
  using both = await stepsReplay({ nStep: 2, nextState: "copy" });
  both.record([8, 4, 2], "terminated");
  const batch = both.draw(0, 0);
  assertEquals([...batch.nextState, ...batch.nStep[0]?.nextState ?? []], [11, 12]);
});

Deno.test("nStep of rewards of several elements adds each up for itself", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 40,
    state: float32(),
    reward: float32(2),
    pick: { nStep: 2, discount: 0.5 },
  });
  const selector = replay.newPickSelector(highestPriority());
  const episode = replay.newEpisode();
  replay.record(episode, 10, 0, [8, -8]);
  replay.record(episode, 11, 0, [4, 100], { finalState: 12, truncated: true });
  choose(replay, selector, episode, 0);
  const { nStep, shape } = replay.getBatch(1, selector);
  assertEquals([...nStep[0]?.reward ?? []], [8 + 0.5 * 4, -8 + 0.5 * 100]);
  assertEquals([...nStep[0]?.discount ?? []], [0.25]);
  assertEquals(shape.reward, [1, 1, 2]);
});

Deno.test("nStep of rewards of every dtype", async () => {
  const columns = [uint8(), int8(), int16(), int32(), float16(), float32(), float64(), bool()];
  // Three rewards, and what they come to with gamma = 0.5: a + b / 2 + c / 4.
  const cases = [
    [200, 255, 1, 327.75],
    [-128, 127, -1, -64.75],
    [-32768, 32767, 4, -16383.5],
    [-100000, 70000, 8, -64998],
    [-0.5, 2048, 2 ** -14, 1023.5 + 2 ** -16],
    [0.25, -1.5, 3, 0.25],
    [1e6, 0.5, -1, 1e6],
    [1, 0, 1, 1.25],
  ];
  for (const [k, column] of columns.entries()) {
    using replay = await ExperienceReplay.create({
      capacity: 40,
      state: float32(),
      reward: column,
      pick: { nStep: 3, discount: 0.5 },
    });
    const selector = replay.newPickSelector(highestPriority());
    const [a = 0, b = 0, c = 0, sum = 0] = cases[k] ?? [];
    const episode = replay.newEpisode();
    replay.record(episode, 10, 0, a);
    replay.record(episode, 11, 0, b);
    replay.record(episode, 12, 0, c, { finalState: 13 });
    choose(replay, selector, episode, 0);
    const { nStep } = replay.getBatch(1, selector);
    assertEquals([...nStep[0]?.reward ?? []], [Math.fround(sum)], column.dtype);
  }
});

Deno.test("nStep of float16 rewards: infinities, NaN and the smallest numbers are what they are", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 40,
    state: float32(),
    reward: float16(3),
    pick: { nStep: 1 },
  });
  const selector = replay.newPickSelector(highestPriority());
  const values = [Infinity, NaN, 2 ** -24];
  replay.record(replay.newEpisode(), 0, 0, values, { finalState: 1 });
  assertEquals([...replay.getBatch(1, selector).nStep[0]?.reward ?? []], values);
});

// ---- frame stacks ----

Deno.test("stack: oldest frame first; before the episode's start the first one again", async () => {
  using steps = await stepsReplay({ stack: 3 });
  steps.record([0, 0, 0], "truncated"); // 10, 11, 12, then 13
  const first = steps.draw(0, 0);
  assertEquals(first.shape.state, [1, 1, 3]);
  assertEquals(first.shape.nextState, [1, 1, 3]);
  assertEquals([...first.state, ...first.nextState], [10, 10, 10, 10, 10, 11]);
  const second = steps.draw(0, 1);
  assertEquals([...second.state, ...second.nextState], [10, 10, 11, 10, 11, 12]);
  const last = steps.draw(0, 2);
  assertEquals([...last.state, ...last.nextState], [10, 11, 12, 11, 12, 13]);
});

Deno.test("stackPadding zeros: nothing before the episode's start", async () => {
  using steps = await stepsReplay({ stack: 3, stackPadding: "zeros" });
  steps.record([0, 0, 0], "truncated");
  const first = steps.draw(0, 0);
  assertEquals([...first.state, ...first.nextState], [0, 0, 10, 0, 10, 11]);
  const last = steps.draw(0, 2);
  assertEquals([...last.state, ...last.nextState], [10, 11, 12, 11, 12, 13]);
});

Deno.test("stack of a sequence: one stack a row, and none past its end", async () => {
  using steps = await stepsReplay({ stack: 2, length: 2, allowShort: true });
  steps.record([0, 0, 0], "truncated");
  const whole = steps.draw(0, 1);
  assertEquals(whole.shape.state, [1, 2, 2]);
  assertEquals([...whole.state], [10, 11, 11, 12]);
  assertEquals([...whole.nextState], [11, 12, 12, 13]);
  const short = steps.draw(0, 2);
  assertEquals([...short.state], [11, 12, 0, 0]); // a row of padding is zero, not the first frame
  assertEquals([...short.nextState], [12, 13, 0, 0]);
});

Deno.test("stack: a segment's first frames are its own, not those of the segment before", async () => {
  using steps = await stepsReplay({ stack: 2 }, { segmentLength: 2 });
  steps.record([0, 0, 0], "truncated");
  assertEquals([...steps.draw(1, 0).state], [12, 12]);
});

Deno.test("stackCompact: each frame once, from the first row's oldest to the last next state", async () => {
  using steps = await stepsReplay({ stack: 3, stackCompact: true });
  steps.record([0, 0, 0], "truncated");
  const first = steps.draw(0, 0);
  assertEquals(first.shape.state, [1, 4]); // 2 before, the record's own, its next
  assertEquals([...first.state], [10, 10, 10, 11]);
  assertStrictEquals(first.nextState.length, 0);
  assertEquals([...steps.draw(0, 2).state], [10, 11, 12, 13]);
  using zeros = await stepsReplay({
    stack: 3,
    stackCompact: true,
    stackPadding: "zeros",
    length: 2,
    allowShort: true,
  });
  zeros.record([0, 0, 0], "truncated");
  assertEquals([...zeros.draw(0, 0).state], [0, 0, 10, 11, 12]);
  assertEquals([...zeros.draw(0, 2).state], [10, 11, 12, 13, 0]);
});

Deno.test("stackCompact without next states is one frame less", async () => {
  using steps = await stepsReplay({ stack: 3, stackCompact: true, nextState: false });
  steps.record([0, 0, 0], "truncated");
  assertEquals([...steps.draw(0, 1).state], [10, 10, 11]);
});

Deno.test("stackCompact at an open end has no next state to show", async () => {
  using steps = await stepsReplay({ stack: 2, stackCompact: true, allowOpenEnd: true });
  steps.record([0, 0], "open");
  assertEquals([...steps.draw(0, 0).state], [10, 10, 11]);
  assertEquals([...steps.draw(0, 1).state], [10, 11, 0]);
});

Deno.test("stack and nStep: the next states are stacks too", async () => {
  using steps = await stepsReplay({ stack: 2, nStep: 2, discount: 0.5 });
  steps.record([8, 4, 2], "truncated");
  const { nStep, state } = steps.draw(0, 0);
  assertEquals([...state], [10, 10]);
  assertEquals([...nStep[0]?.nextState ?? []], [11, 12]);
  assertEquals([...steps.draw(0, 2).nStep[0]?.nextState ?? []], [12, 13]);
});

// ---- rows before a pick ----

Deno.test("burnIn: rows begin with the first record there is, and masks say which are the pick's", async () => {
  using steps = await stepsReplay({ burnIn: 2, length: 2 });
  steps.record([8, 4, 2, 1, 0.5], "terminated"); // 10 to 14, then 15
  const at = (position: number): number[][] => {
    const batch = steps.draw(0, position);
    return [
      [...batch.state],
      [...batch.learnMask],
      [...batch.contextMask],
      [...batch.discount],
      [...batch.seqLen, ...batch.nextSeqLen, ...batch.pickPosition],
    ];
  };
  assertEquals(steps.draw(0, 0).shape.state, [1, 4]);
  assertEquals(at(0), [[10, 11, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0], [2, 2, 0]]);
  assertEquals(at(1), [[10, 11, 12, 0], [0, 1, 1, 0], [1, 0, 0, 0], [1, 1, 1, 0], [3, 3, 1]]);
  assertEquals(at(2), [[10, 11, 12, 13], [0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 1, 1], [4, 4, 2]]);
  assertEquals(at(3), [[11, 12, 13, 14], [0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0], [4, 4, 3]]);
  const last = steps.draw(0, 3);
  assertEquals([...last.reward, ...last.nextState], [4, 2, 1, 0.5, 12, 13, 14, 15]);
});

Deno.test("before: the pick's position is always the same row, and what is not there is zero", async () => {
  using steps = await stepsReplay({ before: 2, length: 2, allowShort: true });
  steps.record([8, 4, 2], "truncated"); // 10 to 12, then 13
  const at = (position: number): number[][] => {
    const batch = steps.draw(0, position);
    return [
      [...batch.state],
      [...batch.nextState],
      [...batch.learnMask],
      [...batch.contextMask],
      [...batch.seqLen],
    ];
  };
  assertEquals(at(0), [[0, 0, 10, 11], [0, 0, 11, 12], [0, 0, 1, 1], [0, 0, 0, 0], [4]]);
  assertEquals(at(1), [[0, 10, 11, 12], [0, 11, 12, 13], [0, 0, 1, 1], [0, 1, 0, 0], [4]]);
  assertEquals(at(2), [[10, 11, 12, 0], [11, 12, 13, 0], [0, 0, 1, 0], [1, 1, 0, 0], [3]]);
});

Deno.test("before with stacks: a row before the episode is zero, its neighbour is padded as asked", async () => {
  using steps = await stepsReplay({ before: 1, stack: 2 });
  steps.record([0, 0], "truncated");
  assertEquals([...steps.draw(0, 0).state], [0, 0, 10, 10]);
  assertEquals([...steps.draw(0, 1).state], [10, 10, 10, 11]);
  using compact = await stepsReplay({ before: 1, stack: 2, stackCompact: true });
  compact.record([0, 0], "truncated");
  assertEquals([...compact.draw(0, 0).state], [10, 10, 10, 11]); // two of padding, 10 itself, its next
  assertEquals([...compact.draw(0, 1).state], [10, 10, 11, 12]);
});

Deno.test("burnIn and nStep: rows of context have returns too", async () => {
  using steps = await stepsReplay({ burnIn: 1, nStep: 2, discount: 0.5 });
  steps.record([8, 4, 2], "truncated");
  assertEquals(part(steps, 1), [10, 5, 12, 13, 0.25, 0.25]);
});

Deno.test("masks: with nothing before a pick they mark what is real; without them there are none", async () => {
  using steps = await stepsReplay({ length: 2, allowShort: true, masks: true });
  steps.record([0, 0, 0], "truncated");
  const short = steps.draw(0, 2);
  assertEquals([[...short.learnMask], [...short.contextMask]], [[1, 0], [0, 0]]);
  assertEquals([short.shape.learnMask, short.shape.contextMask], [[1, 2], [1, 2]]);
  using without = await stepsReplay({ burnIn: 1, masks: false });
  without.record([0, 0, 0], "truncated");
  const batch = without.draw(0, 1);
  assertEquals([batch.learnMask.length, batch.contextMask.length], [0, 0]);
  assertEquals(batch.shape.learnMask, [1, 0]);
  assertEquals([...batch.state], [10, 11]);
});

// ---- order, ends, whole episodes, strides ----

Deno.test("reversed: the pick's last record first, each with its own next state", async () => {
  using steps = await stepsReplay({ length: 3, reversed: true, allowShort: true, discount: 0.5 });
  steps.record([8, 4, 2, 1], "terminated"); // 10 to 13, then 14
  const whole = steps.draw(0, 1);
  assertEquals([...whole.state, ...whole.nextState], [13, 12, 11, 14, 13, 12]);
  assertEquals([...whole.reward, ...whole.discount], [1, 2, 4, 0, 0.5, 0.5]);
  const short = steps.draw(0, 2);
  assertEquals([...short.state, ...short.nextState], [13, 12, 0, 14, 13, 0]);
  assertEquals([...short.seqLen, ...short.pickPosition], [2, 2]);
});

Deno.test("reversed with nStep, stacks and masks: returns and stacks still look along time", async () => {
  using steps = await stepsReplay({
    length: 2,
    reversed: true,
    nStep: 2,
    stack: 2,
    discount: 0.5,
    masks: true,
  });
  steps.record([8, 4, 2], "truncated");
  const batch = steps.draw(0, 0);
  assertEquals([...batch.state], [10, 11, 10, 10]);
  assertEquals([...batch.nStep[0]?.reward ?? []], [5, 10]);
  assertEquals([...batch.nStep[0]?.nextState ?? []], [12, 13, 11, 12]);
  assertEquals([...batch.learnMask], [1, 1]);
});

Deno.test("whole: one pick for each episode that has ended and is not too long", async () => {
  using steps = await stepsReplay({ whole: true, length: 3 });
  steps.record([1, 2], "open");
  assertStrictEquals(steps.replay.pickCount, 0);
  steps.replay.endEpisode(0, { finalState: 12 });
  steps.record([1, 2, 3, 4], "terminated"); // longer than 3
  steps.record([1, 2, 3], "truncated");
  assertStrictEquals(steps.replay.pickCount, 2);
  const first = steps.draw(0, 0);
  assertEquals([...first.state, ...first.nextState], [10, 11, 0, 11, 12, 0]);
  assertEquals([...first.seqLen, ...first.discount], [2, 1, 0, 0]);
  assertEquals([...steps.draw(2, 0).state], [30, 31, 32]);
});

Deno.test("whole: by default up to a segment long; without segmentLength, the length must be said", async () => {
  using steps = await stepsReplay({ whole: true }, { segmentLength: 4 });
  assertStrictEquals(steps.view.policy.length, 4);
  const create = () =>
    ExperienceReplay.create({ capacity: 80, state: float32(), pick: { whole: true } });
  await assertRejects(create, TypeError, "create(): pick: whole needs a length");
  using plain = await ExperienceReplay.create({ capacity: 80, state: float32() });
  assertThrows(
    () => plain.newPickView({ whole: true }),
    TypeError,
    "newPickView(): whole needs a length",
  );
});

Deno.test("stride: picks at its multiples only; with allowShort to the end", async () => {
  using steps = await stepsReplay({ length: 3, stride: 2 });
  steps.record([1, 2, 3, 4, 5, 6, 7], "truncated");
  assertEquals(positions(steps.replay, steps.view), [0, 2, 4]);
  const [first, second] = [steps.draw(0, 0), steps.draw(0, 2)];
  assertEquals([...first.state, ...second.state], [10, 11, 12, 12, 13, 14]); // they share 12
  using short = await stepsReplay({ length: 3, stride: 2, allowShort: true });
  short.record([1, 2, 3, 4, 5, 6, 7], "truncated");
  assertEquals(positions(short.replay, short.view), [0, 2, 4, 6]);
  using apart = await stepsReplay({ length: 2, stride: 3 });
  apart.record([1, 2, 3, 4, 5, 6, 7], "truncated");
  assertEquals(positions(apart.replay, apart.view), [0, 3]);
});

Deno.test("nextState overlap: one state more, the next one of the last row", async () => {
  using steps = await stepsReplay({ length: 2, nextState: "overlap", allowShort: true });
  steps.record([1, 2, 3], "truncated");
  const whole = steps.draw(0, 0);
  assertEquals([whole.shape.state, whole.shape.nextState], [[1, 3], [1, 0]]);
  assertEquals([...whole.state, ...whole.reward], [10, 11, 12, 1, 2]);
  assertEquals([...steps.draw(0, 2).state], [12, 13, 0]);
  using stacks = await stepsReplay({ length: 2, nextState: "overlap", stack: 2, before: 1 });
  stacks.record([1, 2, 3], "truncated");
  assertEquals([...stacks.draw(0, 0).state], [0, 0, 10, 10, 10, 11, 11, 12]);
});

Deno.test("nextState overlap at an open end: the last state is not there yet", async () => {
  using steps = await stepsReplay({ length: 2, nextState: "overlap", allowOpenEnd: true });
  steps.record([1, 2], "open");
  const batch = steps.draw(0, 0);
  assertEquals([...batch.state], [10, 11, 0]);
  assertEquals([...batch.seqLen, ...batch.nextSeqLen, ...batch.discount], [2, 1, 1, 0]);
});

Deno.test("nextState false: none are copied", async () => {
  using steps = await stepsReplay({ length: 2, nextState: false, discount: 0.5 });
  steps.record([1, 2], "terminated");
  const { state, nextState, discount } = steps.draw(0, 0);
  assertEquals([[...state], [...nextState], [...discount]], [[10, 11], [], [0.5, 0]]);
});
