/** A replay that several threads use: tickets, attaching, what is refused, and what the threads see of each other. */
import {
  assert,
  assertEquals,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "../../_assert.ts";
import {
  combined,
  every,
  ExperienceReplay,
  float32,
  highestPriority,
  int32,
  laber,
  lru,
  mixture,
  newest,
  prioritized,
  uint8,
  uniform,
} from "@exrp/replay";
import type { ShareTicket } from "@exrp/replay/types";
import { KeepBest } from "../../../examples/custom_eviction.ts";
import { Halving } from "../../../examples/custom_selector.ts";
import { ReplayHandle } from "../../../ffi/handle.ts";
import { openKernel } from "../../../ffi/library.ts";
import { readNote, writeNote } from "../../../replay/share/share_note.ts";
import { runProgram } from "../../ffi/_program.ts";
import { assertReplayError, assertReplayRejects } from "../_helpers.ts";
import { PATIENCE_MS } from "../../_wait.ts";
import { native } from "../../_native.ts";

const attach = (ticket: unknown) => ExperienceReplay.attach(ticket, { state: float32(2) });

native.test("what one thread records, every thread can draw, read, drain and set priorities of", async () => {
  using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(2), seed: 5 });
  const own = replay.newPickSelector(highestPriority());
  using guest = await attach(structuredClone(replay.share()));
  const [selector] = guest.selectors;
  if (selector === undefined) throw new Error("the guest has no selector");
  let episode = guest.newEpisode({ tag: 3 });
  episode = guest.record(episode, [1, 2], 0, 1);
  guest.record(episode, [3, 4], 1, 0, { finalState: [5, 6] });
  assertEquals([...replay.episodes().handle], [episode]);
  assertStrictEquals(replay.episode(episode).tag, 3);
  assertStrictEquals(guest.setPriority(selector, [episode], [1], [2]), 1);
  assertEquals([...replay.getPriority(own, [episode, episode], [0, 1])], [1, 2]);
  assertEquals([...replay.getBatch(8, own).pickPosition], new Array(8).fill(1));
  assertEquals(replay.episodeRecords(episode), guest.episodeRecords(episode));
  assertStrictEquals(replay.stats().drawnCount, 8);
  assertEquals([...guest.drain().state], [1, 2, 3, 4]);
  assertStrictEquals(replay.drain().size, 0);
  assertStrictEquals(replay.drain().lost, 0);
});

/** A small replay, and its ticket as a message brings it. */
async function shared(): Promise<{ replay: Shared; ticket: ShareTicket }> {
  const replay = await ExperienceReplay.create({ capacity: 100, state: float32(2), seed: 5 });
  return { replay, ticket: structuredClone(replay.share()) };
}

type Shared = Awaited<ReturnType<typeof attach>>;

native.test("an attached replay has the columns, options, pick views and selectors of the first one", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 500,
    state: uint8(2, 2),
    action: float32(3),
    extras: { hidden: every(4, float32(3)), goal: int32() },
    pick: { length: 3, allowShort: true, nStep: [1, 3], nextState: false },
    eviction: lru(),
    capacityBytes: 20_000,
    maxAge: 400,
    segmentLength: 50,
    blockLength: 8,
    checkFinite: true,
    keepNextState: false,
    seed: 11,
  });
  const first = replay.newPickSelector(prioritized({ alpha: 0.7, normalize: "view" }));
  replay.newPickView({ length: 2, where: { tag: [1, 2] } }).newPickSelector(uniform());
  replay.newPickSelector(mixture([{ rule: newest(), share: 1 }, { selector: first, share: 0.3 }]));
  replay.newPickSelector(combined({ newest: 2, rest: prioritized() }));
  using guest = await ExperienceReplay.attach(structuredClone(replay.share()) as ShareTicket);
  const { kernel: _kernel, backend: _backend, memory: _memory, ...description } = guest.describe();
  const { kernel, backend: _, memory: _own, ...expected } = replay.describe();
  assertEquals(description, expected);
  assertEquals([guest.describe().kernel, guest.describe().seatCount], [kernel, 2]);
  assertEquals(String(guest.columns.extras["hidden"]), "every(4, float32(3))");
  assertEquals(guest.selectors.map(String), replay.selectors.map(String));
  assertEquals(
    guest.pickViews.map(({ policy }) => policy),
    replay.pickViews.map(({ policy }) => policy),
  );
  assertStringIncludes(String(replay), "2 seats");
});

