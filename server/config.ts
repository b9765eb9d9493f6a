/**
 * The configuration file of `deno task serve`: JSON, read with an error for every field that is wrong.
 *
 * @module
 */
import { checkInteger, show } from "../base/checks.ts";
import { checkOptions, nearestName, type OptionHints } from "../base/option_names.ts";
import { minSize } from "../rate_limiters/min_size.ts";
import { queue } from "../rate_limiters/queue.ts";
import type { RateLimiter } from "../rate_limiters/rate_limiter.ts";
import { samplesPerInsert } from "../rate_limiters/samples_per_insert.ts";
import { newest, oldest } from "../selectors/age_end.ts";
import { curious } from "../selectors/curious.ts";
import type { NativeSelector } from "../selectors/native_selector.ts";
import { power } from "../selectors/power.ts";
import { prioritized } from "../selectors/prioritized.ts";
import { highestPriority, lowestPriority } from "../selectors/priority_end.ts";
import { rankBased } from "../selectors/rank_based.ts";
import { recent } from "../selectors/recent.ts";
import { ucb } from "../selectors/ucb.ts";
import { uniform } from "../selectors/uniform.ts";
import { withoutReplacement } from "../selectors/without_replacement.ts";
import { checkTableNames } from "../tables/table_names.ts";
import {
  fillTableOptions,
  onceFrom,
  TABLE_SIZE_MAX,
  type TableOptions,
} from "../tables/table_options.ts";
import { checkCheckpointOptions, type CheckpointOptions } from "./checkpoints/checkpoints.ts";
import { checkBusyPoll, checkLimits, type ServeLimits } from "./serve_limits.ts";

/** A whole file, as {@linkcode readConfig} reads it. */
export interface ServerConfig {
  /** The address to listen on. */
  readonly hostname: string;
  /** The port. */
  readonly port: number;
  /** The seed of all draws; undefined for a random one. */
  readonly seed?: number;
  /** What clients may take. */
  readonly limits: ServeLimits;
  /** Milliseconds for which the server goes on to look for input; undefined for the default of {@linkcode serve}. */
  readonly busyPollMs?: number;
  /** Where checkpoints are written, and which one is loaded. */
  readonly checkpoint?: CheckpointOptions;
  /** The folder in which the tables are durable; undefined for tables in memory. */
  readonly directory?: string;
  /** How often durable tables are on the disk; undefined for the default of {@linkcode Tables.open}. */
  readonly flushIntervalMs?: number;
  /** The tables by name. */
  readonly tables: Readonly<Record<string, TableOptions>>;
}

/** What makes each selector, by its name here. The names that Reverb has for some of them are known too. */
const selectors: Readonly<Record<string, (options: never) => NativeSelector>> = {
  uniform,
  power,
  prioritized,
  oldest,
  newest,
  highestPriority,
  lowestPriority,
  rankBased,
  recent,
  ucb,
  curious,
  withoutReplacement,
  fifo: oldest,
  lifo: newest,
  maxHeap: highestPriority,
  minHeap: lowestPriority,
};

/** What to write instead of names that Reverb has for other rules than these. */
const selectorHints: OptionHints = {
  Prioritized: `Reverb's Prioritized is { "power": { "exponent": 0.6 } }`,
};

/** What makes each rate limiter at a place of the file. The third is the second one in Reverb's words. */
const rateLimiters: Readonly<Record<string, (place: string, options: unknown) => RateLimiter>> = {
  minSize: (place, size) => within(place, () => minSize(size as number)),
  samplesPerInsert: (place, options) => readRatio(place, options, "ratio"),
  sampleToInsertRatio: (place, options) => readRatio(place, options, "samplesPerInsert"),
  queue: readQueue,
  stack: readQueue,
};

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(where: string, value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError(`${where} must be an object, got ${show(value)}`);
  }
  return value as Fields;
}

/** What `"name"` or `{ "name": options }` stands for, its place in the file, and the options. */
function named<T>(
  where: string,
  value: unknown,
  known: Readonly<Record<string, T>>,
  hints: OptionHints = {},
): [make: T, place: string, options: unknown] {
  const given = typeof value === "string" ? { [value]: undefined } : fieldsOf(where, value);
  const [name, ...others] = Object.keys(given);
  if (name === undefined || others.length > 0) {
    throw new TypeError(
      `${where} must be a name, or an object with one name and its options, got ${show(value)}`,
    );
  }
  const make = Object.hasOwn(known, name) ? known[name] : undefined;
  if (make !== undefined) return [make, `${where}.${name}`, given[name]];
  const names = Object.keys(known);
  const nearest = nearestName(name, names);
  let hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
  if (Object.hasOwn(hints, name)) hint = `; ${hints[name]}`;
  throw new TypeError(
    `${where} must be one of ${names.join(", ")}, got ${JSON.stringify(name)}${hint}`,
  );
}

/**
 * Says where in the file an error of a rule's own function belongs: the place there takes that of the function, by which the words begin.
 * `ratio` is what the file calls the option of this name.
 */
function within<T>(where: string, make: () => T, ratio = "ratio"): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof TypeError) && !(error instanceof RangeError)) throw error;
    const Kind = error instanceof TypeError ? TypeError : RangeError;
    const words = error.message.replaceAll(/\bratio\b/g, ratio).replace(/^\w+\(\)/, () => where);
    throw new Kind(words, { cause: error });
  }
}

function readSelector(where: string, value: unknown): NativeSelector {
  const [make, place, options = {}] = named(where, value, selectors, selectorHints);
  const given = fieldsOf(place, options);
  return within(place, () => make(given as never));
}

/** A band whose open ends are null, as JSON has no infinity. */
function openEnds(error: unknown): unknown {
  if (!Array.isArray(error)) return error;
  return error.map((end, k) => end ?? (k === 0 ? -Infinity : Infinity));
}

