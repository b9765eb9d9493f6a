/** Every function of returns/ gives for packed rows what it gives for the same rows with padding between them. */
import {
  gae,
  lambdaReturn,
  nStepReturn,
  retrace,
  sequencePriority,
  vtrace,
} from "@exrp/replay/returns";
import { assertEquals, assertStrictEquals, assertThrows } from "../_assert.ts";
import { forRandomRows, listRows, type Rows } from "./_helpers.ts";

type Numbers = Float32Array<ArrayBuffer>;

/** The numbers of the real steps alone. */
function pack(rows: Rows, padded: Numbers): Numbers {
  return Float32Array.from(
    listRows(rows).flatMap(({ first, end }) => [...padded.subarray(first, end)]),
  );
}

/** Rows of at least one step. */
function whole(rows: Rows): Rows {
  const kept = listRows(rows).filter(({ first, end }) => end > first);
  const { length } = rows;
  const only = (padded: Numbers): Numbers =>
    Float32Array.from(kept.flatMap(({ first }) => [...padded.subarray(first, first + length)]));
  return {
    batch: kept.length,
    length,
    seqLen: rows.seqLen.filter((steps) => steps > 0),
    reward: only(rows.reward),
    discount: only(rows.discount),
    value: only(rows.value),
    nextValue: only(rows.nextValue),
    lastValue: rows.lastValue.filter((_, row) => (rows.seqLen[row] ?? 0) > 0),
    logProbBehaviour: only(rows.logProbBehaviour),
    logProbTarget: only(rows.logProbTarget),
  };
}

Deno.test("packed rows give what padded ones do", () => {
  let compared = 0;
  forRandomRows((all) => {
    const rows = whole(all);
    const { seqLen, lastValue } = rows;
    const padded = {
      reward: rows.reward,
      discount: rows.discount,
      value: rows.value,
      nextValue: rows.nextValue,
      logProbBehaviour: rows.logProbBehaviour,
      logProbTarget: rows.logProbTarget,
    };
    const tight = Object.fromEntries(
      Object.entries(padded).map(([name, array]) => [name, pack(rows, array)]),
    ) as Record<keyof typeof padded, Numbers>;
    const both = (compute: (of: typeof tight, packed: { packed?: boolean }) => Numbers): void => {
      assertEquals(compute(tight, { packed: true }), pack(rows, compute(padded, {})));
      compared++;
    };
    for (const nextOf of [(of: typeof tight) => of.nextValue, () => lastValue]) {
      for (const part of ["advantage", "valueTarget"] as const) {
        both(({ reward, value, discount, nextValue }, packed) =>
          gae({
            ...{ reward, value, discount, seqLen, ...packed },
            nextValue: nextOf({ ...tight, nextValue }),
          })[part]
        );
      }
      for (const part of ["valueTarget", "policyAdvantage", "rho"] as const) {
        both((of, packed) => vtrace({ ...of, nextValue: nextOf(of), seqLen, ...packed })[part]);
      }
    }
    both(({ value, nextValue, logProbBehaviour, logProbTarget, reward, discount }, packed) => {
      const probabilities = { logProbBehaviour, logProbTarget, reward, discount };
      return retrace({ q: value, nextExpectedQ: nextValue, ...probabilities, seqLen, ...packed });
    });
    both(({ reward, discount, nextValue }, packed) =>
      nStepReturn({ reward, discount, nextValue, n: 3, seqLen, ...packed })
    );
    both(({ reward, discount, nextValue }, packed) =>
      lambdaReturn({ reward, discount, nextValue, lambda: 0.8, seqLen, ...packed })
    );
    for (const burnIn of [0, 1, 3]) {
      assertEquals(
        sequencePriority(tight.value, seqLen, { burnIn, packed: true }),
        sequencePriority(rows.value, seqLen, { burnIn }),
      );
    }
  });
  assertStrictEquals(compared, 300 * 13);
});

Deno.test("packed rows must add up, and none may be empty", () => {
  const three = [1, 2, 3];
  const good = { reward: three, value: three, nextValue: three, discount: three, packed: true };
  assertEquals([...gae({ ...good, seqLen: [1, 2] }).advantage].length, 3);
  assertThrows(() => gae({ ...good, seqLen: [2, 2] }), RangeError, "must have 4 numbers, the sum");
  assertThrows(() => gae({ ...good, seqLen: [3, 0] }), RangeError, "seqLen[1] of packed rows");
  assertThrows(() => gae({ ...good, seqLen: [1.5, 1.5] }), RangeError, "seqLen[0]");
  assertThrows(
    () => gae({ ...good, seqLen: [1, 2], nextValue: [1] }),
    RangeError,
    "3 numbers, one per step, or 2, one per row",
  );
  assertThrows(() => gae({ ...good, seqLen: [1, 2], packed: 1 as unknown as boolean }), TypeError);
  // Without the word, rows of different lengths are no batch: nothing is taken for another layout than it is.
  assertThrows(
    () => gae({ ...good, seqLen: [1, 2], packed: false }),
    RangeError,
    "not make 2 rows",
  );
  const hint = "as those of drain(), need packed: true";
  assertThrows(() => gae({ ...good, seqLen: [1, 2], packed: false }), RangeError, hint);
  const four = [1, 2, 3, 4];
  assertThrows(() => sequencePriority(four, [1, 3]), RangeError, `seqLen[1] must be an integer`);
  assertThrows(() => sequencePriority(four, [1, 3]), RangeError, hint);
  const other = assertThrows(() => sequencePriority(four, [1, 4])) as Error;
  assertEquals(other.message.includes("packed"), false); // not of packed rows either
  const none = gae({
    reward: [],
    value: [],
    nextValue: [],
    discount: [],
    seqLen: [],
    packed: true,
  });
  assertStrictEquals(none.advantage.length, 0);
});
