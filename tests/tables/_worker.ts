/** Makes tables with a stream and an item, says so, and never gives anything back. */
import { openKernel } from "../../ffi/library.ts";
import { oldest, uniform } from "../../mod.ts";
import { KernelTables } from "../../tables/kernel_tables.ts";
import { chunk, insertMessage } from "./_messages.ts";

const kernel = await openKernel({ backend: "native" });
const tables = KernelTables.create(kernel, [{
  name: "t",
  maxSize: 10,
  sampler: uniform(),
  remover: oldest(),
  rateLimiter: [1, 1, 0, 10],
}], 1);
const inserter = tables.inserter();
inserter.feed(
  insertMessage([chunk(1n, 1n)], [{ key: 1n, table: "t", priority: 1, chunks: [1n] }], [1n]),
);
// The objects stay reachable, so that only the end of the thread can free them.
Object.assign(globalThis, { tables, inserter });
self.postMessage(inserter.confirmed);
