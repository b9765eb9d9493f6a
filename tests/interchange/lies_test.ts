/** Files that lie about lengths on purpose: each is an error in words of what came and what was needed, and nothing is made of what it says. */
import { assertEquals, assertInstanceOf, assertMatch, assertRejects } from "../_assert.ts";
import { ExperienceReplay, ReplayError, uint8 } from "@exrp/replay";
import { exportEpisodes, importEpisodes } from "@exrp/replay/interchange";
import { openArrow } from "../../interchange/_arrow.ts";
import { type DataFile, openData } from "../../interchange/_files.ts";
import { openParquet } from "../../interchange/_parquet.ts";
import type { Table } from "../../interchange/_table.ts";
import { withFolder } from "./_episodes.ts";
import * as arrow from "npm:apache-arrow@21.2.0";
import { gzipSync } from "node:zlib";

/** Reads all rows of a table; gives how many there are. */
async function readAll(
  open: (file: DataFile) => Promise<Table>,
  bytes: Uint8Array,
): Promise<number> {
  const table = await open(await openData("", bytes));
  let count = 0;
  for await (const rows of table.rows(table.columns)) count += rows.count;
  return count;
}

// ---- Parquet ----

type Bytes = readonly number[];

function varint(value: number): Bytes {
  return value < 128 ? [value] : [value % 128 + 128, ...varint(Math.floor(value / 128))];
}

/** A field in Thrift's compact protocol: its type, and its bytes. */
type Field = readonly [type: number, bytes: Bytes];

const int = (value: number): Field => [5, varint(2 * value)];
const long = (value: number): Field => [6, varint(2 * value)];
const text = (value: string): Field => [8, [value.length, ...new TextEncoder().encode(value)]];
const list = (type: number, parts: readonly Bytes[]): Field => [
  9,
  [parts.length * 16 + type, ...parts.flat()],
];
const struct = (fields: Readonly<Record<number, Field>>): Bytes => [
  ...Object.entries(fields).flatMap(([id, [type, bytes]]) => [
    type,
    ...varint(2 * Number(id)),
    ...bytes,
  ]),
  0,
];
const part = (fields: Readonly<Record<number, Field>>): Field => [12, struct(fields)];

/** What a file says. */
interface Says {
  readonly rows?: number;
  readonly encoding?: number;
  readonly version2?: boolean;
  /** How many values the page has, and the group. */
  readonly values?: number;
  readonly groupValues?: number;
  readonly path?: readonly string[];
  readonly body?: ArrayLike<number>;
  readonly codec?: number;
  readonly unpacked?: number;
  readonly packed?: number;
  readonly offset?: number;
  readonly fields?: Readonly<Record<number, Field>>;
  /** What a column in a group has beside its place. */
  readonly chunk?: Readonly<Record<number, Field>>;
}

const INT32 = 1;

/** A Parquet file with a column of two integers. What is given is said instead. */
function parquet(says: Says = {}): Uint8Array {
  const { rows = 2, encoding = 0, values = rows, codec = 0, offset = 4, path = ["x"] } = says;
  const body = Array.from(says.body ?? [1, 0, 0, 0, 2, 0, 0, 0]);
  const { packed = body.length, unpacked = body.length } = says;
  const head = struct({
    1: int(says.version2 === true ? 3 : 0),
    2: int(unpacked),
    3: int(packed),
    ...says.version2 === true
      ? {
        8: part({
          ...{ 1: int(values), 2: int(0), 3: int(values), 4: int(encoding) },
          ...{ 5: int(0), 6: int(0) },
        }),
      }
      : { 5: part({ 1: int(values), 2: int(encoding), 3: int(3), 4: int(3) }) },
  });
  const size = head.length + body.length;
  const meta = part({
    ...{
      1: int(INT32),
      2: list(5, [varint(0)]),
      3: list(8, path.map((name) => text(name)[1])),
      4: int(codec),
    },
    ...{ 5: long(says.groupValues ?? rows), 6: long(size), 7: long(size), 9: long(offset) },
  });
  const metadata = struct({
    1: int(1),
    2: list(12, [
      struct({ 4: text("root"), 5: int(1) }),
      struct({ 1: int(INT32), 3: int(0), 4: text("x") }),
    ]),
    3: long(rows),
    4: list(12, [
      struct({
        ...{ 1: list(12, [struct({ 2: long(4), 3: meta, ...says.chunk })]) },
        ...{ 2: long(size), 3: long(rows) },
      }),
    ]),
    ...says.fields,
  });
  const magic = new TextEncoder().encode("PAR1");
  return Uint8Array.of(
    ...[...magic, ...head, ...body, ...metadata, ...word(metadata.length), ...magic],
  );
}

/** A number of 32 bits. */
function word(value: number): Bytes {
  return [...new Uint8Array(Uint32Array.of(value).buffer)];
}

const RLE = 8;
const DELTA = 5;
const GZIP = 2;
const MANY = 2 ** 30;

