/**
 * The fields of a snapshot's schema, which is JSON. A schema is described by functions that read its fields, and its type follows from them. A field
 * that is missing or of the wrong kind means that the snapshot is damaged.
 *
 * @module
 */

import type { ReplayError } from "../base/errors.ts";
import { corrupt } from "./errors.ts";

/** Reads a field. Errors call it `where`. */
export type Field<T> = (where: string, value: unknown) => T;

/** What fields have, once they were read. */
export type Fields<F> = { readonly [N in keyof F]: F[N] extends Field<infer T> ? T : never };

/** The plain object that a schema's JSON has. */
export function parseJson(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    return anyObject("schema", JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  } catch (error) {
    throw corrupt("its schema is no JSON object", error);
  }
}

/** The error for a field that makes no sense. */
export function malformed(where: string): ReplayError {
  return corrupt(`its schema has no sense at ${where}`);
}

/** A field that is an object of any fields. */
export function anyObject(where: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw malformed(where);
  return value as Readonly<Record<string, unknown>>;
}

/** A field that is an object with these fields. The schema itself has no name. */
export function object<F extends Readonly<Record<string, Field<unknown>>>>(
  fields: F,
): Field<Fields<F>> {
  return (where, value) => {
    const given = anyObject(where, value);
    const read = Object.entries(fields).map(([name, field]) => [
      name,
      field(where === "" ? name : `${where}.${name}`, given[name]),
    ]);
    return Object.fromEntries(read) as Fields<F>;
  };
}

/** A field that is an array of such values. */
export function list<T>(field: Field<T>): Field<readonly T[]> {
  return (where, value) => {
    if (!Array.isArray(value)) throw malformed(where);
    return value.map((each, k) => field(`${where}[${k}]`, each));
  };
}

/** A field that may be missing. */
export function optional<T>(field: Field<T>): Field<T | undefined>;
export function optional<T>(field: Field<T>, missing: T): Field<T>;
export function optional<T>(field: Field<T>, missing?: T): Field<T | undefined> {
  return (where, value) => value === undefined ? missing : field(where, value);
}

/** A field that is a string. */
export function string(where: string, value: unknown): string {
  if (typeof value !== "string") throw malformed(where);
  return value;
}

/** A field that is one of these words. */
export function word<W extends string>(...words: readonly W[]): Field<W> {
  return (where, value) => {
    for (const each of words) if (value === each) return each;
    throw malformed(where);
  };
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

/** A field that is a whole number from 0 on. */
export function count(where: string, value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw malformed(where);
  return value as number;
}

/** A number that the kernel takes as an unsigned integer. */
export const NUMBER_MAX: number = 2 ** 32 - 1;

/** A field that is such a number. */
export function unsigned(where: string, value: unknown): number {
  if (count(where, value) > NUMBER_MAX) throw malformed(where);
  return value as number;
}

/** A field that is an object of numbers and strings. */
export function options(
  where: string,
  value: unknown,
): Readonly<Record<string, number | string>> {
  for (const [name, option] of Object.entries(anyObject(where, value))) {
    if (typeof option !== "number" && typeof option !== "string") {
      throw malformed(`${where}.${name}`);
    }
  }
  return value as Readonly<Record<string, number | string>>;
}

/** The fields of a rule that runs in the kernel: its name, the kernel's number of it, and its options, by name and as the kernel takes them. */
export const rule = { name: string, native: unsigned, options, numbers: list(number) } as const;
