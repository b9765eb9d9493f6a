/**
 * Where the parts of a batch lie in memory, and the spare buffers that disposed batches leave.
 *
 * @module
 */

import { ReplayError } from "../../base/errors.ts";
import { bytesText } from "../../base/inspect.ts";
import { moveMemory } from "../../base/typed_arrays.ts";
import { type Kernel, takeBuffer } from "../../ffi/library.ts";
import * as abi from "../../ffi/symbols.ts";
import type { ReplayCore } from "../core.ts";
import type { PickView } from "../register/pick_view.ts";
import type { NStepPart } from "../../schema/batch.ts";
import type { BatchShape } from "../../schema/batch_shape.ts";
import { Column, type DType, type NamedColumn, VIEWS } from "../../schema/columns.ts";
import { kernelTransforms, shownColumns } from "../../schema/pick_transforms.ts";
import {
  type AnyPickPolicy,
  describeLayout,
  leafPolicies,
  type LeafPolicy,
  rowCount,
} from "../../schema/pick_options.ts";
import { arrange, type StateTree } from "../../schema/state.ts";

/** Spare buffers kept per layout. */
const SPARE_MAX = 4;

/** From so many bytes on, clearing a batch's memory takes longer than to get some from the kernel that need not be cleared. */
const LARGE = 128 << 10;

/** One array of a batch. */
export interface BatchPart {
  /** The type of its numbers. */
  readonly dtype: DType;
  /** The byte at which it begins. */
  readonly offset: number;
  /** How many elements it has. */
  readonly count: number;
  /** Its shape, which begins with the number of picks. It is frozen, because all batches share it. */
  readonly shape: readonly number[];
}

/** Arrays by name. */
type Parts<Name extends string> = Readonly<Record<Name, BatchPart>>;

/** The parts of one size that are arrays by themselves. Those of the state are lists, with one for each leaf. */
type PlainName = Exclude<keyof BatchShape & string, "state" | "nextState" | "extras">;

/** The arrays of an n-step return. */
export interface NStepParts extends Parts<"reward" | "discount"> {
  /** The states, one for each leaf. */
  readonly nextState: readonly BatchPart[];
}

/** Columns that are mirrored in other memory, by their number: a batch has addresses of their rows, as the kernel's `EXRP_BATCH_ADDRESSES` says. */
export type AddressedColumns = ReadonlySet<number>;

/** What a batch shows of addressed columns in place of rows, and of the others as it is. */
function withAddresses(
  shown: readonly NamedColumn[],
  columns: readonly NamedColumn[],
  transforms: AnyPickPolicy["transform"],
  addressed: AddressedColumns,
): readonly NamedColumn[] {
  const lists = kernelTransforms(columns, transforms);
  return shown.map((each, k) => {
    if (!addressed.has(k)) return each;
    const isCropped = lists[k]?.some(([kind]) => kind === abi.EXRP_TRANSFORM_CROP);
    return { ...each, column: new Column("int32", isCropped ? [abi.EXRP_ADDRESS_COUNT] : []) };
  });
}

/** Where each part of a batch of one size lies, and the spare buffers of that size. */
export class BatchLayout {
  /** How many picks a batch has. */
  readonly size: number;
  /** How many rows each pick has. */
  readonly length: number;
  /** What the kernel is told of the size: with addresses, it is another number. */
  readonly asked: number;
  /** The bytes of a whole batch. */
  readonly bytes: number;
  /** The pick policy. */
  readonly policy: AnyPickPolicy;
  /** Two layouts of one size have the same key if they are alike. */
  readonly key: string;
  /** How the state is put together of its leaves. */
  readonly tree: StateTree;
  /** The states, one for each leaf. */
  readonly state: readonly BatchPart[];
  /** The next states, one for each leaf. */
  readonly nextState: readonly BatchPart[];
  /** The other arrays that each batch has. */
  readonly parts: Parts<PlainName>;
  /** The arrays of the extras, each with its name. */
  readonly extras: readonly (readonly [name: string, part: BatchPart])[];
  /** The arrays of each n-step return. */
  readonly nStep: readonly NStepParts[];
  /** The shapes of all arrays but those of n-step returns. */
  readonly shape: BatchShape;
  /** The shapes of the arrays of each n-step return. */
  readonly nStepShapes: readonly NStepPart["shape"][];
  readonly #kernel: Kernel;
  readonly #spare: ArrayBuffer[] = [];
  #gaps: readonly (readonly [from: number, to: number])[] | undefined;

