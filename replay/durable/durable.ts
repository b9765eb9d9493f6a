/**
 * A durable replay: its folder, and what TypeScript keeps of it in the kernel's log.
 *
 * The kernel writes down all calls that change the replay, and the rows. TypeScript adds what the kernel does not know: the pick views and selectors, how far
 * the replay was drained, and random states. It does so at each flush, and whenever it announces a change.
 *
 * @module
 */

import { joinBytes } from "../../base/bytes.ts";
import { ReplayError } from "../../base/errors.ts";
import { lengthOf } from "../../base/typed_arrays.ts";
import { browserFolder } from "../../ffi/browser_folder.ts";
import { damagePlace, errorOfStatus } from "../../ffi/status_errors.ts";
import * as abi from "../../ffi/symbols.ts";
import type { Limits, ReplayConfig } from "../../schema/create_options.ts";
import { filesFor, ignoreErrors } from "../../storage/file.ts";
import type { ReplayCore } from "../core.ts";
import type { Drainer } from "../read/drainer.ts";
import { enterNoted, noted, type NotedRegister } from "../register/noted_register.ts";
import type { Register } from "../register/register.ts";
import type { ExtraState } from "../snapshot/extra_state.ts";
import { beginLog, logState, openLog, startTimer, waitForDisk } from "../../storage/durable_log.ts";
import type { CheckedDurable } from "../../storage/durable_options.ts";
import type { Folder } from "./folder.ts";
import { checkFree, checkName, type MadeSnapshot, makeSnapshot } from "./snapshots.ts";

const OPEN = "ExperienceReplay.open()";
const FLUSH = "flush()";
const SNAPSHOT = "snapshot()";

/**
 * What was found when a durable replay was opened, and since then in the records that `open` left to be read later. It is complete once
 * `unreadBlockCount` of {@linkcode Durability} is 0. It is `recovered` of {@linkcode Durability}, with an example at {@linkcode ExperienceReplay.durability}.
 */
export interface Recovery {
  /** Bytes at the end of the log that were cut off: what a crash left half written, or what was not flushed as a whole. */
  readonly cutBytes: number;
  /** Parts of the log with a flipped bit that were repaired. */
  readonly repairedCount: number;
  /** Blocks of records whose bytes are damaged. Their episodes were evicted, or are with the next flush or interval. */
  readonly lostBlockCount: number;
  /** Records that went, because the replay was opened with a smaller `capacity`, or other limits. */
  readonly evictedCount: number;
  /** Where the first damage lies that was not repaired, such as `"log-00000003.exrp, byte 4096"`. */
  readonly damage: string | undefined;
}

/** What is known of the folder of a durable replay; see {@linkcode ExperienceReplay.durability}. */
export interface Durability {
  /** The folder, as it was given. */
  readonly directory: string;
  /** What was found when it was opened; undefined if the folder was new. */
  readonly recovered: Recovery | undefined;
  /** Bytes of all files of the log, with those that wait for the disk. */
  readonly logBytes: number;
  /** Bytes that were written since the replay was opened. */
  readonly writtenBytes: number;
  /** Bytes that wait for the disk. */
  readonly queuedBytes: number;
  /** Whether the log has failed. Then nothing is written any more, and `flush` says why. */
  readonly hasFailed: boolean;
  /**
   * Blocks of records that were not read since the replay was opened. While there are some, the first use of each may wait for the disk. Without the option
   * `resident`, a thread of the library's own reads them.
   */
  readonly unreadBlockCount: number;
  /** The memory of rows; undefined without the option `resident`. */
  readonly residency: Residency | undefined;
}

/**
 * What is known of a replay that may be larger than memory: `residency` of {@linkcode Durability}.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, uint8 } from "@exrp/replay";
 *
 * const options = { capacity: 2000, state: uint8(1000), resident: 2 ** 20 };
 * using replay = await ExperienceReplay.open(await Deno.makeTempDir(), options);
 * let episode = replay.newEpisode();
 * for (let t = 0; t < 2000; t++) episode = replay.record(episode, new Uint8Array(1000).fill(t), 0, 1);
 * const { limit = 0, rowBytes = 0 } = replay.durability?.residency ?? {};
 * console.log(rowBytes <= limit); // true
 * console.log(replay.recordCount); // 2000
 * ```
 */
export interface Residency {
  /** The option `resident`. */
  readonly limit: number;
  /**
   * How much may stay in memory once all else is on the disk: the limit, or what rows need at least while a device has them, by `hostCopy: false` of `onDevice` of
   * `@exrp/replay/gpu`. Then each episode that is open takes one block more.
   */
  readonly keptBytes: number;
  /** Bytes of memory that rows take now, with what reads and packs them. */
  readonly rowBytes: number;
  /** How many blocks were read back from the disk since the replay was opened. */
  readonly readBlockCount: number;
  /** How many bytes that were. */
  readonly readBytes: number;
}

