/**
 * Files with random damage, in each format: an error that says so, or whole episodes, in little time. Files with checksums get new ones, so that the damage goes
 * deeper. `EXRP_INTERCHANGE_INPUTS=100000` tries more, and `EXRP_INTERCHANGE_SEED` is where they begin.
 *
 * @module
 */
import { assert, assertEquals, assertInstanceOf } from "../_assert.ts";
import { amount } from "../_amount.ts";
import { ExperienceReplay, ReplayError } from "@exrp/replay";
import {
  describeEpisodes,
  type EpisodeFormat,
  exportEpisodes,
  importEpisodes,
} from "@exrp/replay/interchange";
import { openKernel } from "../../ffi/library.ts";
import { testRandom } from "../replay/_helpers.ts";
import { nestedReplay, plainReplay, withFolder } from "./_episodes.ts";
import * as arrow from "npm:apache-arrow@21.2.0";
import * as zip from "npm:@zip.js/zip.js@2.24.0";

const SEED = Number(Deno.env.get("EXRP_INTERCHANGE_SEED") ?? 1);
const INPUTS = Number(Deno.env.get("EXRP_INTERCHANGE_INPUTS") ?? amount(40, 300));

type Random = (bound: number) => number;
type Bytes = Uint8Array<ArrayBuffer>;

const kernel = await openKernel();

/** Numbers that lie about lengths and places. */
const WORDS = [0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 65536];
const LONG_WORDS = [0n, 7n, 1n << 40n, 1n << 62n, (1n << 64n) - 1n];

function pick<T>(random: Random, from: readonly T[]): T {
  return from[random(from.length)] as T;
}

/** Changes some bytes: two in three near the beginning or the end, where heads are. */
function damage(random: Random, whole: Bytes): Bytes {
  let bytes = whole.slice();
  for (let edits = 1 + random(3); edits > 0 && bytes.length > 8; edits--) {
    const { length } = bytes;
    const at = pick(random, [
      random(Math.min(600, length)),
      Math.max(0, length - 1 - random(2000)),
      random(length),
    ]);
    const view = new DataView(bytes.buffer);
    const kind = random(6);
    if (kind === 0) view.setUint8(at, view.getUint8(at) ^ 1 << random(8));
    else if (kind === 1) view.setUint8(at, pick(random, [0, 1, 127, 128, 255]));
    else if (kind === 2) view.setUint32(Math.min(at, length - 4), pick(random, WORDS), true);
    else if (kind === 3) {
      view.setBigUint64(Math.min(at, length - 8), pick(random, LONG_WORDS), true);
    } else if (kind === 4) bytes = bytes.slice(0, at);
    else bytes.copyWithin(at, random(length), random(length));
  }
  return bytes;
}

/** The checksum that a TFRecord has. */
function maskedSum(bytes: Bytes): number {
  const sum = kernel.symbols.exrp_checksum(0, bytes, bytes.length) >>> 0;
  return ((sum >>> 15 | sum << 17) + 0xa282ead8) >>> 0;
}

