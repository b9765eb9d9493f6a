/**
 * Bytes as a module of WebAssembly: Deno imports one without a permission, and as many bytes as text would be a quarter more.
 *
 * @module
 */

const PAGE_BYTES = 65536;

/** A number as WebAssembly writes it: 7 bits a byte, the lowest first. */
function leb(value: number): number[] {
  return value < 128 ? [value] : [value % 128 + 128, ...leb(Math.floor(value / 128))];
}

/** A section of a module. `dataBytes` more come after `bytes`. */
function section(id: number, bytes: readonly number[], dataBytes = 0): number[] {
  return [id, ...leb(bytes.length + dataBytes), ...bytes];
}

/** A module that exports `memory`, which begins with some bytes. */
export function dataModule(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const name = [...new TextEncoder().encode("memory")];
  const head = [
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0], // "\0asm" and the version
    ...section(5, [1, 0, ...leb(Math.ceil(bytes.length / PAGE_BYTES))]), // one memory
    ...section(7, [1, name.length, ...name, 2, 0]), // its export
    // One piece of data, which stands at i32.const 0.
    ...section(11, [1, 0, 0x41, 0, 0x0b, ...leb(bytes.length)], bytes.length),
  ];
  const module = new Uint8Array(head.length + bytes.length);
  module.set(head);
  module.set(bytes, head.length);
  return module;
}
