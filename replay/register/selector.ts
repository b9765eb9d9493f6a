/**
 * A replay's reference to one of its selectors.
 *
 * @module
 */

import { showAs } from "../../base/inspect.ts";

/**
 * A selector of one replay. `newPickSelector` makes it; `getBatch` and `setPriority` take it. It is immutable and lives as long as
 * its replay, through `unserialize` too.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
 * import { assertStrictEquals } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(4) });
 * const selector = replay.newPickSelector(uniform());
 * assertStrictEquals(selector.kind, "uniform");
 * assertStrictEquals(replay.selectors[selector.id], selector);
 * ```
 */
export class Selector<B = unknown> {
  /** The type of its batches, where it is known; nothing at run time. */
  declare readonly batch: B | undefined;
  /** The selector's number: 0, 1, … in order of creation. */
  readonly id: number;
  /** The rule's name. */
  readonly kind: string;
  /** The number of the pick table that the selector draws from. */
  readonly table: number;
  /** The selectors that a composed selector draws with; none for any other. */
  readonly parts: readonly Selector<B>[];
  readonly #owner: symbol;

  /** Makes a reference; call `newPickSelector` instead. */
  constructor(
    owner: symbol,
    id: number,
    kind: string,
    table: number,
    parts: readonly Selector<B>[],
  ) {
    this.#owner = owner;
    this.id = id;
    this.kind = kind;
    this.table = table;
    this.parts = Object.freeze([...parts]);
    Object.freeze(this);
  }

  /** True when `value` is a selector of the replay that `owner` stands for. */
  static belongs(value: unknown, owner: symbol): value is Selector {
    return Selector.isReal(value) && value.#owner === owner;
  }

  /** True when `value` was made by `newPickSelector`: its prototype alone makes no selector. */
  static isReal(value: unknown): value is Selector {
    return typeof value === "object" && value !== null && #owner in value;
  }
}

showAs(Selector, ({ id, kind, table, parts }: Selector) => {
  const made = parts.length === 0 ? "" : ` of selectors ${parts.map((part) => part.id).join(", ")}`;
  return `Selector ${id}: ${kind}${made} on pick table ${table}`;
});
