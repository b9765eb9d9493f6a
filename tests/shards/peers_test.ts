/** Whatever a peer sends, the others don't notice: damaged messages, wrong sizes, other schemas, shards that lie. */
import { assert, assertEquals, assertRejects } from "../_assert.ts";
import { pause } from "../_wait.ts";
import { ReplayError } from "@exrp/replay";
import {
  type Connection,
  connectShards,
  localConnection,
  serveShard,
  shardWriter,
} from "@exrp/replay/shards";
import { openKernel } from "../../ffi/library.ts";
import { testRandom } from "../replay/_helpers.ts";
import { WIRE_VERSION } from "../../shards/_message_bytes.ts";
import { localShard } from "./_local.ts";

const SEED = 3111;

/** A connection that keeps a copy of each message that others publish by it. */
function watched(
  connection: Connection,
  seen: [subject: string, bytes: Uint8Array, reply?: string][],
): Connection {
  return new Proxy(connection, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown;
      if (name === "publish") {
        return (subject: string, payload = new Uint8Array(0), options?: { reply?: string }) => {
          seen.push(
            [
              subject,
              payload.slice(),
              ...options?.reply === undefined ? [] : [options.reply],
            ] as never,
          );
          target.publish(subject, payload, options as never);
        };
      }
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

interface Recording {
  newEpisode(): number;
  record(...of: unknown[]): number;
}

Deno.test(`damaged messages change nothing and end nobody (seed ${SEED})`, async () => {
  const random = testRandom(SEED);
  const hub = localConnection();
  const seen: [string, Uint8Array, string?][] = [];
  const connection = watched(hub, seen);
  await using a = await localShard(connection, "a", [1, 2, 3]);
  await using learner = await connectShards(connection, { seed: 1 });
  await using writer = await shardWriter(connection, { sendIntervalMs: 1 });
  const replay = writer.replay as unknown as Recording;
  const work = async (): Promise<void> => {
    replay.record(replay.newEpisode(), [4, 0], 4, 4, { finalState: [5, 0] });
    await writer.flush();
    const batch = await learner.getBatch(8);
    learner.setPriority(batch, new Float32Array(8).fill(2));
  };
  await work();
  const messages = seen.filter(([subject]) => !subject.endsWith(".bye"));
  const kinds = new Set(messages.map(([subject]) => subject.replace(/\.to\..*/, ".to")));
  assert(kinds.size >= 7, [...kinds].join(" "));
  for (let k = 0; k < 1500; k++) {
    const [subject, bytes, reply] = messages[random(messages.length)] as (typeof messages)[number];
    let bad = bytes.slice();
    if (subject.endsWith(".limit")) bad = bad.slice(0, random(16));
    else if (random(3) === 0) bad = bad.slice(0, random(bad.length + 1));
    else {
      for (let flips = 1 + random(4); flips > 0 && bad.length > 0; flips--) {
        const at = random(bad.length);
        bad[at] = random(2) === 0 ? random(256) : (bad[at] ?? 0) ^ (1 << random(8));
      }
    }
    hub.publish(subject, bad, reply === undefined ? undefined : { reply });
    if (k % 50 === 0) await pause(0);
  }
  // Numbers of picks in the damaged messages may be right ones, so a priority may have changed, but no record and no life.
  const before = a.replay.recordCount;
  await work();
  assertEquals(a.replay.recordCount, before + 1);
  for (
    const { state, action } of a.replay.episodes().handle.values().map((e) =>
      a.replay.episodeRecords(e)
    )
  ) {
    for (const [k, each] of (action as Int32Array).entries()) {
      assertEquals(each, ((state as Int32Array)[2 * k] ?? 0) % 7);
    }
  }
  assert(a.shard.figures().damaged > 100, `${a.shard.figures().damaged}`);
  assert(learner.figures().damaged > 10, `${learner.figures().damaged}`);
});

Deno.test("a chunk that asks for more than it has is refused before anything is made of it", async () => {
  const hub = localConnection();
  const seen: [string, Uint8Array, string?][] = [];
  await using a = await localShard(watched(hub, seen), "a", [1]);
  await using writer = await shardWriter(watched(hub, seen), { sendIntervalMs: 1 });
  const replay = writer.replay as unknown as Recording;
  replay.record(replay.newEpisode(), [4, 0], 4, 4, { finalState: [5, 0] });
  await writer.flush();
  const [subject, chunk, reply] = seen.find(([subject]) =>
    subject.endsWith(".chunk")
  ) as (typeof seen)[0];
  const { symbols } = await openKernel({});
  const [begin, row] = [48, 48 + 24];
  const { recorded } = a.shard.figures();
  for (
    const [at, value] of [
      ...[[32, 2 ** 31], [4, 1]],
      ...[[begin, 99], [begin + 8, 1], [begin + 20, 8]],
      ...[[row + 8, 2 ** 30], [row + 8, 7], [row + 20, 2 ** 31]],
    ] as [number, number][]
  ) {
    const bad = chunk.slice() as Uint8Array<ArrayBuffer>;
    const view = new DataView(bad.buffer);
    view.setUint32(at, value, true);
    // A new one, with a right checksum.
    view.setFloat64(24, 2, true);
    view.setUint32(36, symbols.exrp_checksum(0, bad.subarray(48), bad.length - 48), true);
    const { damaged } = a.shard.figures();
    hub.publish(subject, bad, { reply: reply as string });
    await pause(0);
    assertEquals(a.shard.figures().damaged, damaged + 1, `${value} at ${at}`);
  }
  assertEquals([a.replay.recordCount, a.shard.figures().recorded], [2, recorded]);
});

Deno.test("a shard that answers with other sizes than it says is left out of the batch", async () => {
  const hub = localConnection();
  await using _a = await localShard(hub, "a", [1, 2, 3]);
  const lying: Connection = new Proxy(hub, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown;
      if (name !== "publish") return typeof value === "function" ? value.bind(target) : value;
      return (subject: string, payload?: Uint8Array, options?: { reply?: string }) => {
        const isPicks = payload?.[0] === 0x58 && payload[1] === 0x50;
        target.publish(subject, isPicks ? payload.subarray(0, -3) : payload, options as never);
      };
    },
  });
  await using _b = await localShard(lying, "b", [4, 5, 6]);
  await using learner = await connectShards(hub, { shards: 2, seed: 1 });
  for (let k = 0; k < 5; k++) {
    const numbers = new Set((await learner.getBatch(100)).reward as Float32Array);
    assertEquals([...numbers].sort(), [1, 2, 3]);
  }
  assert(learner.figures().redrawn >= 1);
});

