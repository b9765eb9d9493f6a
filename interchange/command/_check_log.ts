/**
 * Checks the folder of a durable replay without a change to it, as `docs/internals/log_format.md` and `durable_format.md` describe its bytes.
 *
 * @module
 */

import { bytesText, count } from "../../base/inspect.ts";
import type { Kernel } from "../../ffi/library.ts";
import { type DataFile, filesOf, namesIn, openData, readWhole } from "../_files.ts";
import { type Report, viewOf, Window } from "./_window.ts";

const SEGMENT_HEAD_BYTES = 32;
const FRAME_HEAD_BYTES = 16;
const FRAME_BYTES_MAX = 2 ** 30;
const MARK = 0;
const CHECKPOINT = 6;

/** What frames are called, by their type. */
const FRAMES = [
  ...["mark", "commands", "rows", "carried", "statistics", "group", "checkpoint", "section"],
  ...["places", "checkpoint's end", "discard"],
];

/** A file of the log. */
interface Segment {
  readonly number: number;
  readonly name: string;
  readonly file: DataFile;
  readonly window: Window;
  /** What its head says; undefined if the head is not valid. */
  readonly head: { readonly logId: bigint; readonly previousBytes: number } | undefined;
}

/** What the bytes at a place are. */
type Found =
  | {
    readonly is: "frame";
    readonly type: number;
    readonly bytes: number;
    readonly isWhole: boolean;
  }
  | { readonly is: "nothing" };

/** Looks at all files of a durable replay. `progress` hears how many bytes were read. */
export async function checkLog(
  kernel: Kernel,
  folder: string,
  progress: (bytes: number, of: number) => void,
): Promise<Report> {
  const { join } = filesOf().files.path;
  const names = await namesIn(folder);
  const [damage, remarks]: [string[], string[]] = [[], []];
  await checkConfig(join(folder, "replay.json"), damage);
  const segments: Segment[] = [];
  try {
    for (const name of names) {
      const number = Number(/^log-(\d{8,})\.exrp$/.exec(name)?.[1] ?? NaN);
      if (!Number.isNaN(number)) segments.push(await openSegment(kernel, folder, name, number));
    }
    segments.sort((one, other) => one.number - other.number);
    const check = new LogCheck(segments, damage, remarks, progress);
    await check.all();
    await checkCheckpoint(kernel, join(folder, "checkpoint.exrp"), check, damage);
    const bytes = segments.reduce((sum, { file }) => sum + file.size, 0);
    return {
      damage,
      remarks,
      read: `${count(segments.length, "file")} of the log, ${count(check.frameCount, "frame")}, ${
        bytesText(bytes)
      }`,
    };
  } finally {
    for (const { file } of segments) await file.close();
  }
}

async function checkConfig(path: string, damage: string[]): Promise<void> {
  const bytes = await readWhole(path);
  if (bytes === undefined) {
    damage.push("replay.json is missing");
    return;
  }
  try {
    const json = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
    const { config, sum, format, library } = json;
    let found = 0x811c9dc5;
    for (const byte of new TextEncoder().encode(JSON.stringify(config))) {
      found = Math.imul(found ^ byte, 0x01000193);
    }
    if (typeof format !== "number" || typeof library !== "string" || sum !== found >>> 0) {
      damage.push("replay.json: its sum is wrong");
    }
  } catch {
    damage.push("replay.json is no JSON");
  }
}

async function openSegment(
  kernel: Kernel,
  folder: string,
  name: string,
  number: number,
): Promise<Segment> {
  const file = await openData("verify", filesOf().files.path.join(folder, name));
  const window = new Window(kernel, file);
  const bytes = await window.read(0, SEGMENT_HEAD_BYTES);
  const view = viewOf(bytes);
  const isValid = bytes.length === SEGMENT_HEAD_BYTES &&
    String.fromCharCode(...bytes.subarray(0, 8)) === "EXRPSLOG" &&
    view.getUint32(28, true) === window.sum(bytes.subarray(0, 28)) &&
    view.getUint32(8, true) === 1 && view.getUint32(12, true) === number;
  const head = isValid
    ? { logId: view.getBigUint64(16, true), previousBytes: view.getUint32(24, true) }
    : undefined;
  return { number, name, file, window, head };
}

/** Checks all frames of a log. */
class LogCheck {
  readonly #segments: readonly Segment[];
  readonly #damage: string[];
  readonly #remarks: string[];
  readonly #progress: (bytes: number, of: number) => void;
  readonly #checkpoints = new Set<string>();
  readonly #logId: bigint;
  frameCount = 0;

  constructor(
    segments: readonly Segment[],
    damage: string[],
    remarks: string[],
    progress: (bytes: number, of: number) => void,
  ) {
    this.#segments = segments;
    this.#damage = damage;
    this.#remarks = remarks;
    this.#progress = progress;
    this.#logId = segments.find(({ head }) => head !== undefined)?.head?.logId ?? 0n;
  }

  get logId(): bigint {
    return this.#logId;
  }

  /** Whether a valid checkpoint begins at a place. */
  hasCheckpoint(segment: number, offset: number): boolean {
    return this.#checkpoints.has(`${segment}:${offset}`);
  }

