/**
 * The shader that makes one part of a batch of rows that are on the device: it gathers them by their addresses, and transforms them in the same pass.
 *
 * A thread makes one word of the part, four bytes. The rows of a column may be in several buffers, and then the shader runs once for each. The first run also
 * writes what is in no buffer: rows that stand for no record, and frames of zeros.
 *
 * Numbers are what the kernel makes of them, to the bit (kernel/batches/column_transform.hpp). So each operation on floats is rounded once: `kept()` hides a
 * result from a compiler that would join two operations. Halves are made by whole numbers, as WGSL leaves the rounding to the device.
 *
 * @module
 */

import * as abi from "../ffi/symbols.ts";
import type { Column, DType } from "../schema/columns.ts";

/** Threads of a group. */
export const GROUP_SIZE = 64;

/** Numbers of the uniform buffer: words of the part, first slot and slots of the buffer, 1 for the first run, and 0. */
export const PARAMETER_COUNT = 5;

/** A column as the shader needs to know it. */
export interface ShaderColumn {
  /** As it is stored. */
  readonly stored: Column;
  /** As batches show it. */
  readonly shown: Column;
  /** Its transforms, as `kernelTransforms` has them. */
  readonly transforms: readonly (readonly number[])[];
  /** Whether the rows stand in the order of their addresses, as they were unpacked for the batch. */
  readonly isUnpacked: boolean;
}

/** A shader. */
export interface Shader {
  /** In WGSL. */
  readonly code: string;
  /** Whether it reads means and factors. */
  readonly normalizes: boolean;
  /** Words of an address. */
  readonly addressWords: number;
}

/** Words of a row on the device. */
export function strideOf({ elementBytes, elementCount }: Column): number {
  return Math.ceil(elementBytes * elementCount / 4);
}

/** A float as WGSL can say it exactly. */
function float(value: number): string {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0] ?? 0;
  return `bitcast<f32>(${bits}u)`;
}

/** How an element becomes a float. */
const LOADS: Readonly<Record<DType, string>> = {
  float64: "ofDouble(rows[row + 2u * item], rows[row + 2u * item + 1u])",
  float32: "bitcast<f32>(rows[row + item])",
  float16: "ofHalf(itemOf(row, item, 2u))",
  uint8: "f32(itemOf(row, item, 1u))",
  bool: "f32(itemOf(row, item, 1u))",
  int8: "f32(bitcast<i32>(itemOf(row, item, 1u) << 24u) >> 24u)",
  int16: "f32(bitcast<i32>(itemOf(row, item, 2u) << 16u) >> 16u)",
  int32: "ofWhole(bitcast<i32>(rows[row + item]))",
};

/** What the transforms make of `x`, line by line. */
function stepsOf(transforms: ShaderColumn["transforms"], itemCount: number): string[] {
  return transforms.flatMap(([kind, a = 0, b = 0]) => {
    switch (kind) {
      case abi.EXRP_TRANSFORM_NORMALIZE: {
        const limit = Math.fround(b);
        return [
          `x = kept(x - scales[item]);`,
          `x = kept(x - scales[item + ${itemCount}u]);`,
          `x = kept(x * scales[item + ${2 * itemCount}u]);`,
          ...clipLines(-limit, limit),
        ];
      }
      case abi.EXRP_TRANSFORM_LINEAR:
        return [
          `x = kept(x * ${float(a)});`,
          ...(Math.fround(b) === 0 ? [] : [`x = kept(x + ${float(b)});`]),
        ];
      case abi.EXRP_TRANSFORM_CLIP:
        return clipLines(a, b);
      default:
        return [];
    }
  });
}

function clipLines(least: number, largest: number): string[] {
  return [
    ...(Number.isFinite(Math.fround(least))
      ? [`if (x < ${float(least)}) { x = ${float(least)}; }`]
      : []),
    ...(Number.isFinite(Math.fround(largest))
      ? [`if (x > ${float(largest)}) { x = ${float(largest)}; }`]
      : []),
  ];
}

