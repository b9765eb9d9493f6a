/**
 * The object behind a {@linkcode Drained}: puts the steps of many segments together.
 *
 * @module
 */

import { columnRows, numberOf, showAs } from "../../base/inspect.ts";
import { displayAs, htmlTable } from "../../base/notebook.ts";
import type { AnyColumnArray } from "../../schema/columns.ts";
import type { ReplayConfig } from "../../schema/create_options.ts";
import type { AnySchema } from "../../schema/schema.ts";
import type { RandomStream } from "../../selectors/random_stream.ts";
import { minibatchesOf } from "./_minibatches.ts";
import { byName } from "../../schema/record_columns.ts";
import { type AnyState, arrange, leavesOf, type StateTree } from "../../schema/state.ts";
import { stepsText } from "./_step_columns.ts";
import { timeMajor } from "./_time_major.ts";
import type {
  Drained,
  Minibatch,
  MinibatchOptions,
  NoOwnArrays,
  OwnArrays,
  TimeMajor,
} from "./drained.ts";

/** A run of steps of one episode, to be returned. */
export interface Segment {
  /** The episode's handle. */
  readonly handle: number;
  /** The position of its first step. */
  readonly position: number;
  /** How many steps. */
  readonly count: number;
  /** How the episode ended, if its last step is among them. */
  readonly ending: "terminated" | "truncated" | undefined;
  /** Whether its episode is open. */
  readonly isOpen: boolean;
  /** Whether its last step is the newest of an open episode. */
  readonly isNewest: boolean;
}

/** What drained steps are made of. */
export interface DrainedParts {
  /** The runs of steps. */
  readonly segments: readonly Segment[];
  /** Rows of the state, the action, the reward and the extras. */
  readonly arrays: readonly AnyColumnArray[];
  /** The configuration of the replay. */
  readonly config: ReplayConfig;
  /** The state after each segment's last step; that of each leaf. */
  readonly lastNextState: readonly AnyColumnArray[];
  /** The number of each segment's actor, which rises with the first episodes of the actors. */
  readonly actors: Uint32Array<ArrayBuffer>;
  /** What the steps are shuffled with. */
  readonly random: RandomStream;
  /** Records that were evicted before they were drained. */
  readonly lost: number;
}

/** What drained steps have, beside what is computed when it is asked for. */
type Fields = Omit<Drained, "nextState" | "timeMajor" | "minibatches">;

/** The constructor gives the class these fields. */
export interface DrainedSteps extends Fields {}

/** Drained steps of any schema. */
export class DrainedSteps implements Drained {
  /** Users know it as this. */
  static readonly name = "Drained";
  readonly #random: RandomStream;
  readonly #tree: StateTree;
  #nextState: AnyState;

  /** Puts the parts together; call `drain` instead. */
  constructor({ segments, arrays, config, random, ...parts }: DrainedParts) {
    this.#random = random;
    this.#tree = config.tree;
    const seqLen = Int32Array.from(segments, ({ count }) => count);
    const offset = new Int32Array(segments.length);
    let size = 0;
    for (const [k, count] of seqLen.entries()) {
      offset[k] = size;
      size += count;
    }
    const discount = new Float32Array(size).fill(config.pick.discount);
    const terminated = new Uint8Array(size);
    const truncated = new Uint8Array(size);
    for (const [k, { ending, count }] of segments.entries()) {
      const last = (offset[k] as number) + count - 1;
      if (ending === "terminated") {
        terminated[last] = 1;
        discount[last] = 0;
      } else if (ending === "truncated") truncated[last] = 1;
    }
    const actors = [...new Set(parts.actors)].sort((a, b) => a - b);
    const numbers = new Map(actors.map((actor, k) => [actor, k]));
    const columns = byName(config, arrays);
    const shapes = config.columns.map(({ column }) => [size, ...column.shape]);
    const shape: object = byName(config, shapes);
    const fields: Fields = {
      ...{ size, segmentCount: segments.length },
      ...columns,
      extras: Object.freeze(columns.extras),
      ...{ discount, terminated, truncated, seqLen, offset },
      episode: Float64Array.from(segments, ({ handle }) => handle),
      position: Int32Array.from(segments, ({ position }) => position),
      actor: Int32Array.from(parts.actors, (actor) => numbers.get(actor) ?? 0),
      actorCount: actors.length,
      lastNextState: arrange(config.tree, parts.lastNextState),
      lost: parts.lost,
      shape: shape as Drained["shape"],
    };
    Object.assign(this, fields);
  }

  /** See {@linkcode Drained}. */
  get nextState(): AnyState {
    const tree = this.#tree;
    const last = leavesOf<AnyColumnArray>(tree, this.lastNextState);
    return this.#nextState ??= arrange(
      tree,
      leavesOf<AnyColumnArray>(tree, this.state).map((leaf, k) =>
        this.#nextOf(leaf, last[k] as AnyColumnArray)
      ),
    );
  }

  /** The next states of one leaf. */
  #nextOf(from: AnyColumnArray, last: AnyColumnArray): AnyColumnArray {
    const next = from.slice();
    const width = this.size === 0 ? 0 : from.length / this.size;
    // Each state moves up by one row, over the boundaries too. Then each segment's last row gets the segment's own last state.
    next.copyWithin(0, width);
    for (let k = 0; k < this.segmentCount; k++) {
      const end = (this.offset[k] as number) + (this.seqLen[k] as number);
      next.set(last.subarray(k * width, (k + 1) * width), (end - 1) * width);
    }
    return next;
  }

  /** See {@linkcode Drained}. */
  timeMajor<const O extends OwnArrays = NoOwnArrays>(own?: O): TimeMajor<AnySchema, O> {
    return timeMajor(this, this.#tree, own ?? {}) as TimeMajor<AnySchema, O>;
  }

  /** See {@linkcode Drained}. */
  minibatches<const O extends OwnArrays = NoOwnArrays>(
    size: number,
    options: MinibatchOptions<O> = {},
  ): Generator<Minibatch<AnySchema, O>, void, void> {
    return minibatchesOf(this, this.#tree, this.#random, size, options);
  }
}

showAs(DrainedSteps, (drained) => {
  const { size, segmentCount, shape } = drained;
  return `Drained ${numberOf(size, "step")} in ${numberOf(segmentCount, "segment")} ${
    stepsText(drained, shape, [size])
  }`;
});

displayAs(DrainedSteps.prototype, (drained) => {
  const { size, segmentCount, shape } = drained;
  return htmlTable(
    `Drained ${numberOf(size, "step")} in ${numberOf(segmentCount, "segment")}`,
    columnRows(drained, shape),
    ["column", "type and shape", "first values"],
  );
});
