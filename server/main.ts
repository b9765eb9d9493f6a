/**
 * The program of `deno task serve`: serves the tables of a configuration file until it is told to stop.
 *
 * @module
 */
import { readConfigText, readOptions, runProgram, untilSignal } from "../base/program.ts";
import { platformFiles } from "../storage/files.ts";
import { deno, environmentVariable } from "../base/platform.ts";
import { readConfig, type ServerConfig } from "./config.ts";
import { kernelTablesOf, Tables } from "../tables/tables.ts";
import { serve } from "./serve.ts";

const usage = `deno task serve --config=FILE [OPTION]

Serves the tables of a configuration file to Reverb's clients. docs/reverb.md says what the file has.

  --config=FILE      the file, JSON
  --hostname=NAME    the address to listen on, instead of the file's
  --port=NUMBER      the port, instead of the file's; 0 takes a free one
  --directory=PATH   the folder in which the tables are durable, instead of the file's
  --help             prints this

SIGINT, SIGTERM or SIGHUP stops the server: items that were confirmed are in the directory, or in the last checkpoint, if the file names a folder for them.
Another signal, half a second later or more, ends it at once.`;

/** What the arguments say. */
interface Arguments {
  readonly config: string;
  readonly hostname?: string;
  readonly port?: number;
  readonly directory?: string;
}

/** Reads the arguments; a text is what is wrong. */
function readArguments(args: readonly string[]): Arguments | string {
  const read = readOptions(args, ["config", "hostname", "port", "directory"]);
  if (typeof read === "string") return read;
  const { port, ...others } = read;
  if (port === undefined) return others;
  if (!/^\d{1,5}$/.test(port)) return `--port must be a number, got ${port}`;
  return { ...others, port: Number(port) };
}

/**
 * Reads the file. `deno task` runs this program in the folder of the repository, and says by INIT_CWD where the user stands. Relative paths in the
 * file begin at its own folder, and that of the argument where the user stands.
 */
async function readFile(
  platform: typeof Deno,
  file: string,
  directory: string | undefined,
): Promise<ServerConfig> {
  const files = platformFiles();
  if (files === undefined) throw new Error("there are no files here");
  const { resolve, dirname } = files.path;
  const { url } = import.meta;
  const repository = url.startsWith("file:") ? dirname(dirname(files.fromUrl(new URL(url)))) : "";
  const isTask = repository === resolve("");
  const here = isTask ? environmentVariable("INIT_CWD") ?? "" : "";
  const path = resolve(here, file);
  const config = readConfig(await readConfigText(platform, path));
  const within = (given: unknown): unknown =>
    typeof given === "string" ? resolve(dirname(path), given) : given;
  const paths: Record<string, unknown> = {};
  if (directory !== undefined) paths["directory"] = resolve(here, directory);
  else if (config.directory !== undefined) paths["directory"] = within(config.directory);
  if (config.checkpoint !== undefined) {
    const { folder, from } = config.checkpoint;
    paths["checkpoint"] = {
      ...config.checkpoint,
      ...folder === undefined ? {} : { folder: within(folder) },
      ...from === undefined ? {} : { from: within(from) },
    };
  }
  return { ...config, ...paths };
}

/** Runs the program; returns its exit status. */
export function main(platform: typeof Deno): Promise<number> {
  return runProgram(
    { name: "serve", usage, readArguments, run: (args) => run(platform, args) },
    platform.args,
  );
}

/** The tables of a configuration, in memory or in its folder. */
async function makeTables(
  { tables, seed, directory, flushIntervalMs }: ServerConfig,
): Promise<Tables> {
  const options = { tables, ...seed === undefined ? {} : { seed } };
  if (directory === undefined) return await Tables.create(options);
  const flushes = flushIntervalMs === undefined ? {} : { flushIntervalMs };
  return await Tables.open(directory, { ...options, ...flushes });
}

/** What the log of durable tables had, as one line; undefined for a new folder, and for tables in memory. */
function foundIn(tables: Tables): string | undefined {
  const { directory, recovered } = tables.durability ?? {};
  if (recovered === undefined) return undefined;
  const count = tables.names.reduce((sum, name) => sum + tables.table(name).size, 0);
  const { cutBytes, lostItemCount, damage } = recovered;
  const notes = [
    ...cutBytes > 0 ? [`cut off ${cutBytes} bytes that a crash left half written`] : [],
    ...damage === undefined ? [] : [`lost ${lostItemCount} items by damage at ${damage}`],
  ];
  return [`found ${count} items in ${directory}`, ...notes].join("; ");
}

/** Serves until a signal comes. */
async function run(
  platform: typeof Deno,
  { config: file, directory, ...given }: Arguments,
): Promise<void> {
  const config = await readFile(platform, file, directory);
  using tables = await makeTables(config);
  const { tables: _, seed: _1, directory: _2, flushIntervalMs: _3, ...others } = config;
  const server = await serve({ tables, ...others, ...given });
  const found = foundIn(tables);
  if (found !== undefined) console.log(found);
  if (server.loaded.path !== undefined) {
    const count = server.figures().tables.reduce((sum, { size }) => sum + size, 0);
    console.log(`loaded ${count} items from ${server.loaded.path}`);
  }
  // Who reads the next line may send a signal at once.
  const signalled = untilSignal(platform);
  console.log(`serving ${tables.names.join(", ")} on ${server.address}`);
  console.log(`status: http://${server.address}/`);
  const { backend, why } = kernelTablesOf(tables).kernel;
  if (backend !== "native") {
    console.log(
      `the tables run on WebAssembly, which is slower than the native kernel: ${why}`,
    );
  }
  console.log(`${await signalled}: stopping`);
  await server.stop();
  console.log("stopped");
}

if (import.meta.main && deno !== undefined) deno.exit(await main(deno));
