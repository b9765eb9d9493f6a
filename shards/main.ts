/**
 * The program of `deno task shard`: serves a durable replay to actors and learners over NATS, until it is told to stop.
 *
 * @module
 */

import { deno, environmentVariable } from "../base/platform.ts";
import { ExperienceReplay } from "../mod.ts";
import { runProgram } from "../base/program.ts";
import { platformFiles } from "../storage/files.ts";
import { readShardConfig, type ShardConfig } from "./config.ts";
import { serveShard } from "./serve_shard.ts";

const usage = `deno task shard --config=FILE [OPTION]

Serves a durable replay as a shard, over NATS. docs/shards.md says what the file has.

  --config=FILE      the file, JSON
  --name=NAME        the name of the shard, instead of the file's
  --directory=PATH   the folder of the replay, instead of the file's
  --servers=LIST     the addresses of NATS, with commas between them, instead of the file's
  --help             prints this

SIGINT, SIGTERM or SIGHUP stops it: all that it confirmed is in the folder, and so is what it took since. Start it again with the same file, and it goes on.`;

type Arguments = Readonly<Partial<Record<string, string>>>;

/** Reads `--name=value` and `--name value`; a text is what is wrong. */
function readArguments(args: readonly string[]): Arguments | string {
  const found = new Map<string, string>();
  for (let k = 0; k < args.length; k++) {
    const [, name = "", value] =
      /^--(config|name|directory|servers)(?:=(.*))?$/s.exec(args[k] ?? "") ?? [];
    if (name === "") return `${args[k]} is unknown`;
    const given = value ?? args[++k];
    if (given === undefined) return `--${name} needs a value`;
    found.set(name, given);
  }
  return found.has("config") ? Object.fromEntries(found) : "--config is needed";
}

/** Reads the file, with what the arguments say instead. Paths in the file begin at its folder, and those of arguments where the user stands. */
async function readFile(platform: typeof Deno, args: Arguments): Promise<ShardConfig> {
  const files = platformFiles();
  if (files === undefined) throw new Error("there are no files here");
  const { resolve, dirname } = files.path;
  const { url } = import.meta;
  const repository = url.startsWith("file:") ? dirname(dirname(files.fromUrl(new URL(url)))) : "";
  const here = repository === resolve("") ? environmentVariable("INIT_CWD") ?? "" : "";
  const path = resolve(here, args["config"] ?? "");
  const config = readShardConfig(await platform.readTextFile(path));
  const { name = config.name, directory, servers } = args;
  return {
    ...config,
    name,
    directory: directory === undefined
      ? resolve(dirname(path), config.directory)
      : resolve(here, directory),
    nats: servers === undefined ? config.nats : { ...config.nats, servers: servers.split(",") },
  };
}

/** Resolves at the first signal to stop. */
function untilSignal(platform: typeof Deno): Promise<string> {
  return new Promise((resolve) => {
    const signals = platform.build.os === "windows"
      ? ["SIGINT"] as const
      : ["SIGINT", "SIGTERM", "SIGHUP"] as const;
    for (const signal of signals) platform.addSignalListener(signal, () => resolve(signal));
  });
}

/** Serves until a signal comes, or the disk fails. */
async function run(platform: typeof Deno, args: Arguments): Promise<void> {
  const { name, prefix, directory, flushIntervalMs, nats, replay: options, selectors } =
    await readFile(platform, args);
  const { connect } = await import("npm:@nats-io/transport-node@3.4.0");
  const flushes = flushIntervalMs === undefined ? {} : { flushIntervalMs };
  using replay = await ExperienceReplay.open(directory, { ...options, ...flushes });
  // A folder that was opened again has its selectors.
  for (const rule of selectors.slice(replay.selectors.length)) replay.newPickSelector(rule);
  const connection = await connect({ maxReconnectAttempts: -1, name: `shard ${name}`, ...nats });
  try {
    const shard = await serveShard(replay as ExperienceReplay, connection, { name, prefix });
    console.log(`serving ${directory} as shard ${name}: ${replay.recordCount} records`);
    const ended = await Promise.race([untilSignal(platform), shard.closed]);
    if (typeof ended !== "string") throw ended ?? new Error("the shard has ended");
    console.log(`${ended}: stopping`);
    await shard.close();
  } finally {
    await connection.close();
  }
  console.log("stopped");
}

/** Runs the program; returns its exit status. */
export function main(platform: typeof Deno): Promise<number> {
  return runProgram(
    { name: "shard", usage, readArguments, run: (args) => run(platform, args) },
    platform.args,
  );
}

if (import.meta.main && deno !== undefined) deno.exit(await main(deno));
