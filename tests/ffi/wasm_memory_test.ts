/**
 * A module whose memory cannot grow any more, in the middle of use. Each kind of call is tried with no memory, then with a little more,
 * until it gets through. After each failure the replay saves what it would have saved before. A native twin gets each call once, and both
 * stay equal, bit for bit.
 */
import {
  ExperienceReplay,
  float32,
  lfu,
  prioritized,
  rankBased,
  ReplayError,
  uniform,
} from "@exrp/replay";
import { assert, assertEquals, assertMatch } from "../_assert.ts";
import { openKernel } from "../../ffi/library.ts";

/** How many episodes are open before the calls. */
const EPISODES = 1500;
const SEED = Number(Deno.env.get("EXRP_WASM_SEED") ?? 261123);

/** The memory of the one module that all replays of this file share. */
const memory = await (async () => {
  const { instantiate } = WebAssembly;
  let found: WebAssembly.Memory | undefined;
  WebAssembly.instantiate = (async (bytes: BufferSource, imports?: WebAssembly.Imports) => {
    const made = await instantiate(bytes, imports);
    found = made.instance.exports.memory as WebAssembly.Memory;
    return made;
  }) as typeof instantiate;
  await openKernel({ backend: "wasm" });
  WebAssembly.instantiate = instantiate;
  if (found === undefined) throw new Error("the module has no memory");
  return found;
})();

/** Takes all that is left of the module's 4 GiB. No page of it is touched, so the machine gives nothing. */
async function endGrowth(): Promise<void> {
  memory.grow(65_535 - memory.buffer.byteLength / 65_536);
  // Any call of the kernel makes the binding see that the memory has grown.
  (await openKernel({ backend: "wasm" })).symbols.exrp_replay_count();
}

/** Replays that hold the free memory, the largest first. */
class Ballast {
  readonly #held: Disposable[] = [];

  /** Takes what is free, all but what the last `left` replays would have. */
  async take(left: number): Promise<void> {
    for (let capacity = 2 ** 21; capacity >= 1; capacity = Math.floor(capacity / 2)) {
      for (;;) {
        const options = { capacity, state: float32(4), backend: "wasm" } as const;
        const made = await ExperienceReplay.create(options).catch((error) => error);
        if (made instanceof ExperienceReplay) this.#held.push(made);
        else if (made.code === "memory") break;
        else throw made;
      }
    }
    for (let k = 0; k < left; k++) this.#held.pop()?.[Symbol.dispose]();
  }

