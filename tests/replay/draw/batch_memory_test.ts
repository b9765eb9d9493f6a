/**
 * Large batches lie over memory of the kernel, which serves another batch once the engine has freed the first. What anyone still sees never changes,
 * in whichever thread and by whichever view.
 */
import { assertEquals } from "../../_assert.ts";
import { native } from "../../_native.ts";
import { openKernel } from "../../../ffi/library.ts";
import { inRepository } from "../../../tools/_repository.ts";

async function run(args: readonly string[]): Promise<[number, string, string]> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--no-check", ...args],
  }).output();
  const text = new TextDecoder();
  return [code, text.decode(stdout).trim(), text.decode(stderr)];
}

native.test("what shows a large batch keeps it as it was, and what nobody shows serves again", async () => {
  const program = inRepository("tests/replay/draw/_batch_memory.ts");
  const [code, said, failed] = await run(["--allow-all", "--v8-flags=--expose-gc", program]);
  assertEquals([code, said], [0, "36 kept"], failed);
});

native.test("the permission to open the kernel is enough for its memory, and without it there are batches too", async () => {
  const { path } = await openKernel();
  const code = `
import { openKernel, takeBuffer } from "${import.meta.resolve("../../../ffi/library.ts")}";
import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
const kernel = await openKernel();
const replay = await ExperienceReplay.create({ capacity: 10, state: uint8(100, 1000) });
replay.record(replay.newEpisode(), new Uint8Array(100_000).fill(3), 0, 0, { finalState: new Uint8Array(100_000) });
const { state } = replay.getBatch(20, replay.newPickSelector(uniform()));
console.log(kernel.backend, takeBuffer(kernel, 2_000_000)?.byteLength, state.every((value) => value === 3));
`;
  await Deno.mkdir(inRepository("build"), { recursive: true });
  const program = await Deno.makeTempFile({ dir: inRepository("build"), suffix: ".ts" });
  try {
    await Deno.writeTextFile(program, code);
    const config = `--config=${inRepository("deno.json")}`;
    assertEquals(await run([config, `--allow-ffi=${path}`, program]), [
      0,
      "native 2000000 true",
      "",
    ]);
    assertEquals(await run([config, program]), [0, "wasm undefined true", ""]);
  } finally {
    await Deno.remove(program);
  }
});
