/**
 * What `describe()` returns: a replay's state in numbers, and as text for people.
 *
 * @module
 */

import { bytesText, count, group } from "../base/inspect.ts";
import { showAsTable, type TextRow } from "../base/notebook.ts";
import * as abi from "../ffi/symbols.ts";
import type { DType } from "../schema/columns.ts";
import type { Compression } from "../schema/create_options.ts";
import { type AnyPickPolicy, describePolicy } from "../schema/pick_options.ts";
import type { SelectorOption } from "../selectors/native_selector.ts";
import type { ReplayCore } from "./core.ts";
import type { RateLimiterState } from "../rate_limiters/rate_limiter.ts";
import { rateLimiterState } from "./rate_limiter/rate_limiter.ts";
import type { Register } from "./register/register.ts";

/** One column of a {@linkcode ReplayDescription}. */
export interface ColumnDescription {
  /** `state`, `action`, `reward`, or `extras.` and a name. */
  readonly name: string;
  /** The type of its numbers. */
  readonly dtype: DType;
  /** The shape of one record's value. */
  readonly shape: readonly number[];
  /** The bytes of one record's value. */
  readonly bytes: number;
  /** n if only every nth record of an episode keeps the column. */
  readonly every?: number;
  /** True if `update` must not change the column. */
  readonly frozen?: boolean;
}

/** One selector of a {@linkcode ReplayDescription}. */
export interface SelectorDescription {
  /** Its number. */
  readonly id: number;
  /** The rule's name. */
  readonly kind: string;
  /** The number of its pick view. */
  readonly view: number;
  /** The numbers of the selectors that it draws with. */
  readonly parts: readonly number[];
  /** The rule's options; empty for a rule of your own. */
  readonly options: Readonly<Record<string, SelectorOption>>;
}

/** One pick view of a {@linkcode ReplayDescription}. */
export interface PickViewDescription {
  /** Its number. */
  readonly id: number;
  /** Its pick policy. */
  readonly policy: AnyPickPolicy;
  /** How many picks may be drawn. */
  readonly pickCount: number;
}

/** Bytes of memory, by part, in a {@linkcode ReplayDescription}. */
export interface MemoryDescription {
  /** Everything. */
  readonly total: number;
  /** The columns: the slots that were ever used, times the bytes of a record; packed rows as they are. */
  readonly columns: number;
  /** The bytes of the records and final states that are stored now. `capacityBytes` limits them. */
  readonly stored: number;
  /** Blocks, episodes, pick view, selectors and eviction. */
  readonly index: number;
  /** What a device has of it, by `onDevice` of `@exrp/replay/gpu`; 0 without one. */
  readonly device: number;
  /** False where rows leave memory once a device has them, by `hostCopy: false` of `onDevice`. */
  readonly hostCopy: boolean;
}

/** A replay, as {@linkcode ReplayView.describe} describes it. `String(description)` is a table for people. */
export interface ReplayDescription {
  /** The most records that the replay holds: the option `capacity`, or less if `capacityBytes` has room for less. */
  readonly capacity: number;
  /** The most bytes of records and final states that the replay holds; undefined without a limit. */
  readonly capacityBytes: number | undefined;
  /** An episode is forgotten before this many + 1 records are written since it began; undefined without a limit. */
  readonly maxAge: number | undefined;
  /** How many records the replay holds. */
  readonly recordCount: number;
  /** How many episodes the replay holds. */
  readonly episodeCount: number;
  /** How many picks may be drawn. */
  readonly pickCount: number;
  /** How many records were ever written. */
  readonly recordedCount: number;
  /** How many episodes were ever evicted. */
  readonly evictedCount: number;
  /** State, action, reward, then the extras. */
  readonly columns: readonly ColumnDescription[];
  /** The pick policy of the first pick view. */
  readonly pick: AnyPickPolicy;
  /** The pick views, in order of creation; `pick` and `pickCount` are those of the first. */
  readonly pickViews: readonly PickViewDescription[];
  /** The seed. */
  readonly seed: number;
  /** An open episode is cut after this many records; undefined if no length was given, and so none is cut. */
  readonly segmentLength: number | undefined;
  /** How many slots the replay hands out together. */
  readonly blockLength: number;
  /** Whether wide columns are packed: the option `compression`. */
  readonly compression: Compression;
  /** The eviction policy's name. */
  readonly eviction: string;
  /** The eviction policy's options; empty for a policy without options, and for your own. */
  readonly evictionOptions: Readonly<Record<string, number>>;
  /** The selectors, in order of creation. */
  readonly selectors: readonly SelectorDescription[];
  /** The rate limiter and its counts; undefined without one. */
  readonly rateLimiter: RateLimiterState | undefined;
  /** Bytes of memory. */
  readonly memory: MemoryDescription;
  /** How many seats a shared replay has: this one, and those of `attach`. Undefined if the replay is not shared. */
  readonly seatCount: number | undefined;
  /** The kernel's file. */
  readonly kernel: string;
  /** Which kernel runs, and why: `native: the local build`, or `wasm: no --allow-ffi`. */
  readonly backend: string;
}

/** Describes the replay of these parts. */
export function describeReplay(core: ReplayCore, register: Register): ReplayDescription {
  return core.together("describe()", () => describeNow(core, register));
}

