/**
 * `exrp verify`: reads everything, and changes nothing.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { bytesText, count, group } from "../../base/inspect.ts";
import { openKernel } from "../../ffi/library.ts";
import { ExperienceReplay } from "../../mod.ts";
import { kindOf, openData } from "../_files.ts";
import { checkSnapshot, magicOf, SNAPSHOTS } from "./_check_snapshot.ts";
import type { Report } from "./_window.ts";
import type { Watching } from "./move.ts";

/** Checks a folder or a file; prints what is damaged, and returns whether nothing is. */
export async function verify(path: string, { print, progress }: Watching): Promise<boolean> {
  const kind = await kindOf(path);
  if (kind === undefined) throw new Error(`there is nothing at ${show(path)}`);
  const kernel = await openKernel();
  let last = 0;
  const onBytes = (bytes: number, of: number): void => {
    if (Date.now() - last < 100) return;
    last = Date.now();
    progress(`${path}: ${group(bytes)} of ${group(of)} bytes`);
  };
  let report: Report;
  if (kind === "folder") {
    report = await checkFolder(path);
  } else {
    const file = await openData("verify", path);
    try {
      if (SNAPSHOTS[await magicOf(file)] === undefined) {
        throw new Error(`${show(path)} is no snapshot, and no folder of a durable replay`);
      }
      report = await checkSnapshot(kernel, file, onBytes);
    } finally {
      await file.close();
    }
  }
  const { damage, remarks, read } = report;
  for (const line of damage) print(`${path}: damaged: ${line}`);
  for (const line of remarks) print(`${path}: ${line}`);
  const end = damage.length === 0
    ? "nothing is damaged"
    : `${count(damage.length, "place")} ${damage.length === 1 ? "is" : "are"} damaged`;
  print(`${path}: ${read}: ${end}`);
  return damage.length === 0;
}

/** What each cost of a damage means. */
const COSTS = {
  nothing: "it costs nothing",
  episodes: "it costs episodes or items, at most",
  all: "without it, the folder can't be opened",
} as const;

/** Checks a durable folder, of a replay or of tables. Another program may have it open. */
async function checkFolder(path: string): Promise<Report> {
  const { damages, damageCount, cutBytes, bytes } = await ExperienceReplay.verify(path);
  const damage = damages.map(({ file, byte, bytes, cost, reason }) => {
    const size = bytes === 0 ? "" : `, ${bytesText(bytes)}`;
    return `${file}, byte ${byte}${size}: ${reason}; ${COSTS[cost]}`;
  });
  const more = damageCount - damage.length;
  if (more > 0) damage.push(`and ${count(more, "place")} more`);
  const remarks = cutBytes === 0
    ? []
    : [`the last ${group(cutBytes)} bytes were never flushed as a whole; open cuts them off`];
  return { damage, remarks, read: `${bytesText(bytes)} of the log` };
}
