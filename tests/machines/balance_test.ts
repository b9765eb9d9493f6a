/**
 * Writers spread over shards, also over one that died and came back, on the simulated network. `EXRP_MACHINE_SEED` is the seed.
 *
 * @module
 */

import { ExperienceReplay, int32, uniform } from "@exrp/replay";
import { serveShard, type ShardWriter, shardWriter } from "@exrp/replay/shards";
import { assert, assertEquals } from "../_assert.ts";
import { isAll } from "../_amount.ts";
import { pause } from "../_wait.ts";
import { isWorth } from "../../shards/_shard_choice.ts";
import { Fabric, type Peer } from "../shards/_fabric.ts";
import { type Numbered, numbersOf, step } from "../shards/_numbered.ts";
import { SimulatedShard } from "./_simulated_shard.ts";

const SEED = Number(Deno.env.get("EXRP_MACHINE_SEED") ?? 1);
const ignore = Deno.env.get("EXRP_BACKEND") === "wasm";
/** A fifth of the default: a writer compares shards once a second. Virtual time costs processor time, too. */
const STAY_MS = 6000;
/** Within so long, in virtual time, writers must have spread. */
const SPREAD_MS = 5 * STAY_MS;
const EPISODE = 10;

/** Writes a numbered record three times a second, about. */
class Writing {
  written = 0;
  isEnough = false;
  isDone = false;
  writer: ShardWriter<Numbered> | undefined;

  constructor(fabric: Fabric, peer: Peer, actor: number, stayMs = STAY_MS) {
    peer.run(async () => {
      const options = { timeoutMs: 3_600_000, stayMs, sendIntervalMs: 250 };
      const { replay } = this.writer = await shardWriter<Numbered>(peer.connect(), options);
      let episode = replay.newEpisode();
      while (!this.isEnough) {
        const one = step(actor, this.written, this.written % EPISODE === EPISODE - 1);
        episode = replay.recordStep(episode, one as never);
        this.written++;
        await pause(200 + fabric.below(200));
      }
      await this.writer.close();
      this.isDone = true;
    }).catch((error) => fabric.fail(error));
  }

  get shard(): string {
    return this.writer?.figures().shard ?? "";
  }

  get moves(): number {
    return this.writer?.figures().moves ?? 0;
  }
}

/** How many writers each shard has. */
function counts(shards: readonly SimulatedShard[], actors: readonly Writing[]): number[] {
  return shards.map(({ name }) => actors.filter(({ shard }) => shard === name).length);
}

/** Whether nobody would go on to another shard. */
function isSpread(numbers: readonly number[]): boolean {
  return !isWorth(Math.max(...numbers), Math.min(...numbers));
}

async function begin(fabric: Fabric, folder: string, count: number): Promise<SimulatedShard[]> {
  const shards = Array.from(
    { length: count },
    (_, k) => new SimulatedShard(fabric, `shard-${k}`, `${folder}/${k}`),
  );
  for (const shard of shards) shard.begin();
  await fabric.until("all shards serve", () => shards.every(({ isServing }) => isServing));
  return shards;
}

/** Ends all; each record that was written is there once. Returns how many episodes there are. */
async function end(
  fabric: Fabric,
  shards: readonly SimulatedShard[],
  actors: readonly Writing[],
): Promise<number> {
  for (const actor of actors) actor.isEnough = true;
  await fabric.until("all actors are done", () => actors.every(({ isDone }) => isDone));
  const there = new Map<number, number[]>();
  let episodes = 0;
  for (const { replay } of shards) {
    if (replay === undefined) throw new Error("a shard is gone");
    episodes += replay.episodes().handle.length;
    for (const [actor, numbers] of numbersOf(replay)) {
      there.set(actor, [...there.get(actor) ?? [], ...numbers]);
    }
  }
  for (const [k, { written }] of actors.entries()) {
    const numbers = (there.get(k) ?? []).sort((a, b) => a - b);
    assertEquals(numbers, Array.from({ length: written }, (_, number) => number));
  }
  for (const shard of shards) {
    shard.peer.kill();
    await shard.bury();
  }
  return episodes;
}

