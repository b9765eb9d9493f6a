import { assert, assertEquals, assertRejects, assertStrictEquals } from "../../_assert.ts";
import { ExperienceReplay, float32, ReplayError, uniform } from "@exrp/replay";
import { assertReplayRejects } from "../_helpers.ts";
import { PATIENCE_MS } from "../../_wait.ts";

const options = { capacity: 100, state: float32() } as const;

/** Lets every task that is ready run. */
async function settle(): Promise<void> {
  for (let k = 0; k < 20; k++) await Promise.resolve();
}

/** A signal that counts its listeners. */
function countedSignal(): { controller: AbortController; listeners: () => number } {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const [add, remove] = [
    signal.addEventListener.bind(signal),
    signal.removeEventListener.bind(signal),
  ];
  signal.addEventListener = (...args: Parameters<typeof add>): void => {
    listeners++;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>): void => {
    listeners--;
    remove(...args);
  };
  return { controller, listeners: () => listeners };
}

for (const backend of ["native", "wasm"] as const) {
  Deno.test(`waitFor on ${backend}: every call that changes the number wakes it, with the count`, async () => {
    using replay = await ExperienceReplay.create({ ...options, backend });
    const zeros = { action: [0, 0], reward: [0, 0] };
    let episode = 0;
    const handles = new Float64Array(2);
    const steps: [Parameters<typeof replay.waitFor>[0], () => void, number][] = [
      [{ episodes: 1 }, () => void (episode = replay.newEpisode()), 1],
      [{ records: 1 }, () => void (episode = replay.record(episode, 0, 0, 0)), 1],
      [{ records: 2 }, () => {
        const step = { state: 1, action: 0, reward: 0, terminated: false, nextState: 2 };
        episode = replay.recordStep(episode, step);
      }, 2],
      [{ picks: 2 }, () => {
        episode = replay.recordMany(episode, { state: [2, 3], ...zeros });
      }, 3],
      [{ picks: 4 }, () => void replay.endEpisode(episode, { finalState: 4 }), 4],
      [{ recorded: 5 }, () => {
        handles[0] = replay.newEpisode();
        handles[1] = replay.newEpisode();
        replay.recordBatch(handles, { state: [0, 1], ...zeros });
      }, 6],
      [{ recorded: 7 }, () => {
        replay.clear();
        replay.recordFlat(replay.newEpisode(), { state: [0, 1], ...zeros });
      }, 8],
    ];
    for (const [wanted, change, count] of steps) {
      let got: number | undefined;
      const waiting = replay.waitFor(wanted).then((number) => got = number);
      await settle();
      assertStrictEquals(got, undefined, JSON.stringify(wanted));
      change();
      await settle();
      assertStrictEquals(got, count, JSON.stringify(wanted));
      await waiting;
    }
    assertStrictEquals(await replay.waitFor({ records: 1 }), 2); // as it is
  });
}

Deno.test("waitFor: a snapshot that brings the records ends the wait, also one from a stream", async () => {
  using full = await ExperienceReplay.create(options);
  full.record(full.newEpisode(), 1, 0, 0, { finalState: 2 });
  const bytes = await full.serialize();
  for (const source of [bytes, new Blob([bytes]).stream()]) {
    using replay = await ExperienceReplay.create(options);
    const loading = replay.unserialize(source);
    const waiting = replay.waitFor({ records: 1, timeoutMs: PATIENCE_MS }); // also while the replay is busy
    await loading;
    assertStrictEquals(await waiting, 1);
  }
});

Deno.test("waitFor: abort, timeout and disposal end it, and leave no listener and no timer", async () => {
  using replay = await ExperienceReplay.create(options);
  replay.record(replay.newEpisode(), 1, 0, 0, { finalState: 2 });
  const { controller, listeners } = countedSignal();
  const { signal } = controller;

  const late = await assertReplayRejects(
    replay.waitFor({ records: 5, timeoutMs: 5, signal }),
    "timeout",
  );
  assertEquals(
    late.message,
    "waitFor(): records was to be at least 5 within 5 ms, but it is 1 (records stored now)",
  );
  assertStrictEquals(listeners(), 0);

  const inTime = replay.waitFor({ records: 2, timeoutMs: 2 ** 31 - 1, signal });
  await settle();
  assertStrictEquals(listeners(), 1);
  replay.record(replay.newEpisode(), 1, 0, 0, { finalState: 2 });
  await inTime; // Deno's test fails if the timer is left behind
  assertStrictEquals(listeners(), 0);

  const aborted = replay.waitFor({ records: 5, signal });
  await settle();
  controller.abort(new Error("enough"));
  await assertRejects(() => aborted, Error, "enough");
  await assertRejects(() => replay.waitFor({ records: 1, signal }), Error, "enough");
  assertStrictEquals(listeners(), 0);

  const disposed = replay.waitFor({ episodes: 9 });
  await settle();
  replay[Symbol.dispose]();
  await assertReplayRejects(disposed, "disposed");
  await assertReplayRejects(replay.waitFor({ episodes: 9 }), "disposed");
});

