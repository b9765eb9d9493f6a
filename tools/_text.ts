/**
 * Bytes as text in a module of TypeScript: what `base/bytes.ts` reads. It is 8 % shorter than base64.
 *
 * @module
 */
import { TEXT_BITS, TEXT_DIGITS } from "../base/bytes.ts";

const digits = Array.from({ length: 127 - 35 }, (_, k) => String.fromCharCode(35 + k)).filter((
  each,
) => each !== "\\");

/** The text that stands for some bytes. */
export function toText(bytes: Uint8Array): string {
  const parts: string[] = [];
  let [bits, bitCount] = [0, 0];
  const push = (value: number, isPair: boolean): void => {
    parts.push(digits[value % TEXT_DIGITS] ?? "");
    if (isPair) parts.push(digits[Math.floor(value / TEXT_DIGITS)] ?? "");
  };
  for (const byte of bytes) {
    bits |= byte << bitCount;
    bitCount += 8;
    if (bitCount < TEXT_BITS) continue;
    push(bits & (1 << TEXT_BITS) - 1, true);
    bits >>>= TEXT_BITS;
    bitCount -= TEXT_BITS;
  }
  if (bitCount > 0) push(bits, bitCount > 6);
  return parts.join("");
}
