/**
 * Wide batches are copied by two threads: they hold the same bytes as those of one thread, and a program ends as it would without, however
 * it ends. Each program is a process of its own (`_wide_batches.ts`).
 */
import { assert, assertEquals } from "../../_assert.ts";
import { amount } from "../../_amount.ts";
import { native } from "../../_native.ts";
import { inRepository } from "../../../tools/_repository.ts";

async function run(seed: number, ending: string, second = "1"): Promise<[number, string[]]> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-prompt", "--no-check", "--allow-all"],
      ...[inRepository("tests/replay/draw/_wide_batches.ts"), String(seed), ending],
    ],
    env: { EXRP_SECOND_THREAD: second },
  }).output();
  const text = new TextDecoder();
  const lines = text.decode(stdout).trim().split("\n");
  assert(lines[0] !== "", `seed ${seed}, ${ending}: ${text.decode(stderr)}`);
  return [code, lines];
}

const SEED = 281126;

native.test(`batches that two threads copy are those of one thread, for random options (seeds from ${SEED})`, async () => {
  for (let seed = SEED; seed < SEED + amount(2, 8); seed++) {
    const [code, lines] = await run(seed, "end");
    assertEquals(code, 0, `seed ${seed}`);
    assertEquals(lines, (await run(seed, "end", "0"))[1], `seed ${seed}`);
  }
});

for (
  const [ending, status] of [["exit", 5], ["throw", 1], ["terminate", 0], [
    "exitBeside",
    5,
  ]] as const
) {
  native.test(`a program that drew wide batches ends with status ${status}: ${ending}`, async () => {
    for (let turn = 0; turn < amount(1, 3); turn++) {
      assertEquals((await run(SEED + turn, ending))[0], status);
    }
  });
}
