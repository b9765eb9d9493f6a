/**
 * `exrp verify`: reads everything, and changes nothing.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { count, group } from "../../base/inspect.ts";
import { ReplayError } from "../../base/errors.ts";
import { openKernel } from "../../ffi/library.ts";
import { filesOf, isThere, kindOf, openData } from "../_files.ts";
import { checkLog } from "./_check_log.ts";
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
    using _ = await lock(path);
    report = await checkLog(kernel, path, onBytes);
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

/** Keeps replays out of a folder while it is read. A folder that one has open changes all the time. */
async function lock(folder: string): Promise<Disposable> {
  const { files } = filesOf();
  const path = files.path.join(folder, "lock.exrp");
  if (!await isThere(files.path.join(folder, "replay.json")) && !await isThere(path)) {
    throw new Error(`${show(folder)} is no folder of a durable replay`);
  }
  if (!files.hasLocks || !await isThere(path)) return { [Symbol.dispose]: () => {} };
  const file = files.open(path, "r+");
  if (file.tryLock()) return file;
  file[Symbol.dispose]();
  throw new ReplayError("log-taken", `another program has ${show(folder)} open; close it first`);
}
