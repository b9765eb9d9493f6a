/** `update`: what later batches, drains and snapshots show of it, what it refuses, and other threads. */
import { assert, assertEquals, assertStrictEquals, assertThrows } from "../../_assert.ts";
import { every, ExperienceReplay, float32, int32, prioritized, uint8, uniform } from "@exrp/replay";
import { native } from "../../_native.ts";
import { pause } from "../../_wait.ts";
import { assertReplayError } from "../_helpers.ts";
import { loose } from "../record/_record_helpers.ts";

// deno-lint-ignore explicit-function-return-type
async function smallReplay(options: { frozen?: readonly string[]; checkFinite?: boolean } = {}) {
  const replay = await ExperienceReplay.create({
    capacity: 100,
    state: float32(2),
    extras: { value: float32(), hidden: every(4, float32(2)) },
    pick: { nStep: 2, discount: 0.5 },
    seed: 3,
    ...options,
  });
  const episode = replay.newEpisode();
  for (let t = 0; t < 6; t++) {
    const extras = { value: t, hidden: [t, t] };
    const ending = t === 5 ? { finalState: [6, 6] } : {};
    replay.record(episode, [t, t], t, t, { extras, ...ending });
  }
  return { replay, episode, selector: replay.newPickSelector(prioritized()) };
}

Deno.test("later batches have the new values: states, next states, n-step returns; priorities stay", async () => {
  const { replay, episode, selector } = await smallReplay();
  using _replay = replay;
  replay.setPriority(selector, [episode], [2], [7]);
  const before = replay.getPriority(selector, [episode, episode], [1, 2]);
  const updated = replay.update([episode, episode], [2, 3], {
    state: [20, 21, 30, 31],
    reward: [200, 300],
    action: Int32Array.of(9, 8),
  });
  assertStrictEquals(updated, 2);
  assertEquals(replay.getPriority(selector, [episode, episode], [1, 2]), before);
  const { state, reward, action, finalState } = replay.episodeRecords(episode);
  assertEquals([...state], [0, 0, 1, 1, 20, 21, 30, 31, 4, 4, 5, 5]);
  assertEquals([...reward], [0, 1, 200, 300, 4, 5]);
  assertEquals([...action], [0, 1, 9, 8, 4, 5]);
  assertEquals([...finalState ?? []], [6, 6]);
  const single = replay.newPickView({}).newPickSelector(uniform());
  const { nextState, pickPosition } = replay.getBatch(64, single);
  const one = pickPosition.indexOf(1);
  assertEquals([...nextState.subarray(2 * one, 2 * one + 2)], [20, 21]);
  const batch = replay.getBatch(64, selector);
  const at = batch.pickPosition.indexOf(1);
  assert(at >= 0);
  assertStrictEquals(batch.nStep[0].reward[at], 1 + 0.5 * 200);
  assertEquals([...batch.nStep[0].nextState.subarray(2 * at, 2 * at + 2)], [30, 31]);
});

Deno.test("a batch names its records, and rows without a record are ignored", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 100,
    state: int32(),
    extras: { hidden: every(2, int32()) },
    pick: { length: 4, burnIn: 2, allowShort: true },
    seed: 1,
  });
  const selector = replay.newPickSelector(uniform());
  const episode = replay.newEpisode();
  for (let t = 0; t < 5; t++) {
    replay.record(episode, t, 0, 0, {
      extras: { hidden: t },
      ...(t === 4 ? { finalState: 5 } : {}),
    });
  }
  const batch = replay.getBatch(1, selector);
  const position = batch.pickPosition[0] ?? NaN;
  const first = Math.max(0, position - 2);
  const count = batch.seqLen[0] ?? NaN;
  const action = Int32Array.from({ length: 6 }, (_, row) => 100 + row);
  assertStrictEquals(replay.update(batch, { action, extras: { hidden: [77] } }), count);
  const { action: now, extras } = replay.episodeRecords(episode);
  assertEquals(
    [...now],
    [0, 1, 2, 3, 4].map((at) => at < first || at >= first + count ? 0 : 100 + at - first),
  );
  // The value of every second record is that of the pick's first row, or of the record before it that keeps one.
  const kept = first - first % 2;
  assertEquals(
    [...extras.hidden],
    [0, 0, 2, 2, 4].map((old, at) => at - at % 2 === kept ? 77 : old),
  );
});

