/**
 * A ticket: what one thread gives to another, so that it can attach to the same replay.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import { EXRP_TICKET_COUNT } from "../../ffi/symbols.ts";
import type { AnySchema, Known, known, Schema } from "../../schema/schema.ts";

/**
 * What {@linkcode ExperienceReplay.share} gives and {@linkcode ExperienceReplay.attach} takes: a plain object that `postMessage` can
 * send to a Worker of this process. `S` is the schema of the replay.
 */
export interface ShareTicket<S extends Schema = AnySchema> {
  /** The schema, for TypeScript alone. */
  readonly [known]?: Known<S>;
  /** The version of the ticket's form. */
  readonly version: 1;
  /** The path of the kernel's file. */
  readonly kernelPath: string;
  /** The kernel's own number, the replay's, and the ticket's. */
  readonly numbers: readonly number[];
  /** The columns as you write them in code, by name. They are for people: `attach` asks the replay itself. */
  readonly columns: Readonly<Record<string, string>>;
  /** What wakes those who wait, in all threads. */
  readonly bell: SharedArrayBuffer;
  /** What the threads tell each other beside the kernel. */
  readonly board: SharedArrayBuffer;
}

/** The version of tickets that this library makes and takes. */
export const TICKET_VERSION = 1;

/** Refuses what is not a ticket. `boardBytes` is how large the boards of tickets are. */
export function checkTicket(operation: string, value: unknown, boardBytes: number): ShareTicket {
  const needed = `${operation} takes a ticket that share() gave`;
  if (typeof value !== "object" || value === null) {
    throw new TypeError(`${needed}, got ${show(value)}`);
  }
  const { version, kernelPath, numbers, bell, board } = value as Partial<
    Record<keyof ShareTicket, unknown>
  >;
  if (version !== undefined && version !== TICKET_VERSION) {
    throw new ReplayError(
      "ticket",
      `${operation}: the ticket has version ${
        show(version)
      }, but this library takes ${TICKET_VERSION}; use the same version of the library in all threads`,
    );
  }
  const isTicket = version === TICKET_VERSION && typeof kernelPath === "string" &&
    Array.isArray(numbers) && numbers.length === EXRP_TICKET_COUNT &&
    numbers.every((number) => Number.isSafeInteger(number) && number >= 0) &&
    isMemory(bell, 8) && isMemory(board, boardBytes);
  if (!isTicket) {
    throw new TypeError(
      `${needed}, got ${
        show(value)
      } without its parts; give the whole ticket, as postMessage() brought it`,
    );
  }
  return value as ShareTicket;
}

function isMemory(value: unknown, bytes: number): boolean {
  return value instanceof SharedArrayBuffer && value.byteLength >= bytes;
}
