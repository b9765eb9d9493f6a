/** Signatures to and from TensorFlow's message. */
import { assertEquals, assertThrows } from "../_assert.ts";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { DTYPES } from "../../reverb/dtypes.ts";
import { StructuredValueSchema } from "../../reverb/messages/tensorflow_pb.ts";
import { mapSignature, type Signature, signatureOf, structuredOf } from "../../reverb/signature.ts";

function encode(signature: unknown): Uint8Array {
  return toBinary(StructuredValueSchema, structuredOf("signature", signature));
}

function decode(bytes: Uint8Array): Signature {
  return signatureOf(fromBinary(StructuredValueSchema, bytes));
}

function decodeBytes(hex: string): readonly Signature[] {
  const decoded = decode(Uint8Array.fromHex(hex));
  if (!Array.isArray(decoded)) throw new TypeError("no array");
  return decoded;
}

const nest = {
  observation: {
    pixels: { dtype: "uint8", shape: [null, 84, 84] },
    dtype: { dtype: "int64", shape: [] },
  },
  pair: [{ dtype: "float32", shape: [5, 3], name: "reward" }, { dtype: "string", shape: [null] }],
} as const;

Deno.test("a signature comes back from its bytes, with any sizes, names and columns called dtype", () => {
  assertEquals(decode(encode(nest)), nest);
});

Deno.test("a tuple with names keeps its order, and a shape may be open", () => {
  const step = {
    namedTuple: "Step",
    fields: [
      ["state", { dtype: "int64", shape: [null] }],
      ["action", { b: { dtype: "float32", shape: null } }],
    ],
  } as const;
  const bytes = encode(step);
  // Made by nested_structure_coder.encode_structure() of TensorFlow 2.15.1.
  const wanted = "b203440a0453746570121d0a05737461746512148a0211120d120b08ffffffffffffffffff01" +
    "1809121d0a06616374696f6e1213aa03100a0e0a016212098a0206120218011801";
  assertEquals(bytes.toHex(), wanted);
  assertEquals(decode(bytes), step);
  const paths: string[] = [];
  const nest = mapSignature(step, (_, path) => paths.push(path.join("/")) - 1);
  assertEquals([paths, nest], [["state", "action/b"], { state: 0, action: { b: 1 } }]);
});

Deno.test("a signature may have each dtype that tensors have", () => {
  const all = DTYPES.map(({ name }) => ({ dtype: name, shape: [] }));
  assertEquals(decode(encode(all)), all);
});

Deno.test("a signature is the bytes that TensorFlow writes", () => {
  // Made by nested_structure_coder.encode_structure() of TensorFlow 2.15.1.
  const dict = encode({
    a: { dtype: "float32", shape: [null, 2], name: "x" },
  });
  assertEquals(
    dict.toHex(),
    "aa03220a200a0161121b8a02180a01781211120b08ffffffffffffffffff01120208021801",
  );
  assertEquals(
    [...decodeBytes("a203090a078a020412001804")],
    [{ dtype: "uint8", shape: [] }],
  );
});

for (
  const [what, value, words] of [
    [
      "a number",
      5,
      "signature must be { dtype, shape }, an array of such, or an object of such, got 5",
    ],
    ["an unknown dtype", { dtype: "float", shape: [] }, "signature.dtype must be one of"],
    [
      "a misspelt option",
      { dtype: "int8", shape: [], nmae: "" },
      'signature has no option "nmae"; did you mean name?',
    ],
    [
      "a wrong size",
      [{ dtype: "int8", shape: [1.5] }],
      "signature[0].shape[0] must be a whole number",
    ],
    [
      "a size for a shape",
      { x: { dtype: "float32", shape: 4 } },
      "signature.x.shape must be an array of sizes, such as [4] or [null], or null for any shape, got 4",
    ],
    [
      "no shape",
      { x: { dtype: "float32" } },
      "signature.x.shape must be an array of sizes, such as [4] or [null], or null for any shape, got undefined",
    ],
    [
      "a tuple's fields by name",
      { namedTuple: "Step", fields: { a: { dtype: "int8", shape: [] } } },
      "signature.fields must be an array of [name, column]",
    ],
    ...["in", "_x", "0", ""].map((name) =>
      [
        `a tuple's field ${JSON.stringify(name)}`,
        { namedTuple: "S", fields: [[name, { dtype: "int8", shape: [] }]] },
        "signature.fields[0] must be a name that a namedtuple in Python can have",
      ] as const
    ),
    [
      "a tuple whose class has no name",
      { namedTuple: "a b", fields: [] },
      "signature.namedTuple must be a name that a namedtuple in Python can have",
    ],
    [
      "a tuple's field twice",
      { namedTuple: "_S", fields: [["a", { dtype: "int8", shape: [] }], ["a", []]] },
      "signature.fields[1] must be [name, column] with a name of its own",
    ],
    ["a wrong leaf", { a: { b: null } }, "signature.a.b must be"],
  ] as const
) {
  Deno.test(`a signature with ${what} is refused`, () => {
    assertThrows(() => encode(value), Error, words);
  });
}