Deno.test("records that are gone are skipped, and the last values of one that comes twice count", async () => {
  const { replay, episode } = await smallReplay();
  using _replay = replay;
  const other = replay.newEpisode();
  replay.record(other, [1, 1], 1, 1, { extras: { value: 1, hidden: [1, 1] }, finalState: [2, 2] });
  replay.evict(episode);
  const updated = replay.update([episode, other, other], [2, 0, 0], { reward: [5, 6, 7] });
  assertStrictEquals(updated, 2);
  assertStrictEquals(replay.episodeRecords(other).reward[0], 7);
  assertStrictEquals(replay.update([], [], { reward: [] }), 0);
});

Deno.test("what update() refuses changes nothing, and says what was needed", async () => {
  const { replay, episode, selector } = await smallReplay({ frozen: ["action", "extras.hidden"] });
  using _replay = replay;
  const all = JSON.stringify(replay.episodeRecords(episode));
  const update = loose(replay, "update");
  const refusals: [RegExp, ...unknown[]][] = [
    [/takes at least one column/, [episode], [0], {}],
    [/takes at least one column/, [episode], [0], { reward: undefined }],
    [/takes an object of options/, [episode], [0], 5],
    [/no option "rewards"; did you mean reward/, [episode], [0], { rewards: [1] }],
    [/extras has no option "vale"; did you mean value/, [episode], [0], { extras: { vale: [1] } }],
    [/reward is float32\(\) and takes 1 value for 1 step, got 2/, [episode], [0], {
      reward: [1, 2],
    }],
    [/reward\[0\] must be a number/, [episode], [0], { reward: ["1"] }],
    [/state is float32\(2\) and takes 2 values/, [episode], [0], { reward: [1], state: [1] }],
    [/as many episodes as positions, got 1 and 2/, [episode], [0, 1], { reward: [1] }],
    [/position\[0\] must not be negative, got -1/, [episode], [-1], { reward: [1] }],
    [/position\[0\] must be an integer/, [episode], [0.5], { reward: [1] }],
    [/action can't change/, [episode], [0], { reward: [1], action: [1] }],
    [/extras.hidden can't change/, [episode], [0], { extras: { hidden: [1, 1] } }],
    [/got a third argument/, replay.getBatch(1, selector), { reward: [1] }, {}],
  ];
  for (const [message, ...given] of refusals) {
    const error = assertThrows(() => update(...given));
    assert(error instanceof Error);
    assert(message.test(error.message), error.message);
    assert(error.message.startsWith("update()"), error.message);
  }
  assertReplayError(() => replay.update([episode], [6], { reward: [1] }), "record-unknown");
  assertReplayError(() => replay.update([99], [0], { reward: [1] }), "episode-unknown");
  assertReplayError(
    () => replay.update([episode, 99], [0, 0], { reward: [1, 1] }),
    "episode-unknown",
  );
  const { replay: foreign, selector: theirs } = await smallReplay();
  using _foreign = foreign;
  const batch = foreign.getBatch(1, theirs);
  assertThrows(() => replay.update(batch, { reward: [1] }), TypeError, "of another replay");
  assertStrictEquals(JSON.stringify(replay.episodeRecords(episode)), all);
  foreign[Symbol.dispose]();
  assertReplayError(() => foreign.update(batch, { reward: [1] }), "disposed");
  await assertFrozenNames();
});

async function assertFrozenNames(): Promise<void> {
  for (const frozen of [["rewards"], "reward", [1]]) {
    let message = "";
    try {
      using _replay = await smallReplay({ frozen: frozen as never }).then(({ replay }) => replay);
    } catch (error) {
      message = String(error);
    }
    assert(message.includes("frozen must"), message);
  }
}

Deno.test("update() holds to checkFinite, and refuses states that are stacks", async () => {
  const { replay, episode } = await smallReplay({ checkFinite: true });
  using _replay = replay;
  assertThrows(() => replay.update([episode], [0], { reward: [NaN] }), RangeError, "reward");
  assertStrictEquals(replay.update([episode], [0], { extras: { value: [NaN] } }), 1);
  const view = replay.newPickView({ stack: 2 });
  const batch = replay.getBatch(2, view.newPickSelector(uniform()));
  assertThrows(
    () => replay.update(batch, { state: new Float32Array(8) }),
    TypeError,
    "no single rows (stack)",
  );
  assertStrictEquals(replay.update(batch, { reward: [1, 2] }), 2);
});

Deno.test("update changes some leaves of a list, and TypeScript knows them", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 9,
    state: [float32(2), { speed: float32(), tilt: float32() }],
  });
  const finalState = [[0, 0], { speed: 0, tilt: 0 }] as const;
  replay.record(replay.newEpisode(), [[1, 2], { speed: 3, tilt: 4 }], 0, 0, { finalState });
  const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
  const stored = (): number[] => {
    const [place, { speed, tilt }] = replay.episodeRecords(0).state;
    return [...place, ...speed, ...tilt];
  };
  assertEquals(replay.update(batch, { state: [undefined, { tilt: [9] }] }), 1);
  assertEquals(stored(), [1, 2, 3, 9]);
  assertEquals(replay.update(batch, { state: [[7, 8]] }), 1);
  assertEquals(stored(), [7, 8, 3, 9]);
  assertThrows(
    // @ts-expect-error: there is no such leaf.
    () => replay.update(batch, { state: [undefined, { image: [1] }] }),
    TypeError,
    'state[1] has no part "image"',
  );
  assertThrows(
    // @ts-expect-error: the list has two parts.
    () => replay.update(batch, { state: [[1, 1], undefined, [1]] }),
    TypeError,
    "state must be a list of at most 2 parts, got 3",
  );
  assertEquals(stored(), [7, 8, 3, 9]);
});

