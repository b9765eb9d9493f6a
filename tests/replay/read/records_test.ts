/** episodeRecords(): all of an episode, as it was recorded. */
import { bool, ExperienceReplay, float16, float32, float64, int16, uint8 } from "@exrp/replay";
import { assertEquals, assertThrows } from "../../_assert.ts";
import { assertReplayError, recordEpisode, smallReplay } from "../_helpers.ts";

Deno.test("episodeRecords() gives each column of an open and of an ended episode", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 200,
    state: uint8(3),
    action: int16(2),
    reward: float64(),
    extras: { mask: bool(), half: float16(), wide: float32(40) },
    blockLength: 2,
  });
  const episode = replay.newEpisode();
  const record = (step: number, finalState?: number[]): number =>
    replay.record(episode, [step, 1, 2], [-step, step], step / 8, {
      extras: { mask: step % 2 === 1, half: step / 2, wide: new Float32Array(40).fill(step) },
      ...(finalState === undefined ? {} : { finalState, truncated: true }),
    });
  for (let step = 0; step < 6; step++) record(step);
  const open = replay.episodeRecords(episode);
  assertEquals(open.ending, "open");
  assertEquals(open.finalState, undefined);
  assertEquals(open.size, 6);
  record(6, [9, 9, 9]);
  const ended = replay.episodeRecords(episode);
  const steps = [0, 1, 2, 3, 4, 5, 6];
  assertEquals(ended, {
    handle: episode,
    ending: "truncated",
    firstPosition: 0,
    size: 7,
    state: Uint8Array.from(steps.flatMap((step) => [step, 1, 2])),
    action: Int16Array.from(steps.flatMap((step) => [-step, step])),
    reward: Float64Array.from(steps, (step) => step / 8),
    extras: {
      mask: Uint8Array.from(steps, (step) => step % 2),
      half: Float16Array.from(steps, (step) => step / 2),
      wide: Float32Array.from(steps.flatMap((step) => new Array(40).fill(step))),
    },
    finalState: Uint8Array.of(9, 9, 9),
  });
  // They are copies.
  ended.state.fill(7);
  assertEquals(replay.episodeRecords(episode).state.subarray(0, 3), Uint8Array.of(0, 1, 2));
});

Deno.test("episodeRecords() refuses what is not stored", async () => {
  using replay = await smallReplay();
  const episode = recordEpisode(replay, 3);
  assertEquals(replay.episodeRecords(replay.newEpisode()).size, 0);
  replay.evict(episode);
  const error = assertReplayError(() => replay.episodeRecords(episode), "record-unknown");
  assertEquals(error.message, "episodeRecords(): episode 0 was evicted");
  assertReplayError(() => replay.episodeRecords(7), "episode-unknown");
  assertReplayError(() => replay.episodeRecords(0.5), "episode-unknown");
  assertThrows(() => replay.episodeRecords("0" as unknown as number), TypeError, "handle");
  replay[Symbol.dispose]();
  assertReplayError(() => replay.episodeRecords(0), "disposed");
});
