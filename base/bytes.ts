/**
 * Bytes as text, by means that every platform has.
 *
 * @module
 */

/** How many characters {@linkcode fromText} knows: those from `#` to `~` without the backslash, so that a text needs no escapes. */
export const TEXT_DIGITS = 91;

/** The bits that two characters have: 91² is just above 2¹³. */
export const TEXT_BITS = 13;

/**
 * The bytes that a text stands for, as `tools/_text.ts` writes it. Two characters have 13 bits, the lowest first, where base64 has 12. A last
 * character alone has up to 6.
 *
 * @throws {RangeError} When two characters stand for no 13 bits. Only a checksum finds all damage.
 */
export function fromText(text: string): Uint8Array<ArrayBuffer> {
  const { length } = text;
  const bytes = new Uint8Array(
    Math.floor((length >> 1) * TEXT_BITS / 8 + (length & 1) * 6 / 8) + 1,
  );
  let [count, bits, bitCount] = [0, 0, 0];
  for (let at = 0; at < length; at += 2) {
    const isPair = at + 1 < length;
    const value = digit(text.charCodeAt(at)) +
      (isPair ? TEXT_DIGITS * digit(text.charCodeAt(at + 1)) : 0);
    if (!(value >= 0 && value < 1 << TEXT_BITS)) {
      throw new RangeError(`no text of bytes, from character ${at} on`);
    }
    bits |= value << bitCount;
    for (bitCount += isPair ? TEXT_BITS : 6; bitCount >= 8; bitCount -= 8) {
      bytes[count++] = bits;
      bits >>>= 8;
    }
  }
  return bytes.subarray(0, count);
}

/** What a character stands for, of its code. */
function digit(code: number): number {
  return code < 92 ? code - 35 : code - 36;
}

/** Bytes in hexadecimal. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
