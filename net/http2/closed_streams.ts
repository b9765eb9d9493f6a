/**
 * How the streams of a connection were closed, for frames that come after that: RFC 9113, section 5.1 asks for another answer in each case.
 *
 * @module
 */

/** How a stream was closed. */
export const Closed = { unknown: 0, byBoth: 1, byPeersReset: 2, byOurReset: 3 } as const;

/** How many streams are remembered. */
const kept = 1024;

/** Remembers the last streams that were closed, without an object for each. */
export class ClosedStreams {
  readonly #ids = new Uint32Array(kept);
  readonly #how = new Uint8Array(kept);

  /** Notes how a stream was closed: one of `Closed`. */
  add(id: number, how: number): void {
    const place = (id >>> 1) % kept;
    this.#ids[place] = id;
    this.#how[place] = how;
  }

  /** How a stream was closed; unknown if that is too long ago, or it was never opened. */
  how(id: number): number {
    const place = (id >>> 1) % kept;
    return this.#ids[place] === id ? this.#how[place] as number : Closed.unknown;
  }
}
