/**
 * The shared memory of a `Broadcast`: whole versions of some bytes, from one writer at a time to any number of readers.
 *
 * The memory has a few words and four slots. A writer fills a slot that readers do not need, and then makes it the newest one. A reader
 * copies the newest slot, and then looks whether a writer began to use that slot meanwhile. If so, it copies again. So neither side
 * waits for the other, and a thread that ends at any moment leaves no lock behind that a reader would need.
 *
 * Invariants:
 * 1. `HEAD` has the number of the newest version and its slot. That version is whole.
 * 2. `SEQUENCE + k` is odd from before the first byte of slot k changes until after the last one has. Each use of a slot has other numbers,
 *    and only one writer gets a number.
 * 3. A writer never writes to the slot of `HEAD`.
 * 4. `WRITER` is the number of the writer that is inside `write()`, or 0. `BEGUN + k` says when a writer began to use slot k: the uses of all
 *    slots are counted by `USE_COUNT`.
 * 5. A thread that lost its place gives its slot back, as soon as it sees that. Only a thread that ended leaves a slot odd. Such a slot is used
 *    again only when no other one is free, and the one that was left first is taken. So a thread that was told to end, and still copies a piece,
 *    disturbs nobody: it would have to stand in the middle of that piece while two other writers come and are cut off.
 *
 * Why no reader gets a torn version. Say a reader loads an even number of slot k, copies the slot, and finds the same number again. Its
 * bytes come from writes that the store of that number published, because the load saw that store. And they come from no later write:
 * the second look is a read-modify-write (`Atomics.add` of 0), not a load. In the order of all changes of that word, it stands before the
 * change by which the next writer begins. That change reads what the look wrote. So the copy happens before it, and before all writes
 * that follow it. A plain load in the second look would not do: a processor such as an ARM may run it before the copy has ended.
 *
 * Thread safety: any thread may call any method. Cost: a copy of all bytes for `write()` and `read()`; one atomic load for `head`.
 * It does not know what the bytes mean, and does not wait.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";

/** The words, as indices into an `Int32Array`. */
const HEAD = 0;
const WRITER = 1;
const WRITER_COUNT = 2;
const USE_COUNT = 3;
const SEQUENCE = 4;
const BEGUN = 8;

const SLOT_BITS = 2;
const SLOT_COUNT = 1 << SLOT_BITS;
const SLOT_MASK = SLOT_COUNT - 1;

/** `HEAD` has room for the version modulo 2^30. The whole number stands in the slot. So a thread must ask at least once in so many versions. */
export const VERSION_MASK = 2 ** 30 - 1;

const WORDS_BYTES = 64;
const VERSION_BYTES = 8;

/** A writer looks after each so many bytes whether it is still the writer. */
const PIECE_BYTES = 2 ** 18;

