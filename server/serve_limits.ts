/**
 * What a server lets its clients take: the limits by name, with their defaults and ranges.
 *
 * @module
 */
import { checkInteger } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { grpcLimits } from "../net/grpc/calls.ts";
import { http2Limits } from "../net/http2/limits.ts";
import { pumpLimits } from "../net/pump/pump.ts";

/** What a server lets its clients take. {@linkcode serve} takes it. */
export interface ServeLimits {
  /**
   * Connections that are open at once; 1,024 by default. For one more, another one ends, and its client connects again at its next call: the oldest
   * that never made a call, if it is 5 seconds old, or if more than half are such; else the one that has had no call for longest. If each has a
   * call, or had one within 5 seconds, the new one is closed at once, and its client tries again.
   */
  readonly connections?: number;
  /** Calls that are open at once on one connection; 256 by default. */
  readonly calls?: number;
  /** Bytes of one message; 256 MiB by default. A larger one ends its call by RESOURCE_EXHAUSTED. */
  readonly messageBytes?: number;
  /**
   * Bytes of messages that came in part, and of those that wait while a rate limiter holds their call back, of all connections together; 1 GiB by
   * default. At least 2 MiB more than `messageBytes`. A call that waits takes up to 1 MiB. When they are too many, the call that holds most, of
   * the connection that holds most, ends by UNAVAILABLE, and Reverb's writers send it again. The oldest message that waits for its client alone
   * stays, so one after another always comes in.
   */
  readonly bytesInFlight?: number;
  /**
   * Milliseconds in which 16 KiB more of a message must come, or all of it; 30,000 by default. While more than half of `bytesInFlight` is taken,
   * it is an eighth of the message. A slower message ends its call by UNAVAILABLE, and Reverb's writers send it again.
   */
  readonly messageStallMs?: number;
  /**
   * Bytes of chunks that one stream of inserts holds for items to come; 1 GiB by default. More end the call by RESOURCE_EXHAUSTED.
   */
  readonly heldChunkBytes?: number;
  /** Milliseconds without any byte of a client after which it gets a PING; 60,000 by default. Clients of gRPC answer by themselves. */
  readonly keepaliveMs?: number;
  /** Milliseconds that a client has to answer a PING, by any bytes; 20,000 by default. Then its connection is closed. */
  readonly keepaliveTimeoutMs?: number;
  /**
   * Milliseconds without any call after which a connection is ended gracefully; never by default. Clients of gRPC connect again by themselves
   * at their next call, but Reverb's client in Python takes some seconds for it.
   */
  readonly idleMs?: number;
}

const largest = Number.MAX_SAFE_INTEGER;

/** The default of each limit, and the largest that it may be. The smallest is 1. */
const ranges: Readonly<Record<keyof ServeLimits, readonly [byDefault: number, max: number]>> = {
  connections: [pumpLimits.connectionsMax, 1_000_000],
  calls: [http2Limits.streamsMax, 2 ** 31 - 1],
  messageBytes: [grpcLimits.messageMax, 2 ** 32 - 1],
  bytesInFlight: [1 << 30, largest],
  messageStallMs: [grpcLimits.messageStallMs, largest],
  heldChunkBytes: [1 << 30, largest],
  keepaliveMs: [http2Limits.keepaliveMs, largest],
  keepaliveTimeoutMs: [http2Limits.keepaliveTimeoutMs, largest],
  idleMs: [http2Limits.idleMs, largest],
};

/** All limits: those that are given, and the defaults. */
export function fillLimits(limits: ServeLimits): Required<ServeLimits> {
  const filled = Object.entries(ranges).map(([name, [byDefault]]) =>
    [name, limits[name as keyof ServeLimits] ?? byDefault] as const
  );
  return Object.fromEntries(filled) as unknown as Required<ServeLimits>;
}

/**
 * Checks limits; `where` names them.
 *
 * @throws {TypeError} For an unknown name.
 * @throws {RangeError} For a limit that is no whole number in its range, or too few `bytesInFlight` for a message.
 */
export function checkLimits(where: string, limits: object): asserts limits is ServeLimits {
  checkOptions(where, limits, Object.keys(ranges));
  for (const [name, [, max]] of Object.entries(ranges)) {
    const value = (limits as Readonly<Record<string, unknown>>)[name];
    if (value !== undefined) checkInteger(`${where}.${name}`, value, 1, max);
  }
  // The largest message and what follows it in a window, and a window of one call that waits: so some call always has room to go on.
  const { bytesInFlight, messageBytes } = fillLimits(limits);
  const least = messageBytes + 2 * http2Limits.streamWindow;
  if (bytesInFlight >= least) return;
  throw new RangeError(
    `${where}.bytesInFlight must be at least ${least}, which is 2 MiB more than messageBytes, got ${bytesInFlight}: a message of ${messageBytes} bytes has no room beside a call that waits`,
  );
}

/** Throws unless the milliseconds are 0 to 1,000. */
export function checkBusyPoll(where: string, value: unknown): void {
  checkInteger(where, value, 0, 1000);
}