/** What TypeScript keeps of a replay, as JSON. */
interface State extends NotedRegister {
  readonly seed: number;
  readonly drawnAsPart: readonly number[];
  /** Bytes of the state of each composed selector, in order, and of the rest; they follow the JSON. */
  readonly composed: readonly number[];
  /** Bytes of what another part of the library keeps with the replay; left out without any. */
  readonly companion?: number;
  readonly side: number;
}

/** Refuses what a durable replay can't have. */
export function checkDurable(config: ReplayConfig): void {
  if (!("native" in config.eviction)) {
    throw notDurable(OPEN, `the eviction policy ${config.eviction.name}`);
  }
}

function notDurable(operation: string, what: string): ReplayError {
  return new ReplayError(
    "not-savable",
    `${operation}: ${what} is written in TypeScript, and a durable replay takes the library's rules only; save a replay with rules of your own by serialize()`,
  );
}

function wholePath(path: string): string {
  return browserFolder(path) === undefined ? filesFor(OPEN).path.resolve(path) : path;
}

/** The log of one replay. */
export class Durable {
  readonly #core: ReplayCore;
  readonly #register: Register;
  readonly #drainer: Drainer;
  readonly #extra: ExtraState;
  /** The folder as it was given, and from the root on, as the program may move to another one. */
  #open:
    | {
      readonly directory: string;
      readonly whole: string;
      readonly recovered: Recovery | undefined;
    }
    | undefined;
  #flushIntervalMs = 0;
  #goesOn = false;
  #timer: ReturnType<typeof setInterval> | undefined;
  /** What another part of the library keeps with the replay: as it was found, or what gives it now. */
  #found: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #companion: (() => Uint8Array<ArrayBuffer>) | undefined;

  /** The log of the replay of these parts, once it is opened. */
  constructor(core: ReplayCore, register: Register, drainer: Drainer, extra: ExtraState) {
    this.#core = core;
    this.#register = register;
    this.#drainer = drainer;
    this.#extra = extra;
  }

