/**
 * The speeds that must never be worse. `bench/floors.ts` compares these `deno bench` figures with their floors.
 *
 * Run it: `deno bench -A bench/floors_bench.ts`, or `deno task bench:floors` for the comparison.
 *
 * @module
 */

import { prioritized, pser, rankBased, uniform } from "@exrp/replay";
import { checkBatch, fill, fillByBatches } from "./_workload.ts";

const recordsPerIteration = 1000;

{
  const { record } = await fill({
    capacity: 2 ** 20,
    episodeLength: 200,
    pickLength: 1,
    selector: uniform(),
  });
  Deno.bench({
    name: `record: ${recordsPerIteration} records of a 4-float state, evicting, uniform`,
    group: "record",
    fn: () => record(recordsPerIteration),
  });
}

{
  const { replay } = await fill({
    capacity: 2 ** 20,
    episodeLength: 200,
    pickLength: 1,
    selector: uniform(),
  });
  const many = {
    state: new Float32Array(400),
    action: new Int32Array(100),
    reward: new Float32Array(100),
  };
  let episode = replay.newEpisode();
  Deno.bench({
    name: "recordMany: 100 steps of a 4-float state, evicting, uniform",
    group: "record",
    fn: () => {
      episode = replay.recordMany(episode, many);
    },
  });
}

for (const power of [14, 20]) {
  const { replay } = await fill({
    capacity: 2 ** power,
    episodeLength: 200,
    pickLength: 1,
    selector: uniform(),
  });
  Deno.bench({
    name: `recordBatch: 64 environments of a 4-float state, evicting, uniform, N = 2^${power}`,
    group: "record",
    fn: fillByBatches(replay, 64, 200),
  });
}

for (const power of [11, 14, 17, 20, 23]) {
  const { replay, selector } = await fill({
    capacity: 2 ** power,
    episodeLength: 2 ** Math.min(power - 3, 10),
    pickLength: 8,
    selector: uniform(),
  });
  const batch = replay.getBatch(5000, selector);
  checkBatch(batch, 8);
  Deno.bench({
    name: `get_5000: 5000 picks of 8 steps with next states, N = 2^${power}`,
    group: "get_5000",
    fn: () => {
      replay.getBatch(5000, selector, { into: batch });
    },
  });
  if (power === 20) {
    Deno.bench({
      name: "get_5000: the same at 2^20, a fresh batch each time",
      group: "get_5000",
      fn: () => {
        replay.getBatch(5000, selector);
      },
    });
  }
}

{
  const { replay, selector, record } = await fill({
    capacity: 2 ** 20,
    episodeLength: 200,
    pickLength: 1,
    selector: prioritized({ alpha: 0.6 }),
  });
  const batch = replay.getBatch(256, selector, { beta: 0.4 });
  checkBatch(batch, 1);
  const errors = new Float32Array(256);
  for (let turn = 0; turn < 4096; turn++) {
    replay.getBatch(256, selector, { beta: 0.4, into: batch });
    replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, errors.map(Math.random));
  }
  // A learner's turn, without the acting: a record before each batch changes the table.
  Deno.bench({
    name: "prioritized: getBatch(256) at 2^20, right after a record",
    group: "prioritized",
    fn: (b) => {
      record(1);
      b.start();
      replay.getBatch(256, selector, { beta: 0.4, into: batch });
      b.end();
    },
  });
  Deno.bench({
    name: "prioritized: getBatch(256) at 2^20",
    group: "prioritized",
    fn: () => {
      replay.getBatch(256, selector, { beta: 0.4, into: batch });
    },
  });
  Deno.bench({
    name: "prioritized: setPriority of 256 at 2^20",
    group: "prioritized",
    fn: () => {
      replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, errors);
    },
  });
  Deno.bench({
    name: "prioritized: getBatch(256) and setPriority of 256 at 2^20",
    group: "prioritized",
    fn: () => {
      replay.getBatch(256, selector, { beta: 0.4, into: batch });
      replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, errors);
    },
  });
}

const decaying = { prioritized: prioritized(), pser: pser({ window: 5 }) };
for (const [name, rule] of Object.entries(decaying)) {
  const { replay, selector } = await fill({
    capacity: 2 ** 20,
    episodeLength: 200,
    pickLength: 1,
    selector: rule,
  });
  const batch = replay.getBatch(256, selector);
  checkBatch(batch, 1);
  const errors = new Float32Array(256);
  let turn = 1;
  // Errors rise from call to call, so each call raises the priorities of earlier picks again.
  const setPriority = (): void => {
    errors.fill(turn++);
    replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, errors);
  };
  Deno.bench({
    name: `decay: setPriority of 256 rising errors at 2^20 by ${name}`,
    group: "decay, setPriority",
    baseline: name === "prioritized",
    fn: setPriority,
  });
  Deno.bench({
    name: `decay: getBatch(256) and setPriority of 256 rising errors at 2^20 by ${name}`,
    group: "decay, both",
    baseline: name === "prioritized",
    fn: () => {
      replay.getBatch(256, selector, { into: batch });
      setPriority();
    },
  });
}

for (const [name, rule] of Object.entries({ prioritized: prioritized(), rankBased: rankBased() })) {
  const { replay, selector } = await fill({
    capacity: 2 ** 20,
    episodeLength: 200,
    pickLength: 1,
    selector: rule,
  });
  const batch = replay.getBatch(256, selector, { beta: 0.4 });
  checkBatch(batch, 1);
  // A rank-based update that changes no priority does nothing. So each turn sets other priorities.
  const errors = Array.from({ length: 64 }, () => new Float32Array(256).map(Math.random));
  let turn = 0;
  const learn = (): void => {
    replay.getBatch(256, selector, { beta: 0.4, into: batch });
    const priorities = errors[turn++ % errors.length] ?? [];
    replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, priorities);
  };
  for (let warm = 0; warm < 4096; warm++) learn();
  Deno.bench({
    name: `${name}: a learner's turn, 256 draws and as many updates at 2^20`,
    group: "a learner's turn",
    baseline: name === "prioritized",
    fn: learn,
  });
}