function describeNow(core: ReplayCore, register: Register): ReplayDescription {
  const { config, seed, kernel } = core;
  const info = core.info("describe()");
  const number = (index: number): number => info[index] ?? 0;
  return showAsTable(
    {
      capacity: config.capacity,
      capacityBytes: config.capacityBytes === 0 ? undefined : config.capacityBytes,
      maxAge: config.maxAge === 0 ? undefined : config.maxAge,
      recordCount: number(abi.EXRP_INFO_RECORD_COUNT),
      episodeCount: number(abi.EXRP_INFO_EPISODE_COUNT),
      pickCount: number(abi.EXRP_INFO_PICK_COUNT),
      recordedCount: number(abi.EXRP_INFO_RECORDED_COUNT),
      evictedCount: number(abi.EXRP_INFO_EVICTED_COUNT),
      columns: config.columns.map(({ name, column }) => ({
        name,
        dtype: column.dtype,
        shape: column.shape,
        bytes: column.elementBytes * column.elementCount,
        ...(column.every === 1 ? {} : { every: column.every }),
        ...(config.frozen.includes(name) ? { frozen: true } : {}),
      })),
      pick: config.pick,
      pickViews: register.views.map(({ id, policy, pickCount }) => ({ id, policy, pickCount })),
      seed,
      segmentLength: number(abi.EXRP_INFO_SEGMENT_LENGTH) || undefined,
      blockLength: number(abi.EXRP_INFO_BLOCK_LENGTH),
      compression: config.compression,
      eviction: config.eviction.name,
      evictionOptions: "native" in config.eviction ? config.eviction.options : {},
      selectors: register.entries.map(({ selector, native, composed }) => ({
        id: selector.id,
        kind: selector.kind,
        view: selector.view,
        parts: selector.parts.map(({ id }) => id),
        options: native?.options ?? composed?.rule.options ?? {},
      })),
      rateLimiter: rateLimiterState(core, "describe()"),
      memory: {
        total: number(abi.EXRP_INFO_MEMORY_BYTES),
        columns: number(abi.EXRP_INFO_COLUMN_BYTES),
        stored: number(abi.EXRP_INFO_STORED_BYTES),
        index: number(abi.EXRP_INFO_INDEX_BYTES),
        device: core.deviceBytes,
        hostCopy: core.hostCopy,
      },
      seatCount: core.shared && core.shareInfo("describe()")[abi.EXRP_SHARE_INFO_SEATS],
      kernel: kernel.path,
      backend: `${kernel.backend}: ${kernel.why}`,
    },
    "ExperienceReplay",
    describedRows,
  );
}

/** What is described, line by line. */
export function describedRows(description: ReplayDescription): TextRow[] {
  const { memory, capacityBytes, maxAge, eviction, seatCount, rateLimiter } = description;
  const options = optionsText(description.evictionOptions);
  return [
    [
      "records",
      `${group(description.recordCount)} of ${group(description.capacity)} in ${
        count(description.episodeCount, "episode")
      }; ${group(description.recordedCount)} written, ${
        count(description.evictedCount, "episode")
      } evicted`,
    ],
    ...description.pickViews.map((view): TextRow => [
      view.id === 0 ? "picks" : `pick view ${view.id}`,
      pickText(view),
    ]),
    ...description.columns.map(({ name, dtype, shape, every, frozen }): TextRow => [
      name,
      `${dtype}(${shape.join(", ")})${
        every === undefined ? "" : `, kept by one record in ${every}`
      }${frozen ? ", frozen" : ""}`,
    ]),
    ...rowIf(capacityBytes, "bytes", (most) => `${group(memory.stored)} of ${group(most)}`),
    ...rowIf(maxAge, "max. age", (age) => count(age, "record")),
    ["eviction", options === "" ? eviction : `${eviction}(${options})`],
    ...description.selectors.map(({ id, kind, options, view, parts }): TextRow => [
      `selector ${id}`,
      `${kind}(${optionsText(options)})${
        parts.length === 0 ? "" : ` of selectors ${parts.join(", ")}`
      }${view === 0 ? "" : ` on pick view ${view}`}`,
    ]),
    ...rowIf(rateLimiter, "rate limiter", rateLimiterText),
    [
      "memory",
      `${bytesText(memory.total)}: columns ${bytesText(memory.columns)}, index ${
        bytesText(memory.index)
      }${memory.device === 0 ? "" : `, on a device ${bytesText(memory.device)}`}${
        memory.hostCopy ? "" : " without a host copy"
      }`,
    ],
    [
      "layout",
      description.segmentLength === undefined
        ? `blocks of ${description.blockLength} records`
        : `segments of ${
          group(description.segmentLength)
        } records, blocks of ${description.blockLength}`,
    ],
    ...rowIf(
      description.compression === "none" ? undefined : description.compression,
      "compression",
      (word) => word,
    ),
    ["seed", String(description.seed)],
    ...rowIf(seatCount, "shared", (seats) => count(seats, "seat")),
    ["kernel", description.kernel],
    ["backend", description.backend],
  ];
}

/** A row for a number that is there. */
function rowIf<T>(value: T | undefined, name: string, text: (value: T) => string): TextRow[] {
  return value === undefined ? [] : [[name, text(value)]];
}

function rateLimiterText(
  { ratio, minSize, difference, differenceMin, differenceMax }: RateLimiterState,
): string {
  const from = `from ${count(minSize, "record")} on`;
  return differenceMax === Infinity && differenceMin === -Infinity
    ? `picks are drawn ${from}`
    : `${ratio} picks a record ${from}; the difference is ${difference}, held from ${differenceMin} to ${differenceMax}`;
}

function optionsText(options: Readonly<Record<string, SelectorOption>>): string {
  return Object.entries(options).map(([key, value]) => `${key}: ${value}`).join(", ");
}

function pickText({ policy, pickCount }: PickViewDescription): string {
  const more = describePolicy(policy);
  return `${group(pickCount)} of length ${policy.length}${more === "" ? "" : `, ${more}`}`;
}
