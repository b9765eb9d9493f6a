/** The seven calls, called over loopback by a plain client of gRPC. */
import { assert, assertEquals, assertRejects } from "../_assert.ts";
import { toBinary } from "@bufbuild/protobuf";
import { StructuredValueSchema } from "../../reverb/messages/tensorflow_pb.ts";
import { structuredOf } from "../../reverb/signature.ts";
import { smallChunk, smallItem } from "../reverb/_grpc.ts";
import type { Message } from "../reverb/_proto.ts";
import { infoOf, insert, plainTables, sample, served } from "./_served.ts";
import { noise } from "../_noise.ts";

Deno.test("ServerInfo says each table's rules, rate limiter, fill and signature", async () => {
  const signature = { a: { dtype: "float32", shape: [1] } };
  await using site = await served({
    ...plainTables,
    p: { ...plainTables.p, maxTimesSampled: 5, signature },
  });
  const { connection } = site;
  await insert(connection, "p", 7n, 2);
  await sample(connection, "p", 2);
  const info = await connection.call("ServerInfo");
  assertEquals(info["table_info"].map(({ name }: Message) => name), ["u", "p", "q"]);
  const [u, p, q] = info["table_info"];
  assertEquals([u.sampler_options, u.remover_options], [
    { uniform: true },
    { fifo: true, is_deterministic: true },
  ]);
  assertEquals(p.sampler_options, { prioritized: { priority_exponent: 1 } });
  assertEquals([p.max_size, p.max_times_sampled, p.current_size], [1000n, 5, 1n]);
  assertEquals([p.num_episodes, p.num_unique_samples], [1n, 1n]);
  assertEquals(p.signature, toBinary(StructuredValueSchema, structuredOf("", signature)));
  assertEquals(u.signature, undefined);
  assertEquals(u.max_times_sampled, undefined);
  const rateLimiter = p.rate_limiter_info;
  assertEquals([rateLimiter.samples_per_insert, rateLimiter.min_size_to_sample], [1, 1n]);
  assertEquals([rateLimiter.min_diff, rateLimiter.max_diff], [-Number.MAX_VALUE, Number.MAX_VALUE]);
  assertEquals([rateLimiter.insert_stats.completed, rateLimiter.sample_stats.completed], [1n, 2n]);
  assertEquals([q.rate_limiter_info.max_diff, q.max_times_sampled], [3, 1]);
});

Deno.test("ServerInfo follows what changes, again and again", async () => {
  await using site = await served();
  const { connection } = site;
  for (let count = 1n; count <= 200n; count++) {
    await insert(connection, "u", count);
    if (count % 50n !== 1n) continue;
    const info = await infoOf(connection, "u");
    assertEquals([info["current_size"], info["num_episodes"], info["max_size"]], [
      count,
      count,
      1000n,
    ]);
    assertEquals(info["rate_limiter_info"].insert_stats, { completed: count });
  }
  await connection.call("Reset", { table: "u" });
  assertEquals((await infoOf(connection, "u"))["current_size"] ?? 0n, 0n);
});

Deno.test("a server keeps its state's number, and another has another", async () => {
  await using one = await served();
  await using two = await served();
  const idOf = async ({ connection }: typeof one): Promise<Message> =>
    (await connection.call("ServerInfo"))["tables_state_id"];
  assertEquals(await idOf(one), await idOf(one));
  assert((await idOf(one))["low"] !== (await idOf(two))["low"]);
});

Deno.test("an item comes back as it went in, with its chunk, and with its info on the first entry", async () => {
  await using site = await served();
  const { connection } = site;
  const before = Date.now() / 1000;
  await insert(connection, "p", 5n, 3);
  await insert(connection, "p", 6n, 1);
  const entries = await sample(connection, "p", 200);
  const fives = entries.filter(({ info }) => info.item.key === 5n);
  assert(fives.length > 100 && fives.length < 200, `${fives.length} of 200 with weight 3 of 4`);
  const [entry] = fives;
  assertEquals(entry?.["data"], [smallChunk(5n, 5n)]);
  const { item, probability, table_size } = entry?.["info"] ?? {};
  assertEquals([probability, table_size], [0.75, 2n]);
  const { times_sampled, inserted_at, ...rest } = item;
  assertEquals(rest, { ...smallItem(5n, "p", 3, 5n) });
  assert(times_sampled >= 1);
  const after = Date.now() / 1000;
  assert(Number(inserted_at.seconds) >= Math.floor(before) && Number(inserted_at.seconds) <= after);
});

