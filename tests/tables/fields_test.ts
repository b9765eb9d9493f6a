/** The field numbers that the kernel reads and writes are those of reverb/reverb.proto. */
import type { DescMessage } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { assert, assertEquals } from "../_assert.ts";
import { file_reverb_reverb } from "../../reverb/messages/reverb_pb.ts";
import { inRepository } from "../../tools/_repository.ts";

/** All messages of a list, and those within them, by their own names. */
function* allMessages(messages: readonly DescMessage[]): Generator<[string, DescMessage]> {
  for (const message of messages) {
    yield [message.name, message];
    yield* allMessages(message.nestedMessages);
  }
}

/** Ours: no message of Reverb has these. */
const OWN = new Set(["removerPriority"]);

Deno.test("kernel/wire/reverb_fields.hpp has the field numbers of reverb.proto", async () => {
  const known = new Map([
    ...allMessages(file_reverb_reverb.messages),
    ["Timestamp", TimestampSchema] as const,
  ]);
  const text = await Deno.readTextFile(inRepository("kernel", "wire", "reverb_fields.hpp"));
  let count = 0;
  for (const [, name = "", body = ""] of text.matchAll(/struct (\w+) \{(.*?)\n\};/gs)) {
    const message = known.get(name);
    assert(message !== undefined, `reverb.proto has no message ${name}`);
    for (const [, field = "", number] of body.matchAll(/\b(\w+) = (\d+)/g)) {
      const theirs = message.fields.find(({ localName }) => localName === field);
      if (OWN.has(field)) {
        assert(!message.fields.some((each) => each.number === Number(number)), `${name}.${field}`);
        continue;
      }
      assertEquals(theirs?.number, Number(number), `${name}.${field}`);
      count++;
    }
  }
  assert(count > 30, `only ${count} fields were found`);
});
