/**
 * Actors write to shards through a network that loses, doubles and reorders messages, while shards and actors are killed. What was confirmed is there, and no record
 * is there twice. `EXRP_SHARD_SCHEDULES` runs more of them, and `EXRP_SEED` repeats a run's choices, though not the times of the system.
 *
 * @module
 */

import { assert, assertEquals } from "../_assert.ts";
import { amount } from "../_amount.ts";
import { pause } from "../_wait.ts";
import { ActorWriter } from "@exrp/replay/actors";
import { serveShard, type Shard, type ShardWriter, shardWriter } from "@exrp/replay/shards";
import type { ExperienceReplay } from "@exrp/replay";
import { testRandom } from "../replay/_helpers.ts";
import { LossyNet } from "./_lossy.ts";
import { batchOf, manyOf, type Numbered, numbersOf, openNumbered, step } from "./_numbered.ts";

const SCHEDULES = Number(Deno.env.get("EXRP_SHARD_SCHEDULES") ?? amount(2, 4));
const SEED = Number(Deno.env.get("EXRP_SEED") ?? 311);

/** A shard on a network, which can be killed. */
class TestShard {
  folder = "";
  replay!: ExperienceReplay<Numbered>;
  #shard!: Shard;
  #life = 0;

  constructor(readonly net: LossyNet, readonly name: string) {}

  async begin(): Promise<void> {
    if (this.folder === "") this.folder = await Deno.makeTempDir();
    this.replay = await openNumbered(this.folder);
    const connection = this.net.node(`${this.name}${this.#life}`);
    this.#shard = await serveShard(this.replay as unknown as ExperienceReplay, connection, {
      name: this.name,
    });
  }

  /** Cuts it off, and goes on with what its folder has at this moment. */
  async kill(): Promise<void> {
    this.net.cut(`${this.name}${this.#life++}`);
    const copy = await Deno.makeTempDir();
    for await (const { name } of Deno.readDir(this.folder)) {
      if (name !== "lock.exrp") await Deno.copyFile(`${this.folder}/${name}`, `${copy}/${name}`);
    }
    await this.end();
    this.folder = copy;
  }

  async end(): Promise<void> {
    await this.#shard.close();
    this.replay[Symbol.dispose]();
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** Writes numbered records in one of the ways in which actors do; tells what is confirmed. */
class TestActor {
  written = 0;
  confirmed = 0;
  isDead = false;
  writer!: ShardWriter<Numbered>;

  constructor(
    readonly net: LossyNet,
    readonly number: number,
    readonly random: (below: number) => number,
  ) {}

  async run(count: number): Promise<void> {
    this.writer = await shardWriter<Numbered>(this.net.node(`actor${this.number}`), {
      chunkBytes: 1024,
      sendIntervalMs: 5,
      unconfirmedBytes: 2 ** 16,
      timeoutMs: 60_000,
    });
    await [this.#byActorWriter, this.#byStep, this.#byBatch][this.number % 3]?.call(this, count);
    await this.#flush();
  }

  /** Ends as if the process were killed. */
  kill(): void {
    this.isDead = true;
    this.writer?.abandon();
  }

  async #flush(): Promise<void> {
    if (this.isDead) return;
    const { written } = this;
    try {
      await this.writer.flush();
      this.confirmed = written;
    } catch (error) {
      if (!this.isDead) throw error;
    }
  }

  async #pause(): Promise<void> {
    if (this.random(40) === 0) await this.#flush();
    else if (this.random(4) === 0) await pause(this.random(4));
  }

  async #byActorWriter(count: number): Promise<void> {
    const actor = new ActorWriter(this.writer.replay, { flushSteps: 7, environments: 2 });
    while (this.written < count && !this.isDead) {
      const isLast = this.random(20) === 0;
      const [a, b] = [this.written, this.written + 1];
      if (actor.isFull) await actor.flushWhenReady();
      if (this.isDead) return;
      actor.stepBatch({
        state: [a, this.number, b, this.number],
        action: [a % 7, b % 7],
        reward: [a, b],
        nextState: [a + 1, this.number, b + 1, this.number],
        terminated: [isLast, false],
        truncated: [false, this.random(25) === 0],
      } as never);
      this.written += 2;
      if (this.random(30) === 0) {
        await actor.flushWhenReady();
        await this.#flush();
      } else if (this.random(3) === 0) await pause(this.random(4));
    }
    if (!this.isDead) await actor.flushWhenReady();
  }

  async #byStep(count: number): Promise<void> {
    const { replay } = this.writer;
    let episode = replay.newEpisode();
    while (this.written < count && !this.isDead) {
      const one = step(this.number, this.written, this.random(15) === 0);
      await replay.whenReady(() => episode = replay.recordStep(episode, one as never));
      this.written++;
      await this.#pause();
    }
  }

  async #byBatch(count: number): Promise<void> {
    const { replay } = this.writer;
    const episodes = Float64Array.of(replay.newEpisode(), replay.newEpisode({ tag: 3 }));
    let one = replay.newEpisode();
    while (this.written < count && !this.isDead) {
      const steps = [0, 1].map((k) => step(this.number, this.written + k, this.random(15) === 0));
      await replay.whenReady(() => replay.recordBatch(episodes, batchOf(steps) as never));
      this.written += 2;
      const many = [0, 1, 2].map((k) => step(this.number, this.written + k, false));
      await replay.whenReady(() =>
        one = replay.recordMany(one, {
          ...manyOf(many),
          ...this.random(5) === 0 ? { finalState: [0, 0] } : {},
        } as never)
      );
      this.written += 3;
      if (replay.episode(one).ending !== "open") one = replay.newEpisode();
      await this.#pause();
    }
  }
}

