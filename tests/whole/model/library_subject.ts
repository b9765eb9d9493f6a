/**
 * What a program's words mean in the library.
 *
 * @module
 */

import * as library from "@exrp/replay";
import {
  afterDraws,
  type Batch,
  type Column,
  combined,
  curious,
  ExperienceReplay,
  fifo,
  highestPriority,
  laber,
  lfu,
  lowestPriority,
  lowestPriorityFirst,
  lru,
  mixture,
  newest,
  oldest,
  prioritized,
  pser,
  rankBased,
  recent,
  reservoir,
  secondChance,
  ucb,
  uniform,
  withoutReplacement,
} from "@exrp/replay";
import type { AnyPick } from "@exrp/replay/types";
import type { EvictionPolicy, EvictionRule } from "@exrp/replay/eviction";
import type { PickSelector, SelectorRule } from "@exrp/replay/selectors";
import { customScore } from "./eviction_models.ts";
import { type ColumnSpec, elementCount, leafSpecs, type ProgramConfig } from "./program_config.ts";
import { byLeaf } from "./state_leaves.ts";
import type { ModelConfig } from "./model_config.ts";
import { sweepProbability } from "./selector_models.ts";
import { candidateScore, type SelectorSpec } from "./selector_specs.ts";

/** The pick options of a program. */
type PickTypes = Omit<AnyPick, "nStep"> & {
  readonly nStep: readonly number[];
  readonly shown: { state: Column; action: Column; reward: Column; extras: Record<string, Column> };
};

/** A replay of any columns. */
export type AnyReplay = ExperienceReplay<
  {
    state: Column;
    action: Column;
    reward: Column;
    extras: Record<string, Column>;
    pick: PickTypes;
  }
>;

/** A batch of any columns. */
export type AnyBatch = Batch;

function column(spec: ColumnSpec): Column {
  const made = library[spec.dtype](...spec.shape);
  return spec.every === undefined ? made : library.every(spec.every, made);
}

/** The model's configuration of a program's. */
export function modelConfig(config: ProgramConfig): ModelConfig {
  const columns = [config.action, config.reward, ...Object.values(config.extras)];
  const bytesOf = (spec: ColumnSpec): number => column(spec).elementBytes * elementCount(spec);
  const leafBytes = leafSpecs(config).map(bytesOf);
  return {
    capacity: config.capacity,
    ...(config.segmentLength === undefined ? {} : { segmentLength: config.segmentLength }),
    blockLength: config.blockLength,
    seed: config.seed,
    pick: config.pick,
    columns: [...leafSpecs(config), ...columns],
    extraNames: Object.keys(config.extras),
    every: [1, ...columns.map(({ every = 1 }) => every)],
    reward: { dtype: config.reward.dtype, count: elementCount(config.reward) },
    leafBytes,
    columnBytes: [leafBytes.reduce((sum, bytes) => sum + bytes, 0), ...columns.map(bytesOf)],
    eviction: config.eviction,
    evictionDraws: config.evictionDraws,
    ...limits(config),
  };
}

function limits(
  { capacityBytes, maxAge }: ProgramConfig,
): { capacityBytes?: number; maxAge?: number } {
  return {
    ...(capacityBytes === undefined ? {} : { capacityBytes }),
    ...(maxAge === undefined ? {} : { maxAge }),
  };
}

/** A user's rule: one pick after the other. */
function sweep(): PickSelector {
  let labels: number[] = [];
  let born = 0;
  let drawn = 0;
  const must = (holds: boolean, what: string): void => {
    if (!holds) throw new Error(`the sweep of ${labels.length} picks was told of ${what}`);
  };
  return {
    name: "sweep",
    weighted: true,
    pushed(index): void {
      must(index === labels.length, `pushed(${index})`);
      labels.push(born++);
    },
    moved(from, to): void {
      must(from === labels.length - 1 && to < from, `moved(${from}, ${to})`);
      labels[to] = labels[from] ?? NaN;
    },
    popped(index): void {
      must(index === labels.length - 1, `popped(${index})`);
      labels.pop();
    },
    setPriority(indices): void {
      must(indices.every((index) => index < labels.length), "priorities of others");
    },
    select(count, out): void {
      for (let k = 0; k < count; k++) {
        const index = drawn++ % labels.length;
        out.index[k] = index;
        out.probability[k] = sweepProbability(labels[index] ?? NaN);
      }
    },
    save: () => new TextEncoder().encode(JSON.stringify({ labels, born, drawn })),
    load(bytes): void {
      const { length } = labels;
      ({ labels, born, drawn } = JSON.parse(new TextDecoder().decode(bytes)));
      must(labels.length === length, `load() of ${labels.length}`);
    },
  };
}

