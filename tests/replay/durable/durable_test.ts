/** Durable replays: what opening asks for and refuses, what is kept, and what is found after damage. */
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "../../_assert.ts";
import {
  combined,
  ExperienceReplay,
  fifo,
  float32,
  lru,
  minSize,
  mixture,
  prioritized,
  samplesPerInsert,
  type Selector,
  uint8,
  uniform,
} from "@exrp/replay";
import type { EvictionPolicy } from "@exrp/replay/eviction";
import { onWasm } from "../../_native.ts";
import { assertReplayError, assertReplayRejects } from "../_helpers.ts";
import { withCopy, withFolder } from "./_folders.ts";

const OPTIONS = { capacity: 200, state: float32(2), seed: 3 } as const;

/** Runs a test with a folder of its own. */
function test(name: string, fn: (folder: string) => Promise<void>): void {
  Deno.test({
    name,
    fn: async () => {
      const folder = await Deno.makeTempDir();
      try {
        await fn(folder);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

type Small = Awaited<ReturnType<typeof small>>;

function small(folder: string): Promise<ExperienceReplay<typeof SCHEMA>> {
  return ExperienceReplay.open(folder, OPTIONS) as never;
}
const SCHEMA = {} as {
  readonly state: ReturnType<typeof float32<[2]>>;
};

/** Episodes of 1 to 9 steps, whose records are numbered. */
function fill(replay: Small, from: number, count: number): void {
  let episode = replay.newEpisode();
  for (let n = from; n < from + count; n++) {
    const ends = n % 9 === 0;
    episode = replay.record(episode, [n, -n], n % 3, n, ends ? { finalState: [n, 0] } : {});
    if (ends) episode = replay.newEpisode();
  }
}

/** The numbers of the stored records. */
function numbersOf(replay: Small): number[] {
  return [...replay.episodes().handle].flatMap((
    handle,
  ) => [...replay.episodeRecords(handle).reward])
    .map(Number).sort((a, b) => a - b);
}

function range(from: number, end: number): number[] {
  return Array.from({ length: end - from }, (_, k) => from + k);
}

/** The log's only file. */
function logOf(folder: string): string {
  const logs = [...Deno.readDirSync(folder)].filter(({ name }) => name.startsWith("log-"));
  assertEquals(logs.length, 1);
  return `${folder}/${logs[0]?.name}`;
}

test("a new folder needs options, and one with a replay needs none", async (folder) => {
  await assertRejects(() => ExperienceReplay.open(folder), TypeError, "give the options");
  {
    using replay = await small(folder);
    assertEquals(replay.durability?.recovered, undefined);
    fill(replay, 1, 50);
  }
  using replay = await ExperienceReplay.open<typeof SCHEMA>(folder);
  assertEquals(numbersOf(replay), range(1, 51));
  assertEquals(replay.capacity, 200);
});

test("options that differ are refused by name, and those that are the same are taken", async (folder) => {
  (await small(folder))[Symbol.dispose]();
  const refused = async (options: object, reason: RegExp): Promise<void> => {
    const error = await assertReplayRejects(
      ExperienceReplay.open(folder, { ...OPTIONS, ...options }),
      "log-mismatch",
    );
    assertMatch(error.message, reason);
  };
  await refused(
    { segmentLength: 30 },
    /segmentLength is 0 in the replay of .*, and 30 in the options/,
  );
  await refused(
    { state: float32(3) },
    /state is float32\(2\) in the replay of .*, and float32\(3\)/,
  );
  await refused({ eviction: lru() }, /eviction/);
  await refused({ pick: { length: 4 } }, /pick\.length is 1 /);
  await refused({ seed: 4 }, /seed/);
  const { seed: _, ...unseeded } = OPTIONS;
  (await ExperienceReplay.open(folder, unseeded))[Symbol.dispose]();
});

test("columns in another order are refused by that, and not by what follows from it", async (folder) => {
  const [a, b] = [float32(), float32()];
  const open = (state: object): Promise<unknown> =>
    ExperienceReplay.open(folder, {
      capacity: 9,
      state: state as never,
      pick: { stack: { a: 2 } },
    });
  (await open({ a, b }) as Disposable)[Symbol.dispose]();
  const error = await assertReplayRejects(open({ b, a }), "log-mismatch");
  assertMatch(
    error.message,
    /the order of the columns is state\.a, state\.b, action, reward in the replay of .*, and state\.b, state\.a, action/,
  );
});

test("options of the log are checked", async (folder) => {
  const open = (options: object) => () => ExperienceReplay.open(folder, { ...OPTIONS, ...options });
  await assertRejects(open({ flushIntervalMs: -1 }), RangeError, "flushIntervalMs");
  await assertRejects(open({ segmentBytes: 1000 }), RangeError, "segmentBytes");
  await assertRejects(open({ queueBytes: 1.5 }), RangeError, "queueBytes");
  await assertRejects(open({ whenDiskFails: "cry" }), TypeError, "whenDiskFails");
  await assertRejects(open({ flushInterval: 5 }), TypeError, "flushInterval");
  await assertRejects(() => ExperienceReplay.open(folder, null as never), TypeError, "got null");
  await assertRejects(() => ExperienceReplay.open(folder, 5 as never), TypeError, "got 5");
  await assertRejects(() => ExperienceReplay.open("", OPTIONS), TypeError, "directory");
});

test("a folder that is open can't be opened again, and can once it was disposed", async (folder) => {
  const first = await small(folder);
  await assertReplayRejects(small(folder), "log-taken");
  first[Symbol.dispose]();
  (await small(folder))[Symbol.dispose]();
});

test("flush() of a replay in memory, of one that is disposed, and two at once", async (folder) => {
  using memory = await ExperienceReplay.create(OPTIONS);
  await assertReplayRejects(memory.flush(), "file");
  const refused = await assertReplayRejects(memory.snapshot("a"), "file");
  assertMatch(refused.message, /in memory only/);
  assertEquals(memory.durability, undefined);
  const replay = await small(folder);
  fill(replay, 1, 20);
  await Promise.all([replay.flush(), replay.flush()]);
  await replay.flush();
  replay[Symbol.dispose]();
  replay[Symbol.dispose]();
  await assertReplayRejects(replay.flush(), "disposed");
});

test("rules of your own and snapshots are refused, and composed rules go on", async (folder) => {
  const eviction: EvictionPolicy = {
    name: "own",
    created: () => {},
    removed: () => {},
    victim: () => 0,
  };
  await assertReplayRejects(
    ExperienceReplay.open(`${folder}/a`, { ...OPTIONS, eviction }),
    "not-savable",
  );
  using twin = await ExperienceReplay.create({ ...OPTIONS, eviction: fifo() });
  const draws = (replay: typeof twin): number[][] =>
    replay.selectors.filter(({ kind }) => kind === "mixture" || kind === "combined")
      .map((selector) => [...replay.getBatch(30, selector).reward]);
  const begin = (replay: typeof twin): void => {
    replay.newPickSelector(mixture([
      { rule: uniform(), share: 1 },
      { rule: prioritized(), share: 2 },
    ]));
    replay.newPickSelector(combined({ newest: 3, rest: uniform() }));
    fill(replay as never, 1, 90);
  };
  begin(twin);
  draws(twin);
  {
    using replay = await small(folder) as unknown as typeof twin;
    begin(replay);
    draws(replay);
    const nothing = (): void => {};
    const sweep = {
      ...{ name: "sweep", select: nothing, setPriority: nothing },
      ...{ pushed: nothing, moved: nothing, popped: nothing },
    };
    assertReplayError(() => replay.newPickSelector(sweep as never), "not-savable");
    await assertReplayRejects(
      replay.unserialize(await twin.serialize()),
      "busy",
    );
  }
  using replay = await small(folder) as unknown as typeof twin;
  assertEquals(draws(replay), draws(twin));
  assertEquals(draws(replay), draws(twin));
  assertThrows(() => replay.newPickSelector({} as never), TypeError);
});

test("drained steps stay drained", async (folder) => {
  {
    using replay = await small(folder);
    fill(replay, 1, 40);
    assertEquals(replay.drain({ steps: 10 }).size, 10);
    await replay.flush();
  }
  using replay = await small(folder);
  const { reward } = replay.drain({ steps: 10 });
  assertEquals([...reward], range(11, 21));
});

test("the rate limiter goes on, with its counts, unless another one is given", async (folder) => {
  const countsOf = ({ rateLimiter }: Pick<ExperienceReplay, "rateLimiter">): unknown =>
    rateLimiter === undefined ? undefined : [rateLimiter.recorded, rateLimiter.drawn];
  const rateLimiter = samplesPerInsert(2, { minSize: 5, error: [0, 60] });
  {
    using replay = await ExperienceReplay.open(folder, { ...OPTIONS, rateLimiter });
    replay.newPickSelector(uniform());
    for (let n = 0; n < 8; n++) {
      replay.record(replay.newEpisode(), [n, n], 0, n, { finalState: [n, n] });
    }
    replay.getBatch(3, replay.selectors[0] as Selector);
    assertEquals(countsOf(replay), [8, 3]);
  }
  for (const options of [{}, { ...OPTIONS, rateLimiter }, { rateLimiter }, OPTIONS]) {
    using replay = await ExperienceReplay.open(folder, options as object);
    assertEquals(countsOf(replay), [8, 3]);
  }
  {
    using replay = await ExperienceReplay.open(folder, { rateLimiter: minSize(3) });
    assertEquals([replay.rateLimiter?.ratio, replay.rateLimiter?.minSize], [1, 3]);
    replay.setRateLimiter(undefined);
  }
  using replay = await ExperienceReplay.open(folder);
  assertEquals(countsOf(replay), undefined);
});

test("a log that was cut anywhere gives what was whole, and says what was cut", async (folder) => {
  {
    using replay = await small(folder);
    for (let k = 0; k < 5; k++) {
      fill(replay, 1 + 10 * k, 10);
      await replay.flush();
    }
  }
  const log = logOf(folder);
  const whole = await Deno.readFile(log);
  let least = 50;
  for (let bytes = whole.length - 1; bytes > 64; bytes -= 97) {
    for (const { name } of await Array.fromAsync(Deno.readDir(folder))) {
      if (name.startsWith("log-")) await Deno.remove(`${folder}/${name}`);
    }
    await Deno.writeFile(log, whole.subarray(0, bytes));
    const { cutBytes } = await ExperienceReplay.verify(folder);
    {
      using replay = await small(folder);
      assertEquals(cutBytes, replay.durability?.recovered?.cutBytes);
      const found = numbersOf(replay);
      assertEquals(found, range(1, found.length + 1));
      assertEquals(found.length % 10, 0);
      assert(found.length <= least, `${found.length} records, and ${least} before`);
      least = found.length;
      // It goes on from there.
      fill(replay, found.length + 1, 10);
    }
    using replay = await small(folder);
    assertEquals(numbersOf(replay).length, least + 10);
  }
  assert(least < 20);
});

test("a bit that flips anywhere is repaired, or named", async (folder) => {
  {
    using replay = await small(folder);
    replay.newPickSelector(prioritized());
    for (let k = 0; k < 4; k++) {
      fill(replay, 1 + 25 * k, 25);
      await replay.flush();
    }
  }
  const log = logOf(folder);
  const whole = await Deno.readFile(log);
  let repaired = 0;
  for (let byte = 0; byte < whole.length; byte += 23) {
    const bytes = whole.slice();
    bytes[byte] = (bytes[byte] ?? 0) ^ (1 << byte % 8);
    await Deno.writeFile(log, bytes);
    using replay = await small(folder);
    const recovered = replay.durability?.recovered;
    const found = numbersOf(replay);
    assertEquals(found, range(1, found.length + 1));
    repaired += recovered?.repairedCount ?? 0;
    // Only the tail may be taken for one that a crash left.
    if (found.length < 100) assert((recovered?.cutBytes ?? 0) > 0);
  }
  assert(repaired > whole.length / 23 / 2, `${repaired} repaired`);
});

test("a folder that is no folder, or that may not be written, is refused", async (folder) => {
  await Deno.writeTextFile(`${folder}/file`, "");
  await assertReplayRejects(ExperienceReplay.open(`${folder}/file`, OPTIONS), "file");
  await Deno.writeTextFile(`${folder}/replay.json`, "{}");
  await assertReplayRejects(ExperienceReplay.open(folder), "log-mismatch");
  await assertRejects(
    () => ExperienceReplay.open(undefined as never),
    TypeError,
    "directory must be",
  );
});

test("a misspelt option is told, with the one that was meant", async (folder) => {
  for (const options of [{ flushIntervallMs: 3 }, { ...OPTIONS, residents: 3 }]) {
    const error = await assertRejects(
      () => ExperienceReplay.open(folder, options as typeof OPTIONS),
      TypeError,
    );
    assertMatch(error.message, /^ExperienceReplay\.open\(\) has no option ".*s"; did you mean /);
  }
  assertEquals(await Array.fromAsync(Deno.readDir(folder)), []);
});

test("a folder without its log is damaged, and stays as it is", async (folder) => {
  (await small(folder))[Symbol.dispose]();
  await Deno.remove(logOf(folder));
  const error = await assertReplayRejects(small(folder), "log-damaged");
  assertMatch(error.message, /no file of its log/);
});

Deno.test({
  name: "a folder that is removed meanwhile: flush() says so, and the replay goes on in memory",
  // Windows removes no folder whose files are open.
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const parent = await Deno.makeTempDir();
    // Nothing is written between the two calls of flush().
    const options = { ...OPTIONS, flushIntervalMs: 0 };
    using replay: Small = await ExperienceReplay.open(`${parent}/replay`, options) as never;
    fill(replay, 1, 20);
    await replay.flush();
    await Deno.remove(parent, { recursive: true });
    const error = await assertReplayRejects(replay.flush(), "disk");
    assertMatch(error.message, /was removed/);
    assertEquals(numbersOf(replay), range(1, 21));
    assert((await replay.serialize()).length > 0);
  },
});

Deno.test({
  name:
    "the file of the lock is removed meanwhile: flush() says so, as another program may have the folder",
  ignore: Deno.build.os === "windows" || onWasm,
  fn: () =>
    withFolder(async (folder) => {
      const options = { capacity: 100, state: float32(1) };
      using replay = await ExperienceReplay.open(folder, options);
      replay.record(replay.newEpisode(), [1], 0, 1);
      await replay.flush();
      await Deno.remove(`${folder}/lock.exrp`);
      replay.record(replay.newEpisode(), [2], 0, 1);
      const error = await assertReplayRejects(replay.flush(), "disk");
      assertMatch(error.message, /lock\.exrp was removed/);
      // What is on the disk stays whole.
      replay[Symbol.dispose]();
      using again = await ExperienceReplay.open(folder);
      assertEquals(again.recordCount, 2);
    }),
});

test("an update of several columns is on the disk as a whole, or not at all", async (folder) => {
  const width = 2 ** 14;
  const create = { capacity: 100, state: { image: float32(width), speed: float32() }, seed: 3 };
  // WebAssembly writes at once what is a group, and a crash leaves that.
  const backend = "wasm" as const;
  using replay = await ExperienceReplay.open(folder, { ...create, flushIntervalMs: 0, backend });
  const episode = replay.newEpisode();
  const count = 32;
  const image = new Float32Array(count * width);
  const state = { image, speed: new Float32Array(count) };
  replay.recordMany(episode, { state, action: state.speed, reward: state.speed });
  await replay.flush();
  const episodes = new Float64Array(count).fill(episode);
  const positions = Int32Array.from(episodes, (_, k) => k);
  const seen = new Set<number>();
  for (let round = 1; round < 4; round++) {
    // 2 MiB, which is more than a group has, and 128 bytes.
    const changed = { image: image.fill(round), speed: new Float32Array(count).fill(round) };
    assertEquals(replay.update(episodes, positions, { state: changed }), count);
    await withCopy(folder, async (copy) => {
      using again = await ExperienceReplay.open(copy, { ...create, backend });
      const { image, speed } = again.episodeRecords(episode).state;
      const [first = NaN] = speed;
      const isWhole = [image, speed].every((column) => column.every((value) => value === first));
      assert(isWhole, `round ${round}: image begins with ${image[0]}, and speed with ${first}`);
      seen.add(first);
    });
  }
  assert(seen.size > 1, "no update has got to the disk");
});

test("logBytes follows from what was recorded, whatever the disk has of it", async (folder) => {
  // Without the interval, whose groups follow from the time.
  const open = (name: string): Promise<Small> =>
    ExperienceReplay.open(`${folder}/${name}`, { ...OPTIONS, flushIntervalMs: 0 }) as never;
  const both = [await open("a"), await open("b")] as const;
  for (let k = 0; k < 100; k++) {
    const [one, other] = both.map((replay) => {
      fill(replay, 1, 20);
      return replay.flush().then(() => replay.durability?.logBytes);
    });
    assertEquals(await one, await other);
  }
  const [{ durability: { logBytes } = { logBytes: 0 } }] = both;
  for (const replay of both) replay[Symbol.dispose]();
  let bytes = 0;
  for await (const { name } of Deno.readDir(`${folder}/a`)) {
    if (name.startsWith("log-")) bytes += (await Deno.stat(`${folder}/a/${name}`)).size;
  }
  assert(bytes >= logBytes, `${bytes} bytes are there, and logBytes was ${logBytes}`);
});

test("records that soon go are not written again", async () => {
  const { capacity, records, mebibyte } = { capacity: 2500, records: 25_000, mebibyte: 2 ** 20 };
  await withFolder(async (folder) => {
    using replay = await ExperienceReplay.open(folder, {
      ...{ capacity, state: uint8(1000), segmentBytes: mebibyte, flushIntervalMs: 0 },
    });
    const state = new Uint8Array(1000);
    for (let k = 0; k < records / 50; k++) {
      let episode = replay.newEpisode();
      for (let step = 0; step < 50; step++) episode = replay.record(episode, state, k, step);
      replay.endEpisode(episode, { finalState: state, truncated: true });
      await replay.flush();
    }
    const names = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
    const segments = names.filter((name) => name.startsWith("log-")).sort();
    // Each record has 1008 bytes and some of its call, and each checkpoint the places of 2,500.
    const newest = Number(segments.at(-1)?.slice(4, 12));
    assert(newest <= 1.15 * records * 1008 / mebibyte, `${newest} files were written`);
    assert(segments.length <= 8, `${segments.length} files are there`);
  });
});
