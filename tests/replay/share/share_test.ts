/** A replay that several threads use: tickets, attaching, what is refused, and what the threads see of each other. */
import { assertEquals, assertStrictEquals } from "@std/assert";
import { ExperienceReplay, float32, highestPriority } from "@exrp/replay";

const attach = (ticket: unknown) => ExperienceReplay.attach(ticket, { state: float32(2) });

Deno.test("what one thread records, every thread can draw, read, drain and set priorities of", async () => {
  using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(2), seed: 5 });
  const own = replay.newPickSelector(highestPriority());
  using guest = await attach(structuredClone(replay.share()));
  const [selector] = guest.selectors;
  if (selector === undefined) throw new Error("the guest has no selector");
  let episode = guest.newEpisode({ tag: 3 });
  episode = guest.record(episode, [1, 2], 0, 1);
  guest.record(episode, [3, 4], 1, 0, { finalState: [5, 6] });
  assertEquals([...replay.episodes()], [episode]);
  assertStrictEquals(replay.episode(episode).tag, 3);
  assertStrictEquals(guest.setPriority(selector, [episode], [1], [2]), 1);
  assertEquals([...replay.getPriority(own, [episode, episode], [0, 1])], [1, 2]);
  assertEquals([...replay.getBatch(8, own).pickPosition], new Array(8).fill(1));
  assertEquals(replay.episodeRecords(episode), guest.episodeRecords(episode));
  assertStrictEquals(replay.stats().drawnCount, 8);
  assertEquals([...guest.drain().state], [1, 2, 3, 4]);
  assertStrictEquals(replay.drain().size, 0);
  assertStrictEquals(replay.drain().lost, 0);
});

Deno.test("a Worker attaches by a ticket in a message, and records", async () => {
  using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(2) });
  const worker = new Worker(new URL("./_recording_worker.ts", import.meta.url), { type: "module" });
  const done = new Promise<unknown>((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
  });
  worker.postMessage(replay.share());
  assertStrictEquals(await done, "done");
  worker.terminate();
  assertEquals([...replay.drain().state], [1, 2]);
  assertStrictEquals(replay.describe().seatCount, 1);
});
