/**
 * What is compared of the library and the model: all that can be seen after a step, a batch, and what was drained.
 *
 * @module
 */

import type { AnyColumnArray } from "@exrp/replay";
import type { EpisodeFilter } from "@exrp/replay/types";
import type { ModelBatch, ModelDrained } from "./batch_model.ts";
import { chooseFilter, type ModelEpisodes } from "./episodes_model.ts";
import type { KernelTap } from "./kernel_tap.ts";
import type { AnyBatch, AnyReplay } from "./library_subject.ts";
import { same, sameBytes, sameNumbers } from "./same.ts";
import type { Sides } from "./sides.ts";
import { leavesIn, unpacked } from "./state_leaves.ts";
import { Values } from "./values.ts";

/** Everything that can be seen without changing anything. */
export function compareSides(sides: Sides, tap: KernelTap, step: number, deep: boolean): void {
  const { replay, model } = sides;
  same("episodeCount", replay.episodeCount, model.episodeCount);
  same("recordCount", replay.recordCount, model.recordCount);
  same("pickCount", replay.pickCount, model.pickCount);
  const id = tap.liveId;
  const info = tap.info(id);
  same("the next handle", info.nextHandle, model.nextHandle);
  same("the count of all records", info.recordedCount, model.recordedCount);
  same("the count of evictions", info.evictedCount, model.evictedCount);
  same("the bytes stored", info.storedBytes, model.storedBytes);
  const { capacityBytes = Infinity } = model.config;
  same("whether the stored bytes are within their limit", info.storedBytes <= capacityBytes, true);
  const handles = model.handles;
  sameNumbers("episodes()", replay.episodes().handle, handles);
  for (let view = 0; view < model.tableCount; view++) {
    const expected = model.picks(view);
    same(`pickCount of ${view}`, replay.pickViews[view]?.pickCount, expected.length);
    const picks = tap.picks(id, view, expected.length);
    const where = `the picks of view ${view}`;
    sameNumbers(`${where}: episodes`, picks.episodes, expected.map((pick) => pick.episode));
    sameNumbers(`${where}: positions`, picks.positions, expected.map((pick) => pick.position));
  }
  if (!deep) return;
  compareStatistics(sides);
  compareEpisodes(sides, {});
  compareEpisodes(sides, chooseFilter(new Values(step), model.config.reward));
  for (const handle of [...handles, ...sides.actors.values()]) {
    const [seen, expected] = [replay.episode(handle), model.episode(handle)];
    same(`the ending of episode ${handle}`, seen.ending, expected.state);
    same(`the records of episode ${handle}`, seen.recordCount, expected.recordCount);
    same(`the tag of episode ${handle}`, seen.tag, expected.tag);
    same(`the first position of ${handle}`, seen.firstPosition, expected.firstPosition);
  }
  compareEpisode(sides, handles.at(-1));
  same("the invariant that broke", tap.check(id), 0);
}

/** The running statistics of each column. */
function compareStatistics({ replay, model, config }: Sides): void {
  const [state, ...more] = ["state.a", "state.b", "state.c"].slice(0, 1 + config.moreLeaves.length);
  const names = [
    ...(more.length === 0 ? ["state"] : [state ?? "", ...more]),
    "action",
    "reward",
    ...Object.keys(config.extras).map((n) => `extras.${n}`),
  ];
  for (const [k, name] of names.entries()) {
    const [actual, expected] = [replay.columnStatistics(name), model.statistics(k)];
    same(`the count of ${name}'s statistics`, actual?.count, expected?.count);
    if (actual === undefined || expected === undefined) continue;
    sameNumbers(`the means of ${name}`, actual.mean, expected.mean);
    const variances = expected.mean.map((_, item) => expected.variance(item));
    sameNumbers(`the variances of ${name}`, actual.variance, variances);
  }
}

/** The list of episodes by a filter. */
function compareEpisodes({ replay, model, tally }: Sides, filter: EpisodeFilter): void {
  const actual = replay.episodes(filter);
  const where = `episodes(${JSON.stringify(filter)})`;
  for (const [name, expected] of Object.entries(model.list(filter))) {
    const column = actual[name as keyof ModelEpisodes] ?? [];
    sameNumbers(`${where}.${name}`, column, expected);
    same(`the size of ${where}`, name === "return" || actual.size === expected.length, true);
  }
  tally.episodesListed += actual.size;
}

