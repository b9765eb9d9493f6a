/**
 * The error of calls to a server that speaks Reverb's protocol.
 *
 * @module
 */

/** The failures of a call to a server. {@linkcode ReverbError.code} is one of them. The words are those of gRPC. */
export type ReverbErrorCode =
  | "cancelled"
  | "unknown"
  | "invalid-argument"
  | "deadline-exceeded"
  | "not-found"
  | "already-exists"
  | "permission-denied"
  | "resource-exhausted"
  | "failed-precondition"
  | "aborted"
  | "out-of-range"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "data-loss"
  | "unauthenticated";

/** The codes in gRPC's order, from status 1 on. */
const CODES: readonly ReverbErrorCode[] = [
  "cancelled",
  "unknown",
  "invalid-argument",
  "deadline-exceeded",
  "not-found",
  "already-exists",
  "permission-denied",
  "resource-exhausted",
  "failed-precondition",
  "aborted",
  "out-of-range",
  "unimplemented",
  "internal",
  "unavailable",
  "data-loss",
  "unauthenticated",
];

/**
 * A call to a server failed. Its {@linkcode ReverbError.code} says how.
 *
 * Arguments of the wrong type throw a `TypeError` instead, and arguments of the wrong size a `RangeError`. Such a call has sent nothing.
 *
 * | code | when |
 * |---|---|
 * | `unavailable` | no server answers at the address, or the connection was lost. `connect()` tries again until its `timeoutMs` have passed |
 * | `deadline-exceeded` | the call took longer than its `timeoutMs` |
 * | `permission-denied` | the program may not connect: Deno needs `--allow-net` |
 * | `unimplemented` | what answers at the address is no server of Reverb's protocol, or has no `setRateLimiter` |
 * | `not-found` | the server has no such table |
 * | `invalid-argument` | the server refuses a value, or has no place for checkpoints |
 * | `resource-exhausted` | too many items of a writer wait, because `createItem` was not awaited |
 * | `cancelled` | the client or the writer was closed during the call |
 *
 * @example
 * ```ts
 * import { ReverbClient, ReverbError } from "@exrp/replay/reverb";
 *
 * try {
 *   await ReverbClient.connect("127.0.0.1:9", { timeoutMs: 100 }); // nobody listens there
 * } catch (error) {
 *   console.log(error instanceof ReverbError && error.code); // unavailable
 * }
 * ```
 */
export class ReverbError extends Error {
  /** `"ReverbError"`. */
  override readonly name: string = "ReverbError";
  /** The failure, as a word that stays the same between versions. */
  readonly code: ReverbErrorCode;

  /** Makes an error. The library does this; you need not. */
  constructor(code: ReverbErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** The error for a status of gRPC other than 0. */
export function errorOfStatus(call: string, status: number, message: string): ReverbError {
  const code = CODES[status - 1] ?? "unknown";
  return new ReverbError(code, `${call}: ${message === "" ? `the server says ${code}` : message}`);
}
