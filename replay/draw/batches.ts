/**
 * Draws one batch after the other. The kernel draws the next ones while the learner works.
 *
 * @module
 */

import { checkBoolean, checkInteger, checkNumber } from "../../base/checks.ts";
import { checkOptions } from "../../base/option_names.ts";
import { checkWait } from "../../base/waits.ts";
import { EXRP_LIMIT_ORDERS } from "../../ffi/symbols.ts";
import { isHeldBack } from "../rate_limiter/waiting.ts";

/** The options of {@linkcode ExperienceReplay.batches}. */
export interface BatchesOptions {
  /** How many batches are drawn ahead: a whole number from 0 to 16; 1 by default. */
  readonly prefetch?: number;
  /** Ends the iteration when it aborts. The loop then throws its reason. */
  readonly signal?: AbortSignal;
  /**
   * The exponent of importance weights, as in `getBatch`; 1 by default. A function is called at each draw, so that you can change
   * `beta` during training.
   */
  readonly beta?: number | (() => number);
  /**
   * Whether memory is used again (false by default). A batch is then yours until you ask for the next one, and nothing is allocated.
   */
  readonly reuse?: boolean;
}

/** What a stream of batches draws with; `B` is their type. */
export interface BatchStreamSource<B> {
  /** Draws a batch now. */
  draw(beta: number, into: B | undefined): B;
  /** Draws a batch as of now: on another thread, if the selector can. */
  drawAhead(beta: number, into: B | undefined): Promise<B> | B;
  /** Draws as soon as the rate limiter allows it. */
  drawInTime(
    beta: number,
    into: B | undefined,
    signal: AbortSignal | undefined,
  ): Promise<B>;
  /** A number that changes when a snapshot is loaded: batches of another number are drawn again. */
  epoch(): number;
  /** Says whether a batch is the stream's to write into; if not, it is the user's to do with as they like. */
  lend(batch: B, isLent: boolean): void;
}

/** A batch that is drawn ahead, or will be. */
interface Ahead<B> {
  readonly drawn: Promise<B>;
  readonly into: B | undefined;
  readonly beta: number;
  readonly epoch: number;
}

const OPERATION = "batches()";
const PREFETCH_MAX = EXRP_LIMIT_ORDERS / 2;

/** Checks the options and begins to draw at the first call of `next`. */
export function streamBatches<B>(
  source: BatchStreamSource<B>,
  options: BatchesOptions,
): AsyncGenerator<B, void, void> {
  checkOptions(OPERATION, options, ["prefetch", "signal", "beta", "reuse"]);
  const { prefetch = 1, signal, beta = 1, reuse = false } = options;
  checkInteger(`${OPERATION}: prefetch`, prefetch, 0, PREFETCH_MAX);
  checkWait(OPERATION, options);
  const betaNow = (): number =>
    checkNumber(`${OPERATION}: beta`, typeof beta === "function" ? beta() : beta, 0, 2 ** 53);
  if (typeof beta !== "function") betaNow();
  checkBoolean(`${OPERATION}: reuse`, reuse);
  return run();

  async function drawOne(beta: number, into: B | undefined): Promise<B> {
    return await (prefetch > 0 ? source.drawAhead(beta, into) : source.draw(beta, into));
  }

  async function* run(): AsyncGenerator<B, void, void> {
    const ahead: Ahead<B>[] = [];
    const spare: B[] = [];
    const draw = (): Ahead<B> => {
      const [epoch, beta, into] = [source.epoch(), betaNow(), spare.pop()];
      const drawn = drawOne(beta, into);
      // Whoever waits for it hears of its failure, and perhaps nobody does.
      drawn.catch(() => {});
      return { drawn, into, beta, epoch };
    };
    try {
      while (true) {
        signal?.throwIfAborted();
        while (ahead.length < prefetch + 1) ahead.push(draw());
        // It stays among those ahead until it is there: an abort must not end this while the kernel writes to it.
        const [{ drawn, into, beta, epoch }] = ahead as [Ahead<B>];
        let batch: B | undefined;
        try {
          batch = await untilAborted(drawn, signal);
        } catch (error) {
          if (!isHeldBack(error)) throw error;
          // One behind it may have been drawn: it must not wait for this one, as both count in the rate limiter.
          await dropHeldBack(ahead, spare);
          if (ahead.length > 0) continue;
        }
        // Whatever was drawn before a snapshot was loaded, however fast the other thread was.
        if (batch === undefined || epoch !== source.epoch()) {
          batch = await source.drawInTime(beta, batch ?? into, signal);
        }
        ahead.shift();
        source.lend(batch, false);
        yield batch;
        if (!reuse) continue;
        // The user may still hold it, but can't hand its memory back any more.
        source.lend(batch, true);
        spare.push(batch);
      }
    } finally {
      // The kernel may be writing still: nothing ends before that does.
      await Promise.allSettled(ahead.map(({ drawn }) => drawn));
    }
  }
}

/** Takes away those that the rate limiter held back, once it is known which they are. */
async function dropHeldBack<B>(ahead: Ahead<B>[], spare: B[]): Promise<void> {
  const settled = await Promise.allSettled(ahead.map(({ drawn }) => drawn));
  const isBack = settled.map((one) => one.status === "rejected" && isHeldBack(one.reason));
  for (let at = ahead.length - 1; at >= 0; at--) {
    if (isBack[at] !== true) continue;
    const [{ into }] = ahead.splice(at, 1) as [Ahead<B>];
    // If none is left, the first one's memory is wanted at once.
    if (into !== undefined && (at > 0 || ahead.length > 0)) spare.push(into);
  }
}

/** The batch, unless the signal comes first. */
function untilAborted<B>(batch: Promise<B>, signal: AbortSignal | undefined): Promise<B> {
  if (signal === undefined) return batch;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    batch.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
