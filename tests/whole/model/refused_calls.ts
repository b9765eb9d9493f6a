/**
 * Calls that must be refused, and leave everything as it was.
 *
 * @module
 */

import { ReplayError, type Selector } from "@exrp/replay";
import type { AnyReplay } from "./library_subject.ts";
import type { ColumnSpec, ProgramConfig } from "./program_config.ts";
import type { ReplayModel } from "./replay_model.ts";
import { same } from "./same.ts";
import { stateValue, stateValues, type Values } from "./values.ts";

/** A call, and how it must be refused: the code of a `ReplayError`, the name of another error's class, or either. */
export interface RefusedCall {
  readonly refusal: string;
  readonly call: () => unknown;
}

/** Loosely typed on purpose: these are the mistakes that the types would catch. */
interface Loose {
  record(...args: unknown[]): unknown;
  recordMany(...args: unknown[]): unknown;
  recordBatch(...args: unknown[]): unknown;
  recordStep(...args: unknown[]): unknown;
  endEpisode(...args: unknown[]): unknown;
  getBatch(...args: unknown[]): unknown;
  setPriority(...args: unknown[]): unknown;
  newPickSelector(...args: unknown[]): unknown;
  evict(...args: unknown[]): unknown;
  drain(...args: unknown[]): unknown;
  newHindsight(...args: unknown[]): unknown;
  episodeRecords(...args: unknown[]): unknown;
  unserialize(...args: unknown[]): Promise<unknown>;
}

/** The values for the calls. */
export interface RefusedContext {
  readonly replay: AnyReplay;
  readonly model: ReplayModel;
  readonly config: ProgramConfig;
  readonly selector: Selector;
  readonly values: Values;
  /** A snapshot, if one was taken. */
  readonly snapshot: Uint8Array | undefined;
}

/** The calls that are wrong in the state that there is now. */
export function refusedCalls(context: RefusedContext): RefusedCall[] {
  return [
    ...wrongRecords(context),
    ...wrongSteps(context),
    ...wrongBatches(context),
    ...wrongPriorities(context),
    ...rest(context),
  ];
}

function unknownHandle({ model, values }: RefusedContext): number {
  const handles = [model.nextHandle, -1, 0.5, NaN, Infinity, 2 ** 60];
  return handles[values.below(handles.length)] ?? -1;
}

function wrongRecords(context: RefusedContext): RefusedCall[] {
  const { config, values, model } = context;
  const loose = context.replay as unknown as Loose;
  const make = (spec: ColumnSpec): unknown => values.column(spec, true).value;
  const state = stateValue(config, values, true).value;
  const [action, reward] = [config.action, config.reward].map(make);
  const specs = Object.entries(config.extras);
  const extras = Object.fromEntries(specs.map(([name, spec]) => [name, make(spec)]));
  const good = specs.length > 0 ? { extras } : {};
  const bad = specs.length > 0 ? {} : { extras: { none: 1 } };
  // Values are looked at before handles, so that any handle serves.
  const handle = model.handles.at(-1) ?? 0;
  const unknown = unknownHandle(context);
  const long = [1, 2, 3, 4, 5, 6, 7];
  return [
    { refusal: "episode-unknown", call: () => loose.record(unknown, state, action, reward, good) },
    { refusal: "TypeError", call: () => loose.record("0", state, action, reward, good) },
    { refusal: "any", call: () => loose.record(handle, long, action, reward, good) },
    { refusal: "TypeError", call: () => loose.record(handle, state, new Date(), reward, good) },
    { refusal: "TypeError", call: () => loose.record(handle, state, action, undefined, good) },
    { refusal: "TypeError", call: () => loose.record(handle, state, action, reward, bad) },
    ...[{ final: 1 }, { truncated: true }, { finalState: long }].map((options) => ({
      refusal: "finalState" in options ? "any" : "TypeError",
      call: () => loose.record(handle, state, action, reward, { ...good, ...options }),
    })),
  ];
}

function wrongSteps({ config, values, model, replay }: RefusedContext): RefusedCall[] {
  const loose = replay as unknown as Loose;
  const count = 1 + values.below(4);
  const make = (spec: ColumnSpec, of = count): unknown => values.columns(spec, of, true).value;
  const specs = Object.entries(config.extras);
  const good = {
    state: stateValues(config, values, count, true).value,
    action: make(config.action),
    reward: make(config.reward),
    ...(specs.length > 0
      ? { extras: Object.fromEntries(specs.map(([name, spec]) => [name, make(spec)])) }
      : {}),
  };
  const short = { ...good, reward: make(config.reward, count + 1) };
  const last = { ...good, action: [...make(config.action) as number[]].fill(NaN, -1) };
  const handle = model.handles.at(-1) ?? 0;
  const unknown = model.nextHandle;
  const handles = Float64Array.from({ length: count }, () => handle);
  const strange = handles.with(count - 1, unknown);
  const ends = new Uint8Array(count).fill(1, count - 1);
  const final = stateValue(config, values, true).value;
  const isFloat = config.action.dtype.startsWith("float");
  return [
    { refusal: "RangeError", call: () => loose.recordMany(handle, short) },
    { refusal: "RangeError", call: () => loose.recordBatch(handles, short) },
    { refusal: "TypeError", call: () => loose.recordMany(handle, { ...good, done: 1 }) },
    { refusal: "TypeError", call: () => loose.recordMany(handle, { ...good, truncated: true }) },
    { refusal: "TypeError", call: () => loose.recordBatch(handles, { ...good, terminated: ends }) },
    { refusal: "TypeError", call: () => loose.recordBatch([handle], good) },
    { refusal: "episode-unknown", call: () => loose.recordMany(unknown, good) },
    // One environment alone: more of them would have the same open episode, or one that has ended.
    {
      refusal: count === 1 ? "episode-unknown" : "any",
      call: () => loose.recordBatch(strange, good),
    },
    ...(isFloat ? [] : [
      { refusal: "RangeError", call: () => loose.recordMany(handle, last) },
      { refusal: "RangeError", call: () => loose.recordBatch(handles, last) },
    ]),
    {
      refusal: "episode-unknown",
      call: () => loose.endEpisode(unknown, { finalState: final, truncated: true }),
    },
    { refusal: "TypeError", call: () => loose.endEpisode(handle, { finalState: final, end: 1 }) },
    { refusal: "TypeError", call: () => loose.recordStep(handle, final) },
  ];
}