/** What leads from an element of a part to that of the row. */
function cropLines({ transforms }: ShaderColumn): string {
  const crops = transforms.filter(([kind]) => kind === abi.EXRP_TRANSFORM_CROP);
  const [first] = crops;
  const last = crops.at(-1);
  if (first === undefined || last === undefined) {
    return `fn source(at: u32, item: u32) -> u32 { return item; }`;
  }
  const [, height, width, channels] = first;
  const [, , , , , outHeight, outWidth] = last;
  const crop = (k: number): string =>
    `bitcast<i32>(addresses[at * ${abi.EXRP_ADDRESS_COUNT}u + ${abi.EXRP_ADDRESS_CROP + k}u])`;
  return `fn source(at: u32, item: u32) -> u32 {
  let channel = item % ${channels}u;
  let pixel = item / ${channels}u;
  let line = pixel / ${outWidth}u;
  let y = i32(line % ${outHeight}u) + ${crop(0)};
  let x = i32(pixel % ${outWidth}u) + ${crop(3)};
  let fromY = u32(min(max(y, ${crop(1)}), ${crop(2)}));
  let fromX = u32(min(max(x, ${crop(4)}), ${crop(5)}));
  return (((line / ${outHeight}u) * ${height}u + fromY) * ${width}u + fromX) * ${channels}u + channel;
}`;
}

const HEAD = `struct Parameters { words: u32, first: u32, slots: u32, isFirst: u32, zero: u32 }
@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> addresses: array<u32>;
@group(0) @binding(2) var<storage, read> rows: array<u32>;
@group(0) @binding(3) var<storage, read_write> part: array<u32>;
`;

/** Of a float what no compiler knows to be the same. */
const KEPT = `fn kept(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ p.zero); }
`;

const OF_HALF = `fn ofHalf(half: u32) -> f32 {
  let sign = (half & 0x8000u) << 16u;
  let exponent = (half >> 10u) & 31u;
  let fraction = half & 0x3ffu;
  if (exponent == 0u) { return bitcast<f32>(bitcast<u32>(kept(f32(fraction)) * bitcast<f32>(0x33800000u)) | sign); }
  if (exponent == 31u) { return bitcast<f32>(sign | 0x7f800000u | (fraction << 13u)); }
  return bitcast<f32>(sign | ((exponent + 112u) << 23u) | (fraction << 13u));
}
`;

/** Rounds to the nearest float, and to the even one of two that are as near. */
const OF_DOUBLE = `fn ofDouble(low: u32, high: u32) -> f32 {
  let sign = high & 0x80000000u;
  let exponent = (high >> 20u) & 0x7ffu;
  let fraction = ((high & 0xfffffu) << 3u) | (low >> 29u);
  let rest = low & 0x1fffffffu;
  if (exponent == 0x7ffu) { return bitcast<f32>(sign | 0x7f800000u | select(0u, 0x400000u | fraction, (fraction | rest) != 0u)); }
  if (exponent > 1150u) { return bitcast<f32>(sign | 0x7f800000u); }
  if (exponent > 896u) {
    let isUp = rest > 0x10000000u || (rest == 0x10000000u && (fraction & 1u) == 1u);
    return bitcast<f32>(sign | ((((exponent - 896u) << 23u) | fraction) + select(0u, 1u, isUp)));
  }
  if (exponent < 873u) { return bitcast<f32>(sign); }
  let whole = fraction | 0x800000u;
  let shift = 897u - exponent;
  let small = whole >> shift;
  let left = whole & ((1u << shift) - 1u);
  let half = 1u << (shift - 1u);
  let isUp = left > half || (left == half && (rest != 0u || (small & 1u) == 1u));
  return bitcast<f32>(sign | (small + select(0u, 1u, isUp)));
}
`;

/** Both products are exact, so that the sum alone is rounded. */
const OF_WHOLE =
  `fn ofWhole(x: i32) -> f32 { return kept(f32(x >> 16u) * 65536.0) + f32(x & 0xffff); }
`;

const TO_HALF = `fn toHalf(x: f32) -> u32 {
  let bits = bitcast<u32>(x);
  let sign = (bits >> 16u) & 0x8000u;
  let size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) { return 0x7e00u; }
  if (size >= 0x477ff000u) { return sign | 0x7c00u; }
  if (size >= 0x38800000u) { return sign | ((size + 0xfffu + ((size >> 13u) & 1u) - 0x38000000u) >> 13u); }
  if (size < 0x33000000u) { return sign; }
  let fraction = (size & 0x7fffffu) | 0x800000u;
  let shift = 126u - (size >> 23u);
  let whole = fraction >> shift;
  let rest = fraction & ((1u << shift) - 1u);
  let half = 1u << (shift - 1u);
  return sign | (whole + select(0u, 1u, rest > half || (rest == half && (whole & 1u) == 1u)));
}
`;