  /** Asks the kernel where the parts of a batch of `size` picks lie. Of `addressed` columns, it has addresses. */
  constructor(
    core: ReplayCore,
    { id, policy }: PickView,
    size: number,
    addressed?: AddressedColumns,
  ) {
    const { config, kernel: { symbols } } = core;
    const { columns, extraNames, leaves, tree } = config;
    const rows = shownColumns("transform", columns, policy.transform);
    const shown = addressed === undefined
      ? rows
      : withAddresses(rows, columns, policy.transform, addressed);
    const asked = addressed === undefined ? size : size + abi.EXRP_BATCH_ADDRESSES;
    const nStepFirst = abi.EXRP_BATCH_COLUMN + columns.length;
    const nStepCount = policy.nStep.length;
    const moreFirst = nStepFirst + abi.EXRP_BATCH_N_STEP_PARTS * nStepCount;
    const partCount = moreFirst + (1 + nStepCount) * (leaves.length - 1);
    const offsets = new Float64Array(partCount);
    const status = symbols.exrp_batch_layout(core.id, id, asked, offsets, partCount);
    core.check("getBatch()", status);
    const length = rowCount(policy);
    const part = (index: number, dtype: DType, ...shape: readonly number[]): BatchPart => ({
      dtype,
      offset: offsets[index] ?? 0,
      count: shape.reduce((product, each) => product * each, 1),
      shape: Object.freeze(shape),
    });
    const [action, reward, ...extras] = shown.slice(leaves.length).map(({ column }, k) => {
      const rows = column.every > 1 ? [] : [length];
      const index = abi.EXRP_BATCH_COLUMN + leaves.length + k;
      return part(index, column.dtype, size, ...rows, ...column.shape);
    }) as [BatchPart, BatchPart, ...BatchPart[]];
    const policies = leafPolicies(policy, config);
    /** A part for each leaf: of these numbers, with so many rows, and whole stacks or single frames. */
    const states = (
      index: (leaf: number) => number,
      rows: (leaf: LeafPolicy) => number,
      isWhole: (leaf: LeafPolicy) => boolean = () => true,
    ): readonly BatchPart[] =>
      shown.slice(0, leaves.length).map(({ column: { dtype, shape } }, k) => {
        const leaf = policies[k] as LeafPolicy;
        const stack = isWhole(leaf) && leaf.stack > 1 ? [leaf.stack] : [];
        return part(index(k), dtype, size, rows(leaf), ...stack, ...shape);
      });
    /** The number of a part of the other leaves than the first: that of `first` is another one. */
    const ofLeaf = (first: number, which: number) => (leaf: number): number =>
      leaf === 0 ? first : moreFirst + (1 + nStepCount) * (leaf - 1) + which;
    const maskRows = policy.masks ? length : 0;
    const endRows = policy.ends ? length : 0;
    const goRows = policy.returnToGo ? length : 0;
    this.#kernel = core.kernel;
    this.size = size;
    this.asked = asked;
    this.length = length;
    this.bytes = offsets[abi.EXRP_BATCH_BYTES] ?? 0;
    this.policy = policy;
    this.tree = tree;
    const texts = columns.map(({ name, column }) => `${name}: ${column}`);
    const words = describeLayout(policy);
    this.key = `{ ${texts.join(", ")} } x ${length}${words && `, ${words}`}`;
    this.state = states(
      (leaf) => abi.EXRP_BATCH_COLUMN + leaf,
      ({ stack, stackCompact, nextState }) =>
        (stackCompact ? stack - 1 : 0) + (nextState === "overlap" ? length + 1 : length),
      ({ stackCompact }) => !stackCompact,
    );
    this.nextState = states(
      ofLeaf(abi.EXRP_BATCH_NEXT_STATE, 0),
      ({ nextState }) => nextState === "copy" ? length : 0,
    );
    this.parts = {
      action,
      reward,
      seqLen: part(abi.EXRP_BATCH_SEQ_LEN, "int32", size),
      nextSeqLen: part(abi.EXRP_BATCH_NEXT_SEQ_LEN, "int32", size),
      pickEpisode: part(abi.EXRP_BATCH_PICK_EPISODE, "float64", size),
      pickPosition: part(abi.EXRP_BATCH_PICK_POSITION, "int32", size),
      probability: part(abi.EXRP_BATCH_PROBABILITY, "float32", size),
      importanceWeight: part(abi.EXRP_BATCH_IMPORTANCE_WEIGHT, "float32", size),
      discount: part(abi.EXRP_BATCH_DISCOUNT, "float32", size, length),
      learnMask: part(abi.EXRP_BATCH_LEARN_MASK, "float32", size, maskRows),
      contextMask: part(abi.EXRP_BATCH_CONTEXT_MASK, "float32", size, maskRows),
      terminated: part(abi.EXRP_BATCH_TERMINATED, "uint8", size, endRows),
      truncated: part(abi.EXRP_BATCH_TRUNCATED, "uint8", size, endRows),
      returnToGo: part(
        abi.EXRP_BATCH_RETURN_TO_GO,
        "float32",
        size,
        goRows,
        ...reward.shape.slice(2),
      ),
    };
    this.extras = extraNames.map((name, k) => [name, extras[k] as BatchPart]);
    this.nStep = policy.nStep.map((_, k) => {
      const first = nStepFirst + abi.EXRP_BATCH_N_STEP_PARTS * k;
      return {
        reward: part(first + abi.EXRP_BATCH_N_STEP_RETURN, "float32", ...reward.shape),
        nextState: states(
          ofLeaf(first + abi.EXRP_BATCH_N_STEP_STATE, 1 + k),
          ({ hasNStep }) => hasNStep ? length : 0,
        ),
        discount: part(first + abi.EXRP_BATCH_N_STEP_DISCOUNT, "float32", size, length),
      };
    });
    const shapes = (parts: readonly BatchPart[]): unknown =>
      arrange(tree, parts.map(({ shape }) => shape));
    const shape: object = {
      state: shapes(this.state),
      nextState: shapes(this.nextState),
      ...shapesOf(this.parts),
      extras: shapesOf(Object.fromEntries(this.extras)),
    };
    this.shape = Object.freeze(shape) as BatchShape;
    this.nStepShapes = this.nStep.map(({ nextState, ...parts }) =>
      Object.freeze({ ...shapesOf(parts), nextState: shapes(nextState) }) as object as NStepPart[
        "shape"
      ]
    );
  }

