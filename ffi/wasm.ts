/**
 * The kernel as WebAssembly: the same C++, in one thread. It needs no permission, and runs on every platform.
 *
 * The module reads and writes nothing but its own memory, and files by what it imports (`host.ts`). So each call copies its buffers into an arena there, and what the kernel wrote
 * back, as kernel/exrp.h says of each buffer (`wasm_symbols.ts` is generated from it). No view of the memory is handed out: when the
 * memory grows, views of it are detached.
 *
 * Those that record a step and draw a batch are written out below, as they copy less than others. All others go through `bind()`.
 *
 * @module
 */

import { expand, fromBase64, sha256 } from "../base/bytes.ts";
import { reasonOf, ReplayError } from "../base/errors.ts";
import { hostImports } from "./host.ts";
import { checkVersion, kernelMissing } from "./missing_kernel.ts";
import { ownAddress } from "./own_address.ts";
import {
  EXRP_STATUS_MEMORY,
  EXRP_STATUS_OK,
  type KernelBuffer,
  type KernelSymbols,
} from "./symbols.ts";
import { wasmSymbols } from "./wasm_symbols.ts";

/** The most bytes that the memory of a module can have. */
export const WASM_MEMORY_MAX = 2 ** 32;

/** Numbers in, a number out: a function of the module. */
type Call = (...numbers: number[]) => number;

/** A function for the library, of numbers and buffers. */
type BoundCall = (...values: (number | KernelBuffer)[]) => number;

/** Buffers begin at multiples of this many bytes. */
const ALIGNMENT = 64;

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

/** Memory of the module for the buffers of one call. */
class Arena {
  readonly #memory: WebAssembly.Memory;
  readonly #take: Call;
  /** Where it begins. */
  base = 0;
  #bytes = 0;
  u8: Uint8Array;
  /** The bytes that the last `reserve()` could not have. */
  lacking = 0;

  constructor(memory: WebAssembly.Memory, take: Call) {
    this.#memory = memory;
    this.#take = take;
    this.u8 = new Uint8Array(memory.buffer);
  }

