/** An engine without Float16Array, such as Node 20: only the dtype that needs it asks for it. */
import { assert, assertStrictEquals } from "../_assert.ts";

/** Runs a program in which there was never a Float16Array. Returns what it printed. */
async function withoutFloat16(code: string): Promise<string> {
  const mod = new URL("../../mod.ts", import.meta.url).href;
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "eval",
      `delete globalThis.Float16Array;
      const { ExperienceReplay, every, float16, float32, uniform } = await import(${
        JSON.stringify(mod)
      });
      ${code}`,
    ],
  }).output();
  const decoder = new TextDecoder();
  return decoder.decode(stdout) + decoder.decode(stderr);
}

Deno.test("without Float16Array, other dtypes work", async () => {
  const text = await withoutFloat16(`
    using replay = await ExperienceReplay.create({ capacity: 9, state: float32(2) });
    replay.record(replay.newEpisode(), [1, 2], 0, 3, { finalState: [4, 5] });
    console.log(replay.getBatch(2, replay.newPickSelector(uniform())).nextState.join());`);
  assertStrictEquals(text.trim(), "4,5,4,5");
});

Deno.test("without Float16Array, float16() says what it needs", async () => {
  const text = await withoutFloat16(`
    for (const make of [() => float16(2), () => every(2, float16())]) {
      try { make(); } catch (error) { console.log(error.name, error.message); }
    }`);
  const lines = text.trim().split("\n");
  assertStrictEquals(lines.length, 2, text);
  for (const line of lines) {
    assert(line.startsWith("TypeError float16() needs Float16Array") && /float32/.test(line), line);
  }
});
