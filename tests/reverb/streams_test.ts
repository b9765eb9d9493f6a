/**
 * Recorded byte streams of the real client, played to a server. They need no Python. `deno run -A tests/reverb/_record.ts` records them anew.
 */
import { assert, assertEquals, assertNotEquals } from "../_assert.ts";
import { besideReverb, startReal } from "./_real.ts";
import { startOurs } from "./_ours.ts";
import { scenarios, tables } from "./_scenarios.ts";
import { inParallel } from "./_side_by_side.ts";
import { comparable, type Recording, replay } from "./_streams.ts";

async function load(scenario: string): Promise<Recording> {
  return JSON.parse(
    await Deno.readTextFile(new URL(`streams/${scenario}.json`, import.meta.url)),
  );
}

/** What a checkpoint is does not matter here. */
const save = (): Promise<string> => Promise.resolve("/somewhere");

Deno.test("there is a recording of each scenario, and together they are small", async () => {
  let size = 0;
  for (const scenario of scenarios) size += JSON.stringify(await load(scenario)).length;
  assert(size < 300_000, `${size} bytes`);
});

for (const scenario of scenarios) {
  Deno.test(`our server answers as Reverb's did: ${scenario}`, async () => {
    const recording = await load(scenario);
    // Whole pieces as they came, and pieces of a few bytes.
    for (const pieces of [Infinity, 7]) {
      await using server = await startOurs(tables, { checkpointer: { save } });
      const got = await replay(recording, server.port, pieces);
      const [wanted, ours] = comparable(recording.answers, got);
      assertEquals(ours, wanted);
    }
  });
}

besideReverb("the real server answers the recordings as it did when they were made", async () => {
  await inParallel(
    4,
    scenarios.map((scenario) => async (): Promise<void> => {
      const recording = await load(scenario);
      await using server = await startReal(tables);
      const [wanted, got] = comparable(recording.answers, await replay(recording, server.port));
      assertEquals(got, wanted, scenario);
    }),
  );
});

besideReverb("a server with another table is found out by the recordings", async () => {
  const others = tables.map((table) => ({ ...table, sampler: { kind: "lifo" } as const }));
  await using server = await startReal(others);
  const recording = await load("sample");
  const [wanted, got] = comparable(recording.answers, await replay(recording, server.port));
  assertNotEquals(got, wanted);
});
