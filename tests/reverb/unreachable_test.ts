/** What the client says if it can't reach a server, or if a server makes it wait. */
import { assert, assertEquals, assertRejects, assertStrictEquals } from "../_assert.ts";
import http2 from "node:http2";
import { isForbidden } from "../../reverb/channel.ts";
import { ReverbClient, ReverbError } from "../../reverb/mod.ts";
import { plainTables, served } from "../server/_served.ts";
import { pause, until } from "../_wait.ts";

const hostname = "127.0.0.1";

/** A port that nobody listens on. */
function freePort(): number {
  using listener = Deno.listen({ hostname, port: 0 });
  return (listener.addr as Deno.NetAddr).port;
}

/** The words of the error by which a call fails. */
async function wordsOf(call: () => Promise<unknown>, code: string): Promise<string> {
  try {
    await call();
  } catch (error) {
    assert(error instanceof ReverbError, String(error));
    assertStrictEquals(error.code, code);
    return error.message;
  }
  throw new Error("the call did not fail");
}

Deno.test("where nobody listens, the error says so and names the address", async () => {
  const connect = (): Promise<unknown> => ReverbClient.connect("127.0.0.1:9", { timeoutMs: 300 });
  const words = await wordsOf(connect, "unavailable");
  assertStrictEquals(
    words.replace(/tried \w+( times)?/, "tried often"),
    "ReverbClient.connect() tried often within 300 ms; ServerInfo: no answer from 127.0.0.1:9: nobody listens there; start the server, or check the port (connect ECONNREFUSED 127.0.0.1:9)",
  );
});

for (const address of ["127.0.0.1:9", "localhost:9"]) {
  Deno.test({
    name: `without the permission for ${address}, the error says which flag is missing`,
    permissions: { net: false, read: true, env: true, ffi: true },
    fn: async () => {
      const words = await wordsOf(() => ReverbClient.connect(address), "permission-denied");
      const start =
        `ServerInfo: no answer from ${address}: the program may not connect; Deno needs --allow-net=${address} (`;
      assertStrictEquals(words.slice(0, start.length), start);
      assert(!words.includes("pending stream"), words);
    },
  });
}

Deno.test("a firewall that refuses is not taken for a missing permission", () => {
  const reason = "connect EPERM 127.0.0.1:9 - Local (0.0.0.0:0)";
  assertStrictEquals(isForbidden(reason, "127.0.0.1:9"), false);
});

Deno.test("an insert that a full queue holds back says what holds it back", async () => {
  await using site = await served({ jobs: { queue: 1 } });
  await using client = await ReverbClient.connect(site.server.address);
  await client.insert({ job: 1 }, { jobs: 1 });
  const words = await wordsOf(
    () => client.insert({ job: 2 }, { jobs: 1 }, { timeoutMs: 50 }),
    "deadline-exceeded",
  );
  assertStrictEquals(
    words,
    'insert() took longer than 50 ms: 0 items wait to be sent, and 1 to be confirmed; the rate limiter of table "jobs" may hold them back until others sample',
  );
});

Deno.test("connect() waits for a server that starts later", async () => {
  const port = freePort();
  const connecting = ReverbClient.connect(`${hostname}:${port}`);
  await pause(400);
  await using site = await served(plainTables, { hostname, port });
  await using client = await connecting;
  await client.insert(1, { u: 1 });
  assertEquals(site.server.figures().connections, 2); // and that of `served`
});

Deno.test("connect() tries until its time is nearly over", async () => {
  for (const timeoutMs of [300, 1000]) {
    const start = performance.now();
    const connect = (): Promise<unknown> =>
      ReverbClient.connect(`${hostname}:${freePort()}`, { timeoutMs });
    await wordsOf(connect, "unavailable");
    const tookMs = performance.now() - start;
    assert(tookMs >= timeoutMs - 25, `${tookMs} of ${timeoutMs} ms`);
  }
});

Deno.test("a time beyond what a timer can wait is no time of 0", async () => {
  await using site = await served(plainTables);
  for (const timeoutMs of [2 ** 31, Number.MAX_VALUE]) {
    await using client = await ReverbClient.connect(site.server.address, { timeoutMs });
    await client.insert(1, { u: 1 }, { timeoutMs });
  }
});