const LIES: readonly (readonly [string, Says, RegExp])[] = [
  ["a run", { encoding: RLE, body: [1, ...varint(2 * MANY), 0] }, /a run has 1073741824 values/],
  ["bits without width", {
    encoding: RLE,
    version2: true,
    body: [0, ...varint(2 ** 32 - 1)],
  }, /a run has 17179869176 values/],
  ["values of a page", { values: MANY }, /a page has 1073741824 values, and 2 of 2 are left/],
  ["rows", { rows: MANY }, /of 1073741824 rows has 1073741824 values in \d+ bytes/],
  ["bytes that are unpacked", { codec: GZIP, unpacked: MANY }, /of 2 values has 1073741824 bytes/],
  ["bytes that are packed", { packed: MANY }, /1073741824 bytes are needed, and 8 are left/],
  ["more than gzip's page says", {
    codec: GZIP,
    body: gzipSync(new Uint8Array(1e6)),
    unpacked: 8,
  }, /x is damaged: .*8 bytes/],
  ["parts of differences", {
    encoding: DELTA,
    body: [...varint(2 ** 31), ...varint(MANY), 2, 0],
  }, /blocks of 2147483648 values in 1073741824 parts/],
  ["a place", { offset: MANY }, /x ends at byte 10737418\d\d, and the file has/],
  ["a list of the metadata", {
    fields: { 5: [9, [0xfc, ...varint(2 ** 25)]] },
  }, /a list has 33554432 parts, and \d+ bytes are left/],
  ["a text of the metadata", {
    fields: { 6: [8, varint(MANY)] },
  }, /1073741824 bytes are needed/],
  ["lists in a list", {
    ...{ rows: 1, values: 1e6, groupValues: 1e6, path: ["x", "list"], encoding: RLE },
    body: [
      ...[...word(varint(2e6).length + 1), ...varint(2e6), 1],
      ...[...word(varint(2e6).length + 1), ...varint(2e6), 2, 0],
    ],
    fields: {
      2: list(12, [
        struct({ 4: text("root"), 5: int(1) }),
        struct({ 3: int(2), 4: text("x"), 5: int(1) }),
        struct({ 1: int(INT32), 3: int(2), 4: text("list") }),
      ]),
    },
  }, /a column has 1000000 lists or more/],
  ["rows that no group has", { fields: { 3: long(MANY) } }, /2 rows, and the file says 1073741824/],
];

Deno.test("parquet: each lie about a length is an error that says so", async () => {
  assertEquals(await readAll(openParquet, parquet()), 2);
  for (const [what, says, words] of LIES) {
    const error = await assertRejects(() => readAll(openParquet, parquet(says)), ReplayError);
    assertEquals(error.code, "data-set", what);
    assertMatch(error.message, words);
  }
});

Deno.test("parquet: a page of one difference has no block", async () => {
  for (const [block, parts] of [[128, 4], [2048, 8]] as const) {
    const body = [...varint(block), parts, 1, 14];
    assertEquals(await readAll(openParquet, parquet({ rows: 1, encoding: DELTA, body })), 1);
  }
});

Deno.test("parquet: what is encrypted is refused in words of that, and such a column left out", async () => {
  const encrypted = parquet({ chunk: { 8: part({ 1: part({}) }) } });
  const { columns, unread } = await openParquet(await openData("", encrypted));
  assertEquals([columns, [...unread ?? []]], [[], [["x", "encrypted values"]]]);
  const whole = parquet();
  whole.set(new TextEncoder().encode("PARE"), whole.length - 4);
  const { message } = await assertRejects(() => readAll(openParquet, whole), ReplayError);
  assertMatch(message, /it ends with PARE, so it is encrypted/);
});

// ---- Arrow ----

/** Numbers that no length has. */
const WORDS = [0x7fffffff, 0xffffffff];

Deno.test("arrow: each word of a file is a lie in turn: an error, or no more rows than there are", async () => {
  const list = arrow.vectorFromArray(
    [[1, 2], [3, 4], [5, 6]],
    new arrow.List(new arrow.Field("item", new arrow.Float32(), false)),
  );
  const table = new arrow.Table({ list, number: arrow.vectorFromArray(Int32Array.of(7, 8, 9)) });
  for (const kind of ["file", "stream"] as const) {
    const whole = arrow.tableToIPC(table, kind);
    assertEquals(await readAll(openArrow, whole), 3);
    let refused = 0;
    for (let at = 0; at + 4 <= whole.length; at += 4) {
      for (const word of WORDS) {
        const bytes = whole.slice();
        new DataView(bytes.buffer).setUint32(at, word, true);
        try {
          assertEquals(await readAll(openArrow, bytes) <= 3, true, `${kind}: ${at}`);
        } catch (error) {
          assertInstanceOf(error, ReplayError, `${kind}: ${at}: ${(error as Error).stack}`);
          assertEquals(error.code, "data-set", error.message);
          refused++;
        }
      }
    }
    // Most of so small a file is lengths and places.
    assertEquals(
      refused > whole.length / 4,
      true,
      `${refused} of ${whole.length / 4 * WORDS.length}`,
    );
  }
});

Deno.test("parquet: frames that are all black are no lie", () =>
  withFolder(async (folder) => {
    using replay = await ExperienceReplay.create({ capacity: 60, state: uint8(84, 84) });
    const black = new Uint8Array(84 * 84);
    const episode = replay.newEpisode();
    for (let k = 0; k < 59; k++) replay.record(episode, black, 0, 0);
    replay.record(episode, black, 0, 0, { finalState: black });
    const from = replay as unknown as ExperienceReplay;
    await exportEpisodes(from, "parquet", `${folder}/black`);
    using again = await ExperienceReplay.create({ capacity: 60, state: uint8(84, 84) });
    const into = again as unknown as ExperienceReplay;
    assertEquals((await importEpisodes(into, "parquet", `${folder}/black`)).stepCount, 60);
  }));
