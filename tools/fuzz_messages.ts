/**
 * Feeds damaged protobuf messages to the kernel, under ASan and UBSan: `deno task fuzz:messages`.
 *
 * @module
 */
import { readArguments } from "./_arguments.ts";
import { buildTargets, folder } from "./_native_tests.ts";
import { inRepository, seconds } from "./_repository.ts";

const usage = `deno task fuzz:messages [OPTION]

Builds two C++ tests under sanitizers, and gives each a million damaged messages: inserts and changes of priorities to
tables, and samples with their tensors to the decoder.

  --inputs=N  how many messages each gets; 1000000 by default
  --seed=N    repeats a run; each run prints its seed
  --help      prints this`;

const tests = ["address_kernel_tables_fuzz_test", "address_kernel_wire_samples_test"];

/** Runs the tool; returns its exit status. */
async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(
    args,
    { inputs: { type: "string", default: "1000000" }, seed: { type: "string" } },
    usage,
  );
  if (typeof options === "number") return options;
  const seed = options.seed ?? String(Math.floor(Math.random() * 2 ** 32));
  for (const [name, value] of Object.entries({ seed, inputs: options.inputs ?? "" })) {
    if (/^\d+$/.test(value)) continue;
    console.error(`--${name} must be a whole number, got ${value}`);
    return 2;
  }
  const { count, text } = await buildTargets(tests);
  if (count.failed > 0) {
    console.error(text);
    return 1;
  }
  const start = performance.now();
  // ctest knows how programs under sanitizers are started here.
  const { code } = await new Deno.Command("ctest", {
    args: ["--test-dir", folder, "--verbose", "--tests-regex", `^(${tests.join("|")})$`],
    cwd: inRepository(),
    env: { EXRP_FUZZ_COUNT: options.inputs ?? "", EXRP_FUZZ_SEED: seed },
  }).spawn().status;
  console.log(
    `${options.inputs} messages each, seed ${seed}, ${seconds(performance.now() - start)}`,
  );
  return code;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
