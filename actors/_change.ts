/**
 * Waiting for a word of shared memory to change.
 *
 * @module
 */

/** A thread may end between its change and its notice, so who waits also looks this often, in ms. */
const NET_MS = 100;
/** How often to look, in ms, where the engine has no `Atomics.waitAsync`. */
const POLL_MS = 5;

/** What `Atomics.waitAsync` returns. */
interface Waiting {
  readonly async: boolean;
  readonly value: string | Promise<string>;
}

/**
 * Resolves once the word at `index` may not be `expected` any more, after `leftMs` at most, or when `signal` aborts. It may also resolve
 * earlier, so look again.
 */
export function changeOf(
  words: Int32Array,
  index: number,
  expected: number,
  leftMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const waitAsync: unknown = Reflect.get(Atomics, "waitAsync");
  const canWait = typeof waitAsync === "function";
  const ms = Math.min(leftMs, canWait ? NET_MS : POLL_MS);
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    // The timer also keeps the thread alive, which `waitAsync` does not.
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
    if (!canWait) return;
    const { async, value }: Waiting = waitAsync.call(Atomics, words, index, expected, ms);
    if (async && value instanceof Promise) value.then(end);
    else end();
  });
}
