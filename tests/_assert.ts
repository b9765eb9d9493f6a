/**
 * The assertions of the tests: those of `node:assert/strict`, which show the difference, with the words of the test before it.
 *
 * @module
 */
import * as node from "node:assert/strict";
import { inspect } from "node:util";

/** Any class, abstract or not, whose instances are `T`. */
type Class<T> = abstract new (...values: never[]) => T;

/** Makes an assertion of Node's, and puts words before what it says. */
function explain(words: string | undefined, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (words === undefined || !(error instanceof Error)) throw error;
    throw new node.AssertionError({ message: `${words}\n${error.message}`, stackStartFn: explain });
  }
}

/** The value is truthy. */
export function assert(value: unknown, words = "the condition does not hold"): asserts value {
  node.ok(value, words);
}

/** Both have the same structure, types and values, where -0 differs from 0. */
export function assertEquals<T>(actual: T, expected: T, words?: string): void {
  explain(words, () => node.deepStrictEqual(actual, expected));
}

/** They differ in structure, types or values. */
export function assertNotEquals<T>(actual: T, expected: T, words?: string): void {
  explain(words, () => node.notDeepStrictEqual(actual, expected));
}

/** Both are the same by `Object.is`. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  words?: string,
): asserts actual is T {
  explain(words, () => node.strictEqual(actual, expected));
}

/** They are not the same by `Object.is`. */
export function assertNotStrictEquals<T>(actual: T, expected: T, words?: string): void {
  explain(words, () => node.notStrictEqual(actual, expected));
}

/** The numbers differ by no more than `tolerance`, 1e-7 of the expected one by default. */
export function assertAlmostEquals(
  actual: number,
  expected: number,
  tolerance = Math.abs(expected * 1e-7),
  words?: string,
): void {
  if (Number.isFinite(expected) && Math.abs(actual - expected) <= tolerance) return;
  const beyond = words ?? `they differ by more than ${tolerance}`;
  explain(beyond, () => node.strictEqual(actual, expected));
}

/** The first number is larger. */
export function assertGreater<T>(actual: T, expected: T, words?: string): void {
  explain(words, () => assert(actual > expected, `${actual} must be above ${expected}`));
}

/** The first number is smaller. */
export function assertLess<T>(actual: T, expected: T, words?: string): void {
  explain(words, () => assert(actual < expected, `${actual} must be below ${expected}`));
}

/** The text matches the pattern. */
export function assertMatch(actual: string, pattern: RegExp, words?: string): void {
  explain(words, () => node.match(actual, pattern));
}

/** The text has the part in it. */
export function assertStringIncludes(actual: string, part: string, words?: string): void {
  explain(words, () => assert(actual.includes(part), `${actual}\nmust have in it\n${part}`));
}

/** The value is neither null nor undefined. */
export function assertExists<T>(value: T): asserts value is NonNullable<T> {
  assert(value !== undefined && value !== null, `${value} is no value`);
}

/** The value is an instance of the class. */
export function assertInstanceOf<T>(
  value: unknown,
  type: Class<T>,
  words?: string,
): asserts value is T {
  const needed = `must be a ${type.name}, got ${inspect(value)}`;
  explain(words, () => assert(value instanceof type, needed));
}

/** Throws at once. */
export function fail(words: string): never {
  node.fail(words);
}

/** The function throws an error of this class, whose message has the part in it; returns it. */
export function assertThrows<E extends Error = Error>(
  run: () => unknown,
  type: Class<E> = Error as unknown as Class<E>,
  part = "",
  words?: string,
): E {
  try {
    run();
  } catch (error) {
    return checkError(error, type, part, words);
  }
  fail(`${words ?? "the function"}: nothing was thrown`);
}

/** The function's promise rejects with an error of this class, whose message has the part in it; resolves to it. */
export async function assertRejects<E extends Error = Error>(
  run: () => PromiseLike<unknown>,
  type: Class<E> = Error as unknown as Class<E>,
  part = "",
  words?: string,
): Promise<E> {
  const promise = run();
  try {
    await promise;
  } catch (error) {
    return checkError(error, type, part, words);
  }
  fail(`${words ?? "the promise"}: nothing was rejected`);
}

function checkError<E extends Error>(
  error: unknown,
  type: Class<E>,
  part: string,
  words?: string,
): E {
  assertInstanceOf(error, type, words);
  assertStringIncludes((error as E).message, part, words);
  return error as E;
}
