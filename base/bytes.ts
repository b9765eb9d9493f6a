/**
 * Arrays put together, and bytes as text, by means that every platform has.
 *
 * @module
 */

/** How many elements some arrays have. */
export function lengthOfAll(parts: readonly { readonly length: number }[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/** Writes arrays one after the other into `whole`, which has room for them from `from` on, and returns it. */
export function joinInto<
  P extends { readonly length: number },
  W extends { set(part: P, at: number): void },
>(
  whole: W,
  parts: Iterable<P>,
  from = 0,
): W {
  let at = from;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Bytes one after the other, as one array. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return joinInto(new Uint8Array(lengthOfAll(parts)), parts);
}

/** Gives the memory of arrays back at once, where the engine can do that: it would keep tens of megabytes for a while. The arrays are empty then. */
export function release(arrays: readonly ArrayBufferView[]): void {
  for (const { buffer } of arrays) {
    (buffer as ArrayBuffer & { transfer?(bytes: number): ArrayBuffer }).transfer?.(0);
  }
}

/** The bytes that a text in base64 stands for. */
export function fromBase64(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
  return bytes;
}

/** Bytes in hexadecimal. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Expands what was compressed. */
export async function expand(
  bytes: Uint8Array<ArrayBuffer>,
  format: CompressionFormat,
): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The SHA-256 of bytes in hexadecimal. Undefined in pages that come over plain HTTP, which have no digests. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string | undefined> {
  const digest = await globalThis.crypto?.subtle?.digest("SHA-256", bytes);
  return digest && toHex(new Uint8Array(digest));
}
