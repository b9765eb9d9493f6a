/**
 * The values that operations record and set.
 *
 * @module
 */

import type { ArrayOfDType } from "@exrp/replay/types";
import { type ColumnSpec, elementCount, leafSpecs, type ProgramConfig } from "./program_config.ts";
import { Random } from "./random.ts";
import { byLeaf } from "./state_leaves.ts";

/** Elements of a column that is wide in bytes, too. */
const WIDE = 129;

/** Values of columns, and whatever else an operation needs, from its seed. */
export class Values {
  readonly #random: Random;
  constructor(seed: number) {
    this.#random = new Random(seed, 0xda7a);
  }
  below(bound: number): number {
    return this.#random.below(bound);
  }
  /** Values of a column for `count` steps in one array, and the bytes of each step. */
  columns(
    spec: ColumnSpec,
    count: number,
    plain: boolean,
  ): { value: unknown; bytes: Uint8Array[] } {
    const shape = [count, ...spec.shape];
    const all = this.#column({ dtype: spec.dtype, shape }, elementCount(spec), plain);
    const size = all.bytes.length / count;
    const bytes = Array.from(
      { length: count },
      (_, k) => all.bytes.slice(k * size, (k + 1) * size),
    );
    return { value: all.value, bytes };
  }
  /** A value for a column, and its bytes. */
  column(spec: ColumnSpec, plain: boolean): { value: unknown; bytes: Uint8Array } {
    return this.#column(spec, elementCount(spec), plain);
  }
  /** Values of several steps, of `each` elements. Most of wide ones are alike in most places, so that they can be packed. */
  #column(spec: ColumnSpec, each: number, plain: boolean): { value: unknown; bytes: Uint8Array } {
    const { dtype } = spec;
    const count = elementCount(spec);
    let isAlike = false;
    const numbers = Array.from({ length: count }, (_, at) => {
      if (at % each === 0) isAlike = each >= WIDE && this.below(4) > 0;
      if (isAlike && at % 16 !== 0) return at % each % (dtype === "bool" ? 2 : 64);
      if (dtype === "bool") return this.below(2);
      if (dtype === "uint8") return this.below(256);
      if (dtype === "int8") return this.below(256) - 128;
      if (dtype === "int16" || dtype === "int32") return this.below(60000) - 30000;
      const scale = this.below(4) === 0 ? 2 ** (this.below(19) - 10) : 1;
      return (this.below(2000) - 1000) / 8 * scale; // exact in all floats, up to half the largest float16
    });
    const array = typedArray(dtype, numbers);
    const [first = 0] = numbers;
    const value = spec.shape.length > 0
      ? (plain ? numbers : array)
      : dtype === "bool" && plain
      ? first === 1
      : first;
    return { value, bytes: new Uint8Array(array.buffer) };
  }
}

function typedArray(
  dtype: ColumnSpec["dtype"],
  numbers: readonly number[],
): ArrayOfDType[ColumnSpec["dtype"]] {
  switch (dtype) {
    case "uint8":
    case "bool":
      return Uint8Array.from(numbers);
    case "int8":
      return Int8Array.from(numbers);
    case "int16":
      return Int16Array.from(numbers);
    case "int32":
      return Int32Array.from(numbers);
    case "float16":
      return Float16Array.from(numbers);
    case "float32":
      return Float32Array.from(numbers);
    case "float64":
      return Float64Array.from(numbers);
  }
}

/** Priorities of all sizes, zeros among them. */
export function priorityOf(values: Values): number {
  switch (values.below(8)) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return values.below(5);
    case 3:
      return 10 ** (values.below(61) - 30);
    default:
      return values.below(1_000_000) / 400_000;
  }
}

/** One state, as the library takes it, and its bytes. */
export function stateValue(
  config: ProgramConfig,
  values: Values,
  plain: boolean,
): { value: unknown; bytes: Uint8Array } {
  const made = leafSpecs(config).map((spec) => values.column(spec, plain));
  return {
    value: byLeaf(made.map(({ value }) => value)),
    bytes: packed(made.map(({ bytes }) => bytes)),
  };
}

/** The states of `count` steps, as the library takes them, and the bytes of each. */
export function stateValues(
  config: ProgramConfig,
  values: Values,
  count: number,
  plain: boolean,
): { value: unknown; bytes: Uint8Array[] } {
  const made = leafSpecs(config).map((spec) => values.columns(spec, count, plain));
  return {
    value: byLeaf(made.map(({ value }) => value)),
    bytes: Array.from(
      { length: count },
      (_, k) => packed(made.map(({ bytes }) => bytes[k] ?? new Uint8Array())),
    ),
  };
}

function packed(leaves: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(leaves.flatMap((leaf) => [...leaf]));
}
