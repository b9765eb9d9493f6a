/** The requests for samples that are read by hand mean what generated code says. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { assert, assertEquals } from "../_assert.ts";
import { SampleStreamRequestSchema } from "../../reverb/messages/reverb_pb.ts";
import { readSampleRequest, type SampleRequest } from "../../reverb/sample_request.ts";

/** What generated code reads. */
function plainly(bytes: Uint8Array): SampleRequest | undefined {
  try {
    const { table, numSamples, rateLimiterTimeout } = fromBinary(SampleStreamRequestSchema, bytes);
    return {
      table,
      sampleCount: Number(numSamples),
      timeoutMs: Number(rateLimiterTimeout?.milliseconds ?? -1n),
      isWhole: false,
    };
  } catch {
    return undefined;
  }
}

const names = ["u", "", "a table", "größer 桌", "u"];
const numbers = [
  0n,
  1n,
  -1n,
  127n,
  128n,
  300n,
  1n << 31n,
  1n << 40n,
  (1n << 53n) - 1n,
  -(1n << 63n),
];

Deno.test("readSampleRequest() reads what generated code writes, whole and cut", () => {
  let good = 0;
  for (const table of names) {
    for (const numSamples of numbers) {
      for (const milliseconds of [undefined, ...numbers]) {
        const request = { table, numSamples };
        const message = milliseconds === undefined
          ? request
          : { ...request, rateLimiterTimeout: { milliseconds } };
        const whole = toBinary(
          SampleStreamRequestSchema,
          create(SampleStreamRequestSchema, message),
        );
        assertEquals(readSampleRequest(whole), plainly(whole));
        assert(readSampleRequest(whole) !== undefined);
        for (let size = 0; size < whole.length; size++) {
          const cut = whole.subarray(0, size);
          const read = readSampleRequest(cut);
          assertEquals(read, plainly(cut));
          good += read === undefined ? 0 : 1;
        }
      }
    }
  }
  assert(good > 1000);
});

Deno.test("readSampleRequest() passes over fields that it does not know, and takes the last of two", () => {
  const twice = [10, 1, 117, 16, 5, 10, 1, 118, 16, 6, 26, 2, 8, 7, 26, 2, 8, 9];
  const unknown = [
    ...[0x20, 1, 0x29, 1, 2, 3, 4, 5, 6, 7, 8, 0x35, 1, 2, 3, 4, 0x3a, 2, 1, 2],
    ...[0x80, 0x80, 0x04, 0x05],
  ];
  const bytes = Uint8Array.from([...unknown, ...twice, ...unknown]);
  assertEquals(readSampleRequest(bytes), {
    table: "v",
    sampleCount: 6,
    timeoutMs: 9,
    isWhole: false,
  });
  assertEquals(readSampleRequest(bytes), plainly(bytes));
  assertEquals(readSampleRequest(Uint8Array.of(...bytes, 0xa0, 0x06, 1))?.isWhole, true);
});

Deno.test("readSampleRequest() refuses what is no message", () => {
  for (
    const bytes of [
      [0], // no field
      [10, 5, 117], // a name that is cut
      [10, 1, 0xff], // no text
      [16, ...new Array(10).fill(0xff), 1], // a number without end
      [26, 2, 8], // a timeout that is cut
      [26, 1, 8], // a number that is missing
      [14], // a kind of field that does not exist
    ]
  ) {
    assertEquals(readSampleRequest(Uint8Array.from(bytes)), undefined, String(bytes));
    assertEquals(plainly(Uint8Array.from(bytes)), undefined, String(bytes));
  }
});
