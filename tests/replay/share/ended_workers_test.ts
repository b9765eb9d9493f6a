/**
 * Workers that are ended at random moments while they record, draw, drain, hold the replay, attach and make selectors: the replay works on,
 * no lock is held, and nothing is left of them.
 *
 * `EXRP_SHARE_ENDS` says how many Workers, `EXRP_SHARE_SEED` with which seed.
 */
import { assert, assertEquals, assertStrictEquals } from "../../_assert.ts";
import { ExperienceReplay, highestPriority, uniform } from "@exrp/replay";
import { ReplayHandle } from "../../../ffi/handle.ts";
import { openKernel } from "../../../ffi/library.ts";
import { testRandom } from "../_helpers.ts";
import { checkWhole, type HashedReplay, schemaOf, stateOf, stepsOf, WIDE } from "./_rows.ts";
import { newStop, start } from "./_workers.ts";
import { pause, until } from "../../_wait.ts";
import { native } from "../../_native.ts";

const ENDS = Number(Deno.env.get("EXRP_SHARE_ENDS") ?? 48);
const SEED = Number(Deno.env.get("EXRP_SHARE_SEED") ?? 261123);
const AT_ONCE = 12;
const CAPACITY = 4000;

/** Looks until the replay has one seat again. */
function untilAlone(replay: HashedReplay): Promise<void> {
  return until("the replay has one seat", () => replay.describe().seatCount === 1);
}

native.test(`${ENDS} Workers are ended at random moments of their calls (seed ${SEED})`, async () => {
  const below = testRandom(SEED);
  const kernel = await openKernel();
  using replay: HashedReplay = await ExperienceReplay.create({
    capacity: CAPACITY,
    ...schemaOf(WIDE),
    seed: SEED,
  });
  const own = replay.newPickSelector(uniform());
  replay.newPickSelector(highestPriority());
  const task = {
    ticket: replay.share(),
    call: "churn",
    count: 0,
    wide: WIDE,
    stop: newStop(),
  } as const;
  // It is full from the first Worker on, so that its memory shows what they leave.
  for (let k = 0; k < 8; k++) {
    const steps = stepsOf([1000, k], 0, CAPACITY / 4, WIDE);
    replay.recordMany(replay.newEpisode(), {
      ...steps,
      finalState: stateOf(1000, k, CAPACITY / 4),
    });
  }
  // An episode of this thread goes on through all of it.
  const kept = replay.newEpisode();
  const idsBefore = kernel.symbols.exrp_replay_count();
  const memory: number[] = [];
  let reaped = 0;
  for (let first = 0; first < ENDS; first += AT_ONCE) {
    const count = Math.min(AT_ONCE, ENDS - first);
    const workers = Array.from({ length: count }, (_, k) =>
      start({
        ...task,
        worker: first + k,
        seed: SEED + first + k,
        holds: below(3) === 0,
        makes: first === 0,
      }));
    for (const { result } of workers) result.catch(() => {});
    await Promise.race([
      // Every fourth may be ended while it starts, or attaches.
      Promise.all(workers.filter((_, k) => k % 4 > 0).map(({ ready }) => ready)),
      ...workers.map(({ result }) => result),
    ]);
    for (const { end } of workers) {
      await pause(below(20));
      if (replay.pickCount > 0) checkWhole(replay.getBatch(64, own));
      end();
    }
    await untilAlone(replay);
    reaped += replay.reap();
    memory.push(replay.memoryBytes);
  }
  // Each that was ready had a seat or more.
  assert(reaped >= ENDS * 3 / 4, `${reaped} seats were taken back`);
  assertStrictEquals(kernel.symbols.exrp_replay_count(), idsBefore);
  // Their episodes have ended, and those of this thread have not.
  for (const handle of replay.episodes().handle) {
    assertStrictEquals(replay.episode(handle).ending === "open", handle === kept);
  }
  // The views and selectors of the first Workers stay, and fill up. Nothing of the later ones does.
  const [, early, ...late] = memory;
  if (early !== undefined) {
    assert(late.every((bytes) => bytes < 1.5 * early), `memory grew: ${memory}`);
  }

  // The kernel finds no invariant broken, whichever selectors were half made.
  using seat = ReplayHandle.attach(kernel, Float64Array.from(task.ticket.numbers));
  const broken = new Int32Array(1);
  assertStrictEquals(kernel.symbols.exrp_replay_check(seat.id, broken), 0);
  assertStrictEquals(broken[0], 0);
  const { selectors } = replay.stats();
  assertEquals(selectors.length, replay.selectors.length);
  replay.record(kept, [1, 2, 3, 4], 0, 0, {
    extras: { wide: new Uint8Array(WIDE) },
    finalState: [1, 2, 3, 5],
  });
  for (const selector of replay.selectors) {
    const batch = replay.getBatch(8, selector);
    assertStrictEquals(replay.setPriority(selector, batch, new Float32Array(8)), 8);
  }
  using loaded: HashedReplay = await ExperienceReplay.create({
    capacity: CAPACITY,
    ...schemaOf(WIDE),
  });
  await loaded.unserialize(await replay.serialize());
  assertStrictEquals(loaded.recordCount, replay.recordCount);
  assertStrictEquals(replay.evict(kept), true);
  replay.clear();
  assertStrictEquals(replay.recordCount, 0);
});

native.test(`Workers whose ticket is revoked under load hear of it (seed ${SEED})`, async () => {
  using replay: HashedReplay = await ExperienceReplay.create({
    capacity: CAPACITY,
    ...schemaOf(WIDE),
  });
  replay.newPickSelector(uniform());
  const ticket = replay.share();
  const task = { ticket, call: "churn", count: 0, wide: WIDE, stop: newStop() } as const;
  const workers = [0, 1, 2].map((worker) => start({ ...task, worker, seed: SEED + worker }));
  await Promise.all(workers.map(({ ready }) => ready));
  replay.revoke(ticket);
  for (const { result } of workers) {
    const error = await result.then(() => "none", String);
    // Some of their calls attach once more.
    assert(/revoked: |the ticket was revoked/.test(error), error);
  }
  await untilAlone(replay);
  for (const handle of replay.episodes().handle) {
    assert(replay.episode(handle).ending !== "open");
  }
});
