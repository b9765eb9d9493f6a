/**
 * Many Workers at one replay: nothing is lost, doubled or torn, and each Worker's records are in the order in which it wrote them.
 *
 * `EXRP_SHARE_RECORDS` says how many records each Worker writes, `EXRP_SHARE_SEED` with which seed.
 */
import { assertEquals, assertStrictEquals } from "../../_assert.ts";
import { amount } from "../../_amount.ts";
import { ExperienceReplay, mixture, prioritized, uniform } from "@exrp/replay";
import {
  checkStored,
  checkWhole,
  type HashedReplay,
  NARROW,
  schemaOf,
  Seen,
  WIDE,
} from "./_rows.ts";
import { newStop, start, type Task } from "./_workers.ts";
import { PATIENCE_MS, pause } from "../../_wait.ts";
import { native } from "../../_native.ts";

const RECORDS = Number(Deno.env.get("EXRP_SHARE_RECORDS") ?? amount(5_000, 25_000));
const SEED = Number(Deno.env.get("EXRP_SHARE_SEED") ?? 261123);
const WORKERS = 8;

/** A replay that holds the records of all Workers, and the tasks of those who write them. */
async function begin(
  recordsEach: number,
  wide: number,
): Promise<{ replay: HashedReplay; tasks: Task[] }> {
  const replay = await ExperienceReplay.create({
    capacity: WORKERS * recordsEach,
    ...schemaOf(wide),
    seed: SEED,
  });
  const stop = newStop();
  const ticket = replay.share();
  const tasks = Array.from({ length: WORKERS }, (_, worker): Task => (
    { ticket, call: "record", worker, seed: SEED + worker, wide, count: recordsEach, stop }
  ));
  return { replay, tasks };
}

for (
  const [what, recordsEach, wide] of [
    ["small rows", RECORDS, NARROW],
    ["large rows", Math.min(RECORDS, 3000), WIDE],
  ] as const
) {
  const name =
    `${WORKERS} Workers record ${recordsEach} ${what} each, while others draw and set priorities`;
  native.test(`${name} (seed ${SEED})`, () => recordAndDraw(recordsEach, wide));
}

/** The rewards of an episode are 0, 1, 2, …, so its length and its return belong together. They are of one moment. */
function checkListed(replay: HashedReplay): void {
  const { length, return: sums } = replay.episodes({ discount: 1 });
  assertEquals(sums, Float64Array.from(length, (count) => (count * count - count) / 2));
}

/** Lets Workers record while others draw, and looks at every record afterwards. */
async function recordAndDraw(recordsEach: number, wide: number): Promise<void> {
  const { replay, tasks: [first, ...others] } = await begin(recordsEach, wide);
  using _replay = replay;
  if (first === undefined) throw new Error("no task");
  const leaf = replay.newPickSelector(prioritized());
  const halves = replay.newPickSelector(mixture([
    { selector: leaf, share: 1 },
    { rule: uniform(), share: 2 },
  ]));
  const learner = start({ ...first, call: "learn", worker: 100 });
  const actors = [first, ...others].map(start);
  let isDone = false;
  const written = Promise.all(actors.map(({ result }) => result)).finally(() => isDone = true);
  while (!isDone) {
    checkListed(replay);
    if (replay.pickCount > 0) {
      const batch = replay.getBatch(64, halves);
      checkWhole(batch);
      replay.setPriority(halves, batch, new Float32Array(64).fill(1));
    }
    await pause(1);
  }
  const reports = await written as [handle: number, length: number][][];
  Atomics.store(first.stop, 0, 1);
  await learner.result;

  assertEquals(checkStored(replay), new Array(WORKERS).fill(recordsEach));
  for (const [worker, report] of reports.entries()) {
    for (const [k, [handle, length]] of report.entries()) {
      const { state, size } = replay.episodeRecords(handle);
      assertEquals([state[0], state[1], size], [worker, k, length]);
    }
  }
  const { recordCount, recordedCount, evictedCount, seatCount } = replay.describe();
  assertEquals([recordCount, recordedCount], [WORKERS * recordsEach, WORKERS * recordsEach]);
  assertEquals([evictedCount, seatCount, replay.reap()], [0, 1, 0]);
}

native.test(`two learners drain what ${WORKERS} Workers record: each step once, in order (seed ${SEED})`, async () => {
  const { replay, tasks } = await begin(Math.min(RECORDS, 10_000), NARROW);
  using _replay = replay;
  const [first] = tasks;
  if (first === undefined) throw new Error("no task");
  const learner = start({ ...first, call: "drain", worker: 100 });
  const actors = tasks.map(start);
  let isDone = false;
  const written = Promise.all(actors.map(({ result }) => result)).finally(() => isDone = true);
  const own: Int32Array[] = [];
  for (;;) {
    const isLast = isDone;
    const steps = replay.drain({ minSteps: 100 });
    checkWhole(steps);
    assertStrictEquals(steps.lost, 0);
    if (steps.size > 0) own.push(steps.state.slice());
    else if (isLast) break;
    await pause(0);
  }
  await written;
  Atomics.store(first.stop, 0, 1);
  const others = await learner.result as Int32Array[];
  const rest = replay.drain();
  assertStrictEquals(rest.lost, 0);
  const steps = [...own, ...others, rest.state.slice()].flatMap((states) =>
    Array.from({ length: states.length / 4 }, (_, k) => states.subarray(4 * k, 4 * k + 4))
  );
  steps.sort((a, b) =>
    (a[0] ?? 0) - (b[0] ?? 0) || (a[1] ?? 0) - (b[1] ?? 0) || (a[2] ?? 0) - (b[2] ?? 0)
  );
  const seen = new Seen();
  for (const step of steps) seen.add(step);
  assertEquals(seen.counts, new Array(WORKERS).fill(tasks[0]?.count));
  assertStrictEquals(replay.recordCount, 0);
});

native.test(`a snapshot while ${WORKERS} Workers record is whole, and loads (seed ${SEED})`, async () => {
  const { replay, tasks } = await begin(Math.min(RECORDS, 25_000), NARROW);
  using _replay = replay;
  const selector = replay.newPickSelector(prioritized());
  const actors = tasks.map(start);
  await replay.waitFor({ records: 1000, timeoutMs: PATIENCE_MS });
  const snapshots = [await replay.serialize()];
  const path = await Deno.makeTempFile();
  await replay.serialize(path);
  snapshots.push(await Deno.readFile(path));
  await Deno.remove(path);
  const pieces: Uint8Array[] = [];
  await replay.serialize(
    new WritableStream<Uint8Array>({
      async write(piece): Promise<void> {
        pieces.push(piece);
        // A slow reader holds nobody up.
        await pause(1);
      },
    }),
  );
  snapshots.push(new Uint8Array(await new Blob(pieces as Uint8Array<ArrayBuffer>[]).arrayBuffer()));
  await Promise.all(actors.map(({ result }) => result));
  let before = 0;
  for (const snapshot of snapshots) {
    using loaded = await ExperienceReplay.create({
      capacity: replay.capacity,
      ...schemaOf(NARROW),
    });
    await loaded.unserialize(snapshot);
    const counts = checkStored(loaded);
    const stored = counts.reduce((sum, count) => sum + count, 0);
    assertStrictEquals(stored, loaded.recordCount);
    assertStrictEquals(stored >= before, true);
    before = stored;
    checkWhole(loaded.getBatch(100, loaded.selectors[selector.id] ?? selector));
  }
});
