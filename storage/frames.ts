/**
 * What is stored is a header and a row of frames, each with its checksum. The first frame is a schema, and the last one counts the others.
 * See docs/internals/snapshot_format.md.
 *
 * Reading is done by generators that yield how many bytes they need next. So the same code reads bytes, files and streams;
 * io.ts and file.ts drive it.
 *
 * @module
 */

import { joinBytes } from "../base/bytes.ts";
import { lengthOf } from "../base/typed_arrays.ts";
import { ReplayError } from "../base/errors.ts";
import type { Kernel } from "../ffi/library.ts";
import { corrupt, truncated } from "./errors.ts";
import { parseJson } from "./fields.ts";

/** What a snapshot is of. */
export interface SnapshotKind {
  /** Its first 8 bytes, as ASCII. */
  readonly magic: string;
  /** The version of the format that this library writes. It reads no newer one. */
  readonly version: number;
  /** What it is a snapshot of, in the words of an error. */
  readonly of: string;
}

/** The largest piece that is handed to a stream at once. */
export const PIECE_BYTES_MAX = 2 ** 20;

/** The largest schema that is read. */
const SCHEMA_BYTES_MAX = 2 ** 24;

/** Bytes at the head of a snapshot. */
const HEADER_BYTES = 16;

/** Bytes before a frame's payload. */
const FRAME_HEADER_BYTES = 20;

/** The bytes of a frame without its payload. */
export const FRAME_OVERHEAD_BYTES = FRAME_HEADER_BYTES + 4;

/**
 * A reading of bytes. It yields how many it needs, and gets as many, in memory that nobody else has, or fewer if the source ends. 0 asks for at
 * most one byte.
 */
export type Reading<T> = Generator<number, T, Uint8Array<ArrayBuffer>>;

/** Runs a reading. `pull` gives as many bytes as it asks for, or what is left. */
export function drive<T>(reading: Reading<T>, pull: (count: number) => Uint8Array<ArrayBuffer>): T {
  try {
    let step = reading.next();
    while (!step.done) step = reading.next(pull(step.value));
    return step.value;
  } finally {
    reading.return(undefined as never);
  }
}

/** A snapshot that is about to be written. */
export interface SnapshotWriting {
  /** The bytes of the whole snapshot, if they are known in advance. */
  readonly bytes?: number;
  /** The whole snapshot in pieces, each with its own memory, which is whoever's that gets it. An empty one is a turn for others. What is saved must not change until the last piece, unless its maker says so. */
  readonly pieces: Iterable<Uint8Array<ArrayBuffer>>;
}

const END_BYTES = 16;

/** The bytes of the last frame. */
export const END_FRAME_BYTES = FRAME_OVERHEAD_BYTES + END_BYTES;

/** CRC-32C, by the kernel. */
export function checksum(kernel: Kernel, bytes: Uint8Array<ArrayBuffer>, seed = 0): number {
  return lengthOf(bytes) === 0 ? seed : kernel.symbols.exrp_checksum(seed, bytes, lengthOf(bytes));
}

/** The head of a snapshot, and the frame of its schema. */
export function encodeBegin(
  kernel: Kernel,
  { magic, version }: SnapshotKind,
  schema: object,
): Uint8Array<ArrayBuffer> {
  const json = new TextEncoder().encode(JSON.stringify(schema));
  if (json.length > SCHEMA_BYTES_MAX) {
    throw new ReplayError(
      "not-savable",
      `serialize(): a schema of ${json.length} bytes is too large; it may have ${SCHEMA_BYTES_MAX}`,
    );
  }
  const header = new Uint8Array(HEADER_BYTES);
  header.set(new TextEncoder().encode(magic));
  const view = new DataView(header.buffer);
  view.setUint32(8, version, true);
  view.setUint32(12, checksum(kernel, header.subarray(0, 12)), true);
  const frame = encodeFrame(kernel, "SCHM", 0, json.length, (payload) => payload.set(json));
  return joinBytes([header, frame]);
}