  give(): void {
    for (const each of this.#held.splice(0)) each[Symbol.dispose]();
  }
}

// deno-lint-ignore explicit-function-return-type -- a long type that only this file uses
async function make(backend: "native" | "wasm") {
  const replay = await ExperienceReplay.create({
    ...{ capacity: 6000, state: float32(4), seed: SEED, backend, eviction: lfu() },
    pick: { length: 2, nStep: 2, allowShort: true },
  });
  const selectors = [uniform(), prioritized(), rankBased()].map((rule) =>
    replay.newPickSelector(rule)
  );
  return { replay, selectors };
}

type Side = Awaited<ReturnType<typeof make>>;

/** A replay in the middle of use, and what the calls need. */
interface Ready extends Side {
  /** Handles of open episodes. */
  readonly episodes: Float64Array;
  /** The picks of a batch, many times. */
  readonly picks: { readonly episode: Float64Array; readonly position: Int32Array };
  /** A snapshot of another replay. */
  readonly snapshot: Uint8Array;
}

/** Numbers from 0 to 1 that follow from a number. */
const value = (k: number): number => Math.abs(Math.sin(SEED + k * 12.9898));

// deno-lint-ignore explicit-function-return-type -- a long type that only this file uses
function steps(count: number) {
  return {
    state: Float32Array.from({ length: 4 * count }, (_, k) => value(k)),
    action: Int32Array.from({ length: count }, (_, k) => k),
    reward: Float32Array.from({ length: count }, (_, k) => value(k + 7)),
  };
}

function ready(side: Side, snapshot: Uint8Array): Ready {
  const { replay, selectors: [selector] } = side;
  assert(selector !== undefined);
  for (let k = 0; k < 40; k++) {
    replay.recordMany(replay.newEpisode(), { ...steps(50), finalState: [1, 2, 3, 4] });
  }
  const { pickEpisode, pickPosition } = replay.getBatch(8, selector);
  const picks = {
    episode: Float64Array.from({ length: 2 ** 18 }, (_, k) => pickEpisode[k % 8] ?? 0),
    position: Int32Array.from({ length: 2 ** 18 }, (_, k) => pickPosition[k % 8] ?? 0),
  };
  const episodes = Float64Array.from({ length: EPISODES }, () => replay.newEpisode());
  return { ...side, episodes, picks, snapshot };
}

/** A call, whose size is to grow with its number until it fails. */
type Kind = (on: Ready, turn: number) => unknown;

const byRule = (
  name: string,
  call: (on: Ready, rule: number, turn: number) => unknown,
): [string, Kind][] =>
  ["uniform", "prioritized", "rankBased"].map((
    rule,
    k,
  ) => [`${name} ${rule}`, (on, turn) => call(on, k, turn)]);

/** Calls of which thousands are made. */
const many: Readonly<Record<string, Kind>> = {
  newEpisode: ({ replay }) => replay.newEpisode(),
  record: ({ replay, episodes }, turn) =>
    replay.record(episodes[turn] ?? 0, [turn, 1, 2, 3], 1, 2, {
      ...{ finalState: [3, 4, 5, 6], priority: value(turn) },
    }),
  recordStep: ({ replay, episodes }, turn) =>
    replay.recordStep(episodes[turn] ?? 0, {
      ...{ state: [turn, 1, 2, 3], action: 1, reward: 2, nextState: [3, 4, 5, 6] },
      terminated: true,
    }),
  endEpisode: ({ replay, episodes }, turn) =>
    replay.endEpisode(episodes[turn] ?? 0, { finalState: [1, 2, 3, 4] }),
};

/** Calls whose size doubles. */
const few: Readonly<Record<string, Kind>> = {
  recordMany: ({ replay, episodes }, turn) =>
    replay.recordMany(episodes[turn] ?? 0, { ...steps(2 ** turn), finalState: [1, 2, 3, 4] }),
  recordBatch: ({ replay, episodes }, turn) => {
    const own = episodes.slice(0, 2 ** turn);
    const terminated = new Uint8Array(own.length).fill(1);
    const nextState = steps(own.length).state;
    const before = own.slice();
    try {
      const done = replay.recordBatch(own, { ...steps(own.length), nextState, terminated });
      episodes.set(own);
      return [done, ...own];
    } catch (error) {
      assertEquals(own, before);
      throw error;
    }
  },
  recordFlat: ({ replay, episodes }, turn) => {
    const terminated = Uint8Array.from({ length: 2 ** turn }, (_, k) => k % 2);
    const nextState = steps(2 ** turn).state;
    return replay.recordFlat(episodes[turn] ?? 0, { ...steps(2 ** turn), nextState, terminated });
  },
  ...Object.fromEntries(byRule("getBatch", ({ replay, selectors }, rule, turn) => {
    const selector = selectors[rule];
    assert(selector !== undefined);
    return replay.getBatch(2 ** turn, selector).bytes;
  })),
  ...Object.fromEntries(byRule("setPriority", ({ replay, selectors, picks }, rule, turn) => {
    const selector = selectors[rule];
    assert(selector !== undefined);
    const [episode, position] = [picks.episode, picks.position].map((all) =>
      all.subarray(0, 2 ** turn)
    ) as [Float64Array, Int32Array];
    const priority = Float32Array.from({ length: 2 ** turn }, (_, k) => value(k + turn));
    return replay.setPriority(selector, episode, position, priority);
  })),
  batches: async ({ replay, selectors }, turn) => {
    const [selector] = selectors;
    assert(selector !== undefined);
    for await (const { bytes } of replay.batches(2 ** turn, selector, { prefetch: 1 })) {
      return bytes;
    }
    return undefined;
  },
  getPriority: ({ replay, selectors, picks }, turn) => {
    const [, selector] = selectors;
    assert(selector !== undefined);
    const [episode, position] = [picks.episode, picks.position].map((all) =>
      all.subarray(0, 2 ** turn)
    ) as [Float64Array, Int32Array];
    return replay.getPriority(selector, episode, position);
  },
  newPickSelector: ({ replay }) => replay.newPickSelector(prioritized()).id,
  newPickView: ({ replay }, turn) => replay.newPickView({ length: 2 + turn }).id,
  serialize: ({ replay }) => replay.serialize(),
  unserialize: ({ replay, snapshot }) => replay.unserialize(snapshot),
  clear: ({ replay }) => replay.clear(),
};

/** The calls that need no memory, or only such as their arrays have in their rooms from the start. */
const frugal: readonly string[] = ["endEpisode", "clear", "newEpisode", "recordStep"];

/** Takes a call on a replay whose memory ends, and on its twin. Returns how often it failed. */
async function attempt(
  wasm: Ready,
  native: Ready,
  kind: Kind,
  turns: number,
  ballast: Ballast,
): Promise<number> {
  let refusals = 0;
  let turn = 0;
  await ballast.take(0);
  const done: [number, unknown][] = [];
  const tried = async (): Promise<boolean> => {
    try {
      done.push([turn, await kind(wasm, turn)]);
      return true;
    } catch (error) {
      if (!(error instanceof ReplayError)) throw error;
      assertEquals(error.code, "memory", error.message);
      assertMatch(
        error.message,
        /^[a-zA-Z]+\(\): the call needs .* more, .* 4 GiB.*; nothing has changed; dispose/,
      );
      refusals++;
      return false;
    }
  };
  while (turn < turns && await tried()) turn++;
  ballast.give();
  const compare = async (): Promise<void> => {
    for (const [turn, result] of done.splice(0)) assertEquals(result, await kind(native, turn));
    assertSame(await wasm.replay.serialize(), await native.replay.serialize());
  };
  await compare();
  if (turn === turns) return 0;
  for (let left = 0;; left++) {
    await ballast.take(left);
    const isDone = await tried();
    ballast.give();
    await compare();
    if (isDone) return refusals;
  }
}

function assertSame(found: Uint8Array, expected: Uint8Array): void {
  assertEquals(found.length, expected.length);
  assertEquals(found.findIndex((byte, k) => byte !== expected[k]), -1);
}

/** A snapshot of a replay with other records. */
async function otherSnapshot(): Promise<Uint8Array> {
  const { replay } = await make("native");
  using _ = replay;
  replay.recordMany(replay.newEpisode(), steps(500));
  return await replay.serialize();
}

Deno.test("where the memory cannot grow, each kind of call says so and changes nothing, and the replay goes on", async (test) => {
  console.log(`EXRP_WASM_SEED=${SEED}`);
  const snapshot = await otherSnapshot();
  // The last memory that grows: room for the replays of the test.
  (await ExperienceReplay.create({ capacity: 2 ** 21, state: float32(4), backend: "wasm" }))
    [Symbol.dispose]();
  await endGrowth();
  const ballast = new Ballast();
  for (const [turns, kinds] of [[EPISODES, many], [18, few]] as const) {
    for (const [name, kind] of Object.entries(kinds)) {
      await test.step(name, async () => {
        const [wasm, native] = [await make("wasm"), await make("native")];
        using _wasm = wasm.replay;
        using _native = native.replay;
        try {
          const [one, other] = [ready(wasm, snapshot), ready(native, snapshot)];
          const refusals = await attempt(one, other, kind, turns, ballast);
          assertEquals(refusals > 0, !frugal.includes(name), `${refusals} refusals`);
        } finally {
          ballast.give();
        }
      });
    }
  }
});
