/**
 * Waiting until a replay is ready for something, without asking again and again.
 *
 * @module
 */

import { checkInteger, show } from "../../base/checks.ts";
import { checkOptions } from "../../base/option_names.ts";
import { ReplayError } from "../../base/errors.ts";
import { checkWait, waitUntil } from "../../base/waits.ts";
import {
  EXRP_INFO_EPISODE_COUNT,
  EXRP_INFO_PICK_COUNT,
  EXRP_INFO_RECORD_COUNT,
  EXRP_INFO_RECORDED_COUNT,
} from "../../ffi/symbols.ts";
import type { ReplayCore } from "../core.ts";

/** How long {@linkcode ExperienceReplay.whenReady} waits. */
export interface WaitOptions {
  /** Ends the wait when it aborts: the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** The longest wait, in ms: 0 to 2^31 - 1. After it, the promise rejects with a `ReplayError`, `timeout`. Without it there is no limit. */
  readonly timeoutMs?: number;
}

/** What {@linkcode ExperienceReplay.waitFor} waits for: exactly one of the numbers, each a whole number of 1 or more. */
export interface WaitForOptions extends WaitOptions {
  /** At least so many records are stored now. */
  readonly records?: number;
  /** At least so many records were written to the replay since it was created. Evictions do not lower this number. */
  readonly recorded?: number;
  /** The first pick view has at least so many picks now. */
  readonly picks?: number;
  /** The replay has at least so many episodes now. Open ones count, and those without a record too. */
  readonly episodes?: number;
}

/** What an attempt returns if it has to be made again. */
const NOT_YET = Symbol("not yet");

const WAIT_FOR = "waitFor()";
const WHEN_READY = "whenReady()";
const COUNTS = {
  records: { index: EXRP_INFO_RECORD_COUNT, text: "records stored now", isBounded: true },
  recorded: { index: EXRP_INFO_RECORDED_COUNT, text: "records ever written", isBounded: false },
  picks: {
    index: EXRP_INFO_PICK_COUNT,
    text: "picks in the first pick view now",
    isBounded: true,
  },
  episodes: { index: EXRP_INFO_EPISODE_COUNT, text: "episodes stored now", isBounded: false },
} as const;
const COUNT_NAMES = ["records", "recorded", "picks", "episodes"] as const;
const WAIT_NAMES = ["signal", "timeoutMs"] as const;

/** Waits until the replay of `core` has at least so many of something; returns how many it has. */
export async function waitFor(core: ReplayCore, options: WaitForOptions): Promise<number> {
  checkOptions(WAIT_FOR, options, [...COUNT_NAMES, ...WAIT_NAMES]);
  const names = COUNT_NAMES.filter((name) => options[name] !== undefined);
  const [name] = names;
  if (name === undefined || names.length > 1) {
    throw new TypeError(
      `${WAIT_FOR} takes one of records, recorded, picks and episodes, got ${
        names.length === 0 ? "none" : names.join(" and ")
      }`,
    );
  }
  const { index, text, isBounded } = COUNTS[name];
  const { capacity } = core.config;
  const most = isBounded ? capacity : Number.MAX_SAFE_INTEGER;
  const where = `${WAIT_FOR}: ${name}${isBounded ? " (at most the capacity)" : ""}`;
  const wanted = checkInteger(where, options[name], 1, most);
  checkWait(WAIT_FOR, options);
  let count = 0;
  const look = (): number | typeof NOT_YET => {
    if (core.busyWith !== undefined && !core.isDisposed) return NOT_YET;
    count = core.info(WAIT_FOR)[index] ?? 0;
    return count >= wanted ? count : NOT_YET;
  };
  const late = (): ReplayError =>
    new ReplayError(
      "timeout",
      `${WAIT_FOR}: ${name} was to be at least ${wanted} within ${options.timeoutMs} ms, but it is ${count} (${text})`,
    );
  return await attemptUntil(core, options, look, late);
}

/**
 * Calls `call` until the replay is ready for it: until it throws neither `rate-limiter` nor `empty`, and `isInVain` does not say that it returned
 * nothing. Returns what it returned.
 */
