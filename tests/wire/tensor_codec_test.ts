/** Tensors come back as they went, on both kernels; and Reverb's own client reads what they write. */
import { assertEquals, assertThrows } from "../_assert.ts";
import { create, toBinary } from "@bufbuild/protobuf";
import { joinBytes } from "../../base/bytes.ts";
import { ReplayError } from "../../base/errors.ts";
import { openKernel } from "../../ffi/library.ts";
import { ChunkDataSchema, InsertStreamRequestSchema } from "../../reverb/messages/reverb_pb.ts";
import { RandomStream } from "../../selectors/random_stream.ts";
import { type PackOptions, TensorCodec } from "../../wire/tensor_codec.ts";
import { besideReverb, plainTable, runPython, startReal } from "../reverb/_real.ts";

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

const SHAPES = [[], [1], [7], [3, 4], [100, 2, 2], [2, 0], [0, 3], [5, 1, 1, 1, 2]];
const PACKS: readonly PackOptions[] = [{}, { delta: true }, { plain: true }, {
  delta: true,
  plain: true,
}];

const SEED = 20261122;
const random = new RandomStream(SEED);

/** Bytes of a shape; of few values in half of the cases, so that they can be packed. */
function someBytes(shape: readonly number[], elementBytes: number): Uint8Array<ArrayBuffer> {
  const size = shape.reduce((product, one) => product * one, elementBytes);
  const spread = random.below(2) === 0 ? 256 : 2;
  return Uint8Array.from({ length: size }, () => random.below(spread));
}

async function codecs(): Promise<TensorCodec[]> {
  return [
    new TensorCodec(await openKernel({ backend: "native" })),
    new TensorCodec(await openKernel({ backend: "wasm" })),
  ];
}

Deno.test(`tensors of every dtype and shape come back as they went (seed ${SEED})`, async () => {
  const [native, wasm] = await codecs();
  if (native === undefined || wasm === undefined) throw new Error("two kernels are needed");
  for (const [dtype, elementBytes, name] of DTYPES) {
    for (const shape of SHAPES) {
      for (const options of PACKS) {
        const bytes = someBytes(shape, elementBytes);
        const tensor = native.encode(dtype, shape, bytes, options).slice();
        const where = `${name} [${shape}] ${JSON.stringify(options)}`;
        assertEquals(wasm.encode(dtype, shape, bytes, options).toHex(), tensor.toHex(), where);
        assertEquals(native.info(tensor), { dtype, shape, bytes: bytes.length }, where);
        for (const codec of [native, wasm]) {
          assertEquals(codec.decode(tensor, options).toHex(), bytes.toHex(), where);
        }
      }
    }
  }
});

Deno.test("a tensor's bytes are those of its description", async () => {
  for (const codec of await codecs()) {
    // dtype 3; shape: dims 2 and 1; content: 8 bytes in one literal.
    assertEquals(
      codec.encode(3, [2, 1], new Uint8Array(Int32Array.of(1, -1).buffer)).toHex(),
      "08031208120208021202080122" + "0a" + "081c" + "01000000ffffffff",
    );
    // The second row as its difference to the first.
    assertEquals(
      codec.encode(3, [2, 1], new Uint8Array(Int32Array.of(1, -1).buffer), { delta: true }).toHex(),
      "08031208120208021202080122" + "0a" + "081c" + "01000000feffffff",
    );
    // A thousand zeros take little; as plain bytes they take themselves.
    const zeros = new Uint8Array(1000);
    assertEquals(codec.encode(4, [1000], zeros).length < 80, true);
    assertEquals(codec.encode(4, [1000], zeros, { plain: true }).length > 1000, true);
  }
});

Deno.test("a tensor of other bytes than its shape has, or a damaged one, is an error with words", async () => {
  for (const codec of await codecs()) {
    const code = (call: () => unknown): string => assertThrows(call, ReplayError).code;
    assertEquals(code(() => codec.encode(1, [3], new Uint8Array(8))), "argument");
    assertEquals(code(() => codec.encode(7, [1], new Uint8Array(8))), "argument");
    assertEquals(code(() => codec.encode(1, [-1], new Uint8Array(4))), "argument");
    assertEquals(code(() => codec.encode(1, new Array(33).fill(1), new Uint8Array(4))), "argument");
    const tensor = codec.encode(1, [3], new Uint8Array(12)).slice();
    tensor[3] = 9;
    assertEquals(code(() => codec.decode(tensor)), "message-damaged");
    assertEquals(
      assertThrows(() => codec.info(Uint8Array.of(8, 1, 34, 1, 1)), ReplayError).message,
      "read a tensor: sample 0, column 0: its elements do not unpack to what its shape says",
    );
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
  "Reverb's own client reads the tensors that we write: all dtypes, delta and plain too",
  async () => {
    const codec = new TensorCodec(await openKernel());
    await using server = await startReal([
      plainTable("t", { sampler: { kind: "fifo" }, max_times_sampled: 1 }),
    ]);
    const expected: unknown[] = [];
    const messages: string[] = [];
    for (const [item, options] of PACKS.entries()) {
      const kinds = DTYPES.filter(([, , name]) => name !== "bfloat16");
      const columns = kinds.map(([dtype, elementBytes, name]) => {
        const shape = [6, 1 + random.below(50)];
        const bytes = someBytes(shape, elementBytes);
        if (name === "bool") bytes.forEach((byte, k) => bytes[k] = byte & 1);
        return {
          dtype,
          shape,
          bytes,
          name,
          tensor: codec.encode(dtype, shape, bytes, options).slice(),
        };
      });
      const key = BigInt(item + 1);
      const range = { episodeId: key, start: 0, end: 5 };
      const head = toBinary(
        ChunkDataSchema,
        create(ChunkDataSchema, {
          chunkKey: key,
          sequenceRange: range,
          deltaEncoded: options.delta === true,
        }),
      );
      const chunk = joinBytes([
        head,
        field(5, joinBytes(columns.map(({ tensor }) => field(1, tensor)))),
      ]);
      const flatTrajectory = {
        columns: columns.map((_, index) => ({
          chunkSlices: [{ chunkKey: key, offset: 1, length: 4, index }],
        })),
      };
      const request = create(InsertStreamRequestSchema, {
        items: [{ key, table: "t", priority: 1, flatTrajectory }],
      });
      messages.push(
        joinBytes([field(1, chunk), toBinary(InsertStreamRequestSchema, request)]).toHex(),
      );
      expected.push(columns.map(({ shape, bytes, name }) => {
        const row = bytes.length / 6;
        return [name, [4, shape[1]], bytes.slice(row, 5 * row).toHex()];
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
