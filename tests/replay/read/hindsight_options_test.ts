/** The options and the batches of hindsight: wrong ones are refused, and the types of goals follow the schema. */
import {
  type Column,
  ExperienceReplay,
  float32,
  type HindsightOptions,
  int32,
  type Relabelled,
  uniform,
} from "@exrp/replay";
import { assertThrows } from "../../_assert.ts";
import { assertReplayError } from "../_helpers.ts";
import {
  type Goal,
  type GoalBatch,
  goalReplay,
  recordGoals,
  sparse,
} from "./_hindsight_helpers.ts";

Deno.test("newHindsight() and relabel() refuse what they can't use", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: float32(4),
    extras: { achieved: float32(2), desired: float32(2), half: float32(1), whole: int32(2) },
  });
  const good = { achieved: "achieved", desired: "desired", reward: () => [] };
  const wrong: [object, typeof TypeError | typeof RangeError, string][] = [
    [{ achieved: "goal" }, TypeError, 'has no extra "goal"; it has achieved, desired, half, whole'],
    [{ desired: undefined }, TypeError, "must be an extra's name or { state: [first, end] }"],
    [{ desired: "half" }, TypeError, "float32 [2] and float32 [1]"],
    [{ desired: "whole" }, TypeError, "float32 [2] and int32 [2]"],
    [{ desired: "achieved" }, RangeError, "different places"],
    [{ desired: { state: [0, 5] } }, RangeError, "from 1 to 4, got 5"],
    [{ desired: { state: [2, 2] } }, RangeError, "from 3 to 4"],
    [{ desired: { state: 2 } }, TypeError, "state must be [first, end]"],
    [{ desired: { states: [0, 2] } }, TypeError, "has no option"],
    [{ achieved: { state: [0, 2] }, desired: { state: [1, 3] } }, RangeError, "different places"],
    [{ strategy: "past" }, TypeError, '"future" or "final"'],
    [{ share: 1.1 }, RangeError, "share"],
    [{ share: "all" }, TypeError, "share"],
    [{ reward: 0 }, TypeError, "reward must be a function"],
    [{ ratio: 4 }, TypeError, "has no option"],
  ];
  type Loose = (options: unknown) => unknown;
  const make = replay.newHindsight.bind(replay) as unknown as Loose;
  for (const [change, kind, text] of wrong) {
    assertThrows(() => make({ ...good, ...change }), kind, text);
  }
  assertThrows(() => make(undefined), TypeError, "takes an object of options");

  using goals = await goalReplay();
  recordGoals(goals, 0, 3);
  const hindsight = goals.newHindsight({
    achieved: "achieved",
    desired: "desired",
    reward: sparse,
  });
  const relabel = (batch: unknown): Relabelled => hindsight.relabel(batch as GoalBatch);
  assertThrows(() => relabel({}), TypeError, "takes a batch that getBatch() returned");
  const episode = replay.newEpisode();
  replay.record(episode, [0, 0, 0, 0], 0, 0, {
    extras: { achieved: [0, 0], desired: [0, 0], half: [0], whole: [0, 0] },
    finalState: [0, 0, 0, 0],
  });
  using plain = await ExperienceReplay.create({ capacity: 10, state: float32(1) });
  plain.record(plain.newEpisode(), [0], 0, 0, { finalState: [1] });
  const foreign = plain.getBatch(1, plain.newPickSelector(uniform()));
  assertThrows(() => relabel(foreign), TypeError, "the batch has no extras.achieved");
  const selector = goals.newPickSelector(uniform());
  const gone = goals.getBatch(4, selector);
  structuredClone(gone.bytes.buffer, { transfer: [gone.bytes.buffer] });
  assertThrows(() => relabel(gone), TypeError, "its buffer was transferred");
  const batch = goals.getBatch(4, selector);
  goals[Symbol.dispose]();
  assertReplayError(() => relabel(batch), "disposed");
  assertReplayError(
    () => goals.newHindsight({ achieved: "achieved", desired: "desired", reward: sparse }),
    "disposed",
  );
});

Deno.test("the types of goals follow the schema", async () => {
  using replay = await goalReplay();
  recordGoals(replay, 0, 2);
  type Options = HindsightOptions<
    {
      state: Column<"float32", [1]>;
      extras: { readonly achieved: Goal; readonly desired: Goal };
    }
  >;
  const achieved: Options["achieved"] = "achieved";
  assertThrows(
    () =>
      replay.newHindsight({
        // @ts-expect-error: there is no such extra
        achieved: "none",
        desired: "desired",
        reward: () => [],
      }),
    TypeError,
  );
  replay.newHindsight({
    achieved,
    desired: "desired",
    reward: (goals) => {
      const typed: Float32Array = goals;
      return typed;
    },
  });
});
