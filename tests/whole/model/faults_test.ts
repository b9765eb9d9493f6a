/**
 * The test of the model test: each deliberate fault of the model must be caught. It stands apart from model_test.ts, so
 * that the two slowest tests can run side by side.
 *
 * @module
 */

import { assert, assertEquals } from "../../_assert.ts";
import { type Fault, FAULT_NAMES, FAULTS } from "./faults.ts";
import { KernelTap } from "./kernel_tap.ts";
import { makeProgram } from "./program.ts";
import { Mismatch, runProgram } from "./runner.ts";

const SEEDS = Array.from({ length: 200 }, (_, k) => k + 1);

/** The first seed that catches a fault, where the first few don't. It is tried first, to save time; where it does no more, the others are. */
const telling: Partial<Record<Fault, number>> = {
  curiousCountsOnce: 135,
  priorityTiesByAge: 119,
  statisticsFromNow: 98,
  normalizeByBatch: 85,
  drawsOfEpisodes: 68,
  curiousLossStartsAnew: 59,
  ucbTiesByIndex: 55,
  recentNeverShrinks: 53,
  handClearsOpen: 44,
  lruBackwards: 39,
  hindsightFromFirst: 39,
  snapshotForgetsOrphans: 33,
  agedSpared: 29,
  pickless: 22,
  lastPickDecides: 22,
  snapshotForgetsDrain: 22,
  mixtureForgetsOwed: 21,
  refusedPartsDraw: 21,
  learnsFromContext: 21,
  drainCutEnds: 19,
  laberIgnoresMax: 18,
  swapsOwnPicks: 18,
  ageOneMore: 16,
  pserOneByOne: 16,
  pserForgets: 16,
  pserCrossesEpisodes: 16,
  lfuTiesByAge: 15,
  finalStatesFree: 14,
  releasedWait: 14,
  trimmedGoesOn: 13,
  shiftsTogether: 11,
  shiftsAlike: 11,
  snapshotForgetsPlaces: 11,
  handToOldest: 10,
  agedOpenGoes: 10,
  returnsOfStored: 10,
  firstPriorityWins: 9,
  drawsTwice: 9,
  orphansGoOn: 8,
  snapshotForgetsHindsight: 8,
  cutForgetsState: 7,
  cutTerminates: 7,
  firstPrioritiesLost: 6,
  drainsAgain: 6,
  snapshotForgetsStatistics: 6,
  nStepForgetsDiscount: 5,
  fifoByEnd: 5,
  ucbCountsLate: 5,
};

Deno.test("the model test catches each of the model's deliberate faults", async () => {
  using tap = await KernelTap.on();
  const missed: string[] = [];
  for (const fault of FAULT_NAMES) {
    let caught = false;
    for (const seed of [telling[fault] ?? 1, ...SEEDS]) {
      if (caught) break;
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
