/** Programs that are kept running: those that end are started again, those that can't run are given up, and at the end none is left. */
import { Supervisor } from "../../tools/_supervisor.ts";
import { assert, assertEquals, assertStrictEquals } from "../_assert.ts";
import { until } from "../_wait.ts";

const ignore = Deno.build.os === "windows";

/** A program of the shell. */
function shell(name: string, script: string): { name: string; path: string; args: string[] } {
  return { name, path: "/bin/sh", args: ["-c", script] };
}

Deno.test({
  name: "a program that is killed is started again, and its death is told",
  ignore,
  fn: async () => {
    const supervisor = new Supervisor(() => {});
    supervisor.start(shell("one", "exec sleep 1000"));
    supervisor.start(shell("other", "exec sleep 1000"));
    const [{ pid = 0 } = {}, other] = supervisor.running;
    Deno.kill(pid, "SIGKILL");
    await until("it runs again", () => supervisor.running[0]?.restarts === 1);
    const [one, same] = supervisor.running;
    assert(one?.pid !== undefined && one.pid !== pid);
    assertStrictEquals(same?.pid, other?.pid);
    assertEquals(supervisor.deaths.map(({ name, how }) => `${name}: ${how}`), ["one: SIGKILL"]);
    await supervisor.end();
    assertEquals(supervisor.running.map(({ pid }) => pid), [undefined, undefined]);
  },
});

Deno.test({
  name: "a program that ends again and again is given up, with what it printed",
  ignore,
  fn: async () => {
    const lines: string[] = [];
    const supervisor = new Supervisor((line) => lines.push(line));
    supervisor.start(shell("broken", "echo quiet; echo no such file >&2; exit 3"));
    assertStrictEquals(
      await supervisor.finished,
      "broken ended 5 times in a row soon after its start",
    );
    await supervisor.end();
    assert(lines.includes("broken: no such file"));
    assert(!lines.includes("broken: quiet"));
    assertStrictEquals(supervisor.deaths.length, 5);
    assert(supervisor.deaths.every(({ how }) => how === "status 3"));
  },
});

Deno.test({
  name: "who ends well is not started again, and all is over once the goal has ended well",
  ignore,
  fn: async () => {
    const lines: string[] = [];
    const supervisor = new Supervisor((line) => lines.push(line));
    supervisor.start(shell("done", "exit 0"));
    supervisor.start({ ...shell("goal", "sleep 0.2; printf result"), isGoal: true, isLoud: true });
    assertStrictEquals(await supervisor.finished, undefined);
    await supervisor.end();
    assertEquals(lines, ["goal: result"]);
    assertEquals(supervisor.deaths, []);
  },
});

Deno.test({
  name: "a program that is being started again when all ends is not started any more",
  ignore,
  fn: async () => {
    const supervisor = new Supervisor(() => {});
    supervisor.start(shell("one", "exit 1"));
    await until("it has ended", () => supervisor.deaths.length > 0);
    await supervisor.end(); // the timer of its start is among what Deno's sanitizer would find
    assertStrictEquals(supervisor.running[0]?.pid, undefined);
  },
});
