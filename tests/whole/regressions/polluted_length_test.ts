/** Once, a program that changed `length` of typed arrays ended by a segmentation fault: the library gave it to the kernel with arrays of its own. */
import { assertEquals, assertMatch } from "../../_assert.ts";
import { onWasm } from "../../_native.ts";

const PROGRAM = new URL("_polluted_length.ts", import.meta.url).pathname;
const EACH = ["Float64Array", "Float32Array", "Uint8Array", "Uint32Array", "Int32Array"];
/** Each call comes through. But nothing is shared on WebAssembly. */
const all = onWasm ? /^31 of 32, 8 picks/ : /^32 of 32, 8 picks/;

for (const [lie, names] of [[0, []], [1e7, ["TypedArray"]], [1e7, EACH], [0, EACH]] as const) {
  Deno.test(`no call goes beyond an array: ${names.join(", ") || "none"} says ${lie}`, async () => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--no-check", "--allow-all", PROGRAM, `${lie}`, ...names],
    }).output();
    const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
    assertEquals(code, 0, text(stderr));
    assertMatch(text(stdout), names.length === 0 ? all : /^\d+ of 32, 8 picks/);
  });
}
