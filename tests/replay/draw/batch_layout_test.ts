/** The memory of batches: handed back, it is used again, and nobody sees what becomes of it. */

import { type Batch, prioritized, uniform } from "@exrp/replay";
import { assert, assertEquals, assertNotStrictEquals, assertThrows } from "../../_assert.ts";
import { recordEpisode, smallReplay } from "../_helpers.ts";
import { native } from "../../_native.ts";

type AnyBatch = Batch;

/** A byte between two parts: the kernel never writes it, so that it tells whose memory this was. */
function markOf(batch: AnyBatch): number {
  const { byteOffset, byteLength } = batch.seqLen;
  return byteOffset + byteLength;
}

function mark(batch: AnyBatch, value: number): void {
  assert(markOf(batch) % 64 !== 0, "there is nothing between the parts");
  batch.bytes[markOf(batch)] = value;
}

function marksOf(batches: readonly AnyBatch[]): (number | undefined)[] {
  return batches.map((batch) => batch.bytes[markOf(batch)]);
}

/** The lengths of all arrays of a batch. */
function lengthsOf(batch: AnyBatch): number[] {
  return [
    batch.bytes,
    batch.state,
    batch.action,
    batch.reward,
    batch.nextState,
    batch.seqLen,
    batch.nextSeqLen,
    batch.pickEpisode,
    batch.pickPosition,
    batch.probability,
    batch.importanceWeight,
    batch.discount,
  ].map(({ length }) => length);
}

native.test("a batch that was handed back is empty, and its memory is the next one's", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(uniform());
  recordEpisode(replay, 20);
  const first = replay.getBatch(5, selector);
  mark(first, 7);
  const { state, bytes: { buffer } } = first;
  first[Symbol.dispose]();
  assertEquals(new Set(lengthsOf(first)), new Set([0]));
  assertEquals([state.length, buffer.byteLength, buffer.detached], [0, 0, true]);
  const second = replay.getBatch(5, selector);
  assertEquals(marksOf([second]), [7]);
  assertNotStrictEquals(second, first);
  assertEquals(new Set(lengthsOf(first)), new Set([0]));
  // A given batch is not handed out again. Neither is a batch of another size or view.
  assertEquals(marksOf([replay.getBatch(5, selector)]), [0]);
  second[Symbol.dispose]();
  const other = replay.newPickView({ allowShort: true }).newPickSelector(uniform());
  assertEquals(marksOf([replay.getBatch(6, selector), replay.getBatch(5, other)]), [0, 0]);
  assertEquals(marksOf([replay.getBatch(5, selector)]), [7]);
});

Deno.test("draws are the same whether memory is used again or not", async () => {
  using kept = await smallReplay({ seed: 5 });
  using handed = await smallReplay({ seed: 5 });
  const selectors = [kept, handed].map((replay) => replay.newPickSelector(uniform()));
  const [a, b] = selectors;
  assert(a !== undefined && b !== undefined);
  for (let turn = 0; turn < 30; turn++) {
    for (const replay of [kept, handed]) recordEpisode(replay, 1 + turn % 7, turn);
    using batch = handed.getBatch(9, b);
    // The call must overwrite every old byte.
    assertEquals(batch.bytes, kept.getBatch(9, a).bytes);
    for (const part of [batch.state, batch.nextState, batch.discount]) part.fill(99);
    for (const part of [batch.pickEpisode, batch.probability, batch.seqLen]) part.fill(99);
  }
});

native.test("four batches are kept of what is handed back", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(uniform());
  recordEpisode(replay, 20);
  const draw = (): AnyBatch[] => Array.from({ length: 6 }, () => replay.getBatch(5, selector));
  for (const [k, batch] of draw().entries()) {
    mark(batch, 1 + k);
    batch[Symbol.dispose]();
  }
  assertEquals(marksOf(draw()).toSorted(), [0, 0, 1, 2, 3, 4]);
});

native.test("what has no memory can't be handed back, nor be written into", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(uniform());
  recordEpisode(replay, 20);
  const twice = replay.getBatch(5, selector);
  mark(twice, 7);
  twice[Symbol.dispose]();
  twice[Symbol.dispose]();
  assertEquals(marksOf([replay.getBatch(5, selector), replay.getBatch(5, selector)]), [7, 0]);
  const sent = replay.getBatch(5, selector);
  mark(sent, 8);
  const at = markOf(sent);
  const received = structuredClone(sent.bytes, { transfer: [sent.bytes.buffer] });
  sent[Symbol.dispose]();
  assertEquals(received[at], 8);
  assertEquals(marksOf([replay.getBatch(5, selector)]), [0]);
  for (const into of [twice, sent]) {
    assertThrows(() => replay.getBatch(5, selector, { into }), TypeError, "lost its memory");
  }
});

Deno.test("priorities can't be set by what is left of a batch that was handed back", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(prioritized());
  recordEpisode(replay, 20);
  const batch = replay.getBatch(5, selector);
  const { pickEpisode, pickPosition, importanceWeight } = batch;
  batch[Symbol.dispose]();
  assertThrows(
    () => replay.setPriority(selector, pickEpisode, pickPosition, importanceWeight),
    TypeError,
    "pickEpisode has lost its memory: its batch was handed back",
  );
  assertEquals(replay.setPriority(selector, new Float64Array(0), new Int32Array(0), []), 0);
});

Deno.test("a batch outlives its replay, and may be handed back then", async () => {
  const replay = await smallReplay();
  const selector = replay.newPickSelector(uniform());
  recordEpisode(replay, 20);
  const batch = replay.getBatch(5, selector);
  replay[Symbol.dispose]();
  assertEquals(batch.seqLen.length, 5);
  batch[Symbol.dispose]();
  assertEquals(batch.seqLen.length, 0);
});

Deno.test("batches() gives good batches whatever of the earlier ones is handed back", async () => {
  for (const reuse of [false, true]) {
    using replay = await smallReplay({ seed: 5 });
    using twin = await smallReplay({ seed: 5 });
    recordEpisode(replay, 50);
    recordEpisode(twin, 50);
    const selector = replay.newPickSelector(uniform());
    const twinSelector = twin.newPickSelector(uniform());
    const earlier: AnyBatch[] = [];
    let turn = 0;
    for await (const batch of replay.batches(9, selector, { reuse, prefetch: 2 })) {
      assertEquals(batch.bytes, twin.getBatch(9, twinSelector).bytes);
      // At once, and long after it was given.
      if (turn % 3 === 0) batch[Symbol.dispose]();
      if (turn % 5 === 4) earlier.shift()?.[Symbol.dispose]();
      earlier.push(batch);
      if (++turn === 60) break;
    }
  }
});

Deno.test("a batch of batches() with reuse can't be handed back when the next was asked for", async () => {
  using replay = await smallReplay();
  recordEpisode(replay, 50);
  const selector = replay.newPickSelector(uniform());
  const stream = replay.batches(9, selector, { reuse: true, prefetch: 1 });
  const { value: first } = await stream.next();
  assert(first !== undefined);
  await stream.next();
  first[Symbol.dispose]();
  assertEquals(first.seqLen.length, 9);
  await stream.next(); // which is the first again
  first[Symbol.dispose]();
  assertEquals(first.seqLen.length, 0);
  await stream.return();
});
