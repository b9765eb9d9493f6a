/** Clients that say nothing, stop in the middle, or do not read: they lose their places, and others never notice. */
import { assert, assertEquals, assertThrows } from "../_assert.ts";
import { ReverbClient } from "../../reverb/mod.ts";
import { besideReverb, runPython } from "../reverb/_real.ts";
import { smallChunk, smallItem } from "../reverb/_grpc.ts";
import { encode } from "../reverb/_proto.ts";
import { data, headers, hello, join, settings, word } from "../net/http2/_peer.ts";
import { passTime, serve } from "../../server/serve.ts";
import { Tables } from "../../tables/tables.ts";
import { insert, plainTables, sample, served } from "./_served.ts";
import { pause, until } from "../_wait.ts";

type Site = Awaited<ReturnType<typeof served>>;

/** A connection of bytes, without a library that answers a PING. */
async function raw(site: Site, ...bytes: readonly Uint8Array[]): Promise<Deno.TcpConn> {
  const socket = await Deno.connect({ hostname: "127.0.0.1", port: site.server.port });
  await socket.write(join(...bytes));
  return socket;
}

/** The headers of a call of Reverb's. */
function begin(id: number, method: string): Uint8Array<ArrayBuffer> {
  return headers(id, false, [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", `/deepmind.reverb.ReverbService/${method}`],
    [":authority", "localhost"],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
  ]);
}

const quick = { keepaliveMs: 100, keepaliveTimeoutMs: 2000 };

Deno.test("silent connections do not keep their places: with all taken, a client gets in after the timeout", async () => {
  await using site = await served(plainTables, { limits: { ...quick, connections: 5 } });
  await insert(site.connection, "u", 1n);
  const silent = await Promise.all(
    Array.from({ length: 4 }, () => raw(site, hello, begin(1, "SampleStream"))),
  );
  await until("all places are taken", () => site.server.figures().connections === 5);
  // The client of `node:http2` answers each PING, so it alone is left.
  await until("the silent ones are gone", () => site.server.figures().connections === 1);
  await insert(site.connection, "u", 2n);
  await insert(site.connect(), "u", 3n);
  for (const socket of silent) socket.close();
});

Deno.test("a client that waits for a sample for long answers PINGs, and gets the sample", async () => {
  await using site = await served(plainTables, {
    limits: { keepaliveMs: 20, keepaliveTimeoutMs: 1000 },
  });
  const client = await ReverbClient.connect(site.server.address);
  const waits = client.getBatch("u", 1);
  const call = site.connection.open("SampleStream");
  call.send({ table: "u", num_samples: 1n });
  await pause(2000);
  await insert(site.connect(), "u", 5n);
  assertEquals((await call.receive())?.["entries"][0].info.item.key, 5n);
  assertEquals([...(await waits).keys], [5n]);
  call.cancel();
  await client.close();
});

Deno.test("a connection without calls ends gracefully, and ReverbClient connects again by itself", async () => {
  await using site = await served(plainTables, { limits: { idleMs: 100 } });
  const client = await ReverbClient.connect(site.server.address);
  for (let k = 0; k < 3; k++) {
    await client.serverInfo();
    const opened = site.server.figures().connectionsOpened;
    await until("its connection ended", () => site.server.figures().connections === 0);
    await client.setPriority("u", { deletes: [1n] });
    assertEquals(site.server.figures().connectionsOpened, opened + 1);
  }
  // A stream that waits, and nothing else, is a call.
  await client.insert(1, { u: 1 });
  assertEquals((await client.getBatch("u", 1)).keys.length, 1);
  await pause(500);
  assertEquals(site.server.figures().connections, 1);
  await client.close();
});

Deno.test("a client that never reads its samples is closed, and what waited for it is free", async () => {
  await using site = await served(plainTables, { limits: quick });
  const big = new Uint8Array(1 << 20);
  const writer = site.connection.open("InsertStream");
  writer.send({
    chunks: [{ ...smallChunk(1n), data: { tensors: [big] } }],
    items: [smallItem(1n, "u", 1, 1n)],
  });
  await writer.receive();
  writer.end();
  await writer.ending;
  const request = encode("SampleStreamRequest", { table: "u", num_samples: 1000n });
  const windows = join(settings([4, 0x7fff_ffff]), windowOf(0x7000_0000));
  const reader = await raw(
    site,
    hello,
    windows,
    begin(1, "SampleStream"),
    data(1, join(new Uint8Array(1), word(request.length), request)),
  );
  await until("it is served", () => site.server.figures().connections === 2);
  const drawn = (): number => site.server.figures().tables[0]?.samples ?? 0;
  await until("some are drawn", () => drawn() > 0);
  await until("it is gone", () => site.server.figures().connections === 1);
  assert(drawn() < 100, `${drawn()} were drawn for a client that reads nothing`);
  await insert(site.connection, "u", 2n);
  reader.close();
});

