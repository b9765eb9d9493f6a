/**
 * The command is killed while it imports: a new folder is whole or not there, and a replay that was there has whole episodes. `EXRP_KILLS=1000` kills more
 * often, and `EXRP_SEED` repeats a run's choices, though not the moments of the system.
 *
 * @module
 */

import { assert, assertEquals } from "../_assert.ts";
import { ExperienceReplay } from "@exrp/replay";
import { exportEpisodes } from "@exrp/replay/interchange";
import { isThere, namesIn } from "../../interchange/_files.ts";
import { native } from "../_native.ts";
import { testRandom } from "../replay/_helpers.ts";
import { contentsOf, plainReplay, withFolder } from "./_episodes.ts";

const KILLS = Number(Deno.env.get("EXRP_KILLS") ?? 8);
const SEED = Number(Deno.env.get("EXRP_SEED") ?? 261128);
const program = new URL("../../interchange/exrp.ts", import.meta.url).href;

/** Begins an import, and kills it after some time; returns how long it lasted. */
async function importAndKill(file: string, folder: string, milliseconds: number): Promise<number> {
  const start = performance.now();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--quiet", program, "import", "d4rl", file, folder],
    ...{ stdout: "null", stderr: "null" },
  }).spawn();
  const killed = setTimeout(() => {
    try {
      child.kill("SIGKILL");
    } catch (error) {
      // It ended by itself a moment ago, and nobody has told us yet.
      if (!(error instanceof TypeError)) throw error;
    }
  }, milliseconds);
  await child.status;
  clearTimeout(killed);
  const elapsed = performance.now() - start;
  return elapsed;
}

native.test(`an import that is killed leaves whole episodes only (seed ${SEED})`, () =>
  withFolder(async (folder) => {
    const random = testRandom(SEED);
    using replay = await plainReplay(SEED, 400);
    const [file, pool] = [`${folder}/a.hdf5`, `${folder}/pool`];
    await exportEpisodes(replay, "d4rl", file);
    const all = contentsOf(replay);
    const whole = new Set(all.map((each) => JSON.stringify(each)));

    // One that nobody kills tells how long the others may last.
    const lasting = Math.ceil(await importAndKill(file, `${folder}/whole`, 120_000));
    await Deno.remove(`${folder}/whole`, { recursive: true });
    // The first half of that is Deno's own beginning.
    const moment = (): number => lasting / 2 + random(lasting / 2);
    let partCount = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      await importAndKill(file, pool, moment());
      if (await isThere(pool)) {
        using made = await ExperienceReplay.open(pool);
        assertEquals(contentsOf(made), all);
      }
      for (const name of await namesIn(folder)) {
        if (name === "a.hdf5") continue;
        if (name !== "pool") partCount++;
        assert(name === "pool" || /^pool\.exrp-[0-9a-z]{7}\.part$/.test(name), name);
        await Deno.remove(`${folder}/${name}`, { recursive: true });
      }
    }

    {
      using made = await ExperienceReplay.open(pool, {
        ...{ capacity: 1_000_000, state: replay.columns.state, action: replay.columns.action },
        extras: replay.columns.extras,
      });
      assertEquals(made.episodeCount, 0);
    }
    let ended = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      await importAndKill(file, pool, moment());
      using made = await ExperienceReplay.open(pool);
      const { size } = made.episodes({ ended: true });
      assert(size >= ended, `${size} episodes, and there were ${ended}`);
      ended = size;
      const open = made.episodes({ ended: false }).handle;
      assert(open.length <= 1, `${open.length} open episodes`);
      for (const handle of open) made.evict(handle);
      for (const each of contentsOf(made as ExperienceReplay)) {
        assert(whole.has(JSON.stringify(each)), JSON.stringify(each));
      }
    }
    console.log(
      `${partCount} of ${KILLS} new folders were cut off; ${ended} of ${
        KILLS * all.length
      } episodes were added`,
    );
  }));