native.test("pick views and selectors that one thread makes are there for the others when they ask", async () => {
  const { replay, ticket } = await shared();
  using _replay = replay;
  using guest = await attach(ticket);
  using third = await attach(ticket);
  const view = guest.newPickView({ length: 2 });
  const selector = view.newPickSelector(highestPriority());
  const both = third.newPickSelector(mixture([
    { rule: uniform(), share: 1 },
    { rule: highestPriority(), share: 1 },
  ]));
  for (const each of [replay, guest, third]) {
    assertEquals(each.pickViews.map(({ policy: { length } }) => length), [1, 2]);
    assertEquals(each.selectors.map(({ kind }) => kind), [
      "highestPriority",
      "uniform",
      "highestPriority",
      "mixture",
    ]);
    assertEquals(each.selectors[both.id]?.parts.map(({ id }) => id), [1, 2]);
  }
  const episode = replay.newEpisode();
  replay.recordMany(episode, {
    state: [1, 1, 2, 2, 3, 3],
    action: [0, 0, 0],
    reward: [0, 0, 0],
    finalState: [4, 4],
  });
  const [, , , own] = replay.selectors;
  if (own === undefined) throw new Error("no selector");
  assertStrictEquals(replay.getBatch(8, own).size, 8);
  assertStrictEquals(guest.setPriority(selector, [episode], [0], [5]), 1);
  assertStrictEquals(replay.getPriority(replay.selectors[0] ?? own, [episode], [0])[0], 5);
  // The parts drew 4 each, whoever asks.
  assertEquals(guest.stats().selectors.map(({ drawnCount }) => drawnCount), [0, 4, 4, 8]);
  assertStrictEquals(third.stats().drawnCount, 8);
  // A selector of one object is no selector of another.
  assertReplayError(() => replay.getBatch(1, selector), "foreign-selector");
});

native.test("minibatches, hindsight, batches and snapshots work on an attached replay", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 100,
    state: float32(1),
    extras: { achieved: float32(1), desired: float32(1) },
    seed: 3,
  });
  replay.newPickSelector(uniform());
  using guest = await ExperienceReplay.attach(replay.share());
  guest.recordMany(guest.newEpisode(), {
    state: [0, 1, 2],
    action: [1, 1, 1],
    reward: [-1, -1, -1],
    extras: { achieved: [1, 2, 3], desired: [9, 9, 9] },
    finalState: [3],
  });
  assertEquals([...guest.minibatches(2)].map(({ size }) => size), [2, 1]);
  const hindsight = guest.newHindsight({
    achieved: "achieved",
    desired: "desired",
    share: 1,
    reward: (achieved, desired) => {
      // It may use the replay, and so may other threads meanwhile.
      assertStrictEquals(replay.recordCount, 3);
      return achieved.map((goal, k) => goal === desired[k] ? 0 : -1);
    },
  });
  const [selector] = guest.selectors;
  if (selector === undefined) throw new Error("no selector");
  const batch = guest.getBatch(16, guest.newPickSelector(uniform()));
  assertStrictEquals(hindsight.relabel(batch).count, 16);
  for await (const { size } of guest.batches(7, selector)) {
    assertStrictEquals(size, 7);
    break;
  }
  using loaded = await ExperienceReplay.create({
    capacity: 100,
    state: float32(1),
    extras: { achieved: float32(1), desired: float32(1) },
  });
  await loaded.unserialize(await guest.serialize());
  assertEquals(loaded.episodeRecords(0), replay.episodeRecords(0));
  assertStrictEquals(loaded.seed, 3);
});

native.test("a replay that was loaded and shared goes on as it was saved, on all threads", async () => {
  using before = await ExperienceReplay.create({ capacity: 100, state: float32(2), seed: 8 });
  const selector = before.newPickSelector(uniform());
  before.recordMany(before.newEpisode(), {
    state: [1, 1, 2, 2, 3, 3],
    action: [0, 0, 0],
    reward: [0, 0, 0],
    finalState: [4, 4],
  });
  before.getBatch(10, selector);
  before.drain({ steps: 1, keep: true });
  using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
  await replay.unserialize(await before.serialize());
  using guest = await attach(replay.share());
  assertStrictEquals(guest.seed, 8);
  assertEquals(guest.stats().selectors[0]?.drawnCount, 10);
  assertEquals([...guest.drain().state], [2, 2, 3, 3]);
  assertStrictEquals(replay.drain().size, 0);
});

