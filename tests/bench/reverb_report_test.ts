/** The section on our server and Reverb's. */
import { assertEquals, assertStringIncludes } from "../_assert.ts";
import { render } from "../../bench/report/reverb.ts";
import { reverbResults } from "./_reverb_results.ts";

Deno.test("the section on Reverb's server says how many times better ours is, for rates and for costs", () => {
  const row = { floor: 1.2, isCost: false };
  const results = reverbResults([
    { ...row, name: "writer", unit: "items/s", reverb: 20_000, ours: 30_000, median: 1.4 },
    { ...row, name: "images", unit: "bytes/s", reverb: 400e6, ours: 800e6 },
    { name: "memory", unit: "bytes", floor: 5.738, isCost: true, reverb: 5738, ours: 574 },
  ]);
  const text = render(JSON.stringify(results));
  assertStringIncludes(text, "over 100,000 items");
  assertEquals(text.split("\n").filter((line) => /^\| [wim]/.test(line)), [
    "| writer | 20,000 items/s | 30,000 items/s | 1.50× | 1.40× | 1.2× |",
    "| images | 400 MB/s | 800 MB/s | 2.00× |  | 1.2× |",
    "| memory | 5,740 bytes | 574 bytes | 10.00× |  | 5.738× |",
  ]);
});
