/** What bench:check calls worse, and what bench:limit says of the workloads that may be so far from their limit at most. */
import { assertEquals } from "../_assert.ts";
import { bestOf, type Figures, floorLines, judge } from "../../bench/_verdicts.ts";

const figures = (name: string, ours: number, limit: number, floor?: number): Figures => ({
  name,
  ours: { min: ours },
  limit: { min: limit },
  ...(floor === undefined ? {} : { floor }),
});
const committed = [
  figures("draws", 116, 100),
  figures("draws, a fresh batch each time", 200, 100),
];

Deno.test("judge() holds a workload against 1.5 times its committed ratio, whatever its floor is", () => {
  assertEquals(judge(figures("draws", 173, 100, 1.4), committed), {
    name: "draws",
    outcome: "kept",
    text: "1.73, was 1.16, may be 1.74",
  });
  assertEquals(judge(figures("draws", 194, 100, 5), committed), {
    name: "draws",
    outcome: "WORSE",
    text: "1.94, was 1.16, may be 1.74",
  });
});

Deno.test("judge() names what has no committed result, and what nobody can be held to", () => {
  assertEquals(judge(figures("stacks", 300, 100), committed), {
    name: "stacks",
    outcome: "not judged",
    text: "3.00, there is no committed result",
  });
  assertEquals(judge(figures("draws, a fresh batch each time", 900, 100), committed), {
    name: "draws, a fresh batch each time",
    outcome: "not judged",
    text: "9.00, was 2.00; the garbage collector decides it",
  });
});

Deno.test("bestOf() takes the smallest of ours and of the limit from either run", () => {
  const worse = (again: Figures): string =>
    judge(bestOf([figures("draws", 194, 100)], [again])[0] ?? again, committed).outcome;
  assertEquals(worse(figures("draws", 120, 104)), "kept", "ours was disturbed in the first run");
  assertEquals(worse(figures("draws", 190, 150)), "WORSE", "the limit was in the second");
  assertEquals(worse(figures("draws", 170, 90)), "WORSE", "the limit was in the first, too");
  const others = [figures("stacks", 1, 2, 1.2)];
  assertEquals(bestOf(others, [figures("draws", 3, 4)]), others, "not measured again");
});

Deno.test("floorLines() counts those that keep to what they may be at most, and names the others", () => {
  const workloads = [
    figures("draws", 140, 100, 1.4),
    figures("stacks", 125, 100, 1.2),
    figures("record", 4000, 100),
  ];
  assertEquals(floorLines(workloads, { emptyCall: 5, record: 156 }), [
    '1 of the 3 that have an "at most" keep to it; not these, by a run that wants a quiet machine:',
    "  stacks: 1.25, at most 1.2",
    "  record over an empty call: 151 ns, at most 150",
  ]);
  assertEquals(floorLines(workloads.slice(0, 1), { emptyCall: 5, record: 155 }), [
    '2 of the 2 that have an "at most" keep to it',
  ]);
  assertEquals(floorLines(workloads.slice(2)), ["none of these has to be at most something"]);
});