Deno.test("a snapshot has the new values", async () => {
  const { replay, episode } = await smallReplay();
  using _replay = replay;
  replay.update([episode], [4], { reward: [44], extras: { hidden: [4, 5] } });
  const { replay: other } = await smallReplay();
  using _other = other;
  await other.unserialize(await replay.serialize());
  assertEquals(other.episodeRecords(episode), replay.episodeRecords(episode));
  assertStrictEquals(other.episodeRecords(episode).reward[4], 44);
});

native.test("a thread that draws sees all of a change or nothing, and frozen columns are known to it", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 64,
    state: uint8(64, 64), // such rows are copied without the lock
    frozen: ["action"],
    seed: 1,
  });
  replay.newPickSelector(uniform());
  const episode = replay.newEpisode();
  for (let t = 0; t < 65; t++) replay.record(episode, new Uint8Array(4096), 0, 0);
  const ticket = replay.share();
  {
    using guest = await ExperienceReplay.attach(ticket);
    assertThrows(
      () => loose(guest, "update")([episode], [9], { action: [1] }),
      TypeError,
      "action can't change",
    );
  }
  const worker = new Worker(new URL("./_update_worker.ts", import.meta.url), { type: "module" });
  const done = new Promise<{ torn: number; seen: number }>((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
  });
  let isDone = false;
  done.finally(() => isDone = true).catch(() => {});
  worker.postMessage({ ticket, batches: 3000 });
  const episodes = new Float64Array(64).fill(episode);
  const positions = Int32Array.from(episodes, (_, k) => k + 1);
  const reward = new Float32Array(64);
  const state = new Uint8Array(64 * 4096);
  for (let value = 1; !isDone; value++) {
    replay.update(episodes, positions, {
      state: state.fill(value % 251),
      reward: reward.fill(value),
    });
    if (value % 20 === 0) await pause(0);
  }
  const { torn, seen } = await done;
  worker.terminate();
  assertStrictEquals(torn, 0);
  assert(seen > 3, `only ${seen} values were seen`);
});
