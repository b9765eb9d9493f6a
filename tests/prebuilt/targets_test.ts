/**
 * The libraries of the package on the systems that they were built for, by emulators: calls that the model test records here must give
 * the same bytes there.
 *
 * By default this is arm64 Linux, by qemu-user. `EXRP_TARGETS` names others, separated by commas: those of musl need its loader, and
 * `x86_64-windows` needs wine64. Nothing here runs macOS.
 */
import { assertEquals, assertMatch } from "../_assert.ts";
import { join } from "node:path";
import { symbols } from "../../ffi/symbols.ts";
import { exists, libraryFileName, repository } from "../../tools/_repository.ts";
import { findZig } from "../../tools/_zig.ts";
import { KernelTap } from "../whole/model/kernel_tap.ts";
import { makeProgram, withoutTransforms } from "../whole/model/program.ts";
import { runProgram } from "../whole/model/runner.ts";
import { prebuild } from "./_packed.ts";

/** How a target's programs are linked and run. */
interface Emulator {
  /** The compiler's name of the target. */
  readonly triple: string;
  /** What stands before the program; nothing where this machine runs it by itself. */
  readonly command: readonly string[];
  /** The file that it needs. */
  readonly needs: string;
}

const emulators: Readonly<Record<string, Emulator>> = {
  "aarch64-linux-gnu": {
    triple: "aarch64-linux-gnu.2.17",
    command: ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"],
    needs: "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1",
  },
  "aarch64-linux-musl": {
    triple: "aarch64-linux-musl",
    command: ["qemu-aarch64"],
    needs: "/lib/ld-musl-aarch64.so.1",
  },
  "x86_64-linux-gnu": {
    triple: "x86_64-linux-gnu.2.17",
    command: [],
    needs: "/lib64/ld-linux-x86-64.so.2",
  },
  "x86_64-linux-musl": {
    triple: "x86_64-linux-musl",
    command: [],
    needs: "/lib/ld-musl-x86_64.so.1",
  },
  "x86_64-windows": {
    triple: "x86_64-windows-gnu",
    command: ["/usr/lib/wine/wine64"],
    needs: "/usr/lib/wine/wine64",
  },
};

const RECORDING_COUNT = 12;
const isLinux = Deno.build.target === "x86_64-unknown-linux-gnu";
const named = Deno.env.get("EXRP_TARGETS")?.split(",").filter((name) => name !== "");

async function run(command: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const [program = "", ...args] = command;
  const { code, stdout, stderr } = await new Deno.Command(program, { args, env, cwd: repository })
    .output();
  const decoder = new TextDecoder();
  assertEquals(code, 0, `${command.join(" ")}\n${decoder.decode(stdout)}${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}

/** The library of a target, out of the module that a package has of it; returns its file. */
async function unpack(target: string, folder: string): Promise<string> {
  await prebuild([target], join(folder, "prebuilt"), { flags: ["--native"] });
  const { targets } = await import(`file://${folder}/prebuilt/targets.ts`);
  const { load, packedSize } = targets[target];
  const { memory } = await load();
  const expander = new DecompressionStream("brotli");
  const stream = new Blob([new Uint8Array(memory.buffer, 0, packedSize)]).stream().pipeThrough(
    expander,
  );
  const path = join(folder, libraryFileName(target.includes("windows") ? "windows" : "linux"));
  await Deno.writeFile(path, new Uint8Array(await new Response(stream).arrayBuffer()));
  return path;
}

/** Links replay_recordings.cpp with a library; returns the program. */
async function link(target: string, library: string, folder: string): Promise<string> {
  const { command } = await findZig(() => {});
  let linked = library;
  if (target.includes("windows")) {
    const names = Object.keys(symbols).join("\n");
    const definitions = join(folder, "exrp.def");
    linked = join(folder, "exrp.lib");
    await Deno.writeTextFile(definitions, `LIBRARY exrp.dll\nEXPORTS\n${names}\n`);
    await run([...command, "dlltool", "-m", "i386:x86-64", "-d", definitions, "-l", linked]);
  }
  const program = join(folder, target.includes("windows") ? "replay.exe" : "replay");
  const object = join(folder, "replay_recordings.o");
  const triple = ["-target", emulators[target]?.triple ?? "", "-mcpu=baseline"];
  const env = { ZIG_LOCAL_CACHE_DIR: ".zig-cache" };
  await run([
    ...[...command, "c++", "-c", ...triple, "-std=c++20", "-O2", "-fno-exceptions", "-fno-rtti"],
    ...["-fno-threadsafe-statics", "-fno-sanitize=all", "-I.", "-o", object],
    "tests/prebuilt/replay_recordings.cpp",
  ], env);
  await run([...command, "cc", ...triple, "-nostdlib++", "-s", "-o", program, object, linked], env);
  return program;
}

/** Records programs of the model test on this machine's own kernel; returns the files. */
async function record(folder: string): Promise<string[]> {
  const files: string[] = [];
  for (let seed = 1; seed <= RECORDING_COUNT; seed++) {
    using tap = await KernelTap.on({ recording: true });
    await runProgram(withoutTransforms(makeProgram(seed, 300)), tap);
    const file = join(folder, `${seed}.ops`);
    await Deno.writeTextFile(file, tap.recording);
    files.push(file);
  }
  return files;
}

for (const [target, { command, needs }] of Object.entries(emulators)) {
  if (!(named ?? ["aarch64-linux-gnu"]).includes(target)) continue;
  Deno.test({
    name: `${target}: the package's library gives the bytes that were recorded here`,
    ignore: !isLinux || !await exists(needs),
    fn: async () => {
      const folder = await Deno.makeTempDir({ prefix: "exrp_target_" });
      try {
        const program = await link(target, await unpack(target, folder), folder);
        const files = await record(folder);
        const paths = command[0]?.includes("wine") ? files.map((file) => `Z:${file}`) : files;
        const env = {
          LD_LIBRARY_PATH: folder,
          WINEPREFIX: join(folder, "wine"),
          WINEDEBUG: "-all",
        };
        const variables = command[0] === "qemu-aarch64" ? ["-E", `LD_LIBRARY_PATH=${folder}`] : [];
        if (variables.length > 0) env.LD_LIBRARY_PATH = "";
        const said = await run([...command, ...variables, program, ...paths], env);
        assertMatch(said, new RegExp(`^${RECORDING_COUNT} recordings, \\d{4,} calls, 0 failed`));
        // The test sees a difference: a recording with another result fails.
        const [file = ""] = files;
        const text = await Deno.readTextFile(file);
        await Deno.writeTextFile(file, text.replace(/ = 0 \d{5,}$/m, " = 0 1"));
        const wrong = await new Deno.Command(command[0] ?? program, {
          args: [
            ...command.slice(1),
            ...variables,
            ...command.length ? [program] : [],
            paths[0] ?? "",
          ],
          env,
        }).output();
        assertEquals(wrong.code, 1);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}