/** A user's policy: the least of a score that hangs on handle and draws. */
function custom(): EvictionPolicy {
  let drawn = new Map<number, number>();
  return {
    name: "custom",
    created: (handle) => void drawn.set(handle, 0),
    sampled: (handles) => {
      for (const handle of handles) drawn.set(handle, (drawn.get(handle) ?? NaN) + 1);
    },
    removed: (handle) => {
      if (!drawn.delete(handle)) throw new Error(`episode ${handle} was removed twice`);
    },
    victim: () => {
      const score = ([handle, count]: [number, number]): number => customScore(handle, count);
      return [...drawn].toSorted((a, b) => score(a) - score(b))[0]?.[0] ?? -1;
    },
    save: () => new TextEncoder().encode(JSON.stringify([...drawn])),
    load: (bytes) => {
      const handles = [...drawn.keys()].join();
      drawn = new Map(JSON.parse(new TextDecoder().decode(bytes)));
      if ([...drawn.keys()].join() !== handles) throw new Error("other episodes than were saved");
    },
  };
}

function evictionRule({ eviction, evictionDraws }: ProgramConfig): EvictionRule {
  if (eviction === "afterDraws") return afterDraws(evictionDraws);
  return { fifo, secondChance, lru, lfu, lowestPriorityFirst, reservoir, custom }[eviction]();
}

/** The library's rule of a program's. */
export function selectorRule(spec: SelectorSpec): SelectorRule<AnyBatch> {
  switch (spec.kind) {
    case "uniform":
      return uniform();
    case "sweep":
      return sweep();
    case "prioritized": {
      const { kind: _, ...options } = spec;
      return prioritized(options);
    }
    case "ucb": {
      const { kind: _, ...options } = spec;
      return ucb(options);
    }
    case "rankBased": {
      const { kind: _, ...options } = spec;
      return rankBased(options);
    }
    case "pser": {
      const { kind: _, ...options } = spec;
      return pser(options);
    }
    case "curious": {
      const { kind: _, ...options } = spec;
      return curious(options);
    }
    case "recent": {
      const { kind: _, ...options } = spec;
      return recent(options);
    }
    case "combined":
      return combined({ newest: spec.newest, rest: selectorRule(spec.rest) });
    case "mixture":
      return mixture(spec.parts.map(({ rule, share }) => ({ rule: selectorRule(rule), share })));
    case "laber":
      return laber({
        rule: selectorRule(spec.rule),
        factor: spec.factor,
        normalize: spec.normalize,
        score: ({ pickEpisode, pickPosition }: AnyBatch) =>
          Array.from(pickEpisode, (episode, k) => candidateScore(episode, pickPosition[k] ?? 0)),
      });
    case "withoutReplacement":
      return withoutReplacement();
    case "oldest":
      return oldest({ distinct: spec.distinct });
    case "newest":
      return newest({ distinct: spec.distinct });
    case "highestPriority":
      return highestPriority({ initialPriority: spec.initialPriority });
    case "lowestPriority":
      return lowestPriority({ initialPriority: spec.initialPriority });
  }
}

/** Whether all rules of a program are the library's own, as a durable replay needs. */
export function canBeDurable({ eviction, selectors }: ProgramConfig): boolean {
  const isOwn = (spec: SelectorSpec): boolean => {
    if (spec.kind === "combined") return isOwn(spec.rest);
    if (spec.kind === "mixture") return spec.parts.every(({ rule }) => isOwn(rule));
    return spec.kind !== "sweep" && spec.kind !== "laber";
  };
  return eviction !== "custom" && selectors.every(isOwn);
}

/** A replay of the library for a program: in memory, or in a folder. */
export async function createReplay(
  config: ProgramConfig,
  seed: number,
  blockLength: number,
  folder?: string,
): Promise<AnyReplay> {
  const extras = Object.fromEntries(
    Object.entries(config.extras).map(([name, spec]) => [name, column(spec)]),
  );
  const options = {
    capacity: config.capacity,
    ...(config.segmentLength === undefined ? {} : { segmentLength: config.segmentLength }),
    blockLength,
    ...(config.compression === undefined ? {} : { compression: config.compression }),
    seed,
    pick: config.pick,
    state: byLeaf(leafSpecs(config).map(column)) as Column,
    action: column(config.action),
    reward: column(config.reward),
    extras,
    eviction: evictionRule(config),
    ...limits(config),
  };
  if (folder === undefined) return await ExperienceReplay.create(options);
  // The smallest files, so that there are many.
  return await ExperienceReplay.open(folder, { ...options, segmentBytes: 2 ** 20 });
}

/** A durable replay again, with the options of the program or without. */
export async function reopenReplay(
  config: ProgramConfig,
  folder: string,
  hasOptions: boolean,
): Promise<AnyReplay> {
  if (hasOptions) return await createReplay(config, config.seed, config.blockLength, folder);
  return await ExperienceReplay.open(folder, { segmentBytes: 2 ** 20 }) as AnyReplay;
}

/**
 * Whether a rule numbers each priority that is set. A durable replay makes calls that recorded one by one as one again. The numbers then differ, and their order
 * does not.
 */
export function numbersPriorities({ selectors }: ProgramConfig): boolean {
  return /"(highest|lowest)Priority"/.test(JSON.stringify(selectors));
}
