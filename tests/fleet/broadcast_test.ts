import { Broadcast } from "../../actors/mod.ts";
import { type BroadcastReceiver, receiveBroadcast, sendBroadcast } from "../../fleet/mod.ts";
import type { Connection } from "../../shards/connection.ts";
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
} from "../_assert.ts";
import { amount } from "../_amount.ts";
import { inTime, pause, until } from "../_wait.ts";
import { ReplayError } from "../../mod.ts";
import { Hub } from "../shards/_hub.ts";
import { Fabric, type FabricOptions, type Peer } from "../shards/_fabric.ts";

const SEED = Number(Deno.env.get("EXRP_SEED") ?? 261128);
const SCHEDULES = Number(Deno.env.get("EXRP_SCHEDULES") ?? amount(10, 40));

/** Above two chunks, and of two kinds. */
type Weights = { w: Float32Array<ArrayBuffer>; step: Float64Array<ArrayBuffer> };
const LENGTH = 20_001;

/** The weights of a version: each element says which version of which learner it is of. */
function weightsOf(learner: number, version: number): Weights {
  return {
    w: new Float32Array(LENGTH).fill(learner * 1000 + version),
    step: Float64Array.of(learner * 1000 + version),
  };
}

/** What an actor sees: versions, and which learner made them. Throws for a mixture. */
function seenBy({ broadcast }: BroadcastReceiver<Weights>): { version: number; made: number } {
  const { version, arrays: { w, step } } = broadcast.read();
  const [made = NaN] = step;
  assert(w.every((each) => each === made), `version ${version} is a mixture`);
  return { version, made };
}

Deno.test("a receiver gets the newest version, each later one, and Workers attach to it", async () => {
  const hub = new Hub();
  const weights = Broadcast.create(weightsOf(0, 1));
  await using sender = await sendBroadcast(hub.connect(), "agent.weights", weights);
  weights.publish(weightsOf(0, 2));
  const receiver = await receiveBroadcast<Weights>(hub.connect(), "agent.weights");
  const { broadcast } = receiver;
  await inTime("version 2", broadcast.waitFor(2));
  assertEquals(seenBy(receiver), { version: 2, made: 2 });
  weights.publish(weightsOf(0, 3));
  await inTime("version 3", broadcast.waitFor(3));
  const inWorker = Broadcast.attach(structuredClone(broadcast.ticket));
  assertEquals(inWorker.read().arrays, weightsOf(0, 3));
  assertStrictEquals(sender.version, 3);
  const late = await receiveBroadcast<Weights>(hub.connect(), "agent.weights");
  assertEquals(seenBy(late), { version: 3, made: 3 });
  assert(sender.askedCount > 0);
  assertEquals([receiver.refusedCount, late.refusedCount], [0, 0]);
  receiver[Symbol.dispose]();
  weights.publish(weightsOf(0, 4));
  assertStrictEquals(weights.read().changed, true);
  await inTime("version 4", late.broadcast.waitFor(4));
  assertStrictEquals(broadcast.version, 3);
  assertStrictEquals(weights.read().changed, false); // what the sender reads is the sender's own business
  late[Symbol.dispose]();
});

Deno.test("a learner that publishes faster than it can be sent leaves versions out, and the last one comes", async () => {
  const hub = new Hub();
  const weights = Broadcast.create(weightsOf(0, 1));
  await using sender = await sendBroadcast(hub.connect(), "weights", weights);
  using receiver = await receiveBroadcast<Weights>(hub.connect(), "weights");
  for (let version = 2; version <= 500; version++) weights.publish(weightsOf(0, version));
  await inTime("version 500", receiver.broadcast.waitFor(500));
  assertEquals(seenBy(receiver), { version: 500, made: 500 });
  assert(sender.sentCount < 500, `${sender.sentCount} versions were sent`);
});

Deno.test("arrays without elements, and one that is smaller than a chunk", async () => {
  const hub = new Hub();
  const weights = Broadcast.create({ none: new Int8Array(0), one: Int8Array.of(7) });
  await using _sender = await sendBroadcast(hub.connect(), "weights", weights);
  using receiver = await receiveBroadcast(hub.connect(), "weights");
  assertEquals(receiver.broadcast.read().arrays, { none: new Int8Array(0), one: Int8Array.of(7) });
  const empty = Broadcast.create({ none: new Int8Array(0) });
  await using _other = await sendBroadcast(hub.connect(), "empty", empty);
  using nothing = await receiveBroadcast(hub.connect(), "empty");
  empty.publish({ none: new Int8Array(0) });
  await inTime("version 2", nothing.broadcast.waitFor(2));
});

