/**
 * A tap on the kernel: sees every call that the library makes. So the test knows the id of the replay, which its class
 * hides. It can check the kernel's invariants, and record all calls for the native replay. The file is long because it has a line for
 * each call of the kernel.
 *
 * @module
 */

import { type Kernel, type KernelSymbols, openKernel } from "../../../ffi/library.ts";
import * as abi from "../../../ffi/symbols.ts";

/** The kind of an argument in a recording: a replay's id, a number, or bytes that the call reads. Others are left out. */
type Role = "replay" | "number" | "bytes" | "out";

/** Bytes that a call wrote; made after it succeeded. */
type Written = (args: readonly unknown[], tap: KernelTap) => readonly Uint8Array[];

interface Call {
  readonly roles: readonly Role[];
  readonly written: Written;
}

type AnyFunction = (...args: readonly unknown[]) => number;

interface Shape {
  readonly columnBytes: readonly number[];
  /** How many of the columns are leaves of the state: the first ones. */
  readonly leafCount: number;
  /** For each column, which records keep it. */
  readonly every: readonly number[];
  /** Elements of one reward. */
  readonly rewardCount: number;
  /** The numbers of each pick view's policy. */
  readonly policies: Float64Array[];
  /** The pick view of each selector. */
  readonly views: number[];
}

/** A part of a batch, and the bytes that one pick has in it. */
type BatchPart = readonly [part: number, bytes: number];

/** The parts of a view's batches in the order in which they are hashed, as tests/kernel/operations_recording.hpp has it. */
function batchPartsOf(
  { columnBytes, leafCount, every, rewardCount, policies }: Shape,
  view: number,
): BatchPart[] {
  const policy = policies[view] ?? new Float64Array(abi.EXRP_POLICY_COUNT);
  const number = (index: number): number => policy[index] ?? 0;
  const flag = (bit: number): boolean => (number(abi.EXRP_POLICY_FLAGS) & bit) !== 0;
  const rows = number(abi.EXRP_POLICY_BEFORE) + number(abi.EXRP_POLICY_LENGTH);
  const leaves = columnBytes.slice(0, leafCount).map((bytes, leaf) => {
    const hasOwn = policy.length > abi.EXRP_POLICY_COUNT;
    const own = abi.EXRP_POLICY_COUNT + abi.EXRP_LEAF_COUNT * leaf;
    const stack = number(hasOwn ? own + abi.EXRP_LEAF_STACK : abi.EXRP_POLICY_STACK);
    const nextState = number(
      hasOwn ? own + abi.EXRP_LEAF_NEXT_STATE : abi.EXRP_POLICY_NEXT_STATE,
    );
    const flags = hasOwn
      ? number(own + abi.EXRP_LEAF_FLAGS)
      : flag(abi.EXRP_PICK_COMPACT)
      ? abi.EXRP_LEAF_COMPACT
      : 0;
    const more = nextState === abi.EXRP_NEXT_STATE_OVERLAP ? 1 : 0;
    const isCompact = (flags & abi.EXRP_LEAF_COMPACT) !== 0;
    const frames = isCompact ? stack - 1 + rows + more : (rows + more) * stack;
    const stacks = rows * stack * bytes;
    return {
      states: frames * bytes,
      nextStates: nextState === abi.EXRP_NEXT_STATE_COPY ? stacks : 0,
      nSteps: (flags & abi.EXRP_LEAF_NO_N_STEP) === 0 ? stacks : 0,
    };
  });
  const [first = { states: 0, nextStates: 0, nSteps: 0 }] = leaves;
  const masks = flag(abi.EXRP_PICK_MASKS) ? rows * 4 : 0;
  const ends = flag(abi.EXRP_PICK_ENDS) ? rows : 0;
  const parts: BatchPart[] = [
    [abi.EXRP_BATCH_NEXT_STATE, first.nextStates],
    [abi.EXRP_BATCH_SEQ_LEN, 4],
    [abi.EXRP_BATCH_NEXT_SEQ_LEN, 4],
    [abi.EXRP_BATCH_PICK_EPISODE, 8],
    [abi.EXRP_BATCH_PICK_POSITION, 4],
    [abi.EXRP_BATCH_PROBABILITY, 4],
    [abi.EXRP_BATCH_IMPORTANCE_WEIGHT, 4],
    [abi.EXRP_BATCH_DISCOUNT, rows * 4],
    [abi.EXRP_BATCH_LEARN_MASK, masks],
    [abi.EXRP_BATCH_CONTEXT_MASK, masks],
    [abi.EXRP_BATCH_TERMINATED, ends],
    [abi.EXRP_BATCH_TRUNCATED, ends],
    [abi.EXRP_BATCH_RETURN_TO_GO, flag(abi.EXRP_PICK_RETURN_TO_GO) ? rows * rewardCount * 4 : 0],
    ...leaves.map(({ states }, k): BatchPart => [abi.EXRP_BATCH_COLUMN + k, states]),
  ];
  for (const [k, bytes] of columnBytes.entries()) {
    if (k >= leafCount) {
      parts.push([abi.EXRP_BATCH_COLUMN + k, ((every[k] ?? 1) > 1 ? 1 : rows) * bytes]);
    }
  }
  const nSteps = nStepCount(policy);
  for (let k = 0; k < nSteps; k++) {
    const part = abi.EXRP_BATCH_COLUMN + columnBytes.length + abi.EXRP_BATCH_N_STEP_PARTS * k;
    parts.push([part + abi.EXRP_BATCH_N_STEP_RETURN, rows * rewardCount * 4]);
    parts.push([part + abi.EXRP_BATCH_N_STEP_STATE, first.nSteps]);
    parts.push([part + abi.EXRP_BATCH_N_STEP_DISCOUNT, rows * 4]);
  }
  let part = abi.EXRP_BATCH_COLUMN + columnBytes.length + abi.EXRP_BATCH_N_STEP_PARTS * nSteps;
  for (const leaf of leaves.slice(1)) {
    parts.push([part++, leaf.nextStates]);
    for (let k = 0; k < nSteps; k++) parts.push([part++, leaf.nSteps]);
  }
  return parts;
}

