/**
 * A thin stand-in for `@std/assert` over `node:assert`, for machines that cannot reach JSR.
 *
 * The tests import `@std/assert`; `deno.json` maps that name to this file and `deno.jsr.json` to the real package.
 * Names and signatures are those of the real one. It differs in one thing, towards strictness: `assertEquals` tells
 * 0 from -0 and an object without a prototype from a plain one.
 *
 * @module
 */
import { deepStrictEqual, notDeepStrictEqual } from "node:assert";
import { inspect } from "node:util";

/** Any class, abstract or not, whose instances are `T`. */
type Constructor<T> = abstract new (...args: never[]) => T;

/** The type of a falsy value. */
export type Falsy = false | 0 | 0n | "" | null | undefined;

/** The error that every failed assertion throws. */
export class AssertionError extends Error {
  /** An assertion's failure with its message. */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "AssertionError";
  }
}

function suffix(message: string | undefined): string {
  return message ? `: ${message}` : ".";
}

function show(value: unknown): string {
  return inspect(value, { depth: 4, maxArrayLength: 20 });
}

/** Asserts that `expr` is truthy. */
export function assert(expr: unknown, msg = ""): asserts expr {
  if (!expr) throw new AssertionError(msg);
}

/** Asserts that `expr` is falsy. */
export function assertFalse(expr: unknown, msg = ""): asserts expr is Falsy {
  if (expr) throw new AssertionError(msg);
}

/** Asserts that two values are equal, deeply. */
export function assertEquals<T>(actual: T, expected: T, msg?: string): void {
  try {
    deepStrictEqual(actual, expected);
  } catch (cause) {
    const difference = cause instanceof Error ? cause.message : String(cause);
    throw new AssertionError(`Values are not equal${suffix(msg)}\n${difference}`, { cause });
  }
}

/** Asserts that two values are not equal, deeply. */
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void {
  try {
    notDeepStrictEqual(actual, expected);
  } catch (cause) {
    throw new AssertionError(
      `Expected actual: ${show(actual)} not to be: ${show(expected)}${suffix(msg)}`,
      { cause },
    );
  }
}

/** Asserts that two values are the same by `Object.is`. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  msg?: string,
): asserts actual is T {
  if (Object.is(actual, expected)) return;
  throw new AssertionError(
    `Values are not strictly equal${suffix(msg)}\n  actual: ${show(actual)}\n  expected: ${
      show(expected)
    }`,
  );
}

/** Asserts that two values are not the same by `Object.is`. */
export function assertNotStrictEquals<T>(actual: T, expected: T, msg?: string): void {
  if (!Object.is(actual, expected)) return;
  throw new AssertionError(
    `Expected "actual" not to be strictly equal to: ${show(actual)}${suffix(msg)}`,
  );
}

/** Asserts that two numbers differ by no more than `tolerance`, by default 1e-7 of the expected one. */
export function assertAlmostEquals(
  actual: number,
  expected: number,
  tolerance?: number,
  msg?: string,
): void {
  if (Object.is(actual, expected)) return;
  const allowed = tolerance ?? (Number.isFinite(expected) ? Math.abs(expected * 1e-7) : 1e-7);
  const delta = Math.abs(expected - actual);
  if (delta <= allowed) return;
  throw new AssertionError(
    `Expected actual: "${actual}" to be close to "${expected}": delta "${delta}" is greater than "${allowed}"${
      suffix(msg)
    }`,
  );
}

/** Checks the class and the message of what was thrown; returns it. */
function checkThrown(
  thrown: unknown,
  verb: string,
  errorClass: Constructor<Error> | undefined,
  includes: string | undefined,
  message: string | undefined,
): unknown {
  if (errorClass === undefined) return thrown;
  if (!(thrown instanceof Error)) {
    throw new AssertionError(`A non-Error object was ${verb}${suffix(message)}`);
  }
  const { name, message: text }: Error = thrown;
  if (!(thrown instanceof errorClass)) {
    throw new AssertionError(
      `Expected error to be instance of "${errorClass.name}", but was "${name}" (${text})${
        suffix(message)
      }`,
      { cause: thrown },
    );
  }
  if (includes !== undefined && !text.includes(includes)) {
    throw new AssertionError(
      `Expected error message to include ${show(includes)}, but got ${show(text)}${
        suffix(message)
      }`,
      { cause: thrown },
    );
  }
  return thrown;
}

