/** Chunks of rows come back as they went, on both kernels; and Reverb's own client reads what they write. */
import { assert, assertEquals, assertThrows } from "../_assert.ts";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { joinBytes } from "../../base/bytes.ts";
import { ReplayError } from "../../base/errors.ts";
import { openKernel } from "../../ffi/library.ts";
import { EXRP_ROWS_DELTA, EXRP_ROWS_SPARSE } from "../../ffi/symbols.ts";
import { ChunkDataSchema, InsertStreamRequestSchema } from "../../reverb/messages/reverb_pb.ts";
import { RandomStream } from "../../selectors/random_stream.ts";
import { ChunkEncoder, type ChunkHead, type ColumnRows } from "../../wire/new_rows.ts";
import { besideReverb, plainTable, runPython, startReal } from "../reverb/_real.ts";
import { decodeTensor } from "./_tensors.ts";

/** TensorFlow's numbers of the dtypes that are packed, with the bytes of an element. */
const DTYPES: readonly (readonly [number, number, string])[] = [
  [1, 4, "float32"],
  [2, 8, "float64"],
  [3, 4, "int32"],
  [4, 1, "uint8"],
  [5, 2, "int16"],
  [6, 1, "int8"],
  [8, 8, "complex64"],
  [9, 8, "int64"],
  [10, 1, "bool"],
  [14, 2, "bfloat16"],
  [17, 2, "uint16"],
  [18, 16, "complex128"],
  [19, 2, "float16"],
  [22, 4, "uint32"],
  [23, 8, "uint64"],
];

const SHAPES = [[1], [7], [3, 4], [100, 2, 2], [2, 0], [0, 3], [5, 1, 1, 1, 2]];
const FLAGS = [0, EXRP_ROWS_DELTA];

const SEED = 20261122;
const random = new RandomStream(SEED);

const kernels = [await openKernel({ backend: "native" }), await openKernel({ backend: "wasm" })];
const key = { low: 7, high: 2 ** 30 };

function headOf(length: number, flags = 0): ChunkHead {
  return { key, episode: { low: 9, high: 0 }, length, first: 0, last: 0, flags };
}

/** Bytes of a shape; of few values in half of the cases, so that they can be packed. */
function someBytes(shape: readonly number[], elementBytes: number): Uint8Array<ArrayBuffer> {
  const size = shape.reduce((product, one) => product * one, elementBytes);
  const spread = random.below(2) === 0 ? 256 : 2;
  return Uint8Array.from({ length: size }, () => random.below(spread));
}

function column<B extends Uint8Array>(
  dtype: number,
  [, ...shape]: readonly number[],
  bytes: B,
): ColumnRows & { readonly bytes: B } {
  return { spec: { dtype: { number: dtype }, shape }, bytes, strings: undefined };
}

Deno.test(`rows of every dtype and shape come back as they went (seed ${SEED})`, () => {
  for (const [dtype, elementBytes, name] of DTYPES) {
    for (const shape of SHAPES) {
      for (const flags of FLAGS) {
        const where = `${name} [${shape}] ${flags}`;
        const bytes = someBytes(shape, elementBytes);
        const other = someBytes([shape[0] ?? 0, 3], 2);
        const columns = [column(dtype, shape, bytes), column(17, [shape[0] ?? 0, 3], other)];
        const [made, same] = kernels.map((kernel) =>
          new ChunkEncoder(kernel).encode(headOf(shape[0] ?? 0, flags), columns)
        );
        assert(made !== undefined && same?.toHex() === made.toHex(), where);
        const chunk = fromBinary(ChunkDataSchema, made);
        assertEquals([chunk.dataTensorsLen, chunk.deltaEncoded], [2, flags !== 0], where);
        assertEquals(chunk.dataUncompressedSize, BigInt(bytes.length + other.length), where);
        for (const kernel of kernels) {
          for (const [k, rows] of [bytes, other].entries()) {
            const tensor = chunk.data?.tensors[k];
            assert(tensor !== undefined, where);
            assertEquals(tensor.tensorShape?.dim.map(({ size }) => Number(size)), [
              shape[0],
              ...columns[k]?.spec.shape ?? [],
            ]);
            if (shape[0] === 0) continue; // no slice has rows then
            assertEquals(decodeTensor(kernel, tensor, flags !== 0).toHex(), rows.toHex(), where);
          }
        }
      }
    }
  }
});

