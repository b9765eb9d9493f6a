/**
 * Checks an object that a user wrote as a rule: a selector or an eviction policy.
 *
 * @module
 */

import { show } from "./checks.ts";

/**
 * Throws unless `rule` has a name, these methods, and both of `save` and `load` or none. `what` is "selector" or "policy".
 *
 * @throws {TypeError}
 */
export function checkUserRule(
  where: string,
  what: string,
  rule: Readonly<Partial<Record<string, unknown>>>,
  methods: readonly string[],
): void {
  const { name } = rule;
  if (typeof name !== "string" || name === "") {
    throw new TypeError(`${where}: the ${what} has no name, got ${show(name)}`);
  }
  for (const method of methods) {
    if (typeof rule[method] !== "function") {
      throw new TypeError(`${where}: the ${what} ${name} has no method ${method}()`);
    }
  }
  if ((typeof rule.save === "function") !== (typeof rule.load === "function")) {
    throw new TypeError(`${where}: the ${what} ${name} needs both save() and load(), or none`);
  }
}
