/**
 * A server without a network: it keeps every message of a writer, and confirms items when it is told to.
 *
 * It holds a writer to the rules of a real server: an item needs chunks that the stream has, and what is to be kept must be there.
 */
import { fromBinary } from "@bufbuild/protobuf";
import { openKernel } from "../../ffi/library.ts";
import { MessageWriter } from "../../wire/message_writer.ts";
import type { Call, CallEvents } from "../../reverb/channel.ts";
import { ItemStream } from "../../reverb/item_stream.ts";
import { keyOf } from "../../wire/keys.ts";
import { ReverbError } from "../../reverb/errors.ts";
import {
  type ChunkData,
  type InsertStreamRequest,
  InsertStreamRequestSchema,
  type PrioritizedItem,
} from "../../reverb/messages/reverb_pb.ts";
import type { WriterDoor } from "../../reverb/item_writer.ts";
import { ChunkEncoder } from "../../wire/new_rows.ts";
import { decodeTensor } from "../wire/_tensors.ts";
import type { Signatures } from "../../reverb/check_item.ts";

const kernel = await openKernel();

/** A server that is in the test's hands. */
export class FakeChannel {
  /** All messages, in order. */
  readonly messages: InsertStreamRequest[] = [];
  /** All items, in the order in which they came; those that came twice, twice. */
  readonly items: PrioritizedItem[] = [];
  /** All chunks that ever came. */
  readonly chunks: Map<bigint, ChunkData> = new Map();
  /** The chunks that the stream keeps now. */
  kept: Set<bigint> = new Set();
  /** Whether each item is confirmed at once. */
  isConfirming = true;
  /** Streams that were begun. */
  streams = 0;
  /** Whether the client has ended the last stream in peace. */
  isEnded = false;
  readonly isClosed = false;
  #events: CallEvents | undefined;

  open(_method: string, events: CallEvents): Call {
    this.streams += 1;
    this.#events = events;
    this.kept = new Set();
    return {
      write: (framed) => this.#read(framed, events),
      halfClose: () => {
        this.isEnded = true;
        queueMicrotask(() => events.onEnd(undefined));
      },
      cancel: () => {},
    };
  }

  #read(framed: Uint8Array, events: CallEvents): boolean {
    const length = new DataView(framed.buffer, framed.byteOffset).getUint32(1);
    if (framed[0] !== 0 || length !== framed.length - 5) throw new Error("a prefix is wrong");
    const message = fromBinary(InsertStreamRequestSchema, framed.subarray(5));
    this.messages.push(message);
    for (const chunk of message.chunks) {
      this.chunks.set(chunk.chunkKey, chunk);
      this.kept.add(chunk.chunkKey);
    }
    for (const item of message.items) this.#take(item);
    if (message.items.length === 0) return true;
    const kept = new Set(message.keepChunkKeys);
    if (kept.size !== message.keepChunkKeys.length) throw new Error("a key is kept twice");
    for (const key of kept) {
      if (!this.kept.has(key)) throw new Error(`chunk ${key} is not there to be kept`);
    }
    this.kept = kept;
    if (this.isConfirming) {
      const keys = message.items.map(({ key }) => key);
      queueMicrotask(() => this.confirm(keys, events));
    }
    return true;
  }

  #take(item: PrioritizedItem): void {
    this.items.push(item);
    for (const { chunkSlices } of item.flatTrajectory?.columns ?? []) {
      for (const { chunkKey } of chunkSlices) {
        if (!this.kept.has(chunkKey)) {
          throw new Error(`chunk ${chunkKey} did not come before its item`);
        }
      }
    }
  }

  /** Confirms some items. */
  confirm(keys: readonly bigint[], events = this.#events): void {
    const writer = new MessageWriter();
    writer.keys(1, keys.map(keyOf));
    events?.onMessage(writer.message());
  }

  /** Ends the stream as a server that dies does, or by an error of its own. */
  end(error: ReverbError | undefined = new ReverbError("unavailable", "it was killed")): void {
    this.#events?.onEnd(error);
  }

  /** The values of an item's columns, decoded: one array a column. */
  values(item: PrioritizedItem): (number | bigint | string)[][] {
    return (item.flatTrajectory?.columns ?? []).map(({ chunkSlices }) =>
      chunkSlices.flatMap(({ chunkKey, offset, length, index }): (number | bigint | string)[] => {
        const chunk = this.chunks.get(chunkKey);
        const tensor = chunk?.data?.tensors[index];
        if (tensor === undefined) throw new Error("a slice of nothing");
        const [rows = 1n, ...row] = (tensor.tensorShape?.dim ?? []).map(({ size }) => size);
        const elements = Number(row.reduce((product, size) => product * size, 1n));
        if (offset + length > Number(rows)) throw new Error("a slice is longer than its chunk");
        const all: (number | bigint | string)[] = tensor.dtype === 7
          ? tensor.stringVal.map((text) => new TextDecoder().decode(text))
          : numbersOf(tensor.dtype, decodeTensor(kernel, tensor, chunk?.deltaEncoded === true));
        return all.slice(offset * elements, (offset + length) * elements);
      })
    );
  }
}

/** Writes chunks for the tests. */
export const encoder: ChunkEncoder = new ChunkEncoder(kernel);

function numbersOf(dtype: number, bytes: Uint8Array<ArrayBuffer>): (number | bigint)[] {
  const { buffer } = bytes;
  if (dtype === 1) return [...new Float32Array(buffer)];
  if (dtype === 2) return [...new Float64Array(buffer)];
  if (dtype === 3) return [...new Int32Array(buffer)];
  if (dtype === 9) return [...new BigInt64Array(buffer)];
  return [...bytes];
}

/** What a writer needs of a client. */
export function doorTo(channel: FakeChannel, signatures?: Signatures): WriterDoor {
  return { stream: new ItemStream(channel), encoder, signatures };
}
