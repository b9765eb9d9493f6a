/**
 * `exrp verify`: reads everything, and changes nothing.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { bytesText, count, group } from "../../base/inspect.ts";
import { ExperienceReplay } from "../../mod.ts";
import { isThere } from "../_files.ts";

/** What each cost of a damage means. */
const COSTS = {
  nothing: "it costs nothing",
  episodes: "it costs episodes or items, at most",
  all: "without it, nothing can be opened",
} as const;

/**
 * Checks a durable folder or a snapshot, of a replay or of tables; prints what is damaged, and returns whether nothing is. Another program may have the folder
 * open.
 */
export async function verify(path: string, print: (line: string) => void): Promise<boolean> {
  if (!await isThere(path)) throw new Error(`there is nothing at ${show(path)}`);
  const { damages, damageCount, cutBytes, bytes } = await ExperienceReplay.verify(path);
  for (const { file, byte, bytes, cost, reason } of damages) {
    const size = bytes === 0 ? "" : `, ${bytesText(bytes)}`;
    print(`${path}: damaged: ${file}, byte ${byte}${size}: ${reason}; ${COSTS[cost]}`);
  }
  const more = damageCount - damages.length;
  if (more > 0) print(`${path}: damaged: and ${count(more, "place")} more`);
  if (cutBytes > 0) {
    print(
      `${path}: the last ${
        group(cutBytes)
      } bytes were never flushed as a whole; open cuts them off`,
    );
  }
  const end = damageCount === 0
    ? "nothing is damaged"
    : `${count(damageCount, "place")} ${damageCount === 1 ? "is" : "are"} damaged`;
  print(`${path}: ${bytesText(bytes)}: ${end}`);
  return damageCount === 0;
}
