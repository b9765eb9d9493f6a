/** A program that hangs is ended, however fast the machine is; one that works or prints is not. */
import { assertEquals, assertStringIncludes } from "../_assert.ts";
import { readTree } from "../../tools/_processes.ts";
import { hangs } from "../../tools/_watch.ts";
import { until } from "../_wait.ts";

Deno.test("a program hangs if it waits for a minute, or works for two, without printing", () => {
  assertEquals(hangs({ seconds: 59, worked: 0 }), undefined);
  assertEquals(hangs({ seconds: 60, worked: 0.5 }), "waited for 60 s and printed nothing");
  assertEquals(hangs({ seconds: 60, worked: 119 }), undefined);
  assertEquals(hangs({ seconds: 61, worked: 120 }), "worked for 120 s and printed nothing");
});

Deno.test("a program that other programs slow down does not hang", () => {
  // It got a fifth of a core.
  assertEquals(hangs({ seconds: 500, worked: 100 }), undefined);
});

Deno.test("a program whose processor time is unknown may be silent for ten minutes", () => {
  assertEquals(hangs({ seconds: 599, worked: undefined }), undefined);
  assertEquals(
    hangs({ seconds: 600, worked: undefined }),
    "printed nothing for 600 s",
  );
});

Deno.test({
  name: "readTree() adds up the processor time of a program and of those that it started",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    // The shell waits, a second one in it works as long as the first one is there, and a third one has worked and ended.
    const script = "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; echo ended; " +
      "sh -c 'while kill -0 $PPID 2>/dev/null; do :; done' & wait";
    const child = new Deno.Command("sh", { args: ["-c", script], stdout: "piped" }).spawn();
    try {
      const ended = await child.stdout.getReader().read();
      assertStringIncludes(new TextDecoder().decode(ended.value), "ended");
      const first = readTree(child.pid);
      let later = first;
      await until("the second shell works", () => {
        later = readTree(child.pid);
        return (later?.seconds ?? 0) >= (first?.seconds ?? 0) + 0.1;
      });
      assertEquals(later?.pids[0], child.pid);
      assertEquals(later?.pids.length, 2);
    } finally {
      child.kill("SIGKILL");
      await child.status;
    }
    assertEquals(readTree(child.pid)?.pids, []);
  },
});