native.test("a replay lives until the last one has left it", async () => {
  const { symbols } = await openKernel();
  const countBefore = symbols.exrp_replay_count();
  const { replay, ticket } = await shared();
  const guest = await attach(ticket);
  guest.record(guest.newEpisode(), [1, 2], 0, 0, { finalState: [3, 4] });
  replay[Symbol.dispose]();
  assertReplayError(() => replay.share(), "disposed");
  assertReplayError(() => replay.reap(), "disposed");
  assertReplayError(() => replay.revoke(ticket), "disposed");
  assertEquals(replay.selectors, []);
  assertStrictEquals(guest.recordCount, 1);
  // Whoever is left can let others in.
  using another = await attach(guest.share());
  using late = await attach(ticket);
  assertEquals([another.recordCount, late.describe().seatCount], [1, 3]);
  guest[Symbol.dispose]();
  another[Symbol.dispose]();
  late[Symbol.dispose]();
  assertStrictEquals(symbols.exrp_replay_count(), countBefore);
  const error = await assertReplayRejects(attach(ticket), "ticket");
  assertStringIncludes(error.message, "the replay of the ticket is gone");
});

native.test("the open episodes of one who leaves end as truncated, and those of others go on", async () => {
  const { replay, ticket } = await shared();
  using _replay = replay;
  const own = replay.newEpisode();
  const guest = await attach(ticket);
  let kept = guest.newEpisode();
  kept = guest.recordStep(kept, {
    state: [1, 1],
    action: 0,
    reward: 0,
    terminated: false,
    nextState: [2, 2],
  });
  guest[Symbol.dispose]();
  assertEquals([replay.episode(own).ending, replay.episode(kept).ending], ["open", "truncated"]);
  assertEquals(replay.episodeRecords(kept).finalState, Float32Array.of(2, 2));
});

native.test("very many open episodes of one who leaves end: in steps for each other episode, it would take hours", async () => {
  const [groups, size] = [128, 4096];
  const state = new Float32Array(size);
  const steps = {
    ...{ state, reward: state, nextState: state },
    action: new Int32Array(size),
    terminated: new Uint8Array(size),
  };
  using replay = await ExperienceReplay.create({ capacity: groups * size, state: float32() });
  const other = await ExperienceReplay.attach(replay.share(), { state: float32() });
  for (let group = 0; group < groups; group++) {
    const episodes = Float64Array.from(state, () => other.newEpisode());
    other.recordBatch(episodes, steps);
  }
  other[Symbol.dispose]();
  assertStrictEquals(replay.recordCount, groups * size);
  assertStrictEquals(replay.episode(groups * size - 1).ending, "truncated");
});

native.test("revoke() bars those who came by the ticket, and no others", async () => {
  const { replay, ticket } = await shared();
  using _replay = replay;
  const second: ShareTicket = replay.share();
  using guest = await attach(ticket);
  using other = await attach(second);
  const episode = guest.newEpisode();
  guest.record(episode, [1, 2], 0, 0);
  replay.revoke(ticket);
  for (
    const call of [
      () => guest.newEpisode(),
      () => guest.recordCount,
      () => guest.stats(),
      () => guest.drain(),
      () => guest.share(),
    ]
  ) {
    const error = assertReplayError(call, "revoked");
    assertStringIncludes(error.message, "the ticket by which this thread attached was revoked");
  }
  const error = await assertReplayRejects(attach(ticket), "ticket");
  assertStringIncludes(error.message, "the ticket was revoked");
  assertStrictEquals(other.newEpisode(), 1);
  replay.revoke(ticket); // once more does nothing
  using third = await shared().then(({ replay }) => replay);
  const foreign = assertReplayError(() => third.revoke(second), "ticket");
  assertStringIncludes(foreign.message, "the ticket is another replay's");
  assertThrows(() => replay.revoke({} as ShareTicket), TypeError, "takes a ticket");
  using alone = await ExperienceReplay.create({ capacity: 10, state: float32(2) });
  assertReplayError(() => alone.revoke(second), "ticket");
  assertStrictEquals(alone.reap(), 0);
});

/** Asserts that a call is rejected with a TypeError of this text. */
async function rejects(call: () => Promise<unknown>, text: string): Promise<void> {
  const error = await call().then(() => undefined, (reason: unknown) => reason);
  assert(error instanceof TypeError, `expected a TypeError, got ${error}`);
  assertStringIncludes(error.message, text);
}