Deno.test("a known key only sets the priority, and mutate sets it and deletes, deletes first", async () => {
  await using site = await served();
  const { connection } = site;
  await insert(connection, "p", 5n, 3);
  await insert(connection, "p", 5n, 4);
  await insert(connection, "p", 6n, 1);
  const [first] = await sample(connection, "p", 1);
  assertEquals(first?.["info"].table_size, 2n);
  await connection.call("MutatePriorities", {
    table: "p",
    updates: [{ key: 5n, priority: 9 }, { key: 6n, priority: 2 }, { key: 77n, priority: 1 }],
    delete_keys: [6n, 78n],
  });
  const [second] = await sample(connection, "p", 1);
  assertEquals([second?.["info"].item.key, second?.["info"].item.priority], [5n, 9]);
});

Deno.test("Reset empties a table and its counts, and no other", async () => {
  await using site = await served();
  const { connection } = site;
  await insert(connection, "u", 1n);
  await insert(connection, "p", 2n);
  assertEquals(await connection.call("Reset", { table: "u" }), {});
  const u = await infoOf(connection, "u");
  assertEquals([u["current_size"], u["rate_limiter_info"].insert_stats.completed], [
    undefined,
    undefined,
  ]);
  assertEquals((await infoOf(connection, "p"))["current_size"], 1n);
});

Deno.test("Checkpoint answers the checkpointer's path, and is refused without one", async () => {
  await using without = await served();
  await assertRejects(
    () => without.connection.call("Checkpoint"),
    Error,
    "3: no Checkpointer configured for the replay service.",
  );
  const checkpointer = { save: () => Promise.resolve("/checkpoints/1") };
  await using site = await served(plainTables, { checkpointer });
  assertEquals(await site.connection.call("Checkpoint"), { checkpoint_path: "/checkpoints/1" });
});

Deno.test("InitializeConnection never gives an address", async () => {
  await using site = await served();
  for (const table_name of ["u", "nobody"]) {
    const call = site.connection.open("InitializeConnection");
    call.send({ pid: 1n, table_name });
    assertEquals(await call.receive(), {});
    assertEquals((await call.ending).code, 0);
  }
});

Deno.test("keys of many items come in order, in few messages", async () => {
  await using site = await served();
  const call = site.connection.open("InsertStream");
  const keys = Array.from({ length: 900 }, (_, k) => BigInt(k + 1));
  let sent = 0;
  for (const key of keys) {
    call.send({
      chunks: [smallChunk(key)],
      items: [smallItem(key, key % 2n === 0n ? "u" : "p", 1, key)],
    });
    sent++;
  }
  const confirmed: bigint[] = [];
  let messages = 0;
  while (confirmed.length < sent) {
    const message = await call.receive();
    assert(message !== undefined, `${confirmed.length} keys came`);
    confirmed.push(...message["keys"]);
    messages++;
  }
  assertEquals(confirmed, keys);
  assert(messages < 450, `${messages} messages`);
  call.cancel();
});

Deno.test("an item may use the chunks that its stream keeps, and no others", async () => {
  await using site = await served();
  const call = site.connection.open("InsertStream");
  call.send({ chunks: [smallChunk(1n), smallChunk(2n)] });
  call.send({ items: [smallItem(11n, "u", 1, 1n)], keep_chunk_keys: [1n] });
  assertEquals(await call.receive(), { keys: [11n] });
  call.send({ items: [smallItem(12n, "u", 1, 1n)], keep_chunk_keys: [1n] });
  assertEquals(await call.receive(), { keys: [12n] });
  call.send({ items: [smallItem(13n, "u", 1, 2n)], keep_chunk_keys: [1n] });
  assertEquals((await call.ending).code, 13);
  assertEquals((await infoOf(site.connection, "u"))["current_size"], 2n);
});

Deno.test("a sample of several chunks, and one that is larger than a message at first, come whole", async () => {
  await using site = await served();
  const call = site.connection.open("InsertStream");
  const big = noise(60_000);
  const chunk = (key: bigint): Message => ({
    ...smallChunk(key),
    data: { tensors: Array.from({ length: 10 }, () => Uint8Array.of(34, 224, 212, 3, ...big)) },
  });
  call.send({ chunks: [chunk(1n)] });
  call.send({ chunks: [chunk(2n)] });
  const slice = (chunk_key: bigint): Message => ({ chunk_key, offset: 0, length: 1, index: 0 });
  call.send({
    items: [{
      key: 9n,
      table: "u",
      priority: 1,
      flat_trajectory: { columns: [{ chunk_slices: [slice(1n), slice(2n)], squeeze: true }] },
    }],
  });
  assertEquals(await call.receive(), { keys: [9n] });
  call.end();
  const sampled = site.connection.open("SampleStream");
  sampled.send({ table: "u", num_samples: 1n });
  const data: Message[] = [];
  for (let isWhole = false; !isWhole;) {
    for (const entry of (await sampled.receive())?.["entries"] ?? []) {
      data.push(...entry["data"]);
      isWhole ||= entry["end_of_sequence"] === true;
    }
  }
  assertEquals(data, [chunk(1n), chunk(2n)]);
  sampled.cancel();
});
