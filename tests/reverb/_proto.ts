/**
 * Reverb's messages as plain objects, read and written by a table of field numbers. It is written apart from the server's own code,
 * so that both can be held to each other. 64-bit whole numbers are bigint, other numbers number, bytes Uint8Array.
 */

type Kind =
  | "uint64"
  | "int64"
  | "int32"
  | "bool"
  | "double"
  | "string"
  | "bytes"
  | { readonly message: string };

interface Field {
  readonly name: string;
  readonly kind: Kind;
  readonly isRepeated: boolean;
}

/** Each line: a message, and its fields as `number name kind`; `*` after a kind is for repeated ones. */
const TEXT = `
InsertStreamRequest 1 chunks ChunkData* 2 items PrioritizedItem* 3 keep_chunk_keys uint64*
InsertStreamResponse 1 keys uint64*
SampleStreamRequest 1 table string 2 num_samples int64 3 rate_limiter_timeout Timeout
SampleStreamResponse 1 entries SampleEntry*
SampleEntry 1 info SampleInfo 2 data ChunkData* 3 end_of_sequence bool
Timeout 1 milliseconds int64
MutatePrioritiesRequest 1 table string 2 updates KeyWithPriority* 3 delete_keys uint64*
MutatePrioritiesResponse
KeyWithPriority 1 key uint64 2 priority double
ResetRequest 1 table string
ResetResponse
CheckpointRequest
CheckpointResponse 1 checkpoint_path string
InitializeConnectionRequest 1 pid int64 2 table_name string 3 ownership_transferred bool
InitializeConnectionResponse 1 address int64
ServerInfoRequest
ServerInfoResponse 1 tables_state_id Uint128 2 table_info TableInfo*
Uint128 1 high uint64 2 low uint64
ChunkData 1 chunk_key uint64 2 sequence_range SequenceRange 4 delta_encoded bool 5 data Data 6 data_tensors_len int32 7 data_uncompressed_size int64
Data 1 tensors bytes*
SequenceRange 1 episode_id uint64 2 start int32 3 end int32 4 sparse bool
PrioritizedItem 1 key uint64 2 table string 5 priority double 6 times_sampled int32 7 inserted_at Timestamp 8 flat_trajectory FlatTrajectory
Timestamp 1 seconds int64 2 nanos int32
FlatTrajectory 1 columns Column*
Column 1 chunk_slices ChunkSlice* 2 squeeze bool
ChunkSlice 1 chunk_key uint64 2 offset int32 3 length int32 4 index int32
SampleInfo 1 item PrioritizedItem 2 probability double 3 table_size int64 4 rate_limited bool
TableInfo 1 sampler_options KeyDistributionOptions 2 remover_options KeyDistributionOptions 3 max_size int64 4 max_times_sampled int32 5 rate_limiter_info RateLimiterInfo 6 signature bytes 7 current_size int64 8 name string 9 num_episodes int64 10 num_deleted_episodes int64 11 num_unique_samples int64 12 table_worker_time TableWorkerTime
RateLimiterInfo 1 samples_per_insert double 2 min_diff double 3 max_diff double 4 min_size_to_sample int64 5 insert_stats RateLimiterCallStats 6 sample_stats RateLimiterCallStats
RateLimiterCallStats 2 completed int64
TableWorkerTime 1 running_ms int64 2 sampling_ms int64 3 inserting_ms int64 4 sleeping_ms int64 5 waiting_for_sampling_ms int64 6 waiting_for_inserts_ms int64
KeyDistributionOptions 1 fifo bool 2 uniform bool 3 prioritized Prioritized 4 heap Heap 6 lifo bool 7 is_deterministic bool
Prioritized 1 priority_exponent double
Heap 1 min_heap bool
`;

const plain = ["uint64", "int64", "int32", "bool", "double", "string", "bytes"] as const;

function parseKind(text: string): Kind {
  return plain.find((kind) => kind === text) ?? { message: text };
}

