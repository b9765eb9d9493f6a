/**
 * Lets the real server write a checkpoint and load it again, and writes `tests/reverb/checkpoint.json`:
 *
 * `deno run -A tests/reverb/_record_checkpoint.ts`
 */
import { drainReal, type RecordedCheckpoint, writeReal } from "./_checkpoints.ts";

const folder = await Deno.makeTempDir({ prefix: "exrp_checkpoint_" });
try {
  const path = await writeReal(folder);
  const files: Record<string, string> = {};
  for await (const { name } of Deno.readDir(path)) {
    files[name] = (await Deno.readFile(`${path}/${name}`)).toBase64();
  }
  const { items } = await drainReal(folder);
  const recorded: RecordedCheckpoint = { files, items };
  const at = new URL("checkpoint.json", import.meta.url);
  await Deno.writeTextFile(at, `${JSON.stringify(recorded, null, 2)}\n`);
} finally {
  await Deno.remove(folder, { recursive: true });
}
