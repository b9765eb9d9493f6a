/**
 * Runs jobs side by side, as many at a time as there are cores, and counts what they tested.
 *
 * A job says nothing while it runs. When it ends, one line says how it went, and what it printed follows where
 * something failed or was skipped. Every 30 seconds a line names the jobs that are still running.
 *
 * @module
 */
import { repository, seconds } from "./_repository.ts";
import { Watch } from "./_watch.ts";

/** How many tests ended how. */
export interface Count {
  /** Those that passed. */
  readonly passed: number;
  /** Those that failed. */
  readonly failed: number;
  /** Those that did not run. */
  readonly skipped: number;
}

/** What a job that is over has to say. */
export interface Result {
  /** How many tests of it ended how. */
  readonly count: Count;
  /** What it printed. */
  readonly text: string;
}

/** Something that is tested. */
export interface Job {
  /** What is tested, in a few words. */
  readonly name: string;
  /** Tests it; never throws for a test that fails. */
  readonly run: () => Promise<Result>;
  /** Whether later stages have nothing to test where it fails. */
  readonly isNeeded?: true;
}

/** What jobs tested together. */
export interface Outcome {
  /** The sum of their counts. */
  readonly count: Count;
  /** The jobs in which something failed. */
  readonly failed: readonly Job[];
}

/** No test. */
export const none: Count = { passed: 0, failed: 0, skipped: 0 };

/** The count of a job that is one test. */
export function one(outcome: keyof Count): Count {
  return { ...none, [outcome]: 1 };
}

/** The sum of two counts. */
export function add(left: Count, right: Count): Count {
  return {
    passed: left.passed + right.passed,
    failed: left.failed + right.failed,
    skipped: left.skipped + right.skipped,
  };
}

/** A count in words, as the last line of all has it. */
export function inWords({ passed, failed, skipped }: Count): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/** The words of a command as a person would type them. */
function typed([program = "", ...args]: readonly string[]): string {
  return [program === Deno.execPath() ? "deno" : program, ...args].join(" ");
}

/**
 * Runs a program and keeps what it prints, both streams in the order in which they came.
 *
 * @param options.isWatched Ends the program where it hangs (tools/_watch.ts); the last line that it printed then tells where.
 */
export async function capture(
  command: readonly string[],
  options: { readonly env?: Record<string, string>; readonly isWatched?: boolean } = {},
): Promise<{ code: number; text: string }> {
  const [program = "", ...args] = command;
  const { env = {}, isWatched = false } = options;
  let text = "";
  try {
    const child = new Deno.Command(program, {
      args,
      env: { NO_COLOR: "1", ...env },
      cwd: repository,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    // A program that it started may hold its streams, and outlive it.
    const hung = new AbortController();
    const { signal } = hung;
    using watch = isWatched ? new Watch(child.pid, () => hung.abort()) : undefined;
    const keep = async (from: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> => {
      try {
        for await (const part of from.pipeThrough(new TextDecoderStream(), { signal })) {
          text += part;
          watch?.progress(part);
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    };
    await Promise.all([keep(child.stdout), keep(child.stderr)]);
    const { code } = await child.status;
    if (watch?.said !== undefined) {
      const last = text.trimEnd().split("\n").at(-1);
      text += `\nHANGS: the program ${watch.said}, so it was ended here: ${last}\n`;
    }
    if (code !== 0) text += `\n\`${typed(command)}\` ended with status ${code}\n`;
    return { code, text };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { code: -1, text: `\`${typed(command)}\` could not be run: ${reason}\n` };
  }
}

/** A job that is one program, which passes when it ends with status 0. */
export function program(name: string, command: readonly string[]): Job {
  return {
    name,
    run: async () => {
      const { code, text } = await capture(command);
      return { count: one(code === 0 ? "passed" : "failed"), text };
    },
  };
}

/** Runs jobs side by side, the first ones first, and returns what they tested. */
export async function runJobs(
  jobs: readonly Job[],
  width: number = navigator.hardwareConcurrency,
  log: (line: string) => void = console.log,
): Promise<Outcome> {
  let total = none;
  const failed: Job[] = [];
  const running = new Map<string, number>();
  const ticker = setInterval(() => {
    const names = [...running].map(([name, start]) =>
      `${name} (${seconds(performance.now() - start)})`
    );
    log(`… still running: ${names.join(", ")}`);
  }, 30_000);
  const waiting = jobs.values();
  const work = async (): Promise<void> => {
    for (const job of waiting) {
      const { name } = job;
      const start = performance.now();
      running.set(name, start);
      const { count, text } = await job.run();
      running.delete(name);
      total = add(total, count);
      if (count.failed > 0) failed.push(job);
      const isQuiet = count.failed === 0 && count.skipped === 0;
      const how = count.failed > 0 ? "FAILED" : isQuiet ? "ok" : "skipped in part";
      const counts = count.passed + count.failed + count.skipped > 1 ? `, ${inWords(count)}` : "";
      log(`${name}: ${how}${counts} (${seconds(performance.now() - start)})`);
      if (!isQuiet && text.trim() !== "") log(text.trimEnd());
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.max(1, width) }, work));
  } finally {
    clearInterval(ticker);
  }
  return { count: total, failed };
}
