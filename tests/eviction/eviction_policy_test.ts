/** Eviction policies written in TypeScript: they conform like the kernel's own, and their mistakes are told by name. */
import { uniform } from "@exrp/replay";
import type { EvictionPolicy } from "@exrp/replay/eviction";
import { type PickSelector, RandomStream, type Selection } from "@exrp/replay/selectors";
import { assert, assertEquals, assertMatch, assertStrictEquals, assertThrows } from "../_assert.ts";
import { amount } from "../_amount.ts";
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

conforms({ name: "a user's first-in-first-out", make: () => new Oldest(), namesOpen: true });
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
    assertEquals(policy.handles, [...replay.episodes().handle]);
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

Deno.test("where no episode has ended, open ones give way and the policy is not asked", async () => {
  const policy = new Oldest();
  policy.victim = () => {
    throw new Error("nobody asked");
  };
  using replay = await smallReplay({ capacity: 3, eviction: policy });
  const episode = replay.newEpisode();
  for (let step = 0; step < 9; step++) assertStrictEquals(replay.record(episode, [step], 0, 0), 0);
  assertEquals(policy.handles, [0]);
  assertEquals(replay.recordCount, 3);
  assertStrictEquals(replay.episode(episode).firstPosition, 6);
});

Deno.test("a policy that names an open episode lets the open ones give way", async () => {
  const [policy, trimmed] = [new Oldest(), [] as number[][]];
  const mirror: EvictionPolicy = {
    name: "openFirst",
    created: (handle) => policy.created(handle),
    removed: (handle) => policy.removed(handle),
    trimmed: (handle, first) => void trimmed.push([handle, first]),
    victim: () => policy.handles.at(-1) ?? -1,
  };
  using replay = await smallReplay({ capacity: 4, eviction: mirror });
  const [ended, open] = [recordEpisode(replay, 2), replay.newEpisode()];
  for (let step = 0; step < 4; step++) replay.record(open, [step], 0, 0);
  // The youngest is open, so it loses its oldest records; the ended one stays.
  assertEquals(trimmed, [[open, 1], [open, 2]]);
  assertEquals([...replay.episodes().handle], [ended, open]);
  const empty = replay.newEpisode(); // the youngest now, and without a record
  replay.record(open, [4], 0, 0);
  assertEquals(trimmed, [[open, 1], [open, 2], [open, 3]]);
  assertEquals([...replay.episodes().handle], [ended, open, empty]);
});

/** Knows of each episode what it was told: whether it ended, and its first position. */
class Mirror extends Oldest {
  readonly ended_ = new Set<number>();
  readonly firsts = new Map<number, number>();
  ended(handle: number): void {
    assert(this.handles.includes(handle) && !this.ended_.has(handle), `${handle} ended`);
    this.ended_.add(handle);
  }
  trimmed(handle: number, first: number): void {
    assert(this.handles.includes(handle) && !this.ended_.has(handle), `${handle} was trimmed`);
    assert(first > (this.firsts.get(handle) ?? 0), `${handle} was trimmed to ${first}`);
    this.firsts.set(handle, first);
  }
  override removed(handle: number): void {
    super.removed(handle);
    this.ended_.delete(handle);
    this.firsts.delete(handle);
  }
  /** An ended episode, or now and then any. */
  override victim(): number {
    const [ended = -1] = this.ended_;
    assert(ended >= 0, "there is no ended episode");
    return this.drawn.length % 3 === 0 ? this.handles.at(-1) ?? ended : ended;
  }
  view(): [number, boolean, number][] {
    return this.handles.map((handle) => [
      handle,
      this.ended_.has(handle),
      this.firsts.get(handle) ?? 0,
    ]);
  }
}

/** Remembers the priority of the pick at each index, and draws the picks in turn. */
class Tags implements PickSelector {
  readonly name = "tags";
  readonly tags: number[] = [];
  next = 0;
  pushed(): void {
    this.tags.push(-1);
  }
  moved(from: number, to: number): void {
    this.tags[to] = this.tags[from] ?? NaN;
  }
  popped(): void {
    this.tags.pop();
  }
  setPriority(indices: Uint32Array, priorities: Float64Array): void {
    for (const [k, index] of indices.entries()) this.tags[index] = priorities[k] ?? NaN;
  }
  select(count: number, out: Selection): void {
    for (let k = 0; k < count; k++) out.index[k] = this.next++ % this.tags.length;
    out.probability.fill(1 / this.tags.length);
  }
}

