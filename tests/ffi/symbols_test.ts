/** The header, the generated binding and the built library name the same functions. */
import { assert, assertEquals } from "../_assert.ts";
import { hostImports } from "../../ffi/host.ts";
import * as binding from "../../ffi/symbols.ts";
import { wasmSymbols } from "../../ffi/wasm_symbols.ts";
import { parseAbiHeader } from "../../tools/_abi_header.ts";
import { builtLibraryPath, builtWasmPath, inRepository } from "../../tools/_repository.ts";
import { generateSymbols } from "../../tools/generate_symbols.ts";
import { listElfSymbols } from "./_elf.ts";

const library = Deno.env.get("EXRP_KERNEL") ?? builtLibraryPath();
const header = parseAbiHeader(await Deno.readTextFile(inRepository("kernel", "exrp.h")));

Deno.test("the binding names the functions of the header, in its order", () => {
  assertEquals(Object.keys(binding.symbols), header.functions.map((each) => each.name));
});

Deno.test("the binding gives each constant of the header its number", () => {
  const { symbols: _, ...constants } = binding;
  assertEquals(
    { ...constants },
    Object.fromEntries(header.constants.map(({ name, value }) => [name, value])),
  );
});

Deno.test("generating the bindings again changes nothing", async () => {
  for (const file of ["symbols.ts", "wasm_symbols.ts"]) {
    const text = await Deno.readTextFile(inRepository("ffi", file));
    assertEquals(text, await generateSymbols(file), file);
  }
});

Deno.test("the WebAssembly kernel exports the functions of the header and its memory, and imports what ffi/host.ts has", async () => {
  const module = new WebAssembly.Module(await Deno.readFile(builtWasmPath()));
  const imports = WebAssembly.Module.imports(module);
  assertEquals(
    imports.map(({ module, name }) => `${module}.${name}`).sort(),
    Object.keys(hostImports(() => new WebAssembly.Memory({ initial: 1 })))
      .map((name) => `host.${name}`).sort(),
  );
  assertEquals(
    WebAssembly.Module.exports(module).map(({ name }) => name).sort(),
    ["_initialize", "exrp_wasm_arena", "memory", ...header.functions.map(({ name }) => name)]
      .sort(),
  );
  assertEquals(Object.keys(wasmSymbols), header.functions.map(({ name }) => name));
});

Deno.test("functions of the binding block but for the slow ones, and take nothing but numbers and buffers", () => {
  for (const [name, definition] of Object.entries(binding.symbols)) {
    const { isSlow = false } = header.functions.find((each) => each.name === name) ?? {};
    assertEquals("nonblocking" in definition, isSlow, name);
    for (const type of definition.parameters) {
      assert(["u32", "i32", "f32", "f64", "buffer"].includes(type), name);
    }
  }
});

Deno.test({
  name: "the library exports the functions of the header, what engines look for, and nothing else",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const { exported } = listElfSymbols(await Deno.readFile(library));
    const functions = header.functions.map((each) => each.name);
    assertEquals(exported, [...functions, "napi_register_module_v1"].sort());
  },
});

Deno.test({
  // Deno unloads the library before the process ends; what is registered would then be called where nothing is.
  name: "the library registers nothing to run at exit: it has no static object with a destructor",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const { imported } = listElfSymbols(await Deno.readFile(library));
    assert(
      imported.includes("memcpy") || imported.includes("malloc"),
      "the table of symbols was not read",
    );
    assertEquals(imported.filter((name) => /atexit/.test(name)), []);
  },
});
