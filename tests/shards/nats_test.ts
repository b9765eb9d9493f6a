/**
 * Processes over a real NATS server, which are killed under load: shards, actors, and the server itself. What was confirmed is there, no record is there twice, and
 * the learner goes on. `EXRP_SHARD_KILLS` kills more often.
 *
 * Where there is no `nats-server`, this is left out: `deno task nats:install` gets one.
 *
 * @module
 */

import { connect } from "npm:@nats-io/transport-node@3.4.0";
import { assert, assertEquals } from "../_assert.ts";
import { amount } from "../_amount.ts";
import { pause, until } from "../_wait.ts";
import { ExperienceReplay } from "@exrp/replay";
import { connectShards, type ShardChange } from "@exrp/replay/shards";
import { findNats, startNats } from "../../tools/_nats.ts";
import { testRandom } from "../replay/_helpers.ts";
import { type Numbered, numbersOf } from "./_numbered.ts";
import { confirmedOf, Program } from "./_program.ts";

const KILLS = Number(Deno.env.get("EXRP_SHARD_KILLS") ?? amount(2, 4));
const SEED = Number(Deno.env.get("EXRP_SEED") ?? 3131);
const nats = await findNats();
const ignore = nats === undefined || Deno.env.get("EXRP_BACKEND") === "wasm";

Deno.test({
  name: `shards, actors and NATS are killed ${KILLS} times under load (seed ${SEED})`,
  ignore,
  fn: async () => {
    const random = testRandom(SEED);
    const server = await startNats(nats as string);
    const folder = await Deno.makeTempDir();
    const config = `${folder}/shard.json`;
    await Deno.writeTextFile(
      config,
      JSON.stringify({
        name: "a",
        directory: "a",
        nats: { servers: server.address, reconnectTimeWait: 50 },
        replay: { capacity: 1_000_000, state: "int32(2)", action: "int32()", reward: "float32()" },
        selectors: ["prioritized"],
      }),
    );
    const beginShard = (name: string): Program =>
      new Program("shards/main.ts", [
        "--config",
        config,
        "--name",
        name,
        "--directory",
        `${folder}/${name}`,
      ]);
    const names = ["a", "b"];
    const shards = new Map(names.map((name) => [name, beginShard(name)]));
    await Promise.all([...shards.values()].map((shard) => shard.until("serving")));
    // One after the other: each takes the shard with the fewest writers, so both have some, and the learner can go on with either.
    const actors: Program[] = [];
    for (let k = 0; k < 3; k++) {
      const actor = new Program("tests/shards/_actor.ts", [server.address, "200", `${k}`]);
      actors.push(actor);
      await actor.until("confirmed");
    }
    const dead: Program[] = [];
    const connection = await connect({
      servers: server.address,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 50,
      waitOnFirstConnect: true,
    });
    const changes: ShardChange[] = [];
    const learner = await connectShards(connection, {
      shards: 2,
      timeoutMs: 60_000,
      onChange: (change) => changes.push(change),
    });
    let batches = 0;
    let isOver = false;
    const learning = (async () => {
      for await (const batch of learner.batches(64, { prefetch: 2 })) {
        // The actor and the number of a record stand in its state, and its action follows from the number.
        for (let k = 0; k < batch.size; k++) {
          const state = batch.state as Int32Array;
          assertEquals((batch.action as Int32Array)[k], (state[2 * k] ?? 0) % 7);
        }
        learner.setPriority(batch, new Float32Array(64).map(() => random(1000)));
        batches++;
        if (isOver) break;
        await pause(5);
      }
    })();
    for (let kill = 0; kill < KILLS; kill++) {
      await pause(200 + random(300));
      const what = kill % 4;
      if (what === 0 || what === 2) {
        const name = names[random(2)] as string;
        await shards.get(name)?.end("SIGKILL");
        const gone = changes.length;
        if (random(2) === 0) {
          await until(
            "the learner hears of it",
            () => changes.slice(gone).some(({ kind, shard }) => kind === "left" && shard === name),
          );
          const before = batches;
          await until("the learner goes on without it", () => batches > before + 5);
        }
        const again = beginShard(name);
        shards.set(name, again);
        await again.until("serving");
      } else if (what === 1) {
        await server.kill();
        await pause(random(1500));
        await server.restart();
      } else {
        const [victim] = actors.splice(random(actors.length), 1) as [Program];
        await victim.end("SIGKILL");
        dead.push(victim);
        actors.push(new Program("tests/shards/_actor.ts", [server.address, "200", `${10 + kill}`]));
      }
      const before = batches;
      await until("the learner goes on", () => batches > before + 5);
    }
    for (const actor of actors) await actor.until("confirmed");
    for (const actor of actors) await actor.end(undefined);
    for (const actor of actors) assert(actor.said.includes("done"), actor.said.slice(-200));
    isOver = true;
    await learning;
    await learner.close();
    await connection.close();
    for (const shard of shards.values()) {
      await shard.end("SIGTERM");
      assert(shard.said.endsWith("SIGTERM: stopping\nstopped\n"), shard.said);
    }
    const there = new Map<number, number[]>();
    for (const name of names) {
      using replay = await ExperienceReplay.open<Numbered>(`${folder}/${name}`);
      for (const [actor, numbers] of numbersOf(replay)) {
        there.set(actor, [...there.get(actor) ?? [], ...numbers]);
      }
    }
    const confirmed = new Map([...actors, ...dead].map((each) => [each.actor, confirmedOf(each)]));
    for (const [actor, count] of confirmed) {
      const numbers = there.get(actor) ?? [];
      const known = new Set(numbers);
      assertEquals(known.size, numbers.length, `actor ${actor} has records twice`);
      for (let k = 0; k < count; k++) {
        assert(known.has(k), `actor ${actor} lacks record ${k} of ${count}`);
      }
    }
    await server.kill();
    await Deno.remove(folder, { recursive: true });
  },
});

Deno.test({
  name: "a shard waits for NATS, and stops without it",
  ignore,
  fn: async () => {
    const server = await startNats(nats as string);
    await server.kill();
    const folder = await Deno.makeTempDir();
    const config = `${folder}/shard.json`;
    const replay = { capacity: 100, state: "float32()" };
    const connection = { servers: server.address, reconnectTimeWait: 50 };
    await Deno.writeTextFile(
      config,
      JSON.stringify({ name: "a", directory: "a", nats: connection, replay }),
    );
    const shard = new Program("shards/main.ts", ["--config", config]);
    await shard.until(`connecting to ${server.address}\n`);
    await pause(100);
    await server.restart();
    await shard.until("serving");
    await server.kill();
    await shard.end("SIGTERM");
    assert(shard.said.endsWith("SIGTERM: stopping\nstopped\n"), shard.said);
    await Deno.remove(folder, { recursive: true });
  },
});
