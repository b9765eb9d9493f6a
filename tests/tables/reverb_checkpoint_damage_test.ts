/** Checkpoints of Reverb's that are cut off, have a wrong bit, or have damaged messages under right checksums. */
import { assert, assertEquals } from "../_assert.ts";
import { ReplayError } from "../../base/errors.ts";
import { openKernel } from "../../ffi/library.ts";
import { RandomStream } from "../../selectors/random_stream.ts";
import { readReverbCheckpoint } from "../../tables/mod.ts";
import { filesOf, readRecorded, withCheckpoint } from "../reverb/_checkpoints.ts";
import { oldCheckpoint } from "../reverb/_old_checkpoint.ts";
import { pack, readRecords, unpack, writeRecords } from "../reverb/_tfrecords.ts";
import { refusal } from "./_checkpoint_files.ts";

const recorded = await readRecorded();
const first = new Uint8Array();
const { symbols } = await openKernel({});

const SEED = Number(Deno.env.get("EXRP_SEED") ?? 261123);
/** 1 takes every place; the suite takes some. */
const STEP = Number(Deno.env.get("EXRP_CUT_STEP") ?? 29);

Deno.test(`a checkpoint that is cut off anywhere is refused (seed ${SEED})`, async () => {
  const files = filesOf(recorded);
  for (const [name, bytes] of Object.entries(files)) {
    for (let size = SEED % STEP; size < bytes.length; size += STEP) {
      const { code, message } = await refusal({ ...files, [name]: bytes.slice(0, size) });
      assert(code === "snapshot-truncated" || code === "snapshot-corrupt", message);
      assert(message.includes(name), message);
    }
  }
});

Deno.test(`a bit that was changed is found (seed ${SEED})`, async () => {
  const files = filesOf(recorded);
  const random = new RandomStream(SEED, 1);
  const names = ["tables.tfrecord", "chunks.tfrecord", "items.tfrecord"];
  for (let round = 0; round < 150; round++) {
    const name = names[random.below(3)] ?? "";
    const isPacked = random.below(2) === 0;
    const bytes = isPacked ? files[name]?.slice() : unpack(files[name] ?? first);
    assert(bytes !== undefined);
    const at = random.below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ 1 << random.below(8);
    const { message } = await refusal({ ...files, [name]: isPacked ? bytes : pack(bytes) });
    assert(message.includes(name), message);
  }
});

Deno.test(`damaged messages under right checksums give an error or tables (seed ${SEED})`, async () => {
  const files = filesOf(recorded);
  const random = new RandomStream(SEED, 2);
  const names = ["tables.tfrecord", "chunks.tfrecord", "items.tfrecord"];
  let refused = 0;
  const old = oldCheckpoint(files).files;
  for (let round = 0; round < 200; round++) {
    const from = round % 2 === 0 ? files : old;
    const name = names[random.below(from === old ? 2 : 3)] ?? "";
    const records = readRecords(from[name] ?? first);
    const record = records[random.below(records.length)] ?? first;
    for (let k = random.below(3); k >= 0; k--) {
      record[random.below(record.length)] = random.below(256);
    }
    const before = symbols.exrp_tables_count();
    await withCheckpoint({ ...from, [name]: writeRecords(records) }, async (folder) => {
      try {
        using tables = await readReverbCheckpoint(folder);
        for (const one of tables.names) tables.table(one).clear();
        assertEquals(tables.info().chunks, 0);
      } catch (error) {
        assert(error instanceof ReplayError || error instanceof RangeError, String(error));
        refused++;
      }
    });
    assertEquals(symbols.exrp_tables_count(), before);
  }
  assert(refused > 20, `${refused}`);
});
