/**
 * append(): the ended episodes of another replay come whole, from a file or a folder, and nothing comes from what does not fit or is damaged.
 *
 * @module
 */

import { assertEquals, assertMatch } from "../../_assert.ts";
import { amount } from "../../_amount.ts";
import {
  every,
  ExperienceReplay,
  float16,
  float32,
  float64,
  int16,
  prioritized,
  queue,
  uint8,
} from "@exrp/replay";
import { assertReplayRejects, testRandom } from "../_helpers.ts";
import type { AnyReplay } from "../../whole/model/library_subject.ts";
import { withFolder } from "../durable/_folders.ts";

const SEED = Number(Deno.env.get("EXRP_SEED") ?? 2614);
const TURNS = Number(Deno.env.get("EXRP_APPENDS") ?? amount(3, 6));

type Random = (bound: number) => number;

/** Columns of many kinds. */
function randomColumns(random: Random): object {
  const states = [
    float32(3),
    uint8(300),
    { image: uint8(20, 5), speed: [float64(2), float32()] },
  ];
  return {
    state: states[random(3)],
    action: random(2) === 0 ? int16() : float32(2),
    ...(random(2) === 0 ? { reward: float64() } : {}),
    extras: {
      ...(random(2) === 0 ? { goal: every(1 + random(6) + 1, float32(2)) } : {}),
      ...(random(2) === 0 ? { half: float16(3) } : {}),
      ...(random(2) === 0 ? { logProb: float32() } : {}),
    },
  };
}

/** Episodes of random lengths, tags and ends, some of which are open, and some trimmed. */
function fill(replay: AnyReplay, random: Random): void {
  for (let k = 6 + random(6); k > 0; k--) {
    let episode = replay.newEpisode({ tag: random(5) - 2 });
    const lasts = random(4) > 0;
    for (let t = random(90) + 1; t > 0; t--) {
      const value = (shape: number): number[] => Array.from({ length: shape }, () => random(200));
      const { state, action, reward, extras = {} } = replay.columns as unknown as Shapes;
      const [a, r] = [valueOf(action, value), valueOf(reward, value)];
      const named = Object.fromEntries(
        Object.entries(extras).map(([name, column]) => [name, valueOf(column, value)]),
      );
      const end = t === 1 && lasts
        ? { finalState: treeOf(state, value), truncated: random(2) === 0 }
        : {};
      const rest = { ...end, ...(Object.keys(named).length > 0 ? { extras: named } : {}) };
      episode = replay.record(
        episode,
        treeOf(state, value) as never,
        a as never,
        r as never,
        rest as never,
      );
    }
  }
}

interface Shape {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly elementCount: number;
}
interface Shapes {
  readonly state: unknown;
  readonly action: Shape;
  readonly reward: Shape;
  readonly extras?: Readonly<Record<string, Shape>>;
}

function valueOf({ shape, elementCount }: Shape, value: (count: number) => number[]): unknown {
  const numbers = value(elementCount);
  return shape.length === 0 ? numbers[0] : numbers;
}

function treeOf(state: unknown, value: (count: number) => number[]): unknown {
  if (typeof state === "object" && state !== null && "dtype" in state) {
    return valueOf(state as never, value);
  }
  if (Array.isArray(state)) return state.map((each) => treeOf(each, value));
  const entries = Object.entries(state as object).map((
    [name, each],
  ) => [name, treeOf(each, value)]);
  return Object.fromEntries(entries);
}

/** All that episodes have, but for their handles, in order. */
function endedOf(replay: AnyReplay): unknown[] {
  return [...replay.episodes().handle].flatMap((each) => {
    const { ending, state, action, reward, extras, finalState, size } = replay.episodeRecords(each);
    const { tag } = replay.episode(each);
    return ending === "open"
      ? []
      : [{ ending, tag, size, state, action, reward, extras, finalState }];
  });
}

Deno.test(`episodes of random replays, from a file and from a folder (seed ${SEED})`, () =>
  withFolder(async (folder) => {
    for (let turn = 0; turn < TURNS; turn++) {
      const random = testRandom(SEED + turn);
      const words = `seed ${SEED + turn}`;
      const options = { ...randomColumns(random), capacity: 150 + random(400) };
      const source = await ExperienceReplay.create(options as never) as unknown as AnyReplay;
      fill(source, random);
      const file = `${folder}/${turn}.exrp`;
      await source.serialize(file);
      const expected = endedOf(source);
      const openCount = source.episodeCount - expected.length;
      const recordCount = expected.reduce<number>(
        (sum, each) => sum + (each as { size: number }).size,
        0,
      );
      const large = { ...options, capacity: 5000 } as never;
      using target = await ExperienceReplay.create(large) as unknown as AnyReplay;
      fill(target, random);
      const before = endedOf(target);
      const came = { episodeCount: expected.length, recordCount, openCount };
      assertEquals(await target.append(file), came, words);
      assertEquals(endedOf(target), [...before, ...expected], words);
      source[Symbol.dispose]();
      // Into a durable replay, and out of its folder.
      const [one, two] = [`${folder}/${turn}-one`, `${folder}/${turn}-two`];
      const first = await ExperienceReplay.open(one, large) as unknown as AnyReplay;
      first.newPickSelector(prioritized());
      assertEquals(await first.append(file), came, words);
      first[Symbol.dispose]();
      using second = await ExperienceReplay.open(two, large) as unknown as AnyReplay;
      assertEquals(await second.append(one), { ...came, openCount: 0 }, words);
      await second.flush();
      assertEquals(endedOf(second), expected, words);
      using again = await ExperienceReplay.open(one) as unknown as AnyReplay;
      assertEquals(endedOf(again), expected, words);
    }
  }));

