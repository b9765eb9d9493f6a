/** A folder that is larger than the memory that taking its episodes in, or saving its replay, may take. Linux only, which says how much a process had at most. */
import { assertEquals, assertLess } from "../../_assert.ts";
import { runForNumbers } from "../../_program.ts";
import { native } from "../../_native.ts";
import { withFolder } from "../durable/_folders.ts";

const program = new URL("_appender.ts", import.meta.url).pathname;

if (Deno.build.os === "linux") {
  native.test("the episodes of a folder of 200 MiB are taken in with less than 64 MiB more memory", () =>
    withFolder(async (folder) => {
      const written = await runForNumbers(program, "write", folder, "200");
      const { grown = NaN, ...came } = await runForNumbers(program, "append", folder);
      assertEquals(came, { ...written, openCount: 0 });
      assertLess(grown, 2 ** 26);
    }));

  native.test("a replay of 200 MiB is saved in a file with less than 16 MiB more memory", () =>
    withFolder(async (folder) => {
      const { grown = NaN } = await runForNumbers(program, "save", folder, "200");
      assertLess(grown, 2 ** 24);
    }));
}
