/**
 * The error for a batch from a table without picks. It looks at every episode, which only an error may.
 *
 * @module
 */

import { ReplayError } from "../../base/errors.ts";
import {
  EXRP_EPISODE_OPEN,
  EXRP_INFO_EPISODE_COUNT,
  EXRP_INFO_RECORD_COUNT,
  EXRP_STATUS_EMPTY,
} from "../../ffi/symbols.ts";
import type { PickPolicy } from "../../schema/pick_options.ts";
import type { ReplayCore } from "../core.ts";

/** Says how many records the longest episode has, and how many a pick of this policy needs. */
export function emptyError(core: ReplayCore, operation: string, policy: PickPolicy): ReplayError {
  const info = core.info(operation);
  const handles = core.episodes(operation, info[EXRP_INFO_EPISODE_COUNT] ?? 0);
  const counts = new Uint32Array(handles.length);
  const states = new Uint32Array(handles.length);
  if (handles.length > 0) {
    const { id, kernel: { symbols } } = core;
    const status = symbols.exrp_episode_counts(id, handles, handles.length, counts, states);
    core.check(operation, status);
  }
  return new ReplayError(
    "empty",
    `${operation}: there is no pick to draw yet: ${longestText(counts, states)}; ${
      needText(policy)
    }`,
    { status: EXRP_STATUS_EMPTY, detail: [info[EXRP_INFO_RECORD_COUNT] ?? 0] },
  );
}

function longestText(counts: Uint32Array, states: Uint32Array): string {
  let longest = 0;
  for (let k = 0; k < counts.length; k++) {
    if ((counts[k] ?? 0) > (counts[longest] ?? 0)) longest = k;
  }
  const count = counts[longest] ?? 0;
  if (count === 0) return "no record is stored";
  const which = counts.length === 1
    ? "the only episode"
    : `the longest of ${counts.length} episodes`;
  const state = states[longest] === EXRP_EPISODE_OPEN ? "is open" : "has ended";
  return `${which} has ${recordsText(count)} and ${state}`;
}

function needText({ length, whole, allowShort, allowOpenEnd, nStep }: PickPolicy): string {
  if (whole) return "a pick is one whole episode that has ended (pick.whole)";
  // The state after the last record of a pick must be known, or the one n steps on.
  const ahead = allowOpenEnd ? 0 : Math.max(1, ...nStep);
  const reasons = [`pick.length ${length}`];
  if (allowShort) reasons.push("pick.allowShort");
  if (nStep.length > 0) reasons.push(`pick.nStep ${nStep.join(" and ")}`);
  if (allowOpenEnd) reasons.push("pick.allowOpenEnd");
  return `a pick needs ${recordsText(allowShort ? 1 : length)} of an episode that has ended, or ${
    length + ahead
  } of one that is open (${reasons.join(", ")})`;
}

function recordsText(count: number): string {
  return count === 1 ? "1 record" : `${count} records`;
}