  /** All arrays, in an order that is the same for all layouts of a key. */
  get all(): readonly BatchPart[] {
    const extras = this.extras.map(([, part]) => part);
    const nSteps = this.nStep.flatMap(({ nextState, reward, discount }) => [
      ...nextState,
      reward,
      discount,
    ]);
    return [...this.state, ...this.nextState, ...Object.values(this.parts), ...extras, ...nSteps];
  }

  /**
   * Memory for a batch: a spare buffer if there is one. It may hold old values, but the kernel writes every byte of every part. What lies
   * between the parts is zero, unless you wrote there.
   *
   * @throws {ReplayError} `memory`.
   */
  takeMemory(): ArrayBuffer {
    return this.#spare.pop() ??
      (this.bytes < LARGE ? undefined : this.#takeLarge()) ??
      allocate("getBatch()", this.bytes, "a batch of ");
  }

  /** Memory of the kernel, or undefined. It may hold what another replay drew, which must not show between the parts. */
  #takeLarge(): ArrayBuffer | undefined {
    const buffer = takeBuffer(this.#kernel, this.bytes);
    if (buffer === undefined) return undefined;
    const bytes = new Uint8Array(buffer);
    for (const [from, to] of this.#gaps ??= gapsOf(this)) bytes.fill(0, from, to);
    return buffer;
  }

  /** Takes back the memory of a batch, whose views are empty from now on. Does nothing if the memory is gone already. */
  giveMemory(buffer: ArrayBuffer): void {
    // A view that someone still holds must never show the next batch.
    const memory = moveMemory(buffer, this.bytes);
    if (memory !== undefined && this.#spare.length < SPARE_MAX) this.#spare.push(memory);
  }

  /** The bytes of the spare buffers. */
  get spareBytes(): number {
    return this.#spare.length * this.bytes;
  }
}

/** The bytes of a batch that are in no part. */
function gapsOf({ all, bytes }: BatchLayout): readonly (readonly [from: number, to: number])[] {
  const gaps: [number, number][] = [];
  let end = 0;
  const parts = all.filter(({ count }) => count > 0).sort((a, b) => a.offset - b.offset);
  for (const { dtype, offset, count } of parts) {
    if (offset > end) gaps.push([end, offset]);
    end = offset + count * VIEWS[dtype].BYTES_PER_ELEMENT;
  }
  if (bytes > end) gaps.push([end, bytes]);
  return gaps;
}

/** The shapes of arrays by name. They are frozen, because all batches share them. */
function shapesOf<Name extends string>(
  parts: Parts<Name>,
): Readonly<Record<Name, readonly number[]>> {
  const shapes = Object.entries<BatchPart>(parts).map(([name, { shape }]) => [name, shape]);
  return Object.freeze(Object.fromEntries(shapes));
}

/**
 * New memory. `what` stands before the bytes in the error.
 *
 * @throws {ReplayError} `memory`.
 */
export function allocate(operation: string, bytes: number, what = ""): ArrayBuffer {
  try {
    return new ArrayBuffer(bytes);
  } catch (cause) {
    const text = `${operation}: no memory for ${what}${bytesText(bytes)}`;
    throw new ReplayError("memory", text, { cause });
  }
}