Deno.test("a shard of another version is none, and who looks for it hears why", async () => {
  const hub = localConnection();
  const other: Connection = new Proxy(hub, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown;
      if (name !== "publish") return typeof value === "function" ? value.bind(target) : value;
      return (subject: string, payload?: Uint8Array, options?: { reply?: string }) => {
        const text = new TextDecoder().decode(payload);
        const changed = new TextEncoder().encode(
          text.replace(`"version":${WIRE_VERSION}`, '"version":1'),
        );
        target.publish(subject, text.startsWith("{") ? changed : payload, options as never);
      };
    },
  });
  await using _a = await localShard(other, "a", [1]);
  const words = `the shard a speaks version 1, and this library version ${WIRE_VERSION}`;
  await assertRejects(() => shardWriter(hub, { timeoutMs: 200 }), Error, words);
  await assertRejects(() => connectShards(hub, { timeoutMs: 200 }), Error, words);
  await assertRejects(() => localShard(hub, "a", [1]), Error, "is there already");
});

Deno.test("an error shows the beginning of what a peer sent, of whatever size", async () => {
  const long = "x".repeat(100_000);
  const process = { name: "a", version: WIRE_VERSION, incarnation: "0".repeat(32), selectors: [] };
  for (
    const sent of [{ name: long }, { ...process, version: [long] }, { ...process, schema: long }]
  ) {
    const hub = localConnection();
    const answer = new TextEncoder().encode(JSON.stringify(sent));
    hub.subscribe("exrp.find", {
      callback: (_error, { reply = "" }) => hub.publish(reply, answer),
    });
    for (const look of [shardWriter, connectShards]) {
      const error = await look(hub, { timeoutMs: 200 }).then(() => undefined, (error) => error);
      assert(error instanceof ReplayError && error.code === "timeout");
      assert(error.message.includes("xxx"), error.message);
      assert(error.message.length < 400, `${error.message.length} letters`);
    }
  }
});

Deno.test("two shards can't have one name, and a shared replay is no shard", async () => {
  const hub = localConnection();
  await using a = await localShard(hub, "a", [1]);
  await assertRejects(() => serveShard(a.replay, hub, { name: "a" }), Error, "is there already");
  await assertRejects(() => serveShard(a.replay, hub, { name: "a b" }), TypeError, "name must be");
  await assertRejects(
    () => serveShard(a.replay, hub, { name: "b", prefix: "x..y" }),
    TypeError,
    "prefix must be",
  );
  await assertRejects(
    () => serveShard({} as never, hub, { name: "b" }),
    TypeError,
    "takes a replay",
  );
  if (Deno.env.get("EXRP_BACKEND") === "wasm") return;
  a.replay.share();
  await assertRejects(
    () => serveShard(a.replay, hub, { name: "b" }),
    Error,
    "shared between threads",
  );
});
