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
  namedArrays,
  numberOf,
  showAs,
} from "../../base/inspect.ts";
import { displayAs, htmlTable } from "../../base/notebook.ts";
import { dispose } from "../../base/platform.ts";
import { bufferOf, lengthOf } from "../../base/typed_arrays.ts";
import { type AnyColumnArray, viewOf, VIEWS } from "../../schema/columns.ts";
import type { AnyPickPolicy } from "../../schema/pick_options.ts";
import type { Batch, NStepPart } from "../../schema/batch.ts";
import { type AnyState, arrange, type StateTree } from "../../schema/state.ts";
import type { BatchLayout, BatchPart } from "./batch_layout.ts";

/** The constructor gives the class these fields. */
export interface OwnedBatch extends Batch {}

/** A batch of any schema, with its memory. */
export class OwnedBatch implements Batch {
  /** Users know it as this. */
  static readonly name = "Batch";
  readonly #memory: Uint8Array<ArrayBuffer>;
  #layout: BatchLayout;
  #isLent = false;

  /** Makes room for a batch; `getBatch` does. */
  constructor(layout: BatchLayout) {
    const buffer = layout.takeMemory();
    giveFields(this, layout, buffer);
    this.#memory = this.bytes;
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
   * Refuses a batch that `batches` with `reuse` draws into: what is in it belongs to another draw, and may change while it is read. Any
   * other value passes.
   *
   * @throws {TypeError} When the batch is lent.
   */
  static checkYours(where: string, value: unknown): void {
    if (!OwnedBatch.isOne(value) || !value.#isLent) return;
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
    const targets = to.#layout.all;
    for (const [k, { dtype, offset, count }] of from.#layout.all.entries()) {
      const bytes = VIEWS[dtype].BYTES_PER_ELEMENT * count / from.#layout.size;
      const target = targets[k]?.offset ?? 0;
      for (let at = 0; at < indices.length; at++) {
        const source = offset + (indices[at] ?? 0) * bytes;
        to.#memory.set(
          from.#memory.subarray(source, source + bytes),
          target + (first + at) * bytes,
        );
      }
    }
  }

  /** The picks that are in a batch now are of the view of this layout, which is like the batch's own. */
  static setLayout(batch: OwnedBatch, layout: BatchLayout): void {
    batch.#layout = layout;
  }

  /** Whether a value is a batch of the library. */
  static isOne(value: unknown): value is OwnedBatch {
    return typeof value === "object" && value !== null && #layout in value;
  }

  /** The pick policy of the picks in a batch. */
  static policyOf(batch: OwnedBatch): AnyPickPolicy {
    return batch.#layout.policy;
  }

  /** Why a value can't take the place of a new batch of this layout, or undefined when it can. */
  static misfit(value: unknown, layout: BatchLayout): TypeError | RangeError | undefined {
    if (!OwnedBatch.isOne(value)) {
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
const NO_FLOATS = new Float32Array(0);
const NO_FLAGS = new Uint8Array(0);

function giveFields(
  own: { -readonly [Name in keyof Batch]: Batch[Name] },
  layout: BatchLayout,
  buffer: ArrayBuffer,
): void {
  const { parts, tree } = layout;
  own.size = layout.size;
  own.length = layout.length;
  own.bytes = new Uint8Array(buffer);
  own.state = statesOf(buffer, tree, layout.state);
  own.action = viewOfPart(buffer, parts.action);
  own.reward = viewOfPart(buffer, parts.reward);
  own.nextState = statesOf(buffer, tree, layout.nextState);
  own.extras = extrasOf(layout, buffer);
  own.seqLen = integers(buffer, parts.seqLen);
  own.nextSeqLen = integers(buffer, parts.nextSeqLen);
  own.pickEpisode = new Float64Array(buffer, parts.pickEpisode.offset, layout.size);
  own.pickPosition = integers(buffer, parts.pickPosition);
  own.probability = floats(buffer, parts.probability);
  own.importanceWeight = floats(buffer, parts.importanceWeight);
  own.discount = floats(buffer, parts.discount);
  own.learnMask = floats(buffer, parts.learnMask);
  own.contextMask = floats(buffer, parts.contextMask);
  own.terminated = flags(buffer, parts.terminated);
  own.truncated = flags(buffer, parts.truncated);
  own.returnToGo = floats(buffer, parts.returnToGo);
  own.nStep = nStepOf(layout, buffer);
  own.shape = layout.shape;
}

function extrasOf(
  { extras }: BatchLayout,
  buffer: ArrayBuffer,
): Readonly<Record<string, AnyColumnArray>> {
  if (extras.length === 0) return NO_EXTRAS;
  return Object.freeze(
    Object.fromEntries(extras.map(([name, part]) => [name, viewOfPart(buffer, part)])),
  );
}

function nStepOf(
  { policy, nStep, nStepShapes, tree }: BatchLayout,
  buffer: ArrayBuffer,
): readonly NStepPart[] {
  if (nStep.length === 0) return NO_RETURNS;
  return Object.freeze(nStep.map(({ reward, nextState, discount }, k) =>
    new OwnedNStepPart(
      policy.nStep[k] as number,
      floats(buffer, reward),
      statesOf(buffer, tree, nextState),
      floats(buffer, discount),
      nStepShapes[k] as NStepPart["shape"],
    )
  ));
}

/** The array of each leaf, in the structure of the state. */
function statesOf(buffer: ArrayBuffer, tree: StateTree, parts: readonly BatchPart[]): AnyState {
  if (parts.length === 1 && tree === 0) return viewOfPart(buffer, parts[0] as BatchPart);
  return arrange(tree, parts.map((part) => viewOfPart(buffer, part)));
}

function viewOfPart(buffer: ArrayBuffer, { dtype, offset, count }: BatchPart): AnyColumnArray {
  return viewOf(dtype, buffer, offset, count);
}

function integers(buffer: ArrayBuffer, { offset, count }: BatchPart): Int32Array<ArrayBuffer> {
  return new Int32Array(buffer, offset, count);
}

function floats(buffer: ArrayBuffer, { offset, count }: BatchPart): Float32Array<ArrayBuffer> {
  return count === 0 ? NO_FLOATS : new Float32Array(buffer, offset, count);
}

function flags(buffer: ArrayBuffer, { offset, count }: BatchPart): Uint8Array<ArrayBuffer> {
  return count === 0 ? NO_FLAGS : new Uint8Array(buffer, offset, count);
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
    ...namedArrays("nextState", nextState, shape.nextState).map(([name, array, of]) =>
      `${name}: ${arrayText(array, of)}`
    ),
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
