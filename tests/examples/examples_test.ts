/** Every program in examples/ runs and ends well; the training one only for a moment. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { assertStrictEquals } from "../_assert.ts";
import { onGpu } from "../gpu/_device.ts";
import { native } from "../_native.ts";

const EXAMPLES = new URL("../../examples/", import.meta.url);
const ROOT = new URL("../../", import.meta.url);

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, ROOT));
}

/** Agents, which train only for a moment here. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  "apex_cartpole/main.ts": ["--steps", "2000", "--actors", "2"],
  "continuous_control/main.ts": ["--steps", "1200", "--replay", "prioritized:3"],
  "dqn_cartpole.ts": ["--steps", "1500", "--seed", "1"],
  "drq_pixels/main.ts": ["--steps", "220", "--seed", "1"],
  "gpu_pixels/main.ts": ["--steps", "5", "--seed", "1"],
  "impala_cartpole/main.ts": ["--steps", "2048", "--seed", "1"],
  "many_machines/main.ts": ["--steps=600"],
  "one_agent/main.ts": ["--on=replay", "--steps=1000"],
  "ppo_cartpole/main.ts": ["--steps", "5000", "--seed", "1"],
  "reverb/main.ts": ["--actors=typescript", "--learner=typescript", "--steps=1000"],
  "r2d2_memory/main.ts": ["--steps", "1200", "--seed", "1"],
};

/** Programs that need other permissions than the rest. */
const PERMISSIONS: Readonly<Record<string, readonly string[]>> = {
  "actor_processes.ts": ["--allow-ffi", "--allow-read", "--allow-run"],
  "reverb/main.ts": [
    ...["--allow-ffi", "--allow-read", "--allow-write", "--allow-env", "--allow-run"],
    "--allow-net=127.0.0.1",
  ],
};

/** Programs that WebAssembly can't run. */
const NATIVE = new Set(["apex_cartpole/main.ts", "many_machines/main.ts"]);

/** Programs that need a driver for WebGPU. */
const ON_GPU = new Set(["gpu_pixels/main.ts"]);

/** A program is a file of the folder, or `main.ts` of a folder in it. */
const names = [...Deno.readDirSync(EXAMPLES)]
  .map(({ isFile, name }) => isFile ? name : `${name}/main.ts`)
  .filter((name) => name.endsWith(".ts") && !name.startsWith("_"))
  .filter((name) => existsSync(new URL(name, EXAMPLES)))
  .sort();

for (const name of names) {
  // They share a replay among threads, or have a durable one.
  const { test } = NATIVE.has(name) ? native : ON_GPU.has(name) ? onGpu : Deno;
  test(`examples/${name} runs`, async () => {
    const permissions = PERMISSIONS[name] ??
      (ARGUMENTS[name] === undefined
        ? ["--allow-ffi"]
        : ["--allow-ffi", "--allow-read", "--allow-write", "--allow-env", "--allow-sys"]);
    // Elsewhere, so that what it writes replaces no result of the user's.
    const folder = await Deno.makeTempDir();
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--quiet",
        "--no-prompt",
        ...permissions,
        "--config",
        pathOf("deno.json"),
        pathOf(`examples/${name}`),
        ...ARGUMENTS[name] ?? [],
      ],
      cwd: folder,
      stdout: "null",
      stderr: "piped",
    }).output();
    await Deno.remove(folder, { recursive: true });
    assertStrictEquals(code, 0, new TextDecoder().decode(stderr));
  });
}
