/**
 * How long a learner stands still, in virtual time: NATS restarts or a shard dies, and another shard's answers are lost at a moment that is as bad as chance makes it.
 *
 * `EXRP_MACHINE_SCHEDULES` runs more, and `EXRP_MACHINE_SEED` is the first seed.
 *
 * @module
 */

import { ExperienceReplay, prioritized } from "@exrp/replay";
import { connectShards, serveShard } from "@exrp/replay/shards";
import { assert } from "../_assert.ts";
import { pause } from "../_wait.ts";
import { Fabric } from "../shards/_fabric.ts";
import { NUMBERED } from "../shards/_numbered.ts";

const SCHEDULES = Number(Deno.env.get("EXRP_MACHINE_SCHEDULES") ?? 20);
const SEED = Number(Deno.env.get("EXRP_MACHINE_SEED") ?? 1);
const NAMES = ["a", "b", "c"];
/** So long a process takes at most until it is connected again: 250 ms between two tries, up to 100 more by chance, and the try itself. */
const RECONNECT_MS = 400;
const PAUSE_MAX_MS = 2000;

/** How long a learner stood still at most, once a part had died. */
async function pauseOf(seed: number): Promise<readonly [kind: string, longest: number]> {
  const fabric = new Fabric({ seed });
  const replays = await Promise.all(NAMES.map(async () => {
    const replay = await ExperienceReplay.create(NUMBERED);
    replay.newPickSelector(prioritized());
    const numbers = Array.from({ length: 100 }, (_, k) => k);
    replay.recordMany(replay.newEpisode(), {
      state: numbers.flatMap((number) => [number, 0]),
      action: numbers.map((number) => number % 7),
      reward: numbers,
    });
    return replay;
  }));
  try {
    return await fabric.run(async () => {
      const peers = NAMES.map((name) => fabric.peer(name));
      for (const [k, peer] of peers.entries()) {
        const replay = replays[k] as unknown as ExperienceReplay;
        await peer.run(async () => {
          await serveShard(replay, peer.connect(), { name: NAMES[k] as string });
        });
      }
      const learner = fabric.peer("learner");
      /** When batches came. */
      const times: number[] = [];
      learner.run(async () => {
        const shards = await connectShards(learner.connect(), { shards: NAMES.length, seed });
        for await (const _batch of shards.batches(64, { prefetch: 2 })) {
          times.push(fabric.now);
          await pause(20);
        }
      }).catch((error) => fabric.fail(error));
      await fabric.until("the learner draws", () => times.length > 20);

      const [one, other] = [fabric.below(3), fabric.below(2)] as const;
      const [dying, silent] = [peers[one], peers[(one + 1 + other) % 3]] as const;
      if (dying === undefined || silent === undefined) throw new Error("there are three shards");
      const isServer = fabric.below(2) === 0;
      // What a shard says is lost for a while, which ends before its heartbeats are missed.
      const at = fabric.now;
      fabric.at(at + fabric.between([0, 1500]), undefined, () => {
        fabric.cut([silent]);
        fabric.at(fabric.now + fabric.between([0, 700]), undefined, () => fabric.heal([silent]));
      });
      await fabric.pause(fabric.between([0, 1500]));
      let begin = fabric.now;
      if (isServer) {
        const downMs = fabric.between([0, 1500]);
        fabric.restartHub(downMs);
        begin += downMs;
        for (const peer of [...peers, learner]) {
          fabric.cut([peer]);
          const backAt = begin + fabric.between([0, RECONNECT_MS]);
          fabric.at(backAt, undefined, () => fabric.heal([peer]));
        }
      } else dying.kill();
      await fabric.pause(begin - fabric.now + 5000);
      let longest = 0;
      for (const [k, time] of times.entries()) {
        longest = Math.max(longest, time - Math.max(begin, times[k - 1] ?? begin));
      }
      return [isServer ? "NATS" : "shard", longest];
    });
  } finally {
    for (const replay of replays) replay[Symbol.dispose]();
  }
}

Deno.test(`a learner stands still for two seconds at most (${SCHEDULES} schedules from seed ${SEED})`, async () => {
  for (let seed = SEED; seed < SEED + SCHEDULES; seed++) {
    const [kind, longest] = await pauseOf(seed);
    if (Deno.env.has("EXRP_MACHINE_LOG")) console.log(seed, kind, longest.toFixed());
    assert(
      longest <= PAUSE_MAX_MS,
      `seed ${seed}: it stood still for ${longest} ms, once a ${kind} had died`,
    );
  }
});
