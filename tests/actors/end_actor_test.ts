/** endActor(): it ends actors that await, and those that never do, which `terminate()` alone does not end in Deno. */
import { assert, assertEquals, assertStrictEquals, assertThrows } from "../_assert.ts";
import { ExperienceReplay, float32, ReplayError } from "@exrp/replay";
import type { ShareTicket } from "@exrp/replay/types";
import { endActor } from "../../actors/mod.ts";
import { until } from "../_wait.ts";
import type { EndlessJob } from "./_endless_actor.ts";
import { native } from "../_native.ts";

const newReplay = () => ExperienceReplay.create({ capacity: 10_000, state: float32() });
type Replay = Awaited<ReturnType<typeof newReplay>>;

interface Actor {
  readonly worker: Worker;
  readonly ticket: ShareTicket;
  readonly turns: Int32Array<SharedArrayBuffer>;
}

/** Starts an actor whose episodes have this tag, and waits until it has recorded. Nobody listens to its `error` event. */
async function start(replay: Replay, tag: number, awaits: boolean): Promise<Actor> {
  const ticket = replay.share();
  const turns = new Int32Array(new SharedArrayBuffer(4));
  const url = new URL("./_endless_actor.ts", import.meta.url);
  const worker = new Worker(url, { type: "module" });
  const job: EndlessJob = { ticket, tag, awaits, turns };
  worker.postMessage(job);
  await until("the actor records", () => Atomics.load(turns, 0) > 10);
  return { worker, ticket, turns };
}

/** The endings of the episodes with this tag. */
function endingsOf(replay: Replay, tag: number): string[] {
  const episodes = [...replay.episodes().handle].map((handle) => replay.episode(handle));
  return episodes.filter((episode) => episode.tag === tag).map(({ ending }) => ending);
}

for (const awaits of [true, false]) {
  const name = awaits ? "awaits" : "never awaits";
  native.test(`endActor() ends an actor that ${name}: its episode at once, and its seat soon`, async () => {
    using replay = await newReplay();
    const { worker, ticket } = await start(replay, 1, awaits);
    assertEquals(endingsOf(replay, 1), ["open"]);

    endActor(replay, worker, ticket);
    assertEquals(endingsOf(replay, 1), ["truncated"]);
    const { written } = replay.stats().records;
    await until("its seat is free", () => replay.describe().seatCount === 1);
    assertStrictEquals(replay.stats().records.written, written);
    assertStrictEquals(replay.reap(), 1);
    endActor(replay, worker, ticket); // changes nothing
    assertStrictEquals(replay.describe().seatCount, 1);
  });
}

native.test("a supervisor replaces actors that never await, and the others go on", async () => {
  using replay = await newReplay();
  const other = await start(replay, 100, true);
  for (let round = 1; round <= 3; round++) {
    const { worker, ticket } = await start(replay, round, false);
    endActor(replay, worker, ticket);
    assert(endingsOf(replay, round).every((ending) => ending === "truncated"));
    await until("its seat is free", () => replay.describe().seatCount === 2);
  }
  const before = Atomics.load(other.turns, 0);
  await until("the other goes on", () => Atomics.load(other.turns, 0) > before + 10);
  endActor(replay, other.worker, other.ticket);
  await until("its seat is free", () => replay.describe().seatCount === 1);
});

native.test("endActor() refuses what is no Worker and the ticket of another replay, and the actor goes on", async () => {
  using replay = await newReplay();
  using another = await newReplay();
  const { worker, ticket, turns } = await start(replay, 1, true);
  const loose = endActor as (...values: unknown[]) => void;
  assertThrows(
    () => loose(replay, ticket, worker),
    TypeError,
    "endActor() takes the replay, the Worker and its ticket; the Worker must have terminate(), got Object",
  );
  assertThrows(() => loose(replay, undefined, ticket), TypeError, "got undefined");
  assertThrows(() => loose(replay, worker, {}), TypeError, "takes a ticket that share() gave");
  const error = assertThrows(() => endActor(another, worker, ticket), ReplayError);
  assertStrictEquals(error.code, "ticket");
  const before = Atomics.load(turns, 0);
  await until("the actor goes on", () => Atomics.load(turns, 0) > before + 10);
  assertEquals(endingsOf(replay, 1), ["open"]);
  endActor(replay, worker, ticket);
  await until("its seat is free", () => replay.describe().seatCount === 1);
});
