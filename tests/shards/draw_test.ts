/** Draws from shards are those from one replay. */
import { assert, assertEquals, assertRejects, assertThrows } from "../_assert.ts";
import { pause, until } from "../_wait.ts";
import { ExperienceReplay, float32, int32, newest, samplesPerInsert, uniform } from "@exrp/replay";
import {
  type Connection,
  connectShards,
  localConnection,
  serveShard,
  type ShardChange,
  shardReader,
  shardWriter,
} from "@exrp/replay/shards";
import { chiSquareTail } from "../whole/statistics/chi_square.ts";
import { testRandom } from "../replay/_helpers.ts";
import { Fabric } from "./_fabric.ts";
import { localShard, withSums } from "./_local.ts";
import { NUMBERED } from "./_numbered.ts";

const SEED = 3101;

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, k) => from + k);
}

/** Counts how often each number is drawn. */
async function count(connection: Connection, shards: number, batches: number): Promise<number[]> {
  await using learner = await connectShards(connection, { shards, seed: SEED });
  const counts: number[] = [];
  for (let k = 0; k < batches; k++) {
    const { reward } = await learner.getBatch(500);
    for (const n of reward as Float32Array) counts[n] = (counts[n] ?? 0) + 1;
  }
  return counts;
}

/** Pearson's statistic of counts, where number n should come in proportion to n. */
function chance(counts: readonly number[], numbers: readonly number[]): number {
  const draws = counts.reduce((sum, each) => sum + (each ?? 0), 0);
  const total = numbers.reduce((sum, each) => sum + each, 0);
  let statistic = 0;
  for (const n of numbers) {
    const expected = draws * n / total;
    statistic += ((counts[n] ?? 0) - expected) ** 2 / expected;
  }
  return chiSquareTail(statistic, numbers.length - 1);
}

Deno.test("three shards of different sizes are drawn from as one replay (chi-square)", async () => {
  const connection = localConnection();
  await using _a = await localShard(connection, "a", range(1, 11));
  await using _b = await localShard(connection, "b", range(11, 13));
  await using _c = await localShard(connection, "c", range(13, 41));
  assert(chance(await count(connection, 3, 80), range(1, 41)) > 1e-6);
});

Deno.test("the same test finds shards of which each gets a third of the draws", async () => {
  const connection = withSums(localConnection(), () => 1);
  await using _a = await localShard(connection, "a", range(1, 11));
  await using _b = await localShard(connection, "b", range(11, 13));
  await using _c = await localShard(connection, "c", range(13, 41));
  assert(chance(await count(connection, 3, 80), range(1, 41)) < 1e-6);
});

Deno.test(`sums that are old at random cost no bias (seed ${SEED})`, async () => {
  const random = testRandom(SEED);
  const connection = withSums(localConnection(), () => 1 + random(50));
  const numbers = range(1, 41);
  await using _a = await localShard(connection, "a", range(1, 11));
  await using _b = await localShard(connection, "b", range(11, 13));
  await using _c = await localShard(connection, "c", range(13, 41));
  await using learner = await connectShards(connection, { shards: 3, seed: SEED });
  // The mean of all numbers, estimated by draws of which each counts 1 / (N P).
  const mean = numbers.reduce((sum, n) => sum + n, 0) / 40;
  const total = 40 * mean;
  let [sum, squares, naive, draws] = [0, 0, 0, 0];
  for (let k = 0; k < 100; k++) {
    const { reward, probability, importanceWeight } = await learner.getBatch(500);
    const least = Math.min(...probability);
    for (const [at, n] of (reward as Float32Array).entries()) {
      const p = probability[at] ?? NaN;
      const estimate = n / (40 * p);
      sum += estimate;
      squares += estimate ** 2;
      // What it would be if the sums were taken for right.
      naive += n / (40 * n / total);
      draws++;
      assert(Math.abs((importanceWeight[at] ?? NaN) - least / p) < 1e-5);
    }
  }
  const error = Math.sqrt((squares / draws - (sum / draws) ** 2) / draws);
  assert(Math.abs(sum / draws - mean) < 5 * error, `${sum / draws} is not ${mean} ± ${error}`);
  assertEquals(naive / draws, mean);
  // The twin: each number's share of the draws is not its share of the weights.
  const counts = await count(connection, 3, 40);
  assert(chance(counts, numbers) < 1e-6);
});

