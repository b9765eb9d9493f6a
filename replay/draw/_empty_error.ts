/**
 * The error for a batch from a view without picks. It looks at every episode, which only an error may.
 *
 * @module
 */

import { lengthOf } from "../../base/typed_arrays.ts";
import { numberOf } from "../../base/inspect.ts";
import { ReplayError } from "../../base/errors.ts";
import * as abi from "../../ffi/symbols.ts";
import { EPISODE_END, filterNumbers } from "../../schema/episode_filter.ts";
import type { AnyPickPolicy } from "../../schema/pick_options.ts";
import { tagsText } from "../../schema/pick_where.ts";
import type { ReplayCore } from "../core.ts";

/** Says how many records the longest episode has, and how many a pick of this policy needs. */
export function emptyError(
  core: ReplayCore,
  operation: string,
  policy: AnyPickPolicy,
): ReplayError {
  return core.together(operation, () => errorNow(core, operation, policy));
}

function errorNow(core: ReplayCore, operation: string, policy: AnyPickPolicy): ReplayError {
  const { length, end } = core.episodes(operation, filterNumbers(policy.where?.tag));
  return new ReplayError(
    "empty",
    `${operation}: there is no pick to draw yet: ${longestText(length, end, policy)}; ${
      needText(policy)
    }`,
    {
      status: abi.EXRP_STATUS_EMPTY,
      detail: [core.info(operation)[abi.EXRP_INFO_RECORD_COUNT] ?? 0],
    },
  );
}

function longestText(counts: Uint32Array, ends: Uint8Array, { where }: AnyPickPolicy): string {
  const tagged = where === undefined ? "" : ` with ${tagsText(where)}`;
  const longest = counts.reduce((best, count, k) => count > (counts[best] ?? 0) ? k : best, 0);
  const count = counts[longest] ?? 0;
  if (count === 0) return tagged ? `no episode${tagged} has a record` : "no record is stored";
  const which = lengthOf(counts) === 1
    ? `the only episode${tagged}`
    : `the longest of ${lengthOf(counts)} episodes${tagged}`;
  const state = ends[longest] === EPISODE_END.open ? "is open" : "has ended";
  return `${which} has ${numberOf(count, "record")} and ${state}`;
}

function needText({ length, whole, allowShort, allowOpenEnd, nStep }: AnyPickPolicy): string {
  if (whole) {
    return `a pick is one whole episode that has ended, of at most ${
      numberOf(length, "record")
    } and not trimmed (pick.whole, pick.length ${length})`;
  }
  // The state after the last record of a pick must be known, or the one n steps on.
  const ahead = allowOpenEnd ? 0 : Math.max(1, ...nStep);
  const reasons = [`pick.length ${length}`];
  if (allowShort) reasons.push("pick.allowShort");
  if (nStep.length > 0) reasons.push(`pick.nStep ${nStep.join(" and ")}`);
  if (allowOpenEnd) reasons.push("pick.allowOpenEnd");
  return `a pick needs ${
    numberOf(allowShort ? 1 : length, "record")
  } of an episode that has ended, or ${length + ahead} of one that is open (${reasons.join(", ")})`;
}
