/**
 * Sharing: how threads come to a replay, and how what TypeScript keeps of it stays the same on all of them.
 *
 * The records, the picks, the selectors in the kernel and their random numbers are one for all threads. Beside them, the threads share the
 * list of pick views and selectors, and how far the replay was drained. Who changes these writes a note into the kernel and counts the
 * version on the board up. Who begins an operation under a hold reads the note if the version is another one.
 *
 * A thread may be ended at any moment. So the note names a view or selector before the kernel makes it, and a reader takes over only
 * what the kernel has.
 *
 * Random numbers that are drawn in TypeScript are each thread's own: those of composed selectors, hindsights and minibatches.
 *
 * @module
 */

import { lengthOf } from "../../base/typed_arrays.ts";
import { ReplayError } from "../../base/errors.ts";
import { dispose } from "../../base/platform.ts";
import { ReplayHandle } from "../../ffi/handle.ts";
import { checkStatus, openKernelAt } from "../../ffi/library.ts";
import * as abi from "../../ffi/symbols.ts";
import { isRemakable } from "../../selectors/composed_selector.ts";
import { ReplayCore, type SharedState } from "../core.ts";
import type { Drainer } from "../read/drainer.ts";
import {
  checkShareCount,
  notSharable,
  notSharableWasm,
  SHARED_SELECTORS_MAX,
} from "../register/sharable.ts";
import { enterNoted, noted } from "../register/noted_register.ts";
import type { Register } from "../register/register.ts";
import { type AttachSchema, checkAttachSchema, checkSame } from "./attach_schema.ts";
import { configOf, readNote, writeNote } from "./share_note.ts";
import { checkTicket, type ShareTicket, TICKET_VERSION } from "./share_ticket.ts";
import { VERSION } from "../../base/version.ts";

const SHARE = "share()";
const ATTACH = "ExperienceReplay.attach()";
const REVOKE = "revoke()";

/** Where the board has the version of the note, and how many threads ever attached, in elements of four bytes. */
const VERSION_AT = 0;
const ATTACHED_AT = 1;

/** Where the board has the counts of picks that selectors drew as parts, in bytes. */
const COUNTS_AT = 8;

/** The bytes of a board. */
const BOARD_BYTES = COUNTS_AT + 8 * SHARED_SELECTORS_MAX;

/** What is shared of one replay. */
interface Shared {
  /** The kernel's number and the replay's, as tickets have them. */
  readonly numbers: readonly number[];
  readonly board: SharedArrayBuffer;
  readonly version: Int32Array<SharedArrayBuffer>;
}

/** Shares one replay. */
export class Sharing implements SharedState {
  readonly #core: ReplayCore;
  readonly #register: Register;
  readonly #drainer: Drainer;
  #shared: Shared | undefined;
  #seen = -1;

  /** Shares the replay of these parts, once it is asked to. */
  constructor(core: ReplayCore, register: Register, drainer: Drainer) {
    this.#core = core;
    this.#register = register;
    this.#drainer = drainer;
  }

  /** Makes a ticket. */
  share(): ShareTicket {
    const core = this.#core;
    const { kernel: { path, symbols, backend, why }, config: { columns, eviction } } = core;
    core.checkUsable(SHARE);
    if (backend === "wasm") throw notSharableWasm(SHARE, why);
    if (!("native" in eviction)) throw notSharable(SHARE, `the eviction policy ${eviction.name}`);
    const { entries } = this.#register;
    for (const { native, composed, selector } of entries) {
      if (native !== undefined || (composed !== undefined && isRemakable(composed.rule))) continue;
      throw notSharable(SHARE, `selector ${selector.id}, ${selector.kind},`);
    }
    checkShareCount(SHARE, entries.length);
    const numbers = new Float64Array(abi.EXRP_TICKET_COUNT);
    core.check(SHARE, symbols.exrp_replay_share(core.id, numbers, lengthOf(numbers)));
    const { board } = this.#shared ?? this.#begin(numbers, new SharedArrayBuffer(BOARD_BYTES));
    core.together(SHARE, () => this.push());
    return Object.freeze({
      version: TICKET_VERSION,
      kernelPath: path,
      numbers: Object.freeze([...numbers]),
      columns: Object.freeze(
        Object.fromEntries(columns.map(({ name, column }) => [name, String(column)])),
      ),
      bell: core.shareBell(),
      board,
    });
  }

  /** Takes over what the threads share, for a replay that {@linkcode takeSeat} made. */
  join({ numbers, bell, board }: ShareTicket): void {
    this.#core.joinBell(bell);
    this.#begin(numbers, board);
    this.#core.together(ATTACH, () => {});
  }