Deno.test("with all places taken by idle clients that answer PINGs, a new one gets in, and they come back by themselves", async () => {
  await using site = await served(plainTables, {
    limits: { keepaliveMs: 1000, keepaliveTimeoutMs: 60_000, connections: 3 },
  });
  const { address } = site.server;
  const waiting = site.connection.open("SampleStream");
  waiting.send({ table: "u", num_samples: 1n });
  const idle = [await ReverbClient.connect(address), await ReverbClient.connect(address)] as const;
  for (const client of idle) await client.serverInfo();
  assertEquals(site.server.figures().connections, 3);
  // A connection is idle five seconds after the first tick without a call.
  for (let second = 0; second <= 5; second++) passTime(site.server, 1000);
  const other = site.connect();
  await other.call("ServerInfo");
  assertEquals(site.server.figures().connections, 3);
  other.close();
  await until("the place is free", () => site.server.figures().connections === 2);
  const opened = site.server.figures().connectionsOpened;
  for (const client of idle) await client.serverInfo();
  assertEquals(site.server.figures().connectionsOpened, opened + 1);
  // The client that waits for a sample has its call all the time.
  await idle[0].insert(1, { u: 1 });
  assertEquals((await waiting.receive())?.["entries"].length, 1);
  waiting.cancel();
  for (const client of idle) await client.close();
});

function windowOf(more: number): Uint8Array<ArrayBuffer> {
  return join(new Uint8Array([0, 0, 4, 8, 0, 0, 0, 0, 0]), word(more));
}

Deno.test("clients that stop within large messages starve nobody, and their bytes come back", async () => {
  // Time passes only where the test says so.
  const limits = {
    ...{ bytesInFlight: 12 << 20, messageBytes: 8 << 20 },
    ...{ messageStallMs: 60_000, keepaliveMs: 3_600_000 },
  };
  const stall = (): void => {
    // In the first minute all of them sent something.
    for (let minute = 0; minute < 3; minute++) passTime(site.server, 61_000);
  };
  await using site = await served(plainTables, { limits });
  const prefix = join(new Uint8Array(1), word(8 << 20));
  // The first one has the reserve, and the next ones more than the rest.
  const greedy = Array.from({ length: 3 }, () => site.connect().open("InsertStream"));
  for (const call of greedy) call.sendBytes(join(prefix, new Uint8Array((4 << 20) - 100)));
  await until("it came", () => site.server.figures().receivedBytes > (8 << 20));
  // A message that comes in parts, of a client that holds far less.
  const chunk = { ...smallChunk(1n), data: { tensors: [new Uint8Array(400_000)] } };
  const good = site.connect().open("InsertStream");
  good.send({ chunks: [chunk], items: [smallItem(1n, "u", 1, 1n)] });
  assertEquals((await good.receive())?.["keys"], [1n]);
  stall();
  const endings = await Promise.all(greedy.map(({ ending }) => ending));
  assertEquals(endings.map(({ code }) => code), [14, 14, 14]);
  // The metrics say so, too.
  const sentBack = site.server.figures().calls.find(({ code }) => code === 14);
  assertEquals(sentBack, { method: "InsertStream", code: 14, count: 3 });
  assert(endings.some(({ message }) => message.includes("the server has no room for")));
  // One that stops gets UNAVAILABLE, and its connection stays.
  const other = site.connect();
  const before = site.server.figures().receivedBytes;
  const stuck = other.open("InsertStream");
  stuck.sendBytes(join(prefix, new Uint8Array(1000)));
  await until("it came", () => site.server.figures().receivedBytes >= before + 1000);
  stall();
  const { code, message } = await stuck.ending;
  assertEquals(code, 14);
  assert(message.includes("bytes of a message came in"), message);
  await insert(other, "u", 2n);
  good.cancel();
});

Deno.test("a call that ends by a message that is too large lets go of its chunks", async () => {
  await using site = await served(plainTables, { limits: { messageBytes: 1000 } });
  const call = site.connection.open("InsertStream");
  call.send({ chunks: [smallChunk(1n)] });
  await until("the chunk is there", () => site.server.figures().chunks === 1);
  call.sendBytes(join(new Uint8Array(1), word(2000)));
  assertEquals((await call.ending).code, 8);
  assertEquals(site.server.figures().chunks, 0);
});

Deno.test("chunks without items are bounded for each stream, small ones too, and their memory comes back", async () => {
  await using site = await served(plainTables, { limits: { heldChunkBytes: 1_000_000 } });
  for (const bytes of [100_000, 0]) {
    const call = site.connection.open("InsertStream");
    const chunk = { ...smallChunk(1n), data: { tensors: [new Uint8Array(bytes)] } };
    let ending: { readonly code: number; readonly message: string } | undefined;
    call.ending.then((end) => ending = end);
    // Items that keep all chunks are no way around it.
    let key = 1n;
    for (; ending === undefined && key < 100_000n; key++) {
      call.send({
        chunks: [{ ...chunk, chunk_key: key }],
        ...key === 3n ? { items: [smallItem(1n, "u", 1, 1n)], keep_chunk_keys: [1n, 2n, 3n] } : {},
      });
      if (key % 10n === 0n) await pause(0);
    }
    assertEquals(ending?.code, 8);
    assert(
      /^a stream held \d+ chunks for items to come, of \d+ bytes, where 1000000/.test(
        ending?.message ?? "",
      ),
    );
    assert(key > (bytes > 0 ? 9n : 1000n), `${key} chunks`);
    await until("its chunks are free", () => site.server.figures().chunks === 1);
  }
  await insert(site.connection, "u", 2n);
});

