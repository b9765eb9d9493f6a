/**
 * `deno task test:docs`: runs the examples of pages and docstrings, and compares what they print with their comments.
 *
 *     deno task test:docs                      all pages, and all code that the package has
 *     deno task test:docs docs/rate_limiters.md mod.ts  these files
 *
 * @module
 */
import { listDocumented, testExamples } from "./_typescript_tests.ts";

const files = Deno.args.length > 0 ? Deno.args : await listDocumented();
const { count, text } = await testExamples(files);
console.log(text);
console.log(`${count.passed} examples passed, ${count.failed} failed`);
if (count.failed > 0 || count.passed === 0) Deno.exit(1);
