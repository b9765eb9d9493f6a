/** Checkpoints that the real server writes: all that was in it is in our tables, and goes on as in the real server. */
import { assert, assertEquals } from "../_assert.ts";
import { serve } from "../../server/mod.ts";
import { readReverbCheckpoint } from "../../tables/mod.ts";
import {
  drain,
  drainReal,
  filesOf,
  readRecorded,
  tables,
  withCheckpoint,
  writeReal,
} from "./_checkpoints.ts";
import { oldCheckpoint } from "./_old_checkpoint.ts";
import { besideReverb } from "./_real.ts";

/** Tables that give each item a few times only. */
const isLimited = new Set(
  tables.filter(({ max_times_sampled: max = 0 }) => max > 0).map(({ name }) => name),
);

besideReverb("a checkpoint of the real server moves over, as the real client sees it", async () => {
  const folder = await Deno.makeTempDir({ prefix: "exrp_checkpoint_" });
  try {
    // A server that has loaded a checkpoint no longer uses the tables of its own process, which alone can be asked. So the one that wrote it is.
    await writeReal(folder, async (real) => {
      using loaded = await readReverbCheckpoint(folder);
      for (const name of loaded.names) {
        const table = loaded.table(name);
        for (const count of [1, 2, 3, 7, 8, 30, 31]) {
          const what = `${name}, ${count}`;
          assertEquals(table.canInsert(count), await real.canInsert(name, count), what);
          const theirs = await real.canSample(name, count);
          // Reverb asks the rate limiter alone. Ours also asks whether the items suffice, where each is given a few times only.
          const ours = table.canSample(count);
          if (isLimited.has(name) && count > 1) assert(theirs || !ours, what);
          else assertEquals(ours, theirs, what);
        }
      }
    });
    using loaded = await readReverbCheckpoint(folder);
    await using server = await serve({ tables: loaded });
    const [ours, theirs] = [await drain(server.port), await drainReal(folder)];
    assertEquals(ours.infos, theirs.infos);
    assertEquals(ours.items, theirs.items);
    const counts = Object.values(theirs.items).map(({ length }) => length);
    assertEquals(counts, [0, 5, 3, 2, 5, 3, 4, 3, 4]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

besideReverb("an old checkpoint, with items in the tables, moves over as well", async () => {
  const { files, changed } = oldCheckpoint(filesOf(await readRecorded()));
  assert(changed > 10, `${changed}`);
  await withCheckpoint({}, async (root) => {
    const folder = `${root}/2020-06-01T00:00:00+00:00`;
    await Deno.mkdir(folder);
    for (const [name, bytes] of Object.entries(files)) {
      await Deno.writeFile(`${folder}/${name}`, bytes);
    }
    using loaded = await readReverbCheckpoint(root);
    await using server = await serve({ tables: loaded });
    const ours = await drain(server.port);
    const theirs = await drainReal(root);
    assertEquals(ours, theirs);
  });
});
