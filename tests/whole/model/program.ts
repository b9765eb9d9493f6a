/**
 * Programs: a configuration and a list of operations, both made from a seed. An operation uses terms that are valid in
 * any state, such as the actor's episode or the third pick from the end. So a program stays valid when operations are
 * removed. This makes it possible to shorten a failing program.
 *
 * @module
 */

import type { AnyPickPolicy } from "@exrp/replay/types";
import { Choice } from "./choice.ts";
import { chooseBlockLength, chooseConfig, type ProgramConfig } from "./program_config.ts";

/** One step. `data` seeds whatever values it needs. */
export type Operation =
  | { readonly do: "newEpisode"; readonly actor: number; readonly tag: number }
  | {
    readonly do: "record";
    readonly actor: number;
    readonly data: number;
    readonly end: "no" | "terminated" | "truncated";
    /** Whether arrays are given as plain ones. */
    readonly plain: boolean;
    /** Whether the record comes with the first priority of its pick. */
    readonly priority: boolean;
  }
  | {
    readonly do: "recordMany";
    readonly actor: number;
    readonly count: number;
    readonly data: number;
    readonly end: "no" | "terminated" | "truncated";
    readonly plain: boolean;
    readonly priority: boolean;
  }
  | {
    readonly do: "recordBatch";
    /** Actors 0 to count - 1. */
    readonly count: number;
    readonly data: number;
    /** Which ones end is chosen by `data`, one in so many. */
    readonly endOneIn: number;
    readonly plain: boolean;
    readonly priority: boolean;
  }
  | {
    readonly do: "recordFlat";
    readonly actor: number;
    readonly count: number;
    readonly data: number;
    /** Which steps end their episode is chosen by `data`, one in so many. */
    readonly endOneIn: number;
    /** Whether nobody knows where the last steps of episodes led. */
    readonly unknown: boolean;
    readonly plain: boolean;
    readonly priority: boolean;
  }
  | {
    readonly do: "recordStep";
    readonly actor: number;
    readonly data: number;
    readonly terminated: boolean;
    readonly truncated: boolean;
    readonly plain: boolean;
    readonly priority: boolean;
  }
  | {
    readonly do: "endEpisode";
    readonly actor: number;
    readonly data: number;
    readonly truncated: boolean;
    readonly plain: boolean;
  }
  | {
    readonly do: "getBatch";
    readonly selector: number;
    readonly size: number;
    readonly beta: number | undefined;
    readonly into: boolean;
  }
  | {
    readonly do: "setPriority";
    readonly selector: number;
    /** Picks of a batch that is held, of the pick view, or any. */
    readonly of: "batch" | "view" | "any";
    readonly count: number;
    readonly data: number;
    readonly float32: boolean;
  }
  | {
    readonly do: "getPriority";
    readonly selector: number;
    readonly of: "batch" | "view" | "any";
    readonly count: number;
    readonly data: number;
  }
  | {
    readonly do: "update";
    /** Records where the picks of a batch that is held begin, those of the first view, or any. */
    readonly of: "batch" | "view" | "any";
    readonly count: number;
    readonly data: number;
    readonly plain: boolean;
  }
  | {
    readonly do: "updateBatch";
    readonly nth: number;
    readonly data: number;
    readonly plain: boolean;
  }
  | { readonly do: "evict"; readonly nth: number; readonly gone: boolean }
  | { readonly do: "clear" }
  | {
    readonly do: "drain";
    /** How much: 0 for all that has ended, else a number of steps below or about the capacity. */
    readonly steps: number;
    readonly exactly: boolean;
    readonly keep: boolean;
  }
  | { readonly do: "relabel"; readonly nth: number }
  | { readonly do: "addSelector" }
  | { readonly do: "save" }
  | { readonly do: "load"; readonly fresh: boolean; readonly blockLength: number }
  | { readonly do: "refused"; readonly call: number; readonly data: number };

export interface Program {
  readonly seed: number;
  readonly config: ProgramConfig;
  readonly operations: readonly Operation[];
}

/** About one in so many records ends an episode where episodes hardly ever end. */
const NEVER = 2000;

