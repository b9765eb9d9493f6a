/**
 * Names of what talks over a connection.
 *
 * @module
 */

import { show } from "../base/checks.ts";

/** Checks a name, which subjects begin with. */
export function checkName(where: string, name: unknown): asserts name is string {
  if (typeof name === "string" && /^[\w-]+(\.[\w-]+)*$/.test(name)) return;
  throw new TypeError(
    `${where}: a name must be words of letters, digits, - and _ with dots between them, got ${
      show(name)
    }`,
  );
}

/** 32 random bits, which tell one from all that have the same name. */
export function randomWord(): number {
  const [word = 0] = crypto.getRandomValues(new Uint32Array(1));
  return word;
}
