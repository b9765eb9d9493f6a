/**
 * Hindsight on both sides: the same goals chosen, and the batch written as it must be.
 *
 * @module
 */

import type { AnyColumnArray, Column, StateSlice } from "@exrp/replay";
import { canRelabel, expectRelabelled, realRows } from "./hindsight_expected.ts";
import { answerOf, type HindsightSpec, type ModelGoal } from "./hindsight_model.ts";
import type { AnyReplay } from "./library_subject.ts";
import { elementCount, leafSpecs } from "./program_config.ts";
import { leavesIn } from "./state_leaves.ts";
import { same, sameBytes, sameNumbers } from "./same.ts";
import { both, type Held, type Sides } from "./sides.ts";

/** The hindsight of a replay, made with it: a replay that was loaded into has another. */
export class Relabelling {
  readonly #sides: Sides;
  readonly #spec: HindsightSpec;
  readonly #hindsight: ReturnType<AnyReplay["newHindsight"]>;
  /** The goals that the callback was given, call by call. */
  #asked: { readonly achieved: AnyColumnArray; readonly desired: AnyColumnArray }[] = [];

  constructor(sides: Sides, spec: HindsightSpec) {
    const { state, reward } = sides.config;
    const { strategy, share, inState } = spec;
    const [width, size] = [elementCount(reward), elementCount(state)];
    this.#sides = sides;
    this.#spec = spec;
    // Goals are in the first leaf.
    const isPlain = leafSpecs(sides.config).length === 1;
    const slice = (first: number, end: number): StateSlice<Column> => ({
      state: (isPlain ? [first, end] : { a: [first, end] }) as never,
    });
    this.#hindsight = sides.replay.newHindsight({
      achieved: inState === undefined ? "mask" : slice(0, inState),
      desired: inState === undefined ? "goal" : slice(size - inState, size),
      strategy,
      share,
      reward: (achieved, desired, { count }) => {
        this.#asked.push({ achieved, desired });
        const answers = Array.from({ length: count }, (_, k) => answerOf(k));
        return {
          reward: answers.flatMap(({ reward }) => new Array<number>(width).fill(reward)),
          terminated: answers.map(({ terminated }) => terminated),
        };
      },
    });
  }

  /** Relabels a batch on both sides; what it holds now, or undefined where it was refused and must be what it was. */
  relabel(held: Held): Uint8Array | undefined {
    const [spec, sides, hindsight] = [this.#spec, this.#sides, this.#hindsight];
    const { batch, policy } = held;
    const { inState } = spec;
    const { extras } = sides.config;
    this.#asked = [];
    if (!canRelabel(policy, inState !== undefined)) {
      let refusal: unknown;
      try {
        hindsight.relabel(batch as never);
      } catch (error) {
        refusal = error;
      }
      same("what can't be relabelled is refused", refusal instanceof TypeError, true);
      return undefined;
    }
    const picks = Array.from({ length: batch.size }, (_, k) => ({
      episode: batch.pickEpisode[k] ?? NaN,
      position: batch.pickPosition[k] ?? NaN,
      rows: realRows(policy, batch, k),
      isKnown: batch.nextSeqLen[k] === batch.seqLen[k],
    }));
    const column = inState === undefined ? 3 + Object.keys(extras).indexOf("mask") : 0;
    const [first] = leavesIn<AnyColumnArray>(leafSpecs(sides.config).length, batch.state);
    const goalBytes = inState === undefined || first === undefined
      ? undefined
      : inState * first.BYTES_PER_ELEMENT;
    const outcome = both(
      () => hindsight.relabel(batch as never),
      () => sides.model.chooseGoals(spec, picks, column, (row) => row.slice(0, goalBytes)),
    );
    if (outcome === undefined) return undefined;
    const { actual, expected } = outcome;
    const goal = (k: number): ModelGoal & object | undefined => {
      const chosen = expected[k];
      return typeof chosen === "object" ? chosen : undefined;
    };
    const each = [...picks.keys()];
    sameNumbers("the relabelled", actual.mask, each.map((k) => goal(k) === undefined ? 0 : 1));
    sameNumbers("the goals' episodes", actual.goalEpisode, each.map((k) => goal(k)?.episode ?? -1));
    sameNumbers(
      "the goals' positions",
      actual.goalPosition,
      each.map((k) => goal(k)?.position ?? -1),
    );
    same(
      "those who kept theirs",
      actual.keptCount,
      expected.filter((one) => one === "kept").length,
    );

    const due = expectRelabelled(sides.config, held, each.map(goal));
    sameBytes("a relabelled batch", batch.bytes, due.bytes);
    same("the calls for rewards", this.#asked.length, due.asked > 0 ? 1 : 0);
    for (const { achieved, desired } of this.#asked) {
      sameBytes("the achieved goals", achieved, due.achieved);
      sameBytes("the desired goals", desired, due.desired);
    }
    sides.tally.picksRelabelled += actual.count;
    return due.bytes;
  }
}
