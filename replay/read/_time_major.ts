/**
 * Drained steps as `[T, N]`: a copy of the packed arrays, arranged time by time.
 *
 * @module
 */

import { numberOf, showAs } from "../../base/inspect.ts";
import type { AnyColumnArray } from "../../schema/columns.ts";
import { checkOwn, gatherRows, sameKind, widthOf } from "./_own_rows.ts";
import { eachColumn, eachOf, stepsText } from "./_step_columns.ts";
import type { Drained, OwnArrays, TimeMajor } from "./drained.ts";

const OPERATION = "timeMajor()";

/** The object behind a {@linkcode TimeMajor}. */
export class TimeMajorSteps implements TimeMajor {
  /** Users know it as this. */
  static readonly name = "TimeMajor";
  readonly length: number;
  readonly actorCount: number;
  readonly state: AnyColumnArray;
  readonly action: AnyColumnArray;
  readonly reward: AnyColumnArray;
  readonly extras: Readonly<Record<string, AnyColumnArray>>;
  readonly discount: Float32Array<ArrayBuffer>;
  readonly first: Uint8Array<ArrayBuffer>;
  readonly terminated: Uint8Array<ArrayBuffer>;
  readonly truncated: Uint8Array<ArrayBuffer>;
  readonly lastNextState: AnyColumnArray;
  readonly index: Int32Array<ArrayBuffer>;
  readonly own: OwnArrays;
  readonly shape: TimeMajor["shape"];

  /** Arranges the steps; call `timeMajor` instead. */
  constructor(drained: Drained, given: OwnArrays) {
    const { size, actorCount } = drained;
    const own = checkOwn(OPERATION, given, size);
    const segments = segmentsOfActors(drained);
    const length = lengthOfActors(segments);
    this.length = length;
    this.actorCount = actorCount;
    const index = new Int32Array(size);
    const isFirst = new Uint8Array(size);
    const last = new Int32Array(actorCount);
    for (const [actor, own] of segments.entries()) {
      let t = 0;
      for (const { segment, offset, count } of own) {
        if (drained.position[segment] === 0) isFirst[offset] = 1;
        for (let k = 0; k < count; k++, t++) index[t * actorCount + actor] = offset + k;
        last[actor] = segment;
      }
    }
    const arrange = <A extends AnyColumnArray>(array: A): A => {
      const width = widthOf(array, size);
      const arranged = sameKind(array, size, width);
      gatherRows(array, width, index, 0, size, arranged);
      return arranged;
    };
    this.index = index;
    const columns = eachColumn<AnyColumnArray, AnyColumnArray>(drained, arrange);
    this.state = columns.state;
    this.action = columns.action;
    this.reward = columns.reward;
    this.extras = columns.extras;
    this.discount = arrange(drained.discount);
    this.first = arrange(isFirst);
    this.terminated = arrange(drained.terminated);
    this.truncated = arrange(drained.truncated);
    this.own = eachOf(own, arrange);
    const width = widthOf(drained.lastNextState, drained.segmentCount);
    const lastNextState = sameKind(drained.lastNextState, actorCount, width);
    gatherRows(drained.lastNextState, width, last, 0, actorCount, lastNextState);
    this.lastNextState = lastNextState;
    this.shape = eachColumn<readonly number[], readonly number[]>(
      drained.shape,
      ([, ...rest]) => [length, actorCount, ...rest],
    ) as TimeMajor["shape"];
  }
}

interface SegmentOfActor {
  readonly segment: number;
  readonly offset: number;
  readonly count: number;
}

/** The segments of each actor, in order of time: a later episode has a larger handle. */
function segmentsOfActors(drained: Drained): readonly (readonly SegmentOfActor[])[] {
  const segments: SegmentOfActor[][] = Array.from({ length: drained.actorCount }, () => []);
  for (let segment = 0; segment < drained.segmentCount; segment++) {
    const [offset = 0, count = 0] = [drained.offset[segment], drained.seqLen[segment]];
    segments[drained.actor[segment] ?? 0]?.push({ segment, offset, count });
  }
  return segments;
}

/** How many steps each actor has. */
function lengthOfActors(segments: readonly (readonly SegmentOfActor[])[]): number {
  const lengths = segments.map((own) => own.reduce((sum, { count }) => sum + count, 0));
  const [length = 0] = lengths;
  const other = lengths.findIndex((each) => each !== length);
  if (other < 0) return length;
  throw new RangeError(
    `${OPERATION}: every actor must have equally many steps, but actor 0 has ${length} and actor ${other} has ${
      lengths[other]
    }, of ${segments.length} actors. Record with recordBatch() or recordStep(), one step of each environment a turn, and drain a multiple of the environments; or use the packed arrays`,
  );
}

showAs(TimeMajorSteps, (steps) => {
  const { length, actorCount, shape, own } = steps;
  return `TimeMajor ${numberOf(length, "step")} of ${numberOf(actorCount, "actor")} ${
    stepsText(steps, shape, [length, actorCount], own)
  }`;
});
