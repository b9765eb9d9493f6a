/** What is refused, by which status and words, and that a refusal changes nothing for anybody. */
import { assert, assertEquals, assertRejects } from "../_assert.ts";
import { type CallName, smallChunk, smallItem } from "../reverb/_grpc.ts";
import type { Message } from "../reverb/_proto.ts";
import { infoOf, insert, plainTables, sample, served } from "./_served.ts";
import { until } from "../_wait.ts";

interface Case {
  readonly what: string;
  readonly name: CallName;
  readonly requests: readonly (Message | Uint8Array)[];
  readonly code: number;
  readonly words?: string;
}

const unknown = "Priority table nobody was not found";
const item = smallItem(1n, "p", 1, 1n);
const chunk = smallChunk(1n);

const priorities = [-1, -Number.MIN_VALUE, NaN, Infinity, -Infinity];

const cases: readonly Case[] = [
  {
    what: "a priority update of an unknown table",
    name: "MutatePriorities",
    requests: [{ table: "nobody", updates: [{ key: 1n, priority: 1 }] }],
    code: 5,
    words: unknown,
  },
  {
    what: "a reset of an unknown table",
    name: "Reset",
    requests: [{ table: "nobody" }],
    code: 5,
    words: unknown,
  },
  {
    what: "samples of an unknown table",
    name: "SampleStream",
    requests: [{ table: "nobody", num_samples: 1n }],
    code: 5,
    words: unknown,
  },
  {
    what: "an insert into an unknown table",
    name: "InsertStream",
    requests: [{ chunks: [chunk], items: [item, { ...item, table: "nobody" }] }],
    code: 5,
    words: unknown,
  },
  {
    what: "no samples",
    name: "SampleStream",
    requests: [{ table: "u" }],
    code: 3,
    words: "`num_samples` must be > 0 (got 0).",
  },
  {
    what: "fewer than no samples",
    name: "SampleStream",
    requests: [{ table: "u", num_samples: -5n }],
    code: 3,
    words: "`num_samples` must be > 0 (got -5).",
  },
  { what: "an unknown chunk", name: "InsertStream", requests: [{ items: [item] }], code: 13 },
  {
    what: "keys to keep that the stream doesn't hold",
    name: "InsertStream",
    requests: [{ chunks: [chunk], items: [item], keep_chunk_keys: [1n, 2n] }],
    code: 9,
  },
  {
    what: "an item without any data",
    name: "InsertStream",
    requests: [{ chunks: [chunk], items: [{ key: 1n, table: "p", priority: 1 }] }],
    code: 3,
  },
  ...(["InsertStream", "SampleStream", "Reset", "ServerInfo", "MutatePriorities"] as const).map(
    (name) => ({
      what: `bytes that are no message, to ${name}`,
      name,
      requests: [Uint8Array.of(0, 0, 0, 0, 3, 10, 255, 255)],
      code: 13,
    }),
  ),
  ...(["Reset", "ServerInfo", "MutatePriorities", "Checkpoint", "InitializeConnection"] as const)
    .map((name) => ({ what: `no message at all, to ${name}`, name, requests: [], code: 13 })),
  ...priorities.flatMap((priority) => [
    {
      what: `an insert with priority ${priority}`,
      name: "InsertStream" as const,
      requests: [{ chunks: [chunk], items: [{ ...item, priority }] }],
      code: 3,
    },
    {
      what: `priority ${priority}`,
      name: "MutatePriorities" as const,
      requests: [{ table: "p", updates: [{ key: 100n, priority: 5 }, { key: 101n, priority }] }],
      code: 3,
    },
  ]),
];

for (const { what, name, requests, code, words } of cases) {
  Deno.test(`${what}: ${name} ends with ${code}, and nothing has changed`, async () => {
    await using site = await served();
    const { connection } = site;
    await insert(connection, "p", 100n, 2);
    await insert(connection, "p", 101n, 0);
    const before = await connection.call("ServerInfo");
    const call = connection.open(name);
    for (const request of requests) {
      if (request instanceof Uint8Array) call.sendBytes(request);
      else call.send(request);
    }
    call.end();
    const ending = await call.ending;
    assertEquals(ending.code, code, ending.message);
    assert(ending.message.length > 10, "it says why");
    if (words !== undefined) assertEquals(ending.message, words);
    assertEquals(await connection.call("ServerInfo"), before);
    // Every other client goes on.
    const other = site.connect();
    const [first] = await sample(other, "p", 1);
    assertEquals([first?.["info"].item.key, first?.["info"].item.priority], [100n, 2]);
    await insert(other, "p", 102n, 1);
  });
}

Deno.test("what came before a fault on the same stream is confirmed, and what came with it is not", async () => {
  await using site = await served();
  const call = site.connection.open("InsertStream");
  call.send({ chunks: [chunk], items: [item], keep_chunk_keys: [1n] });
  call.send({ items: [smallItem(2n, "p", 1, 1n), smallItem(3n, "p", -1, 1n)] });
  call.end();
  assertEquals((await call.ending).code, 3);
  assertEquals(await call.receive(), { keys: [1n] });
  assertEquals((await infoOf(site.connection, "p"))["current_size"], 1n);
});

Deno.test("a checkpointer that fails ends its call only, and its error goes to onError", async () => {
  const cause = new Error("the disk is full");
  await using site = await served(plainTables, {
    checkpointer: { save: () => Promise.reject(cause) },
  });
  await assertRejects(() => site.connection.call("Checkpoint"), Error, "13: the server failed");
  const [error] = site.errors.splice(0) as Error[];
  assertEquals(error?.cause, cause);
  await insert(site.connection, "u", 1n);
});

Deno.test("a message above the limit ends its call by RESOURCE_EXHAUSTED", async () => {
  await using site = await served(plainTables, { limits: { messageBytes: 1000 } });
  const call = site.connection.open("InsertStream");
  call.send({ chunks: [{ ...chunk, data: { tensors: [new Uint8Array(1000)] } }] });
  assertEquals((await call.ending).code, 8);
  await insert(site.connection, "u", 1n);
});

Deno.test("a connection above the limit is closed, and the others go on", async () => {
  await using site = await served(plainTables, { limits: { connections: 2 } });
  const second = site.connect();
  await insert(site.connection, "u", 1n);
  await insert(second, "u", 2n);
  const third = site.connect();
  assertEquals((await third.open("ServerInfo").ending).code, -1);
  second.close();
  await until(
    "the place is free",
    () => insert(site.connect(), "u", 3n).then(() => true, () => false),
  );
});