Deno.test("what does not fit is refused before anything was taken", () =>
  withFolder(async (folder) => {
    const file = `${folder}/a.exrp`;
    const options = { capacity: 100, state: float32(2), extras: { goal: float32(1) } };
    using source = await ExperienceReplay.create(options);
    const steps = {
      state: new Float32Array(60),
      action: new Int32Array(30),
      reward: new Float32Array(30),
      extras: { goal: new Float32Array(30) },
      finalState: [0, 0],
    };
    source.recordMany(source.newEpisode(), steps);
    await source.serialize(file);
    const refused = async (other: object, code: string, text: RegExp): Promise<void> => {
      using target = await ExperienceReplay.create({ ...options, ...other } as never);
      const error = await assertReplayRejects(target.append(file), code as never);
      assertMatch(error.message, text);
      assertEquals(target.describe().recordedCount, 0);
    };
    await refused(
      { state: float32(3) },
      "snapshot-mismatch",
      /^append\(\): state is float32\(2\) in .*, and float32\(3\)/,
    );
    await refused(
      { extras: {} },
      "snapshot-mismatch",
      /extras\.goal is float32\(1\) in .*, and not there in this replay/,
    );
    await refused(
      { capacity: 20 },
      "capacity",
      /an episode of 30 records, and this replay holds 20/,
    );
    await refused({ maxAge: 25 }, "capacity", /holds 25/);
    // A flipped bit anywhere.
    const bytes = await Deno.readFile(file);
    for (let at = 0; at < bytes.length; at += 97) {
      const damaged = bytes.slice();
      damaged[at] = (damaged[at] ?? 0) ^ 8;
      await Deno.writeFile(file, damaged);
      using target = await ExperienceReplay.create(options);
      const error = await target.append(file).catch((error) => error);
      assertMatch(error.code, /^snapshot-/);
      assertMatch(error.message, /^append\(\): /);
      assertEquals(target.describe().recordedCount, 0);
    }
    await Deno.writeFile(file, bytes);
    using target = await ExperienceReplay.create(options);
    await assertReplayRejects(target.append(`${folder}/nothing`), "file");
    // Others record meanwhile.
    const appending = target.append(file);
    target.recordMany(target.newEpisode(), steps);
    assertEquals((await appending).recordCount, 30);
    assertEquals(target.recordCount, 60);
    const late = target.append(file);
    target[Symbol.dispose]();
    await assertReplayRejects(late, "disposed");
  }));

Deno.test("a rate limiter that holds records back ends it between two calls", () =>
  withFolder(async (folder) => {
    const file = `${folder}/a.exrp`;
    const options = { capacity: 100, state: float32(1) };
    using source = await ExperienceReplay.create(options);
    for (let k = 0; k < 5; k++) {
      const steps = {
        state: new Float32Array(10),
        action: new Int32Array(10),
        reward: new Float32Array(10),
        finalState: [0],
      };
      source.recordMany(source.newEpisode(), steps);
    }
    await source.serialize(file);
    using target = await ExperienceReplay.create({ ...options, rateLimiter: queue(25) });
    await assertReplayRejects(target.append(file), "rate-limiter");
    assertEquals(endedOf(target as never).length, 2);
  }));

Deno.test("regression: of an episode in a file that is held back halfway, nothing stays", () =>
  withFolder(async (folder) => {
    const file = `${folder}/a.exrp`;
    const options = { capacity: 1000, state: float32(1024) };
    using source = await ExperienceReplay.create(options);
    const steps = {
      state: new Float32Array(700 * 1024),
      action: new Int32Array(700),
      reward: new Float32Array(700),
      finalState: new Float32Array(1024),
    };
    source.recordMany(source.newEpisode(), steps);
    await source.serialize(file);
    // A frame of the file has at most 1 MiB: some 250 records.
    using target = await ExperienceReplay.create({ ...options, rateLimiter: queue(400) });
    await assertReplayRejects(target.append(file), "rate-limiter");
    assertEquals([target.recordCount, target.episodeCount], [0, 0]);
  }));

for (const kind of ["file", "folder"]) {
  Deno.test(`regression: what is loaded while a ${kind} is appended loses no episode`, () =>
    withFolder(async (folder) => {
      const path = `${folder}/a`;
      const options = { capacity: 1000, state: float32(1024) };
      const stepsOf = (count: number) => ({
        state: new Float32Array(count * 1024),
        action: new Int32Array(count),
        reward: new Float32Array(count),
        finalState: new Float32Array(1024),
      });
      {
        await using source = kind === "file"
          ? await ExperienceReplay.create(options)
          : await ExperienceReplay.open(path, options);
        source.recordMany(source.newEpisode(), stepsOf(700));
        if (kind === "file") await source.serialize(path);
      }
      using other = await ExperienceReplay.create(options);
      for (let k = 0; k < 2; k++) other.recordMany(other.newEpisode(), stepsOf(5));
      const bytes = await other.serialize();
      using target = await ExperienceReplay.create(options);
      const record = target.recordMany.bind(target);
      let loading: Promise<void> | undefined;
      target.recordMany = (...given) => {
        const episode = record(...given);
        // Its episodes have the handle that the appended one has.
        loading ??= target.unserialize(bytes);
        return episode;
      };
      await assertReplayRejects(target.append(path), "episode-ended");
      await loading;
      assertEquals([target.recordCount, target.episodeCount], [10, 2]);
    }));
}
