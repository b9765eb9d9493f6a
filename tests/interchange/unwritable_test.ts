/** The command on a folder that nobody can write: it only reads, so it works. */
import { assertEquals, assertMatch, assertStringIncludes } from "../_assert.ts";
import { ExperienceReplay, float32 } from "@exrp/replay";
import { native } from "../_native.ts";
import { withFolder } from "./_episodes.ts";

const program = new URL("../../interchange/exrp.ts", import.meta.url).pathname;

/** What a process came to: its status, and what it printed. */
async function run(command: string, args: readonly string[]): Promise<[number, string]> {
  const { code, stdout, stderr } = await new Deno.Command(command, { args: [...args] }).output();
  return [code, new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr)];
}

/** Runs programs that can't write a folder: by its rights, or, for root, by a mount of their own. Undefined where this process may not mount. */
async function withoutWriting(folder: string): Promise<typeof run | undefined> {
  if (Deno.uid() !== 0) {
    for await (const { name } of Deno.readDir(folder)) await Deno.chmod(`${folder}/${name}`, 0o444);
    await Deno.chmod(folder, 0o555);
    return run;
  }
  const mounted = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"';
  const inside: typeof run = (command, args) =>
    run("unshare", ["--mount", "sh", "-c", mounted, folder, command, ...args]);
  const [code] = await inside("true", []).catch(() => [1]);
  return code === 0 ? inside : undefined;
}

if (Deno.build.os !== "windows") {
  native.test("a folder that can't be written is inspected, verified and exported", () =>
    withFolder(async (folder) => {
      const [pool, out] = [`${folder}/pool`, `${folder}/out.parquet`];
      {
        using replay = await ExperienceReplay.open(pool, { capacity: 100, state: float32(2) });
        replay.recordMany(replay.newEpisode(), {
          ...{ state: new Float32Array(20), action: new Int32Array(10) },
          ...{ reward: new Float32Array(10), finalState: [1, 2] },
        });
        await replay.flush();
      }
      const inside = await withoutWriting(pool);
      if (inside === undefined) return console.log("skipped: this process may not mount a folder");
      try {
        const exrp = (...args: string[]): Promise<[number, string]> =>
          inside(Deno.execPath(), ["run", "--no-check", "-A", program, ...args]);
        const [touched] = await inside("touch", [`${pool}/new`]);
        assertEquals(touched === 0, false);
        const [inspected, shown] = await exrp("inspect", pool);
        assertEquals(inspected, 0, shown);
        assertStringIncludes(shown, "checksums  all are right");
        const [verified, found] = await exrp("verify", pool);
        assertEquals(verified, 0, found);
        assertStringIncludes(found, "nothing is damaged");
        const [exported, wrote] = await exrp("export", "parquet", pool, out);
        assertEquals(exported, 0, wrote);
        assertMatch(wrote, /wrote 10 steps in 1 episode/);
        // To go on with it is another thing.
        const opened =
          `import { ExperienceReplay } from "@exrp/replay"; await ExperienceReplay.open(${
            JSON.stringify(pool)
          });`;
        const config = new URL("../../deno.json", import.meta.url).pathname;
        const [refused, why] = await inside(Deno.execPath(), [
          ...["eval", "--config", config, "--ext=ts", opened],
        ]);
        assertEquals(refused, 1);
        assertMatch(why, /the folder can't be written/);
      } finally {
        await Deno.chmod(pool, 0o755);
      }
    }));
}
