/**
 * The programs of the model on a durable replay. It is closed and opened again where a program loads, and the model goes on as if nothing had been.
 *
 * @module
 */

import { assertGreater } from "../../_assert.ts";
import { KernelTap } from "./kernel_tap.ts";
import { canBeDurable } from "./library_subject.ts";
import { makeProgram } from "./program.ts";
import { runProgram } from "./runner.ts";
import { emptyTally } from "./sides.ts";

const SEED_COUNT = numberOfEnvironment("EXRP_DURABLE_SEEDS", 40);
const SEED_BASE = numberOfEnvironment("EXRP_DURABLE_SEED", 1);

function numberOfEnvironment(name: string, otherwise: number): number {
  const { state } = Deno.permissions.querySync({ name: "env", variable: name });
  const text = state === "granted" ? Deno.env.get(name) : undefined;
  return text === undefined || text === "" ? otherwise : Number(text);
}

Deno.test({
  name: `a durable replay agrees with the model (${SEED_COUNT} seeds from ${SEED_BASE})`,
  fn: async () => {
    using tap = await KernelTap.on({ recording: false });
    const tally = emptyTally();
    for (let seed = SEED_BASE; seed < SEED_BASE + SEED_COUNT; seed++) {
      const program = makeProgram(seed, 500);
      if (!canBeDurable(program.config)) continue;
      const folder = await Deno.makeTempDir();
      try {
        await runProgram(program, tap, { tally, folder });
      } catch (cause) {
        throw new Error(
          `${
            cause instanceof Error ? cause.message : cause
          }\nagain: EXRP_DURABLE_SEED=${seed} EXRP_DURABLE_SEEDS=1`,
          { cause },
        );
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    }
    assertGreater(tally.loads, SEED_COUNT / 4);
  },
});
