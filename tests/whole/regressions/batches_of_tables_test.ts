/** Batches that are used again for the picks of another table, or after another snapshot was loaded. */

import { ExperienceReplay, float32, uniform } from "@exrp/replay";
import { assertEquals } from "../../_assert.ts";

const extras = { achieved: float32(1), desired: float32(1) };

Deno.test("a batch that another table filled is relabelled by that table's policy", async () => {
  for (
    const [first, second] of [
      [{ discount: 0.5 }, { discount: 0.25 }],
      [{ length: 3, discount: 0.5 }, { length: 3, reversed: true, discount: 0.25 }],
      [{ length: 2, burnIn: 1 }, { length: 2, before: 1, discount: 0.25 }],
      [{ length: 2, before: 1 }, { length: 2, burnIn: 1, discount: 0.25 }],
    ] as const
  ) {
    using replay = await ExperienceReplay.create({
      capacity: 50,
      state: float32(1),
      extras,
      seed: 1,
    });
    const [one, two] = [replay.newPickView(first), replay.newPickView(second)];
    replay.recordMany(replay.newEpisode(), {
      state: [0, 1, 2, 3, 4],
      action: [0, 0, 0, 0, 0],
      reward: [-1, -1, -1, -1, -1],
      extras: { achieved: [1, 2, 3, 4, 5], desired: [9, 9, 9, 9, 9] },
      finalState: [5],
      truncated: true,
    });
    const [from, to] = [one.newPickSelector(uniform()), two.newPickSelector(uniform())];
    const hindsight = replay.newHindsight({
      achieved: "achieved",
      desired: "desired",
      strategy: "final",
      share: 1,
      reward: (achieved) => ({ reward: achieved, terminated: achieved.map(() => 0) }),
    });
    const into = replay.getBatch(16, from);
    replay.getBatch(16, to, { into });
    const rows = [...into.seqLen].map((seqLen, pick) =>
      Array.from({ length: into.length }, (_, row) => {
        const least = "before" in second ? 1 - Math.min(1, into.pickPosition[pick] ?? 0) : 0;
        return row >= least && row < seqLen;
      })
    ).flat();
    hindsight.relabel(into);
    assertEquals([...into.extras.desired], rows.map((isReal) => isReal ? 5 : 0));
    assertEquals([...into.discount], rows.map((isReal) => isReal ? 0.25 : 0));
  }
});

Deno.test("a batch older than a loaded snapshot keeps its goals where its records are gone", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 50,
    state: float32(1),
    extras,
    seed: 1,
  });
  const selector = replay.newPickSelector(uniform());
  const hindsight = replay.newHindsight({
    achieved: "achieved",
    desired: "desired",
    strategy: "final",
    share: 1,
    reward: (achieved) => achieved,
  });
  const fill = (achieved: number): number =>
    replay.recordMany(replay.newEpisode(), {
      state: [0, 1],
      action: [0, 0],
      reward: [-1, -1],
      extras: { achieved: [achieved, achieved], desired: [9, 9] },
      finalState: [2],
    });
  const empty = await replay.serialize();
  fill(3);
  const one = await replay.serialize();
  const second = fill(4);
  const batch = replay.getBatch(32, selector);
  const later = Array.from(batch.pickEpisode, (episode) => episode === second);

  await replay.unserialize(one);
  const { count, keptCount, mask } = hindsight.relabel(batch);
  assertEquals([count, keptCount], [
    later.filter((isLater) => !isLater).length,
    later.filter((isLater) => isLater).length,
  ]);
  assertEquals([...mask], later.map((isLater) => isLater ? 0 : 1));
  assertEquals([...batch.extras.desired], later.map((isLater) => isLater ? 9 : 3));

  await replay.unserialize(empty);
  assertEquals(hindsight.relabel(batch).keptCount, 32);
});