Deno.test("waitFor refuses what it can't wait for", async () => {
  using replay = await ExperienceReplay.create(options);
  const loose = replay as { waitFor(options: unknown): Promise<number> };
  for (
    const [wrong, kind, text] of [
      [{}, TypeError, "takes one of records, recorded, picks and episodes, got none"],
      [{ records: 1, picks: 1 }, TypeError, "got records and picks"],
      [{ record: 1 }, TypeError, "did you mean records?"],
      [{ records: 0 }, RangeError, "records (at most the capacity)"],
      [{ records: 101 }, RangeError, "100"],
      [{ picks: 1.5 }, RangeError, "picks"],
      [{ records: "1" }, TypeError, "records"],
      [{ records: 1, timeoutMs: -1 }, RangeError, "timeoutMs"],
      [{ records: 1, signal: {} }, TypeError, "AbortSignal"],
      [5, TypeError, "options"],
    ] as const
  ) {
    await assertRejects(() => loose.waitFor(wrong), kind, text);
  }
});

Deno.test("whenReady: a learner waits for the first pick, and an on-policy one for its steps", async () => {
  using replay = await ExperienceReplay.create(options);
  const selector = replay.newPickSelector(uniform());
  let calls = 0;
  const drawn = replay.whenReady(() => {
    calls++;
    return replay.getBatch(4, selector);
  });
  const drained = replay.whenReady(() => replay.drain({ steps: 2, keep: true }));
  await settle();
  let episode = replay.record(replay.newEpisode(), 0, 0, 0);
  await settle();
  episode = replay.record(episode, 1, 0, 0, { finalState: 2 });
  assertStrictEquals((await drawn).size, 4);
  assertEquals([...(await drained).state], [0, 1]);
  assert(calls >= 3 && calls <= 4, String(calls)); // once at first, and once after each change: no polling
  assertStrictEquals(await replay.whenReady(() => replay.recordCount), 2);
});

Deno.test("whenReady: other errors end it, and a timeout says what the call said", async () => {
  using replay = await ExperienceReplay.create(options);
  const selector = replay.newPickSelector(uniform());
  await assertRejects(
    () => replay.whenReady(() => replay.getBatch(0, selector)),
    RangeError,
  );
  const late = await assertReplayRejects(
    replay.whenReady(() => replay.getBatch(1, selector), { timeoutMs: 5 }),
    "timeout",
  );
  assert(late.message.startsWith("whenReady(): the replay was not ready within 5 ms: getBatch()"));
  assert(late.cause instanceof ReplayError && late.cause.code === "empty");
  const tooFew = await assertReplayRejects(
    replay.whenReady(() => replay.drain({ steps: 5 }), { timeoutMs: 5 }),
    "timeout",
  );
  const numbers =
    `there are too few steps: the replay has ${replay.recordCount} records in ${replay.episodeCount} episodes`;
  assert(tooFew.message.endsWith(numbers), tooFew.message);
  await assertRejects(
    () => replay.whenReady(() => Promise.reject(new Error("never seen"))),
    TypeError,
    "returned a Promise",
  );
  const loose = replay as { whenReady(call: unknown, options?: unknown): Promise<unknown> };
  await assertRejects(() => loose.whenReady(5), TypeError, "takes a function");
  await assertRejects(() => loose.whenReady(() => 1, { timeout: 5 }), TypeError, "timeoutMs");
  const disposed = replay.whenReady(() => replay.getBatch(1, selector));
  await settle();
  replay[Symbol.dispose]();
  await assertReplayRejects(disposed, "disposed");
});

Deno.test("a program whose only task is a wait that nothing can end does not stay alive", async () => {
  const program = `
    import { ExperienceReplay, float32 } from "@exrp/replay";
    const replay = await ExperienceReplay.create({ capacity: 10, state: float32() });
    replay.waitFor({ records: 1 });
    console.log("end");`;
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--quiet", "--config", "deno.json", program],
    stdout: "piped",
    stderr: "null",
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).output();
  assertEquals([code, new TextDecoder().decode(stdout)], [0, "end\n"]);
});
