/** Tables of a Worker go with its thread, also where it is terminated. */
import { assertEquals } from "../_assert.ts";
import { openKernel } from "../../ffi/library.ts";
import { until } from "../_wait.ts";

Deno.test("tables of a terminated Worker are freed at the end of its thread", async () => {
  const { symbols } = await openKernel({ backend: "native" });
  const before = symbols.exrp_tables_count();
  const workers = await Promise.all([0].map(async () => {
    const worker = new Worker(new URL("./_worker.ts", import.meta.url), { type: "module" });
    const confirmed = await new Promise((resolve) => {
      worker.onmessage = ({ data }) => resolve(data);
    });
    assertEquals(confirmed, 1);
    return worker;
  }));
  assertEquals(symbols.exrp_tables_count(), before + 1);
  for (const worker of workers) worker.terminate();
  await until("its tables are freed", () => symbols.exrp_tables_count() === before);
});