/** The shader of a column. */
export function shaderOf(column: ShaderColumn): Shader {
  const { stored, shown, transforms, isUnpacked } = column;
  const kinds = transforms.map(([kind]) => kind);
  const isCropped = kinds.includes(abi.EXRP_TRANSFORM_CROP);
  const changes = kinds.some((kind) => kind !== abi.EXRP_TRANSFORM_CROP);
  const normalizes = kinds.includes(abi.EXRP_TRANSFORM_NORMALIZE);
  const isHalf = kinds.includes(abi.EXRP_TRANSFORM_FLOAT16);
  const stride = strideOf(stored);
  const storedBytes = stored.elementBytes;
  const words = isCropped ? abi.EXRP_ADDRESS_COUNT : 1;
  const isWords = !changes && !isCropped && storedBytes * stored.elementCount % 4 === 0;
  // What a thread makes: elements of the part, each so many bits; single bytes where elements are not changed.
  const [piece, pieceBits] = isWords
    ? ["rows[row + item]", 32]
    : !changes && !isCropped
    ? ["itemOf(row, item, 1u)", 8]
    : !changes
    ? [
      `itemOf(row, source(at, item / ${storedBytes}u) * ${storedBytes}u + item % ${storedBytes}u, 1u)`,
      8,
    ]
    : isHalf
    ? ["toHalf(numberOf(row, source(at, item)))", 16]
    : ["bitcast<u32>(numberOf(row, source(at, item)))", 32];
  const rowPieces = shown.elementBytes * shown.elementCount * 8 / pieceBits;
  const perWord = 32 / pieceBits;
  const number = changes
    ? `fn numberOf(row: u32, item: u32) -> f32 {
  var x = 0.0;
  if (row != NOWHERE) { x = ${LOADS[stored.dtype]}; }
  ${stepsOf(transforms, stored.elementCount).join("\n  ")}
  return x;
}
`
    : "";
  // A frame of zeros stays one where its elements are not changed.
  const isMade = changes ? "isHere || (isFirst && address == ZEROS)" : "isHere";
  const code = `${HEAD}${
    normalizes ? "@group(0) @binding(4) var<storage, read> scales: array<f32>;\n" : ""
  }const ZEROS = ${abi.EXRP_ADDRESS_ZEROS}u;
const NOWHERE = 0xffffffffu;
${KEPT}${stored.dtype === "float16" && changes ? OF_HALF : ""}${
    stored.dtype === "int32" && changes ? OF_WHOLE : ""
  }${stored.dtype === "float64" && changes ? OF_DOUBLE : ""}${
    isHalf ? TO_HALF : ""
  }fn itemOf(row: u32, item: u32, bytes: u32) -> u32 {
  let byte = item * bytes;
  return (rows[row + (byte >> 2u)] >> ((byte & 3u) * 8u)) & ((1u << (bytes * 8u)) - 1u);
}
${cropLines(column)}
${number}@compute @workgroup_size(${GROUP_SIZE})
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let word = id.x + id.y * groups.x * ${GROUP_SIZE}u;
  if (word >= p.words) { return; }
  let isFirst = p.isFirst == 1u;
  var made = p.zero;
  if (!isFirst) { made = part[word]; }
  for (var k = 0u; k < ${perWord}u; k++) {
    let piece = word * ${perWord}u + k;
    let at = piece / ${rowPieces}u;
    let item = piece % ${rowPieces}u;
    if (at >= arrayLength(&addresses) / ${words}u) { break; }
    let address = addresses[at * ${words}u + ${abi.EXRP_ADDRESS_ROW}u];
    let slot = ${isUnpacked ? "at" : `address - ${abi.EXRP_ADDRESS_SLOT}u - p.first`};
    let isHere = address != 0u && address != ZEROS && slot < p.slots;
    if (${isMade}) {
      let row = select(NOWHERE, slot * ${stride}u, isHere);
      made ${perWord === 1 ? "=" : "|="} ${
    perWord === 1 ? piece : `(${piece}) << (k * ${pieceBits}u)`
  };
    }
  }
  part[word] = made;
}
`;
  return { code, normalizes, addressWords: words };
}
