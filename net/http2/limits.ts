/**
 * What a client may cost the server: the limits of an HTTP/2 connection, and the counter that keeps a rate.
 *
 * Each limit answers an attack that is known. A client that keeps to the protocol reaches none of them.
 *
 * @module
 */

/** The limits of one HTTP/2 connection, with their defaults. */
export const http2Limits = {
  /** Streams that are open at once. One more is refused by REFUSED_STREAM, and a client tries again later. */
  streamsMax: 256,
  /** Bytes that a stream may send before the server takes them. */
  streamWindow: 1 << 20,
  /** Bytes that a connection may have on its way. They are given back as they arrive, so that no stream holds up another. */
  connectionWindow: 16 << 20,
  /** The largest frame. DATA is handed on as it arrives, so a large frame needs no memory. */
  frameSizeMax: 1 << 20,
  /** The largest list of headers, as RFC 9113 counts it: 32 bytes for each field, besides its text. A larger one is answered by 431. */
  headerListMax: 16 << 10,
  /** Bytes of a compressed list of headers, and of any frame other than DATA. More ends the connection. */
  headerBlockMax: 32 << 10,
  /** CONTINUATION frames of one list of headers; against floods of empty ones (CVE-2024-27316). */
  continuationsMax: 32,
  /**
   * Frames that carry nothing: PING, SETTINGS, PRIORITY, empty DATA, frames of unknown types and of closed streams, and DATA that a
   * tiny window cuts below 256 bytes (CVE-2019-9511, 9512, 9513, 9515, 9518). So many may come at once.
   */
  idleFramesBurst: 2_000,
  /** So many of them a second are allowed for ever. */
  idleFramesPerSecond: 500,
  /**
   * Streams that a client opens and cancels before it has an answer, or makes the server reset by a fault (CVE-2023-44487, CVE-2025-8671).
   * So many may come at once.
   */
  resetsBurst: 500,
  /** So many of them a second are allowed for ever. */
  resetsPerSecond: 100,
  /**
   * Bytes that wait for the socket. Above it, DATA waits in its stream, and the connection reads nothing. If answers other than DATA
   * make it 1 MiB more, the connection ends (a client that never reads).
   */
  outputMax: 1 << 20,
  /** Milliseconds until the preface and the first SETTINGS must be there. */
  handshakeMs: 10_000,
  /** Milliseconds without any byte of the client after which it gets a PING. */
  keepaliveMs: 60_000,
  /** Milliseconds that it has to answer the PING, by any bytes; then the connection ends. */
  keepaliveTimeoutMs: 20_000,
  /** Milliseconds without any stream after which the connection is ended gracefully. Never: clients of grpcio take seconds to come back. */
  idleMs: Number.MAX_SAFE_INTEGER,
  /** Milliseconds until the first stream; then the connection is ended gracefully. */
  firstStreamMs: 60_000,
};

/** Limits of one HTTP/2 connection. */
export type Http2Limits = Readonly<typeof http2Limits>;

/** Says when something comes too often: a bucket of `burst` tokens, which fills again by `perSecond`. */
export class Rate {
  readonly #burst: number;
  readonly #perSecond: number;
  readonly #now: () => number;
  #tokens: number;
  #filledAt: number;

  /** A full bucket. `now` gives milliseconds. */
  constructor(burst: number, perSecond: number, now: () => number) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#now = now;
    this.#tokens = burst;
    this.#filledAt = now();
  }

  /** Takes a token; false if there is none. The clock is asked only when the bucket seems to be empty. */
  take(): boolean {
    if (this.#tokens < 1) {
      const now = this.#now();
      const filled = (now - this.#filledAt) * this.#perSecond / 1000;
      if (filled < 1) return false;
      this.#tokens = Math.min(this.#burst, this.#tokens + filled);
      this.#filledAt = now;
    }
    this.#tokens--;
    return true;
  }
}
