/** `deno task prebuild` may be ended at any time: what was packed before stays, and nothing that it started goes on. */
import { assert, assertEquals } from "../_assert.ts";
import { readTree } from "../../tools/_processes.ts";
import { inRepository, repository } from "../../tools/_repository.ts";
import { until } from "../_wait.ts";

/** A file of /proc about a program; "" where it has ended. */
function readProc(pid: number, file: string): string {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/${file}`);
  } catch {
    return "";
  }
}

/** Whether a program compiles for the target of this test. One that has ended has no command line. */
function compiles(pid: number): boolean {
  const words = readProc(pid, "cmdline").split("\0");
  return words.includes("-c") && words.some((word) => word.includes("aarch64"));
}

Deno.test({
  name: "SIGTERM ends the compilers that prebuild started, and leaves the folder as it was",
  // Only Linux tells which programs another one started; it lets programs with all permissions read that.
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const out = await Deno.makeTempDir({ prefix: "exrp_ended_" });
    try {
      await Deno.writeTextFile(`${out}/wasm32.ts`, "old");
      const child = new Deno.Command(Deno.execPath(), {
        args: [
          ...["run", "--quiet", "--no-check", "-A", inRepository("tools", "prebuild.ts")],
          ...["--only=aarch64-linux-musl", `--out=${out}`],
        ],
        cwd: repository,
        stdout: "null",
        stderr: "null",
      }).spawn();
      let pids: readonly number[] = [];
      let hasEnded = false;
      child.status.then(() => hasEnded = true);
      await until("prebuild compiles", () => {
        pids = readTree(child.pid)?.pids ?? [];
        return pids.some(compiles) || hasEnded;
      });
      assert(!hasEnded, "prebuild ended before it began to compile");
      child.kill("SIGTERM");
      assertEquals((await child.status).success, false);
      await until("no compiler runs", () => !pids.some(compiles));
      assertEquals(await Deno.readTextFile(`${out}/wasm32.ts`), "old");
    } finally {
      for (const folder of [out, `${out}.prebuild-part`]) {
        await Deno.remove(folder, { recursive: true }).catch(() => {});
      }
    }
  },
});