/** A frame whose payload `fill` writes. */
export function encodeFrame(
  kernel: Kernel,
  tag: string,
  index: number,
  payloadBytes: number,
  fill: (payload: Uint8Array<ArrayBuffer>) => void,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(FRAME_OVERHEAD_BYTES + payloadBytes);
  const view = new DataView(bytes.buffer);
  for (let k = 0; k < 4; k++) bytes[k] = tag.charCodeAt(k);
  view.setUint32(4, index, true);
  view.setBigUint64(8, BigInt(payloadBytes), true);
  view.setUint32(16, checksum(kernel, bytes.subarray(0, 16)), true);
  const end = FRAME_HEADER_BYTES + payloadBytes;
  fill(bytes.subarray(FRAME_HEADER_BYTES, end));
  view.setUint32(end, checksum(kernel, bytes.subarray(0, end)), true);
  return bytes;
}

/**
 * A whole snapshot in pieces of at most 1 MiB: its begin, its frames, and the end that counts them. An empty frame is only a turn for others. Who gets a piece may
 * take its memory away, so nothing is asked of a frame later.
 */
export function* encodeAll(
  kernel: Kernel,
  begin: Uint8Array<ArrayBuffer>,
  frames: Iterable<Uint8Array<ArrayBuffer>>,
): Generator<Uint8Array<ArrayBuffer>> {
  let [frameCount, bytes] = [1, begin.length + END_FRAME_BYTES];
  yield* split(begin);
  for (const frame of frames) {
    if (frame.length > 0) frameCount++;
    bytes += frame.length;
    yield* split(frame);
  }
  yield encodeFrame(kernel, "END ", 0, END_BYTES, (payload) => {
    const view = viewOf(payload);
    view.setUint32(0, frameCount, true);
    view.setFloat64(8, bytes, true);
  });
}

function* split(frame: Uint8Array<ArrayBuffer>): Generator<Uint8Array<ArrayBuffer>> {
  if (frame.length <= PIECE_BYTES_MAX) return yield frame;
  for (let at = 0; at < frame.length; at += PIECE_BYTES_MAX) {
    yield frame.slice(at, at + PIECE_BYTES_MAX);
  }
}

/** Reads a snapshot frame by frame, and checks each checksum before anything else. */
export class FrameReader {
  readonly #kernel: Kernel;
  readonly #kind: SnapshotKind;
  #offset = 0;
  #frameCount = 0;
  /** The header of the next frame, if it was read already. */
  #header: Uint8Array<ArrayBuffer> | undefined;

  /** Reads a snapshot of this kind with the kernel's checksum. */
  constructor(kernel: Kernel, kind: SnapshotKind) {
    this.#kernel = kernel;
    this.#kind = kind;
  }

