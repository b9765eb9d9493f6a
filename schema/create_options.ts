/**
 * The options of a replay: what a caller may write, checked and filled in.
 *
 * @module
 */

import * as abi from "../ffi/symbols.ts";
import { checkBoolean, checkInteger, checkWord, show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { checkEviction, type EvictionRule } from "../eviction/eviction_policy.ts";
import { fifo } from "../eviction/fifo.ts";
import type { RateLimiter } from "../rate_limiters/rate_limiter.ts";
import {
  type AnyPickPolicy,
  checkPick,
  kernelPolicy,
  PICK_HINTS,
  type PickOptions,
  REWARD_TYPES,
} from "./pick_options.ts";
import type { Column, Columns, NamedColumn } from "./columns.ts";
import { shownColumns, withTransforms } from "./pick_transforms.ts";
import { checkColumns, type NamedColumns } from "./record_columns.ts";
import type { LeafOption, StateColumns } from "./state.ts";
import type { PickTransforms } from "./transform_types.ts";

/**
 * How a replay keeps wide columns, such as images: as they are, or packed. It is an option of {@linkcode ExperienceReplay.create}, whose docs page
 * "Memory" has an example.
 */
export type Compression = "none" | "fast" | "small";

const COMPRESSIONS = ["none", "fast", "small"] as const;

/** The options of {@linkcode ExperienceReplay.create}. */
export interface CreateOptions<
  S extends StateColumns = StateColumns,
  A extends Column = Column,
  R extends Column = Column,
  X extends Columns = Columns,
  Stack extends LeafOption<number> = LeafOption<number>,
  Compact extends LeafOption<boolean> = LeafOption<boolean>,
  NStep extends number | readonly number[] = number | readonly number[],
  Transforms extends PickTransforms = PickTransforms,
> {
  /** How many records the replay holds at most: a whole number from 1 to 2^28. */
  readonly capacity: number;
  /**
   * The column of the state: any dtype and any shape, such as `float32(4)`. A state of several leaves has columns by name, as
   * `{ image: uint8(84, 84), speed: float32(3) }`, or in a list; both may be nested. At most 32 leaves.
   */
  readonly state: S;
  /** The column of the action; `int32()` by default. */
  readonly action?: A;
  /** The column of the reward; `float32()` by default. */
  readonly reward?: R;
  /** Further columns by name, such as `{ logProb: float32() }`; none by default. */
  readonly extras?: X;
  /** The pick policy of the first pick view. By default a pick is a single record with its next state. */
  readonly pick?: PickOptions<Stack, Compact, NStep, Transforms>;
  /** The rule that says which episode is forgotten when the replay is full; `fifo()` by default. */
  readonly eviction?: EvictionRule;
  /**
   * How fast records come beside the picks that are drawn: `samplesPerInsert()`, `minSize()` or `queue()`; none by default. A call that the
   * rate limiter holds back throws a `ReplayError`, `rate-limiter`, and changes nothing. `whenReady` waits until it may go ahead, and `batches` waits by
   * itself. `setRateLimiter` changes it later.
   */
  readonly rateLimiter?: RateLimiter;
  /**
   * How many bytes of records and final states the replay holds at most; no limit by default. The smaller limit of this and `capacity`
   * counts.
   *
   * `capacity` becomes at most the length of the longest episode that fits with its final state. Every other final state takes room
   * from records, and so do the values of an extra made by `every()`. Pick views and the empty rest of a block are not counted.
   * `memoryBytes` has all memory. With `compression`, records count as if they were not packed.
   */
  readonly capacityBytes?: number;
  /**
   * How old a record may be, counted in records of all episodes: a whole number from `pick.length` to 2^53 - 1; no limit by default.
   * Every stored record is among the last `maxAge` records. Use it to learn from data of recent policies only.
   *
   * An ended episode is forgotten as a whole before its oldest record becomes too old, whatever the eviction policy says. An open episode
   * loses its oldest records and goes on.
   */
  readonly maxAge?: number;
  /** The seed, from which all random draws follow: a whole number from 0 to 2^53 - 1; random by default. */
  readonly seed?: number;
  /**
   * How many records an open episode may have. A longer one is cut, as if truncated, and goes on under a new handle. It is a whole
   * number from `pick.length` to the smaller one of `capacity` and `maxAge`.
   *
   * By default no episode is cut: if room is needed, an open episode loses its oldest records and keeps its handle and its positions.
   * Only at 2^31 - 1 records is it cut, because positions are int32.
   */
  readonly segmentLength?: number;
  /**
   * How many records of an episode lie together in memory: a power of two from 2 to 1024; 16 by default. Larger blocks make batches of
   * long picks faster.
   */
  readonly blockLength?: number;
  /**
   * Whether columns of more than 128 bytes a record are packed, without loss; `"none"` by default. A block of records is packed once it is full or its
   * episode ends, by the call that fills it. Batches are the same, bit for bit.
   *
   * Frames of Atari games take about a tenth of the memory with `"fast"`, and about a twentieth with `"small"`. A record takes half as long again, and a
   * batch of stacks up to a sixth longer. What gains nothing, such as noise, stays as it is, block by block. Rewards and extras of `every()` are never
   * packed.
   */
  readonly compression?: Compression;
  /**
   * Whether NaN and infinite values are refused in states, actions and rewards; false by default. The error names the column, the step
   * and the element, and nothing is stored. It looks at the values as they are stored: 1e300 is infinite as float32.
   *
   * Extras are not checked, because some are rightly infinite: the logits of actions that are not allowed, for example. Use it while you
   * look for the source of a NaN. It costs about 10 ns for a record with a state of four floats, 3 ns in `recordMany`, and 1 ns for
   * each further element.
   */
  readonly checkFinite?: boolean;
  /**
   * Columns that {@linkcode ExperienceReplay.update} must not change: any of `state`, `action`, `reward` and `extras.` with a name; none by
   * default.
   */
  readonly frozen?: readonly string[];
  /**
   * Whether the replay keeps the next state of each environment's newest step, as `recordStep` and `recordBatch` get it. Then `drain`
   * returns the newest step at once; else that step waits for the step after it. By default the replay keeps states of up to 1,024
   * bytes. A larger one costs a fifth to three quarters more time a step, so say `true` where you need it, such as PPO from pictures.
   * `recordFlat` keeps the next state of its last step in any case, because one copy a call costs little.
   */
  readonly keepNextState?: boolean;
  /** The file of the native kernel. By default the library finds it. */
  readonly kernelPath?: string | URL;
  /**
   * The folder into which the library unpacks the kernel that a published package carries. By default it is `exrp` in the system's
   * folder for caches, or the folder that the environment variable `EXRP_CACHE` names. A clone with a kernel of its own needs none.
   */
  readonly kernelCache?: string | URL;
  /**
   * Which kernel runs: `"native"`, which is the fastest and needs permissions of Deno, or `"wasm"`, which needs no permission and runs on
   * every platform. Both give the same batches. With `"auto"`, the default, the native kernel runs where it may, else WebAssembly.
   */
  readonly backend?: "auto" | "native" | "wasm";
}

/** Options that were checked and filled in. */
export interface ReplayConfig extends NamedColumns {
  /** Records: as given, or what fits into `capacityBytes`. */
  readonly capacity: number;
  /** As given; 0 is no limit. */
  readonly capacityBytes: number;
  /** As given; 0 is no limit. */
  readonly maxAge: number;
  /** The pick policy. */
  readonly pick: AnyPickPolicy;
  /** The rule of eviction. */
  readonly eviction: EvictionRule;
  /** The seed. */
  readonly seed: number;
  /** As given; 0 is no limit. */
  readonly segmentLength: number;
  /** As given; 0 leaves it to the kernel. */
  readonly blockLength: number;
  /** As given. */
  readonly compression: Compression;
  /** As given. */
  readonly checkFinite: boolean;
  /** The names of columns that never change. */
  readonly frozen: readonly string[];
  /** Whether next states are kept. */
  readonly keepNextState: boolean;
}

const OPTIONS = [
  "capacity",
  "state",
  "action",
  "reward",
  "extras",
  "pick",
  "eviction",
  "rateLimiter",
  "capacityBytes",
  "maxAge",
  "seed",
  "segmentLength",
  "blockLength",
  "compression",
  "checkFinite",
  "frozen",
  "keepNextState",
  "kernelPath",
  "kernelCache",
  "backend",
] as const;

/** Next states of up to this many bytes are kept where nobody says otherwise. */
const KEPT_STATE_BYTES_MAX = 1024;

/** Where errors about these options say they happened. */
const WHERE = "ExperienceReplay.create()";

/** Refuses an option that neither `create` has nor these names say. */
export function checkOptionNames(where: string, options: object, more: readonly string[]): void {
  checkOptions(where, options, [...OPTIONS, ...more], PICK_HINTS);
}

/** Checks and fills in all options. */
export function checkCreateOptions(options: CreateOptions): ReplayConfig {
  checkOptions(WHERE, options, OPTIONS, PICK_HINTS);
  const named = checkColumns(WHERE, options);
  const { columns } = named;
  checkKept(columns);
  if (columns.length > abi.EXRP_LIMIT_COLUMNS) {
    throw new RangeError(
      `${WHERE}: at most ${abi.EXRP_LIMIT_COLUMNS} columns, got ${columns.length}`,
    );
  }
  const largest = Number.MAX_SAFE_INTEGER;
  const limit = (name: "maxAge" | "capacityBytes"): number =>
    options[name] === undefined ? 0 : checkInteger(`${WHERE}: ${name}`, options[name], 1, largest);
  const given = checkInteger(`${WHERE}: capacity`, options.capacity, 1, abi.EXRP_LIMIT_CAPACITY);
  const [maxAge, capacityBytes] = [limit("maxAge"), limit("capacityBytes")];
  const capacity = capacityBytes === 0 ? given : fittingCapacity(given, capacityBytes, named);
  const segmentMax = maxAge === 0 ? capacity : Math.min(capacity, maxAge);
  const { segmentLength } = options;
  const checkSegment = (least: number): number =>
    checkInteger(
      `${WHERE}: segmentLength (at least pick.length, at most capacity and maxAge)`,
      segmentLength,
      least,
      segmentMax,
    );
  // Whether the length is one is checked with the policy, which may need the segments' length first.
  const { length = 1 } = options.pick ?? {};
  const isLength = Number.isInteger(length) && length >= 1 && length <= segmentMax;
  const segment = segmentLength === undefined ? undefined : checkSegment(isLength ? length : 1);
  const pick = checkPick(`${WHERE}: pick`, options.pick ?? {}, named, segment);
  shownColumns(`${WHERE}: pick.transform`, columns, pick.transform);
  checkLimitsHold(pick.length, named, capacityBytes, maxAge);
  return {
    capacity,
    capacityBytes,
    maxAge,
    ...named,
    pick,
    eviction: checkEviction(`${WHERE}: eviction`, options.eviction ?? fifo()),
    seed: options.seed === undefined
      ? randomSeed()
      : checkInteger(`${WHERE}: seed`, options.seed, 0, largest),
    // Where not even one pick fits, the kernel says so.
    segmentLength: segment === undefined || capacity < pick.length ? 0 : checkSegment(pick.length),
    blockLength: options.blockLength === undefined ? 0 : checkBlockLength(options.blockLength),
    compression: options.compression === undefined
      ? "none"
      : checkWord(`${WHERE}: compression`, options.compression, COMPRESSIONS),
    checkFinite: options.checkFinite !== undefined &&
      checkBoolean(`${WHERE}: checkFinite`, options.checkFinite),
    frozen: checkFrozen(options.frozen ?? [], columns),
    keepNextState: options.keepNextState === undefined
      ? episodeBytes(named, 0) <= KEPT_STATE_BYTES_MAX
      : checkBoolean(`${WHERE}: keepNextState`, options.keepNextState),
  };
}

/** The options that say how much a replay holds. A folder may be opened with others. */
export type Limits = Pick<CreateOptions, "capacity" | "capacityBytes" | "maxAge">;

/** Whether these options are limits only. */
export function areLimits(options: object): options is Partial<Limits> {
  return Object.keys(options).every((name) =>
    ["capacity", "capacityBytes", "maxAge"].includes(name)
  );
}

/** A configuration with other limits. Those that are not given stay. */
export function withLimits(
  where: string,
  config: ReplayConfig,
  limits: Partial<Limits>,
): ReplayConfig {
  const { pick, segmentLength } = config;
  const check = (name: keyof Limits, least: number, most: number): number =>
    limits[name] === undefined
      ? config[name]
      : checkInteger(`${where}: ${name}`, limits[name], least, most);
  const given = check("capacity", pick.length, abi.EXRP_LIMIT_CAPACITY);
  const capacityBytes = check("capacityBytes", 1, Number.MAX_SAFE_INTEGER);
  const maxAge = check("maxAge", 1, Number.MAX_SAFE_INTEGER);
  const capacity = capacityBytes === 0 ? given : fittingCapacity(given, capacityBytes, config);
  checkLimitsHold(pick.length, config, capacityBytes, maxAge);
  const segmentMax = maxAge === 0 ? capacity : Math.min(capacity, maxAge);
  if (segmentLength > segmentMax) {
    throw new RangeError(
      `${where}: capacity and maxAge must be at least segmentLength, which is ${segmentLength} in the replay of the folder, got ${segmentMax}`,
    );
  }
  return { ...config, capacity, capacityBytes, maxAge };
}

/** The names of columns, each of which must be there. */
function checkFrozen(given: unknown, columns: readonly NamedColumn[]): readonly string[] {
  if (!Array.isArray(given)) {
    throw new TypeError(
      `${WHERE}: frozen must be an array of names of columns, got ${show(given)}`,
    );
  }
  const names = columns.map(({ name }) => name);
  for (const name of given) {
    if (names.includes(name)) continue;
    throw new TypeError(
      `${WHERE}: frozen must name columns, of ${names.join(", ")}; got ${show(name)}`,
    );
  }
  return [...given];
}

/** Only extras may be kept by some records, and not too many of them. */
function checkKept(columns: readonly NamedColumn[]): void {
  const kept = columns.filter(({ column }) => column.every > 1);
  for (const { name, column } of kept) {
    if (name.startsWith("extras.")) continue;
    throw new TypeError(`${WHERE}: every record keeps its ${name}; only an extra can be ${column}`);
  }
  if (kept.length > abi.EXRP_LIMIT_KEPT) {
    throw new RangeError(
      `${WHERE}: at most ${abi.EXRP_LIMIT_KEPT} extras can be made by every(), got ${kept.length}`,
    );
  }
}

/** The longest episode that fits into so many bytes. Where none does, that is said later, where the picks' length is known. */
function fittingCapacity(
  capacity: number,
  capacityBytes: number,
  columns: NamedColumns,
): number {
  let [fits, most] = [1, capacity];
  while (fits < most) {
    const middle = Math.ceil((fits + most) / 2);
    if (episodeBytes(columns, middle) <= capacityBytes) fits = middle;
    else most = middle - 1;
  }
  return fits;
}

/** Limits must leave room for a pick, and for the state after it. */
function checkLimitsHold(
  pickLength: number,
  columns: NamedColumns,
  capacityBytes: number,
  maxAge: number,
): void {
  if (maxAge > 0 && maxAge < pickLength) {
    throw new RangeError(
      `${WHERE}: maxAge must be at least pick.length, which is ${pickLength}, got ${maxAge}`,
    );
  }
  const needed = episodeBytes(columns, pickLength);
  if (capacityBytes > 0 && capacityBytes < needed) {
    throw new RangeError(
      `${WHERE}: capacityBytes must be at least ${needed}, for the ${pickLength} records of a pick and a final state, got ${capacityBytes}`,
    );
  }
}

/** Bytes of one episode with its final state; without records, those of a state. */
function episodeBytes({ columns, leaves }: NamedColumns, recordCount: number): number {
  let bytes = 0;
  for (const [k, { column }] of columns.entries()) {
    const rows = Math.ceil(recordCount / column.every) + (k < leaves.length ? 1 : 0);
    bytes += rows * column.elementBytes * column.elementCount;
  }
  return bytes;
}

function checkBlockLength(value: unknown): number {
  const length = checkInteger(`${WHERE}: blockLength`, value, 2, 1024);
  if ((length & (length - 1)) !== 0) {
    throw new RangeError(`${WHERE}: blockLength must be a power of two, got ${length}`);
  }
  return length;
}

function randomSeed(): number {
  const [low = 0, high = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high & 0x1fffff) * 2 ** 32 + low;
}

/** The numbers, pick policy and columns that the kernel makes a replay from. */
export function kernelConfig(
  config: ReplayConfig,
): {
  numbers: Float64Array<ArrayBuffer>;
  policy: Float64Array<ArrayBuffer>;
  columns: Uint32Array<ArrayBuffer>;
} {
  const numbers = new Float64Array(abi.EXRP_CONFIG_COUNT);
  numbers[abi.EXRP_CONFIG_CAPACITY] = config.capacity;
  numbers[abi.EXRP_CONFIG_SEGMENT_LENGTH] = config.segmentLength;
  numbers[abi.EXRP_CONFIG_SEED] = config.seed;
  if ("native" in config.eviction) {
    numbers[abi.EXRP_CONFIG_EVICTION] = config.eviction.native;
    numbers[abi.EXRP_CONFIG_EVICTION_OPTION] = config.eviction.number;
  } else numbers[abi.EXRP_CONFIG_EVICTION] = abi.EXRP_EVICTION_EXTERNAL;
  numbers[abi.EXRP_CONFIG_CAPACITY_BYTES] = config.capacityBytes;
  numbers[abi.EXRP_CONFIG_AGE_MAX] = config.maxAge;
  numbers[abi.EXRP_CONFIG_BLOCK_LENGTH] = config.blockLength;
  numbers[abi.EXRP_CONFIG_STATE_COLUMNS] = config.leaves.length;
  numbers[abi.EXRP_CONFIG_COMPRESSION] = {
    none: abi.EXRP_COMPRESSION_NONE,
    fast: abi.EXRP_COMPRESSION_FAST,
    small: abi.EXRP_COMPRESSION_SMALL,
  }[config.compression];
  const columns = new Uint32Array(3 * config.columns.length);
  for (const [k, { column }] of config.columns.entries()) {
    columns.set([column.elementBytes, column.elementCount, column.every], 3 * k);
  }
  return { numbers, policy: policyNumbers(config.pick, config), columns };
}

/** The numbers that the kernel makes a pick view of this policy from. */
export function policyNumbers(
  policy: AnyPickPolicy,
  config: ReplayConfig,
): Float64Array<ArrayBuffer> {
  const numbers = kernelPolicy(policy, config, rewardColumn(config).dtype);
  return withTransforms(numbers, config.columns, policy.transform, REWARD_TYPES);
}

/** The reward column. */
export function rewardColumn({ columns, leaves }: ReplayConfig): Column {
  return (columns[leaves.length + 1] as NamedColumn).column;
}