native.test("attach() refuses what is no ticket, part by part", async () => {
  const { replay, ticket } = await shared();
  using _replay = replay;
  const { bell, board } = ticket;
  const none: readonly unknown[] = [
    undefined,
    7,
    {},
    "ticket",
    { ...ticket, numbers: [1, 2] },
    { ...ticket, numbers: [1, 2, -1] },
    { ...ticket, numbers: [NaN, 0, 0] },
    { ...ticket, kernelPath: 3 },
    { ...ticket, bell: new ArrayBuffer(bell.byteLength) },
    { ...ticket, board: new SharedArrayBuffer(8) },
    { bell, board, version: 1 },
  ];
  for (const value of none) await rejects(() => attach(value), "takes a ticket that share() gave");
  const later = await assertReplayRejects(attach({ ...ticket, version: 2 }), "ticket");
  assertStringIncludes(later.message, "the ticket has version 2");
  const [kernel, serial = 0, number = 0] = ticket.numbers;
  for (
    const numbers of [[kernel, serial + 1e6, number], [kernel, serial, 4000], [kernel, serial, 1e9]]
  ) {
    await assertReplayRejects(attach({ ...ticket, numbers }), "ticket");
  }
  assertStrictEquals(replay.describe().seatCount, 1);
});

native.test("attach() refuses a ticket of another kernel, and names its path", async () => {
  const { replay, ticket } = await shared();
  using _replay = replay;
  const folder = await Deno.makeTempDir();
  const kernelPath = `${folder}/another_kernel.so`;
  await Deno.copyFile(ticket.kernelPath, kernelPath);
  const error = await assertReplayRejects(attach({ ...ticket, kernelPath }), "ticket");
  assertStringIncludes(error.message, `in another kernel (number ${ticket.numbers[0]})`);
  assertStringIncludes(error.message, kernelPath);
  const missing = `${folder}/none.so`;
  await assertReplayRejects(attach({ ...ticket, kernelPath: missing }), "kernel-missing");
  assertStrictEquals(replay.describe().seatCount, 1);
  await Deno.remove(folder, { recursive: true });
});

native.test("what runs functions of one thread is refused at share(), and on a shared replay", async () => {
  using wasm = await ExperienceReplay.create({ capacity: 9, state: float32(2), backend: "wasm" });
  assertStringIncludes(
    assertReplayError(() => wasm.share(), "not-sharable").message,
    "share(): a replay of WebAssembly can't be shared, as each thread has a memory of its own; a replay of the native kernel can, in Deno (why this one has WebAssembly: the option backend)",
  );
  using evicting = await ExperienceReplay.create({
    capacity: 9,
    state: float32(2),
    eviction: new KeepBest(),
  });
  assertStringIncludes(
    assertReplayError(() => evicting.share(), "not-sharable").message,
    "share(): the eviction policy keepBest runs functions of this thread",
  );
  const score = (): number[] => [1];
  const ownMixture = { ...mixture([{ rule: uniform(), share: 1 }]) };
  for (const rule of [() => new Halving(), () => laber({ score }), () => ownMixture]) {
    using own = await ExperienceReplay.create({ capacity: 9, state: float32(2) });
    own.newPickSelector(rule());
    assertReplayError(() => own.share(), "not-sharable");
    const { replay } = await shared();
    using _replay = replay;
    const error = assertReplayError(() => replay.newPickSelector(rule()), "not-sharable");
    assertStringIncludes(error.message, "newPickSelector(): the rule");
    assertEquals(replay.selectors, []);
  }
  const { replay, ticket } = await shared();
  using _replay = replay;
  using guest = await attach(ticket);
  for (const each of [replay, guest]) {
    const error = await assertReplayRejects(each.unserialize(new Uint8Array(9)), "not-sharable");
    assertStringIncludes(error.message, "load it before you share the replay");
  }
});

native.test("too many tickets and selectors are refused, and nothing is lost", async () => {
  const { replay, ticket } = await shared();
  using _replay = replay;
  for (let k = 1; k < 4096; k++) replay.share();
  assertReplayError(() => replay.share(), "limit");
  const parts = [{ rule: uniform(), share: 1 }] as const;
  const [first] = replay.newPickSelector(mixture(parts)).parts;
  if (first === undefined) throw new Error("no part");
  const one = mixture([{ selector: first, share: 1 }]);
  while (replay.selectors.length < 512) replay.newPickSelector(one);
  assertReplayError(() => replay.newPickSelector(one), "limit");
  for (let k = 1; k < 16; k++) replay.newPickView({ length: 1 + k });
  assertReplayError(() => replay.newPickView({}), "limit");
  using guest = await attach(ticket);
  assertEquals([guest.selectors.length, guest.pickViews.length], [512, 16]);
  assertEquals(guest.selectors.map(String), replay.selectors.map(String));
});

