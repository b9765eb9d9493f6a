/**
 * Folders of durable replays for tests, copies of them, and what their replays hold.
 *
 * @module
 */

import { ExperienceReplay } from "@exrp/replay";
import type { AnyReplay } from "../../whole/model/library_subject.ts";

/** Runs `use` with a folder of its own. */
export async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What a crash of the system at this moment would leave: the files of a folder, in another one. */
export async function withCopy(
  folder: string,
  use: (copy: string) => Promise<void>,
): Promise<void> {
  await withFolder(async (copy) => {
    for await (const { name, isFile } of Deno.readDir(folder)) {
      if (isFile) await Deno.copyFile(`${folder}/${name}`, `${copy}/${name}`);
    }
    await use(copy);
  });
}

/** Opens a folder, whose files are small and are flushed only where the test says so. */
export function open(folder: string, options: object = {}): Promise<AnyReplay> {
  const all = { segmentBytes: 2 ** 20, flushIntervalMs: 0, ...options };
  return ExperienceReplay.open(folder, all as never) as unknown as Promise<AnyReplay>;
}

/** All that decides the future of a replay, as one number and a length. */
export async function stateOf(replay: AnyReplay): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", await replay.serialize());
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16)).join("");
}

/** The episodes of a replay, by handle: a sum of each record's columns, and how the episode ended. */
export function episodesOf(replay: AnyReplay): Map<number, readonly string[]> {
  const { handle } = replay.episodes();
  return new Map(Array.from(handle, (each) => {
    const { size, reward, state, action, extras, ending, finalState } = replay.episodeRecords(each);
    const { tag } = replay.episode(each);
    const columns = [reward, state, action, ...Object.values(extras)] as ArrayLike<number>[];
    const records = Array.from({ length: size }, (_, k) => {
      let sum = 0;
      for (const column of columns) {
        const width = column.length / size;
        for (let at = k * width; at < (k + 1) * width; at++) {
          sum = (Math.imul(sum, 31) + (column[at] ?? 0)) | 0;
        }
      }
      return `${sum}`;
    });
    const last = Array.from((finalState ?? []) as ArrayLike<number>).join();
    return [each, [...records, `${last} ${ending} ${tag}`]];
  }));
}

/** The segments of a folder's log, by name. */
export async function segmentsOf(folder: string): Promise<string[]> {
  const names = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
  return names.filter((name) => name.startsWith("log-")).sort();
}
