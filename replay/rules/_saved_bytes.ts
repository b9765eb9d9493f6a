/**
 * What a rule in TypeScript gives by `save()`.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import { checkHonest, isKind, lengthOf } from "../../base/typed_arrays.ts";
import type { RandomStream } from "../../selectors/random_stream.ts";

/**
 * The state of the random numbers that a rule draws with, if it does, and then the rule's own bytes.
 *
 * @throws {ReplayError} `not-savable`; or `rule`, for what is no Uint8Array with memory: nothing else can be saved as it is.
 */
export function savedBytes(
  owner: string,
  rule: { save?(): Uint8Array },
  random?: RandomStream,
): Uint8Array<ArrayBuffer> {
  if (rule.save === undefined) {
    throw new ReplayError("not-savable", `${owner} has no save() and load()`);
  }
  const own: unknown = rule.save();
  checkHonest(`what save() of ${owner} gave`, own);
  if (!isKind("Uint8Array", own)) {
    throw new ReplayError("rule", `save() of ${owner} must give a Uint8Array, got ${show(own)}`);
  }
  const state = random?.save() ?? new Uint8Array();
  const bytes = new Uint8Array(state.length + lengthOf(own));
  bytes.set(state);
  bytes.set(own, state.length);
  return bytes;
}
