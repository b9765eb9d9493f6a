/**
 * Makes `console.log` show the library's objects as one line instead of all their fields, and `String()` give the same line.
 *
 * @module
 */

import { kindOf, lengthOf } from "./typed_arrays.ts";

/** The method that Deno calls on an object, and the method that Node and Bun call. */
const KEYS = [Symbol.for("Deno.customInspect"), Symbol.for("nodejs.util.inspect.custom")];

/** The same, and the method that `String()` calls. */
const ONE_KEYS = [...KEYS, "toString"];

/**
 * Makes `console.log` show objects of a class as `text`, and `String()` give it, unless the class has its own. It never throws: where
 * `text` throws, it is the name of the class.
 */
export function showAs<T extends object>(
  { name, prototype }: { readonly name: string; readonly prototype: T },
  text: (value: T) => string,
): void {
  define(prototype, Object.hasOwn(prototype, "toString") ? KEYS : ONE_KEYS, name, text);
}

/**
 * Makes `console.log` show one plain object as `text`, and `String()` give it. Loops, JSON and comparisons don't see that. It never
 * throws.
 */
export function showOneAs<T extends object>(value: T, text: (value: T) => string): T {
  define(value, ONE_KEYS, "Object", text);
  return value;
}

function define<T extends object>(
  target: T,
  keys: readonly (string | symbol)[],
  name: string,
  text: (value: T) => string,
): void {
  function inspect(this: T): string {
    try {
      return text(this);
    } catch {
      return name;
    }
  }
  for (const key of keys) {
    Object.defineProperty(target, key, { value: inspect, configurable: true });
  }
}

/** A rule as the call that makes it, such as `prioritized({ alpha: 0.6 })`. */
export function ruleText(
  name: string,
  options: Readonly<Record<string, number | string>> | undefined,
  parts: readonly { readonly name?: string; readonly kind?: string }[] = [],
): string {
  const given = Object.entries(options ?? {}).map(([key, value]) =>
    `${key}: ${typeof value === "string" ? JSON.stringify(value) : value}`
  );
  const made = parts.map(({ kind, name }) => kind ?? name ?? "?").join(", ");
  return `${name}(${given.length === 0 ? "" : `{ ${given.join(", ")} }`})${
    made === "" ? "" : ` of ${made}`
  }`;
}

/** The arrays of an object by name, with their lengths, such as `{ advantage: float32[128], valueTarget: float32[128] }`. */
export function arraysText(arrays: object): string {
  const parts = Object.entries(arrays).map(([name, array]) =>
    `${name}: ${arrayText(array, [lengthOf(array as ArrayBufferView)])}`
  );
  return `{ ${parts.join(", ")} }`;
}

/** A count with its noun, such as `1 step` or `2 steps`; `shown` writes the number. */
export function numberOf(
  count: number,
  thing: string,
  shown: (count: number) => string = String,
): string {
  return `${shown(count)} ${thing}${count === 1 ? "" : "s"}`;
}

/** A whole number in groups of three digits. */
export function group(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, "_");
}

/** A count with its noun, such as `1 pick` or `1_000 picks`. */
export function count(value: number, noun: string): string {
  return numberOf(value, noun, group);
}

const UNITS = ["KiB", "MiB", "GiB", "TiB"] as const;

/** A number of bytes for people, such as `1.50 MiB` or `28 GiB`. */
export function bytesText(bytes: number): string {
  if (bytes < 2 ** 10) return `${bytes} bytes`;
  let [value, power] = [bytes / 2 ** 10, 0];
  for (; value >= 2 ** 10 && power < UNITS.length - 1; power++) value /= 2 ** 10;
  return `${value.toFixed(value < 10 ? 2 : 0)} ${UNITS[power]}`;
}

/** An array and its shape, such as `float32[32,8,4]`. */
export function arrayText(array: unknown, shape: readonly number[]): string {
  const kind = kindOf(array) ?? "array";
  return `${kind.replace(/Array$/, "").toLowerCase()}[${shape.join(",")}]`;
}

/** Values of the columns by name: arrays, or shapes. Those of a state of several leaves have its structure. */
type Columns<T> = Readonly<Record<"action" | "reward", T>> & {
  readonly state: unknown;
  readonly extras: object;
};

/** The arrays of a state of one leaf or several, each with its name and its shape, such as `state.image`. */
export function namedArrays(
  name: string,
  arrays: unknown,
  shapes: unknown,
): readonly (readonly [name: string, array: unknown, shape: readonly number[]])[] {
  if (typeof arrays !== "object" || arrays === null || ArrayBuffer.isView(arrays)) {
    return [[name, arrays, shapes as readonly number[]]];
  }
  const isList = Array.isArray(arrays);
  return Object.entries(arrays).flatMap(([part, array]) =>
    namedArrays(
      isList ? `${name}[${part}]` : `${name}.${part}`,
      array,
      (shapes as Readonly<Record<string, unknown>>)[part],
    )
  );
}

/** Each column with its name, its array as `float32[32,4]`, and the array. */
function columnsOf(
  columns: Columns<unknown>,
  shape: Columns<readonly number[]>,
): [name: string, text: string, array: unknown][] {
  const shapes = shape.extras as Readonly<Record<string, readonly number[]>>;
  const plain = ["action", "reward"] as const;
  return [
    ...namedArrays("state", columns.state, shape.state),
    ...plain.map((name) => [name, columns[name], shape[name]] as const),
    ...Object.entries(columns.extras).map(([name, array]) =>
      [name, array, shapes[name] ?? []] as const
    ),
  ].map(([name, array, of]) => [name, arrayText(array, of), array]);
}

/** Rows for a table of columns: name, dtype and shape, and the first numbers. */
export function columnRows(
  columns: Columns<unknown>,
  shape: Columns<readonly number[]>,
): string[][] {
  return columnsOf(columns, shape).map(([name, text, array]) => [name, text, firstNumbers(array)]);
}

/** Columns by name, with their shapes, such as `{ state: float32[32,4], action: int32[32] }`. */
export function columnsText(columns: Columns<unknown>, shape: Columns<readonly number[]>): string {
  const parts = columnsOf(columns, shape).map(([name, text]) => `${name}: ${text}`);
  return `{ ${parts.join(", ")} }`;
}

/** How many numbers a table shows of a column. */
const SHOWN = 6;

/** The first numbers of a typed array. */
export function firstNumbers(array: unknown): string {
  const numbers = array as ArrayLike<number>;
  const first = Array.from(
    { length: Math.min(SHOWN, numbers.length) },
    (_, k) => String(Number((numbers[k] ?? NaN).toPrecision(4))),
  );
  return first.join(", ") + (numbers.length > SHOWN ? ", …" : "");
}
