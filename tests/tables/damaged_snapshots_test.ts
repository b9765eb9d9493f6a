/** Snapshots of tables whose checksums are right and whose contents are not: refused, and nothing is read that need not be. */
import { assert, assertEquals, assertExists } from "../_assert.ts";
import { Tables } from "@exrp/replay/tables";
import { openKernel } from "../../ffi/library.ts";
import { checksum, encodeBegin, encodeFrame } from "../../storage/frames.ts";
import { onBoth } from "./_backends.ts";
import { borders } from "./_snapshots.ts";
import { refused } from "../_refused.ts";

const kernel = await openKernel();
const uniformRule = { name: "uniform", options: {}, native: 0, numbers: [] };

/** The begin of a snapshot of one table, whose schema has this signature. */
function beginOf(signature: string): Uint8Array<ArrayBuffer>[] {
  const table = {
    name: "t",
    size: 0,
    bytes: 0,
    sampler: uniformRule,
    remover: { ...uniformRule, name: "oldest" },
    signature: 0,
  };
  const schema = new TextEncoder().encode(
    JSON.stringify({ tables: [table] }).replace('"signature":0', `"signature":${signature}`),
  );
  return [
    encodeBegin(kernel, { magic: "EXRPTABL", version: 2, of: "tables" }, {}).slice(0, 16),
    encodeFrame(kernel, "SCHM", 0, schema.length, (payload) => payload.set(schema)),
  ];
}

onBoth(
  "a trajectory of more steps than its chunk has is refused, although the checksums are right",
  async (create) => {
    const options = { tables: { t: { maxSize: 9 } }, seed: 1 };
    using tables = await create(options);
    const table = tables.table("t");
    await table.insert({ x: 1 }, { priority: 1 });
    const steps = 77;
    await table.insertTrajectory({ x: new Float64Array(steps) }, { priority: 1 });
    const bytes = await tables.serialize();
    const [, , at = 0] = borders(bytes);
    const size = Number(new DataView(bytes.buffer).getBigUint64(at + 8, true));
    const payload = bytes.slice(at + 20, at + 20 + size);
    // A slice's length is its field 3.
    const places = [...payload.keys()].filter((k) =>
      payload[k] === 0x18 && payload[k + 1] === steps
    );
    const place = places.at(-1);
    assertExists(place);
    payload[place + 1] = steps + 1;
    bytes.set(encodeFrame(kernel, "TABL", 0, size, (target) => target.set(payload)), at);
    using other = await create(options);
    await other.table("t").insert({ x: 1 }, { priority: 1 });
    const words = /although its checksums are right: item 2 has steps that its chunk does not have/;
    await refused(() => other.unserialize(bytes), "snapshot-corrupt", words);
    assertEquals(other.table("t").size, 1);
  },
);

onBoth(
  "a chunk of which one bit changed is refused, although the checksum of its frame is right",
  async (create) => {
    const options = { tables: { t: { maxSize: 9 } }, seed: 1 };
    using tables = await create(options);
    const x = Uint8Array.from({ length: 32 }, (_, k) => 37 * k + 11);
    await tables.table("t").insert({ x: new Uint8Array(32) }, { priority: 1 });
    await tables.table("t").insert({ x }, { priority: 1 });
    const bytes = await tables.serialize();
    using whole = await create(options);
    await whole.unserialize(bytes);
    assertEquals(whole.table("t").size, 2);
    const [, , at = 0] = borders(bytes);
    const size = Number(new DataView(bytes.buffer).getBigUint64(at + 8, true));
    const payload = bytes.slice(at + 20, at + 20 + size);
    const place = [...payload.keys()].find((k) => x.every((byte, n) => payload[k + n] === byte));
    assertExists(place);
    payload[place + 9] = (payload[place + 9] ?? 0) ^ 4;
    bytes.set(encodeFrame(kernel, "TABL", 0, size, (target) => target.set(payload)), at);
    using other = await create(options);
    await other.table("t").insert({ x }, { priority: 1 });
    const words = /chunk 2 has changed since it was inserted/;
    await refused(() => other.unserialize(bytes), "snapshot-corrupt", words);
    assertEquals(other.table("t").size, 1);
  },
);

Deno.test("a schema that is nested too deep is damaged", async () => {
  using tables = await Tables.create({ tables: { t: { maxSize: 9 } } });
  const bytes = await new Blob(beginOf("[".repeat(200_000) + "]".repeat(200_000))).bytes();
  await refused(
    () => tables.unserialize(bytes),
    "snapshot-corrupt",
    /its schema has no sense at tables\[0\]\.signature/,
  );
});

Deno.test("a section that says it is larger than its file is refused before it is read", async () => {
  using tables = await Tables.create({ tables: { t: { maxSize: 9 } } });
  const begin = await tables.serialize();
  const schemaBytes = Number(new DataView(begin.buffer).getBigUint64(16 + 8, true));
  const head = encodeFrame(kernel, "TABL", 0, 0, () => {}).slice(0, 20);
  const view = new DataView(head.buffer);
  view.setBigUint64(8, 2n ** 32n - 1n, true);
  view.setUint32(16, checksum(kernel, head.slice(0, 16)), true);
  const path = await Deno.makeTempFile();
  const read = Deno.FsFile.prototype.readSync;
  let bytes = 0;
  try {
    await Deno.writeFile(path, await new Blob([begin.slice(0, 40 + schemaBytes), head]).bytes());
    await Deno.truncate(path, 64 << 20);
    Deno.FsFile.prototype.readSync = function (into): number | null {
      bytes += into.length;
      return read.call(this, into);
    };
    const missing = 60 + schemaBytes + 2 ** 32 - 1 + 4 - (64 << 20);
    await refused(
      () => tables.unserialize(path),
      "snapshot-truncated",
      new RegExp(`ends at byte ${64 << 20}, in a section: ${missing} more bytes are needed there`),
    );
  } finally {
    Deno.FsFile.prototype.readSync = read;
    await Deno.remove(path);
  }
  assert(bytes < 1 << 20, `${bytes}`);
});