/** Asserts that a function throws; returns what it threw. */
export function assertThrows(fn: () => unknown, msg?: string): unknown;
/** Asserts that a function throws an error of a class, with a message that includes `msgIncludes`; returns it. */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  ErrorClass: Constructor<E>,
  msgIncludes?: string,
  msg?: string,
): E;
export function assertThrows(
  fn: () => unknown,
  classOrMessage?: Constructor<Error> | string,
  msgIncludes?: string,
  msg?: string,
): unknown {
  const errorClass = typeof classOrMessage === "function" ? classOrMessage : undefined;
  const message = typeof classOrMessage === "string" ? classOrMessage : msg;
  try {
    fn();
  } catch (thrown) {
    return checkThrown(thrown, "thrown", errorClass, msgIncludes, message);
  }
  throw new AssertionError(`Expected function to throw${suffix(message)}`);
}

/** Asserts that a function's promise rejects; resolves to what it rejected with. */
export function assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
/** Asserts that a function's promise rejects with an error of a class; resolves to that error. */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  ErrorClass: Constructor<E>,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export async function assertRejects(
  fn: () => PromiseLike<unknown>,
  classOrMessage?: Constructor<Error> | string,
  msgIncludes?: string,
  msg?: string,
): Promise<unknown> {
  const errorClass = typeof classOrMessage === "function" ? classOrMessage : undefined;
  const message = typeof classOrMessage === "string" ? classOrMessage : msg;
  let promise: PromiseLike<unknown>;
  try {
    promise = fn();
  } catch (cause) {
    // As the real one does: a throw before there is a promise is a mistake of the function under test.
    throw new AssertionError(`Function throws when expected to reject${suffix(message)}`, {
      cause,
    });
  }
  try {
    await promise;
  } catch (rejected) {
    return checkThrown(rejected, "rejected", errorClass, msgIncludes, message);
  }
  throw new AssertionError(`Expected function to reject${suffix(message)}`);
}

/** Asserts that a value is an instance of a class. */
export function assertInstanceOf<T>(
  actual: unknown,
  expectedType: Constructor<T>,
  msg = "",
): asserts actual is T {
  if (actual instanceof expectedType) return;
  throw new AssertionError(
    `Expected object to be an instance of "${expectedType.name}" but was ${show(actual)}${
      suffix(msg)
    }`,
  );
}

function compare(
  holds: boolean,
  actual: unknown,
  relation: string,
  expected: unknown,
  msg?: string,
): void {
  if (!holds) {
    throw new AssertionError(msg ?? `Expect ${show(actual)} ${relation} ${show(expected)}`);
  }
}

/** Asserts that `actual` is greater than `expected`. */
export function assertGreater<T>(actual: T, expected: T, msg?: string): void {
  compare(actual > expected, actual, ">", expected, msg);
}

/** Asserts that `actual` is greater than or equal to `expected`. */
export function assertGreaterOrEqual<T>(actual: T, expected: T, msg?: string): void {
  compare(actual >= expected, actual, ">=", expected, msg);
}

/** Asserts that `actual` is less than `expected`. */
export function assertLess<T>(actual: T, expected: T, msg?: string): void {
  compare(actual < expected, actual, "<", expected, msg);
}

/** Asserts that `actual` is less than or equal to `expected`. */
export function assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void {
  compare(actual <= expected, actual, "<=", expected, msg);
}

/** Asserts that a text matches a pattern. */
export function assertMatch(actual: string, expected: RegExp, msg?: string): void {
  if (expected.test(actual)) return;
  throw new AssertionError(`Expected actual: "${actual}" to match: "${expected}"${suffix(msg)}`);
}

/** Asserts that a text does not match a pattern. */
export function assertNotMatch(actual: string, expected: RegExp, msg?: string): void {
  if (!expected.test(actual)) return;
  throw new AssertionError(
    `Expected actual: "${actual}" to not match: "${expected}"${suffix(msg)}`,
  );
}

/** Asserts that a text includes another. */
export function assertStringIncludes(actual: string, expected: string, msg?: string): void {
  if (actual.includes(expected)) return;
  throw new AssertionError(`Expected actual: "${actual}" to contain: "${expected}"${suffix(msg)}`);
}

/** Asserts that a value is neither null nor undefined. */
export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T> {
  if (actual !== undefined && actual !== null) return;
  throw new AssertionError(
    `Expected actual: "${actual}" to not be null or undefined${suffix(msg)}`,
  );
}

/** Fails at once. */
export function fail(msg?: string): never {
  throw new AssertionError(`Failed assertion${suffix(msg)}`);
}

/** Fails at a place that must never be reached. */
export function unreachable(msg?: string): never {
  throw new AssertionError(msg ?? "unreachable");
}
