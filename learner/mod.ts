/**
 * What a learner and an actor hold, wherever the experience is: a reader that draws transitions, and a writer that takes steps. An agent
 * that is written against them runs on a replay, on a replay that threads share, on a table, and on a table of a server.
 *
 * | where the experience is | reader | writer |
 * |---|---|---|
 * | an `ExperienceReplay`, by `create` or `attach` | {@linkcode replayReader} | {@linkcode replayWriter} |
 * | a table of `Tables`, or of a server by a `ReverbClient` | {@linkcode tableReader} | {@linkcode tableWriter} |
 *
 * The guide `docs/learner.md` says what differs between them.
 *
 * @example One learner, two places
 * ```ts
 * import { type Column, ExperienceReplay, float32, uniform } from "@exrp/replay";
 * import { replayReader, replayWriter, tableReader, tableWriter } from "@exrp/replay/learner";
 * import type { ReplayReader, ReplayWriter } from "@exrp/replay/learner";
 * import { Tables } from "@exrp/replay/tables";
 *
 * type Walk = { state: Column<"float32", []> };
 *
 * async function run(reader: ReplayReader<Walk>, writer: ReplayWriter<Walk>): Promise<string> {
 *   await writer.append({ state: 1, action: 0, reward: 2, nextState: 3, terminated: false });
 *   await writer.append({ state: 3, action: 0, reward: 4, nextState: 5, terminated: true });
 *   await writer.flush();
 *   const { state, nextState } = await reader.getBatch(1);
 *   return `${(nextState[0] ?? 0) - (state[0] ?? 0)}`;
 * }
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
 * console.log(await run(replayReader(replay, replay.newPickSelector(uniform())), replayWriter(replay))); // 2
 *
 * using tables = await Tables.create({ tables: { walk: { maxSize: 100 } } });
 * const columns = { state: float32() };
 * console.log(await run(tableReader(tables, "walk", columns), tableWriter(tables, "walk", columns))); // 2
 * ```
 *
 * @module
 */

export { replayReader } from "./replay_reader.ts";
export { replayWriter, type ReplayWriterOptions } from "./replay_writer.ts";
export { tableReader } from "./table_reader.ts";
export { tableWriter, type TableWriterOptions } from "./table_writer.ts";
export type {
  ReaderBatchesOptions,
  ReaderGetBatchOptions,
  ReaderStats,
  ReplayReader,
  ReplayWriter,
  TransitionBatch,
  TransitionColumns,
  TransitionsOf,
  TransitionStateShape,
  WriterStep,
} from "./types.ts";
