/** Eviction policies written in TypeScript: they conform like the kernel's own, and their mistakes are told by name. */
import { uniform } from "@exrp/replay";
import type { EvictionPolicy } from "@exrp/replay/eviction";
import { assert, assertEquals, assertMatch, assertStrictEquals, assertThrows } from "@std/assert";
import { KeepBest } from "../../examples/custom_eviction.ts";
import {
  assertReplayError,
  assertReplayRejects,
  recordEpisode,
  smallReplay,
  visibleState,
} from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

/** Forgets the oldest, as plain as can be; counts what it was told. */
class Oldest implements EvictionPolicy {
  readonly name = "oldest";
  readonly handles: number[] = [];
  readonly drawn: number[] = [];
  created(handle: number): void {
    assert(!this.handles.includes(handle), `episode ${handle} was created twice`);
    this.handles.push(handle);
  }
  sampled(handles: Float64Array): void {
    for (const handle of handles) assert(this.handles.includes(handle), `${handle} is not known`);
    this.drawn.push(...handles);
  }
  removed(handle: number): void {
    const place = this.handles.indexOf(handle);
    assert(place >= 0, `episode ${handle} was removed, but never created`);
    this.handles.splice(place, 1);
  }
  victim(): number {
    return this.handles[0] ?? -1;
  }
  save(): Uint8Array {
    return new TextEncoder().encode(this.drawn.join());
  }
  load(_bytes: Uint8Array): void {}
}

conforms({ name: "a user's first-in-first-out", make: () => new Oldest() });
conforms({ name: "the KeepBest of examples/", make: () => new KeepBest() });

Deno.test("the replay tells a policy every episode and every draw", async () => {
  const policy = new Oldest();
  using replay = await smallReplay({ capacity: 20, segmentLength: 6, eviction: policy });
  const selector = replay.newPickSelector(uniform());
  let episode = replay.newEpisode();
  for (let step = 0; step < 300; step++) {
    episode = replay.record(
      episode,
      [step],
      0,
      0,
      step % 17 === 16 ? { finalState: [0] } : undefined,
    );
    if (step % 17 === 16) episode = replay.newEpisode();
    assertEquals(policy.handles, [...replay.episodes()]);
    if (replay.pickCount > 0) replay.getBatch(2, selector);
  }
  assertStrictEquals(policy.drawn.length > 500, true);
});

for (const victim of [-1, 99, 0.5, NaN, undefined, "1"]) {
  Deno.test(`a victim that is ${victim} is an error with the policy's name, and nothing is lost`, async () => {
    const policy = new Oldest();
    using replay = await smallReplay({ capacity: 3, eviction: policy });
    for (let k = 0; k < 3; k++) recordEpisode(replay, 1, k);
    const episode = replay.newEpisode();
    const right = policy.victim.bind(policy);
    policy.victim = () => victim as number;
    const before = visibleState(replay);
    const error = assertReplayError(() => replay.record(episode, [9], 0, 0), "rule");
    assertMatch(
      error.message,
      /eviction policy oldest named episode .* which is not in the replay/,
    );
    assertEquals(visibleState(replay), before);
    policy.victim = right;
    replay.record(episode, [9], 0, 0);
    assertStrictEquals(replay.recordCount, 3);
  });
}

Deno.test("a victim that was evicted before is refused", async () => {
  const policy = new Oldest();
  using replay = await smallReplay({ capacity: 3, eviction: policy });
  for (let k = 0; k < 4; k++) recordEpisode(replay, 1, k);
  policy.victim = () => 0;
  assertReplayError(() => recordEpisode(replay, 1), "rule");
  assertStrictEquals(replay.recordCount, 3);
});

Deno.test("an error of the policy's own comes through", async () => {
  const policy = new Oldest();
  using replay = await smallReplay({ capacity: 1, eviction: policy });
  recordEpisode(replay, 1);
  policy.victim = () => {
    throw new Error("own mistake");
  };
  assertThrows(() => recordEpisode(replay, 1), Error, "own mistake");
});

Deno.test("the episode being recorded may be the victim: the record begins another", async () => {
  const policy = new Oldest();
  using replay = await smallReplay({ capacity: 3, eviction: policy });
  const episode = replay.newEpisode();
  for (let step = 0; step < 3; step++) assertStrictEquals(replay.record(episode, [step], 0, 0), 0);
  assertStrictEquals(replay.record(episode, [3], 0, 0), 1);
  assertEquals(policy.handles, [1]);
  assertStrictEquals(replay.recordCount, 1);
});

Deno.test("a policy without save() can't be saved, and one that refuses its part changes nothing", async () => {
  const plain: EvictionPolicy = {
    name: "plain",
    created: () => {},
    removed: () => {},
    victim: () => 0,
  };
  using unsavable = await smallReplay({ eviction: plain });
  assertMatch(
    (await assertReplayRejects(unsavable.serialize(), "not-savable")).message,
    /policy plain/,
  );

  using source = await smallReplay({ eviction: new Oldest() });
  recordEpisode(source, 3);
  const policy = new Oldest();
  using replay = await smallReplay({ eviction: policy });
  recordEpisode(replay, 2);
  recordEpisode(replay, 2);
  const before = visibleState(replay);
  let calls = 0;
  policy.load = () => {
    if (calls++ === 0) throw new Error("not mine");
  };
  const error = await assertReplayRejects(replay.unserialize(await source.serialize()), "rule");
  assertMatch(error.message, /oldest refused its part of the snapshot: Error: not mine/);
  assertEquals(visibleState(replay), before);
  assertEquals(policy.handles, [0, 1]);
});
