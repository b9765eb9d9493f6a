import { nearestName } from "../../base/option_names.ts";
import { assertStrictEquals } from "../_assert.ts";

const options = ["length", "stride", "nStep", "stack", "stackCompact", "stackPadding", "c"];

for (
  const [misspelt, meant] of [
    ["lenght", "length"],
    ["lengt", "length"],
    ["lengthh", "length"],
    ["nstep", "nStep"],
    ["NSTEP", "nStep"],
    ["n_step", "nStep"],
    ["stakc", "stack"],
    ["stackCompakt", "stackCompact"],
    ["stackPading", "stackPadding"],
  ] as const
) {
  Deno.test(`nearestName() takes ${misspelt} for ${meant}`, () => {
    assertStrictEquals(nearestName(misspelt, options), meant);
  });
}

Deno.test("nearestName() finds none for what is not near any, and none among none", () => {
  for (const word of ["colour", "x", "", "discountFactor"]) {
    assertStrictEquals(nearestName(word, options), undefined);
  }
  assertStrictEquals(nearestName("length", []), undefined);
});
