/**
 * The object behind a {@linkcode Batch}: its memory, and what only the library may do with it.
 *
 * @module
 */

import { showUnlike } from "../../base/checks.ts";
import {
  arrayText,
  columnRows,
  columnsText,
  firstNumbers,
  numberOf,
  showAs,
} from "../../base/inspect.ts";
import { displayAs, htmlTable } from "../../base/notebook.ts";
import { dispose } from "../../base/platform.ts";
import { bufferOf, bytesOf, lengthOf } from "../../base/typed_arrays.ts";
import * as abi from "../../ffi/symbols.ts";
import type { AnyColumnArray } from "../../schema/columns.ts";
import type { PickPolicy } from "../../schema/pick_options.ts";
import type { Batch, NStepPart } from "../../schema/batch.ts";
import type { BatchLayout } from "./batch_layout.ts";
import type { BatchShape } from "../../schema/batch_shape.ts";

/** A batch of any schema, with its memory. */
export class OwnedBatch implements Batch {
  /** Users know it as this. */
  static readonly name = "Batch";
  readonly size: number;
  readonly length: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly state: AnyColumnArray;
  readonly action: AnyColumnArray;
  readonly reward: AnyColumnArray;
  readonly nextState: AnyColumnArray;
  readonly extras: Readonly<Record<string, AnyColumnArray>>;
  readonly seqLen: Int32Array<ArrayBuffer>;
  readonly nextSeqLen: Int32Array<ArrayBuffer>;
  readonly pickEpisode: Float64Array<ArrayBuffer>;
  readonly pickPosition: Int32Array<ArrayBuffer>;
  readonly probability: Float32Array<ArrayBuffer>;
  readonly importanceWeight: Float32Array<ArrayBuffer>;
  readonly discount: Float32Array<ArrayBuffer>;
  readonly learnMask: Float32Array<ArrayBuffer>;
  readonly contextMask: Float32Array<ArrayBuffer>;
  readonly nStep: readonly NStepPart[];
  readonly shape: BatchShape;
  readonly #memory: Uint8Array<ArrayBuffer>;
  #layout: BatchLayout;
  #isLent = false;

  /** Makes room for a batch; `getBatch` does. */
  constructor(layout: BatchLayout) {
    const { size, length } = layout;
    const buffer = layout.takeMemory();
    this.size = size;
    this.length = length;
    this.bytes = new Uint8Array(buffer);
    this.#memory = this.bytes;
    this.state = layout.view(0, buffer);
    this.action = layout.view(1, buffer);
    this.reward = layout.view(2, buffer);
    const { policy } = layout;
    const nextCount = policy.nextState === "copy" ? layout.stackCount : 0;
    this.nextState = layout.view(
      0,
      buffer,
      nextCount,
      abi.EXRP_BATCH_NEXT_STATE,
    );
    this.extras = extrasOf(layout, buffer);
    this.seqLen = new Int32Array(buffer, layout.offset(abi.EXRP_BATCH_SEQ_LEN), size);
    this.nextSeqLen = new Int32Array(buffer, layout.offset(abi.EXRP_BATCH_NEXT_SEQ_LEN), size);
    this.pickEpisode = new Float64Array(buffer, layout.offset(abi.EXRP_BATCH_PICK_EPISODE), size);
    this.pickPosition = new Int32Array(buffer, layout.offset(abi.EXRP_BATCH_PICK_POSITION), size);
    this.probability = layout.floats(buffer, abi.EXRP_BATCH_PROBABILITY, size);
    this.importanceWeight = layout.floats(buffer, abi.EXRP_BATCH_IMPORTANCE_WEIGHT, size);
    this.discount = layout.floats(buffer, abi.EXRP_BATCH_DISCOUNT, size * length);
    const maskRows = policy.masks ? length : 0;
    this.learnMask = layout.floats(buffer, abi.EXRP_BATCH_LEARN_MASK, size * maskRows);
    this.contextMask = layout.floats(buffer, abi.EXRP_BATCH_CONTEXT_MASK, size * maskRows);
    this.nStep = policy.nStep.length === 0
      ? NO_RETURNS
      : Object.freeze(policy.nStep.map((n, k) => nStepPart(layout, buffer, n, k)));
    this.shape = layout.shape;
    this.#layout = layout;
  }

