/** The reader of protobuf: what it reads of each kind of field, and that damage is an error. */
import { assertEquals, assertThrows } from "../_assert.ts";
import { ReplayError } from "../../base/errors.ts";
import { bytesOfField, numberOfField } from "../../wire/fields.ts";
import { MessageReader } from "../../wire/message_reader.ts";
import { MessageWriter } from "../../wire/message_writer.ts";

function messageOf(write: (writer: MessageWriter) => void): Uint8Array {
  const writer = new MessageWriter();
  write(writer);
  return writer.message();
}

Deno.test("each field is read as it was written, and others are passed over", () => {
  const message = messageOf((writer) => {
    writer.double(9, 0.5);
    writer.number(1, 300);
    writer.bytes(2, Uint8Array.of(1, 2));
    writer.key(1, { low: 7, high: 0xffffffff });
    writer.bytes(2, Uint8Array.of(3));
    writer.number(2, 5);
  });
  assertEquals(bytesOfField(message, 2).map((bytes) => [...bytes]), [[1, 2], [3]]);
  assertEquals(numberOfField(message, 2), 5n);
  // The last one counts, with all its 64 bits.
  assertEquals(numberOfField(message, 1), 0xffffffff00000007n);
  assertEquals([numberOfField(message, 9), numberOfField(message, 4)], [0n, 0n]);
  const reader = new MessageReader(message);
  const heads: number[] = [];
  while (reader.next()) {
    heads.push(10 * reader.field + reader.kind);
    reader.skip();
  }
  assertEquals(heads, [91, 10, 22, 10, 22, 20]);
});

Deno.test("numbers from 2^31 on, up to 2^53, are exact", () => {
  for (const value of [2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 35 + 3, 2 ** 53 - 1]) {
    const message = messageOf((writer) => writer.long(3, value));
    assertEquals(numberOfField(message, 3), BigInt(value));
  }
});

for (
  const [what, bytes] of [
    ["a number without its end", [8, 0x80]],
    ["a number of eleven bytes", [8, ...Array(11).fill(0x80), 1]],
    ["a field that is longer than its message", [18, 5, 1]],
    ["a length above 32 bits", [18, 0xff, 0xff, 0xff, 0xff, 0x0f]],
    ["a fixed number that is cut", [9, 1, 2, 3]],
    ["a group", [11, 12]],
    ["a field of the number 0", [0, 1]],
  ] as const
) {
  Deno.test(`a message with ${what} is damaged`, () => {
    const error = assertThrows(() => bytesOfField(Uint8Array.from(bytes), 2), ReplayError);
    assertEquals(error.code, "message-damaged");
  });
}