const messages = new Map<string, Map<number, Field>>();
for (const line of TEXT.trim().split("\n")) {
  const [message = "", ...words] = line.split(" ");
  const fields = new Map<number, Field>();
  for (let at = 0; at < words.length; at += 3) {
    const [number = "", name = "", kind = ""] = words.slice(at, at + 3);
    const isRepeated = kind.endsWith("*");
    fields.set(Number(number), { name, kind: parseKind(kind.replace("*", "")), isRepeated });
  }
  messages.set(message, fields);
}

/** A message as an object. Fields that were not sent are missing. */
// deno-lint-ignore no-explicit-any -- a test says by its use which field it means
export type Message = Record<string, any>;

function fieldsOf(message: string): Map<number, Field> {
  const fields = messages.get(message);
  if (fields === undefined) throw new Error(`there is no message ${message}`);
  return fields;
}

class Reader {
  at = 0;
  readonly bytes: Uint8Array;
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new Error("the message ends within a number");
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw new Error("a number is too long");
  }
  take(count: number): Uint8Array {
    if (this.at + count > this.bytes.length) throw new Error("the message ends within a field");
    return this.bytes.subarray(this.at, this.at += count);
  }
}

function readPlain(kind: Kind, raw: bigint | Uint8Array): unknown {
  if (typeof kind === "object") return decode(kind.message, raw as Uint8Array);
  if (typeof raw === "bigint") {
    if (kind === "bool") return raw !== 0n;
    if (kind === "int32") return Number(BigInt.asIntN(32, raw));
    return kind === "int64" ? BigInt.asIntN(64, raw) : raw;
  }
  if (kind === "double") return new DataView(raw.buffer, raw.byteOffset).getFloat64(0, true);
  return kind === "string" ? new TextDecoder().decode(raw) : raw;
}

/** Reads a message. An unknown field is an error. */
export function decode(message: string, bytes: Uint8Array): Message {
  const fields = fieldsOf(message);
  const result: Message = {};
  for (const { name, isRepeated } of fields.values()) if (isRepeated) result[name] = [];
  const reader = new Reader(bytes);
  while (reader.at < bytes.length) {
    const tag = Number(reader.varint());
    const field = fields.get(tag >> 3);
    if (field === undefined) throw new Error(`${message} has no field ${tag >> 3}`);
    const wire = tag & 7;
    if (wire === 2 && field.kind === "uint64") {
      const packed = new Reader(reader.take(Number(reader.varint())));
      while (packed.at < packed.bytes.length) result[field.name].push(packed.varint());
      continue;
    }
    const raw = wire === 0
      ? reader.varint()
      : reader.take(wire === 1 ? 8 : Number(reader.varint()));
    const value = readPlain(field.kind, raw);
    if (field.isRepeated) result[field.name].push(value);
    else result[field.name] = value;
  }
  return result;
}

function varint(value: bigint | number | boolean, out: number[]): void {
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
  out.push(Number(rest));
}

// deno-lint-ignore no-explicit-any -- see Message
function write(number: number, kind: Kind, value: any, out: number[]): void {
  const wire = kind === "double"
    ? 1
    : typeof kind === "object" || kind === "string" || kind === "bytes"
    ? 2
    : 0;
  varint(number << 3 | wire, out);
  if (wire === 0) return varint(value, out);
  if (wire === 1) {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setFloat64(0, value, true);
    return void out.push(...bytes);
  }
  const bytes = typeof kind === "object"
    ? encode(kind.message, value)
    : kind === "string"
    ? new TextEncoder().encode(value)
    : value as Uint8Array;
  varint(bytes.length, out);
  for (const byte of bytes) out.push(byte);
}

/** Writes a message. A field that the message does not have is an error. */
export function encode(message: string, value: Message): Uint8Array<ArrayBuffer> {
  const fields = fieldsOf(message);
  const out: number[] = [];
  const names = new Set([...fields.values()].map(({ name }) => name));
  for (const name of Object.keys(value)) {
    if (!names.has(name)) throw new Error(`${message} has no field ${name}`);
  }
  for (const [number, { name, kind, isRepeated }] of fields) {
    const given = value[name];
    if (given === undefined) continue;
    for (const each of isRepeated ? given : [given]) write(number, kind, each, out);
  }
  return Uint8Array.from(out);
}
