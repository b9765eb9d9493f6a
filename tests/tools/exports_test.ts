/** The exports of the package: few everyday names, and each name in one module only. */

import { assert, assertEquals } from "../_assert.ts";
import { inRepository } from "../../tools/_repository.ts";

const { exports } = JSON.parse(await Deno.readTextFile(inRepository("deno.json")));

/** The names that a room exports, by `deno doc`. */
async function namesOf(path: string): Promise<string[]> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", inRepository(path)],
  }).output();
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout));
  const [file] = Object.values<{ symbols: { name: string }[] }>(nodes);
  return (file?.symbols ?? []).map(({ name }) => name);
}

const rooms = new Map<string, string[]>();
for (const [room, path] of Object.entries<string>(exports)) rooms.set(room, await namesOf(path));

Deno.test("the room for every day has fewer than 100 names", () => {
  const names = rooms.get(".") ?? [];
  assert(names.includes("ExperienceReplay") && names.includes("Batch"), "deno doc named none");
  assert(names.length < 100, `${names.length} names`);
});

Deno.test("each name is in one room only", () => {
  const found = new Map<string, string[]>();
  for (const [room, names] of rooms) {
    for (const name of new Set(names)) found.set(name, [...found.get(name) ?? [], room]);
  }
  assertEquals([...found].filter(([, where]) => where.length > 1), []);
});

Deno.test("what only the library may do with its objects is in no room", () => {
  const names = [...rooms.values()].flat();
  const inside = ["OwnedBatch", "BatchLayout", "BatchSource", "ViewParts", "PickViewOwner"];
  for (const name of [...inside, "DrainedSteps", "DrainedParts"]) assert(!names.includes(name));
});
