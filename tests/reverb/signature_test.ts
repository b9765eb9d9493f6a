/** Signatures to and from TensorFlow's message. */
import { assertEquals, assertThrows } from "@std/assert";
import { decodeSignature, encodeSignature, type Signature } from "../../reverb/signature.ts";

function decodeBytes(hex: string): readonly Signature[] {
  const decoded = decodeSignature(Uint8Array.fromHex(hex));
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
  assertEquals(decodeSignature(encodeSignature("signature", nest)), nest);
});

Deno.test("a signature is the bytes that TensorFlow writes", () => {
  // Made by nested_structure_coder.encode_structure() of TensorFlow 2.15.1.
  const dict = encodeSignature("signature", {
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
      "signature.x.shape must be an array of sizes, such as [4] or [null], got 4",
    ],
    [
      "no shape",
      { x: { dtype: "float32" } },
      "signature.x.shape must be an array of sizes, such as [4] or [null], got undefined",
    ],
    ["a wrong leaf", { a: { b: null } }, "signature.a.b must be"],
  ] as const
) {
  Deno.test(`a signature with ${what} is refused`, () => {
    assertThrows(() => encodeSignature("signature", value), Error, words);
  });
}