Deno.test("a chunk's bytes are those of its description", () => {
  const rows = new Uint8Array(Int32Array.of(1, -1).buffer);
  const texts = ["", "snow"].map((text) => new TextEncoder().encode(text));
  const strings = { ...column(7, [2], rows), bytes: undefined, strings: texts };
  for (const kernel of kernels) {
    const encoder = new ChunkEncoder(kernel);
    const made = (flags: number, columns: readonly ColumnRows[], length = 2): string =>
      encoder.encode({ ...headOf(length, flags), first: 4, last: 6 }, columns).toHex();
    // The key, the episode with its steps, and the delta mark; then the data, its tensors, and their plain bytes.
    const head = "08878080808080808040" + "1206" + "0809" + "1004" + "1806";
    // dtype 3; shape: dims 2 and 1; content: 8 bytes in one literal.
    const plain = "08031208120208021202080122" + "0a" + "081c" + "01000000ffffffff";
    const tail = "3001" + "3808";
    assertEquals(made(0, [column(3, [2, 1], rows)]), head + "2a1a0a18" + plain + tail);
    // The second row as its difference to the first.
    const delta = plain.replace("01000000ffffffff", "01000000feffffff");
    const sparse = head.replace("1206", "1208") + "2001" + "2001";
    assertEquals(
      made(EXRP_ROWS_DELTA | EXRP_ROWS_SPARSE, [column(3, [2, 1], rows)]),
      sparse + "2a1a0a18" + delta + tail,
    );
    const text = "0807" + "120412020802" + "4200" + "4204736e6f77";
    assertEquals(made(0, [strings]), head + "2a120a10" + text + "3001" + "3804");
    // A thousand zeros take little.
    assert(made(0, [column(4, [1000], new Uint8Array(1000))], 1000).length < 2 * 110);
  }
});

Deno.test("rows of other bytes than their shape has are an error", () => {
  for (const kernel of kernels) {
    const encoder = new ChunkEncoder(kernel);
    const code = (length: number, ...columns: ColumnRows[]): string =>
      assertThrows(() => encoder.encode(headOf(length), columns), ReplayError).code;
    assertEquals(code(3, column(1, [3], new Uint8Array(8))), "argument");
    assertEquals(code(1, column(7, [1], new Uint8Array(8))), "argument");
    assertEquals(code(1, column(20, [1], new Uint8Array(8))), "argument");
    assertEquals(code(-1, column(1, [-1], new Uint8Array(4))), "argument");
    assertEquals(code(1, column(1, new Array(33).fill(1), new Uint8Array(4))), "argument");
    const one = column(4, [3], new Uint8Array(3));
    assertEquals(code(3, one, column(4, [2], new Uint8Array(2))), "argument");
    assertEquals(code(3), "argument");
    assert(encoder.encode(headOf(3), [one, one]).length > 20);
  }
});

/** Inserts the messages of a file, which has them in hexadecimal. Then it samples all items with Reverb's own client. */
const SCRIPT = `
import sys, json, grpc, numpy as np, reverb
port, messages = sys.argv[1], json.load(open(sys.argv[2]))
with grpc.insecure_channel("localhost:" + port) as channel:
    stream = channel.stream_stream("/deepmind.reverb.ReverbService/InsertStream")
    print(len(list(stream(iter([bytes.fromhex(m) for m in messages])))), file=sys.stderr)
client = reverb.Client("localhost:" + port)
found = []
for sample in client.sample("t", len(messages), emit_timesteps=False):
    found.append([[str(np.asarray(c).dtype), list(np.shape(c)), np.ascontiguousarray(c).tobytes().hex()] for c in sample.data])
print(json.dumps(found))
`;

besideReverb(
  "Reverb's own client reads the tensors that we write: all dtypes, delta too",
  async () => {
    const encoder = new ChunkEncoder(await openKernel());
    await using server = await startReal([
      plainTable("t", { sampler: { kind: "fifo" }, max_times_sampled: 1 }),
    ]);
    const expected: unknown[] = [];
    const messages: string[] = [];
    for (const [item, flags] of FLAGS.entries()) {
      const kinds = DTYPES.filter(([, , name]) => name !== "bfloat16");
      const columns = kinds.map(([dtype, elementBytes, name]) => {
        const shape = [6, 1 + random.below(50)];
        const bytes = someBytes(shape, elementBytes);
        if (name === "bool") bytes.forEach((byte, k) => bytes[k] = byte & 1);
        return { ...column(dtype, shape, bytes), name };
      });
      const key = { low: item + 1, high: 0 };
      const chunk = encoder.encode(
        { key, episode: key, length: 6, first: 0, last: 5, flags },
        columns,
      );
      const flatTrajectory = {
        columns: columns.map((_, index) => ({
          chunkSlices: [{ chunkKey: BigInt(item + 1), offset: 1, length: 4, index }],
        })),
      };
      const request = create(InsertStreamRequestSchema, {
        items: [{ key: BigInt(item + 1), table: "t", priority: 1, flatTrajectory }],
      });
      messages.push(
        joinBytes([field(1, chunk), toBinary(InsertStreamRequestSchema, request)]).toHex(),
      );
      expected.push(columns.map(({ spec, bytes, name }) => {
        const row = bytes.length / 6;
        return [name, [4, spec.shape[0]], bytes.slice(row, 5 * row).toHex()];
      }));
    }
    const file = await Deno.makeTempFile();
    try {
      await Deno.writeTextFile(file, JSON.stringify(messages));
      assertEquals(JSON.parse(await runPython(SCRIPT, [server.port, file])), expected);
    } finally {
      await Deno.remove(file);
    }
  },
);

/** A field of bytes. */
function field(number: number, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = [number << 3 | 2];
  let size = bytes.length;
  for (; size >= 128; size >>>= 7) head.push(size & 127 | 128);
  return joinBytes([Uint8Array.from([...head, size]), bytes]);
}
