/**
 * Ends a program that hangs, however slow the machine is.
 *
 * A program hangs if it prints nothing for a minute in which it waits, or until it has worked for two minutes. Work is the processor time
 * of the program and of those that it started, so other programs that keep the machine busy don't count. Only Linux tells that time;
 * elsewhere, a program may print nothing for ten minutes.
 *
 * @module
 */
import { readTree } from "./_processes.ts";

/** How long a program may wait without printing. */
const waitingLimit = 60;
/** How much processor time it may take without printing. */
const workingLimit = 120;
/** How long it may print nothing where its processor time is unknown. */
const unknownLimit = 600;
/** A program that works less than this part of the time waits. So it must get more than a 30th of a core from a busy machine. */
const waitingShare = 0.03;

/** What a watch saw since the program last printed. */
export interface Silence {
  /** How many seconds passed in which the machine let this program look. */
  readonly seconds: number;
  /** The processor time that the program took, in seconds; undefined where the system does not tell. */
  readonly worked: number | undefined;
}

/** What is wrong with a program that has been silent so long; undefined where nothing is. */
export function hangs({ seconds, worked }: Silence): string | undefined {
  if (worked === undefined) {
    return seconds < unknownLimit ? undefined : `printed nothing for ${seconds} s`;
  }
  if (worked >= workingLimit) return `worked for ${Math.floor(worked)} s and printed nothing`;
  if (seconds < waitingLimit || worked >= waitingShare * seconds) return undefined;
  return `waited for ${seconds} s and printed nothing`;
}

/** Watches a program; see the module. */
export class Watch {
  readonly #pid: number;
  readonly #onHang: () => void;
  readonly #timer: ReturnType<typeof setInterval>;
  #seconds = 0;
  #worked: number | undefined = 0;
  #before: number | undefined;
  #said: string | undefined;

  /** @param onHang Is called once the program and what it started are ended. */
  constructor(pid: number, onHang: () => void) {
    this.#pid = pid;
    this.#onHang = onHang;
    // Counts its own turns and not the clock's: a machine that stood still for a while ends nothing.
    this.#timer = setInterval(() => this.#look(), 1_000);
  }

  /** Why the program was ended; undefined where it was not. */
  get said(): string | undefined {
    return this.#said;
  }

  /** The program printed something. What Deno says of a test that takes long is no progress. */
  progress(text: string): void {
    if (text.includes("has been running for over")) return;
    this.#seconds = 0;
    this.#worked = 0;
  }

  #look(): void {
    const tree = readTree(this.#pid);
    this.#seconds += 1;
    if (tree === undefined || this.#worked === undefined) this.#worked = undefined;
    else {
      // What a program took that nobody waited for is missing from the sum later.
      this.#worked += Math.max(0, tree.seconds - (this.#before ?? tree.seconds));
      this.#before = tree.seconds;
    }
    this.#said = hangs({ seconds: this.#seconds, worked: this.#worked });
    if (this.#said === undefined) return;
    this[Symbol.dispose]();
    for (const pid of tree?.pids ?? [this.#pid]) {
      try {
        Deno.kill(pid, "SIGKILL");
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
    this.#onHang();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