function readRatio(place: string, options: unknown, ratioName: string): RateLimiter {
  const fields = fieldsOf(place, options);
  checkOptions(place, fields, [ratioName, "minSize", "error"]);
  const { [ratioName]: ratio, minSize, error } = fields;
  const others = { minSize, error: openEnds(error) } as never;
  return within(place, () => samplesPerInsert(ratio as number, others), ratioName);
}

function readQueue(place: string, size: unknown): RateLimiter {
  return within(place, () => queue(size as number));
}

function readTable(where: string, value: unknown): TableOptions {
  const table = fieldsOf(where, value);
  // A queue or a stack, as Reverb's `Table.queue` and `Table.stack` make it.
  for (const [name, end] of [["queue", oldest], ["stack", newest]] as const) {
    if (table[name] === undefined) continue;
    checkOptions(where, table, [name, "signature"]);
    const { [name]: given, ...signature } = table;
    const place = `${where}.${name}`;
    const size = checkInteger(place, given, 1, TABLE_SIZE_MAX);
    return fillTableOptions(where, onceFrom(place, end(), size, signature));
  }
  const { maxBytes = 0, maxTimesSampled = 0, ...others } = table;
  const { sampler = "uniform", remover = "oldest", rateLimiter = { minSize: 1 } } = others;
  const [makeLimiter, place, options] = named(`${where}.rateLimiter`, rateLimiter, rateLimiters);
  return fillTableOptions(where, {
    ...others,
    // 0 stands for no limit.
    ...maxBytes === 0 ? {} : { maxBytes },
    ...maxTimesSampled === 0 ? {} : { maxTimesSampled },
    sampler: readSelector(`${where}.sampler`, sampler),
    remover: readSelector(`${where}.remover`, remover),
    rateLimiter: makeLimiter(place, options),
  } as unknown as TableOptions);
}

/** Throws where an object of a JSON text has a field twice: of these, `JSON.parse` keeps the last one without a word. */
function checkFieldsOnce(text: string): void {
  const open: { readonly name: string; readonly fields: Set<string> }[] = [];
  let last = "";
  // In JSON, a string before a colon is the name of a field, and nothing else is.
  for (
    const [token, field] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}[\]]/g)
  ) {
    if (token === "{" || token === "[") open.push({ name: last, fields: new Set() });
    else if (token === "}" || token === "]") open.pop();
    if (field === undefined) continue;
    last = JSON.parse(field) as string;
    const fields = open.at(-1)?.fields;
    if (fields?.has(last)) {
      const path = [...open.slice(1).map(({ name }) => name), last].join(".");
      throw new TypeError(`the configuration has ${path} twice; give each field once`);
    }
    fields?.add(last);
  }
}

/**
 * Reads a configuration. `Tables.create` takes its `tables` and `seed`, and {@linkcode serve} the rest. `docs/reverb.md` has all its fields.
 *
 * @param text The text of the file: JSON.
 * @throws {TypeError} If it is no JSON, or a field is unknown, of the wrong kind, or there twice. The words name the field.
 * @throws {RangeError} If a number is out of its range.
 * @example
 * ```ts
 * import { readConfig } from "@exrp/replay/server";
 *
 * const { hostname, tables } = readConfig(`{ "tables": { "replay": { "maxSize": 1000 } } }`);
 * console.log([hostname, tables["replay"]?.maxSize]); // ["127.0.0.1", 1000]
 * const misspelt = `{ "tables": { "replay": { "maxSise": 1000 } } }`;
 * try { readConfig(misspelt); } catch (error) { console.log((error as Error).name); } // TypeError: it names the option, and the one that was meant
 * ```
 */
export function readConfig(text: string): ServerConfig {
  let value: unknown;
  try {
    // Some editors begin a file with a mark of UTF-8, which is no JSON.
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new TypeError(`the configuration is not valid JSON: ${(error as Error).message}`);
  }
  checkFieldsOnce(text);
  const config = fieldsOf("the configuration", value);
  checkOptions("the configuration", config, [
    ...["hostname", "port", "seed", "limits", "busyPollMs", "checkpoint"],
    ...["directory", "flushIntervalMs", "tables"],
  ]);
  const { hostname = "127.0.0.1", port = 0, seed = 0, limits = {}, busyPollMs = 0 } = config;
  if (typeof hostname !== "string" || hostname === "") {
    throw new TypeError(`hostname must be an address such as "127.0.0.1", got ${show(hostname)}`);
  }
  checkInteger("port", port, 0, 65_535);
  checkInteger("seed", seed, 0, Number.MAX_SAFE_INTEGER);
  checkLimits("limits", fieldsOf("limits", limits));
  checkBusyPoll("busyPollMs", busyPollMs);
  const { checkpoint } = config as { readonly checkpoint?: CheckpointOptions };
  if (checkpoint !== undefined) checkCheckpointOptions("checkpoint", checkpoint);
  const { directory, flushIntervalMs } = config;
  if (directory !== undefined && (typeof directory !== "string" || directory === "")) {
    throw new TypeError(`directory must be the path of a folder, got ${show(directory)}`);
  }
  if (flushIntervalMs !== undefined) {
    checkInteger("flushIntervalMs", flushIntervalMs, 0, 2 ** 31 - 1);
    if (directory === undefined) throw new TypeError("flushIntervalMs needs a directory");
  }
  const tables = Object.entries(fieldsOf("tables", config["tables"]));
  checkTableNames("tables", tables.map(([name]) => name));
  const read = tables.map(([name, table]) => [name, readTable(`tables.${name}`, table)] as const);
  return { ...config, hostname, port, limits, tables: Object.fromEntries(read) } as ServerConfig;
}
