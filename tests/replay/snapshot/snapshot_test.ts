/** Snapshots: everything that decides the future comes back, and nothing that is damaged is believed. */
import {
  afterDraws,
  bool,
  curious,
  ExperienceReplay,
  fifo,
  float32,
  highestPriority,
  int16,
  lfu,
  lowestPriority,
  lowestPriorityFirst,
  lru,
  newest,
  oldest,
  prioritized,
  pser,
  rankBased,
  recent,
  ReplayError,
  reservoir,
  secondChance,
  type Selector,
  ucb,
  uint8,
  uniform,
} from "@exrp/replay";
import type { EvictionRule, NativeEviction } from "@exrp/replay/eviction";
import type { NativeSelector, SelectorRule } from "@exrp/replay/selectors";
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertLess,
  assertMatch,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import { KeepBest } from "../../../examples/custom_eviction.ts";
import { Halving } from "../../../examples/custom_selector.ts";
import { openKernel } from "../../../ffi/library.ts";
import {
  assertReplayError,
  assertReplayRejects,
  recordEpisode,
  type SmallReplay,
  smallReplay,
  testRandom,
  visibleState,
} from "../_helpers.ts";

const SELECTORS: Record<string, () => SelectorRule> = {
  uniform,
  prioritized: () => prioritized(),
  "prioritized, independent, table": () => prioritized({ draw: "independent", normalize: "table" }),
  ucb: () => ucb(),
  "ucb, proportional": () => ucb({ mode: "proportional" }),
  oldest,
  newest,
  highestPriority: () => highestPriority(),
  lowestPriority: () => lowestPriority(),
  rankBased: () => rankBased({ normalize: "table" }),
  pser: () => pser({ normalize: "table" }),
  curious: () => curious({ c: 50, normalize: "table" }),
  recent: () => recent({ eta: 0.99, updates: 7 }),
  halving: () => new Halving(),
};

const EVICTIONS: Record<string, () => EvictionRule> = {
  fifo,
  secondChance,
  lru,
  lfu,
  lowestPriorityFirst,
  afterDraws: () => afterDraws(3),
  reservoir,
  keepBest: () => new KeepBest(),
};

/** The names of the files in a folder, in order. */
async function namesIn(folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
}

/** A replay in full swing: many episodes, two of them open, priorities set, episodes evicted. */
async function busyReplay(
  seed: number,
  rule: SelectorRule,
  eviction: EvictionRule,
): Promise<[SmallReplay, Selector]> {
  const replay = await smallReplay({
    capacity: 300,
    segmentLength: 40,
    seed,
    eviction,
    length: 2,
    allowShort: true,
  });
  const selector = replay.newPickSelector(rule);
  for (let round = 0; round < 60; round++) drive(replay, selector, round);
  return [replay, selector];
}

/** One round of a learner's life; gives what it drew. */
function drive(replay: SmallReplay, selector: Selector, round: number): Uint8Array {
  const random = testRandom(round);
  if (round % 3 === 0) recordEpisode(replay, 1 + random(30), 1000 * round);
  if (round % 7 === 0) {
    const open = replay.newEpisode();
    for (let step = 0; step < random(9); step++) replay.record(open, [step], 0, 0);
  }
  const batch = replay.getBatch(1 + random(16), selector, { beta: 0.5 });
  const priorities = batch.pickPosition.map((position) => (position * 7 + round) % 5);
  replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, priorities);
  return batch.bytes;
}

for (const [selectorName, rule] of Object.entries(SELECTORS)) {
  for (const [evictionName, eviction] of Object.entries(EVICTIONS)) {
    Deno.test(`after loading, the next 1,000 batches are equal: ${selectorName} with ${evictionName}`, async () => {
      const [replay, selector] = await busyReplay(5, rule(), eviction());
      using _replay = replay;
      const [loaded, loadedSelector] = await busyReplay(6, rule(), eviction());
      using _loaded = loaded;
      await loaded.unserialize(await replay.serialize());
      assertEquals(visibleState(loaded), visibleState(replay));
      for (let round = 0; round < 1000; round++) {
        assertEquals(drive(loaded, loadedSelector, round), drive(replay, selector, round));
      }
      assertEquals(await loaded.serialize(), await replay.serialize());
      assertEquals(visibleState(loaded), visibleState(replay));
    });
  }
}