Deno.test("uniform picks of shards have equal probabilities, and weights of 1", async () => {
  const connection = localConnection();
  await using _a = await localShard(connection, "a", range(0, 30), {}, uniform());
  await using _b = await localShard(connection, "b", range(30, 40), {}, uniform());
  await using learner = await connectShards(connection, { shards: 2, seed: 1 });
  const { probability, importanceWeight } = await learner.getBatch(200);
  for (const p of probability) assert(Math.abs(p - 1 / 40) < 1e-8);
  for (const w of importanceWeight) assert(Math.abs(w - 1) < 1e-6);
});

Deno.test("rules that define no weights have weights of 1", async () => {
  const connection = localConnection();
  await using _a = await localShard(connection, "a", range(0, 30), {}, newest());
  await using learner = await connectShards(connection, { seed: 1 });
  const { importanceWeight, reward } = await learner.getBatch(4);
  assertEquals([...importanceWeight], [1, 1, 1, 1]);
  assertEquals((reward as Float32Array)[0], 29);
});

Deno.test("sequences with burn-in and n-step returns come as one shard's replay gives them", async () => {
  const connection = localConnection();
  const shards = [];
  for (const name of ["a", "b"]) {
    const replay = await ExperienceReplay.create({
      capacity: 1000,
      state: float32(3),
      extras: { hidden: float32(5) },
      pick: { length: 4, burnIn: 2, nStep: [2, 3], discount: 0.9, allowShort: true },
    });
    replay.newPickSelector(uniform());
    for (let e = 0; e < 5; e++) {
      let episode = replay.newEpisode();
      for (let k = 0; k < 12; k++) {
        const n = (name === "a" ? 0 : 500) + 20 * e + k;
        const end = k === 11 ? { finalState: [n + 1, 0, 0] } : {};
        const extras = { hidden: [n, n, n, n, n] };
        episode = replay.record(episode, [n, 1, 2], 0, n, { extras, ...end } as never);
      }
    }
    shards.push({ replay, shard: await serveShard(replay as never, connection, { name }) });
  }
  await using learner = await connectShards(connection, { shards: 2, seed: 3 });
  const batch = await learner.getBatch(64);
  const { origins } = learner.keysOf(batch as never);
  assertEquals(origins.length, 2);
  for (const { shard: name, first, count } of origins) {
    const { replay } = shards[name === "a" ? 0 : 1] as (typeof shards)[number];
    for (let k = first; k < first + count; k++) {
      // The same pick, drawn by the replay itself.
      const { state, reward } = replay.episodeRecords(batch.pickEpisode[k] ?? -1);
      const length = batch.seqLen[k] ?? 0;
      const at = batch.pickPosition[k] ?? 0;
      const own = batch.state as Float32Array;
      const begin = Math.max(0, at - 2);
      for (let row = 0; row < length; row++) {
        assertEquals(own[3 * (batch.length * k + row)], state[3 * (begin + row)]);
      }
      const [two] = batch.nStep as unknown as [{ reward: Float32Array }];
      const last = at + 1 < 12 ? 0.9 * (reward[at + 1] ?? 0) : 0;
      const row = at - begin;
      assert(
        Math.abs((two.reward[batch.length * k + row] ?? NaN) - (reward[at] ?? 0) - last) < 1e-3,
      );
    }
  }
  for (const { shard, replay } of shards) {
    await shard.close();
    replay[Symbol.dispose]();
  }
});

Deno.test("priorities go back to the shards of their picks", async () => {
  const connection = localConnection();
  await using a = await localShard(connection, "a", range(1, 5));
  await using b = await localShard(connection, "b", range(5, 9));
  await using learner = await connectShards(connection, { shards: 2, seed: 1 });
  const batch = await learner.getBatch(200);
  const rewards = [...batch.reward as Float32Array];
  assertEquals(new Set(rewards).size, 8);
  learner.setPriority(batch, rewards.map((n) => n === 3 || n === 7 ? 1 : 0));
  const drawn = new Set((await learner.getBatch(100)).reward as Float32Array);
  assertEquals([...drawn].sort(), [3, 7]);
  for (const { shard } of [a, b]) assertEquals(shard.figures().damaged, 0);
  assertThrows(() => learner.setPriority(batch, [1]), RangeError, "200 priorities");
  assertThrows(() => learner.setPriority(batch, new Float32Array(200).fill(-1)), Error, "negative");
});