function compareEpisode(sides: Sides, handle: number | undefined): void {
  if (handle === undefined) return;
  const actual = sides.replay.episodeRecords(handle);
  const expected = sides.model.episodeRecords(handle);
  same("the ending of an episode", actual.ending, sides.model.episode(handle).state);
  sameColumns(sides, "an episode's", actual, allLeaves(sides, expected.columns));
  same("a final state", actual.finalState !== undefined, expected.finalState !== undefined);
  if (actual.finalState !== undefined && expected.finalState !== undefined) {
    sameStates(sides, "the final state", actual.finalState, expected.finalState);
  }
}

/** Every part of a batch. */
export function compareBatch(sides: Sides, actual: AnyBatch, expected: ModelBatch): void {
  sameNumbers("pickEpisode", actual.pickEpisode, expected.pickEpisode);
  sameNumbers("pickPosition", actual.pickPosition, expected.pickPosition);
  sameNumbers("seqLen", actual.seqLen, expected.seqLen);
  sameNumbers("nextSeqLen", actual.nextSeqLen, expected.nextSeqLen);
  sameNumbers("discount", actual.discount, expected.discount);
  sameNumbers("probability", actual.probability, expected.probability, expected.tolerance);
  sameNumbers(
    "importanceWeight",
    actual.importanceWeight,
    expected.importanceWeight,
    4 * expected.tolerance,
  );
  sameColumns(sides, "the batch's", actual, expected.columns);
  sameLeaves("nextState", actual.nextState, expected.nextStates);
  sameNumbers("learnMask", actual.learnMask, expected.learnMask);
  sameNumbers("contextMask", actual.contextMask, expected.contextMask);
  sameNumbers("terminated", actual.terminated, expected.terminated);
  sameNumbers("truncated", actual.truncated, expected.truncated);
  sameNumbers("returnToGo", actual.returnToGo, expected.returnToGo);
  same("the count of n-step returns", actual.nStep.length, expected.nStep.length);
  for (const [k, part] of expected.nStep.entries()) {
    const seen = actual.nStep[k];
    if (seen === undefined) throw new Error(`the batch has no n-step return ${k}`);
    sameNumbers(`nStep[${k}].reward`, seen.reward, part.reward);
    sameNumbers(`nStep[${k}].discount`, seen.discount, part.discount);
    sameLeaves(`nStep[${k}].nextState`, seen.nextState, part.states);
  }
}

/** The steps that were drained; how many were lost is for the caller to ask. */
export function compareDrained(
  sides: Sides,
  actual: ReturnType<AnyReplay["drain"]>,
  expected: ModelDrained,
): void {
  sameNumbers("the drained episodes", actual.episode, expected.episode);
  sameNumbers("the drained positions", actual.position, expected.position);
  sameNumbers("the drained seqLen", actual.seqLen, expected.seqLen);
  sameNumbers("the drained discount", actual.discount, expected.discount);
  sameNumbers("the drained terminated", actual.terminated, expected.terminated);
  sameNumbers("the drained truncated", actual.truncated, expected.truncated);
  sameColumns(sides, "the drained", actual, allLeaves(sides, expected.columns));
  sameStates(sides, "the drained lastNextState", actual.lastNextState, expected.lastNextState);
  sameStates(sides, "the drained nextState", actual.nextState, expected.nextState);
}

/** The states of each leaf, and then the other columns. */
function allLeaves({ model }: Sides, [states, ...others]: readonly Uint8Array[]): Uint8Array[] {
  return [...unpacked(states ?? new Uint8Array(), model.config.leafBytes), ...others];
}

/** States of the library and packed ones of the model. */
function sameStates({ model }: Sides, what: string, actual: unknown, expected: Uint8Array): void {
  sameLeaves(what, actual, unpacked(expected, model.config.leafBytes));
}

function sameLeaves(what: string, actual: unknown, expected: readonly Uint8Array[]): void {
  const arrays = leavesIn<AnyColumnArray>(expected.length, actual);
  for (const [k, bytes] of expected.entries()) {
    sameBytes(`${what}, leaf ${k}`, arrays[k] as AnyColumnArray, bytes);
  }
}

function sameColumns(
  sides: Sides,
  what: string,
  actual: Pick<AnyBatch, "state" | "action" | "reward" | "extras">,
  expected: readonly Uint8Array[],
): void {
  const extras = Object.keys(sides.config.extras).map((name) => actual.extras[name]);
  const states = leavesIn<AnyColumnArray>(sides.model.config.leafBytes.length, actual.state);
  const views = [...states, actual.action, actual.reward, ...extras];
  for (const [k, bytes] of expected.entries()) {
    const view = views[k];
    if (view === undefined) throw new Error(`${what} has no column ${k}`);
    sameBytes(`${what} column ${k}`, view, bytes);
  }
}
