/** The disk of a shard fails while a learner draws. */
import { assertEquals, assertRejects } from "../_assert.ts";
import { native } from "../_native.ts";
import { until } from "../_wait.ts";
import { ExperienceReplay, ReplayError, samplesPerInsert, uint8, uniform } from "@exrp/replay";
import { connectShards, localConnection, serveShard, shardWriter } from "@exrp/replay/shards";
import { coreOf } from "../../replay/replay_view.ts";
import { testRandom } from "../replay/_helpers.ts";
import { NUMBERED } from "./_numbered.ts";

interface Recording {
  newEpisode(): number;
  record(...of: unknown[]): number;
}

native.test("a disk that fails in a draw is an error of the disk, and the shard goes on", async () => {
  const folder = await Deno.makeTempDir();
  const connection = localConnection();
  const options = { capacity: 4000, state: uint8(4000), resident: 1_500_000, seed: 5 };
  {
    using replay = await ExperienceReplay.open(folder, options);
    replay.newPickSelector(uniform());
    const random = testRandom(7);
    for (let k = 0; k < 3000; k++) {
      const state = new Uint8Array(4000).map(() => random(256));
      replay.record(replay.newEpisode(), state, 0, k, { finalState: state });
      if (k % 100 === 0) await replay.flush();
    }
    await replay.flush();
    await using shard = await serveShard(replay as never, connection, { name: "a" });
    await using learner = await connectShards(connection);
    const logs = [];
    for await (const { name } of Deno.readDir(folder)) if (name.startsWith("log-")) logs.push(name);
    const [first = ""] = logs.toSorted();
    await Deno.rename(`${folder}/${first}`, `${folder}/away`);
    const draw = async (): Promise<void> => {
      for (let k = 0; k < 100; k++) await learner.getBatch(32);
    };
    const error = await assertRejects(draw, ReplayError, "the shard a: rows of the replay can't");
    assertEquals((error as ReplayError).code, "disk");
    await Deno.rename(`${folder}/away`, `${folder}/${first}`);
    await draw();
    assertEquals(shard.figures().damaged, 0);
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a disk that is full as a draw lets records in ends the shard, and the draw gets its picks", async () => {
  const connection = localConnection();
  const rateLimiter = samplesPerInsert(1, { minSize: 1, error: 2 });
  using replay = await ExperienceReplay.create({ ...NUMBERED, rateLimiter });
  replay.newPickSelector(uniform());
  const shard = await serveShard(replay as never, connection, { name: "a" });
  await using learner = await connectShards(connection);
  const writer = await shardWriter(connection, { sendIntervalMs: 1 });
  for (let n = 1; shard.figures().waitingBytes === 0; n++) {
    const { replay } = writer as unknown as { replay: Recording };
    replay.record(replay.newEpisode(), [n, 0], n % 7, n, { finalState: [n + 1, 0] });
    const { recorded } = shard.figures();
    const hasCome = (): boolean =>
      shard.figures().waitingBytes > 0 || shard.figures().recorded > recorded;
    await until("a record has come", hasCome);
  }
  // No disk can be filled at just this moment, so its error comes from here.
  const { kernel } = coreOf("test", replay);
  const { symbols } = kernel;
  const full = {
    ...symbols,
    exrp_record: () => {
      throw new ReplayError("disk", "the disk is full");
    },
  };
  Object.assign(kernel, { symbols: full });
  try {
    assertEquals((await learner.getBatch(1)).size, 1);
    assertEquals((await shard.closed as ReplayError).code, "disk");
  } finally {
    Object.assign(kernel, { symbols });
    writer.abandon();
  }
});
