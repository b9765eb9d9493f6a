/** A file that is larger than the memory that reading and writing it may take. Linux only, which says how much a process had at most. */
import { assert, assertEquals, assertLess } from "../_assert.ts";
import { withFolder } from "./_episodes.ts";

const program = new URL("_reader.ts", import.meta.url).pathname;

async function run(...args: string[]): Promise<Record<string, number>> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", program, ...args],
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test({
  name: "an HDF5 file of 768 MiB is read in less than 200 MB, and written in less than 300",
  ignore: Deno.build.os !== "linux",
  fn: () =>
    withFolder(async (folder) => {
      const path = `${folder}/frames.hdf5`;
      const written = await run("write", path, "768");
      assertLess(written["most"] ?? NaN, 3e8, JSON.stringify(written));
      const read = await run("read", path);
      assertEquals(read["steps"], written["steps"]);
      assertLess(read["most"] ?? NaN, 2e8, JSON.stringify(read));
    }),
});
