/** The busy poll: when the event loop turns, and when it lets its core go. */
import { assert, assertEquals, assertThrows } from "../../_assert.ts";
import { ownConnections } from "../../../base/own_connections.ts";
import { ReverbClient } from "../../../reverb/mod.ts";
import { plainTables, served } from "../../server/_served.ts";
import { serve, type ServeOptions } from "../../../server/mod.ts";
import { BusyPoll } from "../../../net/pump/busy_poll.ts";
import { Tables } from "../../../tables/mod.ts";
import { until } from "../../_wait.ts";

/** A poll on a clock that stands still until it is moved. */
function quietPollOn(pollMs: number, cores: number): Turning {
  let time = 1000;
  const poll = new BusyPoll(pollMs, cores, () => time);
  return { poll, pass: (ms) => void (time += ms) };
}

interface Turning {
  readonly poll: BusyPoll;
  readonly pass: (ms: number) => void;
}

/** The same, where a client has just called, so that the next input is not the only one. */
function pollOn(pollMs: number, cores: number): Turning {
  const turning = quietPollOn(pollMs, cores);
  turning.poll.note(-1);
  turning.pass(50);
  return turning;
}

Deno.test("an input after a quiet time begins no poll, and the next one does", async () => {
  const { poll, pass } = quietPollOn(2, 2);
  let period = poll.note(-1);
  assertEquals(poll.isTurning, false, "the first input");
  pass(40);
  period = poll.note(period);
  assert(poll.isTurning, "the second one");
  pass(2.1);
  await turns();
  assertEquals(poll.isTurning, false, "nothing more came in 2 ms");
  pass(100);
  assertEquals([poll.note(period) > period, poll.isTurning], [true, false], "a quiet time");
  poll.stop();
});

Deno.test("clients that call eight times a second together never make it turn", () => {
  const { poll, pass } = quietPollOn(2, 64);
  const periods: number[] = Array(8).fill(-1);
  for (let call = 0; call < 200; call++) {
    periods[call % 8] = poll.note(periods[call % 8] ?? -1);
    assertEquals(poll.isTurning, false, `call ${call}`);
    pass(125);
  }
});

/** Lets the event loop turn some times. */
async function turns(count = 5): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

Deno.test("the event loop turns until the time after the last input has passed", async () => {
  const { poll, pass } = pollOn(1, 2);
  let period = poll.note(-1);
  await turns();
  assert(poll.isTurning);
  pass(0.75);
  period = poll.note(period);
  pass(0.75);
  await turns();
  assert(poll.isTurning, "the second input began the time anew");
  pass(0.5);
  await turns();
  assertEquals(poll.isTurning, false);
  poll.note(period);
  assert(poll.isTurning);
  poll.stop();
  assertEquals(poll.isTurning, false);
});

Deno.test("where a turn without input takes long, others want the core, and it rests for a second", async () => {
  const { poll, pass } = pollOn(100, 2);
  let period = poll.note(-1);
  for (let turn = 0; turn < 20; turn++) {
    pass(0.9);
    await turns(1);
    assert(poll.isTurning, "short turns");
  }
  // To handle an input may take long.
  pass(5);
  period = poll.note(period);
  await turns();
  assert(poll.isTurning, "an input came in the long turn");
  pass(1.1);
  await turns();
  assertEquals(poll.isTurning, false, "a long turn");
  for (let call = 0; call < 99; call++) {
    pass(10);
    period = poll.note(period);
    assertEquals(poll.isTurning, false, "it rests");
  }
  pass(10);
  poll.note(period);
  assert(poll.isTurning, "after a second");
  poll.stop();
});

Deno.test("it does not turn with as many clients at work as there are cores, and goes on once one rests", async () => {
  const { poll, pass } = pollOn(1, 2);
  const one = poll.note(-1);
  const other = poll.note(-1);
  await turns();
  assertEquals(poll.isTurning, false, "two clients want both cores");
  pass(0.5);
  const same = poll.note(one);
  assertEquals([same, poll.isTurning], [other, false], "a client counts once in a period");
  pass(50);
  const next = poll.note(same);
  assertEquals(poll.isTurning, false, "both were at work in the period before");
  pass(50);
  poll.note(next);
  assert(poll.isTurning, "the other client has rested for a period");
  poll.stop();
});

Deno.test("one client on one core, and a time of 0, never make it turn", () => {
  const single = pollOn(1, 1);
  single.poll.note(-1);
  assertEquals(single.poll.isTurning, false);
  const off = pollOn(0, 8);
  off.poll.note(-1);
  assertEquals(off.poll.note(-1), -1);
  assertEquals(off.poll.isTurning, false);
});

Deno.test("serve() refuses null for a number", async () => {
  using tables = await Tables.create({ tables: { u: { maxSize: 1 } } });
  for (const name of ["busyPollMs", "port"]) {
    const options = { tables, [name]: null } as unknown as ServeOptions;
    assertThrows(() => serve(options), TypeError, `serve(): ${name} must be an integer, got null`);
  }
});

Deno.test("clients of long ago don't count", () => {
  const { poll, pass } = pollOn(1, 2);
  poll.note(-1);
  poll.note(-1);
  pass(1000);
  poll.note(-1);
  assert(poll.isTurning);
  poll.stop();
});

Deno.test("as many clients as cores keep their cores, though each computes for some milliseconds between its calls", async () => {
  for (const computeMs of [3, 5, 10, 20, 40]) {
    const { poll, pass } = pollOn(1, 2);
    const periods = [-1, -1];
    let turned = 0;
    for (let call = 0; call < 100; call++) {
      const client = call % 2;
      periods[client] = poll.note(periods[client] ?? -1);
      if (call > 1 && poll.isTurning) turned++;
      pass(computeMs / 2);
      await turns(1);
    }
    assertEquals(turned, 0, `${computeMs} ms between the calls of a client`);
    poll.stop();
  }
});

Deno.test("while a client of this program is connected, nothing turns", async () => {
  const { poll } = pollOn(1, 2);
  await using site = await served(plainTables);
  const client = await ReverbClient.connect(site.server.address);
  await client.insert(1, { u: 1 });
  poll.note(-1);
  assertEquals([poll.isTurning, ownConnections.size], [false, 1]);
  await client.close();
  assertEquals(ownConnections.size, 0);
  poll.note(-1);
  assert(poll.isTurning);
  poll.stop();
  // Neither a try that failed nor a connection that the server ended stays.
  await ReverbClient.connect("127.0.0.1:9", { timeoutMs: 50 }).catch(() => {});
  assertEquals(ownConnections.size, 0);
  await using other = await ReverbClient.connect(site.server.address);
  assertEquals(Object.keys(await other.serverInfo()).length, 3);
  await site.server[Symbol.asyncDispose]();
  await until("the connection is gone", () => ownConnections.size === 0);
});
