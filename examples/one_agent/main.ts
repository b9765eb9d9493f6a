/**
 * One agent on three places: a replay, a table of this process, and a table of a server. `agent.ts` is the same for each.
 *
 * Run it in the clone, after `deno task build`. The server needs a port of this machine:
 * `deno run --allow-ffi=zig-out/lib --allow-net=127.0.0.1 examples/one_agent/main.ts --on=server`
 *
 * @module
 */
import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
import { replayReader, replayWriter, tableReader, tableWriter } from "@exrp/replay/learner";
import { ReverbClient } from "@exrp/replay/reverb";
import { serve } from "@exrp/replay/server";
import { Tables } from "@exrp/replay/tables";
import { parseArgs } from "node:util";
import { evaluate, train } from "./agent.ts";

const state = float32(4);
const [capacity, seed, nStep, discount] = [20_000, 1, 3, 0.99];
const sampler = prioritized({ alpha: 0.6 });
const tables = { steps: { sampler, maxSize: capacity } };

/** Trains on a place, and returns what the agent then earns. */
const places: Readonly<Record<string, (steps: number) => Promise<number>>> = {
  replay: async (steps) => {
    using replay = await ExperienceReplay.create({
      ...{ capacity, state, seed },
      pick: { nStep, discount },
    });
    await using reader = replayReader(replay, replay.newPickSelector(sampler));
    await using writer = replayWriter(replay);
    return evaluate(await train(reader, writer, steps, seed));
  },
  table: async (steps) => {
    using place = await Tables.create({ tables, seed });
    await using reader = tableReader(place, "steps", { state });
    await using writer = tableWriter(place, "steps", { state }, { nStep, discount });
    return evaluate(await train(reader, writer, steps, seed));
  },
  server: async (steps) => {
    using served = await Tables.create({ tables, seed });
    await using server = await serve({ tables: served }); // yours runs elsewhere
    await using place = await ReverbClient.connect(server.address);
    await using reader = tableReader(place, "steps", { state });
    await using writer = tableWriter(place, "steps", { state }, { nStep, discount });
    return evaluate(await train(reader, writer, steps, seed));
  },
};

const { values } = parseArgs({
  options: {
    on: { type: "string", default: "replay" },
    steps: { type: "string", default: "12000" },
  },
});
const place = places[values.on];
if (place === undefined) {
  throw new TypeError(`--on is one of ${Object.keys(places).join(", ")}, not "${values.on}"`);
}
const earned = await place(Number(values.steps));
console.log(`10 episodes without exploring earn ${earned} on average, of 500`);
