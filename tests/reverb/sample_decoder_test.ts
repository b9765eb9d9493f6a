/**
 * Samples that Reverb's own server sent are decoded to what was inserted. `real_samples.json` was printed by `real_samples.py one_step delta
 * trajectory`.
 */
import { assert, assertEquals, assertThrows } from "../_assert.ts";
import { joinBytes } from "../../base/bytes.ts";
import { bytesOf } from "../../base/typed_arrays.ts";
import { ReplayError } from "../../base/errors.ts";
import { openKernel } from "../../ffi/library.ts";
import { SampleDecoder, type Samples } from "../../reverb/sample_decoder.ts";
import { besideReverb, runPython } from "./_real.ts";
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

function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: hex.length / 2 }, (_, k) => parseInt(hex.substr(2 * k, 2), 16));
}

/** What one sample has of a column: its shape, and its part of the rows. */
function partOf(samples: Samples, column: number, index: number): Inserted {
  const { dtype, shape: [all = 0, ...rest], data, lengths } = samples.columns[column] ?? fail();
  // One of `all` parts for each sample, or each step where they have different numbers of steps.
  const count = lengths === undefined ? 1 : lengths[index] ?? fail();
  const before = lengths?.subarray(0, index).reduce((sum, one) => sum + one, 0) ?? index;
  const shape = lengths === undefined ? rest : [count, ...rest];
  const slice = <T>(items: { slice(from: number, to: number): T; length: number }): T =>
    items.slice(items.length / all * before, items.length / all * (before + count));
  return ArrayBuffer.isView(data)
    ? { dtype, shape, hex: slice(bytesOf(data)).toHex() }
    : { dtype, shape, strings: slice(data).map((text) => text.toHex()) };
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
      assertEquals(samples.size, inserted.length, where);
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
      assertEquals([...samples.probability], inserted.map(() => 1), where);
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

Deno.test("a sample without its last entry is not given", async () => {
  const begun = Uint8Array.of(0x0A, 0); // an entry that does not say that it is the last one
  for (const [, decoder] of await decoders()) {
    assertEquals(decoder.decode(joinBytes([oneStep, begun])).size, 2);
    assertEquals(decoder.decode(begun).size, 0);
    assertEquals(decoder.decode(new Uint8Array(0)).size, 0);
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
    assertEquals(codeOf(() => decoder.decode(oneStep, 100)), "message-damaged");
    const error = assertThrows(() => decoder.decode(Uint8Array.of(0x0A, 2, 0x18, 1)), ReplayError);
    assertEquals(
      error.message,
      "decode samples: sample 0, column 0: the sample comes without its item",
    );
    // The buffers are as good as before.
    assertEquals(decoder.decode(oneStep).size, 2);
  }
});
