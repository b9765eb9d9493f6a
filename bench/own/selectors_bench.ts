/**
 * What each selector costs: a batch of 256 single steps out of 2^20, beside `uniform`. A learner's turn is a batch and as many new
 * priorities, beside `prioritized`.
 *
 * @module
 */

import {
  type Batch,
  type Column,
  combined,
  curious,
  highestPriority,
  laber,
  mixture,
  newest,
  oldest,
  prioritized,
  pser,
  rankBased,
  recent,
  ucb,
  uniform,
  withoutReplacement,
} from "@exrp/replay";
import type { SelectorRule } from "@exrp/replay/selectors";
import { checkBatch, fill } from "../_workload.ts";

const withoutPriorities: Record<string, SelectorRule<Batch<{ state: Column<"float32", [4]> }>>> = {
  uniform: uniform(),
  withoutReplacement: withoutReplacement(),
  oldest: oldest(),
  newest: newest(),
  recent: recent({ newest: 10_000 }),
  combined: combined({ rest: uniform() }),
  mixture: mixture([{ rule: recent({ newest: 10_000 }), share: 1 }, { rule: uniform(), share: 1 }]),
  laber: laber({
    factor: 4,
    score: (candidates: Batch<{ state: Column<"float32", [4]> }>) => candidates.reward,
  }),
};
const withPriorities: Record<string, SelectorRule<Batch<{ state: Column<"float32", [4]> }>>> = {
  prioritized: prioritized(),
  "prioritized, scaled by the table's largest weight": prioritized({ normalize: "view" }),
  rankBased: rankBased(),
  highestPriority: highestPriority(),
  pser: pser(),
  curious: curious(),
  "ucb, greedy": ucb(),
  "ucb, proportional": ucb({ mode: "proportional" }),
};

const { replay } = await fill({
  capacity: 2 ** 20,
  episodeLength: 200,
  pickLength: 1,
  selector: uniform(),
});

for (const [name, rule] of Object.entries({ ...withoutPriorities, ...withPriorities })) {
  const selector = replay.newPickSelector(rule);
  const batch = replay.getBatch(256, selector);
  checkBatch(batch, 1);
  Deno.bench({
    name: `getBatch(256) at 2^20 by ${name}`,
    group: "selectors, batch",
    baseline: name === "uniform",
    fn: () => {
      replay.getBatch(256, selector, { into: batch });
    },
  });
  if (!(name in withPriorities)) continue;
  // An update that changes nothing may cost nothing. So each turn sets other priorities.
  const errors = Array.from({ length: 64 }, () => new Float32Array(256).map(Math.random));
  let turn = 0;
  const learn = (): void => {
    replay.getBatch(256, selector, { into: batch });
    const priorities = errors[turn++ % errors.length] ?? [];
    replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, priorities);
  };
  for (let warm = 0; warm < 2048; warm++) learn();
  Deno.bench({
    name: `getBatch(256) and setPriority of 256 at 2^20 by ${name}`,
    group: "selectors, a learner's turn",
    baseline: name === "prioritized",
    fn: learn,
  });
}
