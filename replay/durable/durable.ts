/**
 * A durable replay: its folder, and what TypeScript keeps of it in the kernel's log.
 *
 * The kernel writes down all calls that change the replay, and the rows. TypeScript adds what the kernel does not know: the pick views and selectors, how far
 * the replay was drained, and random states. It does so at each flush, and whenever it announces a change.
 *
 * @module
 */

import { joinBytes } from "../../base/bytes.ts";
import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import { unref } from "../../base/platform.ts";
import { lengthOf } from "../../base/typed_arrays.ts";
import { VERSION } from "../../base/version.ts";
import type { Kernel } from "../../ffi/library.ts";
import * as abi from "../../ffi/symbols.ts";
import type { ReplayConfig } from "../../schema/create_options.ts";
import {
  attemptOn,
  checkPermitted,
  filesFor,
  ignoreErrors,
  pathOf,
  writeNewFile,
} from "../../storage/file.ts";
import type { ReplayCore } from "../core.ts";
import type { Drainer } from "../read/drainer.ts";
import { enter, noted, type NotedSelector } from "../register/noted_selector.ts";
import type { Register } from "../register/register.ts";
import type { ExtraState } from "../snapshot/extra_state.ts";
import { configOf } from "../share/share_note.ts";
import type { CheckedDurable } from "../../storage/durable_options.ts";

const OPEN = "ExperienceReplay.open()";
const FLUSH = "flush()";

/** The file that says what the replay of a folder is. */
const NAME = "replay.json";

/** The version of that file. */
const FORMAT = 1;

/** A wait of the kernel's for the disk. Then it is asked again, so that a wait ends with the replay. */
const WAIT_MS = 1000;

/** What was found when a durable replay was opened: `recovered` of {@linkcode Durability}, with an example at {@linkcode ExperienceReplay.durability}. */
export interface Recovery {
  /** Bytes at the end of the log that were cut off: what a crash left half written, or what was not flushed as a whole. */
  readonly cutBytes: number;
  /** Parts of the log with a flipped bit that were repaired. */
  readonly repairedCount: number;
  /** Blocks of records whose bytes are damaged. Their episodes were evicted. */
  readonly lostBlockCount: number;
  /** Where the first damage lies that was not repaired, such as `"log-00000003.exrp, byte 4096"`. */
  readonly damage: string | undefined;
}

/** What is known of the folder of a durable replay; see {@linkcode ExperienceReplay.durability}. */
export interface Durability {
  /** The folder, as it was given. */
  readonly directory: string;
  /** What was found when it was opened; undefined if the folder was new. */
  readonly recovered: Recovery | undefined;
  /** Bytes of all files of the log. */
  readonly logBytes: number;
  /** Bytes that were written since the replay was opened. */
  readonly writtenBytes: number;
  /** Bytes that wait for the disk. */
  readonly queuedBytes: number;
  /** Whether the log has failed. Then nothing is written any more, and `flush` says why. */
  readonly hasFailed: boolean;
}

/** What TypeScript keeps of a replay, as JSON. */
interface State {
  readonly seed: number;
  readonly views: readonly ReplayConfig["pick"][];
  readonly selectors: readonly NotedSelector[];
  readonly drawnAsPart: readonly number[];
  /** Bytes of the state of each composed selector, in order, and of the rest; they follow the JSON. */
  readonly composed: readonly number[];
  readonly side: number;
}

/** The folder of a durable replay, before the replay is made. */
export interface Folder {
  /** As it was given. */
  readonly path: string;
  /** The configuration of the replay in it; undefined if it is new. */
  readonly config: ReplayConfig | undefined;
}

/** Looks into a folder. */
export function readFolder(directory: string | URL): Folder {
  if (typeof directory !== "string" && !(directory instanceof URL)) {
    throw new TypeError(`${OPEN}: directory must be a path or a file URL, got ${show(directory)}`);
  }
  const files = filesFor(OPEN);
  const path = pathOf(OPEN, directory, files);
  const file = files.path.join(path, NAME);
  checkPermitted(OPEN, file, files);
  let text: string | undefined;
  try {
    using open = files.open(file);
    const { bytes = 0 } = open.look();
    const all = new Uint8Array(bytes);
    let at = 0;
    for (let got = 1; got > 0 && at < bytes; at += got) got = open.read(all.subarray(at));
    text = new TextDecoder().decode(all.subarray(0, at));
  } catch (cause) {
    const { code, name } = cause as { readonly code?: string; readonly name?: string };
    if (code !== "ENOENT" && name !== "NotFound") {
      attemptOn(OPEN, "read", file, files, () => {
        throw cause;
      });
    }
  }
  return { path, config: text === undefined ? undefined : readConfig(file, text) };
}

