/** Messages of many parts, and what a shard keeps of its actors: it comes back as it was, and lengths that lie are refused. */
import { assertEquals, assertThrows } from "../_assert.ts";
import { ReplayError } from "@exrp/replay";
import { openKernel } from "../../ffi/library.ts";
import { Ledger } from "../../shards/_actor_ledger.ts";
import { CALL, readChunk, writeCall, writeChunk } from "../../shards/_chunk_message.ts";
import { randomId } from "../../shards/_message_bytes.ts";

Deno.test("a chunk may have as many calls as its bytes hold", async () => {
  const { symbols } = await openKernel();
  const payload = new Uint8Array(8);
  const call = writeCall({ kind: CALL.row, flags: 0, count: 1, stream: 3, tag: 0, payload });
  // More than a function can be given as arguments.
  const calls = new Array<Uint8Array>(300_000).fill(call);
  const chunk = readChunk(symbols, 7, writeChunk(symbols, 7, randomId(), 1, calls));
  assertEquals([chunk.calls.length, chunk.recordCount], [calls.length, calls.length]);
});

/** What is known of all actors, as plain values. */
function entriesOf(ledger: Ledger): unknown[] {
  return Array.from(
    ledger.actors,
    ({ id, last, streams, refused }) => [id, last, [...streams], refused],
  );
}

Deno.test("what a shard keeps of its actors comes back, and lengths that lie are refused", () => {
  const ledger = new Ledger();
  for (let k = 0; k < 4; k++) {
    const entry = ledger.entry(randomId());
    entry.last = 2 ** 40 + k;
    for (let stream = 0; stream < 3 * k; stream++) entry.streams.set(7 * stream, 2 ** 33 + stream);
    // Of odd lengths, so what is behind a text begins anywhere.
    if (k > 1) entry.refused = { number: k, text: "é".repeat(k) + "!" };
  }
  ledger.changed();
  const bytes = ledger.save();
  const other = new Ledger();
  other.load(bytes);
  assertEquals(entriesOf(other), entriesOf(ledger));

  // The last actor: how many streams it has, and the bytes of its text.
  const at = bytes.length - 7 - 12 * 9 - 8;
  const view = new DataView(bytes.buffer);
  assertEquals([view.getUint32(at, true), view.getUint32(at + 4, true)], [9, 7]);
  for (const [place, lie] of [[at, 10], [at, 2 ** 32 - 1], [at + 4, 8], [at + 4, 2 ** 32 - 1]]) {
    const damaged = bytes.slice();
    new DataView(damaged.buffer).setUint32(place as number, lie as number, true);
    const error = assertThrows(() => new Ledger().load(damaged), ReplayError, "and needs");
    assertEquals(error.code, "shard-message");
  }
});