async function simulate(
  name: string,
  run: (fabric: Fabric, folder: string) => Promise<void>,
): Promise<void> {
  const fabric = new Fabric({ seed: SEED, loss: 0.001, delayMs: [0.05, 2] });
  const folder = await Deno.makeTempDir({ prefix: `exrp-${name}-` });
  try {
    await fabric.run(() => run(fabric, folder));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test({
  name: `actors that begin at once spread over shards, and go back to one that died (seed ${SEED})`,
  ignore,
  fn: () =>
    simulate("balance", async (fabric, folder) => {
      const shards = await begin(fabric, folder, 3);
      const actors = Array.from(
        { length: 15 },
        (_, k) => new Writing(fabric, fabric.peer(`actor-${k}`), k),
      );
      const spread = (): boolean => {
        const all = counts(shards, actors);
        return all.reduce((sum, each) => sum + each) === actors.length && isSpread(all);
      };
      await fabric.until("they spread", spread, SPREAD_MS);
      const [dead] = shards as [SimulatedShard];
      dead.peer.kill({ silent: true });
      const left = (): boolean => actors.every(({ shard }) => shard !== dead.name);
      await fabric.until(`all leave ${dead.name}`, left, 5000);
      await dead.bury();
      dead.begin();
      await fabric.until(`${dead.name} has its share again`, spread, SPREAD_MS);
      // Two that went at the same time, as counts are a moment old, need another move. Then all stay.
      let [moved, since] = [0, fabric.now];
      const isCalm = (): boolean => {
        const moves = actors.reduce((sum, actor) => sum + actor.moves, 0);
        if (moves !== moved) [moved, since] = [moves, fabric.now];
        return fabric.now > since + 2 * STAY_MS && spread();
      };
      await fabric.until("all stay", isCalm, 2 * SPREAD_MS);
      const episodes = await end(fabric, shards, actors);
      // A death cuts the episodes of its actors, and so does a move to which no episode's end came in time. The last ones are open.
      const whole = actors.reduce((sum, { written }) => sum + Math.ceil(written / EPISODE), 0);
      assert(
        episodes <= whole + moved,
        `${episodes} episodes, ${whole} whole ones, ${moved} moves`,
      );
    }),
});

Deno.test({
  name: `writers spread, although a shard that is gone has not confirmed all (seed ${SEED})`,
  ignore,
  fn: () =>
    simulate("gone", async (fabric, folder) => {
      const [gone] = await begin(fabric, folder, 1) as [SimulatedShard];
      const actors = Array.from(
        { length: 5 },
        (_, k) => new Writing(fabric, fabric.peer(`actor-${k}`), k),
      );
      await fabric.until("all write", () => actors.every(({ written }) => written > 0));
      gone.peer.kill({ silent: true });
      const others = [1, 2].map((k) => new SimulatedShard(fabric, `shard-${k}`, `${folder}/${k}`));
      const [first, second] = others as [SimulatedShard, SimulatedShard];
      first.begin();
      const haveLeft = (): boolean => actors.every(({ shard }) => shard === first.name);
      await fabric.until(`all leave ${gone.name}`, haveLeft, 5000);
      for (const { writer } of actors) assert((writer?.figures().unconfirmedBytes ?? 0) > 0);
      second.begin();
      await fabric.until("they spread", () => isSpread(counts(others, actors)), SPREAD_MS);
      await gone.bury();
      gone.begin();
      await end(fabric, [gone, ...others], actors);
    }),
});

Deno.test({
  name: "a writer whose connection has ended looks for no other shard, and throws nothing",
  ignore,
  fn: () =>
    simulate("ended", async (fabric, folder) => {
      const shards = await begin(fabric, folder, 1);
      const peer = fabric.peer("actor");
      let writer: ShardWriter | undefined;
      peer.run(async () => {
        const connection = peer.connect();
        writer = await shardWriter(connection);
        await connection.close();
      }).catch((error) => fabric.fail(error));
      await fabric.until("it writes", () => writer !== undefined);
      await fabric.pause(3000);
      writer?.abandon();
      await end(fabric, shards, []);
    }),
});

Deno.test({
  name: "a writer stays at its shard where the network was away",
  ignore,
  fn: () =>
    simulate("away", async (fabric, folder) => {
      const shards = await begin(fabric, folder, 3);
      const actors = Array.from(
        { length: 4 },
        (_, k) => new Writing(fabric, fabric.peer(`actor-${k}`), k, Infinity),
      );
      await fabric.pause(1000);
      for (let k = 0; k < 5; k++) {
        fabric.restartHub(2000);
        await fabric.pause(4000);
      }
      assertEquals(actors.map(({ moves }) => moves), [0, 0, 0, 0]);
      await end(fabric, shards, actors);
    }),
});

/** Begins a shard of this name, whose records have one number more. */
async function beginOther(fabric: Fabric, name: string): Promise<Peer> {
  const peer = fabric.peer(name);
  const replay = await fabric.outside(
    ExperienceReplay.create({ capacity: 1000, state: int32(3), action: int32() }),
  );
  replay.newPickSelector(uniform());
  peer.run(async () => {
    await (await serveShard(replay as unknown as ExperienceReplay, peer.connect(), { name }))
      .closed;
  }).catch((error) => fabric.fail(error));
  return peer;
}

Deno.test({
  name: "a writer goes to no shard that has come back with other columns",
  ignore,
  fn: () =>
    simulate("columns", async (fabric, folder) => {
      const [shard] = await begin(fabric, folder, 1) as [SimulatedShard];
      const actors = Array.from(
        { length: 5 },
        (_, k) => new Writing(fabric, fabric.peer(`actor-${k}`), k, Infinity),
      );
      // Its episode does not end, so it waits before it moves. Who listens to a shard that it does not write to wants to go there.
      const peer = fabric.peer("waiting");
      const goal = "shard-1";
      let wants = false;
      let writer: ShardWriter<Numbered> | undefined;
      peer.run(async () => {
        const connection = peer.connect();
        const subscribe = connection.subscribe.bind(connection);
        connection.subscribe = (subject, options) => {
          if (subject === `exrp.beat.${goal}`) wants = true;
          return subscribe(subject, options);
        };
        writer = await shardWriter<Numbered>(connection, { stayMs: 4 * STAY_MS });
        writer.replay.recordStep(writer.replay.newEpisode(), step(5, 0, false) as never);
      }).catch((error) => fabric.fail(error));
      await fabric.until("all write", () => [...actors, { writer }].every((each) => each.writer));
      const other = new SimulatedShard(fabric, goal, `${folder}/1`);
      other.begin();
      await fabric.until(`a writer wants to go to ${goal}`, () => wants, 10 * SPREAD_MS);
      other.peer.kill({ silent: true });
      await other.bury();
      const changed = await beginOther(fabric, goal);
      await fabric.pause(2 * STAY_MS);
      assertEquals(writer?.figures(), { ...writer?.figures(), shard: "shard-0", moves: 0 });
      writer?.abandon();
      changed.kill();
      await end(fabric, [shard], actors);
    }),
});

Deno.test({
  name: "a writer leaves its shard if that has come back with other columns",
  ignore,
  fn: () =>
    simulate("changed", async (fabric, folder) => {
      const [shard] = await begin(fabric, folder, 1) as [SimulatedShard];
      const peer = fabric.peer("actor");
      let writer: ShardWriter<Numbered> | undefined;
      let isDone = false;
      const record = async (number: number): Promise<void> => {
        const { replay } = writer as ShardWriter<Numbered>;
        replay.recordStep(replay.newEpisode(), step(0, number, true) as never);
        await writer?.flush();
        isDone = true;
      };
      peer.run(async () => {
        writer = await shardWriter<Numbered>(peer.connect(), { stayMs: Infinity });
        await record(0);
      }).catch((error) => fabric.fail(error));
      await fabric.until("it has written", () => isDone);
      const other = new SimulatedShard(fabric, "shard-1", `${folder}/1`);
      other.begin();
      await fabric.until("another one serves", () => other.isServing);
      // So soon that the writer does not take it for dead.
      shard.peer.kill({ silent: true });
      const changed = await beginOther(fabric, shard.name);
      await fabric.pause(STAY_MS);
      isDone = false;
      peer.run(() => record(1)).catch((error) => fabric.fail(error));
      await fabric.until("the other one has the next record", () => isDone);
      assertEquals(writer?.figures().shard, "shard-1");
      writer?.abandon();
      for (const one of [changed, other.peer]) one.kill();
      for (const one of [shard, other]) await one.bury();
    }),
});

/** Says after each heartbeat of a shard what it lies about its writers. */
function lie(peer: Peer, name: string, writers: () => number): void {
  peer.run(() => {
    const connection = peer.connect();
    let said = "";
    connection.subscribe(`exrp.beat.${name}`, {
      callback: (_error, { data }) => {
        const text = new TextDecoder().decode(data);
        if (text === said) return;
        said = text.replace(/"writers":\d+/, `"writers":${writers()}`);
        connection.publish(`exrp.beat.${name}`, new TextEncoder().encode(said));
      },
    });
  });
}

Deno.test({
  name: `a shard that lies about its writers costs others a move now and then (seed ${SEED})`,
  ignore,
  fn: async () => {
    let k = 0;
    const turns = (): number => k++ % 40 < 20 ? 0 : 60_000;
    for (const lies of isAll ? [() => 0, () => 60_000, turns] : [turns]) {
      await simulate("lies", async (fabric, folder) => {
        const shards = await begin(fabric, folder, 3);
        lie(fabric.peer("liar"), "shard-0", lies);
        const actors = Array.from(
          { length: 6 },
          (_, actor) => new Writing(fabric, fabric.peer(`actor-${actor}`), actor),
        );
        const { now } = fabric;
        await fabric.pause(4 * STAY_MS);
        const most = 1 + Math.ceil((fabric.now - now) / STAY_MS);
        for (const { moves } of actors) assert(moves <= most, `${moves} moves`);
        if (lies() === 60_000) {
          const all = counts(shards, actors);
          assert(isSpread(all.slice(1)), `${all.join()} writers`);
        }
        await end(fabric, shards, actors);
      });
    }
  },
});
