/** The DrQ example: its command line, its pictures, that batches have shifted pictures, and that a seed fixes a run. */
import { assert, assertEquals, assertStrictEquals, assertThrows } from "../_assert.ts";
import { uniform } from "@exrp/replay";
import { newReplay, SETTINGS, toFloats, train } from "../../examples/drq_pixels/_agent.ts";
import { PictureRoom, ROOM, SIDE } from "../../examples/drq_pixels/_picture_room.ts";
import { parseOptions } from "../../examples/drq_pixels/main.ts";

Deno.test("the DrQ example refuses flags that are wrong", () => {
  assertEquals(parseOptions(["--seed", "0", "--seeds", "5"]), { seed: 0, seeds: 5, steps: 1_200 });
  assertStrictEquals(parseOptions(["-h"]), "help");
  for (const args of [["--seed", "-1"], ["--seeds", "0"], ["--steps", "0"], ["drq"]]) {
    assertThrows(() => parseOptions(args), TypeError);
  }
});

/** A picture moved by some pixels, whose edge repeats. */
function moved(picture: Uint8Array, dx: number, dy: number): Uint8Array {
  const inside = (k: number): number => Math.min(Math.max(k, 0), SIDE - 1);
  return picture.map((_, k) =>
    picture[inside(Math.floor(k / SIDE) + dy) * SIDE + inside(k % SIDE + dx)] ?? NaN
  );
}

Deno.test("a shift by the margin moves nothing out of a picture, and one by a pixel more does", () => {
  const environment = new PictureRoom(1);
  /** All pixels, sorted by grey. */
  const sorted = (picture: Uint8Array): string => picture.toSorted().join();
  let lost = 0;
  for (let n = 0; n < 20; n++) {
    const picture = environment.reset();
    for (const [dx, dy] of [[ROOM.margin, -ROOM.margin], [-ROOM.margin, ROOM.margin]] as const) {
      assertStrictEquals(sorted(moved(picture, dx, dy)), sorted(picture));
    }
    if (sorted(moved(picture, ROOM.margin + 1, 0)) !== sorted(picture)) lost += 1;
  }
  assert(lost > 0);
});

/** The pictures of one episode, and a batch of its steps. */
async function batchOf(shift: boolean): Promise<{
  pictures: Uint8Array[];
  rows: { position: number; state: string; nextState: string }[];
}> {
  using replay = await newReplay({ shift, seed: 7 });
  const environment = new PictureRoom(3);
  const pictures = [environment.reset()];
  const episode = replay.newEpisode();
  let isOver = false;
  while (!isOver) {
    const action = pictures.length % 4;
    const { picture, reward, terminated, truncated } = environment.step(action);
    isOver = terminated || truncated;
    const ending = isOver ? { finalState: picture, truncated } : undefined;
    replay.record(episode, pictures.at(-1) as Uint8Array, action, reward, ending);
    pictures.push(picture);
  }
  const batch = replay.getBatch(32, replay.newPickSelector(uniform()));
  const size = SIDE * SIDE;
  const rows = Array.from(batch.pickPosition, (position, k) => ({
    position,
    state: batch.state.subarray(k * size, (k + 1) * size).join(),
    nextState: batch.nextState.subarray(k * size, (k + 1) * size).join(),
  }));
  return { pictures, rows };
}

Deno.test("without shifts, a batch of the DrQ example has the pictures as the agent sees them", async () => {
  const { pictures, rows } = await batchOf(false);
  for (const { position, state, nextState } of rows) {
    assertStrictEquals(state, toFloats(pictures.slice(position, position + 1)).join());
    assertStrictEquals(nextState, toFloats(pictures.slice(position + 1, position + 2)).join());
  }
});

Deno.test("a batch of the DrQ example has pictures moved by up to the margin, and next pictures by their own", async () => {
  const { pictures, rows } = await batchOf(true);
  const span = 2 * ROOM.margin + 1;
  /** Which move of the picture these numbers are: a number from 0, or -1. */
  const moveOf = (numbers: string, picture: Uint8Array = new Uint8Array()): number =>
    Array.from(
      { length: span ** 2 },
      (_, k) => moved(picture, k % span - ROOM.margin, Math.floor(k / span) - ROOM.margin),
    )
      .findIndex((candidate) => toFloats([candidate]).join() === numbers);
  const moves = rows.map(({ position, state, nextState }) => [
    moveOf(state, pictures[position]),
    moveOf(nextState, pictures[position + 1]),
  ]);
  assert(moves.flat().every((move) => move >= 0), moves.join(" "));
  assert(new Set(moves.map(([state]) => state)).size > 10, moves.join(" "));
  assert(moves.some(([state, next]) => state !== next), moves.join(" "));
});

Deno.test("the DrQ example gives the same weights for the same seed, and others for another and without shifts", async () => {
  const saved = { ...SETTINGS };
  Object.assign(SETTINGS, { warmupSteps: 20, batchSize: 8, updatesPerStep: 1 });
  try {
    const run = async (shift: boolean, seed: number): Promise<string> =>
      (await train({ shift, seed, steps: 40 })).weights.join();
    const first = await run(true, 1);
    assertStrictEquals(await run(true, 1), first);
    const all = [first, await run(true, 2), await run(false, 1)];
    assertStrictEquals(new Set(all).size, all.length);
  } finally {
    Object.assign(SETTINGS, saved);
  }
});
