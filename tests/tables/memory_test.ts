/** What items of small chunks take: one step of 140 bytes in four columns, as TrajectoryWriter sends it. Reverb's server takes 5,738 bytes. */
import { assert } from "../_assert.ts";
import { openKernel } from "../../ffi/library.ts";
import { EXRP_TABLES_STORE_CHUNKS, EXRP_TABLES_STORE_MEMORY_BYTES } from "../../ffi/symbols.ts";
import { oldest, uniform } from "../../mod.ts";
import { KernelTables } from "../../tables/kernel_tables.ts";
import { insertMessage } from "./_messages.ts";

const COUNT = 30_000;
const COLUMN_BYTES = [120, 8, 4, 8];

/** A column of one step: random keys take ten bytes each, as those of Reverb's clients do. */
function column(chunkKey: bigint, k: number, size: number): Parameters<typeof insertMessage>[0][0] {
  const start = k % 200;
  return {
    chunkKey,
    sequenceRange: { episodeId: 2n ** 63n + BigInt(Math.floor(k / 200)), start, end: start },
    data: {
      tensors: [{
        dtype: 1,
        tensorShape: { dim: [{ size: 1n }, { size: BigInt(size / 4) }] },
        tensorContent: new Uint8Array(size + 2),
      }],
    },
    dataTensorsLen: 1,
    dataUncompressedSize: BigInt(size),
  };
}

for (const [backend, bytesMax] of [["native", 700], ["wasm", 800]] as const) {
  Deno.test(`tables, ${backend}: a step of 140 bytes in four columns takes less than ${bytesMax} bytes`, async () => {
    const kernel = await openKernel({ backend });
    using tables = KernelTables.create(kernel, [{
      name: "t",
      maxSize: COUNT,
      sampler: uniform(),
      remover: oldest(),
      rateLimiter: [1, 1, -Number.MAX_VALUE, Number.MAX_VALUE],
    }], 1);
    using inserter = tables.inserter();
    const out = new Uint8Array(4096);
    for (let k = 0; k < COUNT; k++) {
      const keys = COLUMN_BYTES.map((_, c) => 2n ** 63n + BigInt(4 * k + c));
      inserter.feed(insertMessage(
        keys.map((key, c) => column(key, k, COLUMN_BYTES[c] ?? 0)),
        [{ key: 2n ** 63n + BigInt(k), table: "t", priority: 1, chunks: keys }],
      ));
      if (k % 100 === 0) inserter.readConfirmations(out);
    }
    const info = tables.storeInfo();
    assert(info[EXRP_TABLES_STORE_CHUNKS] === 4 * COUNT);
    const each = (info[EXRP_TABLES_STORE_MEMORY_BYTES] ?? 0) / COUNT;
    assert(each > 400 && each < bytesMax, `an item takes ${each} bytes`);
  });
}