Deno.test("a reader of shards is a learner's, and its keys may be posted", async () => {
  const connection = localConnection();
  await using _a = await localShard(connection, "a", range(1, 5));
  await using reader = shardReader(await connectShards(connection, { seed: 1 }));
  const { keys, nextState, state, discount } = await reader.getBatch(16);
  assertEquals([...nextState as Int32Array][0], ([...state as Int32Array][0] ?? 0) + 1);
  assertEquals(discount[0], 0);
  await reader.setPriority({ keys: structuredClone(keys) }, new Float32Array(16).fill(2));
  assertEquals(await reader.stats(), { size: 4, inserted: 4, drawn: 16 });
  let batches = 0;
  for await (const { size } of reader.batches(8, { prefetch: 3 })) {
    assertEquals(size, 8);
    if (++batches === 5) break;
  }
});

Deno.test("shards of different replays are an error, and a later one is told of and left out", async () => {
  const connection = localConnection();
  await using _a = await localShard(connection, "a", range(1, 5));
  const changes: ShardChange[] = [];
  await using learner = await connectShards(connection, { onChange: (one) => changes.push(one) });
  await using _b = await localShard(connection, "b", range(1, 5), { reward: int32() });
  await until("the learner hears of it", () => changes.some(({ kind }) => kind === "differs"));
  const text = changes.find(({ kind }) => kind === "differs")?.text ?? "";
  assert(
    /shard b has columns .*"reward","int32".*shard a has .*"reward","float32"/.test(text),
    text,
  );
  assertEquals(new Set((await learner.getBatch(64)).reward as Float32Array).size <= 4, true);
  assertEquals(learner.figures().shards.map(({ isAlive }) => isAlive), [true, false]);
  await assertRejects(
    () => connectShards(connection, { shards: 2 }),
    Error,
    "has columns",
  );
});

Deno.test("a shard that ends is left out at once, and drawn from again when it is back", async () => {
  const connection = localConnection();
  await using _a = await localShard(connection, "a", range(1, 5));
  const changes: string[] = [];
  await using learner = await connectShards(connection, {
    onChange: ({ kind, shard }) => changes.push(`${shard} ${kind}`),
  });
  {
    await using _b = await localShard(connection, "b", range(5, 9));
    await until("both are there", () => changes.length === 2);
    await until(
      "both are drawn from",
      async () => new Set((await learner.getBatch(200)).reward as Float32Array).size === 8,
    );
  }
  assertEquals(new Set((await learner.getBatch(200)).reward as Float32Array).size, 4);
  await using _b = await localShard(connection, "b", range(5, 9));
  await until(
    "both are drawn from again",
    async () => new Set((await learner.getBatch(200)).reward as Float32Array).size === 8,
  );
  assertEquals(changes, ["a came", "b came", "b left", "b came"]);
});

Deno.test("a learner waits for records, and its wait ends by a timeout, a signal or its end", async () => {
  const connection = localConnection();
  await using a = await localShard(connection, "a", []);
  const learner = await connectShards(connection);
  await assertRejects(() => learner.getBatch(4, { timeoutMs: 20 }), Error, "1 of 1 shards live");
  const control = new AbortController();
  const aborted = learner.getBatch(4, { signal: control.signal });
  control.abort(new Error("enough"));
  await assertRejects(() => aborted, Error, "enough");
  const drawn = learner.getBatch(4);
  await using writer = await shardWriter(connection);
  (writer.replay as unknown as { record(...of: unknown[]): void })
    .record(writer.replay.newEpisode(), [9, 0], 2, 9, { finalState: [1, 1] });
  await writer.flush();
  assertEquals([...(await drawn).reward as Float32Array], [9, 9, 9, 9]);
  assertEquals(a.shard.figures().recorded, 1);
  const late = assertRejects(() => learner.getBatch(2 ** 23, {}), Error);
  await learner.close();
  await late;
  await assertRejects(() => learner.getBatch(4), Error, "closed");
});

