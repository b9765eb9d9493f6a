/** Where blocks stand in the buffers of a compressed column: no two in one place, none in two buffers, and few gaps. It needs no device. */
import { assert, assertEquals, assertLess } from "../_assert.ts";
import { BlockHeap, NO_PLACE } from "../../gpu/_block_heap.ts";
import { RandomStream } from "../../selectors/random_stream.ts";

Deno.test("blocks come and go, and none is where another one is", () => {
  for (let seed = 0; seed < 40; seed++) {
    const random = new RandomStream(seed, 32);
    const blockWords = 200 + random.below(40_000);
    const chunkWords = blockWords * 2 + random.below(20 * blockWords);
    const heap = new BlockHeap(blockWords, chunkWords);
    const chunk = heap.chunkGrains * heap.grainWords;
    assert(chunk <= chunkWords && chunk > chunkWords - heap.grainWords, `seed ${seed}`);
    const places = new Map<number, [from: number, end: number]>();
    for (let step = 0; step < 400; step++) {
      const block = random.below(1 + random.below(200));
      if (random.below(3) === 0) {
        heap.free(block);
        places.delete(block);
      } else {
        const isPlain = random.below(4) === 0;
        const words = isPlain ? blockWords : 1 + random.below(blockWords >> 2);
        const from = heap.take(block, words, isPlain);
        assertEquals([heap.wordOf(block), heap.isPlain(block)], [from, isPlain]);
        places.set(block, [from, from + words]);
      }
      if (step % 40 > 0) continue;
      const sorted = [...places.values()].sort(([a], [b]) => a - b);
      for (const [k, [from, end]] of sorted.entries()) {
        const where = `seed ${seed}, step ${step}: ${from} to ${end}`;
        assertEquals(Math.floor(from / chunk), Math.floor((end - 1) / chunk), where);
        assert(end <= (sorted[k + 1]?.[0] ?? heap.end * heap.grainWords), where);
      }
    }
    for (const block of places.keys()) heap.free(block);
    assertEquals([heap.takenGrains, heap.wordOf(3), heap.isPlain(3)], [0, NO_PLACE, false]);
    // What is free again is one place in each chunk.
    const { end } = heap;
    for (let k = 0; k < Math.floor(end / heap.chunkGrains); k++) heap.take(k, blockWords, true);
    assertEquals(heap.end, end, `seed ${seed}`);
    heap.clear();
    assertEquals([heap.end, heap.takenGrains], [0, 0]);
  }
});

Deno.test("gaps stay few while blocks of many sizes go in any order", () => {
  // Blocks of 16 frames of 84 × 84 bytes, a tenth as large when packed. Eight episodes are open.
  const random = new RandomStream(1, 1);
  const rawWords = 17 * 1766;
  const heap = new BlockHeap(rawWords, 2 ** 25);
  const packed = (): number => 1500 + random.below(3000);
  for (let step = 0; step < 20_000; step++) {
    const open = step % 8;
    // The block of this episode is sealed, and takes the place of a random one, which has gone.
    const gone = 8 + random.below(2000);
    heap.free(gone);
    heap.free(open);
    heap.take(gone, packed(), false);
    heap.take(open, rawWords, true);
    if (step > 10_000) assertLess(heap.end, 1.25 * heap.takenGrains, `step ${step}`);
  }
});