Deno.test("damaged and foreign messages are counted, and change nothing", async () => {
  const hub = new Hub();
  const weights = Broadcast.create(weightsOf(0, 1));
  const honest = hub.connect();
  let isDamaging = false;
  const liar: Connection = Object.assign(Object.create(honest), {
    publish(subject: string, data: Uint8Array, options?: { reply?: string }): void {
      const copy = data.slice();
      if (isDamaging && copy.length > 1000) copy[777] = (copy[777] ?? 0) ^ 4;
      honest.publish(subject, copy, options);
    },
    subscribe: honest.subscribe.bind(honest),
    flush: honest.flush.bind(honest),
    isClosed: honest.isClosed.bind(honest),
  });
  await using _sender = await sendBroadcast(liar, "weights", weights, { heartbeatMs: 5 });
  using receiver = await receiveBroadcast<Weights>(hub.connect(), "weights");
  isDamaging = true;
  weights.publish(weightsOf(0, 2));
  await until("the damage was seen again and again", () => receiver.refusedCount > 2);
  assertEquals(seenBy(receiver), { version: 1, made: 1 });
  isDamaging = false;
  await inTime("version 2", receiver.broadcast.waitFor(2));
  assertEquals(seenBy(receiver), { version: 2, made: 2 });
  const before = receiver.refusedCount;
  const other = hub.connect();
  other.publish("weights", new Uint8Array(3));
  other.publish("weights", new Uint8Array(100));
  other.publish("weights");
  await using _foreign = await sendBroadcast(
    other,
    "weights",
    Broadcast.create({ w: new Int8Array(9) }),
  );
  await until("all are refused", () => receiver.refusedCount >= before + 4);
  weights.publish(weightsOf(0, 3));
  await inTime("version 3", receiver.broadcast.waitFor(3));
  assertEquals(seenBy(receiver), { version: 3, made: 3 });
});

Deno.test("a new learner takes the place of the old one, and numbers go on", async () => {
  const hub = new Hub();
  const first = await sendBroadcast(
    hub.connect(),
    "weights",
    Broadcast.create(weightsOf(1, 1), 70),
  );
  using receiver = await receiveBroadcast<Weights>(hub.connect(), "weights");
  assertEquals(seenBy(receiver), { version: 70, made: 1001 });
  const restarted = Broadcast.create(weightsOf(2, 1));
  await using _second = await sendBroadcast(hub.connect(), "weights", restarted);
  await inTime("the second learner's", receiver.broadcast.waitFor(71));
  assertEquals(seenBy(receiver), { version: 71, made: 2001 });
  // The old one did not notice that it was replaced.
  await first.close();
  restarted.publish(weightsOf(2, 2));
  await inTime("the second version", receiver.broadcast.waitFor(72));
  assertEquals(seenBy(receiver), { version: 72, made: 2002 });
});

Deno.test("regression: of two learners, the one that began later counts, and the other once that is gone", async () => {
  const hub = new Hub();
  const quick = { heartbeatMs: 20 };
  const old = Broadcast.create(weightsOf(1, 1));
  await using _old = await sendBroadcast(hub.connect(), "weights", old, quick);
  using early = await receiveBroadcast<Weights>(hub.connect(), "weights");
  const young = Broadcast.create(weightsOf(2, 1));
  const sender = await sendBroadcast(hub.connect(), "weights", young, quick);
  using receiver = await receiveBroadcast<Weights>(hub.connect(), "weights");
  const both = [early, receiver];
  const see = (made: number): Promise<void> =>
    until(`both have ${made}`, () => both.every((each) => seenBy(each).made === made));
  await see(2001);
  old.publish(weightsOf(1, 2));
  await pause(100); // many heartbeats of both
  young.publish(weightsOf(2, 2));
  await see(2002);
  await sender.close();
  await see(1002);
  old.publish(weightsOf(1, 3));
  await see(1003);
});

Deno.test("without a sender, a receiver waits until its time, its signal or the end of the connection", async () => {
  const hub = new Hub();
  const late = await assertRejects(() =>
    receiveBroadcast(hub.connect(), "weights", { timeoutMs: 20 })
  );
  assertInstanceOf(late, ReplayError);
  assertStrictEquals(late.code, "timeout");
  const words = "receiveBroadcast(): no version of weights came within 20 ms: no sender was found";
  assert(late.message.startsWith(words), late.message);
  const stop = new AbortController();
  const waiting = receiveBroadcast(hub.connect(), "weights", { signal: stop.signal });
  stop.abort(new Error("enough"));
  await assertRejects(() => waiting, Error, "enough");
  const connection = hub.connect();
  const ended = receiveBroadcast(connection, "weights");
  setTimeout(() => connection.close(), 10);
  await assertRejects(() => ended, Error, "the connection is closed");
  const coming = receiveBroadcast<Weights>(hub.connect(), "weights");
  await using _sender = await sendBroadcast(
    hub.connect(),
    "weights",
    Broadcast.create(weightsOf(0, 1)),
  );
  using receiver = await inTime("the sender that came later", coming);
  assertEquals(seenBy(receiver), { version: 1, made: 1 });
});

