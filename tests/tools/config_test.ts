/** The configuration agrees with what the documentation says of it. */
import { assert } from "../_assert.ts";
import { exists, inRepository, listFiles } from "../../tools/_repository.ts";
import { listPages } from "../../tools/_site_pages.ts";

Deno.test("every task that the documentation names is in deno.json", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(inRepository("deno.json")));
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
