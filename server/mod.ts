/**
 * A server of tables for the clients of DeepMind's Reverb: the unmodified Python client, and `ReverbClient` of `@exrp/replay/reverb`.
 *
 * The guide `docs/reverb.md` says how to start it, what is the same as with Reverb's own server, and what is better.
 *
 * @example
 * ```ts
 * import { ReverbClient } from "@exrp/replay/reverb";
 * import { serve } from "@exrp/replay/server";
 * import { Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { replay: { maxSize: 1000 } } });
 * await using server = await serve({ tables }); // Python: reverb.Client("localhost:<port>")
 *
 * await using client = await ReverbClient.connect(server.address);
 * await client.insert({ reward: 1 }, { replay: 1 });
 * console.log(tables.table("replay").size); // 1
 * ```
 *
 * @module
 */
export { ReverbServer, serve } from "./serve.ts";
export type { ServeOptions, StopOptions } from "./serve.ts";
export type { ServeLimits } from "./serve_limits.ts";
export type { Checkpointer } from "./service.ts";
export type { CheckpointOptions, LoadedCheckpoint } from "./checkpoints/checkpoints.ts";
export { readConfig } from "./config.ts";
export type { ServerConfig } from "./config.ts";
export type {
  CallFigures,
  CheckpointFigures,
  LastCheckpoint,
  ServerFigures,
  TableFigures,
} from "./figures.ts";