  /**
   * Begins the log of a folder, or reads it into this replay, which was just made. It gets the limits of the log, or these. Call {@linkcode begin} then.
   */
  open({ path, config, repairedByte }: Folder, options: CheckedDurable, limits?: Limits): void {
    const core = this.#core;
    const isNew = config === undefined;
    const given = isNew ? undefined : limits;
    const more = new Map([
      [abi.EXRP_DURABLE_GROUP_BYTES, 2 ** 20],
      [abi.EXRP_DURABLE_CAPACITY, given?.capacity ?? abi.EXRP_DURABLE_KEEP],
      [abi.EXRP_DURABLE_CAPACITY_BYTES, given?.capacityBytes ?? abi.EXRP_DURABLE_KEEP],
      [abi.EXRP_DURABLE_AGE_MAX, given?.maxAge ?? abi.EXRP_DURABLE_KEEP],
    ]);
    const { symbols } = core.kernel;
    const openAs = (asNew: boolean): Float64Array<ArrayBuffer> =>
      openLog(path, options, asNew, (...rest) => {
        core.check(OPEN, symbols.exrp_durable_open(core.id, ...rest));
      }, more);
    const report = isNew ? beginLog(openAs) : openAs(false);
    const number = (index: number): number => report[index] ?? 0;
    const recovered: Recovery = {
      cutBytes: number(abi.EXRP_RECOVERY_TAIL_BYTES),
      repairedCount: number(abi.EXRP_RECOVERY_REPAIRED) + Number(repairedByte !== undefined),
      lostBlockCount: number(abi.EXRP_RECOVERY_LOST_BLOCKS),
      evictedCount: number(abi.EXRP_RECOVERY_EVICTED),
      damage: damagePlace(report),
    };
    core.config = {
      ...core.config,
      capacity: number(abi.EXRP_RECOVERY_CAPACITY),
      capacityBytes: number(abi.EXRP_RECOVERY_CAPACITY_BYTES),
      maxAge: number(abi.EXRP_RECOVERY_AGE_MAX),
    };
    this.#open = {
      directory: path,
      whole: wholePath(path),
      recovered: isNew ? undefined : recovered,
    };
    if (!isNew) this.#takeState(new Uint8Array(number(abi.EXRP_RECOVERY_STATE_BYTES)));
    core.durable = this;
    this.#flushIntervalMs = options.flushIntervalMs;
    this.#goesOn = options.whenDiskFails === "memory";
  }

  /** Writes down what the replay is at first, and goes on doing so. */
  begin(): void {
    this.#core.together(OPEN, () => this.note());
    this.#timer = startTimer(this, this.#flushIntervalMs);
  }

  /** Ends the group that is open, where the program makes no call that would. What fails is told by the next call. */
  tick(): boolean {
    const core = this.#core;
    if (core.isDisposed) return false;
    ignoreErrors(() => core.together(FLUSH, () => this.note()));
    return true;
  }

  /** Takes over what TypeScript had of the replay. */
  #takeState(bytes: Uint8Array<ArrayBuffer>): void {
    const core = this.#core;
    core.check(OPEN, core.kernel.symbols.exrp_durable_state(core.id, bytes, lengthOf(bytes)));
    if (lengthOf(bytes) === 0) return;
    const [jsonBytes = 0] = new Uint32Array(bytes.buffer, 0, 1);
    const state: State = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + jsonBytes)));
    const register = this.#register;
    core.seed = state.seed;
    enterNoted(OPEN, core, register, state);
    let at = 8 + jsonBytes;
    for (const [k, composed] of register.composed.entries()) {
      const end = at + (state.composed[k] ?? 0);
      composed.load(bytes.slice(at, end));
      at = end;
    }
    register.setDrawn([], state.drawnAsPart);
    const side = bytes.slice(lengthOf(bytes) - state.side);
    this.#found = bytes.slice(at, at + (state.companion ?? 0));
    // The kernel ends groups by itself, too, so it may have gone on since this was written.
    this.#extra.read(side, core.id, true)();
  }

  /**
   * Keeps bytes of another part of the library with the replay: `save` gives them whenever a group ends, and only this thread ends groups from now on. So what
   * it gives always belongs to the records that are on the disk. Returns what was kept before; undefined if the replay is in memory only.
   */
  keep(save: () => Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
    if (this.#open === undefined) return undefined;
    this.#found = this.#companion?.() ?? this.#found;
    this.#companion = () => this.#found;
    this.#core.together(FLUSH, () => this.note());
    this.#companion = save;
    return this.#found;
  }

  /** Refuses a selector that can't be remade. */
  checkRule(operation: string, name: string): never {
    throw notDurable(operation, `the rule ${name}`);
  }

  /** Whether the replay has a log, on this thread or on another one. */
  #isOpen(): boolean {
    if (this.#open !== undefined) return true;
    return this.#core.durableInfo(FLUSH)[abi.EXRP_DURABLE_INFO_OPEN] === 1;
  }

  /** Writes what TypeScript has into the log; everything before belongs together. The result stands for its being on the disk. */
  note(operation = FLUSH): number {
    // Another thread's state is that of the thread which opened the replay.
    if (this.#open === undefined) return this.#endGroup(operation, new Uint8Array(0), false);
    return this.#endGroup(operation, this.#state(), true);
  }

  /** Writes down what has just changed. Where a replay goes on in memory, only a flush says that the disk has failed. */
  announce(): void {
    if (this.#goesOn) ignoreErrors(() => this.note());
    else this.note();
  }

  /** What TypeScript has. */
  #state(): Uint8Array<ArrayBuffer> {
    const core = this.#core;
    const register = this.#register;
    const composed = register.composed.map((each) => each.save());
    const side = this.#extra.save();
    const companion = this.#companion?.() ?? this.#found;
    const state: State = {
      seed: core.seed,
      ...noted(register),
      drawnAsPart: register.entries.map(({ selector }) => register.drawnAsPart(selector.id)),
      composed: composed.map(lengthOf),
      ...lengthOf(companion) === 0 ? {} : { companion: lengthOf(companion) },
      side: lengthOf(side),
    };
    const json = new TextEncoder().encode(JSON.stringify(state));
    const head = new Uint8Array(8);
    new DataView(head.buffer).setUint32(0, lengthOf(json), true);
    return joinBytes([head, json, ...composed, companion, side]);
  }

  #endGroup(operation: string, state: Uint8Array<ArrayBuffer>, hasState: boolean): number {
    const { id, kernel: { symbols } } = this.#core;
    const ticket = new Float64Array(1);
    const size = lengthOf(state);
    const mode = hasState ? this.#companion === undefined ? 1 : 2 : 0;
    const status = symbols.exrp_durable_group(id, state, size, mode, ticket);
    this.#core.check(operation, status);
    return ticket[0] ?? 0;
  }

  /** Waits until all that was done before is on the disk. */
  async flush(operation = FLUSH): Promise<void> {
    const core = this.#core;
    this.#checkOpen(operation);
    await this.#flushed(operation, core.together(operation, () => this.note(operation)));
  }

  #checkOpen(operation: string): void {
    this.#core.checkUsable(operation);
    if (this.#isOpen()) return;
    throw new ReplayError(
      "file",
      `${operation}: this replay is in memory only; make it by ExperienceReplay.open(directory, options)`,
    );
  }

  /** Waits until what a ticket stands for is on the disk. */
  async #flushed(operation: string, ticket: number): Promise<void> {
    const core = this.#core;
    const { symbols } = core.kernel;
    await waitForDisk(
      this.#open?.directory,
      (milliseconds) => symbols.exrp_durable_wait(core.id, ticket, milliseconds),
      () => {
        core.checkUsable(operation);
        // What failed is told on this thread.
        core.together(operation, () => this.note(operation));
      },
    );
  }

  /** Makes a snapshot of this moment, while the program goes on. */
  async snapshot(name: string): Promise<MadeSnapshot> {
    const core = this.#core;
    checkName(SNAPSHOT, name);
    this.#checkOpen(SNAPSHOT);
    if (this.#open === undefined) {
      throw new ReplayError(
        "file",
        `${SNAPSHOT}: this thread did not open the replay; call it where ExperienceReplay.open() was called, or save the replay by serialize()`,
      );
    }
    const { whole: directory } = this.#open;
    checkFree(SNAPSHOT, directory, name);
    const { symbols } = core.kernel;
    const copy = new Float64Array(abi.EXRP_COPY_COUNT);
    core.together(SNAPSHOT, () => {
      const state = this.#state();
      const size = lengthOf(state);
      core.check(
        SNAPSHOT,
        symbols.exrp_durable_seal(core.id, state, size, 1, copy, lengthOf(copy)),
      );
    });
    try {
      await this.#flushed(SNAPSHOT, copy[abi.EXRP_COPY_TICKET] ?? 0);
      return await makeSnapshot(SNAPSHOT, directory, name, core.config, async (path) => {
        const bytes = new TextEncoder().encode(path);
        const size = lengthOf(bytes);
        const status = await symbols.exrp_durable_copy(core.id, bytes, size, copy, lengthOf(copy));
        core.checkUsable(SNAPSHOT);
        core.check(SNAPSHOT, status);
        const failed = copy[abi.EXRP_COPY_FAILED] ?? 0;
        if (failed !== 0) {
          const detail = [failed, ...copy.subarray(abi.EXRP_COPY_CALL)];
          throw errorOfStatus(SNAPSHOT, abi.EXRP_STATUS_LOG, detail);
        }
        return copy[abi.EXRP_COPY_COPIED_BYTES] ?? 0;
      });
    } finally {
      if (!core.isDisposed) {
        core.together(SNAPSHOT, () => core.check(SNAPSHOT, symbols.exrp_durable_unseal(core.id)));
      }
    }
  }

  /** Writes the last state, before the replay is freed. What fails now was told before, or is told by nobody. */
  end(): void {
    clearInterval(this.#timer);
    const core = this.#core;
    if (this.#open === undefined || core.isDisposed) return;
    ignoreErrors(() => core.together(FLUSH, () => this.note()));
  }

  /** What is known of the log; undefined for a replay in memory. */
  get durability(): Durability | undefined {
    if (this.#open === undefined) return undefined;
    const core = this.#core;
    const info = core.durableInfo("durability");
    const { directory, recovered: opened } = this.#open;
    const number = (index: number): number => info[index] ?? 0;
    const recovered = opened && {
      ...opened,
      repairedCount: opened.repairedCount + number(abi.EXRP_DURABLE_INFO_REPAIRED),
      lostBlockCount: opened.lostBlockCount + number(abi.EXRP_DURABLE_INFO_LOST_BLOCKS),
      damage: opened.damage ?? damagePlace(info, abi.EXRP_DURABLE_INFO_DAMAGE_SEGMENT),
    };
    const limit = number(abi.EXRP_DURABLE_INFO_RESIDENT_BYTES);
    return {
      ...{ directory, recovered },
      ...logState(info),
      unreadBlockCount: number(abi.EXRP_DURABLE_INFO_UNREAD_BLOCKS),
      residency: limit === 0 ? undefined : {
        limit,
        keptBytes: number(abi.EXRP_DURABLE_INFO_KEPT_BYTES),
        rowBytes: number(abi.EXRP_DURABLE_INFO_ROW_BYTES),
        readBlockCount: number(abi.EXRP_DURABLE_INFO_READ_BLOCKS),
        readBytes: number(abi.EXRP_DURABLE_INFO_READ_BYTES),
      },
    };
  }
}
