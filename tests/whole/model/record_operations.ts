/**
 * The operations that record: each makes its values, gives them to the library as the caller would and to the model as bytes.
 *
 * @module
 */

import type { AnyReplay } from "./library_subject.ts";
import type { Operation } from "./program.ts";
import type { ColumnSpec } from "./program_config.ts";
import type { FlatEnd } from "./replay_model.ts";
import { same, sameNumbers } from "./same.ts";
import { both, type Sides } from "./sides.ts";
import { priorityOf, stateValue, stateValues, Values } from "./values.ts";

export function newEpisode(sides: Sides, { actor, tag }: Operation & { do: "newEpisode" }): void {
  const handle = sides.replay.newEpisode(tag === 0 ? undefined : { tag });
  same("newEpisode()", handle, sides.model.newEpisode(tag));
  sides.actors.set(actor, handle);
}

/** A tag for some calls, from values of their own, so that all others are as they would be without it. */
function chooseTag(data: number): number | undefined {
  const values = new Values(data + 1);
  return values.below(3) > 0 ? undefined : [0, 1, 2, -1][values.below(4)];
}

/** One tag for all of `count` steps, or one for each, as the library takes them and by step. */
function chooseTags(
  data: number,
  count: number,
): { readonly given: { tag?: number | ArrayLike<number> }; readonly tags: readonly number[] } {
  const tag = chooseTag(data);
  if (tag === undefined) return { given: {}, tags: [] };
  const values = new Values(data + 2);
  const form = values.below(3);
  if (form === 0) return { given: { tag }, tags: Array.from({ length: count }, () => tag) };
  const tags = Array.from({ length: count }, () => [0, 1, 2, -1][values.below(4)] ?? 0);
  return { given: { tag: form === 1 ? tags : Int32Array.from(tags) }, tags };
}

interface Made {
  readonly value: unknown;
  readonly bytes: Uint8Array;
}

/** The values of one step: `last` is the state after it, `columns` are those that the model keeps. */
interface Step {
  readonly state: Made;
  readonly action: Made;
  readonly reward: Made;
  readonly last: Made;
  readonly columns: readonly Made[];
  readonly options: { extras?: Record<string, unknown>; priority?: number };
}

function makeStep(
  { config }: Sides,
  { data, plain, priority }: Operation & { do: "record" | "recordStep" },
): Step {
  const values = new Values(data);
  const make = (spec: ColumnSpec): Made => values.column(spec, plain);
  const [state, action, reward, last] = [
    stateValue(config, values, plain),
    make(config.action),
    make(config.reward),
    stateValue(config, values, plain),
  ];
  const extras = Object.entries(config.extras).map(([name, spec]) => [name, make(spec)] as const);
  return {
    state,
    action,
    reward,
    last,
    columns: [state, action, reward, ...extras.map(([, made]) => made)],
    options: {
      ...(extras.length > 0
        ? { extras: Object.fromEntries(extras.map(([name, made]) => [name, made.value])) }
        : {}),
      ...(priority ? { priority: priorityOf(values) } : {}),
    },
  };
}

export function record(sides: Sides, operation: Operation & { do: "record" }): void {
  const { state, action, reward, last, columns, options } = makeStep(sides, operation);
  const ends = operation.end !== "no";
  const handle = sides.actors.get(operation.actor) ?? 0;
  const ending = {
    ...(ends ? { finalState: last.value } : {}),
    ...(operation.end === "truncated" ? { truncated: true } : {}),
  };
  const before = sides.model.evictedCount;
  const outcome = both(
    () =>
      sides.replay.record(
        handle,
        state.value as number,
        action.value as number,
        reward.value as number,
        { ...options, ...ending } as Record<never, never>,
      ),
    () =>
      sides.model.record(
        handle,
        columns.map(({ bytes }) => bytes),
        ends ? last.bytes : undefined,
        operation.end === "truncated" ? "truncated" : "terminated",
        options.priority,
      ),
  );
  if (outcome === undefined) return;
  same("record()", outcome.actual, outcome.expected);
  sides.tally.evictions += sides.model.evictedCount - before;
  const old = sides.model.episode(handle);
  if (outcome.actual !== handle && old.state !== "evicted") sides.tally.cuts++;
  sides.actors.set(operation.actor, outcome.actual);
}

