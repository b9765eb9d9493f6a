/** The extra state beside the kernel: a snapshot with impossible values in it is refused, and nothing changes. */
import { queue, ReplayError } from "@exrp/replay";
import { assert, assertEquals, assertInstanceOf, assertStrictEquals } from "../../_assert.ts";
import { openKernel } from "../../../ffi/library.ts";
import {
  assertReplayRejects,
  recordEpisode,
  type SmallReplay,
  smallReplay,
  testRandom,
} from "../_helpers.ts";

const TAG = "SIDE";

/** The place and the length of the frame's payload. */
function sideOf(bytes: Uint8Array): [number, number] {
  const view = new DataView(bytes.buffer);
  for (let at = 16; at < bytes.length;) {
    const length = Number(view.getBigUint64(at + 8, true));
    if (String.fromCharCode(...bytes.subarray(at, at + 4)) === TAG) return [at + 20, length];
    at += 24 + length;
  }
  return [-1, 0];
}

/** The snapshot with its extra state changed and the checksum made right again. */
async function forge(bytes: Uint8Array, change: (side: DataView) => void): Promise<Uint8Array> {
  const { symbols } = await openKernel();
  const forged = bytes.slice();
  const [at, length] = sideOf(forged);
  change(new DataView(forged.buffer, at, length));
  const frame = forged.subarray(at - 20, at + length);
  const view = new DataView(forged.buffer);
  view.setUint32(at + length, symbols.exrp_checksum(0, frame, frame.length), true);
  return forged;
}

/** A replay of which an open episode, an ended one and a part of another were handed out. */
async function sideReplay(): Promise<SmallReplay> {
  const replay = await smallReplay({ capacity: 50 });
  const open = replay.newEpisode();
  for (let step = 0; step < 4; step++) replay.record(open, [step], 0, 0);
  recordEpisode(replay, 3);
  recordEpisode(replay, 5);
  recordEpisode(replay, 2);
  assertStrictEquals(replay.drain({ steps: 8, keep: true }).size, 8);
  return replay;
}

Deno.test("a replay that was never drained and has no hindsight saves no extra state", async () => {
  using replay = await smallReplay();
  recordEpisode(replay, 3);
  replay.drain({ steps: 9 });
  const bytes = await replay.serialize();
  assertEquals(sideOf(bytes), [-1, 0]);
  assert(!new TextDecoder().decode(bytes.subarray(36, 800)).includes('"side"'));
});

Deno.test("the extra state is drained and lost, then handles and counts", async () => {
  using replay = await sideReplay();
  const bytes = await replay.serialize();
  const [at, length] = sideOf(bytes);
  const view = new DataView(bytes.buffer, at, length);
  assertStrictEquals(view.getUint32(0, true), 0);
  const numbers = Array.from(
    { length: (length - 8) / 8 },
    (_, k) => view.getFloat64(8 + 8 * k, true),
  );
  // 3 of the open episode, 3 of the next, 2 of the one after.
  assertEquals(numbers, [8, 0, 0, 3, 1, 3, 2, 2]);
});

const WRONG: readonly [string, (side: DataView) => void][] = [
  ["more drained than was recorded", (side) => side.setFloat64(8, 15, true)],
  ["less drained than is counted", (side) => side.setFloat64(8, 7, true)],
  ["half a step drained", (side) => side.setFloat64(8, 8.5, true)],
  ["a loss below nothing", (side) => side.setFloat64(16, -1, true)],
  ["a loss of more than there was", (side) => side.setFloat64(16, 7, true)],
  ["a loss that is no number", (side) => side.setFloat64(16, NaN, true)],
  ["a handle that was never given out", (side) => side.setFloat64(24, 9, true)],
  ["a handle that is none", (side) => side.setFloat64(24, 0.5, true)],
  ["a handle twice", (side) => side.setFloat64(40, 0, true)],
  ["the newest record of an open episode", (side) => side.setFloat64(32, 4, true)],
  ["more records than an episode has", (side) => side.setFloat64(48, 4, true)],
  ["no record of an episode", (side) => side.setFloat64(48, 0, true)],
  ["random streams that are not there", (side) => side.setUint32(0, 9, true)],
  ["very many random streams", (side) => side.setUint32(0, 2 ** 32 - 1, true)],
  ["a random state of zeros", (side) => {
    side.setUint32(0, 1, true);
    side.setFloat64(8, 0, true);
    side.setFloat64(16, 0, true);
  }],
];
for (const [what, change] of WRONG) {
  Deno.test(`unserialize() refuses a side with ${what}`, async () => {
    using replay = await sideReplay();
    const bytes = await replay.serialize();
    const bad = await forge(bytes, change);
    await assertReplayRejects(replay.unserialize(bad), "snapshot-corrupt");
    assertEquals(await replay.serialize(), bytes);
  });
}

Deno.test("forged sides never crash, and what is accepted hands out each record at most once (seed 1)", async () => {
  using replay = await sideReplay();
  const bytes = await replay.serialize();
  const random = testRandom(1);
  let [accepted, refused] = [0, 0];
  for (let round = 0; round < 1000; round++) {
    const bad = await forge(bytes, (side) => {
      for (let k = random(3); k >= 0; k--) {
        side.setUint8(random(side.byteLength), random(2) === 0 ? random(256) : random(3));
      }
    });
    try {
      await replay.unserialize(bad);
      accepted++;
    } catch (error) {
      assertInstanceOf(error, ReplayError, `${error}`);
      assertStrictEquals(error.code, "snapshot-corrupt", error.message);
      refused++;
    }
    const { size, state } = replay.drain({ minSteps: 1, keep: true });
    assert(size <= 13 && state.length === size);
  }
  assert(accepted > 20 && refused > 200, `${accepted} accepted, ${refused} refused`);
});

Deno.test("impossible counts of a rate limiter are refused, and nothing changes", async () => {
  using replay = await smallReplay({ capacity: 50 });
  replay.setRateLimiter(queue(40));
  recordEpisode(replay, 5);
  const bytes = await replay.serialize();
  const { rateLimiter } = replay;
  const [, length] = sideOf(bytes);
  assertStrictEquals(length, 8 + 6 * 8);
  const changes: ((side: DataView) => void)[] = [
    (side) => side.setUint32(4, 4, true), // how many numbers a rate limiter has
    (side) => side.setUint32(4, 8, true),
    (side) => side.setFloat64(8 + 4 * 8, 6, true), // more records than were written
    (side) => side.setFloat64(8 + 4 * 8, -1, true),
    (side) => side.setFloat64(8 + 5 * 8, 0.5, true), // half a pick
    (side) => side.setFloat64(8 + 5 * 8, NaN, true),
  ];
  for (const change of changes) {
    await assertReplayRejects(
      replay.unserialize(await forge(bytes, change)),
      "snapshot-corrupt",
    );
    assertEquals(replay.rateLimiter, rateLimiter);
  }
  await replay.unserialize(await forge(bytes, (side) => side.setFloat64(8 + 5 * 8, 3, true)));
  assertStrictEquals(replay.rateLimiter?.drawn, 3);
});