Deno.test("clients that leave items in a full queue, again and again, cost a bounded memory", async () => {
  await using site = await served({ line: { queue: 1 }, u: { maxSize: 10 } });
  await insert(site.connection, "line", 1n);
  const figures = () => site.server.figures().tables.find(({ name }) => name === "line");
  const count = 10_000;
  for (let client = 0; client < 8; client++) {
    const connection = site.connect();
    const before = figures()?.insertsWaiting ?? 0;
    connection.open("InsertStream").send({
      chunks: [smallChunk(1n)],
      items: Array.from(
        { length: count },
        (_, k) => smallItem(BigInt(client * count + k + 2), "line", 1, 1n),
      ),
    });
    await until("they wait", () => figures()?.insertsWaiting === before + count);
    connection.close();
    await until("it is gone", () => site.server.figures().connections === 1);
  }
  assertEquals(figures()?.insertsWaiting, 65_536);
  const keys = (await sample(site.connection, "line", 65_537)).map(({ info }) => info.item.key);
  assertEquals(keys, Array.from({ length: 65_537 }, (_, k) => BigInt(k + 1)));
  assertEquals([site.server.figures().chunks, figures()?.insertsWaiting], [0, 0]);
});

Deno.test("a request of HTTP/1.1 that trickles, and a preface that does, are closed after ten seconds", async () => {
  await using site = await served();
  const sockets = await Promise.all(
    ["GET / HTTP/1.1\r\nHost: ", "PRI * HTTP/2.0", ""].map((text) =>
      raw(site, new TextEncoder().encode(text))
    ),
  );
  await until("all are there", () => site.server.figures().connections === 4);
  for (let second = 0; second <= 10; second++) {
    const { receivedBytes } = site.server.figures();
    await sockets[0]?.write(new Uint8Array([97]));
    await until("it came", () => site.server.figures().receivedBytes > receivedBytes);
    passTime(site.server, 1000);
  }
  await until("they are closed", () => site.server.figures().connections === 1);
  for (const socket of sockets) socket.close();
});

besideReverb(
  "Reverb's Python client answers PINGs by itself, also while it does nothing",
  async () => {
    await using site = await served(
      { u: { maxSize: 100 }, e: { maxSize: 100 } },
      // A client of gRPC that makes no call looks at its socket every five seconds.
      { limits: { keepaliveMs: 500, keepaliveTimeoutMs: 8000 } },
    );
    const said = await runPython(
      `
import sys, threading, time
import numpy as np, reverb
client = reverb.Client("localhost:" + sys.argv[1])
client.insert([np.float32(1)], {"u": 1.0})
time.sleep(12)
got = []
waits = threading.Thread(target=lambda: got.extend(client.sample("e", 2)))
waits.start()
writer = client.trajectory_writer(num_keep_alive_refs=2)
for k in range(3):
  client.insert([np.float32(k)], {"u": 1.0})
  writer.append([np.float32(k)])
  writer.create_item("u", 1.0, [writer.history[0][-1:]])
  writer.flush()
  assert len(list(client.sample("u", 3))) == 3
  time.sleep(1)
assert not got
client.insert([np.float32(7)], {"e": 1.0})
waits.join(120)
assert len(got) == 2, got
writer.close()
print(client.server_info()["u"].current_size)
`,
      [site.server.port],
    );
    assertEquals(said.trim(), "7");
    assertEquals(site.server.figures().connectionsOpened, 2);
  },
);

Deno.test("serve() refuses a room for messages in which the largest message would not come in", async () => {
  using tables = await Tables.create({ tables: { t: { maxSize: 1 } } });
  const words =
    "serve(): limits.bytesInFlight must be at least 270532608, which is 2 MiB more than messageBytes, got 2097152: " +
    "a message of 268435456 bytes has no room beside a call that waits";
  assertThrows(() => serve({ tables, limits: { bytesInFlight: 2 << 20 } }), RangeError, words);
  const limits = { messageBytes: 1 << 20, bytesInFlight: (3 << 20) - 1 };
  assertThrows(() => serve({ tables, limits }), RangeError, "at least 3145728");
  assertThrows(() => serve({ tables, limits: { messageBytes: 2 ** 31 } }), RangeError);
  await (await serve({ tables, limits: { ...limits, bytesInFlight: 3 << 20 } })).stop();
});