/** A sum of a text (FNV-1a), which differs where a bit of it does. */
function sumOf(text: string): number {
  let sum = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) sum = Math.imul(sum ^ byte, 0x01000193);
  return sum >>> 0;
}

function readConfig(file: string, text: string): ReplayConfig {
  let json: {
    readonly format?: unknown;
    readonly library?: unknown;
    readonly sum?: unknown;
    readonly config?: ReplayConfig;
  };
  try {
    json = JSON.parse(text);
    if (json.config === undefined) throw new TypeError("it has no config");
  } catch (cause) {
    throw new ReplayError(
      "log-mismatch",
      `${OPEN}: ${show(file)} does not describe a replay: ${cause}`,
      { cause },
    );
  }
  if (json.format !== FORMAT) {
    throw new ReplayError(
      "log-mismatch",
      `${OPEN}: ${show(file)} has format ${show(json.format)} of library version ${
        show(json.library)
      }, and this is ${VERSION}, which reads format ${FORMAT}`,
    );
  }
  if (json.sum !== sumOf(JSON.stringify(json.config))) {
    throw new ReplayError(
      "log-damaged",
      `${OPEN}: ${show(file)} is damaged: it has not the bytes that were written`,
    );
  }
  return configOf({ config: json.config });
}

/** Makes the folder of a new replay, if it is not there. */
export function makeFolder({ path }: Folder): void {
  const files = filesFor(OPEN);
  attemptOn(OPEN, "write", path, files, () => files.makeFolder(path));
}

/** Writes the file that says what a new folder's replay is. */
export async function writeFolder({ path }: Folder, config: ReplayConfig): Promise<void> {
  const files = filesFor(OPEN);
  const file = files.path.join(path, NAME);
  const sum = sumOf(JSON.stringify(config));
  const json = JSON.stringify({ format: FORMAT, library: VERSION, sum, config });
  await writeNewFile(OPEN, file, files, [new TextEncoder().encode(json)]);
}

/** What must be equal in the options and in the folder, by its name in errors. */
function factsOf(
  { columns, leaves: _, pick, eviction, ...numbers }: ReplayConfig,
): Map<string, string> {
  const text = (value: unknown): string => JSON.stringify(value) ?? "none";
  return new Map([
    ...columns.map(({ name, column }) => [name, String(column)] as const),
    ...Object.entries(pick).map(([name, value]) => [`pick.${name}`, text(value)] as const),
    ["eviction", text(eviction)],
    ...Object.entries(numbers).map(([name, value]) => [name, text(value)] as const),
  ]);
}

/** Compares the options that were given with the replay of the folder. */
export function checkSameConfig(
  { path }: Folder,
  given: ReplayConfig,
  found: ReplayConfig,
  hasSeed: boolean,
): void {
  const [asked, has] = [factsOf(given), factsOf(found)];
  if (!hasSeed) asked.set("seed", has.get("seed") ?? "none");
  for (const name of new Set([...asked.keys(), ...has.keys()])) {
    if (asked.get(name) === has.get(name)) continue;
    throw new ReplayError(
      "log-mismatch",
      `${OPEN}: ${name} is ${has.get(name) ?? "not there"} in the replay of ${show(path)}, and ${
        asked.get(name) ?? "not there"
      } in the options that you gave; leave the options out, or give those of the folder`,
    );
  }
}

