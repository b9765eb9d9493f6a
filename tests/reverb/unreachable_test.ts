/** What the client says if it can't reach a server, or if a server makes it wait. */
import { assert, assertStrictEquals } from "@std/assert";
import { ReverbClient, ReverbError } from "../../reverb/mod.ts";
import { served } from "../server/_served.ts";

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
  const words = await wordsOf(() => ReverbClient.connect("127.0.0.1:9"), "unavailable");
  assertStrictEquals(
    words,
    "ServerInfo: no answer from 127.0.0.1:9: nobody listens there; start the server, or check the port (connect ECONNREFUSED 127.0.0.1:9)",
  );
});

for (const address of ["127.0.0.1:9", "localhost:9"]) {
  Deno.test({
    name: `without the permission for ${address}, the error says which flag is missing`,
    permissions: { net: false, read: true, env: true, ffi: true },
    fn: async () => {
      const words = await wordsOf(() => ReverbClient.connect(address), "unavailable");
      const start =
        `ServerInfo: no answer from ${address}: the program may not connect; Deno needs --allow-net=${address} (`;
      assertStrictEquals(words.slice(0, start.length), start);
      assert(!words.includes("pending stream"), words);
    },
  });
}

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
    "insert() took longer than 50 ms: 0 items wait to be sent, and 1 to be confirmed; the limiter of a table may hold them back until others sample",
  );
});
