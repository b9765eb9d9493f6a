/** Bytes as a module of WebAssembly, as a package carries its kernels. */
import { assertEquals } from "../_assert.ts";
import { join } from "node:path";
import { dataModule } from "../../tools/_data_module.ts";

Deno.test("the memory of a module begins with its bytes, and ends with their page", async () => {
  for (const length of [0, 1, 63, 64, 127, 128, 16383, 16384, 65535, 65536, 65537, 3_000_000]) {
    const bytes = Uint8Array.from({ length }, (_, k) => k * 7 + (k >> 8));
    const { instance } = await WebAssembly.instantiate(dataModule(bytes));
    const { memory } = instance.exports;
    if (!(memory instanceof WebAssembly.Memory)) throw new Error("no memory");
    assertEquals(new Uint8Array(memory.buffer, 0, length), bytes, `${length} bytes`);
    assertEquals(memory.buffer.byteLength, Math.ceil(length / 65536) * 65536);
  }
});

Deno.test("Deno imports such a module without a permission", async () => {
  const folder = await Deno.makeTempDir({ prefix: "exrp_data_module_" });
  try {
    const module = dataModule(new TextEncoder().encode("some bytes"));
    await Deno.writeFile(join(folder, "some.wasm"), module);
    const program = `const { memory } = await import("./some.wasm");
console.log(new TextDecoder().decode(new Uint8Array(memory.buffer, 0, 10)));`;
    await Deno.writeTextFile(join(folder, "main.ts"), program);
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--no-prompt", "--check", join(folder, "main.ts")],
    }).output();
    const [out, error] = [stdout, stderr].map((each) => new TextDecoder().decode(each).trim());
    assertEquals([code, out], [0, "some bytes"], error);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
