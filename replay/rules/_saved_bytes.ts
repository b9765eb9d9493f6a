/**
 * What a rule in TypeScript gives by `save()`.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import { checkHonest, isKind } from "../../base/typed_arrays.ts";

/** Refuses what is no Uint8Array with memory: nothing else can be saved as it is. */
export function checkSaved(owner: string, value: unknown): asserts value is Uint8Array {
  checkHonest(`what save() of ${owner} gave`, value);
  if (isKind("Uint8Array", value)) return;
  throw new ReplayError("rule", `save() of ${owner} must give a Uint8Array, got ${show(value)}`);
}
