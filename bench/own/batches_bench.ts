/**
 * What a batch costs by its size and by the size of the replay, fresh or reused. It also measures n-step returns and stacks of frames.
 *
 * @module
 */

import { uniform } from "@exrp/replay";
import {
  fillFrames,
  fillVectors,
  nStepSelector,
  stackCopier,
  stackSelector,
} from "../_picks_workload.ts";

for (const power of [12, 16, 20]) {
  const replay = await fillVectors(2 ** power);
  const selector = replay.newPickSelector(uniform());
  const table = replay.newPickView({ length: 8 });
  const sequences = table.newPickSelector(uniform());
  for (const size of [1, 32, 256, 5000]) {
    const batch = replay.getBatch(size, selector);
    Deno.bench({
      name: `${size} single steps at 2^${power}, reused`,
      group: `batch sizes at 2^${power}`,
      baseline: size === 32,
      fn: () => {
        replay.getBatch(size, selector, { into: batch });
      },
    });
    Deno.bench({
      name: `${size} single steps at 2^${power}, a fresh batch each time`,
      group: `batch sizes at 2^${power}`,
      fn: () => {
        replay.getBatch(size, selector);
      },
    });
    const rows = replay.getBatch(size, sequences);
    Deno.bench({
      name: `${size} sequences of 8 at 2^${power}, reused`,
      group: `batch sizes at 2^${power}`,
      fn: () => {
        replay.getBatch(size, sequences, { into: rows });
      },
    });
  }
}

{
  const replay = await fillVectors(2 ** 20);
  const one = replay.newPickSelector(uniform());
  const batchOfOne = replay.getBatch(256, one);
  Deno.bench({
    name: "getBatch(256) of single steps at 2^20",
    group: "n-step returns",
    baseline: true,
    fn: () => {
      replay.getBatch(256, one, { into: batchOfOne });
    },
  });
  for (const n of [3, 5, 10]) {
    const selector = nStepSelector(replay, n);
    const batch = replay.getBatch(256, selector);
    Deno.bench({
      name: `getBatch(256) of ${n}-step returns at 2^20`,
      group: "n-step returns",
      fn: () => {
        replay.getBatch(256, selector, { into: batch });
      },
    });
  }
}

{
  const capacity = 20_000;
  const replay = await fillFrames(capacity);
  const stacks = stackSelector(replay, {});
  const compact = stackSelector(replay, { stackCompact: true });
  const batch = replay.getBatch(256, stacks);
  const compactBatch = replay.getBatch(256, compact);
  const copy = stackCopier(capacity);
  Deno.bench({
    name: "the bytes of 256 stacks of 4 frames and their next stacks, by Uint8Array.set",
    group: "stacks",
    baseline: true,
    fn: copy,
  });
  Deno.bench({
    name: "getBatch(256) of 4 frames of 84 x 84 bytes and next stacks",
    group: "stacks",
    fn: () => {
      replay.getBatch(256, stacks, { into: batch });
    },
  });
  Deno.bench({
    name: "getBatch(256) of the same with each frame once",
    group: "stacks",
    fn: () => {
      replay.getBatch(256, compact, { into: compactBatch });
    },
  });
}