/** Values of `count` steps, as the library takes them and, by step, as the model does. */
function stepValues(
  sides: Sides,
  values: Values,
  count: number,
  plain: boolean,
): { columns: Record<string, unknown>; bytes: Uint8Array[][] } {
  const { config } = sides;
  const make = (spec: ColumnSpec): { value: unknown; bytes: Uint8Array[] } =>
    values.columns(spec, count, plain);
  const state = stateValues(config, values, count, plain);
  const [action, reward] = [make(config.action), make(config.reward)];
  const extras = Object.entries(config.extras).map(([name, spec]) => [name, make(spec)] as const);
  const all = [state, action, reward, ...extras.map(([, made]) => made)];
  return {
    columns: {
      state: state.value,
      action: action.value,
      reward: reward.value,
      ...(extras.length > 0
        ? { extras: Object.fromEntries(extras.map(([name, made]) => [name, made.value])) }
        : {}),
    },
    bytes: Array.from(
      { length: count },
      (_, k) => all.map(({ bytes }) => bytes[k] ?? new Uint8Array()),
    ),
  };
}

export function recordMany(sides: Sides, operation: Operation & { do: "recordMany" }): void {
  const { actor, count, data, end, plain, priority } = operation;
  const values = new Values(data);
  const { columns, bytes } = stepValues(sides, values, count, plain);
  const priorities = priority ? Array.from({ length: count }, () => priorityOf(values)) : undefined;
  const final = stateValue(sides.config, values, plain);
  const ends = end !== "no";
  const tag = chooseTag(data);
  const handle = sides.actors.get(actor) ?? 0;
  const before = sides.model.evictedCount;
  const steps = {
    ...columns,
    ...(ends ? { finalState: final.value } : {}),
    ...(end === "truncated" ? { truncated: true } : {}),
    ...(priorities && { priority: plain ? priorities : Float64Array.from(priorities) }),
    ...(tag === undefined ? {} : { tag }),
  };
  const outcome = both(
    () => sides.replay.recordMany(handle, steps as Parameters<AnyReplay["recordMany"]>[1]),
    () =>
      sides.model.recordMany(
        handle,
        bytes,
        ends ? final.bytes : undefined,
        ends ? end : undefined,
        priorities,
        tag,
      ),
  );
  if (outcome === undefined) return;
  same("recordMany()", outcome.actual, outcome.expected);
  sides.tally.evictions += sides.model.evictedCount - before;
  sides.actors.set(actor, outcome.actual);
}

export function recordBatch(sides: Sides, operation: Operation & { do: "recordBatch" }): void {
  const { count, data, endOneIn, plain, priority } = operation;
  const values = new Values(data);
  const priorities = priority ? Array.from({ length: count }, () => priorityOf(values)) : undefined;
  const { columns, bytes } = stepValues(sides, values, count, plain);
  const next = stateValues(sides.config, values, count, plain);
  const done = Array.from({ length: count }, () => values.below(endOneIn) === 0);
  const cut = Array.from({ length: count }, () => values.below(2 * endOneIn) === 0);
  const handles = Array.from({ length: count }, (_, actor) => sides.actors.get(actor) ?? 0);
  const given = Float64Array.from(handles);
  const { given: givenTags, tags } = chooseTags(data, count);
  const steps = {
    ...givenTags,
    ...columns,
    nextState: next.value,
    terminated: plain ? done : Uint8Array.from(done, Number),
    truncated: plain ? cut.map(Number) : Uint8Array.from(cut, Number),
    ...(priorities && { priority: plain ? priorities : Float64Array.from(priorities) }),
  };
  const ends = next.bytes.map((finalState, k) => {
    if (!done[k] && !cut[k]) return undefined;
    return { finalState, ending: done[k] ? "terminated" as const : "truncated" as const };
  });
  const before = sides.model.evictedCount;
  const outcome = both(
    () => sides.replay.recordBatch(given, steps as Parameters<AnyReplay["recordBatch"]>[1]),
    () => sides.model.recordBatch(handles, bytes, ends, priorities, next.bytes, tags),
  );
  if (outcome === undefined) return sameNumbers("the handles of a refused batch", given, handles);
  sameNumbers("recordBatch()", given, outcome.expected);
  same("the count of those done", outcome.actual, ends.filter((end) => end !== undefined).length);
  sides.tally.evictions += sides.model.evictedCount - before;
  for (const [actor, handle] of given.entries()) sides.actors.set(actor, handle);
}