/** Changes one record of a file, and gives it the right checksums. */
function damageRecord(random: Random, whole: Bytes): Bytes {
  const view = new DataView(whole.buffer);
  const records: Bytes[] = [];
  for (let at = 0; at < whole.length;) {
    const length = Number(view.getBigUint64(at, true));
    records.push(whole.slice(at + 12, at + 12 + length));
    at += 16 + length;
  }
  const one = random(records.length);
  records[one] = damage(random, records[one] as Bytes);
  const parts = records.flatMap((record) => {
    const head = new Uint8Array(12);
    new DataView(head.buffer).setBigUint64(0, BigInt(record.length), true);
    new DataView(head.buffer).setUint32(8, maskedSum(head.slice(0, 8)), true);
    const tail = new Uint8Array(4);
    if (record.length > 0) new DataView(tail.buffer).setUint32(0, maskedSum(record), true);
    return [head, record, tail];
  });
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Changes one array of a zip file, and packs it anew. */
async function damageArray(random: Random, whole: Bytes): Promise<Bytes> {
  const reader = new zip.ZipReader(new zip.Uint8ArrayReader(whole), { useWebWorkers: false });
  const writer = new zip.ZipWriter(new zip.Uint8ArrayWriter(), { useWebWorkers: false, level: 0 });
  const entries = await reader.getEntries();
  const one = random(entries.length);
  for (const [k, entry] of entries.entries()) {
    if (entry.directory) continue;
    const bytes = new Uint8Array(await entry.arrayBuffer());
    const now = k === one ? damage(random, bytes) : bytes;
    await writer.add(entry.filename, new zip.Uint8ArrayReader(now));
  }
  return new Uint8Array(await writer.close());
}

type Damage = (random: Random, whole: Bytes) => Bytes | Promise<Bytes>;

/** The same as a stream, which has no footer. */
function damageStream(random: Random, whole: Bytes): Bytes {
  return damage(random, new Uint8Array(arrow.tableToIPC(arrow.tableFromIPC(whole), "stream")));
}

/** Reads a file into a replay; false if it is refused, as a damaged one should be. */
async function reads(
  format: EpisodeFormat,
  source: Bytes | string,
  replay: ExperienceReplay,
  input: string,
): Promise<boolean> {
  try {
    await describeEpisodes(format, source);
    await importEpisodes(replay, format, source);
    return true;
  } catch (error) {
    assertInstanceOf(error, ReplayError, `${input}: ${(error as Error)?.stack}`);
    assertEquals(error.code, "data-set", `${input}: ${error.message}`);
    return false;
  } finally {
    assertEquals(replay.episodes({ ended: false }).size, 0, input);
  }
}

const FORMATS: readonly [EpisodeFormat, string, Damage, number][] = [
  ["d4rl", "", damage, INPUTS],
  ["minari", "", damage, INPUTS],
  ["npz", "", damage, INPUTS],
  ["npz", " with new checksums", damageArray, INPUTS],
  ["tfrecord", "", damage, INPUTS],
  ["tfrecord", " with new checksums", damageRecord, INPUTS],
  ["parquet", "", damage, INPUTS],
  ["arrow", "", damage, INPUTS],
  ["arrow", " without footers", damageStream, INPUTS],
  ["lerobot", "", damage, Math.ceil(INPUTS / 2)],
];

/** The file of a format that is damaged: LeRobot has a folder. */
function fileOf(format: EpisodeFormat, path: string): string {
  return format === "lerobot" ? `${path}/data/chunk-000/file-000.parquet` : path;
}

for (const [format, how, spoil, inputs] of FORMATS) {
  Deno.test(`${format}: ${inputs} damaged files${how} are refused or read (seed ${SEED})`, () =>
    withFolder(async (folder) => {
      using plain = await plainReplay(SEED, 5);
      using nested = await nestedReplay(SEED, 4);
      const samples: (readonly [ExperienceReplay, string, Bytes])[] = [];
      for (const [k, replay] of [plain, nested].entries()) {
        await Deno.mkdir(`${folder}/${k}`);
        const path = `${folder}/${k}/data.hdf5`;
        await exportEpisodes(replay, format, path);
        samples.push([replay, path, await Deno.readFile(fileOf(format, path))]);
      }
      let refusedCount = 0;
      for (let seed = SEED; seed < SEED + inputs; seed++) {
        const random = testRandom(seed);
        const [like, path, whole] = pick(random, samples);
        const bytes = await spoil(random, whole);
        const isFolder = format === "lerobot";
        if (isFolder) await Deno.writeFile(fileOf(format, path), bytes);
        const { state, action, reward, extras } = like.columns;
        using into = await ExperienceReplay.create({
          ...{ capacity: 1000, state, action, reward, extras },
        });
        const input = `EXRP_INTERCHANGE_SEED=${seed} EXRP_INTERCHANGE_INPUTS=1`;
        const source = isFolder ? path : bytes;
        const isRead = await reads(format, source, into as unknown as ExperienceReplay, input);
        if (!isRead) refusedCount++;
      }
      // A test whose files are all refused at once, or none, says nothing.
      assert(inputs < 40 || (refusedCount > 0 && refusedCount < inputs), String(refusedCount));
    }));
}
