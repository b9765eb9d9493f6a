/** The package as it is published: its files in a folder of their own, with kernels made by tools/prebuild.ts. */
import { assertEquals } from "../_assert.ts";
import { basename, dirname, join } from "node:path";
import { inRepository, listTree, repository } from "../../tools/_repository.ts";
import { findZig } from "../../tools/_zig.ts";

/** This machine's target, as the package names it. */
export const ownTarget: string = (() => {
  const { arch, os } = Deno.build;
  if (os === "darwin") return `${arch}-macos`;
  return os === "linux" ? `${arch}-linux-gnu` : `${arch}-${os}`;
})();

/** The module of this machine's target. */
export const ownModule = `${ownTarget.replace(/-gnu$/, "")}.wasm`;

/** Makes the kernels of some targets into a folder, by the sources and the tool in `root`; `flags` are other ones of the tool. */
export async function prebuild(
  targets: readonly string[],
  out: string,
  { root = repository, flags = [] }: { root?: string; flags?: readonly string[] } = {},
): Promise<void> {
  const zig = await findZig(() => {});
  const tool = join(root, "tools", "prebuild.ts");
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-check", "-A", tool, `--only=${targets.join(",")}`],
      ...[`--out=${out}`, ...flags],
    ],
    // `python3 -m ziglang` is no path. The tool finds that one by itself.
    env: zig.command.length === 1 ? { ZIG: zig.command[0] ?? "" } : {},
    cwd: root,
  }).output();
  const decoder = new TextDecoder();
  assertEquals(code, 0, decoder.decode(stdout) + decoder.decode(stderr));
}

/** What a program printed, and how it ended. */
export interface Ended {
  /** Its exit status. */
  readonly status: number;
  /** Its standard output. */
  readonly out: string;
  /** Its standard error. */
  readonly error: string;
}

/** How a program is run. */
export interface RunOptions {
  /** The flags of `deno run`, such as its permissions. */
  readonly flags?: readonly string[];
  /** Variables of the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Commands of a shell before it, in a mount namespace of its own. */
  readonly mount?: string;
}

/** A package in a folder of its own. */
export class Packed {
  private constructor(
    /** The folder that has all of it. */
    readonly root: string,
  ) {}

  /** The package, with kernels out of a folder that {@linkcode prebuild} made. */
  static async from(kernels: string): Promise<Packed> {
    const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "exrp_packed_" }));
    const packed = new Packed(root);
    await Deno.mkdir(packed.folder);
    const { publish } = JSON.parse(await Deno.readTextFile(inRepository("deno.json")));
    const files: string[] = [];
    for (const path of publish.include) {
      if (path === "prebuilt") continue;
      files.push(
        ...path.includes(".") || path === "LICENSE" ? [path] : await listTree(path, ".ts"),
      );
    }
    for (const file of files) {
      const copy = join(packed.folder, file);
      await Deno.mkdir(dirname(copy), { recursive: true });
      await Deno.copyFile(inRepository(file), copy);
    }
    await Deno.mkdir(join(packed.folder, "prebuilt"));
    for await (const { name } of Deno.readDir(kernels)) {
      await Deno.copyFile(join(kernels, name), join(packed.folder, "prebuilt", name));
    }
    return packed;
  }

  /** The folder of the package. */
  get folder(): string {
    return join(this.root, "package");
  }

  /** An empty folder for unpacked kernels. */
  async newCache(): Promise<string> {
    return await Deno.makeTempDir({ dir: this.root, prefix: "cache_" });
  }

  /** Changes the text of a file of the package, until what it returns is disposed. */
  edit(file: string, change: (text: string) => string): Promise<AsyncDisposable> {
    return this.editBytes(file, (bytes) => {
      const before = new TextDecoder().decode(bytes);
      const after = change(before);
      if (after === before) throw new Error(`${file} was not changed`);
      return new TextEncoder().encode(after);
    });
  }

  /** Changes the bytes of a file of the package, until what it returns is disposed. */
  async editBytes(
    file: string,
    change: (bytes: Uint8Array) => Uint8Array,
  ): Promise<AsyncDisposable> {
    const path = join(this.folder, file);
    const before = await Deno.readFile(path);
    await Deno.writeFile(path, change(before.slice()));
    return { [Symbol.asyncDispose]: () => Deno.writeFile(path, before) };
  }

  /** Runs a program that imports the package. */
  async run(code: string, options: RunOptions = {}): Promise<Ended> {
    const { flags = ["-A"], env = {}, mount } = options;
    const program = join(this.root, `main_${crypto.randomUUID()}.ts`);
    await Deno.writeTextFile(program, code);
    const config = join(this.folder, "deno.json");
    const deno = [
      ...[Deno.execPath(), "run", "--quiet", "--no-prompt", "--no-check", "--no-lock"],
      ...[`--config=${config}`, ...flags, program],
    ];
    const command = mount === undefined ? deno : inNamespace(mount, deno);
    const { code: status, stdout, stderr } = await new Deno.Command(command[0] ?? "", {
      args: command.slice(1),
      env: { EXRP_KERNEL: "", EXRP_BACKEND: "", EXRP_CACHE: "", NO_COLOR: "1", ...env },
      cwd: this.root,
    }).output();
    const decoder = new TextDecoder();
    return { status, out: decoder.decode(stdout).trim(), error: decoder.decode(stderr) };
  }
}

/** A command in a mount namespace of its own, after commands of the shell that mount something. */
function inNamespace(mount: string, command: readonly string[]): string[] {
  const script = `${mount} && exec "$@"`;
  return ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", ...command];
}

/** Whether this machine lets us mount a file system in a namespace of our own. */
export async function canMount(): Promise<boolean> {
  const folder = await Deno.makeTempDir();
  const [program = "", ...args] = inNamespace(`mount -t tmpfs none ${folder}`, ["true"]);
  try {
    return (await new Deno.Command(program, { args, stderr: "null" }).output()).success;
  } catch {
    return false;
  } finally {
    await Deno.remove(folder);
  }
}

/** The names in a folder, sorted. */
export async function namesIn(folder: string): Promise<string[]> {
  const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => basename(name));
  return names.sort();
}
