/** The program of `deno task serve`. */
import { join } from "node:path";
import { assert, assertEquals, assertRejects } from "../_assert.ts";
import { inRepository } from "../../tools/_repository.ts";
import { Connection } from "../reverb/_grpc.ts";
import { insert, sample } from "./_served.ts";
import { printedUntil } from "./checkpoints/_program.ts";

const permissions = ["--allow-read", "--allow-write", "--allow-env", "--allow-ffi", "--allow-net"];

function program(...args: string[]): Deno.Command {
  return programFrom({}, ...args);
}

/** The program in some folder, as `deno task` may start it. */
function programFrom(
  options: Pick<Deno.CommandOptions, "cwd" | "env">,
  ...args: string[]
): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    ...options,
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      ...permissions,
      inRepository("server", "main.ts"),
      ...args,
    ],
    stdout: "piped",
    stderr: "piped",
  });
}

/** Writes a configuration, and removes it at the end. */
async function withConfig(text: string, fn: (path: string) => Promise<void>): Promise<void> {
  const path = await Deno.makeTempFile({ suffix: ".json" });
  try {
    await Deno.writeTextFile(path, text);
    await fn(path);
  } finally {
    await Deno.remove(path);
  }
}

Deno.test("the program serves a file's tables on a port that it prints, until SIGTERM", async () => {
  await withConfig(
    '{ "tables": { "replay": { "maxSize": 10 }, "jobs": { "queue": 2 } } }',
    async (path) => {
      const child = program("--config", path).spawn();
      const { printed, rest } = await printedUntil(child, /status: .*\n/);
      const [, port] = /^serving replay, jobs on 127\.0\.0\.1:(\d+)\nstatus: http:/.exec(printed) ??
        [];
      assert(Number(port) > 0, printed);
      const connection = new Connection(Number(port));
      await insert(connection, "replay", 3n);
      assertEquals((await sample(connection, "replay", 1))[0]?.["info"].item.key, 3n);
      connection.close();
      child.kill("SIGTERM");
      assertEquals(await rest, "SIGTERM: stopping\nstopped\n");
      assertEquals((await child.status).code, 0);
    },
  );
});

Deno.test("a program that ends before it serves, as with a kernel that is none, ends the wait for it with its words", async () => {
  await withConfig('{ "tables": { "replay": { "maxSize": 10 } } }', async (path) => {
    const child = programFrom({ env: { EXRP_KERNEL: path } }, "--config", path).spawn();
    const wait = (): Promise<unknown> => printedUntil(child, /status: /);
    const { message } = await assertRejects(wait, Error, "the program ended: serve: ");
    assert(message.includes(path), message);
    assertEquals((await child.status).code, 1);
  });
});

Deno.test("a port that another program has is named, and what to do", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  await withConfig('{ "tables": { "replay": { "maxSize": 10 } } }', async (path) => {
    const { code, stderr } = await program("--config", path, `--port=${port}`).output();
    assertEquals(code, 1);
    assertEquals(
      new TextDecoder().decode(stderr),
      `serve: another program listens on 127.0.0.1:${port}; choose another port, or 0 for a free one\n`,
    );
  });
});

Deno.test("an address that this machine has not is named, and what to do", async () => {
  await withConfig('{ "tables": { "replay": { "maxSize": 10 } } }', async (path) => {
    const args = [`--config=${path}`, "--hostname=192.0.2.1", "--port=8000"]; // kept for documents
    const { code, stderr } = await program(...args).output();
    const text = new TextDecoder().decode(stderr);
    assertEquals(code, 1);
    assert(text.startsWith("serve: can't listen on 192.0.2.1:8000: "), text);
    assert(text.includes("choose an address of this machine, such as 127.0.0.1"), text);
  });
});

for (
  const [what, args, words] of [
    ["no file", [], "--config is needed"],
    ["an unknown option", ["--confg=x"], "--confg=x is unknown"],
    ["an option twice", ["--port=1", "--port=2"], "--port was given twice"],
    ["an option without a value", ["--config"], "--config needs a value"],
    ["a port that is none", ["--config=x", "--port=http"], "--port must be a number, got http"],
  ] as const
) {
  Deno.test(`the program with ${what} says so, and how to call it`, async () => {
    const { code, stderr } = await program(...args).output();
    const text = new TextDecoder().decode(stderr);
    assertEquals(code, 2);
    assert(text.startsWith(`${words}\n`) && text.includes("deno task serve --config=FILE"), text);
  });
}