Deno.test("a rate limiter counts over all shards", async () => {
  const connection = localConnection();
  await using _a = await localShard(connection, "a", []);
  await using _b = await localShard(connection, "b", []);
  const rateLimiter = samplesPerInsert(2, { minSize: 10, error: 20 });
  await using learner = await connectShards(connection, { shards: 2, rateLimiter });
  await using one = await shardWriter(connection, { shard: "a", sendIntervalMs: 1 });
  await using two = await shardWriter(connection, { shard: "b", sendIntervalMs: 1 });
  const write = async (writer: typeof one, records: number): Promise<void> => {
    const loose = writer.replay as unknown as { record(...of: unknown[]): number };
    for (let k = 0; k < records; k++) {
      loose.record(writer.replay.newEpisode(), [1, 0], 1, 1, { finalState: [2, 0] });
      await writer.flush();
    }
  };
  const written = Promise.all([write(one, 60), write(two, 60)]);
  const recorded = (): number =>
    learner.figures().shards.reduce((sum, each) => sum + each.recorded, 0);
  // D = 2 I - S is at most 2 * 10 + 20 while nothing is drawn: 20 records.
  await until("the band is full", () => recorded() >= 18);
  let [drawn, isOver] = [0, false];
  const ended = written.then(() => isOver = true);
  while (!isOver) {
    // A helping of records may lie at a shard that needs none, so the learner goes on.
    await learner.getBatch(4, { timeoutMs: 300 }).then(() => drawn += 4, () => {});
    assert(2 * recorded() - drawn <= 40, `${recorded()} records and ${drawn} picks`);
  }
  await ended;
  assert(drawn >= 2 * 120 - 40, `${drawn} picks`);
});

Deno.test("a batch that takes seconds on its way comes, and so do those behind it", async () => {
  const fabric = new Fabric({ seed: 1, payloadMax: 2 ** 16 });
  using replay = await ExperienceReplay.create(NUMBERED);
  replay.newPickSelector(uniform());
  replay.recordMany(replay.newEpisode(), { state: [1, 0, 2, 0], action: [1, 2], reward: [1, 2] });
  await fabric.run(async () => {
    const slow = fabric.peer("a", { bytesPerMs: 500 });
    await slow.run(() =>
      serveShard(replay as unknown as ExperienceReplay, slow.connect(), { name: "a" })
    );
    const learner = fabric.peer("learner");
    await learner.run(async () => {
      await using shards = await connectShards(learner.connect());
      const draws = [0, 1, 2].map(() => shards.getBatch(50_000, { timeoutMs: 60_000 }));
      for (const batch of await Promise.all(draws)) assertEquals(batch.size, 50_000);
      assert(fabric.now > 3 * 1000, `it took ${fabric.now} ms only`);
    });
  });
});

Deno.test("a draw whose answer is lost is drawn again, while others go on", async () => {
  const fabric = new Fabric({ seed: 1 });
  using replay = await ExperienceReplay.create(NUMBERED);
  replay.newPickSelector(uniform());
  replay.recordMany(replay.newEpisode(), { state: [1, 0, 2, 0], action: [1, 2], reward: [1, 2] });
  await fabric.run(async () => {
    const peer = fabric.peer("a");
    await peer.run(async () => {
      const connection = peer.connect();
      const publish = connection.publish.bind(connection);
      let isFirst = true;
      connection.publish = (subject, data, options) => {
        const isPicks = data?.[0] === 0x58 && data[1] === 0x50 && data[2] === 0x4b;
        if (!isPicks || !isFirst) return publish(subject, data, options);
        isFirst = false;
      };
      await serveShard(replay as unknown as ExperienceReplay, connection, { name: "a" });
    });
    const learner = fabric.peer("learner");
    await learner.run(async () => {
      await using shards = await connectShards(learner.connect());
      let isDrawn = false;
      const drawn = shards.getBatch(1000).then(() => isDrawn = true);
      let others = 0;
      while (!isDrawn && others < 200) {
        await shards.getBatch(1000, { timeoutMs: 60_000 });
        await pause(20);
        others++;
      }
      await drawn;
      assert(others < 200, "it came only once no others were drawn");
    });
  });
});