  /** Reads the head, of this kind and version, and the schema, whose fields are not checked yet. */
  *begin(): Reading<Readonly<Record<string, unknown>>> {
    const { magic, version: known, of } = this.#kind;
    const bytes = yield HEADER_BYTES;
    if (!bytes.subarray(0, 8).every((byte, k) => byte === magic.charCodeAt(k))) {
      throw new ReplayError(
        "snapshot-foreign",
        `unserialize(): this is no snapshot of ${of}: it does not begin with ${magic}`,
      );
    }
    if (bytes.length < HEADER_BYTES) {
      throw this.#truncated("the header", bytes.length, HEADER_BYTES);
    }
    const view = viewOf(bytes);
    if (view.getUint32(12, true) !== checksum(this.#kernel, bytes.subarray(0, 12))) {
      throw corrupt("the header's checksum is wrong");
    }
    const version = view.getUint32(8, true);
    if (version !== known) {
      throw new ReplayError(
        "snapshot-version",
        `unserialize(): the snapshot has version ${version} of the format, this library reads ${known}: ${
          version > known ? "use a newer library" : "there was no such version"
        }`,
        { detail: [version, known] },
      );
    }
    this.#offset = HEADER_BYTES;
    return parseJson(yield* this.frame("SCHM", 0, SCHEMA_BYTES_MAX));
  }

  /** Reads the frame that must come next; returns its payload, whose checksum is right. */
  *frame(tag: string, index: number, payloadBytesMax: number): Reading<Uint8Array<ArrayBuffer>> {
    const name = nameOf(tag, index);
    const header = yield* this.#frameHeader(name);
    this.#header = undefined;
    const view = viewOf(header);
    const foundTag = tagOf(header);
    const foundIndex = view.getUint32(4, true);
    if (foundTag !== tag || foundIndex !== index) {
      throw corrupt(
        `${name} has to come at byte ${this.#offset}, found ${
          JSON.stringify(foundTag)
        } ${foundIndex}`,
      );
    }
    const payloadBytes = Number(view.getBigUint64(8, true));
    if (payloadBytes > payloadBytesMax) {
      throw corrupt(`${name} says it has ${payloadBytes} bytes, at most ${payloadBytesMax} can be`);
    }
    this.#offset += FRAME_HEADER_BYTES;
    const rest = yield payloadBytes + 4;
    if (rest.length < payloadBytes + 4) throw this.#truncated(name, rest.length, payloadBytes + 4);
    const payload = rest.subarray(0, payloadBytes);
    const found = viewOf(rest).getUint32(payloadBytes, true);
    if (found !== checksum(this.#kernel, payload, checksum(this.#kernel, header))) {
      throw corrupt(`the checksum of ${name} (byte ${this.#offset}) is wrong`);
    }
    this.#offset += rest.length;
    this.#frameCount++;
    return payload;
  }

  /** Reads all frames to the end, whatever they are, and shows each one's name and payload. Returns the schema. */
  *all(
    show: (name: string, payload: Uint8Array<ArrayBuffer>) => void,
  ): Reading<Readonly<Record<string, unknown>>> {
    const schema = yield* this.begin();
    for (;;) {
      const header = yield* this.#frameHeader("the next section");
      const [tag, index] = [tagOf(header), viewOf(header).getUint32(4, true)];
      if (tag === "END ") break;
      show(nameOf(tag, index), yield* this.frame(tag, index, Number.MAX_SAFE_INTEGER));
    }
    yield* this.end();
    return schema;
  }

  /** How many bytes were read and found right. */
  get offset(): number {
    return this.#offset;
  }

  /** Whether the frame that comes next has this tag. */
  *isNext(tag: string, index: number): Reading<boolean> {
    return tagOf(yield* this.#frameHeader(nameOf(tag, index))) === tag;
  }

  *#frameHeader(name: string): Reading<Uint8Array<ArrayBuffer>> {
    if (this.#header !== undefined) return this.#header;
    const header = yield FRAME_HEADER_BYTES;
    if (header.length < FRAME_HEADER_BYTES) {
      throw this.#truncated(name, header.length, FRAME_HEADER_BYTES);
    }
    const found = viewOf(header).getUint32(16, true);
    if (found !== checksum(this.#kernel, header.subarray(0, 16))) {
      throw corrupt(`the checksum of the header of ${name} (byte ${this.#offset}) is wrong`);
    }
    this.#header = header;
    return header;
  }

  /** Reads the last frame, and checks that nothing follows. */
  *end(): Reading<void> {
    const frameCount = this.#frameCount;
    const payload = yield* this.frame("END ", 0, END_BYTES);
    if (payload.length !== END_BYTES) throw corrupt(`its end has ${payload.length} bytes`);
    const view = viewOf(payload);
    if (view.getUint32(0, true) !== frameCount || view.getFloat64(8, true) !== this.#offset) {
      throw corrupt(`its end counts ${view.getUint32(0, true)} sections, it has ${frameCount}`);
    }
    const rest = yield 0;
    if (rest.length > 0) throw corrupt(`it goes on after its end, at byte ${this.#offset}`);
  }

  #truncated(what: string, found: number, needed: number): ReplayError {
    return truncated(what, this.#offset + found, needed - found);
  }
}

function viewOf(bytes: Uint8Array<ArrayBuffer>): DataView<ArrayBuffer> {
  return new DataView(bytes.buffer, bytes.byteOffset);
}

function tagOf(header: Uint8Array): string {
  return String.fromCharCode(...header.subarray(0, 4));
}

function nameOf(tag: string, index: number): string {
  return `section ${tag.trim()} ${index}`;
}