  /** See {@linkcode Batch}. */
  [dispose](): void {
    if (!(#memory in this)) {
      throw new TypeError("only a batch that getBatch() returned can be handed back");
    }
    if (!this.#isLent) this.#layout.giveMemory(bufferOf(this.#memory));
  }

  /** While a batch is lent its memory can't be handed back: the kernel may be writing to it on another thread. */
  static lend(batch: OwnedBatch, isLent: boolean): void {
    batch.#isLent = isLent;
  }

  /**
   * Refuses a batch that `batches` with `reuse` draws into: what is in it belongs to another draw, and may change while it is read.
   *
   * @throws {TypeError} When the batch is lent.
   */
  static checkYours(where: string, batch: OwnedBatch): void {
    if (!batch.#isLent) return;
    throw new TypeError(
      `${where} is a batch that batches() draws into again; with reuse a batch is yours only until you ask for the next one`,
    );
  }

  /** Whether a batch has its memory still: it may have been handed back, or its buffer transferred. */
  static hasMemory(batch: OwnedBatch): boolean {
    return lengthOf(batch.#memory) > 0;
  }

  /** The memory of a batch, whatever became of its properties. */
  static memoryOf(batch: OwnedBatch): Uint8Array<ArrayBuffer> {
    return batch.#memory;
  }

  /** Copies picks of one batch to the places of another from `first` on; both are of one pick view. */
  static copyPicks(
    from: OwnedBatch,
    indices: ArrayLike<number>,
    to: OwnedBatch,
    first: number,
  ): void {
    const [sources, targets] = [from.#parts(), to.#parts()];
    for (const [k, source] of sources.entries()) {
      const target = targets[k];
      if (target === undefined) continue;
      const bytes = source.length / from.size;
      for (let at = 0; at < indices.length; at++) {
        const index = indices[at] ?? 0;
        target.set(source.subarray(index * bytes, (index + 1) * bytes), (first + at) * bytes);
      }
    }
  }

  /** The bytes of every part; pick k's are the k-th of as many equal pieces. */
  #parts(): Uint8Array<ArrayBuffer>[] {
    const values: unknown[] = [
      ...Object.values(this),
      ...Object.values(this.extras),
      ...this.nStep.flatMap((part) => Object.values(part)),
    ];
    const views = values.filter((value) => ArrayBuffer.isView(value) && value !== this.bytes);
    return (views as ArrayBufferView<ArrayBuffer>[]).map(bytesOf);
  }

  /** The picks that are in a batch now are of the view of this layout, which is like the batch's own. */
  static setLayout(batch: OwnedBatch, layout: BatchLayout): void {
    batch.#layout = layout;
  }

  /** Whether a value is a batch of the library. */
  static isOne(value: unknown): value is OwnedBatch {
    return typeof value === "object" && value !== null && #layout in value;
  }

  /** The pick policy of the picks in a batch; undefined for what is no batch. */
  static policyOf(value: object): PickPolicy | undefined {
    return #layout in value ? value.#layout.policy : undefined;
  }

  /** Why a value can't take the place of a new batch of this layout, or undefined when it can. */
  static misfit(value: unknown, layout: BatchLayout): TypeError | RangeError | undefined {
    if (typeof value !== "object" || value === null || !(#layout in value)) {
      return new TypeError(
        `getBatch(): into must be a batch that getBatch() returned, got ${
          showUnlike(value, OwnedBatch)
        }`,
      );
    }
    if (value.#layout.key !== layout.key) {
      return new TypeError(
        `getBatch(): into is a batch of another schema (${value.#layout.key}), needed is ${layout.key}; ${FIRST_WITHOUT}`,
      );
    }
    if (value.#layout.size !== layout.size) {
      return new RangeError(
        `getBatch(): into is a batch of ${value.#layout.size} picks, needed are ${layout.size}; ${FIRST_WITHOUT}`,
      );
    }
    if (lengthOf(value.#memory) !== layout.bytes) {
      return new TypeError(
        "getBatch(): into has lost its memory: it was handed back, or its buffer was transferred",
      );
    }
    return undefined;
  }
}

const FIRST_WITHOUT =
  "leave into out once, and give the batch that you get then to the next calls of this kind and size";

// What most batches have none of need not be made for each.
const NO_EXTRAS = Object.freeze({});
const NO_RETURNS: readonly never[] = Object.freeze([]);

function extrasOf(
  layout: BatchLayout,
  buffer: ArrayBuffer,
): Readonly<Record<string, AnyColumnArray>> {
  const { extraNames } = layout;
  if (extraNames.length === 0) return NO_EXTRAS;
  const extras = extraNames.map((name, k) => [name, layout.view(3 + k, buffer)]);
  return Object.freeze(Object.fromEntries(extras));
}

function nStepPart(
  layout: BatchLayout,
  buffer: ArrayBuffer,
  n: number,
  k: number,
): NStepPart {
  const { size, length, columns } = layout;
  const part = abi.EXRP_BATCH_COLUMN + columns.length + abi.EXRP_BATCH_N_STEP_PARTS * k;
  const state = layout.view(
    0,
    buffer,
    layout.stackCount,
    part + abi.EXRP_BATCH_N_STEP_STATE,
  );
  const reward = layout.floats(buffer, part + abi.EXRP_BATCH_N_STEP_RETURN, layout.count(2));
  const discount = layout.floats(buffer, part + abi.EXRP_BATCH_N_STEP_DISCOUNT, size * length);
  return new OwnedNStepPart(n, reward, state, discount, layout.nStepShape);
}

/** The object behind a {@linkcode NStepPart}. */
class OwnedNStepPart implements NStepPart {
  /** You see it under this name. */
  static readonly name = "NStepPart";

  constructor(
    readonly n: number,
    readonly reward: NStepPart["reward"],
    readonly nextState: NStepPart["nextState"],
    readonly discount: NStepPart["discount"],
    readonly shape: NStepPart["shape"],
  ) {
    Object.freeze(this);
  }
}

showAs(OwnedNStepPart, ({ n, reward, nextState, discount, shape }) => {
  const parts = [
    `reward: ${arrayText(reward, shape.reward)}`,
    `nextState: ${arrayText(nextState, shape.nextState)}`,
    `discount: ${arrayText(discount, shape.discount)}`,
  ];
  return `NStepPart n = ${n} { ${parts.join(", ")} }`;
});

showAs(OwnedBatch, (batch) => {
  const gone = OwnedBatch.hasMemory(batch) ? "" : " (handed back)";
  return `Batch ${batch.size}×${batch.length}${gone} ${columnsText(batch, batch.shape)}`;
});

/** What a notebook shows of picks, beside their columns. */
const PICK_PARTS = [
  ...(["seqLen", "discount", "pickEpisode", "pickPosition"] as const),
  ...(["probability", "importanceWeight"] as const),
];

displayAs(OwnedBatch.prototype, (batch) => {
  const { size, length, shape } = batch;
  const gone = OwnedBatch.hasMemory(batch) ? "" : " (handed back)";
  return htmlTable(`Batch of ${numberOf(size, "pick")} × ${numberOf(length, "row")}${gone}`, [
    ...columnRows(batch, shape),
    ...PICK_PARTS.map((name) => [
      name,
      arrayText(batch[name], shape[name]),
      firstNumbers(batch[name]),
    ]),
  ], ["part", "type and shape", "first values"]);
});
