/**
 * Samples that Reverb's own server sent are decoded to what was inserted. `real_samples.json` was printed by `real_samples.py one_step delta
 * trajectory`.
 */
import { assert, assertEquals, assertThrows } from "../_assert.ts";
import { joinBytes } from "../../base/bytes.ts";
import { ReplayError } from "../../base/errors.ts";
import { openKernel } from "../../ffi/library.ts";
import { SampleDecoder, type Samples } from "../../wire/samples.ts";
import { besideReverb, runPython } from "../reverb/_real.ts";
import recorded from "./real_samples.json" with { type: "json" };

/** One column of one sample, as the script prints it. */
interface Inserted {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly hex?: string;
  readonly strings?: readonly string[];
}

interface Case {
  readonly messages: readonly string[];
  readonly samples: readonly (readonly Inserted[])[];
}

/** TensorFlow's numbers, by numpy's names. */
const DTYPES: Readonly<Record<string, number>> = {
  float32: 1,
  float64: 2,
  int32: 3,
  uint8: 4,
  int16: 5,
  int8: 6,
  string: 7,
  complex64: 8,
  int64: 9,
  bool: 10,
  uint16: 17,
  complex128: 18,
  float16: 19,
  uint32: 22,
  uint64: 23,
};

function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: hex.length / 2 }, (_, k) => parseInt(hex.substr(2 * k, 2), 16));
}

/** What one sample has of a column: its shape, and its part of the rows. */
function partOf(samples: Samples, column: number, index: number): Inserted {
  const { dtype, rowShape, length, lengths, isSqueezed, bytes, strings } =
    samples.columns[column] ?? fail();
  const rows = lengths === undefined ? length : lengths[index] ?? fail();
  const before = lengths === undefined
    ? index * length
    : lengths.subarray(0, index).reduce((sum, one) => sum + one, 0);
  const all = lengths === undefined
    ? length * samples.count
    : lengths.reduce((sum, one) => sum + one, 0);
  const name = Object.keys(DTYPES).find((one) => DTYPES[one] === dtype) ?? `dtype ${dtype}`;
  const shape = isSqueezed ? rowShape : [rows, ...rowShape];
  const slice = <T>(items: { slice(from: number, to: number): T; length: number }): T =>
    items.slice(items.length / all * before, items.length / all * (before + rows));
  return strings === undefined
    ? { dtype: name, shape, hex: slice(bytes).toHex() }
    : { dtype: name, shape, strings: slice(strings).map((text) => text.toHex()) };
}

function fail(): never {
  throw new Error("a column is missing");
}

async function decoders(): Promise<[string, SampleDecoder][]> {
  const native = await openKernel({ backend: "native" });
  const wasm = await openKernel({ backend: "wasm" });
  return [["native", new SampleDecoder(native)], ["wasm", new SampleDecoder(wasm)]];
}

async function checkCases(cases: Readonly<Record<string, Case>>): Promise<void> {
  for (const [backend, decoder] of await decoders()) {
    for (const [name, { messages, samples: inserted }] of Object.entries(cases)) {
      const where = `${name} on ${backend}`;
      const message = joinBytes(messages.map(fromHex));
      const samples = decoder.decode(message);
      assertEquals(samples.count, inserted.length, where);
      assertEquals(samples.messageBytes, message.length, where);
      for (const [index, columns] of inserted.entries()) {
        assertEquals(samples.columns.length, columns.length, where);
        for (const [column, wanted] of columns.entries()) {
          assertEquals(
            partOf(samples, column, index),
            wanted,
            `${where}, sample ${index}, column ${column}`,
          );
        }
      }
      assertEquals(new Set(samples.keys).size, inserted.length, where);
      assertEquals([...samples.timesSampled], inserted.map(() => 1), where);
      assertEquals([...samples.probabilities], inserted.map(() => 1), where);
      assertEquals([...samples.tableSizes], inserted.map((_, k) => inserted.length - k), where);
    }
  }
}

Deno.test("samples of Reverb's server decode to what was inserted: all dtypes, delta, ragged, squeezed, strings", async () => {
  await checkCases(recorded.cases);
});

besideReverb(
  "samples that Reverb's server sends now decode to what was inserted, also those in several messages",
  async () => {
    const { cases } = JSON.parse(await runPython(new URL("./real_samples.py", import.meta.url)));
    assertEquals(Object.keys(cases), ["one_step", "delta", "trajectory", "large"]);
    assert(cases.large.messages.length > 1, "the large sample came in one message");
    await checkCases(cases);
  },
);

const [first, second] = (recorded.cases.one_step as Case).messages.map(fromHex);
const oneStep = joinBytes([first ?? fail(), second ?? new Uint8Array(0)]);

Deno.test("priorities and keys of samples are those of their items", async () => {
  for (const [, decoder] of await decoders()) {
    assertEquals([...decoder.decode(oneStep).priorities], [1.5, 1.5]);
    const trajectory = joinBytes((recorded.cases.trajectory as Case).messages.map(fromHex));
    assertEquals([...decoder.decode(trajectory).priorities], [0.5, 0.5, 0.5, 0.5, 0.5]);
  }
});

Deno.test("what is no whole sample stays in the message, and countMax takes some", async () => {
  for (const [, decoder] of await decoders()) {
    const one = decoder.decode(oneStep, { countMax: 1 });
    assertEquals(one.count, 1);
    assert(one.messageBytes > 0 && one.messageBytes < oneStep.length);
    const rest = decoder.decode(oneStep.subarray(one.messageBytes));
    assertEquals(rest.count, 1);
    assertEquals(one.messageBytes + rest.messageBytes, oneStep.length);
    assertEquals(decoder.decode(new Uint8Array(0)).count, 0);
  }
});

function codeOf(call: () => unknown): string {
  return assertThrows(call, ReplayError).code;
}

Deno.test("damaged samples, samples that differ, and samples that unpack to too much are errors with words", async () => {
  const trajectory = joinBytes((recorded.cases.trajectory as Case).messages.map(fromHex));
  for (const [, decoder] of await decoders()) {
    assertEquals(codeOf(() => decoder.decode(joinBytes([oneStep, trajectory]))), "samples-differ");
    assertEquals(codeOf(() => decoder.decode(oneStep.subarray(0, 500))), "message-damaged");
    assertEquals(codeOf(() => decoder.decode(oneStep, { bytesMax: 100 })), "message-damaged");
    const error = assertThrows(() => decoder.decode(Uint8Array.of(0x0A, 2, 0x18, 1)), ReplayError);
    assertEquals(
      error.message,
      "decode samples: sample 0, column 0: the sample comes without its item",
    );
    // The buffers are as good as before.
    assertEquals(decoder.decode(oneStep).count, 2);
  }
});
