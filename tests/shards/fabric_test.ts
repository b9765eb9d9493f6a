import {
  assert,
  assertEquals,
  assertNotEquals,
  assertNotStrictEquals,
  assertRejects,
  assertStrictEquals,
} from "../_assert.ts";
import { pause } from "../_wait.ts";
import { Fabric, type FabricOptions, type Peer } from "./_fabric.ts";

const text = new TextDecoder();

/** Numbers from one peer to another, as they came. */
async function numbersOver(
  options: FabricOptions,
  meanwhile: (fabric: Fabric, from: Peer, to: Peer) => Promise<void> | void = () => {},
): Promise<{ readonly got: number[]; readonly fabric: Fabric }> {
  const fabric = new Fabric(options);
  const got: number[] = [];
  await fabric.run(async () => {
    const to = fabric.peer("to");
    await to.run(() => {
      const connection = to.connect();
      connection.subscribe("numbers", { callback: (_error, { data }) => got.push(data[0] ?? -1) });
      return connection.flush();
    });
    const from = fabric.peer("from");
    const sending = from.run(async () => {
      const connection = from.connect();
      for (let k = 0; k < 50; k++) {
        connection.publish("numbers", Uint8Array.of(k));
        await pause(1);
      }
    });
    await meanwhile(fabric, from, to);
    const death = fabric.until("the sender is dead", () => !from.isAlive);
    await Promise.race([sending, death]);
    await fabric.pause(1000);
  });
  return { got, fabric };
}

const ALL = Array.from({ length: 50 }, (_, k) => k);

Deno.test("a fabric delivers in order, and one seed gives one run", async () => {
  const { got, fabric } = await numbersOver({ seed: 1 });
  assertEquals(got, ALL);
  const again = await numbersOver({ seed: 1 });
  assertStrictEquals(again.fabric.trace, fabric.trace);
  assertStrictEquals(again.fabric.eventCount, fabric.eventCount);
  const other = await numbersOver({ seed: 2 });
  assertNotEquals(other.fabric.trace, fabric.trace);
});

Deno.test("a fabric loses, repeats and reorders messages where it is told to, and not otherwise", async () => {
  const lossy = await numbersOver({ seed: 3, loss: 0.2 });
  assert(lossy.got.length > 0 && lossy.got.length < 50, `${lossy.got.length} of 50 came`);
  assertEquals(lossy.got, ALL.filter((k) => lossy.got.includes(k)));
  const twice = await numbersOver({ seed: 3, twice: 0.2 });
  assert(twice.got.length > 50, `${twice.got.length} came`);
  assertEquals([...new Set(twice.got)], ALL);
  const reordered = await numbersOver({ seed: 3, reorder: true, delayMs: [0, 10] });
  assertNotEquals(reordered.got, ALL);
  assertEquals(reordered.got.toSorted((a, b) => a - b), ALL);
});

Deno.test("a cut link loses what is said meanwhile, or keeps it until it is whole", async () => {
  for (const keeps of [true, false]) {
    const { got } = await numbersOver({ seed: 4 }, async (fabric, from) => {
      await fabric.pause(10);
      fabric.cut([from], keeps);
      await fabric.pause(20);
      fabric.heal([from]);
    });
    if (keeps) assertEquals(got, ALL);
    else assert(got.length < 35 && got.length > 25 && got.at(-1) === 49, got.join());
  }
});

Deno.test("a peer that dies sends nothing more, and its timers end", async () => {
  const { got } = await numbersOver(
    { seed: 5 },
    (_fabric, from) => from.kill({ afterMessages: 7 }),
  );
  assertEquals(got, ALL.slice(0, 7));
});

Deno.test("a hub that restarts loses messages, and subscriptions come back", async () => {
  const { got } = await numbersOver({ seed: 6 }, async (fabric) => {
    await fabric.pause(10);
    fabric.restartHub(10);
  });
  assert(got.length < 45 && got.at(-1) === 49, got.join());
});

