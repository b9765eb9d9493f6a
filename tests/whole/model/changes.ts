/**
 * What `update` operations change: new values, and the records that a batch shows.
 *
 * @module
 */

import type { AnyPickPolicy } from "@exrp/replay/types";
import type { AnyBatch } from "./library_subject.ts";
import type { ProgramConfig } from "./program_config.ts";
import { stateValues, type Values } from "./values.ts";

/** New values of one or more columns for `count` records, as the library takes them, and by record and column as the model does. */
export function chooseChanges(
  config: ProgramConfig,
  values: Values,
  count: number,
  plain: boolean,
  mayChange: (column: number, every: number) => boolean = () => true,
): { columns: Record<string, unknown>; changes: Map<number, Uint8Array[]> } {
  const extras = Object.entries(config.extras);
  const specs = [config.state, config.action, config.reward, ...extras.map(([, spec]) => spec)];
  const first = values.below(specs.length);
  const changes = new Map<number, Uint8Array[]>();
  const columns: Record<string, unknown> = {};
  const own: Record<string, unknown> = {};
  for (const [k, spec] of specs.entries()) {
    if ((k !== first && values.below(3) > 0) || !mayChange(k, spec.every ?? 1)) continue;
    const { value, bytes } = k === 0
      ? stateValues(config, values, count, plain)
      : values.columns(spec, count, plain);
    changes.set(k, bytes);
    if (k < 3) columns[["state", "action", "reward"][k] ?? ""] = value;
    else own[extras[k - 3]?.[0] ?? ""] = value;
  }
  return { columns: Object.keys(own).length > 0 ? { ...columns, extras: own } : columns, changes };
}

/** The rows of a batch that stand for records, in their order, and these records. */
export function shownRecords(
  batch: AnyBatch,
  { burnIn, before, length, reversed }: AnyPickPolicy,
): { rows: number[]; episodes: number[]; positions: number[] } {
  const shown: { row: number; episode: number; position: number }[] = [];
  for (let k = 0; k < batch.size; k++) {
    const episode = batch.pickEpisode[k] ?? NaN;
    const position = batch.pickPosition[k] ?? NaN;
    const context = Math.min(position, burnIn + before);
    // With `before`, rows before the start of the episode are empty, and seqLen counts them.
    const lead = before > 0 ? before - context : 0;
    const count = (batch.seqLen[k] ?? NaN) - lead;
    for (let at = 0; at < Math.min(count, context + length); at++) {
      const row = k * batch.length + lead + (reversed ? count - 1 - at : at);
      shown.push({ row, episode, position: position - context + at });
    }
  }
  shown.sort((a, b) => a.row - b.row);
  return {
    rows: shown.map(({ row }) => row),
    episodes: shown.map(({ episode }) => episode),
    positions: shown.map(({ position }) => position),
  };
}
