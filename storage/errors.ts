/**
 * The errors of what is read from storage.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";

/** The error for a snapshot that contradicts itself. */
export function corrupt(what: string, cause?: unknown): ReplayError {
  return new ReplayError("snapshot-corrupt", `unserialize(): the snapshot is damaged: ${what}`, {
    cause,
  });
}

/** The error for a snapshot that ends at a byte where more of them are needed. */
export function truncated(what: string, end: number, needed: number): ReplayError {
  return new ReplayError(
    "snapshot-truncated",
    `unserialize(): the snapshot ends at byte ${end}, in ${what}: ${needed} more bytes are needed there`,
    { detail: [end] },
  );
}

/** The error for a snapshot of another configuration. */
export function mismatch(what: string): ReplayError {
  return new ReplayError("snapshot-mismatch", `unserialize(): the snapshot does not fit: ${what}`);
}
