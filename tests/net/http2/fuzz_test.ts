/** A short run of `_fuzz.ts`. */
import { assert } from "../../_assert.ts";
import { Fuzzer } from "./_fuzz.ts";

Deno.test("bytes that nobody should send: nothing is thrown, and all that is held is bounded", () => {
  const seed = 261123;
  const fuzzer = new Fuzzer(seed);
  for (let k = 0; k < 2000; k++) {
    fuzzer.run();
    fuzzer.runHpack(5);
  }
  const { calls, messages, ended, goAways, codes, mostHeld } = fuzzer.counts;
  console.log(fuzzer.counts);
  // What it must reach, else it shows nothing.
  assert(calls > 500 && messages > 500 && ended > 50 && goAways > 1000 && mostHeld > 0);
  for (const code of [0, 1, 5, 6, 9]) assert(codes.has(code), `no GOAWAY with the code ${code}`);
});
