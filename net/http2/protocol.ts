/**
 * The numbers of HTTP/2, as RFC 9113 has them.
 *
 * @module
 */

/** The types of frames (RFC 9113, section 6). */
export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** The flags of frames. `ack` and `endStream` are one bit, on different types. */
export const Flag = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** The error codes of RST_STREAM and GOAWAY (RFC 9113, section 7) that are used here. */
export const ErrorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  settingsTimeout: 4,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;

/** The settings (RFC 9113, section 6.5.2). */
export const Setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** What a client sends first (RFC 9113, section 3.4). */
export const preface: Uint8Array<ArrayBuffer> = new TextEncoder().encode(
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
);

/** Bytes of a frame's header. */
export const frameHeaderBytes = 9;

/** The window of a connection, and of a stream before the first SETTINGS. */
export const windowAtFirst = 65_535;

/** The largest window, and the largest increment. */
export const windowMax = 0x7fff_ffff;

/** The largest frame before the peer's first SETTINGS. */
export const frameSizeAtFirst = 16_384;

/** The largest frame that a setting can allow. */
export const frameSizeLimit = 0xff_ffff;

/** Reads 32 bits, the most significant byte first, as a number from 0 to 2^32 - 1. */
export function read32(bytes: Uint8Array, at: number): number {
  return (((bytes[at] as number) << 24) | ((bytes[at + 1] as number) << 16) |
    ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number)) >>> 0;
}

/** Writes 32 bits, the most significant byte first. */
export function write32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

/** Copies `source[from..to)` to `target[at..)`. A short run is copied by a loop, because a view costs more than that. */
export function copyBytes(
  target: Uint8Array,
  at: number,
  source: Uint8Array,
  from: number,
  to: number,
): void {
  const count = to - from;
  if (count < 48) {
    for (let k = 0; k < count; k++) target[at + k] = source[from + k] as number;
  } else if (from === 0 && to === source.length) {
    target.set(source, at);
  } else {
    target.set(source.subarray(from, to), at);
  }
}
