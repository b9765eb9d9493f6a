/** Many replays at once: those that were forgotten are freed, and an error about memory says how many there are. */
import { assertEquals } from "../_assert.ts";
import { type Kernel, kernelError, openKernel } from "../../ffi/library.ts";
import { EXRP_STATUS_MEMORY } from "../../ffi/symbols.ts";
import { native } from "../_native.ts";

native.test("replays that a program forgets without a turn of the event loop are freed", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-check",
      "--allow-all",
      new URL("_forgets.ts", import.meta.url).pathname,
    ],
  }).output();
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  assertEquals([code, text(stdout)], [0, "2500 were made\n"], text(stderr));
});

Deno.test("an error about memory says how many replays and sets of tables are open, where they are many", async () => {
  const { symbols } = await openKernel();
  const withCounts = (replays: number, sets: number): Kernel => ({
    ...{ backend: "native", origin: "", reason: "", path: undefined },
    symbols: {
      ...symbols,
      exrp_replay_count: () => replays,
      exrp_tables_count: () => sets,
      exrp_error_detail: (detail: Float64Array) => (detail.set([21_504, 0, 0, 0]), 0),
    },
  } as unknown as Kernel);
  const messageOf = (replays: number, sets: number): string =>
    kernelError(withCounts(replays, sets), "record()", EXRP_STATUS_MEMORY).message;
  assertEquals(messageOf(300, 100), "record(): no memory for 21 KiB more; nothing has changed");
  assertEquals(
    messageOf(1800, 14),
    "record(): no memory for 21 KiB more; nothing has changed; 1814 replays and sets of tables are open in this process, which may be more than the system has memory maps for: end those that you no longer need, by `using` or [Symbol.dispose]()",
  );
});