native.test("each thread has random numbers of its own in TypeScript, which follow from the seed and the order of attaching", async () => {
  const orders = async (): Promise<string[]> => {
    const { replay, ticket } = await shared();
    using _replay = replay;
    replay.recordMany(replay.newEpisode(), {
      state: new Float32Array(40),
      action: new Int32Array(20),
      reward: new Float32Array(20),
      finalState: [0, 0],
    });
    using one = await attach(ticket);
    using two = await attach(ticket);
    return [replay, one, two].map((each) =>
      [...each.minibatches(20)].map((b) => [...b.pickPosition]).join()
    );
  };
  const first = await orders();
  assertStrictEquals(new Set(first).size, 3);
  assertEquals(await orders(), first);
});

native.test("whoever waits for a replay hears of what another thread records", async () => {
  const { replay, ticket } = await shared();
  using _replay = replay;
  using guest = await attach(ticket);
  const waiting = replay.waitFor({ records: 1, timeoutMs: PATIENCE_MS });
  guest.record(guest.newEpisode(), [1, 2], 0, 0, { finalState: [3, 4] });
  assertStrictEquals(await waiting, 1);
});

native.test("a thread that ended while it made a selector leaves no trace of it, and the numbers stay right", async () => {
  const { replay, ticket } = await shared();
  using _replay = replay;
  using guest = await attach(ticket);
  const first = replay.newPickSelector(highestPriority());
  const kernel = await openKernel();
  using seat = ReplayHandle.attach(kernel, Float64Array.from(ticket.numbers));
  // What such a thread has done by then: it noted a view, a selector and one that is made of both, and the kernel made none.
  const note = readNote("test", kernel, seat.id);
  const [view] = note.views;
  if (view === undefined) throw new Error("no view");
  const { kind: name, options, native: rule, numbers } = uniform();
  writeNote("test", kernel, seat.id, {
    ...note,
    views: [...note.views, { ...view, length: 3 }],
    selectors: [
      ...note.selectors,
      { name, options, view: 0, native: rule, numbers, parts: [] },
      { name: "mixture", options: { shares: "1" }, view: 0, numbers: [], parts: [1] },
    ],
  });
  // The message brought a copy of the ticket, and its board is the same memory.
  Atomics.add(new Int32Array(ticket.board, 0, 1), 0, 1);
  assertEquals([guest.selectors.length, guest.pickViews.length], [1, 1]);
  const second = guest.newPickView({ length: 2 }).newPickSelector(highestPriority());
  for (const each of [replay, guest]) {
    assertEquals(each.selectors.map(String), [first, second].map(String));
    assertEquals(each.pickViews.map(({ policy: { length } }) => length), [1, 2]);
  }
  const episode = replay.newEpisode();
  const steps = { state: [1, 1, 2, 2], action: [0, 0], reward: [0, 0], finalState: [3, 3] };
  replay.recordMany(episode, steps);
  assertEquals([...guest.getBatch(1, second).state], [1, 1, 2, 2]);
  using loaded = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
  await loaded.unserialize(await replay.serialize());
  assertEquals(loaded.selectors.map(String), replay.selectors.map(String));
});

native.test("an attached replay that is forgotten gives its seat back", async () => {
  const code = `
import { ExperienceReplay, float32 } from "@exrp/replay";
import { until } from "./tests/_wait.ts";
const replay = await ExperienceReplay.create({ capacity: 10, state: float32(1) });
const ticket = replay.share();
for (let k = 0; k < 20; k++) await ExperienceReplay.attach(ticket);
const before = replay.describe().seatCount;
await until("the seats are given back", () => {
  globalThis.gc();
  return replay.describe().seatCount <= 2;
});
console.log(before, true);
`;
  const { path } = await openKernel();
  const { out, error } = await runProgram(code, [`--allow-ffi=${path}`, "--v8-flags=--expose-gc"]);
  assertStrictEquals(out, "21 true", error);
});