export function recordFlat(sides: Sides, operation: Operation & { do: "recordFlat" }): void {
  const { actor, count, data, endOneIn, unknown, plain, priority } = operation;
  const values = new Values(data);
  const priorities = priority ? Array.from({ length: count }, () => priorityOf(values)) : undefined;
  const { columns, bytes } = stepValues(sides, values, count, plain);
  const next = stateValues(sides.config, values, count, plain);
  const [doneOdds, cutOdds] = unknown ? [2, 1] : [1, 2];
  const done = Array.from({ length: count }, () => values.below(doneOdds * endOneIn) === 0);
  const cut = Array.from({ length: count }, () => values.below(cutOdds * endOneIn) === 0);
  const handle = sides.actors.get(actor) ?? 0;
  const { given: givenTags, tags } = chooseTags(data, count);
  const steps = {
    ...givenTags,
    ...columns,
    ...(unknown ? { nextStateUnknown: true } : { nextState: next.value }),
    terminated: plain ? done : Uint8Array.from(done, Number),
    truncated: plain ? cut.map(Number) : Float32Array.from(cut, Number),
    ...(priorities && { priority: plain ? priorities : Float64Array.from(priorities) }),
  };
  const ends = next.bytes.map((nextState, k): FlatEnd | undefined => {
    if (!done[k] && !cut[k]) return undefined;
    // Where nobody knows the next state, a step that was cut off is no record, and its own state ends the episode.
    const finalState = unknown ? bytes[k]?.[0] ?? nextState : nextState;
    const ending = done[k] ? "terminated" : "truncated";
    return { finalState, ending, isRecord: !unknown || ending === "terminated" };
  });
  const leftOut = ends.filter((end) => end?.isRecord === false).length;
  const nextState = unknown ? undefined : next.bytes.at(-1);
  const before = sides.model.evictedCount;
  const outcome = both(
    () => sides.replay.recordFlat(handle, steps as Parameters<AnyReplay["recordFlat"]>[1]),
    () => sides.model.recordFlat(handle, bytes, ends, priorities, nextState, tags),
  );
  if (outcome === undefined) return;
  const { episode, episodes, recordCount } = outcome.actual;
  same("recordFlat()", episode, outcome.expected.episode);
  sameNumbers("the episodes of recordFlat()", episodes, outcome.expected.episodes);
  same("the count of records", recordCount, count - leftOut);
  sides.tally.stepsUnknown += leftOut;
  sides.tally.evictions += sides.model.evictedCount - before;
  sides.actors.set(actor, episode);
}

export function recordStep(sides: Sides, operation: Operation & { do: "recordStep" }): void {
  const { actor, terminated, truncated } = operation;
  const tag = chooseTag(operation.data);
  const { state, action, reward, last, columns, options } = makeStep(sides, operation);
  const handle = sides.actors.get(actor) ?? 0;
  const ends = terminated || truncated;
  const outcome = both(
    () =>
      sides.replay.recordStep(handle, {
        state: state.value as number,
        action: action.value as number,
        reward: reward.value as number,
        terminated,
        truncated,
        nextState: last.value as number,
        ...(tag === undefined ? {} : { tag }),
        ...options as Record<never, never>,
      }),
    () =>
      sides.model.recordStep(
        handle,
        columns.map(({ bytes }) => bytes),
        ends ? last.bytes : undefined,
        terminated ? "terminated" : "truncated",
        options.priority,
        last.bytes,
        tag,
      ),
  );
  if (outcome === undefined) return;
  same("recordStep()", outcome.actual, outcome.expected);
  sides.actors.set(actor, outcome.actual);
}

export function endEpisode(
  sides: Sides,
  { actor, data, truncated, plain }: Operation & { do: "endEpisode" },
): void {
  const final = stateValue(sides.config, new Values(data), plain);
  const handle = sides.actors.get(actor) ?? 0;
  const outcome = both(
    () => sides.replay.endEpisode(handle, { finalState: final.value as number, truncated }),
    () => sides.model.endEpisode(handle, final.bytes, truncated ? "truncated" : "terminated"),
  );
  if (outcome !== undefined) same("endEpisode()", outcome.actual, outcome.expected);
}