function chooseOperations(choice: Choice, config: ProgramConfig, count: number): Operation[] {
  const operations: Operation[] = [];
  const actorCount = choice.within(1, 4);
  // How long episodes are on average: some of one record, and some that never end.
  const meanLength = choice.of([2, 6, 20, 60, NEVER, NEVER, NEVER]);
  const ended = new Set<number>();
  let waiting = config.selectors.length - config.selectorsAtFirst;
  let saved = false;
  // Most replays never see a priority with a record, and keep no memory for them.
  const priorities = choice.oneIn(3);
  while (operations.length < count) {
    const roll = choice.below(100);
    const selector = choice.below(config.selectors.length);
    if (roll < 12) {
      operations.push(chooseSteps(choice, config, actorCount, meanLength, ended, priorities));
    } else if (roll < 58) {
      const actor = choice.below(actorCount);
      if (ended.has(actor) && !choice.oneIn(10)) {
        ended.delete(actor);
        operations.push({ do: "newEpisode", actor, tag: chooseTag(choice) });
      }
      const end = choice.oneIn(meanLength) ? choice.of(["terminated", "truncated"] as const) : "no";
      operations.push({
        do: "record",
        actor,
        data: choice.data(),
        end,
        plain: choice.oneIn(3),
        priority: priorities && choice.oneIn(4),
      });
      if (end !== "no") ended.add(actor);
    } else if (roll < 61) {
      if (meanLength === NEVER && !choice.oneIn(8)) continue;
      const actor = choice.below(actorCount);
      ended.delete(actor);
      operations.push({ do: "newEpisode", actor, tag: chooseTag(choice) });
    } else if (roll < 78) {
      const size = choice.oneIn(8) ? choice.within(30, 90) : choice.within(1, 12);
      const beta = choice.of([undefined, 0, 0.4, 0.5, 1, 2.3]);
      operations.push({ do: "getBatch", selector, size, beta, into: choice.oneIn(3) });
    } else if (roll < 90) {
      const of = choice.of(["batch", "batch", "view", "any"] as const);
      const count = choice.oneIn(10)
        ? 0
        : choice.oneIn(6)
        ? choice.within(60, 140)
        : choice.within(1, 12);
      const data = choice.data();
      operations.push(
        choice.oneIn(4)
          ? { do: "getPriority", selector, of, count, data }
          : { do: "setPriority", selector, of, count, data, float32: choice.oneIn(2) },
      );
    } else if (roll < 92) {
      const nth = choice.data();
      if (choice.oneIn(40)) operations.push({ do: "clear" });
      else operations.push({ do: "evict", nth, gone: choice.oneIn(4) });
    } else if (roll < 93 && waiting > 0) {
      waiting--;
      operations.push({ do: "addSelector" });
    } else if (roll < 95) {
      saved = true;
      operations.push({ do: "save" });
    } else if (roll < 96 && saved) {
      const blockLength = chooseBlockLength(choice, config.capacity);
      operations.push({ do: "load", fresh: choice.oneIn(2), blockLength });
    } else if (roll >= 98 && !choice.oneIn(3)) {
      operations.push({ do: "relabel", nth: choice.data() });
    } else if (roll >= 98) {
      const { capacity } = config;
      const most = choice.oneIn(3) ? capacity : Math.ceil(capacity / 6);
      const steps = choice.oneIn(3) ? 0 : choice.within(1, most);
      const turn = choice.oneIn(3) ? onPolicyTurn(choice, choice.below(actorCount)) : undefined;
      if (turn !== undefined) operations.push(turn.last);
      operations.push({ do: "drain", steps, exactly: choice.oneIn(2), keep: choice.oneIn(2) });
      if (turn !== undefined) operations.push(turn.next);
    } else if (roll >= 96) {
      operations.push({ do: "refused", call: choice.data(), data: choice.data() });
    }
  }
  return operations;
}

/** Other values for some records, or for those of a batch. */
function chooseUpdate(choice: Choice): Operation {
  const [data, plain] = [choice.data(), choice.oneIn(3)];
  if (choice.oneIn(2)) return { do: "updateBatch", nth: choice.data(), data, plain };
  const of = choice.of(["batch", "view", "view", "any"] as const);
  return { do: "update", of, count: choice.within(1, 12), data, plain };
}

