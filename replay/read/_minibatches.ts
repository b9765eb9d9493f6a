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
import type { StateTree } from "../../schema/state.ts";
import type { RandomStream } from "../../selectors/random_stream.ts";
import { checkEpochs, type Epochs, MINIBATCHES, rowsInOrder, shuffle } from "../draw/epochs.ts";
import { checkOwn, gatherRows, sameKind, widthOf } from "./_own_rows.ts";
import { eachColumn, eachOf, stepsText } from "./_step_columns.ts";
import type { Drained, Minibatch, MinibatchOptions, OwnArrays } from "./drained.ts";

/** The minibatches of drained steps. */
export function minibatchesOf<O extends OwnArrays>(
  drained: Drained,
  tree: StateTree,
  random: RandomStream,
  size: number,
  options: MinibatchOptions<O>,
): Generator<Minibatch<AnySchema, O>, void, void> {
  checkOptions(MINIBATCHES, options, ["epochs", "dropLast", "seed", "own"]);
  const own = checkOwn(MINIBATCHES, options.own ?? {}, drained.size);
  const plan = checkEpochs(size, options, Number.MAX_SAFE_INTEGER, random);
  return run(drained, tree, own, plan) as Generator<Minibatch<AnySchema, O>, void, void>;
}

/** One minibatch after the other. They share the arrays that rows are copied into. */
function* run(
  drained: Drained,
  tree: StateTree,
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
        const part = length === index.length ? whole : whole.subarray(0, length * width);
        return gatherRows(source, width, rows, part);
      };
      index.set(rows);
      const part = length === index.length ? index : index.subarray(0, length);
      const { state, action, reward, extras } = eachColumn<AnyColumnArray, AnyColumnArray>(
        tree,
        drained,
        gather,
      );
      const mine = eachOf(own, gather);
      const { shape } = drained;
      yield new StepMinibatch(epoch, part, state, action, reward, extras, mine, shape, tree);
    }
  }
}

/** The object behind a {@linkcode Minibatch}. */
class StepMinibatch implements Minibatch {
  /** The name that `console.log` shows, if all else fails. */
  static readonly name = "Minibatch";
  readonly size: number;
  readonly #shape: Drained["shape"];
  readonly #tree: StateTree;

  /** Takes its fields, and the shapes of the drained columns. */
  constructor(
    readonly epoch: number,
    readonly index: Minibatch["index"],
    readonly state: Minibatch["state"],
    readonly action: Minibatch["action"],
    readonly reward: Minibatch["reward"],
    readonly extras: Minibatch["extras"],
    readonly own: OwnArrays,
    shape: Drained["shape"],
    tree: StateTree,
  ) {
    this.size = index.length;
    this.#shape = shape;
    this.#tree = tree;
  }

  /** What `console.log` shows. */
  static textOf(steps: StepMinibatch): string {
    const { size, epoch, own } = steps;
    const shape = eachColumn<readonly number[], readonly number[]>(
      steps.#tree,
      steps.#shape,
      ([, ...rest]) => [size, ...rest],
    );
    const of = `Minibatch ${numberOf(size, "step")} of epoch ${epoch}`;
    return `${of} ${stepsText(steps, shape, [size], own)}`;
  }
}

showAs(StepMinibatch, StepMinibatch.textOf);