function nStepCount(policy: Float64Array | undefined): number {
  let count = 0;
  while (count < abi.EXRP_LIMIT_N_STEPS && (policy?.[abi.EXRP_POLICY_N_STEP + count] ?? 0) > 0) {
    count++;
  }
  return count;
}

/** The first `count` bytes of an argument. */
function bytesOf(value: unknown, count?: number): Uint8Array {
  if (!ArrayBuffer.isView(value)) return new Uint8Array();
  return new Uint8Array(value.buffer, value.byteOffset, count ?? value.byteLength);
}

function whole(index: number): Written {
  return (args) => [bytesOf(args[index])];
}

function counted(index: number, countIndex: number, itemBytes: number): Written {
  return (args) => [bytesOf(args[index], Number(args[countIndex]) * itemBytes)];
}

const nothing: Written = () => [];
const R = "replay";
const N = "number";
const B = "bytes";
const O = "out";

/** The calls that are recorded, as tests/kernel/operations_recording.hpp reads them. */
const CALLS: Readonly<Record<string, Call>> = {
  exrp_replay_create: { roles: [B, N, B, N, B, N, O], written: nothing },
  exrp_replay_destroy: { roles: [R], written: nothing },
  exrp_replay_info: {
    roles: [R, O, N],
    written: ([, info]) => {
      const copy = bytesOf(info, 8 * abi.EXRP_INFO_COUNT).slice();
      const numbers = new Float64Array(copy.buffer);
      for (
        const index of [
          abi.EXRP_INFO_MEMORY_BYTES,
          abi.EXRP_INFO_COLUMN_BYTES,
          abi.EXRP_INFO_INDEX_BYTES,
        ]
      ) numbers[index] = 0;
      return [copy];
    },
  },
  exrp_replay_check: { roles: [R, O], written: whole(1) },
  exrp_row_layout: {
    roles: [R, O, N],
    written: ([id, offsets], tap) => {
      const { columnBytes, leafCount } = tap.shape(id);
      return [bytesOf(offsets, 8 * (abi.EXRP_ROW_COLUMN + columnBytes.length + leafCount - 1))];
    },
  },
  exrp_episode_create: { roles: [R, O], written: ([, handle]) => [bytesOf(handle, 8)] },
  exrp_episode_tag: { roles: [R, N, N], written: nothing },
  exrp_record: { roles: [R, B, N, N], written: counted(1, 2, 1) },
  exrp_steps_layout: {
    roles: [R, N, O, N],
    written: ([id, , offsets], tap) => [
      bytesOf(offsets, 8 * (abi.EXRP_STEPS_COLUMN + tap.shape(id).columnBytes.length)),
    ],
  },
  exrp_record_many: {
    roles: [R, B, B, N, N, N, B],
    written: (args) => [bytesOf(args[1], 8), bytesOf(args[6], 4)],
  },
  exrp_record_batch: {
    roles: [R, B, B, N, N, N, B],
    written: (args) => [bytesOf(args[1], 8 * Number(args[4])), bytesOf(args[6], 4)],
  },
  exrp_record_flat: {
    roles: [R, B, B, N, N, N, B, B, N],
    written: (args) => [bytesOf(args[1], 8), bytesOf(args[6], 8), bytesOf(args[7])],
  },
  exrp_episode_end: { roles: [R, N, B, N, N, O], written: (args) => [bytesOf(args[5], 4)] },
  exrp_episode_evict: { roles: [R, N], written: nothing },
  exrp_replay_clear: { roles: [R], written: nothing },
  exrp_episode_trim: { roles: [R, N, N], written: nothing },
  exrp_open_trim: {
    roles: [R, O, O],
    written: ([, handle, first]) => [bytesOf(handle, 8), bytesOf(first, 8)],
  },
  exrp_records_release: { roles: [R, N, N], written: nothing },
  exrp_episode_info: {
    roles: [R, N, O, N],
    written: ([, , info]) => [bytesOf(info, 8 * abi.EXRP_EPISODE_INFO_COUNT)],
  },
  exrp_episode_list: {
    roles: [R, B, N, O, O, O, O, O, O, O, N, O],
    written: ([, , , handles, counts, firsts, tags, ends, ages, returns, , listed]) => {
      const [size = 0] = listed instanceof Uint32Array ? listed : [];
      return [
        bytesOf(handles, 8 * size),
        bytesOf(counts, 4 * size),
        bytesOf(firsts, 4 * size),
        bytesOf(tags, 4 * size),
        bytesOf(ends, size),
        bytesOf(ages, 8 * size),
        bytesOf(returns, bytesOf(returns).length === 0 ? 0 : 8 * size),
        bytesOf(listed, 4),
      ];
    },
  },
  exrp_episode_counts: {
    roles: [R, B, N, O, O, O],
    written: ([, , count, counts, firsts, states]) => [
      bytesOf(counts, 4 * Number(count)),
      bytesOf(firsts, 4 * Number(count)),
      bytesOf(states, 4 * Number(count)),
    ],
  },
  exrp_next_states_get: {
    roles: [R, B, N, O, O, N],
    written: ([, , count, there, rows, size]) => [
      bytesOf(there, Number(count)),
      bytesOf(rows, Number(size)),
    ],
  },
  exrp_episode_actors: {
    roles: [R, B, N, O],
    written: ([, , count, actors]) => [bytesOf(actors, 4 * Number(count))],
  },
  exrp_rows_get: {
    roles: [R, N, B, B, N, N, O, N],
    written: ([id, column, , , count, run, rows], tap) => {
      const rowBytes = tap.shape(id).columnBytes[Number(column)] ?? 0;
      return [bytesOf(rows, Number(count) * Number(run) * rowBytes)];
    },
  },
  exrp_rows_set: {
    roles: [R, N, B, B, N, B, N, O],
    written: (args) => [bytesOf(args[7], 4)],
  },
  exrp_rows_prepare: { roles: [R, N, B, B, N], written: nothing },
  exrp_pick_view_create: {
    roles: [R, B, N, O],
    written: ([id, policy, , view], tap) => {
      if (policy instanceof Float64Array) tap.shape(id).policies.push(policy);
      return [bytesOf(view, 4)];
    },
  },
  exrp_pick_view_info: {
    roles: [R, N, O, N],
    written: ([, , info]) => [bytesOf(info, 8 * abi.EXRP_PICK_VIEW_INFO_COUNT)],
  },
  exrp_selector_create: {
    roles: [R, N, N, B, N, O],
    written: ([id, view, , , , selector], tap) => {
      tap.shape(id).views.push(Number(view));
      return [bytesOf(selector, 4)];
    },
  },
  exrp_priority_get: {
    roles: [R, N, B, B, N, O],
    written: (args) => [bytesOf(args[5], 8 * Number(args[4]))],
  },
  exrp_priority_set: {
    roles: [R, N, B, B, B, N, N, O],
    written: (args) => [bytesOf(args[7], 4)],
  },
  exrp_batch_layout: {
    roles: [R, N, N, O, N],
    written: ([id, view, , offsets], tap) => [
      bytesOf(offsets, 8 * tap.partCount(id, Number(view))),
    ],
  },
  exrp_batch_check: { roles: [R, N, N], written: nothing },
  exrp_batch_get: {
    roles: [R, N, N, N, N, N, O, N],
    written: ([id, selector, first, count, total, , batch], tap) =>
      tap.batchParts(
        id,
        tap.shape(id).views[Number(selector)] ?? 0,
        [Number(first), Number(count), Number(total)],
        batch,
      ),
  },
  exrp_batch_gather: {
    roles: [R, N, B, B, N, N, N, N, N, N, O, N],
    written: ([id, view, , , first, count, total, , , , batch], tap) =>
      tap.batchParts(id, Number(view), [Number(first), Number(count), Number(total)], batch),
  },
  exrp_pick_find: { roles: [R, N, B, B, N, O], written: counted(5, 4, 4) },
  exrp_pick_list: {
    roles: [R, N, N, N, O, O],
    written: ([, , , count, handles, positions]) => [
      bytesOf(handles, 8 * Number(count)),
      bytesOf(positions, 4 * Number(count)),
    ],
  },
  exrp_pick_priorities: {
    roles: [R, N, N, N, O],
    written: ([, , , count, priorities]) => [bytesOf(priorities, 8 * Number(count))],
  },
  exrp_journal_open: { roles: [R, N], written: nothing },
  exrp_journal_count: { roles: [R, N, O], written: ([, , count]) => [bytesOf(count, 4)] },
  exrp_journal_read: {
    roles: [R, N, O, N, O],
    written: ([, , events, , count]) => {
      const [read = 0] = count instanceof Uint32Array ? count : [];
      return [bytesOf(events, 8 * read)];
    },
  },
  exrp_replay_save_begin: { roles: [R], written: nothing },
  exrp_replay_save_end: { roles: [R], written: nothing },
  exrp_section_info: { roles: [R, N, O, N], written: ([, , info]) => [bytesOf(info, 16)] },
  exrp_section_read: {
    roles: [R, N, N, N, O, N],
    written: ([id, section, , count, items], tap) => [
      bytesOf(items, Number(count) * tap.itemBytes(Number(id), Number(section))),
    ],
  },
  exrp_section_write: { roles: [R, N, N, N, B, N], written: nothing },
  exrp_snapshot_end: { roles: [R], written: nothing },
};