/** A step before a drain whose next state is known, so that it may be drained too, and an end without a record after it. */
function onPolicyTurn(
  choice: Choice,
  actor: number,
): { readonly last: Operation; readonly next: Operation } {
  const [plain, priority] = [false, false];
  const [terminated, truncated, unknown] = [false, false, true];
  return {
    last: { do: "recordStep", actor, data: choice.data(), terminated, truncated, plain, priority },
    next: {
      do: "recordFlat",
      actor,
      count: 2,
      data: choice.data(),
      endOneIn: 1,
      unknown,
      plain,
      priority,
    },
  };
}

/** A tag; most episodes have none. */
function chooseTag(choice: Choice): number {
  return choice.oneIn(2) ? 0 : choice.of([1, 2, -1]);
}

/** One of the calls that record otherwise than by `record`. */
function chooseSteps(
  choice: Choice,
  { capacity }: ProgramConfig,
  actorCount: number,
  meanLength: number,
  ended: Set<number>,
  priorities: boolean,
): Operation {
  const priority = priorities && choice.oneIn(2);
  const data = choice.data();
  const plain = choice.oneIn(3);
  const kind = choice.below(10);
  if (kind < 3) {
    // Their episodes begin by themselves; now and then an actor has one that has ended, or two have the same.
    return {
      do: "recordBatch",
      count: choice.within(1, actorCount),
      data,
      endOneIn: meanLength === NEVER ? NEVER : choice.of([1, 3, meanLength, meanLength]),
      plain,
      priority,
    };
  }
  const actor = choice.below(actorCount);
  if (kind < 6) {
    const end = choice.oneIn(meanLength === NEVER ? 40 : 3)
      ? choice.of(["terminated", "truncated"] as const)
      : "no";
    if (end !== "no") ended.add(actor);
    const count = choice.oneIn(6)
      ? choice.within(1, 2 * Math.min(capacity, 60))
      : choice.within(1, 9);
    return { do: "recordMany", actor, count, data, end, plain, priority };
  }
  if (kind > 7) {
    const count = choice.oneIn(6)
      ? choice.within(1, 2 * Math.min(capacity, 60))
      : choice.within(1, 9);
    return {
      do: "recordFlat",
      actor,
      count,
      data,
      endOneIn: choice.of([1, 3, meanLength]),
      unknown: choice.oneIn(3),
      plain,
      priority,
    };
  }
  if (kind === 6) {
    const [terminated, truncated] = [choice.oneIn(meanLength), choice.oneIn(meanLength)];
    return { do: "recordStep", actor, data, terminated, truncated, plain, priority };
  }
  if (meanLength === NEVER && !choice.oneIn(20)) {
    return { do: "recordStep", actor, data, terminated: false, truncated: false, plain, priority };
  }
  ended.add(actor);
  return { do: "endEpisode", actor, data, truncated: choice.oneIn(2), plain };
}

/** The program of a seed. */
export function makeProgram(seed: number, operationCount: number): Program {
  const choice = new Choice(seed);
  const config = chooseConfig(choice, seed);
  const operations = chooseOperations(choice, config, operationCount);
  return { seed, config, operations: withUpdates(new Choice(seed, 1), operations) };
}

/** Changes records here and there in two of three programs. It has choices of its own, so that all else is as it would be without it. */
function withUpdates(choice: Choice, operations: readonly Operation[]): Operation[] {
  if (choice.oneIn(3)) return [...operations];
  return operations.flatMap((operation) =>
    choice.oneIn(25) ? [operation, chooseUpdate(choice)] : [operation]
  );
}

/** A program as text that can be read, and pasted into `runProgram`. */
export function showProgram({ seed, config, operations }: Program): string {
  const lines = operations.map((operation) => `    ${JSON.stringify(operation)},`);
  return `{\n  "seed": ${seed},\n  "config": ${JSON.stringify(config)},\n  "operations": [\n${
    lines.join("\n")
  }\n  ]\n}`;
}

/** The native replay hashes rows as they are stored, so its recordings have no transforms. */
export function withoutTransforms({ config, ...program }: Program): Program {
  const plain = ({ transform: _, ...policy }: AnyPickPolicy): AnyPickPolicy => policy;
  const [pick, views] = [plain(config.pick), config.views.map(plain)];
  return { ...program, config: { ...config, pick, views } };
}