  async all(): Promise<void> {
    const segments = this.#segments;
    if (segments.length === 0) this.#damage.push("there is no file of the log");
    const total = segments.reduce((sum, { file }) => sum + file.size, 0);
    let done = 0;
    for (const [k, segment] of segments.entries()) {
      const before = segments[k - 1];
      if (before !== undefined && segment.number !== before.number + 1) {
        this.#damage.push(`between ${before.name} and ${segment.name} a file is missing`);
      }
      const next = segments[k + 1];
      // Where the stream left the file. What is behind does not count.
      const end = next?.head === undefined ? segment.file.size : next.head.previousBytes;
      if (segment.file.size < end) {
        this.#damage.push(
          `${segment.name} ends at byte ${segment.file.size}, and had ${end} bytes`,
        );
      }
      await this.#segment(segment, Math.min(end, segment.file.size), next !== undefined);
      done += segment.file.size;
      this.#progress(done, total);
    }
  }

  async #segment(segment: Segment, end: number, isProven: boolean): Promise<void> {
    const { head, name, number } = segment;
    if (head === undefined || head.logId !== this.#logId) {
      const isMark = (await this.#at(segment, SEGMENT_HEAD_BYTES, end)).is === "frame";
      if (isProven || isMark || head !== undefined) {
        this.#damage.push(`${name}, byte 0: the head is damaged`);
      } else {
        this.#remarks.push(`${name} was being made when a crash came; open removes it`);
        return;
      }
    }
    let at = SEGMENT_HEAD_BYTES;
    while (at < end) {
      const found = await this.#at(segment, at, end);
      if (found.is === "frame" && found.isWhole) {
        this.frameCount++;
        if (found.type === CHECKPOINT) this.#checkpoints.add(`${number}:${at}`);
        at += frameBytes(found.bytes);
        continue;
      }
      // What is there is damaged if something later proves that it was on the disk.
      const next = found.is === "frame"
        ? at + frameBytes(found.bytes)
        : await this.#nextFrame(segment, at + 8, end);
      if (!isProven && !await this.#isSynced(segment, at, end)) {
        this.#remarks.push(
          `${name}: the last ${end - at} bytes were never flushed as a whole; open cuts them off`,
        );
        return;
      }
      this.#damage.push(
        found.is === "frame"
          ? `${name}, byte ${at}: ${
            FRAMES[found.type] ?? `a frame of type ${found.type}`
          } of ${found.bytes} bytes`
          : `${name}, byte ${at}: ${next - at} bytes`,
      );
      at = next;
    }
  }

  /** What is at a place. */
  async #at(segment: Segment, at: number, end: number): Promise<Found> {
    const found = await this.#headAt(segment, at, end);
    if (found === undefined) return { is: "nothing" };
    const { type, bytes, sum } = found;
    const { window } = segment;
    const isWhole = at + frameBytes(bytes) <= end &&
      await window.sumOf(at + FRAME_HEAD_BYTES, padded(bytes)) === sum;
    return { is: "frame", type, bytes, isWhole };
  }

  /** The head of a frame, if one is there. */
  async #headAt(
    { window, number }: Segment,
    at: number,
    end: number,
  ): Promise<{ type: number; bytes: number; sum: number } | undefined> {
    if (at + FRAME_HEAD_BYTES > end) return undefined;
    const read = window.read(at, FRAME_HEAD_BYTES);
    const head = read instanceof Promise ? await read : read;
    if (head.length < FRAME_HEAD_BYTES) return undefined;
    const placed = new Uint8Array(32);
    const view = viewOf(placed);
    view.setBigUint64(0, this.#logId, true);
    view.setUint32(8, number, true);
    view.setUint32(16, at, true);
    placed.set(head.subarray(0, 12), 20);
    const own = viewOf(head);
    const bytes = own.getUint32(0, true);
    if (own.getUint32(12, true) !== window.sum(placed) || bytes > FRAME_BYTES_MAX) return undefined;
    return { bytes, type: own.getUint32(4, true), sum: own.getUint32(8, true) };
  }

  /** Where the next valid head is. */
  async #nextFrame(segment: Segment, from: number, end: number): Promise<number> {
    for (let at = from; at < end; at += 8) {
      if (await this.#headAt(segment, at, end) !== undefined) return at;
    }
    return end;
  }

  /** Whether a valid mark behind a place names a later one. */
  async #isSynced(segment: Segment, place: number, end: number): Promise<boolean> {
    for (let at = place + 8; at < end;) {
      const found = await this.#at(segment, at, end);
      if (found.is !== "frame") {
        at += 8;
        continue;
      }
      if (found.isWhole && found.type === MARK) {
        const mark = await segment.window.read(at + FRAME_HEAD_BYTES, 8);
        const [number, offset] = [viewOf(mark).getUint32(0, true), viewOf(mark).getUint32(4, true)];
        if (number > segment.number || (number === segment.number && offset > place)) return true;
      }
      at += frameBytes(found.bytes);
    }
    return false;
  }
}

function padded(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

function frameBytes(bytes: number): number {
  return FRAME_HEAD_BYTES + padded(bytes);
}

/** Checks the file that says where the newest checkpoint is. */
async function checkCheckpoint(
  kernel: Kernel,
  path: string,
  log: LogCheck,
  damage: string[],
): Promise<void> {
  const bytes = await readWhole(path);
  if (bytes === undefined) return;
  const view = viewOf(bytes);
  const sum = new Window(kernel, await openData("verify", bytes)).sum(bytes.subarray(0, 28));
  const isValid = bytes.length === 32 && view.getUint32(28, true) === sum &&
    String.fromCharCode(...bytes.subarray(0, 8)) === "EXRPCHEK" &&
    view.getBigUint64(8, true) === log.logId;
  if (!isValid) damage.push("checkpoint.exrp");
  else if (!log.hasCheckpoint(view.getUint32(20, true), view.getUint32(24, true))) {
    damage.push("checkpoint.exrp names a place where no checkpoint begins");
  }
}
