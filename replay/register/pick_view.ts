/**
 * A pick view, as you hold it.
 *
 * @module
 */

import { numberOf, showAs } from "../../base/inspect.ts";
import { displayAs, htmlTable } from "../../base/notebook.ts";
import type { Column } from "../../schema/columns.ts";
import { type AnyPickPolicy, describePolicy, type PickPolicy } from "../../schema/pick_options.ts";
import type { IsAny } from "../../schema/state.ts";
import type { AnySchema, Known, known, Schema, StateOf } from "../../schema/schema.ts";
import type { AnySelectorRule, SelectorRule } from "../../selectors/composed_selector.ts";
import type { Batch } from "../../schema/batch.ts";
import type { Selector } from "./selector.ts";

/**
 * One of a replay's pick views: the picks that one pick policy allows. All views share the records. `newPickView` makes a
 * view; `replay.pickViews[0]` is the one that `create` made. A view lives as long as its replay.
 *
 * `S` is the schema of its batches. `PickView` alone is a pick view of any replay.
 *
 * @example One store, two ways to draw from it
 * ```ts
 * import { ExperienceReplay, float32, prioritized, uniform } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(2) });
 * const steps = replay.newPickSelector(uniform());
 * const sequences = replay.newPickView({ length: 8, stride: 4, allowShort: true });
 * const selector = sequences.newPickSelector(prioritized());
 *
 * let episode = replay.newEpisode();
 * for (let t = 0; t < 9; t++) episode = replay.record(episode, [t, t], 0, 1);
 * replay.record(episode, [9, 9], 0, 1, { finalState: [10, 10] });
 *
 * console.log([replay.pickCount, sequences.pickCount]); // [10, 3]: at 0, 4 and 8
 * console.log(replay.getBatch(5, steps).shape.state); // [5, 1, 2]
 * console.log(replay.getBatch(5, selector).shape.state); // [5, 8, 2]
 * ```
 */
export interface PickView<S extends Schema = AnySchema> {
  /** The type of its batches, for TypeScript alone. */
  readonly [known]?: Known<S>;
  /** The view's number: 0, 1, … in order of creation. */
  readonly id: number;
  /** The pick policy, with every option filled in. */
  readonly policy: PolicyOf<StateOf<S>>;
  /** How many picks may be drawn now. */
  readonly pickCount: number;
  /**
   * Adds a rule that draws picks of this view. `replay.newPickSelector` does the same for view 0.
   *
   * @throws {TypeError} If the value is not a rule.
   * @throws {ReplayError} `limit` if the replay has 64 selectors in the kernel already.
   */
  newPickSelector(rule: SelectorRule<Batch<S>>): Selector<S>;
}

/** The pick policy of a {@linkcode PickView} of this state: options of leaves are numbers and words where it is one column. */
export type PolicyOf<State> = IsAny<State> extends true ? AnyPickPolicy
  : State extends Column ? PickPolicy
  : AnyPickPolicy;

/** What a pick view asks its replay for. */
export interface PickViewOwner {
  /** How many picks view `id` has. */
  pickCount(id: number): number;
  /** Adds a selector to view `id`. */
  newPickSelector(rule: AnySelectorRule, id: number): Selector;
}

/** The object behind a {@linkcode PickView}. */
export class OwnedPickView implements PickView {
  /** You see it under this name. */
  static readonly name = "PickView";
  readonly id: number;
  readonly policy: AnyPickPolicy;
  readonly #owner: PickViewOwner;

  /** Makes a reference; call `newPickView` instead. */
  constructor(owner: PickViewOwner, id: number, policy: AnyPickPolicy) {
    this.#owner = owner;
    this.id = id;
    this.policy = policy;
    Object.freeze(this);
  }

  /** See {@linkcode PickView}. */
  get pickCount(): number {
    return OwnedPickView.#ownerOf(this, "pickCount").pickCount(this.id);
  }

  /** See {@linkcode PickView}. */
  newPickSelector(rule: AnySelectorRule): Selector {
    return OwnedPickView.#ownerOf(this, "newPickSelector()").newPickSelector(rule, this.id);
  }

  /** The owner of a pick view: its prototype alone makes none. */
  static #ownerOf(view: OwnedPickView, operation: string): PickViewOwner {
    if (#owner in view) return view.#owner;
    throw new TypeError(`${operation} is that of a pick view which newPickView() made`);
  }
}

showAs(OwnedPickView, (view) => {
  const { id, policy } = view;
  const more = describePolicy(policy);
  return `PickView ${id}: ${countText(view)} of length ${policy.length}${more && `, ${more}`}`;
});

/** How many picks there are, where that can be asked now. */
function countText(view: PickView): string {
  try {
    return numberOf(view.pickCount, "pick");
  } catch {
    return "picks";
  }
}

displayAs(
  OwnedPickView.prototype,
  (view) =>
    htmlTable(`PickView ${view.id}: ${countText(view)}`, [
      ...Object.entries(view.policy).map(([name, value]) => [
        name,
        Array.isArray(value) ? `[${value.join(", ")}]` : String(value),
      ]),
    ], ["option", "value"]),
);
