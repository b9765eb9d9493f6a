/** Node, Bun, esbuild and TypeScript, as npm has them. They are installed once, into a folder that git ignores. */
import { join } from "node:path";
import { exists, inRepository, run } from "./_repository.ts";

/** What is installed, under which name. */
const packages: Readonly<Record<string, string>> = {
  node20: "npm:node@20.20.2",
  node22: "npm:node@22.23.3",
  node24: "npm:node@24.21.0",
  bun: "1.4.5",
  esbuild: "0.28.2",
  typescript: "6.0.3",
};

const folder = inRepository(".cache", "runtimes");
const isWindows = Deno.build.os === "windows";

/** The programs, by their names. */
export interface Runtimes {
  /** Where the programs are. */
  readonly path: Readonly<
    Record<"node20" | "node22" | "node24" | "bun" | "esbuild" | "tsc", string>
  >;
}

/** The name of npm's program. */
export const npm: string = isWindows ? "npm.cmd" : "npm";

/** The programs, or in words why they can't be installed. */
export async function installRuntimes(): Promise<Runtimes | string> {
  const json = JSON.stringify({ private: true, dependencies: packages });
  const done = join(folder, "done.json");
  const isDone = await exists(done) && await Deno.readTextFile(done) === json;
  if (!isDone) {
    await Deno.mkdir(folder, { recursive: true });
    await Deno.writeTextFile(join(folder, "package.json"), json);
    const install = ["install", "--no-audit", "--no-fund", "--loglevel=error"];
    const { success, stderr } = await run([npm, ...install, "--prefix", folder]);
    if (!success) {
      return `npm can't install Node, Bun, esbuild and TypeScript here: ${stderr.trim()}`;
    }
    await Deno.writeTextFile(done, json);
  }
  const modules = join(folder, "node_modules");
  const end = isWindows ? ".cmd" : "";
  const exe = isWindows ? ".exe" : "";
  const node = (version: number): string => join(modules, `node${version}`, "bin", `node${exe}`);
  return {
    path: {
      node20: node(20),
      node22: node(22),
      node24: node(24),
      bun: join(modules, ".bin", `bun${end}`),
      esbuild: join(modules, ".bin", `esbuild${end}`),
      tsc: join(modules, "typescript", "bin", "tsc"),
    },
  };
}
