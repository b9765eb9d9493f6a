/**
 * Actors and learners as processes, in Python or in TypeScript.
 *
 * @module
 */
import { fileURLToPath } from "node:url";

/** The languages of the programs. */
export const LANGUAGES = ["python", "typescript"] as const;

/** The language of a program. */
export type Language = typeof LANGUAGES[number];

/** What went wrong without a fault of this program. Its words say all. */
export class RunError extends Error {
  override readonly name = "RunError";
}

const isWindows = Deno.build.os === "windows";

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** The Python that has Reverb: the one that EXRP_REVERB_PYTHON names, or that of `deno task reverb:install`. */
export function findPython(): string | undefined {
  const named = Deno.env.get("EXRP_REVERB_PYTHON");
  const installed = isWindows ? "Scripts/python.exe" : "bin/python";
  const path = named ?? pathOf(`../../.cache/peers/reverb/${installed}`);
  return isFile(path) ? path : undefined;
}

/** The command that runs a program: `actor`, `learner` or `server`. */
function commandOf(language: Language, name: string, address: string): [string, string[]] {
  if (language === "python") return [findPython() ?? "python3", ["-B", pathOf(`${name}.py`)]];
  const permissions = ["--allow-read", "--allow-env", "--allow-ffi", `--allow-net=${address}`];
  return [Deno.execPath(), ["run", "--quiet", "--no-prompt", ...permissions, pathOf(`${name}.ts`)]];
}

/** Programs that run, and end with this object. */
export class Programs implements AsyncDisposable {
  readonly #address: string;
  readonly #children: Deno.ChildProcess[] = [];
  readonly #failed = Promise.withResolvers<never>();
  #isOver = false;

  constructor(address: string) {
    this.#address = address;
    this.#failed.promise.catch(() => {}); // whoever races with it hears of it
  }

  /** Starts a program, and gives what it prints, line by line. It is an error if it fails. */
  start(language: Language, name: string, args: readonly string[]): ReadableStream<string> {
    const [program, before] = commandOf(language, name, this.#address);
    const child = new Deno.Command(program, {
      args: [...before, `--address=${this.#address}`, ...args],
      stdin: "null",
      stdout: "piped",
    }).spawn();
    this.#children.push(child);
    child.status.then(({ success, code, signal }) => {
      if (success || this.#isOver) return;
      const how = signal === null ? `with status ${code}` : `by ${signal}`;
      this.#failed.reject(
        new RunError(`the ${name} in ${language} ended ${how}; see its words above`),
      );
    });
    return child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(lines());
  }

  /** What `promise` gives, unless a program fails before. */
  race<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#failed.promise]);
  }

  /** Ends all programs. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#children.map(async (child) => {
      try {
        child.kill("SIGTERM");
      } catch {
        // It has ended by itself.
      }
      await child.status;
      await child.stdout.cancel().catch(() => {}); // somebody reads it
    }));
  }
}

/** Cuts texts into lines. */
function lines(): TransformStream<string, string> {
  let rest = "";
  return new TransformStream({
    transform(text, controller): void {
      const parts = (rest + text).split("\n");
      rest = parts.pop() ?? "";
      for (const line of parts) if (line !== "") controller.enqueue(line);
    },
  });
}
