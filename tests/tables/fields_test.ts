/** The field numbers that are written and read by hand, in the kernel and in TypeScript, are those of the .proto files. */
import type { DescMessage } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { assert, assertEquals } from "../_assert.ts";
import { file_reverb_reverb } from "../../reverb/messages/reverb_pb.ts";
import { file_reverb_tensorflow } from "../../reverb/messages/tensorflow_pb.ts";
import { inRepository } from "../../tools/_repository.ts";
import * as fieldsOfWire from "../../wire/reverb_fields.ts";

/** All messages of a list, and those within them, by their own names. */
function* allMessages(messages: readonly DescMessage[]): Generator<[string, DescMessage]> {
  for (const message of messages) {
    yield [message.name, message];
    yield* allMessages(message.nestedMessages);
  }
}

const known = new Map([
  ...allMessages(file_reverb_reverb.messages),
  ...allMessages(file_reverb_tensorflow.messages),
  ["Timestamp", TimestampSchema] as const,
]);

/** Ours: no message of Reverb has these. */
const OWN_FROM = 100;

/** Throws unless a message has its fields under these numbers. Returns how many are not ours. */
function checkFields(name: string, fields: Iterable<readonly [string, number]>): number {
  const message = known.get(name);
  assert(message !== undefined, `no .proto file has a message ${name}`);
  let count = 0;
  for (const [field, number] of fields) {
    const theirs = message.fields.find(({ localName }) => localName === field);
    if (number < OWN_FROM) {
      assertEquals(theirs?.number, number, `${name}.${field}`);
      count++;
    } else assert(!message.fields.some((each) => each.number === number), `${name}.${field}`);
  }
  return count;
}

Deno.test("kernel/wire/reverb_fields.hpp has the field numbers of the .proto files", async () => {
  const text = await Deno.readTextFile(inRepository("kernel", "wire", "reverb_fields.hpp"));
  let count = 0;
  for (const [, name = "", body = ""] of text.matchAll(/struct (\w+) \{(.*?)\n\};/gs)) {
    const fields = [...body.matchAll(/\b(\w+) = (\d+)/g)];
    count += checkFields(name, fields.map(([, field = "", number]) => [field, Number(number)]));
  }
  assert(count > 45, `only ${count} fields were found`);
});

Deno.test("wire/reverb_fields.ts has the field numbers of the .proto files, and ours as the kernel has them", async () => {
  const text = await Deno.readTextFile(inRepository("kernel", "wire", "reverb_fields.hpp"));
  for (const [name, fields] of Object.entries(fieldsOfWire)) {
    const entries = Object.entries(fields) as [string, number][];
    assert(checkFields(name, entries) > 0, name);
    for (const [field, number] of entries) {
      if (number >= OWN_FROM && field !== "isWhole") {
        assert(text.includes(`${field} = ${number};`), `${name}.${field}`);
      }
    }
  }
});
