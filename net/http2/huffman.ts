/**
 * The Huffman code of HPACK (RFC 7541, section 5.2 and appendix B): the decoder.
 *
 * The code is canonical: codes of one length follow each other in the order of their symbols, and shorter codes come first. So the
 * lengths say all. The decoder goes by half bytes: each node of the tree has 16 entries. The shortest code has 5 bits, so an entry
 * gives at most one symbol.
 *
 * @module
 */

/** The length of the code of each of the 257 symbols, in bits. Symbol 256 is the end of a text, and must never come. */
// deno-fmt-ignore
export const codeLengths: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  30,
];

/** Parts of an entry: the next node in the low 8 bits, a symbol above it, whether there is a symbol, and whether the code is refused. */
const symbolShift = 8;
const emits = 1 << 17;
const refused = 1 << 18;

/** For each node and half byte, an entry. */
const entries = new Int32Array(256 * 16);
/** Whether a text may end at a node: after at most 7 bits, all of them ones. */
const mayEnd = new Uint8Array(256);

/** Builds the tree. Of a node's two children, each is a node, or 256 + its symbol. */
function buildTree(): Int32Array {
  const children = new Int32Array(512);
  let nodeCount = 1;
  let code = 0;
  for (let length = 1; length <= 30; length++) {
    code *= 2;
    for (let symbol = 0; symbol < codeLengths.length; symbol++) {
      if (codeLengths[symbol] !== length) continue;
      let node = 0;
      for (let bit = length - 1; bit > 0; bit--) {
        const child = 2 * node + ((code >> bit) & 1);
        if (children[child] === 0) children[child] = nodeCount++;
        node = children[child] as number;
      }
      children[2 * node + (code & 1)] = 256 + symbol;
      code++;
    }
  }
  return children;
}

/** Fills the entries from the tree. */
function fillEntries(children: Int32Array): void {
  for (let node = 0; node < 256; node++) {
    for (let half = 0; half < 16; half++) {
      let next = node;
      let entry = 0;
      for (let bit = 3; bit >= 0; bit--) {
        const child = children[2 * next + ((half >> bit) & 1)] as number;
        if (child === 512) entry |= refused;
        else if (child >= 256) entry |= emits | ((child - 256) << symbolShift);
        next = child < 256 ? child : 0;
      }
      entries[16 * node + half] = entry | next;
    }
  }
  mayEnd[0] = 1;
  let node = 0;
  for (let ones = 1; ones <= 7; ones++) {
    node = children[2 * node + 1] as number;
    mayEnd[node] = 1;
  }
}

/**
 * Decodes `source[from..to)` into `target[at..)`, which needs room for 8/5 of it. Returns where it ended, or -1 if the code is wrong: an end
 * of text within it, or padding that is longer than 7 bits or not all ones.
 */
export function decodeHuffman(
  source: Uint8Array,
  from: number,
  to: number,
  target: Uint8Array,
  at: number,
): number {
  // The table is made for the first text that needs it: gRPC's own clients send none.
  if (mayEnd[0] === 0) fillEntries(buildTree());
  let node = 0;
  for (let k = from; k < to; k++) {
    const byte = source[k] as number;
    let entry = entries[16 * node + (byte >> 4)] as number;
    if (entry >= emits) {
      if ((entry & refused) !== 0) return -1;
      target[at++] = entry >> symbolShift;
    }
    entry = entries[16 * (entry & 255) + (byte & 15)] as number;
    if (entry >= emits) {
      if ((entry & refused) !== 0) return -1;
      target[at++] = entry >> symbolShift;
    }
    node = entry & 255;
  }
  return mayEnd[node] === 1 ? at : -1;
}
