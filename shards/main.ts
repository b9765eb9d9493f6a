/**
 * The program of `deno task shard`: serves a durable replay to actors and learners over NATS, until it is told to stop.
 *
 * @module
 */

import { reasonOf } from "../base/errors.ts";
import { deno, environmentVariable } from "../base/platform.ts";
import { ExperienceReplay } from "../mod.ts";
import { readConfigText, readOptions, runProgram, untilSignal } from "../base/program.ts";
import { ruleText } from "../base/inspect.ts";
import { insideOf } from "../replay/experience_replay.ts";
import { notedSelector } from "../replay/register/noted_register.ts";
import { platformFiles } from "../storage/files.ts";
import { readShardConfig, type ShardConfig } from "./config.ts";
import type { Connection } from "./connection.ts";
import { serveShard } from "./serve_shard.ts";

const usage = `deno task shard --config=FILE [OPTION]

Serves a durable replay as a shard, over NATS. docs/shards.md says what the file has.

  --config=FILE      the file, JSON
  --name=NAME        the name of the shard, instead of the file's
  --directory=PATH   the folder of the replay, instead of the file's
  --servers=LIST     the addresses of NATS, with commas between them, instead of the file's
  --help             prints this

SIGINT, SIGTERM or SIGHUP stops it: all that it confirmed is in the folder, and so is what it took since. Start it again with the same file, and it goes on.
Another signal, half a second later or more, ends it at once.`;

type Name = "config" | "name" | "directory" | "servers";
type Arguments = Readonly<Partial<Record<Name, string>> & { config: string }>;

/** Reads the file, with what the arguments say instead. Paths in the file begin at its folder, and those of arguments where the user stands. */
async function readFile(platform: typeof Deno, args: Arguments): Promise<ShardConfig> {
  const files = platformFiles();
  if (files === undefined) throw new Error("there are no files here");
  const { resolve, dirname } = files.path;
  const { url } = import.meta;
  const repository = url.startsWith("file:") ? dirname(dirname(files.fromUrl(new URL(url)))) : "";
  const here = repository === resolve("") ? environmentVariable("INIT_CWD") ?? "" : "";
  const path = resolve(here, args.config);
  const { name, directory, servers } = args;
  const config = readShardConfig(await readConfigText(platform, path), {
    ...name === undefined ? {} : { name },
    ...directory === undefined ? {} : { directory: resolve(here, directory) },
  });
  return {
    ...config,
    directory: resolve(dirname(path), config.directory),
    nats: servers === undefined ? config.nats : { ...config.nats, servers: servers.split(",") },
  };
}

/** Makes the selectors of the file that the folder does not have yet; throws if those that it has are other ones. */
function makeSelectors(
  replay: ExperienceReplay,
  { directory, selectors }: ShardConfig,
): void {
  const { entries } = insideOf(replay).register;
  for (const [k, entry] of entries.entries()) {
    const { name, options, view } = notedSelector(entry);
    const rule = selectors[k];
    // A later library may know options that the folder does not have.
    const isSame = view === 0 && rule?.kind === name &&
      Object.entries(options).every(([option, value]) => rule.options[option] === value);
    if (isSame) continue;
    const there = ruleText(name, options) + (view === 0 ? "" : ` of pick view ${view}`);
    throw new Error(
      `selectors[${k}] is ${rule ?? "missing"}, and that of ${directory} is ${there}; ` +
        "a folder keeps its selectors, so name the same ones, and new ones behind them",
    );
  }
  for (const rule of selectors.slice(entries.length)) replay.newPickSelector(rule);
}

/** Between two tries to connect. The client itself would wait for two seconds, and so would the learner. */
const RECONNECT_MS = 250;

/**
 * Connects to NATS. Where a server refuses the password, the client leaves the socket before that has ended. Nobody listens to its errors then, and one would end the
 * program in the place of the client's own error.
 */
async function connectNats(
  name: string,
  nats: ShardConfig["nats"],
): Promise<Connection & { close(): Promise<void> }> {
  const { connect } = await import("npm:@nats-io/transport-node@3.4.0");
  const servers = String(nats["servers"] ?? "127.0.0.1:4222").replaceAll(/[^,/]*@/g, "");
  console.log(`connecting to ${servers}`);
  globalThis.addEventListener("error", (event) => {
    const { code } = (event.error ?? {}) as { readonly code?: unknown };
    if (code === "ECONNRESET" || code === "EPIPE") event.preventDefault();
  });
  const patience = {
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_MS,
    waitOnFirstConnect: true,
  };
  try {
    return await connect({ ...patience, name: `shard ${name}`, ...nats });
  } catch (error) {
    if ((error as Error).name !== "AuthorizationError") throw error;
    const words = `NATS at ${servers} refuses the user or the password that "nats" of the file has`;
    throw new Error(`${words}: ${reasonOf(error)}`, { cause: error });
  }
}

/** Serves until a signal comes, or the disk fails. */
async function run(platform: typeof Deno, args: Arguments): Promise<void> {
  const config = await readFile(platform, args);
  const { name, prefix, directory, flushIntervalMs, nats, replay: options } = config;
  const flushes = flushIntervalMs === undefined ? {} : { flushIntervalMs };
  using opened = await ExperienceReplay.open(directory, { ...options, ...flushes });
  const replay = opened as ExperienceReplay;
  makeSelectors(replay, config);
  const connection = await connectNats(name, nats);
  try {
    const shard = await serveShard(replay, connection, { name, prefix });
    // Who reads the next line may send a signal at once.
    const signalled = untilSignal(platform);
    console.log(`serving ${directory} as shard ${name}: ${replay.recordCount} records`);
    const ended = await Promise.race([signalled, shard.closed]);
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
    {
      ...{ name: "shard", usage },
      readArguments: (given) =>
        readOptions<Name>(given, ["config", "name", "directory", "servers"]),
      run: (args: Arguments) => run(platform, args),
    },
    platform.args,
  );
}

if (import.meta.main && deno !== undefined) deno.exit(await main(deno));
