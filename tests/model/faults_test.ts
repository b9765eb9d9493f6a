/**
 * The test of the model test: each deliberate fault of the model must be caught. It stands apart from model_test.ts, so
 * that the two slowest tests can run side by side.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { FAULT_NAMES, FAULTS } from "./faults.ts";
import { KernelTap } from "./kernel_tap.ts";
import { makeProgram } from "./program.ts";
import { Mismatch, runProgram } from "./runner.ts";

Deno.test("the model test catches each of the model's deliberate faults", async () => {
  using tap = await KernelTap.on();
  const missed: string[] = [];
  for (const fault of FAULT_NAMES) {
    let caught = false;
    for (let seed = 1; seed <= 200 && !caught; seed++) {
      try {
        await runProgram(makeProgram(seed, 250), tap, { fault });
      } catch (error) {
        assert(error instanceof Mismatch, String(error));
        caught = true;
      }
    }
    if (!caught) missed.push(`${fault}: ${FAULTS[fault]}`);
  }
  assertEquals(missed, []);
});
