/**
 * Minibatches of drained steps: all steps in random order, each once an epoch.
 *
 * The order is one permutation, which every epoch shuffles again. All minibatches of a call use the same memory.
 *
 * @module
 */

import { numberOf, showAs } from "../../base/inspect.ts";
import { checkOptions } from "../../base/option_names.ts";
import type { AnyColumnArray } from "../../schema/columns.ts";
import type { AnySchema } from "../../schema/schema.ts";
import type { RandomStream } from "../../selectors/random_stream.ts";
import { checkEpochs, type Epochs, MINIBATCHES, rowsInOrder, shuffle } from "../draw/epochs.ts";
import { checkOwn, gatherRows, sameKind, widthOf } from "./_own_rows.ts";
import { eachColumn, eachOf, type StepColumns, stepsText } from "./_step_columns.ts";
import type { Drained, Minibatch, MinibatchOptions, OwnArrays } from "./drained.ts";

/** The minibatches of drained steps. */
export function minibatchesOf<O extends OwnArrays>(
  drained: Drained,
  random: RandomStream,
  size: number,
  options: MinibatchOptions<O>,
): Generator<Minibatch<AnySchema, O>, void, void> {
  checkOptions(MINIBATCHES, options, ["epochs", "dropLast", "seed", "own"]);
  const own = checkOwn(MINIBATCHES, options.own ?? {}, drained.size);
  const plan = checkEpochs(size, options, Number.MAX_SAFE_INTEGER, random);
  return run(drained, own, plan) as Generator<Minibatch<AnySchema, O>, void, void>;
}

function* run(
  drained: Drained,
  own: OwnArrays,
  { size, epochs, dropLast, random }: Epochs,
): Generator<Minibatch, void, void> {
  const count = drained.size;
  const order = rowsInOrder(count);
  const most = Math.min(size, count);
  const whole = Rows.of(drained, own, most);
  // The last one of each epoch is smaller: a view of the same memory.
  const rest = count % size;
  const last = rest === 0 || rest === most ? whole : whole.first(rest);
  for (let epoch = 0; epoch < epochs; epoch++) {
    shuffle(random, order);
    for (let from = 0; from < count; from += size) {
      const rows = count - from < most ? last : whole;
      if (dropLast && count - from < size) break;
      rows.fill(order, from);
      yield rows.minibatch(epoch);
    }
  }
}

/** A column, and the memory of its rows in a minibatch. */
interface Gathered {
  readonly source: AnyColumnArray;
  readonly width: number;
  readonly rows: AnyColumnArray;
}

/** The memory of minibatches of one size. */
class Rows {
  readonly #index: Int32Array<ArrayBuffer>;
  readonly #columns: StepColumns<Gathered>;
  readonly #own: Readonly<Record<string, Gathered>>;
  readonly #all: readonly Gathered[];
  readonly #shape: Drained["shape"];

  private constructor(
    index: Int32Array<ArrayBuffer>,
    columns: StepColumns<Gathered>,
    own: Readonly<Record<string, Gathered>>,
    shape: Drained["shape"],
  ) {
    this.#index = index;
    this.#columns = columns;
    this.#own = own;
    const { state, action, reward, extras } = columns;
    this.#all = [state, action, reward, ...Object.values(extras), ...Object.values(own)];
    this.#shape = shape;
  }

  /** Memory for `count` rows. */
  static of(drained: Drained, own: OwnArrays, count: number): Rows {
    const gather = (source: AnyColumnArray): Gathered => {
      const width = widthOf(source, drained.size);
      return { source, width, rows: sameKind(source, count, width) };
    };
    const columns = eachColumn<AnyColumnArray, Gathered>(drained, gather);
    return new Rows(new Int32Array(count), columns, eachOf(own, gather), drained.shape);
  }

  /** The first rows of the same memory. */
  first(count: number): Rows {
    const fewer = ({ source, width, rows }: Gathered): Gathered => ({
      source,
      width,
      rows: rows.subarray(0, count * width) as AnyColumnArray,
    });
    const columns = eachColumn(this.#columns, fewer);
    return new Rows(this.#index.subarray(0, count), columns, eachOf(this.#own, fewer), this.#shape);
  }

  /** Copies the rows that `order` has from `from` on. */
  fill(order: Int32Array, from: number): void {
    const count = this.#index.length;
    for (let k = 0; k < count; k++) this.#index[k] = order[from + k] as number;
    for (const { source, width, rows } of this.#all) {
      gatherRows(source, width, order, from, count, rows);
    }
  }

  minibatch(epoch: number): Minibatch {
    const rowsOf = ({ rows }: Gathered): AnyColumnArray => rows;
    const columns = eachColumn(this.#columns, rowsOf);
    const own = eachOf(this.#own, rowsOf);
    return new StepMinibatch(epoch, this.#index, columns, own, this.#shape);
  }
}

/** The object behind a {@linkcode Minibatch}. */
class StepMinibatch implements Minibatch {
  /** The name that `console.log` shows, if all else fails. */
  static readonly name = "Minibatch";
  readonly size: number;
  readonly epoch: number;
  readonly index: Int32Array<ArrayBuffer>;
  readonly state: Minibatch["state"];
  readonly action: Minibatch["action"];
  readonly reward: Minibatch["reward"];
  readonly extras: Minibatch["extras"];
  readonly own: OwnArrays;
  readonly #shape: Drained["shape"];

  constructor(
    epoch: number,
    index: Int32Array<ArrayBuffer>,
    { state, action, reward, extras }: StepColumns<AnyColumnArray>,
    own: OwnArrays,
    shape: Drained["shape"],
  ) {
    this.size = index.length;
    this.epoch = epoch;
    this.index = index;
    this.state = state;
    this.action = action;
    this.reward = reward;
    this.extras = extras;
    this.own = own;
    this.#shape = shape;
  }

  /** What `console.log` shows. */
  static textOf(steps: StepMinibatch): string {
    const { size, epoch, own } = steps;
    const shape = eachColumn<readonly number[], readonly number[]>(
      steps.#shape,
      ([, ...rest]) => [size, ...rest],
    );
    const of = `Minibatch ${numberOf(size, "step")} of epoch ${epoch}`;
    return `${of} ${stepsText(steps, shape, [size], own)}`;
  }
}

showAs(StepMinibatch, StepMinibatch.textOf);
