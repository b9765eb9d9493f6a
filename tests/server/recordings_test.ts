/** Recorded byte streams of the real client, played to our server: it answers as the real server did. */
import { assertEquals } from "@std/assert";
import { scenarios, tables } from "../reverb/_scenarios.ts";
import { comparable, replay } from "../reverb/_streams.ts";
import { asConfig } from "./_as_config.ts";
import { served } from "./_served.ts";

for (const scenario of scenarios) {
  Deno.test(`a recording of Reverb's client is answered as by Reverb's server: ${scenario}`, async () => {
    const recording = JSON.parse(
      await Deno.readTextFile(new URL(`../reverb/streams/${scenario}.json`, import.meta.url)),
    );
    await using site = await served(asConfig(tables), {
      checkpointer: { save: () => Promise.resolve("/checkpoints/1") },
    });
    const [wanted, got] = comparable(
      recording.answers,
      await replay(recording, site.server.port),
    );
    assertEquals(got, wanted);
  });
}
