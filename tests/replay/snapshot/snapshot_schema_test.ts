/** The schema of a snapshot: numbers that nothing can have are refused as damage, before they reach the kernel. */

import { uniform } from "@exrp/replay";
import { assertEquals } from "../../_assert.ts";
import { readSchema } from "../../../replay/snapshot/snapshot_schema.ts";
import { assertReplayError, smallReplay } from "../_helpers.ts";

/** The schema's JSON, which is the first frame. */
function schemaOf(bytes: Uint8Array): string {
  const length = Number(new DataView(bytes.buffer).getBigUint64(24, true));
  return new TextDecoder().decode(bytes.subarray(36, 36 + length));
}

Deno.test("a pick policy of an older version has the defaults of options that came later; others must be there", async () => {
  using replay = await smallReplay();
  replay.newPickView({ ends: true, returnToGo: true });
  const json = schemaOf(await replay.serialize());
  const without = (...names: string[]): string =>
    names.reduce((text, name) => text.replace(new RegExp(`,"${name}":[^,}]+`, "g"), ""), json);
  assertEquals(readSchema("", JSON.parse(json)).views[1]?.ends, true);
  const older = readSchema("", JSON.parse(without("ends", "returnToGo")));
  assertEquals([older.views[1]?.ends, older.views[1]?.returnToGo], [false, false]);
  assertReplayError(() => readSchema("", JSON.parse(without("masks"))), "snapshot-corrupt");
});

Deno.test("numbers of the kernel's things are at most 32 bits", async () => {
  using replay = await smallReplay();
  replay.newPickSelector(uniform());
  const json = schemaOf(await replay.serialize());
  const parse = (text: string): unknown => readSchema("", JSON.parse(text));
  parse(json);
  for (const name of ["view", "native"]) {
    for (const value of [2 ** 32, 2 ** 53 - 1, 2 ** 53, -1, 0.5, "0", null]) {
      const forged = json.replace(
        new RegExp(`"${name}":\\d+`),
        `"${name}":${JSON.stringify(value)}`,
      );
      assertEquals(forged === json, false);
      assertReplayError(() => parse(forged), "snapshot-corrupt");
    }
  }
});
