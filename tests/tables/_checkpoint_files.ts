/** The files of checkpoints of Reverb's, and the errors of those that are refused. */
import { assertEquals, assertRejects } from "../_assert.ts";
import { ReplayError } from "../../base/errors.ts";
import { openKernel } from "../../ffi/library.ts";
import { readReverbCheckpoint, type ReverbCheckpointOptions } from "../../tables/mod.ts";
import { withCheckpoint } from "../reverb/_checkpoints.ts";

/** The bytes of each file, by its name. */
export type Files = Record<string, Uint8Array<ArrayBuffer>>;

const { symbols } = await openKernel({});

/** Reads files that are refused, and returns the error. Nothing is left in the kernel. */
export async function refusal(
  files: Files,
  options: ReverbCheckpointOptions = {},
): Promise<ReplayError> {
  const before = symbols.exrp_tables_count();
  let error = new ReplayError("unknown", "nothing was wrong");
  await withCheckpoint(files, async (folder) => {
    error = await assertRejects(() => readReverbCheckpoint(folder, options), ReplayError);
  });
  assertEquals(symbols.exrp_tables_count(), before);
  return error;
}
