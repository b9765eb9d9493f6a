/**
 * Records that carry their own number, and what is looked for in shards.
 *
 * @module
 */

import { type Column, ExperienceReplay, prioritized } from "@exrp/replay";
import { float32, int32 } from "@exrp/replay";

/** What a record has: its number, and that of its actor. */
export type Numbered = {
  readonly state: Column<"int32", [2]>;
  readonly action: Column<"int32", []>;
  readonly reward: Column<"float32", []>;
};

/** The options of a shard's replay. */
export const NUMBERED = {
  capacity: 100_000,
  state: int32(2),
  action: int32(),
  reward: float32(),
} as const;

/** A replay of such records, in a folder. */
export async function openNumbered(
  folder: string,
  segmentBytes = 2 ** 20,
): Promise<ExperienceReplay<Numbered>> {
  const replay = await ExperienceReplay.open(folder, {
    ...NUMBERED,
    segmentBytes,
  }) as unknown as ExperienceReplay<Numbered>;
  if (replay.selectors.length === 0) replay.newPickSelector(prioritized());
  return replay;
}

/** The numbers of an actor's records in a replay, as often as they are there. */
export function numbersOf(replay: ExperienceReplay<Numbered>): Map<number, number[]> {
  const numbers = new Map<number, number[]>();
  for (const episode of replay.episodes().handle) {
    const { state, action } = replay.episodeRecords(episode);
    for (const [k, each] of action.entries()) {
      const [number = -1, actor = -1] = [state[2 * k], state[2 * k + 1]];
      if (each !== number % 7) throw new Error(`record ${number} has the action ${each}`);
      const known = numbers.get(actor);
      if (known === undefined) numbers.set(actor, [number]);
      else known.push(number);
    }
  }
  return numbers;
}

/** A step, as `recordStep` takes it. */
interface NumberedStep {
  readonly state: readonly number[];
  readonly action: number;
  readonly reward: number;
  readonly nextState: readonly number[];
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/** A step of an actor. */
export function step(actor: number, number: number, isLast: boolean): NumberedStep {
  return {
    state: [number, actor],
    action: number % 7,
    reward: number,
    nextState: [number + 1, actor],
    terminated: isLast,
    truncated: false,
  };
}

/** Steps of one episode, as `recordMany` takes them. */
export function manyOf(steps: readonly NumberedStep[]): {
  state: number[];
  action: number[];
  reward: number[];
} {
  return {
    state: steps.flatMap(({ state }) => state),
    action: steps.map(({ action }) => action),
    reward: steps.map(({ reward }) => reward),
  };
}

/** A step of each episode, as `recordBatch` takes them. */
export function batchOf(steps: readonly NumberedStep[]): ReturnType<typeof manyOf> & {
  nextState: number[];
  terminated: boolean[];
} {
  return {
    ...manyOf(steps),
    nextState: steps.flatMap(({ nextState }) => nextState),
    terminated: steps.map(({ terminated }) => terminated),
  };
}
