/**
 * Makes `console.log` show the library's objects as one line instead of all their fields.
 *
 * @module
 */

import { kindOf } from "./typed_arrays.ts";

/** The method that Deno calls on an object, and the method that Node and Bun call. */
const KEYS = [Symbol.for("Deno.customInspect"), Symbol.for("nodejs.util.inspect.custom")];

/** Makes `console.log` show objects of a class as `text`. It never throws: where `text` throws, it shows the name of the class. */
export function showAs<T extends object>(
  kind: { readonly name: string; readonly prototype: T },
  text: (value: T) => string,
): void {
  function inspect(this: T): string {
    try {
      return text(this);
    } catch {
      return kind.name;
    }
  }
  for (const key of KEYS) {
    Object.defineProperty(kind.prototype, key, { value: inspect, configurable: true });
  }
}

/** A count with its noun, such as `1 step` or `2 steps`. */
export function numberOf(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** An array and its shape, such as `float32[32,8,4]`. */
function arrayText(array: unknown, shape: readonly number[]): string {
  const kind = kindOf(array) ?? "array";
  return `${kind.replace(/Array$/, "").toLowerCase()}[${shape.join(",")}]`;
}

/** Columns by name, with their shapes, such as `{ state: float32[32,4], action: int32[32] }`. */
export function columnsText(
  { state, action, reward, extras }: Readonly<Record<"state" | "action" | "reward", unknown>> & {
    readonly extras: object;
  },
  shape: Readonly<Record<"state" | "action" | "reward", readonly number[]>> & {
    readonly extras: object;
  },
): string {
  const shapes = shape.extras as Readonly<Record<string, readonly number[]>>;
  const parts = [
    `state: ${arrayText(state, shape.state)}`,
    `action: ${arrayText(action, shape.action)}`,
    `reward: ${arrayText(reward, shape.reward)}`,
    ...Object.entries(extras).map(([name, array]) =>
      `${name}: ${arrayText(array, shapes[name] ?? [])}`
    ),
  ];
  return `{ ${parts.join(", ")} }`;
}
