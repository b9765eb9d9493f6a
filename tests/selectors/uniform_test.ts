import { uniform, withoutReplacement } from "@exrp/replay";
import { assertThrows } from "../_assert.ts";

import { conforms } from "./conforms.ts";

conforms({ name: "uniform()", make: uniform, stationary: true });

Deno.test("uniform() and withoutReplacement() refuse any option", () => {
  for (const rule of [uniform, withoutReplacement] as ((options?: object) => unknown)[]) {
    rule({});
    assertThrows(() => rule({ a: 1 }), TypeError, `${rule.name}() has no option "a"; it has none`);
  }
});