async function runSchedule(seed: number): Promise<void> {
  const random = testRandom(seed);
  const net = new LossyNet(random, {
    lost: random(80),
    doubled: random(80),
    delayMs: random(2) * random(15),
  });
  const shards = ["a", "b"].map((name) => new TestShard(net, name));
  await Promise.all(shards.map((shard) => shard.begin()));
  const actors = [0, 1, 2, 3].map((number) => new TestActor(net, number, random));
  try {
    const running = actors.map((actor) => actor.run(1500));
    const all = Promise.all(running);
    all.catch(() => {});
    for (let kills = 0; kills < 3; kills++) {
      await pause(60 + random(300));
      const shard = shards[random(2)] as TestShard;
      await shard.kill();
      await pause(random(2) * random(1500));
      await shard.begin();
      if (random(3) === 0) actors[random(4)]?.kill();
    }
    net.heal();
    await all;
    const there = new Map<number, number[]>();
    for (const { replay } of shards) {
      for (const [actor, numbers] of numbersOf(replay)) {
        there.set(actor, [...there.get(actor) ?? [], ...numbers]);
      }
    }
    for (const { number: actor, written, confirmed, isDead } of actors) {
      const numbers = (there.get(actor) ?? []).sort((a, b) => a - b);
      assertEquals(new Set(numbers).size, numbers.length, `actor ${actor} has records twice`);
      const known = new Set(numbers);
      const lost = Array.from({ length: confirmed }, (_, k) => k).filter((k) => !known.has(k));
      assertEquals(lost, [], `actor ${actor}, of ${confirmed} confirmed records`);
      assert(isDead || confirmed === written, `${confirmed} of ${written} were confirmed`);
    }
  } finally {
    for (const { writer } of actors) writer?.abandon();
    await Promise.all(shards.map((shard) => shard.end()));
  }
}

Deno.test({
  name: `in ${SCHEDULES} schedules of faults, each record is there once (seed ${SEED})`,
  ignore: Deno.env.get("EXRP_BACKEND") === "wasm",
  fn: async () => {
    // They mostly wait, so several run side by side.
    for (let first = 0; first < SCHEDULES; first += 6) {
      const some = Array.from({ length: Math.min(6, SCHEDULES - first) }, (_, k) => first + k);
      await Promise.all(some.map(async (k) => {
        try {
          await runSchedule(SEED + k);
        } catch (error) {
          throw new Error(`schedule ${SEED + k}: ${error}`, { cause: error });
        }
      }));
    }
  },
});