Deno.test("arguments of another kind are refused", async () => {
  const connection = new Hub().connect();
  const weights = Broadcast.create(weightsOf(0, 1));
  for (const name of ["", "a b", "a.*", ">", 3]) {
    await assertRejects(
      () => sendBroadcast(connection, name as string, weights),
      TypeError,
      "a name must be",
    );
    await assertRejects(
      () => receiveBroadcast(connection, name as string),
      TypeError,
      "a name must be",
    );
  }
  await assertRejects(
    () => sendBroadcast(connection, "a", {} as never),
    TypeError,
    "must be a Broadcast",
  );
  await assertRejects(
    () => sendBroadcast(connection, "a", weights, { heartbeatMs: 0 }),
    RangeError,
    "heartbeatMs must be",
  );
  await assertRejects(
    () => receiveBroadcast(connection, "a", { timeout: 1 } as never),
    TypeError,
    "timeoutMs",
  );
});

/** A learner that publishes `count` versions, one every few ms, and is then silent. */
async function learn(peer: Peer, learner: number, count: number): Promise<void> {
  const weights = Broadcast.create(weightsOf(learner, 1));
  await sendBroadcast(peer.connect(), "weights", weights, { heartbeatMs: 50 });
  for (let version = 2; version <= count; version++) {
    await pause(7);
    weights.publish(weightsOf(learner, version));
  }
}

/** An actor that looks at its weights again and again. */
async function act(peer: Peer, seen: number[]): Promise<void> {
  const patience = { timeoutMs: 60_000 };
  const receiver = await receiveBroadcast<Weights>(peer.connect(), "weights", patience);
  let last = 0;
  for (;;) {
    if (receiver.broadcast.version !== last) {
      const { version, made } = seenBy(receiver);
      assert(version > last, `version ${version} came after ${last}`);
      last = version;
      seen.push(made);
    }
    await pause(3);
  }
}

/** Runs one learner and its successor with three actors, one of which comes late, over a bad network. */
async function runSchedule(options: FabricOptions): Promise<number> {
  const fabric = new Fabric(options);
  await fabric.run(async () => {
    const seen: number[][] = [[], [], []];
    const start = (k: number): Peer => {
      const actor = fabric.peer(`actor ${k}`, k === 1 ? { bytesPerMs: 20_000 } : {});
      actor.run(() => act(actor, seen[k] ?? [])).catch((error) => fabric.fail(error));
      return actor;
    };
    const begin = (k: number, count: number): Peer => {
      const learner = fabric.peer("learner");
      learner.run(() => learn(learner, k, count)).catch((error) => fabric.fail(error));
      return learner;
    };
    let learner = begin(1, 1000);
    const actors = [start(0), start(1)];
    await fabric.pause(fabric.between([5, 60]));
    actors.push(start(2));
    for (let fault = 0; fault < 4; fault++) {
      await fabric.pause(fabric.between([5, 60]));
      if (fault === 2) {
        learner.kill();
        learner = begin(2, 15);
        await fabric.pause(fabric.between([0, 60]));
      }
      const cut = [...actors, learner].filter(() => fabric.chance() < 0.4);
      if (fabric.chance() < 0.4) fabric.restartHub(fabric.between([1, 30]));
      fabric.cut(cut, fabric.chance() < 0.5);
      await fabric.pause(fabric.between([5, 60]));
      fabric.heal(cut);
    }
    for (const [k, made] of seen.entries()) {
      await fabric.until(`actor ${k} has the last version`, () => made.at(-1) === 2015, 30_000);
      assertEquals(made, made.toSorted((a, b) => a - b), `what actor ${k} saw`);
    }
  });
  return fabric.trace;
}

Deno.test("no actor sees a mixture or an older version, and each gets the last one, over a network that fails", async () => {
  for (let seed = SEED; seed < SEED + SCHEDULES; seed++) {
    const isBad = seed % 3 === 0;
    const options = isBad ? { loss: 0.05, twice: 0.05, reorder: true } : { loss: seed % 3 * 0.01 };
    try {
      await runSchedule({ seed, ...options });
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
});

Deno.test("a schedule of weights is the same each time", async () => {
  assertStrictEquals(await runSchedule({ seed: 5 }), await runSchedule({ seed: 5 }));
});
