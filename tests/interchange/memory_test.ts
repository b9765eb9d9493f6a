/** A file that is larger than the memory that reading and writing it may take. Linux only, which says how much a process had at most. */
import { assertEquals, assertLess } from "../_assert.ts";
import { runForNumbers } from "../_program.ts";
import { withFolder } from "./_episodes.ts";

const program = new URL("_reader.ts", import.meta.url).pathname;

Deno.test({
  name:
    "an HDF5 file of 768 MiB is read in less than 200 MB, and written in less than 400; the command takes as little with --resident",
  ignore: Deno.build.os !== "linux",
  fn: () =>
    withFolder(async (folder) => {
      const path = `${folder}/frames.hdf5`;
      // Writing, and the command, hold pieces until the garbage collector comes, which is late on a busy machine.
      const written = await runForNumbers(program, "write", path, "768");
      assertLess(written["most"] ?? NaN, 4e8, JSON.stringify(written));
      const read = await runForNumbers(program, "read", path);
      assertEquals(read["steps"], written["steps"]);
      assertLess(read["most"] ?? NaN, 2e8, JSON.stringify(read));
      const pool = `${folder}/pool`;
      for (
        const args of [
          ["import", "d4rl", path, pool],
          ["inspect", pool],
          ["export", "d4rl", pool, path],
        ]
      ) {
        const run = await runForNumbers(program, "exrp", ...args, "--resident", "32");
        assertEquals(run["status"], 0, args.join(" "));
        assertLess(run["most"] ?? NaN, 4e8, `${args.join(" ")}: ${JSON.stringify(run)}`);
      }
    }),
});
