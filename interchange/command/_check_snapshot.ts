/**
 * Checks a snapshot of a replay or of tables, frame by frame, as `docs/internals/snapshot_format.md` describes its bytes.
 *
 * @module
 */

import { bytesText, count } from "../../base/inspect.ts";
import type { Kernel } from "../../ffi/library.ts";
import type { DataFile } from "../_files.ts";
import { type Report, viewOf, Window } from "./_window.ts";

const HEADER_BYTES = 16;
const FRAME_HEAD_BYTES = 20;

/** The first 8 bytes of a snapshot, and what it is of. */
export const SNAPSHOTS: Readonly<Record<string, string>> = {
  EXRPSNAP: "a replay",
  EXRPTABL: "tables",
};

/** The first 8 bytes of a file. */
export async function magicOf(file: DataFile): Promise<string> {
  return String.fromCharCode(...await file.read(0, 8));
}

/** Reads a whole snapshot. `progress` hears how many bytes were read. */
export async function checkSnapshot(
  kernel: Kernel,
  file: DataFile,
  progress: (bytes: number, of: number) => void,
): Promise<Report> {
  const window = new Window(kernel, file);
  const damage: string[] = [];
  const report = (frames: number): Report => ({
    damage,
    remarks: [],
    read: `${count(frames, "section")}, ${bytesText(file.size)}`,
  });
  const fail = (frames: number, words: string): Report => {
    damage.push(words);
    return report(frames);
  };
  const header = await window.read(0, HEADER_BYTES);
  if (header.length < HEADER_BYTES) return fail(0, "it ends in its header");
  if (viewOf(header).getUint32(12, true) !== window.sum(header.subarray(0, 12))) {
    return fail(0, "byte 0: the header");
  }
  let at = HEADER_BYTES;
  for (let frames = 0;; frames++) {
    const head = (await window.read(at, FRAME_HEAD_BYTES)).slice();
    if (head.length === 0) return fail(frames, `it ends at byte ${at}, before its last section`);
    if (head.length < FRAME_HEAD_BYTES) {
      return fail(frames, `byte ${at}: it ends in a section's head`);
    }
    const view = viewOf(head);
    // Without a head nobody knows where the next one is.
    if (view.getUint32(16, true) !== window.sum(head.subarray(0, 16))) {
      return fail(frames, `byte ${at}: a section's head, so nothing behind it was read`);
    }
    const name = `${String.fromCharCode(...head.subarray(0, 4)).trim()} ${view.getUint32(4, true)}`;
    const bytes = Number(view.getBigUint64(8, true));
    const sum = await window.sumOf(at + FRAME_HEAD_BYTES, bytes, window.sum(head));
    const end = at + FRAME_HEAD_BYTES + bytes;
    const tail = await window.read(end, 4);
    if (sum === undefined || tail.length < 4) {
      return fail(frames, `byte ${at}: the file ends in section ${name}`);
    }
    if (viewOf(tail).getUint32(0, true) !== sum) damage.push(`byte ${at}: section ${name}`);
    else if (name.startsWith("END")) {
      const last = viewOf(await window.read(at + FRAME_HEAD_BYTES, bytes));
      if (last.getUint32(0, true) !== frames) {
        damage.push(`its end counts ${last.getUint32(0, true)} sections, and there are ${frames}`);
      }
      if (end + 4 < file.size) damage.push(`byte ${end + 4}: it goes on after its end`);
      return report(frames + 1);
    }
    at = end + 4;
    progress(at, file.size);
  }
}