  #begin(
    [kernel = 0, replay = 0]: ArrayLike<number> & Iterable<number>,
    board: SharedArrayBuffer,
  ): Shared {
    const core = this.#core;
    const counts = new Float64Array(board, COUNTS_AT, SHARED_SELECTORS_MAX);
    const isFirst = core.thread === 0;
    this.#register.shareCounts(counts, isFirst);
    // There is no note yet for the first one.
    if (isFirst) this.#seen = 0;
    this.#shared = { numbers: [kernel, replay], board, version: new Int32Array(board, 0, 1) };
    core.shared = this;
    return this.#shared;
  }

  /** Nobody attaches by a ticket any more, and those who did are barred. */
  revoke(value: ShareTicket): void {
    const core = this.#core;
    core.checkUsable(REVOKE);
    const { numbers: [kernel, replay, serial = 0] } = checkTicket(REVOKE, value, BOARD_BYTES);
    const [ownKernel, ownReplay] = this.#shared?.numbers ?? [];
    if (kernel !== ownKernel || replay !== ownReplay) {
      throw new ReplayError("ticket", `${REVOKE}: the ticket is another replay's`);
    }
    core.check(REVOKE, core.kernel.symbols.exrp_ticket_revoke(core.id, serial));
    core.changed();
  }

  /** How many seats the kernel took back since the last call, as their threads ended. */
  reap(): number {
    const core = this.#core;
    core.checkUsable("reap()");
    const count = new Uint32Array(1);
    core.check("reap()", core.kernel.symbols.exrp_share_reap(core.id, count));
    return count[0] ?? 0;
  }

  // ---- SharedState ----

  /** See {@linkcode SharedState}. */
  get isBehind(): boolean {
    const { version } = this.#shared ?? {};
    return version !== undefined && Atomics.load(version, VERSION_AT) !== this.#seen;
  }

  /** See {@linkcode SharedState}. */
  pull(): void {
    if (!this.isBehind || this.#shared === undefined) return;
    const core = this.#core;
    const seen = Atomics.load(this.#shared.version, VERSION_AT);
    const note = readNote(ATTACH, core.kernel, core.id);
    const register = this.#register;
    enterNoted(ATTACH, core, register, note);
    const { drained, lost, counts } = note.drained;
    this.#drainer.cursor = { drained, lost, counts: new Map(counts) };
    register.drawnBefore = note.drawnBefore;
    core.seed = note.seed;
    this.#seen = seen;
  }

  /** See {@linkcode SharedState}. */
  push(): void {
    const core = this.#core;
    if (this.#shared === undefined) return;
    const { drained, lost, counts } = this.#drainer.cursor;
    const register = this.#register;
    writeNote(SHARE, core.kernel, core.id, {
      library: VERSION,
      config: core.config,
      seed: core.seed,
      drawnBefore: register.drawnBefore,
      ...noted(register),
      drained: { drained, lost, counts: [...counts] },
    });
    this.#seen = Atomics.add(this.#shared.version, VERSION_AT, 1) + 1;
  }
}

/**
 * Takes a seat at the replay of a ticket: opens the kernel of the ticket, and compares the schema, if there is one.
 *
 * @throws {TypeError} For what is no ticket or no schema.
 * @throws {ReplayError} `ticket`, `ticket-mismatch`, `kernel-missing`, `kernel-version`, `permission`, `limit` or `memory`.
 */
export function takeSeat(
  value: unknown,
  schema: AttachSchema | undefined,
): { readonly core: ReplayCore; readonly ticket: ShareTicket } {
  const ticket = checkTicket(ATTACH, value, BOARD_BYTES);
  const asked = schema === undefined ? undefined : checkAttachSchema(schema);
  const kernel = openKernelAt(ticket.kernelPath, "the ticket's kernel");
  const { symbols } = kernel;
  const seat = seatOf(kernel, ticket);
  const { id } = seat;
  try {
    checkStatus(kernel, ATTACH, symbols.exrp_hold_begin(id));
    const note = readNote(ATTACH, kernel, id);
    const config = configOf(note);
    if (asked !== undefined) checkSame(asked, config);
    checkStatus(kernel, ATTACH, symbols.exrp_hold_end(id));
    const core = new ReplayCore(kernel, config, seat);
    core.thread = Atomics.add(new Int32Array(ticket.board, 0, 2), ATTACHED_AT, 1) + 1;
    core.seed = note.seed;
    return { core, ticket };
  } catch (error) {
    // The kernel ends the hold with the seat.
    seat[dispose]();
    throw error;
  }
}

/** A seat, or an error that names both kernels where the ticket is of another one. */
function seatOf(kernel: ReplayCore["kernel"], { kernelPath, numbers }: ShareTicket): ReplayHandle {
  try {
    return ReplayHandle.attach(kernel, Float64Array.from(numbers));
  } catch (error) {
    const isOther = error instanceof ReplayError && error.status === abi.EXRP_STATUS_TICKET &&
      error.detail[0] === abi.EXRP_TICKET_OTHER_KERNEL;
    if (!isOther) throw error;
    const { status, detail } = error;
    throw new ReplayError(
      "ticket",
      `${ATTACH}: the ticket's replay is in another kernel (number ${
        numbers[abi.EXRP_TICKET_KERNEL]
      }) than the one that was opened at ${kernelPath}: that is another file, another build of it, or this is another process; a ticket is good only in the process that made it, while the kernel's file stays the same`,
      { status, detail, cause: error },
    );
  }
}
