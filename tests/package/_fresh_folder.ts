/** A folder of a person who has Deno and nothing else: no file, and a cache of its own. */
import { join } from "node:path";

/** The variables that say how npm's registry is reached: the server's entry points need a package of npm's. */
export const reachNpm: Readonly<Record<string, string>> = Object.fromEntries([
  ...["NPM_CONFIG_REGISTRY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "DENO_CERT"],
  ...["DENO_TLS_CA_STORE", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"],
].flatMap((name) => {
  const value = Deno.env.get(name);
  return value === undefined ? [] : [[name, value]];
}));

/** What a program printed, and how it ended. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The folder. It is removed when it is disposed. */
export class FreshFolder implements AsyncDisposable {
  readonly path: string;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(path: string, env: Readonly<Record<string, string>>) {
    this.path = path;
    this.#env = env;
  }

  /** Makes one. Its programs see these environment variables, and few others. */
  static async make(env: Readonly<Record<string, string>> = {}): Promise<FreshFolder> {
    const path = await Deno.realPath(await Deno.makeTempDir({ prefix: "exrp_" }));
    return new FreshFolder(path, env);
  }

  /** The path of a file in the folder. */
  at(...parts: string[]): string {
    return join(this.path, ...parts);
  }

  /** Writes a file. */
  write(name: string, text: string): Promise<void> {
    return Deno.writeTextFile(this.at(name), text);
  }

  /** Runs a program in the folder. */
  async run(
    program: string,
    args: readonly string[],
    env: Record<string, string> = {},
  ): Promise<Ran> {
    const { code, stdout, stderr } = await new Deno.Command(program, {
      args: [...args],
      cwd: this.path,
      clearEnv: true,
      env: {
        PATH: Deno.env.get("PATH") ?? "",
        HOME: this.at("home"),
        XDG_CACHE_HOME: this.at("home", "cache"),
        DENO_DIR: this.at("home", "deno"),
        DENO_NO_UPDATE_CHECK: "1",
        NO_COLOR: "1",
        ...this.#env,
        ...env,
      },
      stdin: "null",
    }).output();
    const decoder = new TextDecoder();
    return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
  }

  /** Runs Deno in the folder. */
  deno(...args: string[]): Promise<Ran> {
    return this.run(Deno.execPath(), args);
  }

  /** Removes the folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

/** Ends a test with what the program printed, unless it ended with status 0. */
export function ended(what: string, { code, stdout, stderr }: Ran): void {
  if (code !== 0) throw new Error(`${what} ended with status ${code}:\n${stdout}\n${stderr}`);
}
