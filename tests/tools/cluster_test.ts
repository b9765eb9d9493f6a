/**
 * `deno task cluster`: all parts run, its page has their figures, a shard that is killed is told and comes back, and at the end no process is left.
 *
 * Where there is no `nats-server`, that is left out: `deno task nats:install` gets one.
 */
import { main } from "../../tools/cluster.ts";
import type { ClusterFigures } from "../../tools/_cluster_page.ts";
import { findNats } from "../../tools/_nats.ts";
import { inRepository } from "../../tools/_repository.ts";
import { onWasm } from "../_native.ts";
import { assert, assertEquals, assertMatch, assertStrictEquals } from "../_assert.ts";
import { inTime, until } from "../_wait.ts";

const nats = await findNats();

/** What the command says of wrong options and of what is missing, and its status. */
async function refused(args: string[]): Promise<string> {
  const { error } = console;
  const lines: string[] = [];
  console.error = (line: string) => void lines.push(line);
  try {
    const status = await main(args, () => Promise.resolve(undefined));
    return [status, ...lines].join(" ");
  } finally {
    console.error = error;
  }
}

Deno.test("a cluster without a NATS server, or with wrong options, is refused in words", async () => {
  assertStrictEquals(
    await refused([]),
    "1 there is no nats-server here: run deno task nats:install, which builds one",
  );
  assertMatch(await refused(["--as=a3c"]), /^2 --as is one of apex, .*, not "a3c"/);
  assertStrictEquals(
    await refused(["--actors=0"]),
    "2 --actors must be a whole number from 1 to 10000",
  );
  assertStrictEquals(
    await refused(["--as=r2d2", "--actors=9"]),
    "2 --actors must be a whole number from 1 to 8",
  );
  assertStrictEquals(
    await refused(["--as=impala", "--shards=2"]),
    "2 --as=impala has a queue and no shards",
  );
  assertMatch(await refused(["--actor=2"]), /^2 unknown option --actor\. Did you mean --actors\?/);
});

/** Whether there is a process of this number. */
async function isThere(pid: number): Promise<boolean> {
  return await Deno.stat(`/proc/${pid}`).then(() => true, () => false);
}

Deno.test({
  name: "a cluster runs all parts, brings a killed shard back, and leaves no process behind",
  ignore: nats === undefined || onWasm || Deno.build.os !== "linux",
  fn: async () => {
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--quiet", "--no-check", "--config", inRepository("deno.json")],
        ...[inRepository("tools", "cluster.ts"), "--port=0", "--steps=100000000"],
      ],
      env: { NO_COLOR: "1" },
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    let said = "";
    const read = (async () => {
      for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) said += piece;
    })();
    try {
      await until("the page is there", () => /http:\S+/.test(said));
      const address = /http:\S+/.exec(said)?.[0] ?? "";
      const page = await fetch(address);
      assertMatch(await page.text(), /<title>Cluster<\/title>/);
      const figures = async (): Promise<ClusterFigures> =>
        await (await fetch(`${address}/figures.json`)).json();
      let now = await figures();
      await until("the learner learns from both shards' actors", async () => {
        now = await figures();
        const { shards, actors, learner } = now;
        return shards.length === 2 && shards.some(({ records }) => records >= 1000) &&
          actors.length === 2 && actors.every(({ steps, version }) => steps > 0 && version > 0) &&
          learner !== undefined && learner.updates > 0 && learner.version > 1;
      });
      assertStrictEquals(now.architecture, "apex");
      assertEquals(now.deaths, []);
      const names = ["nats", "shard-0", "shard-1", "actor-0", "actor-1", "learner"];
      assertEquals(now.programs.map(({ name }) => name), names);
      const before = now.programs.map(({ pid }) => pid ?? 0);
      for (const pid of before) assert(await isThere(pid));

      const { name = "", records = 0 } = now.shards.toSorted((one, other) =>
        other.records - one.records
      )[0] ?? {};
      Deno.kill(before[names.indexOf(name)] ?? 0, "SIGKILL");
      await until("the page says so", async () => {
        now = await figures();
        return now.deaths.some((death) => death.name === name && death.how === "SIGKILL");
      });
      await until("the shard is there again, with its records", async () => {
        now = await figures();
        const program = now.programs[names.indexOf(name)];
        const shard = now.shards.find((each) => each.name === name);
        return program?.restarts === 1 && program.pid !== undefined && shard !== undefined &&
          shard.silentMs < 1000 * program.seconds && shard.records > 0;
      });
      const shard = now.shards.find((each) => each.name === name);
      assert((shard?.records ?? 0) > records / 2, `${records}, then ${shard?.records}`);
      const { updates = 0 } = now.learner ?? {};
      await until("the learner goes on", async () => {
        now = await figures();
        return (now.learner?.updates ?? 0) > updates;
      });

      const pids = [...before, ...now.programs.map(({ pid }) => pid ?? 0)];
      child.kill("SIGINT");
      const { code } = await inTime("the cluster has ended", child.status);
      await read;
      assertStrictEquals(code, 0, said);
      assertMatch(said, /cluster: SIGINT: ending all\ncluster: all have ended\n$/);
      for (const pid of pids) assert(pid === 0 || !await isThere(pid), `process ${pid} is left`);
    } finally {
      try {
        child.kill("SIGTERM");
      } catch {
        // It has ended.
      }
      await child.status;
      await read;
    }
  },
});
