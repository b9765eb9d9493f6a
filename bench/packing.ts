/**
 * Packed rows of real frames beside plain ones: how much smaller they are, how long packing takes, and a batch of stacks from a pool of a GiB.
 *
 * `deno task bench:packing` records frames of twelve Atari games at first, by `bench/packing/frames.py` in an environment of its own
 * (`.cache/packing`): 1,000 of each game under a random policy, and as many of one that searches. It keeps them there. Then it builds
 * `bench/packing/measure.cpp` and runs it on both. `--quick` takes 160 frames of each game and a pool of 256 MiB.
 *
 * @module
 */

import { inRepository, isNewer, listTree, run, seconds } from "../tools/_repository.ts";
import { findZig } from "../tools/_zig.ts";
import { readArguments } from "../tools/_arguments.ts";

const options = readArguments(
  Deno.args,
  { quick: { type: "boolean" } },
  "deno task bench:packing [--quick]: packed rows of Atari frames beside plain ones",
);
if (typeof options === "number") Deno.exit(options);
const quick = options.quick === true;

const folder = inRepository(".cache", "packing");
const python = Deno.build.os === "windows"
  ? `${folder}\\Scripts\\python.exe`
  : `${folder}/bin/python`;
const here = inRepository("bench", "packing");

async function must(what: string, command: string[]): Promise<void> {
  const { success, stderr } = await run(command);
  if (!success) {
    throw new Error(`${what} failed. It ran ${command.join(" ")}, which said:\n${stderr}`);
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Makes the environment where its packages are missing or of other versions. */
async function makeEnvironment(): Promise<void> {
  const wanted = await Deno.readTextFile(`${here}/requirements.txt`);
  const mark = `${folder}/installed.txt`;
  if (await exists(mark) && await Deno.readTextFile(mark) === wanted) return;
  console.error("installing the Atari games of PyPI's ale-py ...");
  await must("Making an environment of Python", [
    ...[Deno.env.get("EXRP_PYTHON") ?? "python3", "-m", "venv", "--clear", folder],
  ]);
  await must("Installing the packages", [
    ...[python, "-m", "pip", "install", "--quiet", "-r", `${here}/requirements.txt`],
  ]);
  await Deno.writeTextFile(mark, wanted);
}

/** Records frames where they are not there yet. Returns their file. */
async function frames(policy: string, count: number): Promise<string> {
  const file = `${folder}/${policy}.${count}.bin`;
  if (await exists(file)) return file;
  console.error(`recording ${count} frames of each game, ${policy} policy: minutes, once ...`);
  const start = performance.now();
  const partial = `${file}.${Deno.pid}`;
  await must("Recording frames", [
    ...[python, `${here}/frames.py`, `--policy=${policy}`, `--count=${count}`, `--out=${partial}`],
  ]);
  await Deno.rename(partial, file);
  console.error(`recorded in ${seconds(performance.now() - start)}`);
  return file;
}

/** Builds the program where it is older than its sources. */
async function build(): Promise<string> {
  const program = `${folder}/measure`;
  const sources = ["bench/packing/measure.cpp", ...await listTree("kernel/packing", ".cpp")];
  const headers = await listTree("kernel", ".hpp", ".txt");
  if (await isNewer(program, [...sources, ...headers])) return program;
  console.error("compiling the measurement: a minute or two the first time, else seconds ...");
  const flags = (await Deno.readTextFile(inRepository("kernel", "flags.txt"))).trim().split(/\s+/)
    .filter((flag) => !flag.includes("_LIBCPP_"));
  const zig = await findZig((line) => console.error(line));
  await must("Compiling the measurement", [
    ...[
      ...zig.command,
      "c++",
      ...flags,
      "-DNDEBUG",
      "-fno-sanitize=all",
      "-mcpu=baseline",
      "-I.",
      ...sources,
      "-o",
      program,
    ],
  ]);
  return program;
}

await makeEnvironment();
const count = quick ? 160 : 1000;
const files = [await frames("random", count), await frames("search", count)];
const program = await build();
const pool = quick ? ["--pool=268435456"] : [];
const { code } = await new Deno.Command(program, { args: [...pool, ...files] }).spawn().status;
Deno.exit(code);
