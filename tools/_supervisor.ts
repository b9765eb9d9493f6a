/**
 * Starts programs, starts those again that end by themselves, and ends them all.
 *
 * @module
 */

/** A program that a {@linkcode Supervisor} runs. */
export interface Program {
  readonly name: string;
  readonly path: string;
  readonly args: readonly string[];
  /** Whether all is over once it has ended well. Another one that ends well is not started again. */
  readonly isGoal?: boolean;
  /** Whether to show what it prints. What goes wrong is always shown. */
  readonly isLoud?: boolean;
}

/** What is known of a program. */
export interface Running {
  readonly name: string;
  /** The number of its process; undefined while there is none. */
  readonly pid: number | undefined;
  /** For how many seconds it has run. */
  readonly seconds: number;
  /** How often it was started again. */
  readonly restarts: number;
}

/** A program that ended by itself. */
export interface Death {
  readonly name: string;
  /** Such as `status 1` or `SIGKILL`. */
  readonly how: string;
  /** How many seconds ago. */
  readonly secondsAgo: number;
}

interface Child {
  readonly program: Program;
  process: Deno.ChildProcess | undefined;
  startedAt: number;
  restarts: number;
  /** How often in a row it ended soon after its start. */
  quick: number;
  /** Resolves once its latest process has ended, and all that it printed was shown. */
  ended: Promise<unknown>;
}

/** A program that ended so soon has perhaps something wrong with it. */
const QUICK_MS = 5_000;
/** After so many such ends in a row, all is ended. */
const QUICK_MAX = 5;
/** How long a program may take to end, before it is killed. */
const PATIENCE_MS = 10_000;
const DEATHS_SHOWN = 20;

/** Runs programs until one of them has reached the goal, until one can't be kept running, or until it is told to end. */
export class Supervisor {
  /** Resolves once all should end: with nothing if the goal was reached, else with what went wrong. */
  readonly finished: Promise<string | undefined>;
  readonly #children: Child[] = [];
  readonly #deaths: { readonly name: string; readonly how: string; readonly at: number }[] = [];
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  readonly #log: (line: string) => void;
  #finish: (problem: string | undefined) => void = () => {};
  #isEnding = false;

  /** @param log Takes each line that programs print, and what happened to them. */
  constructor(log: (line: string) => void) {
    this.#log = log;
    this.finished = new Promise((resolve) => this.#finish = resolve);
  }

  /** Starts a program. */
  start(program: Program): void {
    const child: Child = {
      ...{ program, process: undefined, startedAt: 0, restarts: 0, quick: 0 },
      ended: Promise.resolve(),
    };
    this.#children.push(child);
    this.#run(child);
  }

  /** What runs. */
  get running(): Running[] {
    return this.#children.map(({ program: { name }, process, startedAt, restarts }) => ({
      ...{ name, restarts, pid: process?.pid },
      seconds: process === undefined ? 0 : (performance.now() - startedAt) / 1000,
    }));
  }

  /** Who ended by itself lately, the latest first. */
  get deaths(): Death[] {
    return this.#deaths.map(({ name, how, at }) => ({
      ...{ name, how },
      secondsAgo: (performance.now() - at) / 1000,
    }));
  }

  #run(child: Child): void {
    const { name, path, args, isLoud = false } = child.program;
    const process = new Deno.Command(path, {
      args: [...args],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    child.process = process;
    child.startedAt = performance.now();
    const shown = [
      this.#show(name, process.stdout, isLoud),
      this.#show(name, process.stderr, true),
    ];
    child.ended = (async () => {
      const { success, signal, code } = await process.status;
      child.process = undefined;
      await Promise.all(shown);
      this.#ended(child, success, signal ?? `status ${code}`);
    })();
  }

  #ended(child: Child, isWell: boolean, how: string): void {
    if (this.#isEnding) return;
    const { name, isGoal = false } = child.program;
    if (isWell) {
      if (isGoal) this.#finish(undefined);
      return;
    }
    this.#deaths.unshift({ name, how, at: performance.now() });
    this.#deaths.splice(DEATHS_SHOWN);
    child.quick = performance.now() - child.startedAt < QUICK_MS ? child.quick + 1 : 1;
    if (child.quick >= QUICK_MAX) {
      return this.#finish(`${name} ended ${QUICK_MAX} times in a row soon after its start`);
    }
    const waitMs = 250 * 2 ** (child.quick - 1);
    this.#log(`${name} has ended by ${how}; it starts again in ${waitMs} ms`);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      child.restarts++;
      this.#run(child);
    }, waitMs);
    this.#timers.add(timer);
  }

  async #show(
    name: string,
    stream: ReadableStream<Uint8Array<ArrayBuffer>>,
    isShown: boolean,
  ): Promise<void> {
    let rest = "";
    for await (const piece of stream.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + piece).split("\n");
      rest = lines.pop() ?? "";
      if (isShown) { for (const line of lines) this.#log(`${name}: ${line}`); }
    }
    if (isShown && rest !== "") this.#log(`${name}: ${rest}`);
  }

  /** Ends all programs, those that were started last first, and waits until they have gone. */
  async end(): Promise<void> {
    this.#isEnding = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const child of this.#children.toReversed()) {
      const { process } = child;
      if (process === undefined) continue;
      tryKill(process, "SIGTERM");
      const timer = setTimeout(() => tryKill(process, "SIGKILL"), PATIENCE_MS);
      await child.ended;
      clearTimeout(timer);
    }
  }
}

function tryKill(process: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    process.kill(signal);
  } catch {
    // It has ended.
  }
}