Deno.test("a file that is not there is named by its whole path, and so is one that can't be read", async () => {
  const folder = await Deno.makeTempDir();
  const run = async (config: string): Promise<string> => {
    const { code, stderr } = await program(`--config=${config}`).output();
    assertEquals(code, 1);
    return new TextDecoder().decode(stderr);
  };
  const missing = join(folder, "tabels.json");
  assertEquals(await run(missing), `serve: --config: there is no file ${missing}\n`);
  const text = await run(folder); // a folder is no file
  assert(text.startsWith(`serve: --config: can't read ${folder}: `), text);
  await Deno.remove(folder);
});

Deno.test("without --allow-ffi, the program says that it serves on WebAssembly, and which flag is missing", async () => {
  await withConfig('{ "tables": { "replay": { "maxSize": 10 } } }', async (path) => {
    const allowed = permissions.filter((each) => each !== "--allow-ffi");
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--quiet",
        "--no-prompt",
        ...allowed,
        inRepository("server", "main.ts"),
        `--config=${path}`,
      ],
      env: { EXRP_BACKEND: "" },
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const { printed, rest } = await printedUntil(child, /status: .*\n.*\n/);
    const words =
      "\nthe tables run on WebAssembly, which is slower than the native kernel: no --allow-ffi\n";
    assert(printed.endsWith(words), printed);
    child.kill("SIGTERM");
    await rest;
    await child.status;
  });
});

Deno.test({
  name:
    "where Deno allows to write, and the folder of checkpoints is the system's, no missing --allow-write is named",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const config = { tables: { t: { maxSize: 1 } }, checkpoint: { folder: "/proc/x" } };
    await withConfig(JSON.stringify(config), async (path) => {
      const { code, stderr } = await program(`--config=${path}`).output();
      const text = new TextDecoder().decode(stderr);
      assertEquals(code, 1);
      assert(text.startsWith("serve: checkpoint: can't write \"/proc/x/"), text);
      assert(!text.includes("--allow-write"), text);
    });
  },
});

Deno.test("a relative path begins where the user of `deno task` stands, or else where the program runs", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.mkdir(join(folder, "mine"));
  await Deno.writeTextFile(join(folder, "mine", "tables.json"), '{ "tables": 1 }');
  await Deno.writeTextFile(join(folder, "tables.json"), '{ "tables": 2 }');
  const INIT_CWD = join(folder, "mine");
  for (
    const [cwd, words] of [
      // `deno task serve` runs in the repository.
      [inRepository(), "tables must be an object, got 1"],
      [folder, "tables must be an object, got 2"],
    ] as const
  ) {
    const child = programFrom({ cwd, env: { INIT_CWD } }, "--config=tables.json");
    const text = new TextDecoder().decode((await child.output()).stderr);
    assertEquals(text, `serve: ${words}\n`);
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("relative paths of checkpoints begin at the folder of the file", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.mkdir(join(folder, "mine"));
  const checkpoint = { folder: "checkpoints", from: "old.exrp" };
  const config = JSON.stringify({ tables: { t: { maxSize: 1 } }, checkpoint });
  await Deno.writeTextFile(join(folder, "mine", "tables.json"), config);
  const child = programFrom({ cwd: folder }, "--config=mine/tables.json");
  const text = new TextDecoder().decode((await child.output()).stderr);
  assert(text.includes(JSON.stringify(join(folder, "mine", "old.exrp"))), text);
  assertEquals((await Deno.stat(join(folder, "mine", "checkpoints"))).isDirectory, true);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("the program says which field of the file is wrong, and starts nothing", async () => {
  await withConfig('{ "tables": { "replay": { "maxSize": -1 } } }', async (path) => {
    const { code, stdout, stderr } = await program(`--config=${path}`).output();
    assertEquals([code, stdout.length], [1, 0]);
    const text = new TextDecoder().decode(stderr);
    assert(text.startsWith("serve: tables.replay: maxSize must be an integer"), text);
  });
});
