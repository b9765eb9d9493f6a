/**
 * Reads the fields of a snapshot's schema, which is JSON: a field that is missing or of the wrong kind means that the snapshot is damaged.
 *
 * @module
 */

import type { ReplayError } from "../base/errors.ts";
import { corrupt } from "./container.ts";

/** A schema's JSON. */
export function parseJson(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw corrupt("its schema is no JSON", error);
  }
  return object("schema", json);
}

/** The error for a field that makes no sense. */
export function malformed(where: string): ReplayError {
  return corrupt(`its schema has no sense at ${where}`);
}

/** A field that is an object. */
export function object(where: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw malformed(where);
  return value as Readonly<Record<string, unknown>>;
}

/** An object of numbers and strings. */
export function options(
  where: string,
  value: unknown,
): Readonly<Record<string, number | string>> {
  const checked: [string, number | string][] = [];
  for (const [name, option] of Object.entries(object(where, value))) {
    if (typeof option !== "number" && typeof option !== "string") {
      throw malformed(`${where}.${name}`);
    }
    checked.push([name, option]);
  }
  return Object.fromEntries(checked);
}

/** A field that is an array. */
export function array(where: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw malformed(where);
  return value;
}

/** A field that is a string. */
export function string(where: string, value: unknown): string {
  if (typeof value !== "string") throw malformed(where);
  return value;
}

/** A field that is a number. */
export function number(where: string, value: unknown): number {
  if (typeof value !== "number") throw malformed(where);
  return value;
}

/** A field that is a boolean. */
export function boolean(where: string, value: unknown): boolean {
  if (typeof value !== "boolean") throw malformed(where);
  return value;
}

/** A number that the kernel takes as an unsigned integer. */
export const NUMBER_MAX: number = 2 ** 32 - 1;

/** A field that is a whole number from 0 on. */
export function count(where: string, value: unknown, largest = Number.MAX_SAFE_INTEGER): number {
  const isCount = Number.isSafeInteger(value) && (value as number) >= 0 &&
    (value as number) <= largest;
  if (!isCount) throw malformed(where);
  return value as number;
}