Deno.test("a policy and a selector in TypeScript see what the kernel has, after any trims (seed 20261122)", async () => {
  const random = new RandomStream(20261122);
  for (const limits of [{}, { segmentLength: 9 }, { maxAge: 25 }, { capacityBytes: 480 }]) {
    const [policy, tags] = [new Mirror(), new Tags()];
    const eviction: EvictionPolicy = policy;
    using replay = await smallReplay({ capacity: 30, length: 2, eviction, ...limits });
    const selector = replay.newPickSelector(tags);
    const actors = [0, 1, 2, 3].map(() => replay.newEpisode());
    let trims = 0;
    for (let step = 0; step < amount(500, 1500); step++) {
      const k = random.below(4);
      const handle = actors[k] ?? 0;
      const roll = random.below(30);
      if (roll === 0) {
        const ended = replay.endEpisode(handle, { finalState: [step] });
        actors[k] = replay.newEpisode();
        assert(!ended || policy.ended_.has(handle) || !policy.handles.includes(handle));
      } else if (roll === 1) {
        replay.evict(handle);
      } else if (roll === 2) {
        const many = { state: Array.from({ length: 20 }, () => [step]).flat() };
        const zeros = new Array<number>(20).fill(0);
        actors[k] = replay.recordMany(handle, { ...many, action: zeros, reward: zeros });
      } else if (roll < 5 && k < 2) {
        // The other actors go on for ever.
        replay.record(handle, [step], 0, 0, { finalState: [step] });
        actors[k] = replay.newEpisode();
      } else {
        actors[k] = replay.record(handle, [step], 0, 0);
      }
      const expected = [...replay.episodes().handle].map((one) => {
        const { ending, firstPosition } = replay.episode(one);
        return [one, ending !== "open", firstPosition];
      });
      assertEquals(policy.view(), expected, `step ${step}`);
      trims += policy.firsts.size;
      if (replay.pickCount === 0) continue;
      // Each pick has a tag that its episode and its position decide.
      const { pickEpisode, pickPosition } = replay.getBatch(replay.pickCount, selector);
      assertStrictEquals(tags.tags.length, replay.pickCount);
      const tagOf = (at: number): number =>
        1 + 100_000 * (pickEpisode[at] ?? NaN) + (pickPosition[at] ?? NaN);
      const first = (tags.next - replay.pickCount) % replay.pickCount;
      for (let at = 0; at < replay.pickCount; at++) {
        const tag = tags.tags[(first + at) % replay.pickCount];
        if (tag !== -1) assertStrictEquals(tag, tagOf(at), `step ${step}`);
      }
      const all = Float64Array.from(pickEpisode, (_, at) => tagOf(at));
      assertStrictEquals(
        replay.setPriority(selector, pickEpisode, pickPosition, all),
        replay.pickCount,
      );
    }
    assert(trims > 500, `only ${trims} trimmed episodes were seen`);
  }
});

Deno.test("after loading, a policy knows which episodes have ended and which were trimmed", async () => {
  const policy = new Mirror();
  using replay = await smallReplay({ capacity: 10, eviction: policy });
  let open = replay.newEpisode();
  for (let step = 0; step < 15; step++) open = replay.record(open, [step], 0, 0);
  recordEpisode(replay, 2);
  const [loadedPolicy, bytes] = [new Mirror(), await replay.serialize()];
  using loaded = await smallReplay({ capacity: 10, eviction: loadedPolicy });
  recordEpisode(loaded, 3);
  await loaded.unserialize(bytes);
  assertEquals(loadedPolicy.view(), policy.view());
  assert(policy.view().some(([, ended, first]) => !ended && first > 0));
  loaded.record(open, [15], 0, 0);
  replay.record(open, [15], 0, 0);
  assertEquals(loadedPolicy.view(), policy.view());
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
