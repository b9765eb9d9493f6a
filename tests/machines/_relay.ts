/**
 * A process that carries the frames of slow and lossy cables, where the kernel has no `netem`. A cable is a pair of TAP devices: what the system sends into one end
 * comes out of the other, later or never.
 *
 * Each line of its input is an {@linkcode Order}, as JSON. It answers each by the cable's name, on a line, and ends with its input. It runs in one thread, and waits in `poll()`.
 *
 * @module
 */

import { RandomStream } from "../../selectors/random_stream.ts";

/** What a cable does to frames, both ways. */
export interface Link {
  /** How late each frame comes. */
  readonly delayMs: number;
  /** How much sooner or later that may be, by chance. Frames then overtake each other. */
  readonly jitterMs: number;
  /** How many of 100 frames are lost. */
  readonly lossPercent: number;
}

/** Makes a cable, or changes it; without a link, its ends are removed. */
export interface Order {
  readonly name: string;
  /** The names of the two devices. */
  readonly ends: readonly [string, string];
  readonly seed: number;
  readonly link?: Link;
}

/** Frames that may be on their way in one direction; `netem` has the same limit. More are lost. */
const QUEUE_MAX = 1000;
/** Frames of one end that are taken in one turn. */
const TURN_MAX = 64;
const FRAME_MAX = 65_536n;
const LINE_MAX = 4096n;

const [STDIN, POLLIN, POLLFD_BYTES] = [0, 1, 8];
const [O_RDWR, O_NONBLOCK, TUNSETIFF, IFF_TAP, IFF_NO_PI] = [2, 0x800, 0x400454can, 2, 0x1000];

/** Where it all runs on, loaded by the process only. */
const libc = () =>
  Deno.dlopen("libc.so.6", {
    open: { parameters: ["buffer", "i32"], result: "i32" },
    ioctl: { parameters: ["i32", "usize", "buffer"], result: "i32" },
    poll: { parameters: ["buffer", "usize", "i32"], result: "i32" },
    read: { parameters: ["i32", "buffer", "usize"], result: "i32" },
    write: { parameters: ["i32", "buffer", "usize"], result: "i32" },
    close: { parameters: ["i32"], result: "i32" },
  }).symbols;

type Libc = ReturnType<typeof libc>;

/** Makes a TAP device, which lives as long as its file. */
function openTap({ open, ioctl }: Libc, name: string): number {
  const file = open(new TextEncoder().encode("/dev/net/tun\0"), O_RDWR | O_NONBLOCK);
  const request = new Uint8Array(40);
  request.set(new TextEncoder().encode(name));
  new DataView(request.buffer).setInt16(16, IFF_TAP | IFF_NO_PI, true);
  if (file < 0 || ioctl(file, TUNSETIFF, request) < 0) throw new Error(`no TAP device ${name}`);
  return file;
}

/** One direction of a cable. */
class Direction {
  readonly from: number;
  readonly #to: number;
  readonly #random: RandomStream;
  /** In the order in which they leave. */
  readonly #queue: { readonly at: number; readonly frame: Uint8Array<ArrayBuffer> }[] = [];

  constructor(from: number, to: number, seed: number, stream: number) {
    this.from = from;
    this.#to = to;
    this.#random = new RandomStream(seed, stream);
  }

  /** When the next frame leaves. */
  get next(): number {
    return this.#queue[0]?.at ?? Infinity;
  }

  take(frame: Uint8Array<ArrayBuffer>, { delayMs, jitterMs, lossPercent }: Link): void {
    const isLost = 100 * this.#random.uniform() < lossPercent;
    if (isLost || this.#queue.length === QUEUE_MAX) return;
    const jitter = jitterMs * (2 * this.#random.uniform() - 1);
    const at = performance.now() + Math.max(0, delayMs + jitter);
    let place = this.#queue.length;
    // Without jitter, those of one time keep their order.
    while (place > 0 && (this.#queue[place - 1]?.at ?? 0) > at) place--;
    this.#queue.splice(place, 0, { at, frame });
  }

  /** Sends what is due. A device that is down takes nothing: it is lost. */
  send({ write }: Libc): void {
    const now = performance.now();
    let count = 0;
    for (const { at, frame } of this.#queue) {
      if (at > now) break;
      write(this.#to, frame, BigInt(frame.length));
      count++;
    }
    this.#queue.splice(0, count);
  }
}

interface Cable {
  link: Link;
  readonly directions: readonly Direction[];
}

/** Carries frames until its input ends. */
function run(symbols: Libc): void {
  const { poll, read, close } = symbols;
  const cables = new Map<string, Cable>();
  const room = new Uint8Array(Number(FRAME_MAX));
  let input = "";

  const obey = ({ name, ends, seed, link }: Order): void => {
    const known = cables.get(name);
    if (link === undefined) {
      cables.delete(name);
      for (const { from } of known?.directions ?? []) close(from);
    } else if (known !== undefined) known.link = link;
    else {
      const [one, other] = ends.map((end) => openTap(symbols, end)) as [number, number];
      const directions = [new Direction(one, other, seed, 0), new Direction(other, one, seed, 1)];
      cables.set(name, { link, directions });
    }
    console.log(name);
  };

  for (;;) {
    const all = [...cables.values()].flatMap(({ directions }) => directions);
    const files = new Uint8Array(POLLFD_BYTES * (1 + all.length));
    const view = new DataView(files.buffer);
    for (const [k, file] of [STDIN, ...all.map(({ from }) => from)].entries()) {
      view.setInt32(POLLFD_BYTES * k, file, true);
      view.setInt16(POLLFD_BYTES * k + 4, POLLIN, true);
    }
    const next = Math.min(...all.map((direction) => direction.next));
    const patience = next === Infinity ? -1 : Math.max(0, Math.ceil(next - performance.now()));
    poll(files, BigInt(1 + all.length), patience);
    for (const { link, directions } of cables.values()) {
      for (const direction of directions) {
        for (let turn = 0; turn < TURN_MAX; turn++) {
          const bytes = read(direction.from, room, FRAME_MAX);
          if (bytes <= 0) break;
          direction.take(room.slice(0, bytes), link);
        }
        direction.send(symbols);
      }
    }
    if (view.getInt16(6, true) === 0) continue;
    const bytes = read(STDIN, room, LINE_MAX);
    if (bytes <= 0) return;
    input += new TextDecoder().decode(room.subarray(0, bytes));
    const lines = input.split("\n");
    input = lines.pop() ?? "";
    for (const line of lines) obey(JSON.parse(line) as Order);
  }
}

if (import.meta.main) run(libc());
