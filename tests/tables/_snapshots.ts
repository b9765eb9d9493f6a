/** What tests of saved tables share. */
import { assertEquals, assertRejects } from "@std/assert";
import { ReplayError } from "@exrp/replay";

/** A call that is refused with this code and these words. */
export async function refused(
  call: () => Promise<unknown>,
  code: string,
  words: RegExp,
): Promise<void> {
  const error = await assertRejects(call, ReplayError);
  assertEquals([error.code, words.test(error.message) || error.message], [code, true]);
}

/** Where each frame of a snapshot begins, and its end. */
export function borders(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const found = [0, 16];
  for (let at = 16; at < bytes.length; found.push(at)) {
    at += 24 + Number(view.getBigUint64(at + 8, true));
  }
  return found;
}
