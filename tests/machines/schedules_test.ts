/**
 * Random schedules of a fleet on a simulated network. `EXRP_MACHINE_SCHEDULES` runs more of them, from the seed `EXRP_MACHINE_SEED` on; `EXRP_MACHINE_LOG` prints what
 * happens in the first.
 *
 * @module
 */

import { assert, assertEquals } from "../_assert.ts";
import { runSchedule } from "./_schedule.ts";

const SCHEDULES = Number(Deno.env.get("EXRP_MACHINE_SCHEDULES") ?? 30);
const SEED = Number(Deno.env.get("EXRP_MACHINE_SEED") ?? 1);
const isLogged = Deno.env.get("EXRP_MACHINE_LOG") !== undefined;
const ignore = Deno.env.get("EXRP_BACKEND") === "wasm";

Deno.test({
  name: `a fleet keeps its promises in ${SCHEDULES} schedules of faults (from seed ${SEED})`,
  ignore,
  fn: async () => {
    const sums = new Map<string, number>();
    const failures: unknown[] = [];
    for (let seed = SEED; seed < SEED + SCHEDULES; seed++) {
      try {
        const figures = await runSchedule(seed, isLogged ? console.log : undefined);
        const { faults, above, aboveAfterDeaths, trace: _, ...numbers } = figures;
        for (const [name, value] of Object.entries({ ...numbers, ...faults })) {
          sums.set(name, (sums.get(name) ?? 0) + value);
        }
        for (const [name, value] of Object.entries({ above, aboveAfterDeaths })) {
          sums.set(name, Math.max(sums.get(name) ?? 0, value));
        }
      } catch (error) {
        failures.push(error);
        if (failures.length >= 5) break;
      }
    }
    const text = [...sums].map(([name, value]) => `${name} ${Math.round(value)}`).join(", ");
    console.log(`${SCHEDULES} schedules from seed ${SEED}: ${text}`);
    assertEquals(failures.map(String), []);
    assert((sums.get("records") ?? 0) > 0);
  },
});

Deno.test({
  name: "a seed gives one schedule",
  ignore,
  fn: async () => assertEquals(await runSchedule(SEED), await runSchedule(SEED)),
});
