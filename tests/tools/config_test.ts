/** The configurations agree with each other and with what the documentation says of them. */
import { assert, assertEquals } from "@std/assert";
import { exists, inRepository, listFiles } from "../../tools/_repository.ts";
import { listPages } from "../../tools/_site_pages.ts";

async function read(name: string): Promise<Record<string, unknown>> {
  return JSON.parse(await Deno.readTextFile(inRepository(name)));
}

Deno.test("deno.jsr.json differs from deno.json in the @std packages, tasks and publishing only", async () => {
  const { tasks: _, publish: __, ...plain } = await read("deno.json");
  const real = await read("deno.jsr.json");
  const standIns = {
    "@std/assert": "./tests/std/assert.ts",
    "@std/testing/bdd": "./tests/std/testing_bdd.ts",
  };
  assertEquals({ ...real, imports: { ...Object(real["imports"]), ...standIns } }, plain);
});

Deno.test("every task that the documentation names is in deno.json", async () => {
  const { tasks } = await read("deno.json");
  const known = Object.keys(Object(tasks));
  const files = [...await listPages(), ...await listFiles("examples", ".ts")];
  for (const name of ["README.md", "CONTRIBUTING.md"]) {
    if (await exists(inRepository(name))) files.push(name);
  }
  for (const file of files) {
    const text = await Deno.readTextFile(inRepository(file));
    for (const [, task = ""] of text.matchAll(/deno(?:@[\d.]+)? task ([a-z][a-z\d:]*)/g)) {
      assert(known.includes(task), `${file} names the task ${task}; there are ${known.join(", ")}`);
    }
  }
});
