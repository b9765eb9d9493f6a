/** Our description of Reverb's messages says what the wheel of dm-reverb says. */
import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { assert, assertEquals } from "../_assert.ts";
import { file_reverb_reverb, ReverbService } from "../../reverb/messages/reverb_pb.ts";
import { file_reverb_tensorflow } from "../../reverb/messages/tensorflow_pb.ts";
import { besideReverb, runPython } from "./_real.ts";

/** A field, as both sides describe it. */
interface Field {
  readonly number: number;
  /** The number of its type in the descriptors of Protocol Buffers. */
  readonly type: number;
  readonly repeated: boolean;
  /** The message or enum, without a leading dot; "" for numbers and texts. */
  readonly typeName: string;
  readonly oneof: string;
}

interface Description {
  readonly messages: Record<string, Record<string, Field & { readonly deprecated: boolean }>>;
  readonly enums: Record<string, Record<string, number>>;
  readonly methods: Record<string, unknown>;
}

/** The fields that we leave out: no replay uses them, or a reader of old checkpoints reads them without a description. */
const leftOut: Record<string, readonly string[]> = {
  "deepmind.reverb.PriorityTableCheckpoint": ["deprecated_items"],
  "tensorflow.TensorProto": [
    ...["version_number", "resource_handle_val", "variant_val", "half_val", "float_val"],
    ...["double_val", "int_val", "scomplex_val", "int64_val", "bool_val", "dcomplex_val"],
    ...["uint32_val", "uint64_val", "float8_val"],
  ],
  "tensorflow.BoundedTensorSpecProto": ["minimum", "maximum"],
  "tensorflow.StructuredValue": ["type_spec_value", "tensor_value", "numpy_value"],
};

function describeField(field: DescField): Field {
  const { proto } = field;
  return {
    number: field.number,
    type: proto.type,
    repeated: proto.label === 3,
    typeName: proto.typeName.replace(/^\./, ""),
    oneof: field.oneof?.name ?? "",
  };
}

function describeMessages(
  messages: readonly DescMessage[],
): Record<string, Record<string, Field>> {
  const found: Record<string, Record<string, Field>> = {};
  for (const message of messages) {
    found[message.typeName] = Object.fromEntries(
      message.fields.map((field) => [field.name, describeField(field)]),
    );
    Object.assign(found, describeMessages(message.nestedMessages));
  }
  return found;
}

function describeEnum(one: DescEnum): Record<string, number> {
  return Object.fromEntries(one.values.map(({ name, number }) => [name, number]));
}

const files = [file_reverb_reverb, file_reverb_tensorflow];

async function theirs(): Promise<Description> {
  return JSON.parse(await runPython(new URL("_descriptors.py", import.meta.url)));
}

besideReverb("our messages have the names, numbers and types of dm-reverb's", async () => {
  const their = await theirs();
  const ours = describeMessages(files.flatMap((file) => file.messages));
  for (const [name, fields] of Object.entries(ours)) {
    // What a map's entry is called is not on the wire, and TensorFlow's entries are listed like ours.
    const known = their.messages[name];
    assert(known !== undefined, `dm-reverb has no message ${name}`);
    const kept = Object.entries(known).filter(([field]) => !leftOut[name]?.includes(field)).map((
      [field, { deprecated: _, ...rest }],
    ) => [field, rest]);
    assertEquals(fields, Object.fromEntries(kept), name);
  }
  for (const one of files.flatMap((file) => file.enums)) {
    const known = Object.entries(their.enums[one.typeName] ?? {});
    assertEquals(
      describeEnum(one),
      Object.fromEntries(known.filter(([name]) => !name.endsWith("_REF"))),
      one.typeName,
    );
  }
  const methods = ReverbService.methods.map((method) => [
    `${ReverbService.typeName}/${method.name}`,
    {
      input: method.input.typeName,
      output: method.output.typeName,
      clientStreaming: method.methodKind === "bidi_streaming",
      serverStreaming: method.methodKind === "bidi_streaming",
    },
  ]);
  assertEquals(Object.fromEntries(methods), their.methods);
});

Deno.test("no number is used twice in a message", () => {
  for (
    const [name, fields] of Object.entries(describeMessages(files.flatMap((it) => it.messages)))
  ) {
    const numbers = Object.values(fields).map(({ number }) => number);
    assertEquals(new Set(numbers).size, numbers.length, name);
  }
});
