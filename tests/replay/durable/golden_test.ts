/**
 * Files of version 1, which are never edited again: folders of durable replays and tables, and snapshots. Whatever the library becomes, it reads them, and their
 * future is the one that they had. Files that fail here need a reader, and not other files.
 *
 * @module
 */
import { assertEquals } from "../../_assert.ts";
import { every, ExperienceReplay, float32, lru, prioritized, uint8, uniform } from "@exrp/replay";
import { Tables } from "@exrp/replay/tables";
import { fromBase64 } from "../../../base/bytes.ts";
import { withFolder } from "./_folders.ts";

const OPTIONS = {
  capacity: 120,
  state: { image: uint8(12, 12), speed: float32() },
  extras: { goal: every(4, float32(2)) },
  eviction: lru(),
} as const;

/** Writes the golden files of this name: a folder, and a snapshot beside it. */
async function writeGolden(name: string, to: string): Promise<void> {
  const text = await Deno.readTextFile(new URL(`golden/${name}.json`, import.meta.url));
  await Deno.mkdir(`${to}/${name}`);
  for (const [path, base64] of Object.entries<string>(JSON.parse(text))) {
    await Deno.writeFile(`${to}/${path}`, fromBase64(base64));
  }
}

/** A replay with the rows that golden ones have: each number follows from that of the reward. */
function checkRows(replay: ExperienceReplay): void {
  const { handle, tag } = replay.episodes();
  for (const [k, each] of handle.entries()) {
    const { state, action, reward, extras } = replay.episodeRecords(each);
    const { image, speed } = state as unknown as Record<"image" | "speed", ArrayLike<number>>;
    const episode = (extras as unknown as { goal: ArrayLike<number> }).goal[0] ?? NaN;
    assertEquals(tag[k], episode % 3);
    for (const [t, n] of [...reward].entries()) {
      assertEquals([action[t], speed[t]], [n % 4, n / 8]);
      const row = Array.from(
        { length: 144 },
        (_, i) => (i * (episode + 1) + (i === t ? 9 : 0)) & 255,
      );
      assertEquals(Array.from({ length: 144 }, (_, i) => image[144 * t + i]), row);
    }
  }
}

/** What the replay draws next. */
function futureOf(replay: ExperienceReplay): readonly number[][] {
  return replay.selectors.flatMap((selector) =>
    [0, 1].map(() => [...replay.getBatch(12, selector).reward])
  );
}

for (const name of ["plain", "packed"]) {
  Deno.test(`a durable folder and a snapshot of version 1 are read, and go on as they would have: ${name}`, () =>
    withFolder(async (folder) => {
      await writeGolden(name, folder);
      const { isWhole, damages } = await ExperienceReplay.verify(`${folder}/${name}`);
      assertEquals([isWhole, damages], [true, []]);
      const snapshot = `${folder}/${name}.exrp`;
      assertEquals((await ExperienceReplay.verify(snapshot)).damages, []);

      using opened = await ExperienceReplay.open(`${folder}/${name}`);
      using made = await ExperienceReplay.create({
        ...OPTIONS,
        ...name === "packed" ? { compression: "small" } : {},
      });
      for (const rule of [prioritized(), uniform()]) made.newPickSelector(rule);
      await made.unserialize(snapshot);
      const loaded = made as unknown as ExperienceReplay;
      for (const replay of [opened, loaded]) {
        assertEquals([replay.recordCount, replay.episodeCount], [FACTS.records, FACTS.episodes]);
        checkRows(replay);
      }
      assertEquals(await opened.serialize(), await loaded.serialize());
      for (const replay of [opened, loaded]) assertEquals(futureOf(replay), FACTS.future);
    }));
}

Deno.test("a folder of tables and a snapshot of them of version 1 are read, and go on as they would have", () =>
  withFolder(async (folder) => {
    await writeGolden("tables", folder);
    const { damages } = await ExperienceReplay.verify(`${folder}/tables`);
    assertEquals(damages, []);
    using opened = await Tables.open(`${folder}/tables`);
    using loaded = await Tables.create({
      tables: { steps: { sampler: prioritized(), maxSize: 40 } },
    });
    await loaded.unserialize(`${folder}/tables.exrp`);
    for (const tables of [opened, loaded]) {
      const steps = tables.table<{ state: Float32Array; id: number }>("steps");
      assertEquals(steps.size, 40);
      const { data } = await steps.getBatch(12);
      assertEquals([...data.id.data], FACTS.ids);
      assertEquals([...data.state.data], FACTS.ids.flatMap((id) => [id, -id]));
    }
  }));

/** What these files have, and what is drawn next. */
const FACTS = {
  records: 117,
  episodes: 19,
  future: [
    [10, 165, 133, 38, 152, 143, 64, 76, 79, 93, 162, 172],
    [8, 165, 129, 33, 151, 126, 144, 73, 85, 95, 162, 134],
    [167, 41, 172, 95, 125, 154, 35, 7, 132, 92, 81, 65],
    [136, 169, 86, 121, 149, 38, 132, 165, 76, 80, 167, 66],
  ],
  ids: [82, 84, 90, 53, 55, 58, 62, 64, 69, 71, 76, 79],
};
