/**
 * Checks of arguments for all folders. Each error says what was tried, what came and what was needed.
 *
 * @module
 */

import { checkHonest, countOf, isHonest, isNumeric, kindOf } from "./typed_arrays.ts";

/** Writes any value short enough for an error message. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return `function ${value.name}`;
  const kind = kindOf(value);
  if (kind !== undefined) return `${kind}(${countOf(value as ArrayLike<unknown>)})`;
  if (typeof value === "object" && value !== null) return showObject(value);
  return String(value);
}

/** Writes a value that is not a real object of a class, even where it has the class's prototype. */
export function showUnlike(value: unknown, kind: { readonly name: string }): string {
  const text = show(value);
  return text === kind.name ? `an object that only has the prototype of ${text}` : text;
}

/** The name of an object's class, with its length if it is an array. */
function showObject(value: object): string {
  if (ArrayBuffer.isView(value)) return "DataView";
  try {
    const name = value.constructor?.name ?? "object";
    const { length } = value as { readonly length?: unknown };
    return Array.isArray(value) ? `${name}(${length})` : name;
  } catch {
    // An object that only looks like a typed array throws when its length is read.
    return "an object that only looks like an array";
  }
}

/** A finite number within `min`..`max`, both included. */
export function checkNumber(
  where: string,
  value: unknown,
  min = -Infinity,
  max = Infinity,
): number {
  if (typeof value !== "number") {
    throw new TypeError(`${where} must be a number, got ${show(value)}`);
  }
  if (!Number.isFinite(value) || value < min || value > max) {
    throw new RangeError(
      `${where} must be a finite number${rangeText(min, max, value)}, got ${value}`,
    );
  }
  return value;
}

/** An integer within `min`..`max`, both included. */
export function checkInteger(where: string, value: unknown, min: number, max: number): number {
  if (typeof value !== "number") {
    throw new TypeError(`${where} must be an integer, got ${show(value)}`);
  }
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new RangeError(`${where} must be an integer${rangeText(min, max, value)}, got ${value}`);
  }
  return value;
}

/** True or false, nothing else. */
export function checkBoolean(where: string, value: unknown): boolean {
  if (typeof value !== "boolean") {
    throw new TypeError(`${where} must be true or false, got ${show(value)}`);
  }
  return value;
}

/** A word out of a list. */
export function checkWord<W extends string>(
  where: string,
  value: unknown,
  words: readonly W[],
): W {
  for (const word of words) if (value === word) return word;
  throw new TypeError(
    `${where} must be ${words.map((word) => JSON.stringify(word)).join(" or ")}, got ${
      show(value)
    }`,
  );
}

/** True for a plain array, and for a typed array of numbers with memory, whose class and `length` are those of its memory. */
export function isNumbers(value: unknown): value is ArrayLike<unknown> {
  if (Array.isArray(value)) return true;
  return isNumeric(value) && isHonest(value);
}

/** An array for which {@linkcode isNumbers} is true. `name` is its name in errors, and `needed` what they say behind it. */
export function checkNumbers(
  operation: string,
  name: string,
  value: unknown,
  needed = "must be a plain or typed array of numbers",
): ArrayLike<unknown> {
  if (isNumbers(value)) return value;
  checkHonest(`${operation}: ${name}`, value);
  throw new TypeError(`${operation}: ${name} ${needed}, got ${show(value)}`);
}

/** A limit as large as this is named only if the number is above it: nobody needs it otherwise. */
const HUGE = 2 ** 40;

function rangeText(min: number, limit: number, value: number): string {
  const max = limit >= HUGE && !(value > limit) ? Infinity : limit;
  if (min === -Infinity && max === Infinity) return "";
  if (min === Number.MIN_VALUE) return ` above 0${max === Infinity ? "" : `, and at most ${max}`}`;
  if (max === Infinity) return ` of at least ${min}`;
  if (min === -Infinity) return ` of at most ${max}`;
  return ` from ${min} to ${max}`;
}
