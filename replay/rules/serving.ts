/**
 * Which of the rules that you write in TypeScript serve a replay. Such an object knows the picks or the episodes of its replay: it would
 * confuse them with those of a second one. So it serves one for as long as it lives, even after that replay was freed.
 *
 * @module
 */

/** The objects that serve a replay. */
export const serving: WeakSet<object> = new WeakSet();
