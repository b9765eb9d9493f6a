/**
 * The Huffman code of HPACK (RFC 7541, section 5.2 and appendix B): the decoder.
 *
 * The code is canonical: codes of one length follow each other in the order of their symbols, and shorter codes come first. So the
 * lengths say all. The decoder walks the tree of codes bit by bit: gRPC's own clients send few of them, and each only
 * once.
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

/** Builds the tree. Of a node's two children, each is a node, or 256 + its symbol. The root is node 0. */
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

/** The child of a node that is symbol 256. */
const endOfText = 512;

/** The tree, made for the first text that needs it. */
let tree: Int32Array | undefined;

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
  tree ??= buildTree();
  let node = 0;
  // Since the last symbol: how many bits there were, and whether all of them were ones, as in padding.
  let depth = 0;
  let isPadding = true;
  for (let k = 8 * from; k < 8 * to; k++) {
    const bit = ((source[k >> 3] as number) >> (7 - (k & 7))) & 1;
    const child = tree[2 * node + bit] as number;
    if (child === endOfText) return -1;
    if (child < 256) {
      node = child;
      depth++;
      isPadding &&= bit === 1;
      continue;
    }
    target[at++] = child - 256;
    node = 0;
    depth = 0;
    isPadding = true;
  }
  return depth < 8 && isPadding ? at : -1;
}
