/** An actor's writer takes states of several leaves, one step at a time or of many environments. */
import { ExperienceReplay, float32, uint8 } from "@exrp/replay";
import { absoluteTdError, type ActorSteps, ActorWriter } from "@exrp/replay/actors";
import { assertEquals, assertThrows } from "../_assert.ts";

const STATE = { image: uint8(2), pose: { speed: float32() } };
type Steps = { state: typeof STATE };

function at(time: number): { image: number[]; pose: { speed: number } } {
  return { image: [time, time + 1], pose: { speed: time / 2 } };
}

Deno.test("step() writes leaves, priorities see them, and an open episode ends with its last state", async () => {
  using replay = await ExperienceReplay.create({ capacity: 20, state: STATE });
  const seen: number[][] = [];
  const priority = ({ size, state, nextState, nStep }: ActorSteps<Steps>): number[] => {
    for (let k = 0; k < size; k++) {
      const image: Uint8Array<ArrayBuffer> = state.image;
      seen.push([
        image[2 * k] ?? NaN,
        nextState.pose.speed[k] ?? NaN,
        nStep.nextState.image[2 * k] ?? NaN,
      ]);
    }
    return new Array<number>(size).fill(1);
  };
  using writer = new ActorWriter(replay, { priority, nStep: 2, flushSteps: 2 });
  for (let time = 0; time < 5; time++) {
    writer.step({
      state: at(time),
      action: 0,
      reward: 1,
      nextState: at(time + 1),
      terminated: false,
    });
  }
  const [episode = 0] = writer.episodes;
  writer[Symbol.dispose]();
  assertEquals(seen, [[0, 0.5, 2], [1, 1, 3], [2, 1.5, 4], [3, 2, 5], [4, 2.5, 5]]);
  const { state, finalState, ending } = replay.episodeRecords(episode);
  assertEquals([...state.image], [0, 1, 1, 2, 2, 3, 3, 4, 4, 5]);
  assertEquals([...state.pose.speed], [0, 0.5, 1, 1.5, 2]);
  assertEquals([ending, finalState?.pose.speed[0], [...finalState?.image ?? []]], [
    "truncated",
    2.5,
    [5, 6],
  ]);
});

Deno.test("stepBatch() writes leaves of many environments, and refuses a wrong one by its name", async () => {
  using replay = await ExperienceReplay.create({ capacity: 20, state: STATE, checkFinite: true });
  using writer = new ActorWriter(replay, { environments: 2, priority: absoluteTdError });
  const steps = {
    state: { image: [1, 2, 3, 4], pose: { speed: [5, 6] } },
    action: [0, 0],
    reward: [0, 0],
    terminated: [true, false],
    nextState: { image: [5, 6, 7, 8], pose: { speed: [7, 8] } },
    value: [0, 0],
    stateValue: [0, 0],
  };
  assertThrows(
    () => writer.stepBatch({ ...steps, state: { ...steps.state, image: [1] } }),
    RangeError,
    "stepBatch(): state.image is uint8(2) and takes 4 values for 2 steps, got 1",
  );
  const wrong = { ...steps.nextState, pose: { speed: [7, NaN] } };
  assertThrows(
    () => writer.stepBatch({ ...steps, nextState: wrong }),
    RangeError,
    "nextState.pose.speed of step 1 is NaN",
  );
  assertEquals(writer.stepCount, 0);
  writer.stepBatch(steps);
  const [, second = 0] = writer.episodes;
  writer[Symbol.dispose]();
  const { handle } = replay.episodes({ tag: 0 });
  const first = replay.episodeRecords(handle[0] ?? 0);
  assertEquals([[...first.state.image], [...first.finalState?.image ?? []]], [[1, 2], [5, 6]]);
  assertEquals(replay.episodeRecords(second).finalState?.pose.speed[0], 8);
});