Deno.test("a snapshot is the same through bytes, a file and a stream", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [replay] = await busyReplay(1, prioritized(), fifo());
    using _replay = replay;
    const bytes = await replay.serialize();
    const path = `${folder}/replay.exrp`;
    await Deno.writeTextFile(path, "what was here before");
    await replay.serialize(path);
    assertEquals(await Deno.readFile(path), bytes);
    await replay.serialize(new URL(`file://${folder}/other.exrp`));
    assertEquals(await Deno.readFile(`${folder}/other.exrp`), bytes);
    assertEquals(await namesIn(folder), [
      "other.exrp",
      "replay.exrp",
    ]);

    const gzip = new CompressionStream("gzip");
    const [zipped] = await Promise.all([
      new Response(gzip.readable).bytes(),
      replay.serialize(gzip.writable),
    ]);
    const unzipped = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip"));
    const sources = [
      bytes,
      path,
      new URL(`file://${path}`),
      unzipped,
      ReadableStream.from(Array.from(bytes, (byte) => Uint8Array.of(byte))),
      ReadableStream.from([bytes]),
    ];
    for (const source of sources) {
      const [loaded] = await busyReplay(2, prioritized(), fifo());
      using _loaded = loaded;
      await loaded.unserialize(source);
      assertEquals(await loaded.serialize(), bytes);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a file that can't be written leaves the old one, and nothing beside it", async () => {
  const folder = await Deno.makeTempDir();
  try {
    using replay = await smallReplay();
    recordEpisode(replay, 3);
    await Deno.mkdir(`${folder}/taken/inside`, { recursive: true });
    await assertRejects(() => replay.serialize(`${folder}/taken`));
    await assertRejects(() => replay.serialize(`${folder}/none/replay.exrp`));
    assertEquals(await namesIn(folder), ["taken"]);
    const error = await assertReplayRejects(replay.unserialize(`${folder}/none.exrp`), "file");
    assertInstanceOf(error.cause, Deno.errors.NotFound);
    assertMatch(error.message, /^unserialize\(\): can't read ".*none.exrp": No such file/);
    assertStrictEquals(replay.recordCount, 3);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a large replay is streamed in pieces of at most 1 MiB, and can't be used meanwhile", async () => {
  using replay = await ExperienceReplay.create({ capacity: 2000, state: uint8(84, 84), seed: 1 });
  let episode = replay.newEpisode();
  const state = new Uint8Array(84 * 84);
  for (let step = 0; step < 1000; step++) episode = replay.record(episode, state.fill(step), 0, 0);
  const sizes: number[] = [];
  let busy = 0;
  const sink = new WritableStream<Uint8Array>({
    write(piece): void {
      sizes.push(piece.length);
      assertReplayError(() => replay.record(episode, state, 0, 0), "busy");
      assertReplayError(() => replay.newPickSelector(uniform()), "busy");
      busy++;
    },
  });
  const saving = replay.serialize(sink);
  await assertReplayRejects(replay.serialize(), "busy");
  await saving;
  assert(busy > 7 && Math.max(...sizes) <= 2 ** 20);
  assertStrictEquals(sizes.reduce((sum, size) => sum + size, 0), (await replay.serialize()).length);
  replay.record(episode, state, 0, 0);

  // A record larger than a piece.
  using wide = await ExperienceReplay.create({ capacity: 4, state: float32(2 ** 19), seed: 1 });
  wide.record(wide.newEpisode(), new Float32Array(2 ** 19).fill(7), 0, 0);
  const bytes = await wide.serialize();
  await wide.unserialize(ReadableStream.from([bytes.subarray(0, 3e5), bytes.subarray(3e5)]));
  assertEquals(await wide.serialize(), bytes);
});

Deno.test("a stream that fails, and a replay disposed meanwhile, end with an error and no leak", async () => {
  const { symbols } = await openKernel();
  const before = symbols.exrp_replay_count();
  {
    using replay = await smallReplay();
    recordEpisode(replay, 50);
    const broken = new WritableStream<Uint8Array>({
      write(): never {
        throw new Error("disk full");
      },
    });
    await assertRejects(() => replay.serialize(broken), Error, "disk full");
    assertStrictEquals(replay.recordCount, 50);
    const bytes = await replay.serialize();
    const failing = new ReadableStream<Uint8Array>({
      pull(controller): void {
        controller.enqueue(bytes.slice(0, 300));
        controller.error(new Error("line cut"));
      },
    });
    await assertRejects(() => replay.unserialize(failing), Error);
    const words = ReadableStream.from(["text"]) as unknown as ReadableStream<Uint8Array>;
    await assertRejects(() => replay.unserialize(words), TypeError, "the stream gave");
    assertStrictEquals(replay.recordCount, 50);
  }
  for (const direction of ["serialize", "unserialize"] as const) {
    const replay = await smallReplay();
    recordEpisode(replay, 50);
    const bytes = await replay.serialize();
    const run = direction === "serialize"
      ? replay.serialize(new WritableStream({ write: () => replay[Symbol.dispose]() }))
      : replay.unserialize(
        new ReadableStream({
          pull(controller): void {
            replay[Symbol.dispose]();
            controller.enqueue(bytes);
            controller.close();
          },
        }),
      );
    await assertReplayRejects(run, "disposed");
    assertReplayError(() => replay.recordCount, "disposed");
  }
  assertStrictEquals(symbols.exrp_replay_count(), before);
});

/** Asserts that a damaged snapshot is refused with one of these codes, and that nothing is changed. */
async function refused(replay: SmallReplay, bytes: Uint8Array, codes: string[]): Promise<string> {
  try {
    await replay.unserialize(bytes);
  } catch (error) {
    assertInstanceOf(error, ReplayError, `${error}`);
    assert(codes.includes(error.code), `${error.code}: ${error.message}`);
    return error.message;
  }
  throw new Error("it was accepted");
}

async function damageable(): Promise<[SmallReplay, Uint8Array, () => Promise<void>]> {
  const [source] = await busyReplay(3, prioritized(), lru());
  using _source = source;
  source.newPickSelector(new Halving());
  const [replay] = await busyReplay(4, prioritized(), lru());
  replay.newPickSelector(new Halving());
  const before = await replay.serialize();
  const { symbols } = await openKernel();
  const count = symbols.exrp_replay_count() - 1; // the source is about to go
  const unchanged = async (): Promise<void> => {
    assertEquals(await replay.serialize(), before);
    assertStrictEquals(symbols.exrp_replay_count(), count);
  };
  return [replay, await source.serialize(), unchanged];
}

Deno.test("truncated at every 97th byte: says so, and nothing is changed", async () => {
  const [replay, bytes, unchanged] = await damageable();
  using _replay = replay;
  for (let length = 0; length < bytes.length; length += 97) {
    const message = await refused(replay, bytes.subarray(0, length), [
      "snapshot-truncated",
      "snapshot-foreign",
    ]);
    if (length > 0) assertMatch(message, new RegExp(`ends at byte ${length},`));
  }
  for (let cut = 1; cut < 60; cut++) {
    await refused(replay, bytes.subarray(0, bytes.length - cut), ["snapshot-truncated"]);
  }
  await unchanged();
});

Deno.test("one bit flipped anywhere: says so, and nothing is changed", async () => {
  const [replay, bytes, unchanged] = await damageable();
  using _replay = replay;
  const codes = ["snapshot-corrupt"];
  for (let at = 8; at < bytes.length; at += at < 700 ? 1 : 61) {
    const bad = bytes.slice();
    bad[at] = (bad[at] ?? 0) ^ (1 << (at % 8));
    await refused(replay, bad, codes);
  }
  for (let at = 0; at < 8; at++) {
    const bad = bytes.slice();
    bad[at] = (bad[at] ?? 0) ^ 4;
    await refused(replay, bad, ["snapshot-foreign"]);
  }
  const longer = new Uint8Array(bytes.length + 1);
  longer.set(bytes);
  assertMatch(await refused(replay, longer, codes), /goes on after its end/);
  await unchanged();
});

/** A snapshot with its header or a section changed, and checksums made right again. */
async function forge(
  bytes: Uint8Array,
  change: (bytes: Uint8Array, view: DataView) => void,
): Promise<Uint8Array> {
  const { symbols } = await openKernel();
  const forged = bytes.slice();
  const view = new DataView(forged.buffer);
  change(forged, view);
  const sum = (from: number, to: number): number =>
    symbols.exrp_checksum(0, forged.subarray(from, to), to - from);
  view.setUint32(12, sum(0, 12), true);
  for (let at = 16; at + 20 <= forged.length;) {
    view.setUint32(at + 16, sum(at, at + 16), true);
    const end = at + 20 + Number(view.getBigUint64(at + 8, true));
    if (end + 4 > forged.length) break;
    view.setUint32(end, sum(at, end), true);
    at = end + 4;
  }
  return forged;
}

Deno.test("a newer version says which", async () => {
  const [replay, bytes, unchanged] = await damageable();
  using _replay = replay;
  const newer = await forge(bytes, (_bytes, view) => view.setUint32(8, 2, true));
  assertMatch(
    await refused(replay, newer, ["snapshot-version"]),
    /has version 2 .* reads 1: use a newer library/,
  );
  await unchanged();
});

Deno.test("forged sections with right checksums never crash, and lengths that lie take no memory", async () => {
  const [replay, bytes, unchanged] = await damageable();
  using _replay = replay;
  const codes = ["snapshot-corrupt", "snapshot-truncated", "snapshot-mismatch"];
  const rss = Deno.memoryUsage().rss;
  for (const length of [2n ** 40n, 2n ** 63n, 2n ** 20n, 0n]) {
    await refused(
      replay,
      await forge(bytes, (_b, view) => view.setBigUint64(24, length, true)),
      codes,
    );
  }
  assertLess(Deno.memoryUsage().rss - rss, 200 * 2 ** 20);
  let accepted = 0;
  const random = testRandom(1);
  const schemaEnd = 16 + 24 + Number(new DataView(bytes.buffer).getBigUint64(24, true));
  for (let round = 0; round < 1500; round++) {
    const bad = await forge(bytes, (forged) => {
      // Section payloads only, where the kernel's own checks are all there is.
      const at = schemaEnd + random(forged.length - schemaEnd);
      forged[at] = random(256);
    });
    try {
      await replay.unserialize(bad);
      accepted++; // a changed state or reward is as good as another
    } catch (error) {
      assertInstanceOf(error, ReplayError, `${error}`);
      assert([...codes, "rule"].includes(error.code), error.message);
    }
    if (replay.pickCount > 0) {
      for (const selector of replay.selectors) replay.getBatch(3, selector);
    }
  }
  assert(accepted > 10);
  await replay.unserialize(bytes);
  assertEquals(await replay.serialize(), bytes);
  await unchanged().catch(() => {}); // it was changed on purpose; only the kernel's count matters
  const text = new TextDecoder().decode(bytes.subarray(36, schemaEnd - 4));
  for (
    const [from, to] of [
      ['"capacity":300', '"capacity":3e9'],
      ['"itemCount":1,', '"itemCount":9,'],
      ['"library"', '"librory"'],
    ] as const
  ) {
    assert(text.includes(from), from);
    const bad = await forge(
      bytes,
      (forged) => forged.set(new TextEncoder().encode(to), 36 + text.indexOf(from)),
    );
    await refused(replay, bad, codes);
  }
});

Deno.test("foreign bytes are foreign", async () => {
  using replay = await smallReplay();
  for (
    const bytes of [
      new Uint8Array(1000),
      new TextEncoder().encode("PK and more of a zip file"),
      Uint8Array.of(1),
    ]
  ) {
    await refused(replay, bytes, ["snapshot-foreign"]);
  }
});

Deno.test("a snapshot of another schema says which field differs", async () => {
  const base = {
    capacity: 100,
    state: float32(4),
    extras: { a: bool() },
    pick: { length: 2, allowShort: true },
    eviction: fifo() as NativeEviction,
    segmentLength: 20,
    seed: 1,
  };
  using source = await ExperienceReplay.create(base);
  source.newPickSelector(prioritized());
  const bytes = await source.serialize();
  const cases: [Promise<unknown>, RegExp][] = [
    [
      ExperienceReplay.create({ ...base, capacity: 101 }),
      /capacity: this replay has 101, the snapshot 100/,
    ],
    [
      ExperienceReplay.create({ ...base, state: float32(5) }),
      /state's shape: this replay has \[5\], the snapshot \[4\]/,
    ],
    [
      ExperienceReplay.create({ ...base, state: int16(4) }),
      /state's dtype: this replay has int16, the snapshot float32/,
    ],
    [
      ExperienceReplay.create({ ...base, action: uint8() }),
      /action's dtype: this replay has uint8, the snapshot int32/,
    ],
    [
      ExperienceReplay.create({ ...base, extras: { b: bool() } }),
      /column 3: this replay has extras\.b, the snapshot extras\.a/,
    ],
    [
      ExperienceReplay.create({ ...base, extras: {} }),
      /column 3: this replay has none, the snapshot extras\.a/,
    ],
    [
      ExperienceReplay.create({ ...base, pick: { length: 3, allowShort: true } }),
      /pick\.length: this replay has 3, the snapshot 2/,
    ],
    [ExperienceReplay.create({ ...base, pick: { length: 2 } }), /pick\.allowShort/],
    [
      ExperienceReplay.create({ ...base, pick: { ...base.pick, allowOpenEnd: true } }),
      /pick\.allowOpenEnd/,
    ],
    [
      ExperienceReplay.create({ ...base, pick: { ...base.pick, discount: 0.9 } }),
      /pick\.discount: this replay has 0\.9/,
    ],
    [
      ExperienceReplay.create({ ...base, segmentLength: 21 }),
      /segmentLength: this replay has 21, the snapshot 20/,
    ],
    [
      ExperienceReplay.create({ ...base, eviction: lru() }),
      /eviction: this replay has lru\(\), the snapshot fifo\(\)/,
    ],
    [
      ExperienceReplay.create({ ...base, capacityBytes: 1e6 }),
      /capacityBytes: this replay has 1000000, the snapshot none/,
    ],
    [
      ExperienceReplay.create({ ...base, maxAge: 80 }),
      /maxAge: this replay has 80, the snapshot none/,
    ],
  ];
  for (const [creating, text] of cases) {
    using replay = await creating as SmallReplay;
    const error = await assertReplayRejects(replay.unserialize(bytes), "snapshot-mismatch");
    assertMatch(error.message, text);
  }
  const rules: [SelectorRule[], RegExp][] = [
    [[uniform()], /selector 0: this replay has uniform\(\), the snapshot prioritized\(\)/],
    [[prioritized({ alpha: 0.7 })], /selector 0's options: this replay has \{ alpha: 0\.7/],
    [[prioritized(), uniform()], /selector 1: this replay has uniform\(\), the snapshot none/],
    [[new Halving()], /selector 0: this replay has halving, written in TypeScript/],
  ];
  for (const [own, text] of rules) {
    using replay = await ExperienceReplay.create(base);
    for (const rule of own) replay.newPickSelector(rule);
    assertMatch(
      (await assertReplayRejects(replay.unserialize(bytes), "snapshot-mismatch")).message,
      text,
    );
  }
});

Deno.test("selectors that the replay lacks are made; one in TypeScript must be there before", async () => {
  const rules: NativeSelector[] = [uniform(), prioritized({ alpha: 0.3 }), ucb()];
  using source = await smallReplay();
  for (const rule of rules) source.newPickSelector(rule);
  recordEpisode(source, 10);
  using replay = await smallReplay({ seed: 9 });
  const first = replay.newPickSelector(uniform());
  await replay.unserialize(await source.serialize());
  assertStrictEquals(replay.selectors[0], first);
  assertEquals(replay.describe().selectors, source.describe().selectors);
  for (const [k, selector] of replay.selectors.entries()) {
    const twin = source.selectors[k];
    assert(twin);
    assertEquals(replay.getBatch(20, selector).bytes, source.getBatch(20, twin).bytes);
  }
  assertStrictEquals(replay.seed, source.seed);
  assertStrictEquals(replay.newPickSelector(uniform()).id, 3);

  source.newPickSelector(new Halving());
  using other = await smallReplay();
  const error = await assertReplayRejects(
    other.unserialize(await source.serialize()),
    "snapshot-mismatch",
  );
  assertMatch(
    error.message,
    /selector 3 the rule "halving", written in TypeScript: give this replay one/,
  );
});

Deno.test("a rule that refuses its part changes nothing, the other rules included", async () => {
  class Refusing extends Halving {
    refuses = false;
    override load(bytes: Uint8Array): void {
      if (this.refuses) {
        this.refuses = false;
        throw new Error("not mine");
      }
      super.load(bytes);
    }
  }
  const make = async (seed: number): Promise<[SmallReplay, Refusing]> => {
    const replay = await smallReplay({ seed });
    replay.newPickSelector(new Halving());
    const refusing = new Refusing();
    replay.newPickSelector(refusing);
    recordEpisode(replay, 10 + seed);
    for (const selector of replay.selectors) replay.getBatch(5, selector);
    return [replay, refusing];
  };
  const [source] = await make(1);
  using _source = source;
  const [replay, refusing] = await make(2);
  using _replay = replay;
  const before = await replay.serialize();
  refusing.refuses = true;
  const error = await assertReplayRejects(replay.unserialize(await source.serialize()), "rule");
  assertMatch(error.message, /halving refused its part of the snapshot: Error: not mine/);
  assertEquals(await replay.serialize(), before);
});
