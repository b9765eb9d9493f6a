/**
 * Batches of a replay as transitions, for readers of one replay and of many.
 *
 * @module
 */

import { dispose } from "../base/platform.ts";
import type { Batch } from "../mod.ts";
import type { Column } from "../schema/columns.ts";
import { type AnyPickPolicy, leafPolicies } from "../schema/pick_options.ts";
import { transformsText } from "../schema/pick_transforms.ts";
import { mapLeaves, type StateLeaves, type StateTree } from "../schema/state.ts";
import type { Schema } from "../schema/schema.ts";
import type { TransitionBatch } from "./types.ts";

/** What makes transitions of batches of one pick view. */
export class Transitions<S extends Schema> {
  readonly #tree: StateTree;
  #shape: TransitionBatch["shape"] | undefined;

  /**
   * Throws unless a batch of the policy has transitions.
   *
   * @throws {TypeError}
   */
  constructor(
    where: string,
    policy: AnyPickPolicy | undefined,
    state: StateLeaves,
    rewardColumn: Column,
  ) {
    this.#tree = state.tree;
    if (policy === undefined) return;
    const { length, burnIn, before, nStep, nextState, allowOpenEnd, transform } = policy;
    const leaves = leafPolicies(policy, state);
    const rows = length + burnIn + before;
    const refuse = (needed: string, got: string): never => {
      throw new TypeError(
        `${where}: the selector's pick view must have ${needed}, got ${got}; make another one by newPickView()`,
      );
    };
    // The types of a reader are those of the stored columns.
    if (transform !== undefined) refuse("no transforms", transformsText(transform));
    if (rows !== 1) refuse("picks of one step", `${rows} rows`);
    if (allowOpenEnd) refuse("next states of all picks", "allowOpenEnd");
    if (nStep.length > 1) refuse("one n-step return at most", `${nStep.length}`);
    if (leaves.some(({ hasNStep }) => !hasNStep)) {
      refuse("next states of all leaves", `nextState ${JSON.stringify(nextState)}`);
    }
    if (nStep.length === 1) return;
    if (leaves.some((leaf) => leaf.nextState !== "copy")) {
      refuse('nextState "copy"', JSON.stringify(nextState));
    }
    if (leaves.some(({ stackCompact }) => stackCompact)) refuse("whole stacks", "stackCompact");
    if (rewardColumn.dtype !== "float32") refuse("an n-step return", String(rewardColumn));
  }

  /** The transitions of a batch, with keys by which its reader knows them. */
  of(batch: Batch, keys: unknown): TransitionBatch<S> {
    // Batches are mostly of one size.
    if (this.#shape?.action[0] !== batch.size) this.#shape = shapeOf(batch, this.#tree);
    const { size, state, action, extras, probability, importanceWeight } = batch;
    const { reward, nextState, discount } = batch.nStep[0] ?? batch;
    return {
      ...{ size, state, action, reward, nextState, discount, extras },
      ...{ probability, importanceWeight, shape: this.#shape, keys },
      [dispose]: () => batch[dispose](),
    } as unknown as TransitionBatch<S>;
  }
}

/** The shapes without the dimension of rows, which is 1. */
function shapeOf({ shape, nStep }: Batch, tree: StateTree): TransitionBatch["shape"] {
  const ahead = nStep[0]?.shape ?? shape;
  const of = ([size, _rows, ...rest]: readonly number[]): readonly number[] =>
    Object.freeze([size ?? 0, ...rest]);
  return Object.freeze({
    state: mapLeaves(tree, shape.state, of),
    action: of(shape.action),
    reward: of(ahead.reward),
    nextState: mapLeaves(tree, ahead.nextState, of),
  });
}
