/** Snapshots: everything that decides the future comes back. */
import {
  afterDraws,
  curious,
  ExperienceReplay,
  fifo,
  float32,
  highestPriority,
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
  reservoir,
  secondChance,
  ucb,
  uint8,
  uniform,
} from "@exrp/replay";
import type { EvictionRule } from "@exrp/replay/eviction";
import type { NativeSelector, SelectorRule } from "@exrp/replay/selectors";
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertRejects,
  assertStrictEquals,
} from "../../_assert.ts";
import { KeepBest } from "../../../examples/custom_eviction.ts";
import { Halving } from "../../../examples/custom_selector.ts";
import { joinBytes } from "../../../base/bytes.ts";
import { openKernel } from "../../../ffi/library.ts";
import {
  assertReplayError,
  assertReplayRejects,
  recordEpisode,
  type SmallReplay,
  smallReplay,
  visibleState,
} from "../_helpers.ts";
import { busyReplay, drive } from "./_snapshot_helpers.ts";

const SELECTORS: Record<string, () => SelectorRule> = {
  uniform,
  prioritized: () => prioritized(),
  "prioritized, independent, view": () => prioritized({ draw: "independent", normalize: "view" }),
  ucb: () => ucb(),
  "ucb, proportional": () => ucb({ mode: "proportional" }),
  oldest,
  newest,
  highestPriority: () => highestPriority(),
  lowestPriority: () => lowestPriority(),
  rankBased: () => rankBased({ normalize: "view" }),
  pser: () => pser({ normalize: "view" }),
  curious: () => curious({ c: 50, normalize: "view" }),
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

/** Each selector with two policies, and each policy with several selectors: they are saved apart, so not each pair is needed. */
function* pairs(): Generator<[string, () => SelectorRule, string, () => EvictionRule]> {
  const evictions = Object.entries(EVICTIONS);
  for (const [k, selector] of Object.entries(SELECTORS).entries()) {
    for (const at of [k, k + 3]) {
      const eviction = evictions[at % evictions.length];
      if (eviction !== undefined) yield [...selector, ...eviction];
    }
  }
}

for (const [selectorName, rule, evictionName, eviction] of pairs()) {
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

Deno.test("a large replay is streamed in pieces of at most 1 MiB, and is used meanwhile", async () => {
  using replay = await ExperienceReplay.create({ capacity: 2000, state: uint8(84, 84), seed: 1 });
  let episode = replay.newEpisode();
  const state = new Uint8Array(84 * 84);
  for (let step = 0; step < 1000; step++) episode = replay.record(episode, state.fill(step), 0, 0);
  const sizes: number[] = [];
  const written: Uint8Array<ArrayBuffer>[] = [];
  const expected = await replay.serialize();
  const sink = new WritableStream<Uint8Array<ArrayBuffer>>({
    write(piece): void {
      sizes.push(piece.length);
      for (let k = 0; k < 300; k++) episode = replay.record(episode, state.fill(k + 7), 0, 0);
      written.push(piece);
    },
  });
  const saving = replay.serialize(sink);
  await assertReplayRejects(replay.serialize(), "busy");
  await saving;
  assert(written.length > 7 && Math.max(...sizes) <= 2 ** 20);
  assertEquals(joinBytes(written), expected);

  // A record larger than a piece.
  using wide = await ExperienceReplay.create({ capacity: 4, state: float32(2 ** 19), seed: 1 });
  wide.record(wide.newEpisode(), new Float32Array(2 ** 19).fill(7), 0, 0);
  const bytes = await wide.serialize();
  await wide.unserialize(ReadableStream.from([bytes.subarray(0, 3e5), bytes.subarray(3e5)]));
  assertEquals(await wide.serialize(), bytes);
});

Deno.test("a stream may take the memory of each piece away, as one that hands it to a Worker does", async () => {
  using replay = await smallReplay();
  const expected = await replay.serialize();
  const written: Uint8Array[] = [];
  await replay.serialize(
    new WritableStream<Uint8Array<ArrayBuffer>>({
      write(piece): void {
        written.push(structuredClone(piece, { transfer: [piece.buffer] }));
      },
    }),
  );
  assertEquals(joinBytes(written), expected);
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