function wrongBatches({ replay, selector }: RefusedContext): RefusedCall[] {
  const loose = replay as unknown as Loose;
  return [
    ...[0, -1, 1.5, NaN, 2 ** 24 + 1].map((size) => ({
      refusal: "RangeError",
      call: () => loose.getBatch(size, selector),
    })),
    { refusal: "TypeError", call: () => loose.getBatch(4, "uniform") },
    { refusal: "RangeError", call: () => loose.getBatch(4, selector, { beta: -1 }) },
    { refusal: "RangeError", call: () => loose.getBatch(4, selector, { beta: NaN }) },
    { refusal: "TypeError", call: () => loose.getBatch(4, selector, { betta: 1 }) },
    { refusal: "TypeError", call: () => loose.getBatch(4, selector, { into: {} }) },
  ];
}

function wrongPriorities(context: RefusedContext): RefusedCall[] {
  const { replay, model, selector, values } = context;
  const loose = replay as unknown as Loose;
  const invalid = [NaN, -1, -1e-300, Infinity, -Infinity][values.below(5)] ?? NaN;
  const good = model.picks(selector.view).slice(0, 4);
  const episodes = good.map((pick) => pick.episode);
  const positions = good.map((pick) => pick.position);
  const unknown = unknownHandle(context);
  const calls: RefusedCall[] = [
    {
      refusal: "RangeError",
      call: () => loose.setPriority(selector, [...episodes, 0], positions, positions),
    },
    {
      refusal: "RangeError",
      call: () => loose.setPriority(selector, episodes, positions, [...positions, 1]),
    },
    {
      refusal: "episode-unknown",
      call: () =>
        loose.setPriority(selector, [...episodes, unknown], [...positions, 0], [...positions, 1]),
    },
    { refusal: "TypeError", call: () => loose.setPriority(0, episodes, positions, positions) },
  ];
  if (good.length === 0) return calls;
  // The last of several, so that what comes before it must not have been set.
  const priorities = good.map((_, k) => k === good.length - 1 ? invalid : 7 + k);
  return [...calls, {
    refusal: "invalid-priority",
    call: () => loose.setPriority(selector, episodes, positions, priorities),
  }];
}

function rest(context: RefusedContext): RefusedCall[] {
  const { replay, values, snapshot } = context;
  const loose = replay as unknown as Loose;
  const unknown = unknownHandle(context);
  return [
    { refusal: "TypeError", call: () => loose.newPickSelector("uniform") },
    { refusal: "episode-unknown", call: () => loose.evict(unknown) },
    { refusal: "episode-unknown", call: () => loose.episodeRecords(unknown) },
    ...[0, -1, 1.5, NaN, replay.capacity + 1].map((steps) => ({
      refusal: "RangeError",
      call: () => loose.drain(values.below(2) === 0 ? { steps } : { minSteps: steps }),
    })),
    { refusal: "TypeError", call: () => loose.drain({ steps: 1, minSteps: 1 }) },
    { refusal: "TypeError", call: () => loose.drain({ step: 1 }) },
    { refusal: "TypeError", call: () => loose.drain({ keep: 1 }) },
    { refusal: "TypeError", call: () => loose.newHindsight({ achieved: "none", desired: "none" }) },
    { refusal: "any", call: () => loose.unserialize(new Uint8Array(values.below(200))) },
    ...[0, 1, 2].map(() => ({
      refusal: "any",
      call: () => loose.unserialize(damaged(snapshot ?? new Uint8Array(100), values)),
    })),
  ];
}

/** A snapshot that was cut short, or in which one bit is another. */
function damaged(snapshot: Uint8Array, values: Values): Uint8Array {
  const bytes = snapshot.slice();
  const at = values.below(bytes.length);
  if (values.below(2) === 0) return bytes.subarray(0, at);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << values.below(8));
  return bytes;
}

/** Makes the call, which must throw as `expected` says. */
export async function refusedWith(call: () => unknown, expected: string): Promise<void> {
  let error: unknown;
  try {
    await call();
  } catch (thrown) {
    error = thrown;
  }
  if (error === undefined) {
    throw new Error(`a call that must be refused (${expected}) was accepted`);
  }
  if (error instanceof ReplayError) {
    if (expected !== "any") same("the refusal's code", error.code, expected);
  } else if (
    error instanceof Error && (error.name === "TypeError" || error.name === "RangeError")
  ) {
    if (expected !== "any") same("the refusal's class", error.name, expected);
  } else throw error;
}
