/**
 * Minibatches of drained steps: all steps in random order, each once an epoch.
 *
 * The order is one permutation, which every epoch shuffles again. All minibatches of a call use the same memory.
 *
 * @module
 */

import { arraysText, columnsText, numberOf, showAs } from "../../base/inspect.ts";
import { checkOptions } from "../../base/option_names.ts";
import type { AnyColumnArray } from "../../schema/columns.ts";
import type { AnySchema } from "../../schema/schema.ts";
import type { RandomStream } from "../../selectors/random_stream.ts";
import { checkEpochs, type Epochs, MINIBATCHES, rowsInOrder, shuffle } from "../draw/epochs.ts";
import { checkOwn, gatherRows, sameKind, widthOf } from "./_own_rows.ts";
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
  const whole = new Rows(drained, own, most);
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
  readonly name: string;
  readonly source: AnyColumnArray;
  readonly width: number;
  readonly rows: AnyColumnArray;
}

/** The memory of minibatches of one size. */
class Rows {
  readonly #count: number;
  readonly #index: Int32Array<ArrayBuffer>;
  readonly #columns: readonly Gathered[];
  readonly #extras: readonly Gathered[];
  readonly #own: readonly Gathered[];
  readonly #shape: Drained["shape"];

  constructor(drained: Drained, own: OwnArrays, count: number, of?: Rows) {
    this.#count = count;
    this.#shape = drained.shape;
    const gather = (arrays: OwnArrays, part: (rows: Rows) => readonly Gathered[]): Gathered[] =>
      Object.entries(arrays).map(([name, source], k) => {
        const width = widthOf(source, drained.size);
        const rows = of === undefined
          ? sameKind(source, count, width)
          : part(of)[k]?.rows.subarray(0, count * width) as AnyColumnArray;
        return { name, source, width, rows };
      });
    const { state, action, reward } = drained;
    this.#index = of === undefined ? new Int32Array(count) : of.#index.subarray(0, count);
    this.#columns = gather({ state, action, reward }, (rows) => rows.#columns);
    this.#extras = gather(drained.extras, (rows) => rows.#extras);
    this.#own = gather(own, (rows) => rows.#own);
    this.first = (fewer) => new Rows(drained, own, fewer, this);
  }

  /** The first rows of the same memory. */
  readonly first: (count: number) => Rows;

  /** Copies the rows that `order` has from `from` on. */
  fill(order: Int32Array, from: number): void {
    const count = this.#count;
    for (let k = 0; k < count; k++) this.#index[k] = order[from + k] as number;
    for (const part of [this.#columns, this.#extras, this.#own]) {
      for (const { source, width, rows } of part) {
        gatherRows(source, width, order, from, count, rows);
      }
    }
  }

  minibatch(epoch: number): Minibatch {
    const named = (part: readonly Gathered[]): Record<string, AnyColumnArray> =>
      Object.fromEntries(part.map(({ name, rows }) => [name, rows]));
    const { state, action, reward } = named(this.#columns) as Pick<
      Minibatch,
      "state" | "action" | "reward"
    >;
    const [extras, own] = [named(this.#extras), named(this.#own)];
    const size = this.#count;
    return new StepMinibatch(
      { size, epoch, index: this.#index, state, action, reward, extras, own },
      this.#shape,
    );
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

  constructor(parts: Minibatch, shape: Drained["shape"]) {
    this.size = parts.size;
    this.epoch = parts.epoch;
    this.index = parts.index;
    this.state = parts.state;
    this.action = parts.action;
    this.reward = parts.reward;
    this.extras = parts.extras;
    this.own = parts.own;
    this.#shape = shape;
  }

  /** What `console.log` shows. */
  static textOf(steps: StepMinibatch): string {
    const own = Object.keys(steps.own).length === 0 ? "" : ` own ${arraysText(steps.own)}`;
    const of = `Minibatch ${numberOf(steps.size, "step")} of epoch ${steps.epoch}`;
    return `${of} ${columnsText(steps, rowsOf(steps.#shape, steps.size))}${own}`;
  }
}

showAs(StepMinibatch, StepMinibatch.textOf);

/** The shapes of `count` rows of drained steps. */
function rowsOf(shape: Drained["shape"], count: number): Drained["shape"] {
  const rows = <T extends readonly number[]>([, ...rest]: T): T =>
    [count, ...rest] as readonly number[] as T;
  const extras = Object.fromEntries(
    Object.entries(shape.extras).map(([name, of]) => [name, rows(of)]),
  );
  return {
    ...shape,
    state: rows(shape.state),
    action: rows(shape.action),
    reward: rows(shape.reward),
    extras,
  };
}