Deno.test("connect() waits for a place where a server has none left", async () => {
  await using site = await served(plainTables, { limits: { connections: 2 } });
  const busy = [site.connection, site.connect()].map((connection) => {
    const call = connection.open("SampleStream");
    call.send({ table: "u", num_samples: 1n });
    return { connection, call };
  });
  await until("all places are taken", () => site.server.figures().connections === 2);
  const connecting = ReverbClient.connect(site.server.address);
  await pause(300);
  assertEquals(site.server.figures().connections, 2);
  busy[1]?.connection.close();
  await using client = await connecting;
  assertEquals(Object.keys(await client.serverInfo()), ["u", "p", "q"]);
  // Where nobody leaves, it says so in the end.
  const words = await wordsOf(
    () => ReverbClient.connect(site.server.address, { timeoutMs: 300 }),
    "unavailable",
  );
  assert(words.startsWith("ReverbClient.connect() tried "), words);
  busy[0]?.call.cancel();
});

Deno.test("connect() ends at once by its signal, also between two tries", async () => {
  const abort = new AbortController();
  setTimeout(() => abort.abort(new Error("enough")), 150);
  const options = { timeoutMs: Infinity, signal: abort.signal };
  const connecting = ReverbClient.connect(`${hostname}:${freePort()}`, options);
  await assertRejects(() => connecting, Error, "enough");
});

Deno.test("where somebody listens who never answers, connect() says so after its time", async () => {
  using listener = Deno.listen({ hostname, port: 0 });
  const address = `${hostname}:${(listener.addr as Deno.NetAddr).port}`;
  const connect = (): Promise<unknown> => ReverbClient.connect(address, { timeoutMs: 200 });
  assertStrictEquals(
    await wordsOf(connect, "deadline-exceeded"),
    `ReverbClient.connect() took longer than 200 ms: ${address} neither answers nor refuses`,
  );
});

Deno.test("a gateway without its server is tried again, and a server of something else is not", async () => {
  let requests = 0;
  let status = 503;
  const other = http2.createServer();
  other.on("stream", (stream: http2.ServerHttp2Stream) => {
    requests++;
    stream.respond({ ":status": status });
    stream.end();
  });
  await new Promise<void>((done) => other.listen(0, hostname, done));
  const address = `${hostname}:${(other.address() as { readonly port: number }).port}`;
  const words = await wordsOf(
    () => ReverbClient.connect(address, { timeoutMs: 300 }),
    "unavailable",
  );
  assert(requests > 1 && words.includes("HTTP status 503"), words);
  [requests, status] = [0, 404];
  assertStrictEquals(
    await wordsOf(() => ReverbClient.connect(address), "unimplemented"),
    `ServerInfo: HTTP status 404 from ${address}: no server of Reverb's protocol`,
  );
  assertStrictEquals(requests, 1);
  await new Promise((done) => other.close(done));
});

for (
  const [name, answer] of [
    ["HTTP/1.1", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"],
    ["SSH", "SSH-2.0-OpenSSH_9.6\r\n"],
  ] as const
) {
  Deno.test(`a server that speaks ${name} is not tried again`, async () => {
    using listener = Deno.listen({ hostname, port: 0 });
    let connections = 0;
    const serving = (async () => {
      for await (const socket of listener) {
        connections++;
        await socket.read(new Uint8Array(1000));
        await socket.write(new TextEncoder().encode(answer));
        socket.close();
      }
    })();
    const address = `${hostname}:${(listener.addr as Deno.NetAddr).port}`;
    assertStrictEquals(
      await wordsOf(() => ReverbClient.connect(address), "unimplemented"),
      `ServerInfo: what answers at ${address} does not speak HTTP/2: no server of Reverb's protocol (Protocol error)`,
    );
    assertStrictEquals(connections, 1);
    listener.close();
    await serving.catch(() => {});
  });
}

Deno.test("an HTTP/2 server that answers without gRPC is not tried again", async () => {
  const options = { hostname, port: 0, onListen: () => {} };
  await using site = Deno.serve(options, () => new Response("Hi"));
  const address = `${hostname}:${site.addr.port}`;
  assertStrictEquals(
    await wordsOf(() => ReverbClient.connect(address), "unimplemented"),
    `ServerInfo: HTTP status 200 from ${address}: no server of Reverb's protocol`,
  );
});
