/**
 * Which of the rules that you write in TypeScript serve a replay. Such an object knows the picks or the episodes of its replay: it would
 * confuse them with those of a second one. So it serves one for as long as it lives, even after that replay was freed.
 *
 * @module
 */

const serving = new WeakSet<object>();

/** Whether an object serves a replay. */
export function isServing(rule: object): boolean {
  return serving.has(rule);
}

/** Takes note that an object serves a replay from now on. */
export function beginServing(rule: object): void {
  serving.add(rule);
}

/** Takes back what was noted, for an object that was not added after all. */
export function endServing(rule: object): void {
  serving.delete(rule);
}