/** Refuses what a durable replay can't have. */
export function checkDurable(kernel: Kernel, config: ReplayConfig): void {
  if (kernel.backend === "wasm") {
    throw new ReplayError(
      "file",
      `${OPEN}: a durable replay needs the native kernel, and this is WebAssembly (${kernel.why})`,
    );
  }
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

/** Whether an error of the kernel says this of a log. */
function isLog(error: unknown, reason: number): boolean {
  return error instanceof ReplayError && error.status === abi.EXRP_STATUS_LOG &&
    error.detail[0] === reason;
}

/** Calls `tick` again and again, until the replay is disposed or forgotten. The timer keeps neither it nor the program. */
function startTimer(durable: Durable, milliseconds: number): ReturnType<typeof setInterval> {
  const kept = new WeakRef(durable);
  const timer = setInterval(() => {
    if (kept.deref()?.tick() !== true) clearInterval(timer);
  }, milliseconds);
  unref(timer);
  return timer;
}

/** The log of one replay. */
export class Durable {
  readonly #core: ReplayCore;
  readonly #register: Register;
  readonly #drainer: Drainer;
  readonly #extra: ExtraState;
  #open: { readonly directory: string; readonly recovered: Recovery | undefined } | undefined;
  #groupCount = 0;
  #flushIntervalMs = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** The log of the replay of these parts, once it is opened. */
  constructor(core: ReplayCore, register: Register, drainer: Drainer, extra: ExtraState) {
    this.#core = core;
    this.#register = register;
    this.#drainer = drainer;
    this.#extra = extra;
  }

  /** Begins the log of a folder, or reads it into this replay, which was just made. Call {@linkcode begin} then. */
  open({ path, config }: Folder, options: CheckedDurable): void {
    if (config === undefined) this.#openNew(path, options);
    else this.#openLog(path, options, false);
    this.#core.durable = this;
    this.#flushIntervalMs = options.flushIntervalMs;
  }

  /** Begins a log, or takes one in which nothing happened yet: a crash came before the file that describes its replay. */
  #openNew(path: string, options: CheckedDurable): void {
    try {
      this.#openLog(path, options, true);
    } catch (error) {
      if (!isLog(error, abi.EXRP_LOG_EXISTS)) throw error;
      let groupCount = NaN;
      ignoreErrors(() => {
        this.#openLog(path, options, false);
        groupCount = this.#groupCount;
      });
      if (groupCount !== 0) throw error;
      this.#open = { directory: path, recovered: undefined };
    }
  }

  /** Writes down what the replay is at first, and goes on doing so. */
  begin(): void {
    this.#core.together(OPEN, () => this.note());
    if (this.#flushIntervalMs > 0) this.#timer = startTimer(this, this.#flushIntervalMs);
  }

  /** Ends the group that is open, where the program makes no call that would. What fails is told by the next call. */
  tick(): boolean {
    const core = this.#core;
    if (core.isDisposed) return false;
    ignoreErrors(() => core.together(FLUSH, () => this.note()));
    return true;
  }

  /** Makes a log, or reads one. */
  #openLog(path: string, options: CheckedDurable, isNew: boolean): void {
    const core = this.#core;
    const { symbols } = core.kernel;
    const numbers = new Float64Array(abi.EXRP_DURABLE_OPTION_COUNT);
    numbers[abi.EXRP_DURABLE_IS_NEW] = Number(isNew);
    numbers[abi.EXRP_DURABLE_FLUSH_INTERVAL_MS] = options.flushIntervalMs;
    numbers[abi.EXRP_DURABLE_SEGMENT_BYTES] = options.segmentBytes;
    numbers[abi.EXRP_DURABLE_QUEUE_BYTES] = options.queueBytes;
    numbers[abi.EXRP_DURABLE_GROUP_BYTES] = 2 ** 20;
    numbers[abi.EXRP_DURABLE_CHECKPOINT_BYTES] = options.segmentBytes;
    numbers[abi.EXRP_DURABLE_GOES_ON] = Number(options.whenDiskFails === "memory");
    const report = new Float64Array(abi.EXRP_RECOVERY_COUNT);
    const bytes = new TextEncoder().encode(path);
    const status = symbols.exrp_durable_open(
      core.id,
      bytes,
      lengthOf(bytes),
      numbers,
      lengthOf(numbers),
      report,
      lengthOf(report),
    );
    core.check(OPEN, status);
    this.#groupCount = report[abi.EXRP_RECOVERY_GROUPS] ?? 0;
    const segment = report[abi.EXRP_RECOVERY_DAMAGE_SEGMENT] ?? 0;
    const recovered: Recovery = {
      cutBytes: report[abi.EXRP_RECOVERY_TAIL_BYTES] ?? 0,
      repairedCount: report[abi.EXRP_RECOVERY_REPAIRED] ?? 0,
      lostBlockCount: report[abi.EXRP_RECOVERY_LOST_BLOCKS] ?? 0,
      damage: segment === 0
        ? undefined
        : `log-${String(segment).padStart(8, "0")}.exrp, byte ${
          report[abi.EXRP_RECOVERY_DAMAGE_OFFSET]
        }`,
    };
    this.#open = { directory: path, recovered: isNew ? undefined : recovered };
    if (!isNew) this.#takeState(new Uint8Array(report[abi.EXRP_RECOVERY_STATE_BYTES] ?? 0));
  }

  /** Takes over what TypeScript had of the replay. */
  #takeState(bytes: Uint8Array<ArrayBuffer>): void {
    const core = this.#core;
    core.check(OPEN, core.kernel.symbols.exrp_durable_state(core.id, bytes, lengthOf(bytes)));
    if (lengthOf(bytes) === 0) return;
    const [jsonBytes = 0] = new Uint32Array(bytes.buffer, 0, 1);
    const state: State = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + jsonBytes)));
    const info = core.info(OPEN);
    const register = this.#register;
    core.seed = state.seed;
    // A view or a selector is noted before the kernel makes it.
    for (
      const policy of state.views.slice(register.views.length, info[abi.EXRP_INFO_TABLE_COUNT])
    ) register.addTable(policy);
    let nativeCount = info[abi.EXRP_INFO_SELECTOR_COUNT] ?? 0;
    let at = 8 + jsonBytes;
    const composed = [...state.composed];
    for (const each of state.selectors) {
      if (each.native !== undefined && nativeCount-- === 0) break;
      enter(register, each);
      const entry = register.entries.at(-1);
      if (entry?.composed === undefined) continue;
      const count = composed.shift() ?? 0;
      entry.composed.load(bytes.slice(at, at + count));
      at += count;
    }
    register.setDrawn([], state.drawnAsPart);
    const side = bytes.slice(lengthOf(bytes) - state.side);
    // The kernel ends groups by itself, too, so it may have gone on since this was written.
    this.#extra.read(side, core.id, true)();
  }

  /** Refuses a selector that can't be remade. */
  checkRule(operation: string, name: string): never {
    throw notDurable(operation, `the rule ${name}`);
  }

  /** Whether the replay has a log, on this thread or on another one. */
  #isOpen(): boolean {
    if (this.#open !== undefined) return true;
    const core = this.#core;
    const info = new Float64Array(abi.EXRP_DURABLE_INFO_COUNT);
    core.check(FLUSH, core.kernel.symbols.exrp_durable_info(core.id, info, lengthOf(info)));
    return info[abi.EXRP_DURABLE_INFO_OPEN] === 1;
  }

  /** Writes what TypeScript has into the log; everything before belongs together. The result stands for its being on the disk. */
  note(): number {
    const core = this.#core;
    // Another thread's state is that of the thread which opened the replay.
    if (this.#open === undefined) return this.#endGroup(new Uint8Array(0), false);
    const register = this.#register;
    const composed = register.entries.flatMap(({ composed }) =>
      composed === undefined ? [] : [composed.save()]
    );
    const side = this.#extra.save();
    const state: State = {
      seed: core.seed,
      views: register.views.map(({ policy }) => policy),
      selectors: register.entries.map(noted),
      drawnAsPart: register.entries.map(({ selector }) => register.drawnAsPart(selector.id)),
      composed: composed.map(lengthOf),
      side: lengthOf(side),
    };
    const json = new TextEncoder().encode(JSON.stringify(state));
    const head = new Uint8Array(8);
    new DataView(head.buffer).setUint32(0, lengthOf(json), true);
    return this.#endGroup(joinBytes([head, json, ...composed, side]), true);
  }

  #endGroup(state: Uint8Array<ArrayBuffer>, hasState: boolean): number {
    const { id, kernel: { symbols } } = this.#core;
    const ticket = new Float64Array(1);
    const size = lengthOf(state);
    const status = symbols.exrp_durable_group(id, state, size, Number(hasState), ticket);
    this.#core.check(FLUSH, status);
    return ticket[0] ?? 0;
  }

  /** Waits until all that was done before is on the disk. */
  async flush(): Promise<void> {
    const core = this.#core;
    core.checkUsable(FLUSH);
    if (!this.#isOpen()) {
      throw new ReplayError(
        "file",
        `${FLUSH}: this replay is in memory only; make it by ExperienceReplay.open(directory, options)`,
      );
    }
    const ticket = core.together(FLUSH, () => this.note());
    for (;;) {
      const status = await core.kernel.symbols.exrp_durable_wait(core.id, ticket, WAIT_MS);
      if (status === 0) return;
      core.checkUsable(FLUSH);
      // What failed is told on this thread.
      core.together(FLUSH, () => this.note());
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
    const info = new Float64Array(abi.EXRP_DURABLE_INFO_COUNT);
    core.check("durability", core.kernel.symbols.exrp_durable_info(core.id, info, lengthOf(info)));
    return {
      ...this.#open,
      logBytes: info[abi.EXRP_DURABLE_INFO_LOG_BYTES] ?? 0,
      writtenBytes: info[abi.EXRP_DURABLE_INFO_WRITTEN_BYTES] ?? 0,
      queuedBytes: info[abi.EXRP_DURABLE_INFO_QUEUED_BYTES] ?? 0,
      hasFailed: info[abi.EXRP_DURABLE_INFO_FAILED] !== 0,
    };
  }
}
