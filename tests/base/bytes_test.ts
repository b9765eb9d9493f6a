import { assert, assertEquals, assertThrows } from "@std/assert";
import { fromText } from "../../base/bytes.ts";
import { toText } from "../../tools/_text.ts";

Deno.test("bytes of any length come back out of their text, which needs no escapes", () => {
  const seed = Date.now() % 2 ** 31;
  console.log(`seed ${seed}`);
  let state = seed;
  for (let length = 0; length < 300; length++) {
    const bytes = Uint8Array.from({ length }, () => {
      state = Math.imul(state, 1664525) + 1013904223 | 0;
      return state >>> 24;
    });
    const text = toText(bytes);
    assert(/^[#-[\]-~]*$/.test(text), text);
    assertEquals(fromText(text), bytes, `${length} bytes`);
  }
  for (const byte of [0, 255]) {
    const bytes = new Uint8Array(100_003).fill(byte);
    const text = toText(bytes);
    assertEquals(fromText(text), bytes);
    assertEquals(text.length, Math.ceil(100_003 * 16 / 13));
  }
});

Deno.test("a text with another character is refused", () => {
  for (const text of ["!!!!", '""', "#\u00ff", "~~"]) {
    assertThrows(() => fromText(text), RangeError, "no text of bytes");
  }
});
