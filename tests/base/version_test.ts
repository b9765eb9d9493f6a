import { assertStrictEquals } from "../_assert.ts";
import config from "../../deno.json" with { type: "json" };
import { VERSION } from "../../base/version.ts";

Deno.test("the version in the code is that of deno.json", () => {
  assertStrictEquals(VERSION, config.version);
});
