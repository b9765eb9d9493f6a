/**
 * The Python that has Reverb: the one that the variable EXRP_REVERB_PYTHON names, or the one that `deno task reverb:install` made.
 *
 * @module
 */
import { exists } from "../../tools/_repository.ts";
import { findEnvironment, type Found } from "../peers/_environments.ts";

/** What installs it. */
export const INSTALL = "deno task reverb:install";

/** Finds the interpreter, or says why there is none. A named one that is not there is an error. */
export async function findReverbPython(): Promise<Found> {
  const named = Deno.env.get("EXRP_REVERB_PYTHON");
  if (named === undefined) {
    const found = await findEnvironment("reverb");
    return "python" in found ? found : { why: `Reverb is not here; run ${INSTALL}` };
  }
  if (!await exists(named)) {
    throw new Error(
      `EXRP_REVERB_PYTHON is ${named}, and there is no such file. It must name a Python that has dm-reverb. ` +
        `Without the variable, the one of ${INSTALL} is taken.`,
    );
  }
  return { python: named };
}