Deno.test("a slow link takes its time, and a hub drops what waits for a peer that is too slow", async () => {
  const fabric = new Fabric({ seed: 7, delayMs: [0, 0] });
  const came: number[] = [];
  await fabric.run(async () => {
    const slow = fabric.peer("slow", { bytesPerMs: 100, pendingMax: 2500 });
    await slow.run(() => {
      const connection = slow.connect();
      connection.subscribe("a.>", { callback: () => came.push(fabric.now) });
      return connection.flush();
    });
    const fast = fabric.peer("fast");
    const start = fabric.now;
    await fast.run(() => {
      const connection = fast.connect();
      connection.publish("a.b", new Uint8Array(1000));
      connection.publish("a.b.c", new Uint8Array(1000));
      connection.publish("a", new Uint8Array(1000));
      return connection.flush();
    });
    await fabric.pause(100);
    assertEquals(came.map((at) => at - start), [10, 20]);
    await fast.run(() => {
      const connection = fast.connect();
      for (let k = 0; k < 3; k++) connection.publish("a.b", new Uint8Array(1000));
    });
    await fabric.pause(100);
    assertStrictEquals(came.length, 2);
  });
});

Deno.test("requests: an answer, none in time, nobody there, one of a queue, and a connection that closes", async () => {
  const fabric = new Fabric({ seed: 8 });
  await fabric.run(async () => {
    const counts = [0, 0];
    for (const k of [0, 1]) {
      const server = fabric.peer(`server ${k}`);
      await server.run(() => {
        const connection = server.connect();
        connection.subscribe("echo", {
          queue: "all",
          callback: (_error, { data, reply = "" }) => {
            counts[k] = (counts[k] ?? 0) + 1;
            connection.publish(reply, data);
          },
        });
        connection.subscribe("silent", { callback: () => {} });
        return connection.flush();
      });
    }
    const client = fabric.peer("client");
    await client.run(async () => {
      const connection = client.connect();
      for (let k = 0; k < 40; k++) {
        const { data } = await connection.request("echo", new TextEncoder().encode(`${k}`), {
          timeout: 100,
        });
        assertStrictEquals(text.decode(data), `${k}`);
      }
      const late = await assertRejects(() =>
        connection.request("silent", undefined, { timeout: 100 })
      );
      assertStrictEquals(late.name, "TimeoutError");
      const nobody = await assertRejects(() =>
        connection.request("nobody", undefined, { timeout: 100 })
      );
      assertStrictEquals(nobody.name, "NoRespondersError");
      const waiting = connection.request("silent", undefined, { timeout: 100 });
      await connection.close();
      await assertRejects(() => waiting, Error, "closed");
      assertStrictEquals(connection.isClosed(), true);
    });
    assert(
      counts[0] !== 0 && counts[1] !== 0 && (counts[0] ?? 0) + (counts[1] ?? 0) === 40,
      counts.join(),
    );
  });
});

Deno.test("what a peer throws in a callback ends the run, and so does a run in which nothing can happen", async () => {
  await assertRejects(
    () =>
      new Fabric({ seed: 9 }).run(() => {
        setTimeout(() => {
          throw new Error("a fault");
        }, 5);
        return new Promise(() => {});
      }),
    Error,
    "a fault",
  );
  await assertRejects(
    () => new Fabric({ seed: 9 }).run(() => new Promise(() => {})),
    Error,
    "nothing is left to happen",
  );
});

Deno.test("a fabric gives the thread its clocks back", async () => {
  const { setTimeout, clearTimeout } = globalThis;
  const { random } = Math;
  await new Fabric({ seed: 10 }).run(async () => {
    assertStrictEquals(performance.now(), 0);
    await pause(50_000);
    assertStrictEquals(performance.now(), 50_000);
    assertNotStrictEquals(Math.random, random);
    assertStrictEquals(crypto.randomUUID().length, 36);
  });
  assertStrictEquals(globalThis.setTimeout, setTimeout);
  assertStrictEquals(globalThis.clearTimeout, clearTimeout);
  assertStrictEquals(Math.random, random);
  assertStrictEquals(Object.hasOwn(performance, "now"), false);
});

Deno.test("a thousand peers talk in one fabric", async () => {
  const fabric = new Fabric({ seed: 11 });
  let answered = 0;
  await fabric.run(async () => {
    const server = fabric.peer("server");
    await server.run(() => {
      const connection = server.connect();
      connection.subscribe("ask", {
        callback: (_error, { reply = "" }) => connection.publish(reply),
      });
      return connection.flush();
    });
    const clients = Array.from({ length: 1000 }, (_, k) => fabric.peer(`client ${k}`));
    await Promise.all(clients.map((client) =>
      client.run(async () => {
        const connection = client.connect();
        for (let k = 0; k < 5; k++) {
          await connection.request("ask", undefined, { timeout: 1000 });
          answered++;
        }
      })
    ));
  });
  assertStrictEquals(answered, 5000);
});
