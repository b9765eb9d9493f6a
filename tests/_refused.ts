/** Calls that must fail as users see it: by a code and in words. */
import { assertEquals, assertRejects } from "./_assert.ts";
import { ReplayError } from "@exrp/replay";

/** A call that must fail by this code, with such words. */
export async function refused(
  call: () => Promise<unknown>,
  code: string,
  words: RegExp,
): Promise<void> {
  const error = await assertRejects(call, ReplayError);
  assertEquals([error.code, words.test(error.message) || error.message], [code, true]);
}
