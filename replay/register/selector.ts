/**
 * A replay's reference to one of its selectors.
 *
 * @module
 */

import { showAs } from "../../base/inspect.ts";
import type { Batch } from "../../schema/batch.ts";
import type { AnySchema, Known, known, Schema } from "../../schema/schema.ts";
import type { drawn } from "../../selectors/composed_selector.ts";

/**
 * A selector of one replay. `newPickSelector` makes it; `getBatch` and `setPriority` take it. It is immutable and lives as long as
 * its replay, through `unserialize` too.
 *
 * `S` is the schema of the batches that it draws. `Selector` alone is a selector of any replay.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(4) });
 * const selector = replay.newPickSelector(uniform());
 * console.log(selector.kind); // uniform
 * console.log(replay.selectors[selector.id] === selector); // true
 * ```
 */
export interface Selector<S extends Schema = AnySchema> {
  /** The type of its batches, for TypeScript alone. */
  readonly [known]?: Known<S>;
  /** The selector's number: 0, 1, … in order of creation. */
  readonly id: number;
  /** The rule's name. */
  readonly kind: string;
  /** The number of the pick view that the selector draws from. */
  readonly view: number;
  /** The selectors that a composed selector draws with; none for any other. */
  readonly parts: readonly Selector<S>[];
  /** The type of its batches where it is a part of another selector, for TypeScript alone. */
  [drawn]?(batch: Batch<S>): void;
}

/** The object behind a {@linkcode Selector}, which knows its replay. */
export class OwnedSelector implements Selector {
  /** You see it under this name. */
  static readonly name = "Selector";
  readonly id: number;
  readonly kind: string;
  readonly view: number;
  readonly parts: readonly Selector[];
  readonly #owner: symbol;

  /** Makes a reference; call `newPickSelector` instead. */
  constructor(
    owner: symbol,
    id: number,
    kind: string,
    view: number,
    parts: readonly Selector[],
  ) {
    this.#owner = owner;
    this.id = id;
    this.kind = kind;
    this.view = view;
    this.parts = Object.freeze([...parts]);
    Object.freeze(this);
  }

  /** True when `value` is a selector of the replay that `owner` stands for. */
  static belongs(value: unknown, owner: symbol): value is Selector {
    return OwnedSelector.isReal(value) && value.#owner === owner;
  }

  /** True when `value` was made by `newPickSelector`: its prototype alone makes no selector. */
  static isReal(value: unknown): value is OwnedSelector {
    return typeof value === "object" && value !== null && #owner in value;
  }
}

showAs(OwnedSelector, ({ id, kind, view: view, parts }) => {
  const made = parts.length === 0 ? "" : ` of selectors ${parts.map((part) => part.id).join(", ")}`;
  return `Selector ${id}: ${kind}${made} on pick view ${view}`;
});
