/**
 * Composed rules of the library that another thread can make again from their name and options.
 *
 * @module
 */

import { combined } from "./combined.ts";
import type { ComposedSelector } from "./composed_selector.ts";
import { mixture } from "./mixture.ts";
import type { SelectorOption } from "./native_selector.ts";
import { uniform } from "./uniform.ts";

/** The rules by name. Their parts are those of the selector, so any part serves here. */
const REMADE: Readonly<
  Record<string, (options: Readonly<Record<string, SelectorOption>>) => ComposedSelector>
> = {
  combined: ({ newest }) => combined({ newest: Number(newest), rest: uniform() }),
  mixture: ({ shares }) =>
    mixture(
      String(shares).split(" : ").map((share) => ({ rule: uniform(), share: Number(share) })),
    ),
};

/**
 * A rule with the same name, options and behaviour as a composed rule of the library. The parts of the result are of no use.
 *
 * @throws {TypeError} For a name that is none of them.
 */
export function remade(
  name: string,
  options: Readonly<Record<string, SelectorOption>>,
): ComposedSelector {
  const make = Object.hasOwn(REMADE, name) ? REMADE[name] : undefined;
  if (make === undefined) throw new TypeError(`no composed rule of the library is named ${name}`);
  return make(options);
}
