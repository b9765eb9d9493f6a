/** The users of the guide's configuration of NATS: each may do what its process needs, and nothing else. Without a `nats-server`, this is left out. */
import { connect, type NatsConnection } from "npm:@nats-io/transport-node@3.4.0";
import { assert, assertEquals, assertRejects } from "../_assert.ts";
import { onWasm } from "../_native.ts";
import { until } from "../_wait.ts";
import { ExperienceReplay, ReplayError, uniform } from "@exrp/replay";
import { connectShards, serveShard, shardWriter } from "@exrp/replay/shards";
import { LIMIT } from "../../shards/_shared_rate_limiter.ts";
import { findNats, startNats } from "../../tools/_nats.ts";
import { inRepository } from "../../tools/_repository.ts";
import { NUMBERED } from "./_numbered.ts";

const nats = await findNats();

Deno.test({
  name: "a shard or an actor whose password is refused says so",
  ignore: nats === undefined || onWasm,
  fn: async () => {
    const users = 'authorization { users: [{ user: shard, password: "right" }] }';
    const server = await startNats(nats as string, users);
    const folder = await Deno.makeTempDir();
    const path = `${folder}/shard.json`;
    const config = {
      ...{ name: "a", nats: { servers: server.address, user: "shard", pass: "wrong" } },
      replay: { capacity: 100, state: "float32()" },
    };
    await Deno.writeTextFile(path, JSON.stringify(config));
    try {
      // The server resets the connection sooner or later than the client ends it.
      const run = async (args: readonly string[]): Promise<[said: string, code: number]> => {
        const { code, stderr } = await new Deno.Command(Deno.execPath(), {
          args: ["run", "-A", "--no-check", "--quiet", "--lock=deno.lock", ...args],
          cwd: inRepository(),
          stderr: "piped",
        }).output();
        return [new TextDecoder().decode(stderr), code];
      };
      const shards = ["1", "2", "3"].map((k) =>
        run(["shards/main.ts", "--config", path, "--directory", `${folder}/${k}`])
      );
      const actors = ["0", "1", "2"].map((index) =>
        run([
          ...["examples/many_machines/actor.ts", `--index=${index}`, "--actors=3"],
          `--servers=${server.address}`,
        ])
      );
      const words =
        `shard: NATS at ${server.address} refuses the user or the password that "nats" of the file has: Authorization Violation\n`;
      for (const [said, code] of await Promise.all(shards)) assertEquals([said, code], [words, 1]);
      for (const [said, code] of await Promise.all(actors)) {
        assert(said.includes("AuthorizationError: Authorization Violation") && code === 1, said);
      }
    } finally {
      await server.kill();
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "shards, actors and learners have the rights of the guide, and others are errors",
  ignore: nats === undefined || onWasm,
  fn: async () => {
    const guide = await Deno.readTextFile(inRepository("docs", "shards.md"));
    const [, config = ""] = /```conf\n(.*?)```/s.exec(guide) ?? [];
    const server = await startNats(nats as string, config);
    const connections: NatsConnection[] = [];
    const enter = async (user: string): Promise<NatsConnection> => {
      const [, pass = ""] = new RegExp(`user: ${user}, password: "(.*?)"`).exec(config) ?? [];
      const connection = await connect({ servers: server.address, user, pass });
      connections.push(connection);
      return connection;
    };
    try {
      const [shards, actors, learners] = [
        await enter("shard"),
        await enter("actor"),
        await enter("learner"),
      ];
      using replay = await ExperienceReplay.create(NUMBERED);
      replay.newPickSelector(uniform());
      await using shard = await serveShard(replay as never, shards, { name: "a" });
      await using writer = await shardWriter(actors);
      const to = writer.replay as unknown as ExperienceReplay<typeof NUMBERED>;
      const record = async (): Promise<void> => {
        to.record(to.newEpisode(), [1, 0], 1, 1, { finalState: [2, 0] });
        await writer.flush();
      };
      await record();
      await using learner = await connectShards(learners);
      const batch = await learner.getBatch(2);
      learner.setPriority(batch, [1, 1]);
      await until("it is drawn", () => shard.figures().drawn === 2);

      // An actor limits nobody, and is no shard.
      let beats = 0;
      learners.subscribe("exrp.beat.a", {
        callback: (_error, { data }) => {
          if (data.length === 1) beats++;
        },
      });
      const { incarnation = "" } = learner.keysOf(batch).origins[0] ?? {};
      actors.publish("exrp.shard.a.limit", LIMIT.write({ incarnation: incarnation, most: 0 }));
      actors.publish("exrp.beat.a", new Uint8Array(1));
      await actors.flush();
      await record();
      assertEquals([replay.recordCount, beats, shard.figures().damaged], [2, 0, 0]);
      const serve = async (): Promise<unknown> => {
        using other = await ExperienceReplay.create(NUMBERED);
        const posed = await serveShard(other as never, actors, { name: "b" });
        const error = await posed.closed;
        throw error;
      };
      const error = await assertRejects(serve, ReplayError, "Permissions Violation");
      assert(error instanceof ReplayError && error.code === "refused");

      // Who may not hear a subject is told so.
      for (const call of [shardWriter, connectShards]) {
        await assertRejects(() => call(actors, { prefix: "other" }), ReplayError, "Violation");
      }
    } finally {
      for (const connection of connections) await connection.close();
      await server.kill();
    }
  },
});
