/** Damaged, forged and foreign snapshots are refused, and change nothing. */
import {
  bool,
  ExperienceReplay,
  fifo,
  float32,
  int16,
  lru,
  prioritized,
  ReplayError,
  uint8,
  uniform,
} from "@exrp/replay";
import type { NativeEviction } from "@exrp/replay/eviction";
import type { SelectorRule } from "@exrp/replay/selectors";
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertLess,
  assertMatch,
  assertStrictEquals,
} from "../../_assert.ts";
import { Halving } from "../../../examples/custom_selector.ts";
import { openKernel } from "../../../ffi/library.ts";
import { assertReplayRejects, type SmallReplay, smallReplay, testRandom } from "../_helpers.ts";
import { busyReplay } from "./_snapshot_helpers.ts";

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
  const newer = await forge(bytes, (_bytes, view) => view.setUint32(8, 3, true));
  assertMatch(
    await refused(replay, newer, ["snapshot-version"]),
    /has version 3 .* reads 2: use a newer library/,
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
