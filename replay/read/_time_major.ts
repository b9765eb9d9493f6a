/**
 * Drained steps as `[T, N]`: a copy of the packed arrays, arranged time by time.
 *
 * @module
 */

import { numberOf, showOneAs } from "../../base/inspect.ts";
import type { AnyColumnArray } from "../../schema/columns.ts";
import { mapLeaves, type StateTree } from "../../schema/state.ts";
import { checkOwn, gatherRows, sameKind, widthOf } from "./_own_rows.ts";
import { eachColumn, eachOf, stepsText } from "./_step_columns.ts";
import type { Drained, OwnArrays, TimeMajor } from "./drained.ts";

const OPERATION = "timeMajor()";

/** The steps of `drained` by time, with the user's own arrays. */
export function timeMajor(drained: Drained, tree: StateTree, given: OwnArrays): TimeMajor {
  const { size, actorCount, segmentCount, actor, seqLen, offset, position } = drained;
  const own = checkOwn(OPERATION, given, size);
  const index = new Int32Array(size);
  const isFirst = new Uint8Array(size);
  const last = new Int32Array(actorCount);
  const times = new Int32Array(actorCount);
  // The segments of an actor are in order of time: a later episode has a larger handle.
  for (let segment = 0; segment < segmentCount; segment++) {
    const [of = 0, from = 0, count = 0] = [actor[segment], offset[segment], seqLen[segment]];
    if (position[segment] === 0) isFirst[from] = 1;
    const time = times[of] ?? 0;
    for (let k = 0; k < count; k++) index[(time + k) * actorCount + of] = from + k;
    times[of] = time + count;
    last[of] = segment;
  }
  const [length = 0] = times;
  const other = times.findIndex((each) => each !== length);
  if (other >= 0) throw unevenError(times, other);
  const rowsOf = <A extends AnyColumnArray>(array: A, count: number, rows: Int32Array): A => {
    const width = widthOf(array, count);
    return gatherRows(array, width, rows, sameKind(array, rows.length * width));
  };
  const arrange = <A extends AnyColumnArray>(array: A): A => rowsOf(array, size, index);
  const shape = eachColumn<readonly number[], readonly number[]>(
    tree,
    drained.shape,
    ([, ...rest]) => [length, actorCount, ...rest],
  );
  const steps: TimeMajor = {
    ...{ length, actorCount },
    ...eachColumn<AnyColumnArray, AnyColumnArray>(tree, drained, arrange),
    discount: arrange(drained.discount),
    first: arrange(isFirst),
    terminated: arrange(drained.terminated),
    truncated: arrange(drained.truncated),
    lastNextState: mapLeaves<AnyColumnArray, AnyColumnArray>(
      tree,
      drained.lastNextState,
      (leaf) => rowsOf(leaf, segmentCount, last),
    ),
    ...{ index, own: eachOf(own, arrange) },
    shape: shape as TimeMajor["shape"],
  };
  return showOneAs(
    steps,
    () =>
      `TimeMajor ${numberOf(length, "step")} of ${numberOf(actorCount, "actor")} ${
        stepsText(steps, shape, [length, actorCount], steps.own)
      }`,
  );
}

/** The error for an actor that has another number of steps than the first one. */
function unevenError(lengths: Int32Array, other: number): RangeError {
  return new RangeError(
    `${OPERATION}: every actor must have equally many steps, but actor 0 has ${
      lengths[0]
    } and actor ${other} has ${
      lengths[other]
    }, of ${lengths.length} actors. Record with recordBatch() or recordStep(), one step of each environment a turn, and drain a multiple of the environments; or use the packed arrays`,
  );
}
