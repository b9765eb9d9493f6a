/**
 * The configuration file of `deno task shard`: JSON, read with an error for every field that is wrong.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import * as library from "../mod.ts";
import type { NativeSelector } from "../selectors/native_selector.ts";
import { type Column, DTYPES } from "../schema/columns.ts";
import type { CreateOptions } from "../schema/create_options.ts";
import type { StateColumns } from "../schema/state.ts";
import { checkToken } from "./_message_bytes.ts";

/** A whole file, as {@linkcode readShardConfig} reads it. */
export interface ShardConfig {
  /** The shard's name. */
  readonly name: string;
  /** What the subjects of all shards begin with. */
  readonly prefix: string;
  /** The folder of the replay. */
  readonly directory: string;
  /** What is on the disk after so many milliseconds at the latest, whoever recorded it. */
  readonly flushIntervalMs: number | undefined;
  /** What `connect()` of `@nats-io` takes: servers, credentials, TLS. It is handed over as it is. */
  readonly nats: Readonly<Record<string, unknown>>;
  /** The options of the replay. */
  readonly replay: CreateOptions;
  /** The rules of its selectors, on its first pick view. */
  readonly selectors: readonly NativeSelector[];
}

type Fields = Readonly<Record<string, unknown>>;

/** The rules that a file may name. */
const RULES: Readonly<Record<string, (options: never) => NativeSelector>> = {
  uniform: library.uniform,
  prioritized: library.prioritized,
  rankBased: library.rankBased,
  oldest: library.oldest,
  newest: library.newest,
  recent: library.recent,
  withoutReplacement: library.withoutReplacement,
};

function fieldsOf(where: string, value: unknown): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw new TypeError(`${where} must be an object, got ${show(value)}`);
}

/** A column from its text, such as `"uint8(84, 84)"` or `"every(4, float32(512))"`. */
function columnOf(where: string, value: unknown): Column {
  const [, n, kept] = typeof value === "string"
    ? /^\s*every\s*\(\s*(\d+)\s*,([^()]*\([^()]*\)\s*)\)\s*$/.exec(value) ?? []
    : [];
  if (n !== undefined) return library.every(Number(n), columnOf(where, kept));
  const [, dtype = "", inner = ""] = typeof value === "string"
    ? /^\s*([a-z]+\d*)\s*\(([\d\s,]*)\)\s*$/.exec(value) ?? []
    : [];
  const makers = library as unknown as Readonly<Record<string, (...shape: number[]) => Column>>;
  const make = (DTYPES as readonly string[]).includes(dtype) ? makers[dtype] : undefined;
  if (make === undefined) {
    throw new TypeError(`${where} must be a column such as "float32(4)", got ${show(value)}`);
  }
  return make(...inner.split(",").filter((size) => size.trim() !== "").map(Number));
}

/** A state from its text, or from that of each leaf. */
function stateOf(where: string, value: unknown): StateColumns {
  if (typeof value === "string") return columnOf(where, value);
  if (Array.isArray(value)) return value.map((each, k) => stateOf(`${where}[${k}]`, each));
  const entries = Object.entries(fieldsOf(where, value));
  return Object.fromEntries(
    entries.map(([name, each]) => [name, stateOf(`${where}.${name}`, each)]),
  ) as StateColumns;
}

function replayOf(value: unknown): CreateOptions {
  const { state, action, reward, extras, ...others } = fieldsOf("replay", value);
  const columns = Object.entries(fieldsOf("replay.extras", extras ?? {}));
  return {
    ...others,
    state: stateOf("replay.state", state),
    ...action === undefined ? {} : { action: columnOf("replay.action", action) },
    ...reward === undefined ? {} : { reward: columnOf("replay.reward", reward) },
    ...extras === undefined ? {} : {
      extras: Object.fromEntries(
        columns.map(([name, text]) => [name, columnOf(`replay.extras.${name}`, text)]),
      ),
    },
  } as unknown as CreateOptions;
}

function selectorOf(where: string, value: unknown): NativeSelector {
  const given = typeof value === "string" ? { [value]: {} } : fieldsOf(where, value);
  const [[name, options] = ["", {}], ...others] = Object.entries(given);
  const make = Object.hasOwn(RULES, name) ? RULES[name] : undefined;
  if (make === undefined || others.length > 0) {
    const names = Object.keys(RULES).join(", ");
    throw new TypeError(`${where} must be one of ${names}, got ${show(value)}`);
  }
  return make(options as never);
}

/**
 * Reads a configuration.
 *
 * @param given What stands in the place of the file's own.
 * @throws {TypeError} If it is no JSON, or a field is unknown or of the wrong kind.
 * @throws {RangeError} If a number is out of its range.
 */
export function readShardConfig(
  text: string,
  given: Partial<Pick<ShardConfig, "name" | "directory">> = {},
): ShardConfig {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (cause) {
    throw new TypeError("the configuration is not valid JSON", { cause });
  }
  const config: Fields = { ...fieldsOf("the configuration", value), ...given };
  checkOptions("the configuration", config, [
    ...["name", "prefix", "directory", "flushIntervalMs", "nats", "replay", "selectors"],
  ]);
  const { name, prefix = "exrp", directory, flushIntervalMs, selectors = ["uniform"] } = config;
  if (typeof directory !== "string" || directory === "") {
    throw new TypeError(`directory must be the path of a folder, got ${show(directory)}`);
  }
  if (!Array.isArray(selectors) || selectors.length === 0) {
    throw new TypeError(`selectors must be a list of rules, got ${show(selectors)}`);
  }
  return {
    name: checkToken("name", name),
    prefix: checkToken("prefix", prefix, true),
    directory,
    flushIntervalMs: flushIntervalMs as number | undefined,
    nats: fieldsOf("nats", config["nats"] ?? { servers: "127.0.0.1:4222" }),
    replay: replayOf(config["replay"]),
    selectors: selectors.map((each, k) => selectorOf(`selectors[${k}]`, each)),
  };
}