export async function whenReady<T>(
  core: ReplayCore,
  call: () => T,
  options: WaitOptions,
  isInVain: (result: T) => boolean,
): Promise<T> {
  if (typeof call !== "function") {
    throw new TypeError(`${WHEN_READY} takes a function that calls the replay, got ${show(call)}`);
  }
  checkOptions(WHEN_READY, options, WAIT_NAMES);
  checkWait(WHEN_READY, options);
  let why: unknown;
  const attempt = (): T | typeof NOT_YET => {
    try {
      const result = call();
      if (result instanceof Promise) {
        result.catch(() => {});
        throw new TypeError(
          `${WHEN_READY} takes a function that calls the replay at once, got one that returned a Promise`,
        );
      }
      why = undefined; // it may have said why before
      return isInVain(result) ? NOT_YET : result;
    } catch (error) {
      if (!isPassing(core, error)) throw error;
      why = error;
      return NOT_YET;
    }
  };
  const onlyBegan = (): void => {
    throw new TypeError(
      `${WHEN_READY} takes a function that makes one call and nothing else: this one began an episode before its call was held back; call newEpisode() before`,
      { cause: why },
    );
  };
  const late = (): ReplayError => {
    const reason = why instanceof Error ? why.message : tooFewSteps(core);
    return new ReplayError(
      "timeout",
      `${WHEN_READY}: the replay was not ready within ${options.timeoutMs} ms: ${reason}`,
      { cause: why },
    );
  };
  return await attemptUntil(core, options, attempt, late, onlyBegan);
}

/** What a replay has, for a call that found too few steps. */
function tooFewSteps(core: ReplayCore): string {
  if (core.isDisposed) return "there are too few steps";
  const info = core.info(WHEN_READY);
  return `there are too few steps: the replay has ${info[EXRP_INFO_RECORD_COUNT] ?? 0} records in ${
    info[EXRP_INFO_EPISODE_COUNT] ?? 0
  } episodes`;
}

/** Calls `call` until the rate limiter does not hold it back any more; returns what it returned. */
export function whileLimited<T>(
  core: ReplayCore,
  call: () => T,
  signal: AbortSignal | undefined,
): Promise<T> {
  return attemptUntil(core, { signal }, () => {
    try {
      return call();
    } catch (error) {
      if (isHeldBack(error)) return NOT_YET;
      throw error;
    }
  });
}

/** Whether the rate limiter holds a call back for now. */
export function isHeldBack(error: unknown): boolean {
  return error instanceof ReplayError && error.code === "rate-limiter";
}

/** Whether an error says that the same call may succeed later, without any change by who called. */
function isPassing(core: ReplayCore, error: unknown): boolean {
  if (!(error instanceof ReplayError)) return false;
  const { code } = error;
  return isHeldBack(error) || code === "empty" || (code === "busy" && core.busyWith !== undefined);
}

/**
 * Attempts at once, and again after each change of the replay, until an attempt succeeds. `onlyBegan` hears of an attempt that failed after
 * it began an episode. No listener and no timer outlives the wait.
 */
async function attemptUntil<T>(
  core: ReplayCore,
  options: { readonly signal?: AbortSignal | undefined; readonly timeoutMs?: number },
  attempt: () => T | typeof NOT_YET,
  late?: () => ReplayError,
  onlyBegan?: () => void,
): Promise<T> {
  options.signal?.throwIfAborted();
  const first = attempt();
  if (first !== NOT_YET) return first;
  return await waitUntil<T>(options, (done, fail) => {
    let isOver = false;
    let pause: ReturnType<typeof setTimeout> | undefined;
    let { bell } = core;
    let ear = bell.listen();
    const again = async (): Promise<void> => {
      while (!isOver) {
        ear.ready();
        const [rings, begun] = [bell.ringCount, core.begunCount];
        const result = attempt();
        if (result !== NOT_YET) return done(result);
        const own = bell.ringCount - rings;
        if (own > 0 && own === core.begunCount - begun) onlyBegan?.();
        // If it did a part of its work, that may wake others, and they it. So all else that is ready has its turn first.
        if (own > 0) await new Promise((resolve) => pause = setTimeout(resolve, 0));
        else if (core.bell === bell) await ear.heard();
        else {
          // The replay was shared meanwhile.
          ear.close();
          bell = core.bell;
          ear = bell.listen();
        }
      }
    };
    again().catch(fail);
    return () => {
      isOver = true;
      clearTimeout(pause);
      ear.close();
    };
  }, late);
}
