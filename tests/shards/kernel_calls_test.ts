/** The calls of the kernel that shards need: the sum of all weights at once, and rows that are packed for the way. */
import { assert, assertEquals } from "../_assert.ts";
import {
  curious,
  ExperienceReplay,
  float32,
  prioritized,
  pser,
  rankBased,
  ucb,
  uniform,
  withoutReplacement,
} from "@exrp/replay";
import { power } from "@exrp/replay/selectors";
import * as abi from "../../ffi/symbols.ts";
import { coreOf } from "../../replay/replay_view.ts";
import { testRandom } from "../replay/_helpers.ts";

Deno.test("the sum of all weights is there at once, and is that of the single ones (seed 12)", async () => {
  const random = testRandom(12);
  using replay = await ExperienceReplay.create({ capacity: 500, state: float32() });
  const rules = [
    ...[uniform(), prioritized(), prioritized({ alpha: 1, epsilon: 0 }), rankBased(), pser()],
    ...[power(), curious(), ucb(), withoutReplacement()],
  ];
  const selectors = rules.map((rule) => replay.newPickSelector(rule));
  const { id, kernel: { symbols } } = coreOf("test", replay);
  const sumOf = (selector: number, what: number): number[] => {
    const summary = new Float64Array(abi.EXRP_SUMMARY_NUMBERS);
    const one = new Float64Array(1);
    const size = summary.length;
    assertEquals(symbols.exrp_selector_sums(id, selector, what, one, 0, one, summary, size), 0);
    return [...summary];
  };
  for (let turn = 0; turn < 60; turn++) {
    const count = 1 + random(30);
    const state = new Float32Array(count);
    const episode = replay.newEpisode();
    const steps = { state, action: new Int32Array(count), reward: state };
    if (turn > 0) replay.recordMany(episode, { ...steps, finalState: 0 });
    for (const [k, selector] of selectors.entries()) {
      if (turn > 0) {
        const batch = replay.getBatch(1, selector);
        replay.setPriority(selector, batch, Float32Array.of(random(100) / 7));
      }
      const [count, sum, , , , exists] = sumOf(k, abi.EXRP_SUMS_WEIGHTS);
      const [picks = NaN, total = NaN] = sumOf(k, abi.EXRP_SUMS_TOTAL);
      const expected = exists === 1 ? sum ?? NaN : picks;
      const words = `${selector.kind}: ${total}, ${expected}`;
      assert(Math.abs(total - expected) <= 1e-6 * expected, words);
      if (exists === 1) assertEquals(picks, count);
    }
  }
});

Deno.test("rows come back as they were packed, and damaged ones are refused or stay within their room (seed 13)", async () => {
  const random = testRandom(13);
  using replay = await ExperienceReplay.create({ capacity: 10, state: float32() });
  const { kernel: { symbols } } = coreOf("test", replay);
  let refused = 0;
  for (let turn = 0; turn < 400; turn++) {
    const [rowBytes, count] = [1 + random(400), 1 + random(40)];
    const rows = new Uint8Array(rowBytes * count);
    const changes = random(2) === 0 ? rows.length : random(rows.length);
    for (let k = 0; k < changes; k++) rows[random(rows.length)] = random(256);
    const room = new Uint8Array(rows.length + 40 * rowBytes + 4 * count + 65_536);
    const size = new Float64Array(1);
    const pack = (bytes: number): number =>
      symbols.exrp_rows_pack(rows, rows.length, rowBytes, count, room, bytes, size);
    assertEquals(pack(room.length), 0);
    const [packedBytes = 0] = size;
    assert(packedBytes > 0 && packedBytes <= rows.length + 4 * Math.ceil(count / 16));
    const packed = room.slice(0, packedBytes);
    const whole = new Uint8Array(rows.length + 8).fill(77);
    const out = whole.subarray(0, rows.length);
    const unpack = (bytes: Uint8Array<ArrayBuffer>): number =>
      symbols.exrp_rows_unpack(bytes, bytes.length, rowBytes, count, out, rows.length);
    assertEquals(unpack(packed), 0);
    assertEquals(out.slice(), rows);
    assertEquals(unpack(packed.slice(0, -1)), abi.EXRP_STATUS_DATA_CORRUPT);
    const longer = new Uint8Array(packedBytes + 1);
    longer.set(packed);
    assertEquals(unpack(longer), abi.EXRP_STATUS_DATA_CORRUPT);
    for (let k = 0; k < 5; k++) {
      const bad = packed.slice();
      bad[random(bad.length)] = random(256);
      if (unpack(bad) !== 0) refused++;
      assertEquals([...whole.subarray(rows.length)], Array(8).fill(77));
    }
    pack(random(100));
    assertEquals(size[0], 0);
  }
  assert(refused > 20, `${refused}`);
  const one = new Uint8Array(1);
  const size = new Float64Array(1);
  assertEquals(symbols.exrp_rows_pack(one, 1, 1, 2, one, 1, size), abi.EXRP_STATUS_BUFFER_SIZE);
  assertEquals(symbols.exrp_rows_pack(one, 1, 0, 1, one, 1, size), abi.EXRP_STATUS_ARGUMENT);
  assertEquals(symbols.exrp_rows_unpack(one, NaN, 1, 1, one, 1), abi.EXRP_STATUS_ARGUMENT);
  assertEquals(symbols.exrp_rows_unpack(one, 1, 1, 1, one, NaN), abi.EXRP_STATUS_BUFFER_SIZE);
});
