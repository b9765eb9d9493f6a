/**
 * Reads a SampleStreamRequest by hand: clients send one for each sample or few, and generated code takes microseconds for it.
 *
 * A test compares it with the generated code, message by message.
 *
 * @module
 */
import { DamagedMessage, MessageReader } from "../wire/message_reader.ts";
import { SampleStreamRequest as Fields, Timeout } from "../wire/reverb_fields.ts";

/** What a request asks for. Numbers that a double can't hold are rounded. */
export interface SampleRequest {
  /** The table's name. */
  readonly table: string;
  /** How many samples; it may be 0 or negative. */
  readonly sampleCount: number;
  /** Milliseconds that the rate limiter may let it wait; -1 for ever. */
  readonly timeoutMs: number;
  /** Whether the client wants all samples or none. */
  readonly isWhole: boolean;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Names are mostly the same: the bytes of the last one, and what they mean. */
let lastBytes: Uint8Array = new Uint8Array(0);
let lastName = "";

/** Reads a request; undefined where the bytes are none. */
export function readSampleRequest(bytes: Uint8Array): SampleRequest | undefined {
  try {
    return read(new MessageReader(bytes));
  } catch (error) {
    if (error instanceof DamagedMessage || error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Throws DamagedMessage, or TypeError for a name that is no UTF-8. */
function read(reader: MessageReader): SampleRequest {
  let table = "";
  let sampleCount = 0;
  let timeoutMs: number | undefined;
  let isWhole = false;
  while (reader.next()) {
    const { field, kind } = reader;
    if (field === Fields.table && kind === 2) table = textOf(reader.bytes());
    else if (field === Fields.numSamples && kind === 0) sampleCount = signed(reader);
    else if (field === Fields.rateLimiterTimeout && kind === 2) {
      timeoutMs ??= 0;
      const timeout = new MessageReader(reader.bytes());
      while (timeout.next()) {
        if (timeout.field === Timeout.milliseconds && timeout.kind === 0) {
          timeoutMs = signed(timeout);
        } else timeout.skip();
      }
    } else if (field === Fields.isWhole && kind === 0) isWhole = signed(reader) !== 0;
    else reader.skip();
  }
  return { table, sampleCount, timeoutMs: timeoutMs ?? -1, isWhole };
}

/** A number of 64 bits with a sign, rounded to a double. */
function signed(reader: MessageReader): number {
  const { low, high } = reader.key();
  return (high | 0) * 2 ** 32 + low;
}

function textOf(bytes: Uint8Array): string {
  if (isLast(bytes)) return lastName;
  const own = bytes.slice();
  lastName = decoder.decode(own);
  lastBytes = own;
  return lastName;
}

function isLast(bytes: Uint8Array): boolean {
  return bytes.length === lastBytes.length && bytes.every((byte, k) => byte === lastBytes[k]);
}
