/** Tests of what WebAssembly does not have: threads at one replay, memory that is handed back, a library to open. */

/** Whether the tests run on WebAssembly: by the variable that says so to users, too. */
export const onWasm: boolean = Deno.env.get("EXRP_BACKEND") === "wasm";

/** `native.test()` is `Deno.test()` of the native kernel only: on WebAssembly the test is ignored, by name. */
export const native = {
  test(name: string, fn: () => void | Promise<void>): void {
    Deno.test({ name, fn, ignore: onWasm });
  },
};
