/**
 * What a shard says of itself: once as a whole, to who asks, and four times a second in short.
 *
 * @module
 */

import { lengthOf } from "../base/typed_arrays.ts";
import type { KernelSymbols } from "../ffi/symbols.ts";
import type { NotedSelector } from "../replay/register/noted_register.ts";
import { configOf } from "../replay/share/share_note.ts";
import type { ReplayConfig } from "../schema/create_options.ts";
import type { AnyPickPolicy } from "../schema/pick_options.ts";
import { ReplayError } from "../base/errors.ts";
import { ACTORS_MAX } from "./_actor_ledger.ts";
import { checkToken, readJson, refused, shown, WIRE_VERSION } from "./_message_bytes.ts";

/** What a selector of a shard has. */
export interface SelectorFigures {
  /** Picks that it can draw. */
  readonly picks: number;
  /** The sum of their weights: the shares of shards are in proportion to it. */
  readonly sum: number;
}

/** A heartbeat. */
export interface Beat {
  /** The shard's name. */
  readonly name: string;
  /** A random name of the process: another one once it has begun anew. */
  readonly incarnation: string;
  /** The checksum of the columns. */
  readonly schema: number;
  /** How many it holds. */
  readonly records: number;
  /** How many were ever written to it. */
  readonly recorded: number;
  /** How many writers sent it something lately. */
  readonly writers: number;
  /** Its selectors, in order. */
  readonly selectors: readonly SelectorFigures[];
  /** True in the last heartbeat of a shard that ends. */
  readonly isLast?: true;
}

/** An announcement: what decides the types of records and batches, and a heartbeat. */
export interface Announcement extends Beat {
  /** The configuration. */
  readonly config: ReplayConfig;
  /** The pick policies of all views. */
  readonly views: readonly AnyPickPolicy[];
  /** The rules of the selectors. */
  readonly rules: readonly NotedSelector[];
}

/** What must be equal for a record to be the same bytes, as text. */
export function schemaText({ columns, tree }: ReplayConfig): string {
  const all = columns.map(({ name, column: { dtype, shape, every } }) => [
    name,
    dtype,
    shape,
    every,
  ]);
  return JSON.stringify([all, tree]);
}

/** The checksum of that text. */
export function schemaSum(symbols: KernelSymbols, config: ReplayConfig): number {
  const bytes = new TextEncoder().encode(schemaText(config));
  return symbols.exrp_checksum(0, bytes, lengthOf(bytes)) >>> 0;
}

function numberOf(from: Readonly<Record<string, unknown>>, name: string): number {
  const value = from[name];
  if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
  throw refused(`${name} is ${shown(value)}`);
}

function countOf(from: Readonly<Record<string, unknown>>, name: string, most: number): number {
  const value = numberOf(from, name);
  if (Number.isInteger(value) && value <= most) return value;
  throw refused(`${name} is ${value}, and at most ${most} are possible`);
}

/** A heartbeat, checked field by field. */
export function readBeat(bytes: Uint8Array): Beat {
  return beatOf(readJson(bytes));
}

function beatOf(from: Readonly<Record<string, unknown>>): Beat {
  const { incarnation, selectors, version } = from;
  const name = checkToken("the name of a shard", from["name"]);
  if (version !== WIRE_VERSION) {
    const words = `the shard ${name} speaks version ${shown(version)}`;
    throw new ReplayError("shard-message", `${words}, and this library version ${WIRE_VERSION}`);
  }
  if (typeof incarnation !== "string" || !/^[0-9a-f]{32}$/.test(incarnation)) {
    throw refused("it names no process");
  }
  if (!Array.isArray(selectors) || selectors.length > 64) throw refused("it lists no selectors");
  return {
    name,
    incarnation,
    schema: numberOf(from, "schema"),
    records: numberOf(from, "records"),
    recorded: numberOf(from, "recorded"),
    writers: countOf(from, "writers", ACTORS_MAX),
    selectors: selectors.map((each: unknown) => {
      const figures = (each ?? {}) as Readonly<Record<string, unknown>>;
      return { picks: numberOf(figures, "picks"), sum: numberOf(figures, "sum") };
    }),
    ...from["isLast"] === true ? { isLast: true } : {},
  };
}

/** An announcement. What its configuration says is checked once a replay is made of it. */
export function readAnnouncement(bytes: Uint8Array): Announcement {
  const from = readJson(bytes);
  const beat = beatOf(from);
  const { config, views, rules } = from;
  if (!Array.isArray(views) || !Array.isArray(rules)) throw refused("it lists no pick views");
  try {
    return {
      ...beat,
      config: configOf({ config: config as ReplayConfig }),
      views: views as AnyPickPolicy[],
      rules: rules as NotedSelector[],
    };
  } catch (cause) {
    throw new ReplayError(
      "shard-message",
      `the shard ${beat.name} announces a replay that can't be`,
      { cause },
    );
  }
}
