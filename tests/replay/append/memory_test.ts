/** A folder that is larger than the memory that taking its episodes in may take. Linux only, which says how much a process had at most. */
import { assert, assertEquals, assertLess } from "../../_assert.ts";
import { native } from "../../_native.ts";
import { withFolder } from "../durable/_folders.ts";

const program = new URL("_appender.ts", import.meta.url).pathname;

async function run(...args: string[]): Promise<Record<string, number>> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", program, ...args],
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

if (Deno.build.os === "linux") {
  native.test("the episodes of a folder of 200 MiB are taken in with less than 64 MiB more memory", () =>
    withFolder(async (folder) => {
      const written = await run("write", folder, "200");
      const { grown = NaN, ...came } = await run("append", folder);
      assertEquals(came, { ...written, openCount: 0 });
      assertLess(grown, 2 ** 26);
    }));
}
