/**
 * Waits as short as it can be.
 *
 * @module
 */

/** Makes a call in the next turn of the event loop, once all that has come in by now was heard. */
export function nextTurn(call: () => void): void {
  const { setImmediate } = globalThis as { setImmediate?: (call: () => void) => void };
  if (setImmediate === undefined) setTimeout(call, 0);
  else setImmediate(call);
}
