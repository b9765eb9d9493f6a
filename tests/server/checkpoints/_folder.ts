/** What tests of checkpoints need: folders with files of others in them, and what is in a checkpoint. */
import { assertEquals } from "../../_assert.ts";

/** Calls `use` with an empty folder, and removes it. */
export async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The names of all that is in a folder. */
export async function namesIn(folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
}

/** The paths of the checkpoints in a folder, the newest first. Their numbers have 9 digits. */
export async function checkpointsIn(folder: string): Promise<string[]> {
  return (await namesIn(folder))
    .filter((name) => /^checkpoint-\d{9}-\d{8}T\d{6}Z\.exrp$/.test(name)).reverse()
    .map((name) => `${folder}/${name}`);
}

/** What the tables hold, as a checkpoint says it: all but the schema, which has the number of the checkpoint. */
export async function contentOf(path: string): Promise<Uint8Array> {
  const bytes = await Deno.readFile(path);
  const schemaBytes = Number(new DataView(bytes.buffer).getBigUint64(24, true));
  // The last frame counts the bytes of the whole.
  return bytes.subarray(16 + 24 + schemaBytes, bytes.length - 40);
}

/** Puts files of others into a folder, with names near those of checkpoints. Returns a check that they are as they were. */
export async function addForeign(
  folder: string,
  checkpoint?: Uint8Array,
): Promise<() => Promise<void>> {
  const text = new TextEncoder().encode("This file is nobody's but mine.\n");
  const files: Record<string, Uint8Array> = {
    "notes.txt": text,
    "checkpoint-000000000-20260101T000000Z.exrp": text,
    "checkpoint-000000000-20260101T000001Z.exrp": new Uint8Array(),
    "checkpoint-000000000-20260101T000000Z.exrp.exrp-0000000.tmp": text,
    "checkpoint-000000000-20260101T000000Z.exrp.exrp-000000.tmp": new Uint8Array(),
    "checkpoint-00000001-20260101T000000Z.exrp": text,
    "checkpoint-000000001-20260101T000000Z.exrp.bak": text,
    ...checkpoint === undefined ? {} : { "checkpoint-000000000-20260101T000002Z.exrp": checkpoint },
  };
  for (const [name, bytes] of Object.entries(files)) {
    await Deno.writeFile(`${folder}/${name}`, bytes);
  }
  await Deno.mkdir(`${folder}/checkpoint-000000000-20260101T000003Z.exrp`);
  await Deno.writeFile(`${folder}/checkpoint-000000000-20260101T000003Z.exrp/inner`, text);
  await Deno.symlink(`${folder}/notes.txt`, `${folder}/checkpoint-000000000-20260101T000004Z.exrp`);
  return async () => {
    for (const [name, bytes] of Object.entries(files)) {
      assertEquals(await Deno.readFile(`${folder}/${name}`), bytes, name);
    }
    const inner = `${folder}/checkpoint-000000000-20260101T000003Z.exrp/inner`;
    assertEquals(await Deno.readFile(inner), text);
    const link = await Deno.readLink(`${folder}/checkpoint-000000000-20260101T000004Z.exrp`);
    assertEquals(link, `${folder}/notes.txt`);
  };
}