/** Rounds up to the alignment of any element. */
function aligned(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

/** The bytes of one slot. */
function slotBytes(sizes: readonly number[]): number {
  return sizes.reduce((sum, size) => sum + aligned(size), VERSION_BYTES);
}

/** One slot as one thread sees it. */
interface Slot {
  /** `[1]`: the number of its version. */
  readonly version: Float64Array;
  /** The bytes of each array. */
  readonly parts: readonly Uint8Array[];
}

/** The shared memory of one `Broadcast`, as one thread sees it. */
export class Slots {
  /** The word that changes with each version, for `Atomics.waitAsync`. */
  readonly words: Int32Array;
  readonly #slots: readonly Slot[];
  #writer = 0;
  /** A version that this thread has seen, from which it knows the upper bits of later ones. */
  #known = 0;

  /** How many bytes of shared memory arrays of these sizes in bytes take. */
  static bytesFor(sizes: readonly number[]): number {
    return WORDS_BYTES + SLOT_COUNT * slotBytes(sizes);
  }

  /** Memory of {@linkcode Slots.bytesFor} bytes: zeros, or what another thread uses already. */
  constructor(memory: SharedArrayBuffer, sizes: readonly number[]) {
    this.words = new Int32Array(memory, 0, WORDS_BYTES / Int32Array.BYTES_PER_ELEMENT);
    this.#slots = Array.from({ length: SLOT_COUNT }, (_, k) => {
      let at = WORDS_BYTES + k * slotBytes(sizes);
      const version = new Float64Array(memory, at, 1);
      at += VERSION_BYTES;
      const parts = sizes.map((size) => {
        const part = new Uint8Array(memory, at, size);
        at += aligned(size);
        return part;
      });
      return { version, parts };
    });
    this.#known = this.read([]);
  }

  /** The word that changes with each version. */
  get head(): number {
    return Atomics.load(this.words, HEAD);
  }

  /** The number of the newest version. It is exact if this thread asks for it once in 2^30 versions. */
  get version(): number {
    // HEAD has the lower 30 bits, so the difference from a known version is the rest of a division by 2^30.
    this.#known += ((this.head >>> SLOT_BITS) - this.#known) & VERSION_MASK;
    return this.#known;
  }

  /**
   * Copies `sources` into a slot and makes it the newest version, whose number it returns: the next one, or `least` if that is larger.
   *
   * @throws {ReplayError} `busy` if another writer is at work, or this one lost its place to another.
   */
  write(sources: readonly Uint8Array[], least = 0): number {
    const { words } = this;
    if (this.#writer === 0) this.#writer = Atomics.add(words, WRITER_COUNT, 1) + 1;
    // A compareExchange, because of two threads only one may find the 0.
    if (Atomics.compareExchange(words, WRITER, 0, this.#writer) !== 0) {
      throw new ReplayError(
        "busy",
        "publish(): another writer is in the middle of publish(). Only one may publish at a time; if its thread has ended, call takeOver() first",
      );
    }
    let version = this.#tryWrite(sources, least);
    // A writer that lost its place, but had not ended, may have published meanwhile.
    while (version === undefined) version = this.#tryWrite(sources, least);
    this.#known = version;
    // A compareExchange, because another writer may have taken the place over.
    Atomics.compareExchange(words, WRITER, this.#writer, 0);
    Atomics.notify(words, HEAD);
    return version;
  }

  /** One attempt to write; undefined if the newest version changed meanwhile. */
  #tryWrite(sources: readonly Uint8Array[], least: number): number | undefined {
    const { words } = this;
    const head = Atomics.load(words, HEAD);
    const at = this.#freeSlot(head & SLOT_MASK);
    const slot = this.#slots[at] as Slot;
    const before = Atomics.load(words, SEQUENCE + at);
    const begun = (before | 1) === before ? before + 2 : before + 1;
    // A read-modify-write: it reads what the last reader's second look wrote. So that reader's copy happens before the writes below. It fails
    // for a thread that lost its place before it came here, where another one has used the slot: that may be the newest version by now.
    if (Atomics.compareExchange(words, SEQUENCE + at, before, begun) !== before) {
      this.#checkWriter();
      return undefined;
    }
    Atomics.store(words, BEGUN + at, Atomics.add(words, USE_COUNT, 1));
    // If HEAD has changed since it was loaded, the last compareExchange fails.
    const version = Math.max(this.version + 1, least);
    try {
      this.#fill(slot, version, sources);
    } catch (error) {
      // This thread writes to the slot no more. It fails where another writer has taken the slot.
      Atomics.compareExchange(words, SEQUENCE + at, begun, begun + 1);
      throw error;
    }
    // It publishes the bytes to who loads the even number. It fails only for a thread that lost its place, and its slot too.
    const isMine = Atomics.compareExchange(words, SEQUENCE + at, begun, begun + 1) === begun;
    const next = ((version & VERSION_MASK) << SLOT_BITS) | at;
    // A compareExchange, because a thread that lost its place must not put an older version above a newer one.
    if (isMine && Atomics.compareExchange(words, HEAD, head, next) === head) return version;
    return undefined;
  }

  /** Copies `sources` into a slot, for as long as this is the writer. */
  #fill(slot: Slot, version: number, sources: readonly Uint8Array[]): void {
    this.#checkWriter();
    slot.version[0] = version;
    for (const [k, part] of slot.parts.entries()) {
      const source = sources[k] as Uint8Array;
      for (let from = 0; from < part.length; from += PIECE_BYTES) {
        this.#checkWriter();
        part.set(source.subarray(from, from + PIECE_BYTES), from);
      }
    }
    this.#checkWriter();
  }

  /**
   * Copies the newest version into `targets`, and returns its number. Without targets, it returns the number only.
   *
   * It copies again as often as the writer reused the slot in the middle. The writer has to publish three versions for that.
   */
  read(targets: readonly Uint8Array[]): number {
    const { words } = this;
    for (;;) {
      const head = Atomics.load(words, HEAD);
      const at = head & SLOT_MASK;
      const { version, parts } = this.#slots[at] as Slot;
      // It sees the store of the writer that made the slot whole. So the reads below see all that was written before.
      const sequence = Atomics.load(words, SEQUENCE + at);
      if ((sequence & 1) === 1) continue;
      const found = version[0] as number;
      // The slot may be whole, and yet of another version than HEAD said: of one that is not the newest yet.
      if ((found & VERSION_MASK) !== head >>> SLOT_BITS) continue;
      for (const [k, target] of targets.entries()) target.set(parts[k] as Uint8Array);
      if (this.isUntouched(at, sequence)) return found;
    }
  }

  /** Whether no writer has begun to use a slot since its number was `sequence`. The tests plant a fault here. */
  protected isUntouched(slot: number, sequence: number): boolean {
    // A read-modify-write and not a load: see the head of this file.
    return Atomics.add(this.words, SEQUENCE + slot, 0) === sequence;
  }

  /** Takes the writer's place; returns whether a writer was in the middle of `write()`. */
  takeOver(): boolean {
    return Atomics.exchange(this.words, WRITER, 0) !== 0;
  }

  /** The slot to write to: the next one after `newest` that is whole. If writers were cut off in all, the one that was left first. */
  #freeSlot(newest: number): number {
    const { words } = this;
    let oldest = (newest + 1) & SLOT_MASK;
    for (let k = 1; k < SLOT_COUNT; k++) {
      const at = (newest + k) & SLOT_MASK;
      if ((Atomics.load(words, SEQUENCE + at) & 1) === 0) return at;
      // The difference, as the count begins anew after 2^32 uses.
      const later = Atomics.load(words, BEGUN + oldest) - Atomics.load(words, BEGUN + at);
      if ((later | 0) > 0) oldest = at;
    }
    return oldest;
  }

  #checkWriter(): void {
    if (Atomics.load(this.words, WRITER) === this.#writer) return;
    throw new ReplayError(
      "busy",
      "publish(): another writer called takeOver() in the middle of this publish(); nothing was published",
    );
  }
}