  /** To be called after every call of the module: makes the view anew where the memory has grown, as that detaches it. */
  refresh(): void {
    if (this.u8.length === 0) this.u8 = new Uint8Array(this.#memory.buffer);
  }

  /** Makes room for `bytes` bytes; false where there is no memory for them. */
  reserve(bytes: number): boolean {
    if (bytes <= this.#bytes) return true;
    const base = this.#take(bytes) >>> 0;
    this.refresh();
    if (base === 0) {
      this.lacking = bytes;
      return false;
    }
    this.base = base;
    this.#bytes = bytes;
    return true;
  }

  /** Copies a buffer to the place `at`. */
  write(at: number, from: KernelBuffer): void {
    this.u8.set(bytesOf(from), at);
  }

  /** The number at the place `at`. */
  f64(at: number): number {
    return new DataView(this.u8.buffer).getFloat64(at, true);
  }

  /** Copies what is at the place `at` to a buffer, or to its first `bytes` bytes. */
  read(at: number, to: KernelBuffer, bytes = to.byteLength): void {
    const target = bytesOf(to);
    // A view costs more than a few numbers.
    if (bytes > 16) target.set(this.u8.subarray(at, at + bytes));
    else for (let k = 0; k < bytes; k++) target[k] = this.u8[at + k] ?? 0;
  }
}

function bytesOf(buffer: KernelBuffer): Uint8Array {
  return buffer instanceof Uint8Array
    ? buffer
    : new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

/** Of calls that write only the beginning of a buffer: its parameter, and that of the numbers whose first says how many bytes were written. */
const BEGINNINGS: Readonly<Partial<Record<string, readonly [buffer: number, numbers: number]>>> = {
  exrp_sampler_read: [2, 4],
  exrp_tables_save_read: [1, 3],
};

/** The library's function for one of the module, which copies buffers as their descriptions say. `beginning` is one of `BEGINNINGS`. */
function bind(
  call: Call,
  arena: Arena,
  { parameters, result }: { readonly parameters: readonly string[]; readonly result: string },
  [begun, counting]: readonly number[] = [],
): BoundCall {
  const buffers = parameters.flatMap((each, index) => {
    const [use = "", item] = each.split(" ");
    return item === undefined
      ? []
      : [{ index, isRead: use !== "out", isWritten: use !== "in", at: 0 }];
  });
  const count = buffers.find(({ index }) => index === counting);
  const unsigned = result === "u32";
  return (...values) => {
    let bytes = 0;
    for (const buffer of buffers) {
      buffer.at = bytes;
      bytes += aligned((values[buffer.index] as KernelBuffer).byteLength);
    }
    if (!arena.reserve(bytes)) return EXRP_STATUS_MEMORY;
    const { base } = arena;
    const numbers = values.slice() as number[];
    for (const { index, isRead, at } of buffers) {
      numbers[index] = base + at;
      if (isRead) arena.write(base + at, values[index] as KernelBuffer);
    }
    const status = call(...numbers);
    arena.refresh();
    if (status === EXRP_STATUS_OK) {
      for (const { index, isWritten, at } of buffers) {
        if (!isWritten) continue;
        const written = index === begun && count !== undefined
          ? arena.f64(base + count.at)
          : undefined;
        arena.read(base + at, values[index] as KernelBuffer, written);
      }
    }
    return unsigned ? status >>> 0 : status;
  };
}

/** The library's functions for those of a module. */
function bindAll(
  exports: Readonly<Record<string, Call>>,
  memory: WebAssembly.Memory,
): KernelSymbols {
  const callOf = (name: string): Call => {
    const call = exports[name];
    if (call !== undefined) return call;
    throw new ReplayError(
      "kernel-version",
      `the WebAssembly kernel lacks ${name}: it is of another version than this library; build it with \`deno task build\``,
    );
  };
  const arena = new Arena(memory, callOf("exrp_wasm_arena"));
  const bound: Record<string, BoundCall> = {};
  for (const name of Object.keys(wasmSymbols) as (keyof typeof wasmSymbols)[]) {
    bound[name] = bind(callOf(name), arena, wasmSymbols[name], BEGINNINGS[name]);
  }
  const all = bound as unknown as KernelSymbols;
  const { exrp_error_detail: errorDetail } = all;
  const otherwise = (name: string, parameters: string): BoundCall =>
    bind(callOf(name), arena, { parameters: parameters.split(", "), result: "i32" });
  // Of a batch that is drawn whole, nothing stays as it was.
  const whole = otherwise("exrp_batch_get", "u32, u32, u32, u32, u32, f64, out u8, f64");
  // If the draw fails, exrp_batch_take says so, and the batch is as it was: so what it has is copied in.
  const order = otherwise("exrp_batch_order", "u32, u32, u32, f64, in u8, f64, out f64");
  const run = bound["exrp_batch_run"] as BoundCall;
  const record = callOf("exrp_record");
  return {
    ...all,
    exrp_error_detail(detail, count): number {
      if (arena.lacking === 0) return errorDetail(detail, count);
      // The call did not reach the kernel, as there was no memory for its buffers.
      if (detail instanceof Float64Array) detail.fill(0).set([arena.lacking, WASM_MEMORY_MAX]);
      arena.lacking = 0;
      return EXRP_STATUS_OK;
    },
    exrp_record(replay, row, size, flags): number {
      if (!arena.reserve(size)) return EXRP_STATUS_MEMORY;
      const { base } = arena;
      arena.write(base, row);
      const status = record(replay, base, size, flags);
      arena.refresh();
      // The kernel writes no more of a row than the handle, its first eight bytes.
      if (status === EXRP_STATUS_OK) arena.read(base, row, 8);
      return status;
    },
    exrp_batch_get: (replay, selector, first, count, total, ...rest) =>
      (count === total ? whole : all.exrp_batch_get)(
        replay,
        selector,
        first,
        count,
        total,
        ...rest,
      ),
    // The kernel would keep the place of the batch until the order is drawn, but the arena is the next call's. So it is drawn at once.
    // An order counts as drawn at the moment in which it was given: nobody can tell the difference.
    exrp_batch_order(replay, selector, count, beta, batch, size, number): number {
      const status = order(replay, selector, count, beta, batch, size, number);
      if (status !== EXRP_STATUS_OK) return status;
      return run(replay, (number as Float64Array)[0] ?? 0, batch, size);
    },
    exrp_batch_run: () => Promise.resolve(EXRP_STATUS_OK),
  };
}

/** A module that has one function with one vector instruction. */
const VECTOR_MODULE = new Uint8Array([
  ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0],
  ...[65, 0, 253, 15, 253, 98, 11],
]);

/** Why this platform can't run the module; undefined where it can. */
function wasmProblem(): string | undefined {
  if (typeof WebAssembly === "undefined") return "this platform has no WebAssembly";
  if (!WebAssembly.validate(VECTOR_MODULE)) {
    return "this engine's WebAssembly has no vector instructions (SIMD), which every browser has had since 2023; take a newer one";
  }
  if (typeof DecompressionStream === "undefined") {
    return "this platform has no DecompressionStream, which every browser has had since 2023; take a newer one";
  }
  return undefined;
}

/**
 * Makes the functions of a kernel from the bytes of its module.
 *
 * @throws {ReplayError} `kernel-missing` if the engine refuses it, `kernel-version` if it is of another version.
 */
export async function instantiateWasm(bytes: Uint8Array<ArrayBuffer>): Promise<KernelSymbols> {
  let instance: WebAssembly.Instance;
  try {
    const host = hostImports(() => instance.exports["memory"] as WebAssembly.Memory);
    ({ instance } = await WebAssembly.instantiate(bytes, { host }));
  } catch (error) {
    throw kernelMissing(
      `the WebAssembly kernel of ${bytes.length} bytes can't run: ${reasonOf(error)}`,
      error,
    );
  }
  const { memory, _initialize, ...calls } = instance.exports;
  if (typeof _initialize === "function") _initialize();
  const symbols = bindAll(calls as Record<string, Call>, memory as WebAssembly.Memory);
  const hint = "build it with `deno task build`";
  checkVersion("the WebAssembly kernel", symbols.exrp_abi_version(), hint);
  return symbols;
}

/** An open WebAssembly kernel. */
export interface WasmKernel {
  /** Where its module comes from. */
  readonly path: string;
  /** Its functions. */
  readonly symbols: KernelSymbols;
}

let opened: Promise<WasmKernel> | undefined;

/**
 * Opens the WebAssembly kernel, or returns the one that is already open: all replays of an isolate share its memory.
 *
 * @throws {ReplayError} `kernel-missing` or `kernel-version`.
 */
export function openWasm(): Promise<WasmKernel> {
  return opened ??= openModule().catch((error) => {
    opened = undefined;
    throw error;
  });
}

/** Opens the module in prebuilt/. `deno task build` writes it in a clone, and `deno task prebuild` for a package. */
async function openModule(): Promise<WasmKernel> {
  const problem = wasmProblem();
  if (problem !== undefined) {
    throw kernelMissing(`the WebAssembly kernel can't run: ${problem}`);
  }
  let packed: { data: string; size: number; sha256: string };
  try {
    // The compiler must see the whole path: then Deno needs no permission, and the file may be missing.
    // @ts-ignore: a clone has this file only once it was built.
    packed = await import("../prebuilt/wasm32.ts");
  } catch (error) {
    throw kernelMissing(
      `there is no WebAssembly kernel: its module in prebuilt/ can't be imported (${
        reasonOf(error)
      }); load the package again, or make it in a clone with \`deno task build\``,
      error,
    );
  }
  const { data, size } = packed;
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = await expand(fromBase64(data), "deflate");
  } catch (error) {
    throw damaged("can't be decompressed", error);
  }
  if (bytes.length !== size) throw damaged(`has ${bytes.length} bytes, not ${size}`);
  // Without a digest, the size and the compiler check the module.
  const found = await sha256(bytes) ?? packed.sha256;
  if (found !== packed.sha256) throw damaged(`has the SHA-256 ${found}, not ${packed.sha256}`);
  return { path: moduleOrigin(), symbols: await instantiateWasm(bytes) };
}

/** Where the module in prebuilt/ comes from, for people to read. */
function moduleOrigin(): string {
  const here = ownAddress();
  if (here === undefined) return "the bundle of this program";
  return new URL(`../prebuilt/wasm32.${here.endsWith(".ts") ? "ts" : "js"}`, here).href;
}

function damaged(how: string, cause?: unknown): ReplayError {
  return kernelMissing(
    `the package's WebAssembly kernel is damaged: it ${how}; load the package again`,
    cause,
  );
}