function hex(bytes: Uint8Array): string {
  return bytes.toHex();
}

/** FNV-1a, 32 bits. */
function fnv(parts: readonly Uint8Array[]): string {
  let hash = 2166136261;
  for (const part of parts) {
    for (let k = 0; k < part.length; k++) hash = Math.imul(hash ^ (part[k] ?? 0), 16777619);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** Sees all calls of the kernel from its making to its disposal. */
export class KernelTap implements Disposable {
  readonly #kernel: { symbols: KernelSymbols };
  readonly #untapped: KernelSymbols;
  readonly #numbers = new Map<number, number>();
  readonly #shapes = new Map<number, Shape>();
  readonly #lines: string[] | undefined;
  readonly #live = new Set<number>();

  private constructor(kernel: Kernel, recording: boolean) {
    this.#kernel = kernel;
    this.#untapped = kernel.symbols;
    this.#lines = recording ? [] : undefined;
    this.#kernel.symbols = this.#tapped();
  }

  /** A tap on the kernel that the library opens. */
  static async on(options: { recording?: boolean } = {}): Promise<KernelTap> {
    return new KernelTap(await openKernel(), options.recording ?? false);
  }

  [Symbol.dispose](): void {
    this.#kernel.symbols = this.#untapped;
  }

  /** The id of the youngest replay that was not destroyed. */
  get liveId(): number {
    return [...this.#live].at(-1) ?? -1;
  }

  /** The recording so far. */
  get recording(): string {
    return (this.#lines ?? []).map((line) => `${line}\n`).join("");
  }

  /** The number of the invariant that broke, 0 for none. */
  check(id: number): number {
    const broken = new Int32Array(1);
    const status = this.#kernel.symbols.exrp_replay_check(id, broken);
    return status === 0 ? broken[0] ?? -1 : -status;
  }

  /** A pick view. */
  picks(
    id: number,
    view: number,
    count: number,
  ): { episodes: Float64Array; positions: Int32Array } {
    const episodes = new Float64Array(Math.max(1, count));
    const positions = new Int32Array(Math.max(1, count));
    const status = this.#kernel.symbols.exrp_pick_list(id, view, 0, count, episodes, positions);
    if (status !== 0) throw new Error(`exrp_pick_list of ${count} picks: status ${status}`);
    return { episodes: episodes.subarray(0, count), positions: positions.subarray(0, count) };
  }

  /** The counts of exrp_replay_info. */
  info(
    id: number,
  ): Record<
    "episodeCount" | "nextHandle" | "recordedCount" | "evictedCount" | "storedBytes",
    number
  > {
    const info = new Float64Array(abi.EXRP_INFO_COUNT);
    const status = this.#untapped.exrp_replay_info(id, info, info.length);
    if (status !== 0) throw new Error(`exrp_replay_info: status ${status}`);
    return {
      episodeCount: info[abi.EXRP_INFO_EPISODE_COUNT] ?? -1,
      nextHandle: info[abi.EXRP_INFO_NEXT_HANDLE] ?? -1,
      recordedCount: info[abi.EXRP_INFO_RECORDED_COUNT] ?? -1,
      evictedCount: info[abi.EXRP_INFO_EVICTED_COUNT] ?? -1,
      storedBytes: info[abi.EXRP_INFO_STORED_BYTES] ?? -1,
    };
  }

  shape(id: unknown): Shape {
    return this.#shapes.get(Number(id)) ??
      { columnBytes: [], leafCount: 1, every: [], rewardCount: 0, policies: [], views: [] };
  }

  itemBytes(id: number, section: number): number {
    const info = new Float64Array(2);
    this.#untapped.exrp_section_info(id, section, info, 2);
    return info[1] ?? 0;
  }

  /** How many offsets a layout of the view's batches has. */
  partCount(id: unknown, view: number): number {
    const { columnBytes, leafCount, policies } = this.shape(id);
    const nSteps = nStepCount(policies[view]);
    return abi.EXRP_BATCH_COLUMN + columnBytes.length + abi.EXRP_BATCH_N_STEP_PARTS * nSteps +
      (1 + nSteps) * (leafCount - 1);
  }

  /** Some places of a batch, part by part, without what lies between them. */
  batchParts(
    id: unknown,
    view: number,
    [first, count, total]: readonly [number, number, number],
    batch: unknown,
  ): Uint8Array[] {
    const offsets = new Float64Array(this.partCount(id, view));
    this.#untapped.exrp_batch_layout(Number(id), view, total, offsets, offsets.length);
    const bytes = bytesOf(batch);
    return batchPartsOf(this.shape(id), view).map(([part, size]) => {
      const offset = (offsets[part] ?? 0) + first * size;
      return bytes.subarray(offset, offset + count * size);
    });
  }

  #tapped(): KernelSymbols {
    const tapped: Record<string, AnyFunction> = {};
    for (const [name, value] of Object.entries(this.#untapped)) {
      const original = value as AnyFunction;
      if (name === "exrp_replay_create") {
        tapped[name] = (...args) => this.#create(original, args);
      } else if (name === "exrp_replay_destroy") {
        tapped[name] = (...args) => this.#destroy(original, args);
      } else if (this.#lines !== undefined) {
        tapped[name] = (...args) => this.#record(name, original, args);
      } else {
        tapped[name] = original;
      }
    }
    return tapped as unknown as KernelSymbols;
  }

  #destroy(original: AnyFunction, args: readonly unknown[]): number {
    this.#live.delete(Number(args[0]));
    return this.#record("exrp_replay_destroy", original, args);
  }

  #create(original: AnyFunction, args: readonly unknown[]): number {
    const [config, , policy, , columns, , made] = args;
    const status = this.#record("exrp_replay_create", original, args);
    if (
      status === 0 && made instanceof Uint32Array && policy instanceof Float64Array &&
      columns instanceof Uint32Array && config instanceof Float64Array
    ) {
      const [id = 0] = made;
      this.#live.add(id);
      this.#numbers.set(id, this.#numbers.size);
      const columnBytes: number[] = [];
      const every: number[] = [];
      for (let k = 0; k < columns.length; k += 3) {
        columnBytes.push((columns[k] ?? 0) * (columns[k + 1] ?? 0));
        every.push(columns[k + 2] ?? 1);
      }
      const leafCount = config[abi.EXRP_CONFIG_STATE_COLUMNS] ?? 1;
      const rewardCount = columns[3 * (leafCount + 1) + 1] ?? 0;
      const policies = [policy];
      this.#shapes.set(id, { columnBytes, leafCount, every, rewardCount, policies, views: [] });
    }
    return status;
  }

  #record(name: string, original: AnyFunction, args: readonly unknown[]): number {
    const call = CALLS[name];
    if (this.#lines === undefined || call === undefined) return original(...args);
    const words = [name.slice("exrp_".length)];
    for (const [k, role] of call.roles.entries()) {
      if (role === R) words.push(String(this.#numbers.get(Number(args[k])) ?? -1));
      else if (role === N) words.push(String(args[k]));
      else if (role === B) words.push(`x${hex(bytesOf(args[k]))}`);
    }
    const status = original(...args);
    // Nothing is hashed where nothing was written; FNV-1a of nothing where a call only says that it went well.
    const silent = name === "exrp_replay_create" || name === "exrp_replay_destroy";
    const hash = status !== 0 || silent ? "0" : fnv(call.written(args, this));
    this.#lines.push(`${words.join(" ")} = ${status} ${hash}`);
    return status;
  }
}
