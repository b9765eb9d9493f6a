/** The program of `deno task shard`, as a user starts it. What needs no NATS server is here; `nats_test.ts` has the rest. */
import { assert, assertEquals } from "../_assert.ts";
import { onWasm } from "../_native.ts";
import { inRepository } from "../../tools/_repository.ts";

/** What the program says, and its exit status. Nobody listens on the port, so it ends once it has opened its folder. */
async function run(...args: readonly string[]): Promise<readonly [code: number, text: string]> {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--no-check", "--quiet", "--no-prompt", "--lock=deno.lock"],
      ...[inRepository("shards", "main.ts"), ...args],
    ],
    cwd: inRepository(),
    stderr: "piped",
  }).output();
  return [code, new TextDecoder().decode(stderr)];
}

async function withConfig(
  config: object,
  use: (path: string, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/shard.json`;
    await Deno.writeTextFile(path, JSON.stringify(config));
    await use(path, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const CONFIG = {
  nats: { servers: "127.0.0.1:1", waitOnFirstConnect: false },
  replay: { capacity: 100, state: "float32()" },
  selectors: [{ prioritized: { alpha: 0.6 } }],
};

Deno.test("an option that is wrong is an error, and so is a file that is not there", async () => {
  const [code, text] = await run("--config=x", "--name=a", "--name=b");
  assertEquals(code, 2);
  assert(text.startsWith("--name was given twice\n\ndeno task shard --config=FILE"), text);
  const [, missing] = await run("--config=/no/shard.json");
  assertEquals(missing, "shard: --config: there is no file /no/shard.json\n");
});

Deno.test({
  name: "name and folder may come from the command line alone, and a folder keeps its selectors",
  ignore: onWasm,
  fn: () =>
    withConfig(CONFIG, async (path, folder) => {
      const [, unnamed] = await run(`--config=${path}`);
      assert(unnamed.startsWith("shard: directory must be the path of a folder"), unnamed);
      const args = [`--config=${path}`, "--name=a", `--directory=${folder}/a`];
      const [code, text] = await run(...args);
      assertEquals([code, text.includes("connection refused")], [1, true], text);
      await Deno.writeTextFile(
        path,
        JSON.stringify({ ...CONFIG, selectors: [{ prioritized: { alpha: 0.7 } }] }),
      );
      const [, changed] = await run(...args);
      assert(
        /^shard: selectors\[0\] is prioritized\(\{ alpha: 0\.7.*, and that of .*\/a is prioritized\(\{ alpha: 0\.6/
          .test(changed),
        changed,
      );
      // A new one behind those that are there.
      await Deno.writeTextFile(
        path,
        JSON.stringify({ ...CONFIG, selectors: [...CONFIG.selectors, "uniform"] }),
      );
      assert((await run(...args))[1].includes("connection refused"));
      await Deno.writeTextFile(path, JSON.stringify(CONFIG));
      const [, fewer] = await run(...args);
      assert(fewer.startsWith("shard: selectors[1] is missing, and that of "), fewer);
    }),
});
