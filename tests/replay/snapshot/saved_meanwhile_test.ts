/** A replay that is saved to a stream is used meanwhile, and the snapshot is of the moment at which it was begun. */
import { ExperienceReplay, fifo, float32, prioritized, reservoir } from "@exrp/replay";
import { joinBytes } from "../../../base/bytes.ts";
import { assert, assertEquals, assertRejects } from "../../_assert.ts";
import { native } from "../../_native.ts";
import { assertReplayRejects, testRandom } from "../_helpers.ts";

type Random = (below: number) => number;

// deno-lint-ignore explicit-function-return-type
async function newReplay(seed: number, evictsAtRandom: boolean) {
  const replay = await ExperienceReplay.create({
    capacity: 400,
    state: float32(600), // more than 1 KiB: on a shared replay such rows are copied without the lock
    extras: { note: float32(2) },
    eviction: evictsAtRandom ? reservoir() : fifo(),
    seed,
  });
  return { replay, selector: replay.newPickSelector(prioritized()), open: [replay.newEpisode()] };
}
type Used = Awaited<ReturnType<typeof newReplay>>;

/** Some calls of an actor and of a learner; all are made of `random`. */
function use({ replay, selector, open }: Used, random: Random, steps: number): void {
  const state = new Float32Array(600);
  for (let step = 0; step < steps; step++) {
    const what = random(60);
    const at = random(open.length);
    if (what === 0) replay.clear();
    if (what === 1 && open.length < 5) open.push(replay.newEpisode());
    const ends = what < 6 ? { finalState: state.fill(random(1000)) } : {};
    const note = [random(9), step];
    const options = { ...ends, extras: { note } };
    open[at] = replay.record(open[at] ?? 0, state.fill(random(1000)), random(3), 1, options);
    if (what < 6) open[at] = replay.newEpisode();
    if (what > 50 && replay.pickCount > 0) {
      const batch = replay.getBatch(4, selector);
      replay.setPriority(selector, batch, batch.reward.map(() => random(7)));
      // The states of four records change, and the notes of their next ones.
      if (what > 55) replay.update(batch, { state: batch.state.fill(random(1000)) });
      const next = batch.pickPosition.map((position) => Math.max(0, position - 1));
      if (what > 57) {
        replay.update(batch.pickEpisode, next, { extras: { note: new Float32Array(8) } });
      }
    }
  }
}

/** Snapshots are compared as a whole: a list of all bytes that differ would be too long. */
function assertSame(actual: Uint8Array, expected: Uint8Array): void {
  assertEquals(actual.length, expected.length);
  assert(actual.every((byte, k) => byte === expected[k]), "the snapshots differ");
}

/** What a save to a stream gives, while `meanwhile` is called at each piece. */
async function streamed(
  replay: Used["replay"],
  meanwhile: () => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  const sink = new WritableStream<Uint8Array<ArrayBuffer>>({
    write(piece): void {
      pieces.push(piece);
      meanwhile();
    },
  });
  await replay.serialize(sink);
  return joinBytes(pieces);
}

for (const seed of [1, 2, 3, 4]) {
  Deno.test(`records, draws, priorities and evictions go on while a stream is written, seed ${seed}`, async () => {
    const evictsAtRandom = seed % 2 === 0;
    const [mine, twin] = await Promise.all([1, 2].map(() => newReplay(seed, evictsAtRandom)));
    using _both = new DisposableStack();
    assert(mine !== undefined && twin !== undefined);
    _both.use(mine.replay);
    _both.use(twin.replay);
    for (let round = 0; round < 5; round++) {
      const steps = 100 + 150 * round;
      const [random, same] = [1, 2].map(() => testRandom(100 * seed + round));
      assert(random !== undefined && same !== undefined);
      use(mine, random, steps);
      use(twin, same, steps);
      const bytes = await streamed(mine.replay, () => use(mine, random, 250));
      const expected = await streamed(twin.replay, () => {});
      assertSame(bytes, expected);
      using loaded = (await newReplay(9, evictsAtRandom)).replay;
      await loaded.unserialize(bytes);
      assertSame(await loaded.serialize(), bytes);
      // The twin makes up for it from the same snapshot on.
      await mine.replay.unserialize(bytes);
      await twin.replay.unserialize(bytes);
      mine.open.splice(0, Infinity, mine.replay.newEpisode());
      twin.open.splice(0, Infinity, twin.replay.newEpisode());
      const next = 1000 * seed + round;
      use(mine, testRandom(next), 50);
      use(twin, testRandom(next), 50);
      assertSame(await mine.replay.serialize(), await twin.replay.serialize());
    }
  });
}

Deno.test("a save that is given up lets its memory go, and the next one begins", async () => {
  const used = await newReplay(7, false);
  using replay = used.replay;
  const random = testRandom(7);
  let episode = replay.newEpisode();
  const state = new Float32Array(600);
  const fill = (): void => {
    for (let k = 0; k < 800; k++) {
      episode = replay.record(episode, state, 0, 0, { extras: { note: [1, 2] } });
    }
  };
  fill();
  const before = replay.memoryBytes;
  let during = 0;
  const broken = new WritableStream<Uint8Array>({
    write(): never {
      fill();
      during = replay.memoryBytes;
      throw new Error("disk full");
    },
  });
  await assertRejects(() => replay.serialize(broken), Error, "disk full");
  assert(during > before + 200 * 2400, `${during} and ${before}: the rows that went were kept`);
  assert(replay.memoryBytes <= 1.1 * before, `${replay.memoryBytes} and ${before}`);
  const held = new WritableStream<Uint8Array>({ write: () => use(used, random, 5) });
  held.getWriter();
  await assertRejects(() => replay.serialize(held), TypeError); // somebody else writes to it
  assert((await replay.serialize()).length > 0);
});

Deno.test("one save at a time, and nothing is loaded meanwhile", async () => {
  const used = await newReplay(3, false);
  using replay = used.replay;
  use(used, testRandom(3), 300);
  const expected = await replay.serialize();
  const { readable, writable } = new TransformStream<
    Uint8Array<ArrayBuffer>,
    Uint8Array<ArrayBuffer>
  >();
  const saving = replay.serialize(writable);
  await assertReplayRejects(replay.serialize(), "busy");
  await assertReplayRejects(replay.unserialize(expected), "busy");
  assertSame(await new Response(readable).bytes(), expected);
  await saving;
  assertSame(await replay.serialize(), expected);
});

native.test("a shared replay is saved while another seat records large rows", async () => {
  const used = await newReplay(5, false);
  using replay = used.replay;
  use(used, testRandom(5), 900);
  using other = await ExperienceReplay.attach(replay.share());
  let episode = other.newEpisode();
  const expected = await replay.serialize();
  const state = new Float32Array(600);
  const extras = { note: [1, 2] };
  const bytes = await streamed(replay, () => {
    for (let k = 0; k < 500; k++) episode = other.record(episode, state.fill(k), 0, 0, { extras });
  });
  assertSame(bytes, expected);
  using loaded = (await newReplay(9, false)).replay;
  await loaded.unserialize(bytes);
  assertSame(await loaded.serialize(), bytes);
});
