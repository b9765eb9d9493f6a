/**
 * A bell: who changes something rings it, and who waits for a change hears it. No ring is lost. A ring may come for nothing, so whoever
 * hears one looks again.
 *
 * There are two forms. The local one wakes those who wait on the same thread, without any timer. The shared one wakes those of all threads
 * that have its memory. A thread may end between its change and its ring, so there a listener also looks again every 100 ms.
 *
 * How to wait: begin to listen; then, again and again, call `ready()`, look, and if you looked in vain, await `heard()`. A look takes no
 * turn of the event loop. So whatever rings this bell object meanwhile comes from the look itself, and wakes nobody who looked. At the end, close the
 * ear.
 *
 * @module
 */

/** A bell. Where nobody listens, it costs one load to know that. */
export type Bell = LocalBell | SharedBell;

/** A bell for one thread. */
export class LocalBell {
  /** Whether somebody listens. If so, ring after each change. */
  isHeard = false;
  /** How often it rang. */
  ringCount = 0;
  readonly #ears = new Set<Ear>();

  /** Wakes all who listen, those who began first before the others. */
  ring(): void {
    this.ringCount++;
    for (const ear of this.#ears) ear.rung();
  }

  /** Begins to listen. */
  listen(): Ear {
    const ear = new Ear((closed) => {
      this.#ears.delete(closed);
      this.isHeard = this.#ears.size > 0;
    });
    this.#ears.add(ear);
    this.isHeard = true;
    return ear;
  }
}

/** One who listens to a bell. */
export class Ear {
  readonly #leave: (ear: Ear) => void;
  protected isWoken = false;
  protected resolve: (() => void) | undefined;

  constructor(leave: (ear: Ear) => void) {
    this.#leave = leave;
  }

  /** To be called before you look. */
  ready(): void {
    this.isWoken = false;
  }

  /** Resolves after the first ring since `ready()` that is not of this thread's look, and sometimes without one. */
  heard(): Promise<void> {
    if (this.isWoken) return Promise.resolve();
    return new Promise((resolve) => this.resolve = resolve);
  }

  /** Hears a ring. */
  rung(): void {
    this.resolve?.();
    this.resolve = undefined;
  }

  /** Ends the `heard()` that waits, or else the next one. */
  wake(): void {
    this.isWoken = true;
    this.rung();
  }

  /** Ends listening. */
  close(): void {
    this.#leave(this);
    this.wake();
  }
}

/** How often to look, in ms, where the engine has no `Atomics.waitAsync`. */
const POLL_MS = 5;

/**
 * Waits until the word at `index` may not be `expected` any more, for `ms` at most, or until `end` is called. It may also end earlier, so look
 * again.
 */
export function changeOf(
  words: Int32Array,
  index: number,
  expected: number,
  ms: number,
): { readonly changed: Promise<void>; readonly end: () => void } {
  let end = (): void => {};
  const changed = new Promise<void>((resolve) => {
    const waiting = Atomics.waitAsync?.(words, index, expected, ms);
    end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    // The timer also keeps this thread alive, as another one may still change the word; `waitAsync` alone does not.
    const timer = setTimeout(end, waiting === undefined ? Math.min(ms, POLL_MS) : ms);
    if (waiting?.async === true) waiting.value.then(end);
    else if (waiting !== undefined) end();
  });
  return { changed, end };
}

/** The words of a shared bell: how often it rang, modulo 2^32, and how many listen. */
const RINGS = 0;
const EARS = 1;

/**
 * A bell for all threads that have its memory.
 *
 * A change that a lock guards needs no other order: the listener counts itself before it takes the lock to look, and the changer loads
 * that count after it took the lock. So, if the listener looked too early, the changer took the lock later and sees the count.
 */
export class SharedBell {
  /** The bytes of a bell. */
  static readonly bytes = 8;
  /** How long one who waits in this thread does so before it looks again, in ms. Tests make it so long that no ring may be lost. */
  static netMs = 100;
  /** The memory of the bell: give it to other threads, which make a bell of their own of it. */
  readonly memory: SharedArrayBuffer;
  /** How often this object rang, in this thread. */
  ringCount = 0;
  readonly #words: Int32Array;

  /** The bell with this memory, of {@linkcode SharedBell.bytes} bytes: a new one if they are zeros. */
  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#words = new Int32Array(memory, 0, SharedBell.bytes / Int32Array.BYTES_PER_ELEMENT);
  }

  /** Whether somebody listens, or a thread ended while it did. */
  get isHeard(): boolean {
    return Atomics.load(this.#words, EARS) > 0;
  }

  /** Wakes all who listen. */
  ring(): void {
    this.ringCount++;
    Atomics.add(this.#words, RINGS, 1);
    Atomics.notify(this.#words, RINGS);
  }

  /** Begins to listen. */
  listen(): Ear {
    return new SharedEar(this, this.#words);
  }
}

class SharedEar extends Ear {
  readonly #bell: SharedBell;
  readonly #words: Int32Array;
  #seen = 0;
  #ownBefore = 0;

  constructor(bell: SharedBell, words: Int32Array) {
    let isOpen = true;
    super(() => {
      if (isOpen) Atomics.sub(words, EARS, 1);
      isOpen = false;
    });
    this.#bell = bell;
    this.#words = words;
    Atomics.add(words, EARS, 1);
  }

  override ready(): void {
    super.ready();
    this.#seen = Atomics.load(this.#words, RINGS);
    this.#ownBefore = this.#bell.ringCount;
  }

  override heard(): Promise<void> {
    if (this.isWoken) return Promise.resolve();
    const own = this.#bell.ringCount - this.#ownBefore;
    const expected = (this.#seen + own) | 0;
    const { changed, end } = changeOf(this.#words, RINGS, expected, SharedBell.netMs);
    this.resolve = end;
    return changed;
  }
}
