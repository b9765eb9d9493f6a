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
import { eachColumn, eachOf, stepsText } from "./_step_columns.ts";
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

/** One minibatch after the other. They share the arrays that rows are copied into. */
function* run(
  drained: Drained,
  own: OwnArrays,
  { size, epochs, dropLast, random }: Epochs,
): Generator<Minibatch, void, void> {
  const count = drained.size;
  const order = rowsInOrder(count);
  const index = new Int32Array(Math.min(size, count));
  const targets = new Map<AnyColumnArray, AnyColumnArray>();
  for (let epoch = 0; epoch < epochs; epoch++) {
    shuffle(random, order);
    for (let from = 0; from < count; from += size) {
      const rows = order.subarray(from, from + size);
      const { length } = rows;
      if (dropLast && length < size) break;
      const gather = (source: AnyColumnArray): AnyColumnArray => {
        const width = widthOf(source, count);
        const whole = targets.get(source) ?? sameKind(source, index.length * width);
        targets.set(source, whole);
        return gatherRows(source, width, rows, whole.subarray(0, length * width));
      };
      index.set(rows);
      yield new StepMinibatch({
        ...{ size: length, epoch, index: index.subarray(0, length) },
        ...eachColumn<AnyColumnArray, AnyColumnArray>(drained, gather),
        own: eachOf(own, gather),
      }, drained.shape);
    }
  }
}

/** The constructor gives the class these fields. */
interface StepMinibatch extends Minibatch {}

/** The object behind a {@linkcode Minibatch}. */
class StepMinibatch implements Minibatch {
  /** The name that `console.log` shows, if all else fails. */
  static readonly name = "Minibatch";
  readonly #shape: Drained["shape"];

  /** Makes it of its fields, and of the shapes of the drained columns. */
  constructor(fields: Minibatch, shape: Drained["shape"]) {
    Object.assign(this, fields);
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
