/** Tensors of strings, in both forms that TensorFlow has. */
import { assertEquals, assertThrows } from "../_assert.ts";
import { ReplayError } from "../../base/errors.ts";
import { stringsOfTensor } from "../../wire/strings.ts";

const decoder = new TextDecoder();

function textsOf(...bytes: number[]): string[] {
  return stringsOfTensor(Uint8Array.from(bytes)).map((text) => decoder.decode(text));
}

/** dtype 7, and a shape of `count`. */
const head = (count: number): number[] => [8, 7, 18, 4, 18, 2, 8, count];
const [a, b] = [97, 98];

Deno.test("strings stand in string_val, or after their lengths in tensor_content", () => {
  assertEquals(textsOf(...head(2), 66, 1, a, 66, 2, b, b), ["a", "bb"]);
  assertEquals(textsOf(...head(3), 34, 6, 1, 0, 2, a, b, b), ["a", "", "bb"]);
  assertEquals(textsOf(8, 7, 18, 0, 66, 1, a), ["a"]);
});

Deno.test("one value stands for all, and none for empty strings", () => {
  assertEquals(textsOf(...head(3), 66, 1, a), ["a", "a", "a"]);
  assertEquals(textsOf(...head(2)), ["", ""]);
  assertEquals(textsOf(...head(0)), []);
});

Deno.test("damaged tensors of strings are errors", () => {
  for (
    const bytes of [
      [...head(2), 34, 1, 1],
      [...head(2), 34, 3, 1, 2, a],
      [...head(2), 34, 9, 1],
      [...head(1), 34, 6, 255, 255, 255, 255, 255, 1],
      [8, 7, 18, 7, 18, 5, 8, 255, 255, 255, 127],
      [8, 7, 99],
    ]
  ) {
    const error = assertThrows(() => textsOf(...bytes), ReplayError);
    assertEquals(error.code, "message-damaged");
  }
});
