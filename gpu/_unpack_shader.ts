/**
 * The shader that unpacks rows of a compressed column: those that some addresses lead to, one behind the other. docs/internals/packing_format.md has the form of their
 * bytes; on a device their key is always as it is.
 *
 * A group of threads makes a row. It copies the key, and then puts the patches on it, each thread one: the sums of those before say where one goes. A row may be
 * based on another one, whose patches come first. Patches of two threads may meet in a word, so words are changed by atomic operations, each thread its own bytes.
 *
 * @module
 */

import * as abi from "../ffi/symbols.ts";
import type { Column } from "../schema/columns.ts";
import { NO_PLACE } from "./_block_heap.ts";
import { GROUP_SIZE, strideOf } from "./_shader.ts";

/** The shader of a column in blocks of so many rows, for addresses of so many words. */
export function unpackShaderOf(column: Column, blockLength: number, addressWords: number): string {
  const stride = strideOf(column);
  // The head of packed rows has 4 bytes, and stands behind the word with the count of rows.
  return `struct Parameters { count: u32, first: u32, words: u32 }
@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> addresses: array<u32>;
@group(0) @binding(2) var<storage, read> places: array<u32>;
@group(0) @binding(3) var<storage, read> heap: array<u32>;
@group(0) @binding(4) var<storage, read_write> rows: array<atomic<u32>>;
var<workgroup> sums: array<vec2u, ${GROUP_SIZE}>;

/** Four bytes from any one on. */
fn wordAt(byte: u32) -> u32 {
  let shift = (byte & 3u) * 8u;
  let low = heap[byte >> 2u] >> shift;
  if (shift == 0u) { return low; }
  return low | (heap[(byte >> 2u) + 1u] << (32u - shift));
}

fn numberAt(byte: u32, bytes: u32) -> u32 {
  return wordAt(byte) & select(0xffffu, 0xffffffffu, bytes == 4u);
}

/** The bytes of packed rows begin at \`head\`. */
struct Row { plain: bool, isBased: bool, base: u32, count: u32, patches: u32, fresh: u32 }

fn rowOf(row: u32, count: u32, head: u32, bytes: u32) -> Row {
  var begin = 4u + count * bytes;
  if (row > 0u) { begin = numberAt(head + 4u + (row - 1u) * bytes, bytes); }
  let end = numberAt(head + 4u + row * bytes, bytes);
  var made = Row(false, false, 0u, 0u, 0u, 0u);
  if (begin == end) { return made; }
  let number = numberAt(head + begin, bytes);
  let onRow = select(0x8000u, 0x80000000u, bytes == 4u);
  var at = head + begin + bytes;
  made.plain = number == 0u;
  made.isBased = (number & onRow) != 0u;
  made.count = number & (onRow - 1u);
  if (made.isBased) {
    made.base = wordAt(at) & 255u;
    at++;
  }
  made.patches = at;
  made.fresh = at + 2u * made.count;
  return made;
}

/** Copies a row from any byte on. */
fn copyRow(source: u32, to: u32, lane: u32) {
  for (var k = lane; k < ${stride}u; k += ${GROUP_SIZE}u) { atomicStore(&rows[to + k], wordAt(source + 4u * k)); }
}

/** Puts bytes into the row at \`row\`, from its byte \`first\` on: those from \`source\` on, or the first of them so many times. */
fn put(row: u32, first: u32, length: u32, source: u32, isFill: bool) {
  let end = first + length;
  let fill = (wordAt(source) & 255u) * 0x01010101u;
  for (var word = first >> 2u; word * 4u < end; word++) {
    let skipped = max(first, word * 4u) - word * 4u;
    let left = word * 4u + 4u - min(end, word * 4u + 4u);
    let mask = (0xffffffffu << (skipped * 8u)) & (0xffffffffu >> (left * 8u));
    var bytes = fill;
    if (!isFill) { bytes = wordAt(source + word * 4u - first); }
    if (mask == 0xffffffffu) {
      atomicStore(&rows[row + word], bytes);
    } else {
      atomicAnd(&rows[row + word], ~mask);
      atomicOr(&rows[row + word], bytes & mask);
    }
  }
}

fn putPatches(parts: Row, row: u32, lane: u32) {
  var done = vec2u(0u, parts.fresh); // bytes of the row, and the next new byte
  for (var k = 0u; k < parts.count; k += ${GROUP_SIZE}u) {
    var skipped = 0u;
    var length = 0u;
    var fresh = 0u;
    var isFill = false;
    if (k + lane < parts.count) {
      let pair = wordAt(parts.patches + 2u * (k + lane));
      let code = (pair >> 8u) & 255u;
      skipped = pair & 255u;
      isFill = code > 191u;
      length = select(code, code - 176u, isFill);
      fresh = select(code, 1u, isFill);
    }
    sums[lane] = vec2u(skipped + length, fresh);
    workgroupBarrier();
    for (var step = 1u; step < ${GROUP_SIZE}u; step *= 2u) {
      var before = vec2u(0u, 0u);
      if (lane >= step) { before = sums[lane - step]; }
      workgroupBarrier();
      sums[lane] += before;
      workgroupBarrier();
    }
    let ends = done + sums[lane];
    if (length > 0u) { put(row, ends.x - length, length, ends.y - fresh, isFill); }
    done += sums[${GROUP_SIZE - 1}u];
    workgroupBarrier();
  }
}

@compute @workgroup_size(${GROUP_SIZE})
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let at = group.x + group.y * groups.x;
  if (at >= p.count || places[at] == ${NO_PLACE}u) { return; }
  let place = places[at] - p.first;
  if (place >= p.words) { return; }
  let row = at * ${stride}u;
  let slot = addresses[at * ${addressWords}u + ${abi.EXRP_ADDRESS_ROW}u] - ${abi.EXRP_ADDRESS_SLOT}u;
  let within = slot % ${blockLength}u;
  let count = heap[place];
  let head = 4u * place + 4u;
  if (count == 0u) {
    copyRow(head + ${4 * stride}u * within, row, lane);
    return;
  }
  let bytes = (heap[place + 1u] >> 8u) & 255u;
  let own = rowOf(within, count, head, bytes);
  if (own.plain) {
    copyRow(own.fresh, row, lane);
    return;
  }
  var base = Row(false, false, 0u, 0u, 0u, 0u);
  if (own.isBased) { base = rowOf(own.base, count, head, bytes); }
  let key = head + numberAt(head + 4u + (count - 1u) * bytes, bytes);
  copyRow(select(key, base.fresh, base.plain), row, lane);
  workgroupBarrier();
  storageBarrier();
  putPatches(base, row, lane);
  workgroupBarrier();
  storageBarrier();
  putPatches(own, row, lane);
}
`;
}
