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
export interface Bell {
  /** Whether somebody may be listening. If so, ring after each change. */
  readonly isHeard: boolean;
  /** How often this object rang. */
  readonly ringCount: number;
  /** Wakes all who listen, those who began first before the others. */
  ring(): void;
  /** Begins to listen. */
  listen(): Ear;
}

/** One who listens to a bell. */
export interface Ear {
  /** To be called before you look. */
  ready(): void;
  /** Resolves after the first ring since `ready()` that is not of this thread's look, and sometimes without one. */
  heard(): Promise<void>;
  /** Ends the `heard()` that waits, or else the next one. */
  wake(): void;
  /** Ends listening. */
  close(): void;
}

/** A bell for one thread. */
export class LocalBell implements Bell {
  /** Whether somebody listens. */
  isHeard = false;
  /** How often it rang. */
  ringCount = 0;
  readonly #ears = new Set<LocalEar>();

  /** Wakes all who listen. */
  ring(): void {
    this.ringCount++;
    for (const ear of this.#ears) ear.rung();
  }

  /** Begins to listen. */
  listen(): Ear {
    const ear = new LocalEar((closed) => {
      this.#ears.delete(closed);
      this.isHeard = this.#ears.size > 0;
    });
    this.#ears.add(ear);
    this.isHeard = true;
    return ear;
  }
}

class LocalEar implements Ear {
  readonly #leave: (ear: LocalEar) => void;
  protected isWoken = false;
  protected resolve: (() => void) | undefined;

  constructor(leave: (ear: LocalEar) => void) {
    this.#leave = leave;
  }

  ready(): void {
    this.isWoken = false;
  }

  heard(): Promise<void> {
    if (this.isWoken) return Promise.resolve();
    return new Promise((resolve) => this.resolve = resolve);
  }

  rung(): void {
    this.resolve?.();
    this.resolve = undefined;
  }

  wake(): void {
    this.isWoken = true;
    this.rung();
  }

  close(): void {
    this.#leave(this);
    this.wake();
  }
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
export class SharedBell implements Bell {
  /** The bytes of a bell. */
  static readonly bytes = 8;
  /** How long a listener of this thread waits for a ring before it looks again, in ms. Tests make it so long that none may be lost. */
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

class SharedEar extends LocalEar {
  readonly #bell: Bell;
  readonly #words: Int32Array;
  #seen = 0;
  #ownBefore = 0;

  constructor(bell: Bell, words: Int32Array) {
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
    const { netMs } = SharedBell;
    const { async, value } = Atomics.waitAsync(this.#words, RINGS, expected, netMs);
    if (!async) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        resolve();
      };
      // The timer also keeps this thread alive, as another one may still ring; `waitAsync` alone does not.
      const timer = setTimeout(end, netMs);
      value.then(end);
      this.resolve = end;
    });
  }
}
