/**
 * The files of deploy/: they say what the programs take, an image has all that these need, and linters of the registries find nothing wrong. A linter that can't be had
 * is left out: its test is ignored, and counted.
 */
import { parseJob } from "../../examples/many_machines/actor.ts";
import { shardFile } from "../../examples/many_machines/architectures.ts";
import { parseOptions } from "../../examples/many_machines/main.ts";
import { PREFIX } from "../../examples/many_machines/names.ts";
import { inRepository } from "../../tools/_repository.ts";
import { assert, assertEquals, assertMatch, assertStrictEquals } from "../_assert.ts";

const PYTHON_LINTERS = ["kubernetes-validate==1.37.0", "yamllint==1.38.0"];
const [COMPOSE_LINTER, DOCKERFILE_LINTER] = ["npm:dclint@3.1.0", "npm:dockerfile-utils@0.16.3"];

const read = (file: string): Promise<string> => Deno.readTextFile(inRepository("deploy", file));

/** Runs a program; what it prints, and whether it succeeded. A program that isn't there did not. */
async function run(
  path: string,
  args: readonly string[],
  cwd = inRepository(),
): Promise<{ success: boolean; said: string }> {
  try {
    const { success, stdout, stderr } = await new Deno.Command(path, {
      args: [...args],
      cwd,
      env: { NO_COLOR: "1" },
    }).output();
    const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
    return { success, said: text(stdout) + text(stderr) };
  } catch (error) {
    return { success: false, said: String(error) };
  }
}

/** The folder of Python's linters, which are installed once; undefined if they can't be had. */
async function pythonLinters(): Promise<string | undefined> {
  const folder = inRepository(".cache", "deploy");
  const bin = `${folder}/bin`;
  if ((await run(`${bin}/kubernetes-validate`, ["--version"])).success) return bin;
  const made = (await run("python3", ["-m", "venv", folder])).success &&
    (await run(`${bin}/pip`, ["install", "--quiet", ...PYTHON_LINTERS])).success;
  return made ? bin : undefined;
}

const deno = Deno.execPath();
const python = await pythonLinters();
const hasCompose = (await run(deno, ["run", "-A", "--quiet", COMPOSE_LINTER, "--version"])).success;
const hasDockerfile =
  (await run(deno, ["eval", "--quiet", `await import("${DOCKERFILE_LINTER}")`])).success;

/** The commands of a file: lists in one line, or one argument a line. */
function commandsOf(text: string): string[][] {
  const inline = [...text.matchAll(/(?:command|args): \[(.*)\]/g)].map(([, list = ""]) =>
    list.split(", ")
  );
  const long = [...text.matchAll(/args:\n((?: +- .*\n)+)/g)].map(([, list = ""]) =>
    list.trim().split(/\s*- /).filter((each) => each !== "")
  );
  return [...inline, ...long].map((list) => list.map((each) => each.trim()));
}

for (const file of ["compose.yaml", "kubernetes.yaml"]) {
  Deno.test(`the commands of ${file} are what the programs take, and agree with each other`, async () => {
    const commands = commandsOf((await read(file)).replaceAll("$(POD_INDEX)", "1"));
    const of = (program: string): string[][] =>
      commands.filter(([first]) => first === program).map(([, ...args]) => args);
    assertStrictEquals(
      commands.length,
      ["shards/main.ts", "examples/many_machines/actor.ts", "examples/many_machines/main.ts"]
        .reduce((sum, program) => sum + of(program).length, 0),
    );
    const [learner] = of("examples/many_machines/main.ts").map((args) => parseOptions(args));
    assert(typeof learner === "object");
    const { as, actors, shards, servers, in: place } = learner;
    assertEquals({ as, place, shards, actors }, {
      ...{ as: "apex", place: "cluster", shards: 2, actors: 2 },
    });
    const jobs = of("examples/many_machines/actor.ts").map((args) => parseJob(args));
    assert(jobs.length > 0);
    for (const job of jobs) {
      assertEquals([job.as, job.actors, job.servers], [as, actors, servers]);
    }
    for (const args of of("shards/main.ts")) {
      assertStrictEquals(args[0], "--config=/config/shard.json");
      assertMatch(args[1] ?? "", /^--name=(shard-\d|\$\(POD_NAME\))$/);
    }
  });
}

Deno.test("the shards of the files are those of the example", async () => {
  const text = await read("shard.json");
  const { nats, directory, ...rest } = JSON.parse(text);
  const { directory: _, ...expected } = shardFile("apex", PREFIX) as { directory: string };
  assertEquals(rest, expected);
  assertEquals(nats, { servers: "nats:4222" });
  assertStrictEquals(directory, "/data/replay");
  const indented = text.trimEnd().replaceAll(/^/gm, "    ");
  assert((await read("kubernetes.yaml")).includes(`  shard.json: |\n${indented}\n---`));
});

Deno.test("an image has all files that its programs need", async () => {
  const ignored = (await read("Dockerfile.dockerignore")).split("\n").filter((line) =>
    /^[a-z.]/.test(line)
  );
  const { said } = await run("git", [
    "ls-files",
    "-z",
    "--cached",
    "--others",
    "--exclude-standard",
  ]);
  const files = said.split("\0").filter((file) => {
    const [top = ""] = file.split("/");
    return top !== "" && !top.startsWith(".") && !ignored.includes(top);
  });
  const folder = await Deno.makeTempDir();
  try {
    for (const file of files) {
      const to = `${folder}/${file}`;
      await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
      await Deno.copyFile(inRepository(file), to).catch(() => {}); // one that was removed
    }
    const dockerfile = await read("Dockerfile");
    assert(!ignored.includes("tools"), "the kernel is built by a tool");
    // Each program is loaded with all that it imports, and then says something about its options.
    for (
      const [program, option, words] of [
        ["shards/main.ts", "--help", "--config=FILE"],
        ["examples/many_machines/main.ts", "--help", "--servers <list>"],
        ["examples/many_machines/actor.ts", "--as=none", "--as is one of"],
      ] as const
    ) {
      assert(dockerfile.includes(` ${program}`));
      const args = ["run", "--allow-all", "--cached-only", "--quiet", program, option];
      const { said } = await run(deno, args, folder);
      assert(said.includes(words), said);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test({
  name: "the manifests of Kubernetes are valid, and no field is unknown",
  ignore: python === undefined,
  fn: async () => {
    const validate = `${python}/kubernetes-validate`;
    const { success, said } = await run(validate, ["--strict", "deploy/kubernetes.yaml"]);
    assert(success, said);
    assertStrictEquals(said.match(/passed for resource/g)?.length, 8);
    const wrong = await Deno.makeTempFile({ suffix: ".yaml" });
    await Deno.writeTextFile(wrong, (await read("kubernetes.yaml")).replace("replicas", "replica"));
    assert(!(await run(validate, ["--strict", wrong])).success, "the linter sees nothing");
    await Deno.remove(wrong);
  },
});

Deno.test({
  name: "the YAML of deploy/ is tidy",
  ignore: python === undefined,
  fn: async () => {
    const rules = "{extends: default, rules: {line-length: {max: 160}}}";
    const files = ["deploy/compose.yaml", "deploy/kubernetes.yaml"];
    const { success, said } = await run(`${python}/yamllint`, ["--strict", "-d", rules, ...files]);
    assert(success, said);
  },
});

Deno.test({
  name: "the compose file is valid",
  ignore: !hasCompose,
  fn: async () => {
    const lint = (file: string): Promise<{ success: boolean; said: string }> =>
      run(deno, ["run", "-A", "--quiet", COMPOSE_LINTER, "--quiet", file]);
    const { success, said } = await lint("deploy/compose.yaml");
    assert(success, said);
    const folder = await Deno.makeTempDir();
    const wrong = `${folder}/compose.yaml`;
    await Deno.writeTextFile(wrong, (await read("compose.yaml")).replaceAll("restart:", "restat:"));
    assert(!(await lint(wrong)).success, "the linter sees nothing");
    await Deno.remove(folder, { recursive: true });
  },
});

Deno.test({
  name: "the Dockerfile is valid, with the Deno of the release",
  ignore: !hasDockerfile,
  fn: async () => {
    const text = await read("Dockerfile");
    const lint = async (text: string): Promise<unknown> => {
      const script = `import { validate } from "${DOCKERFILE_LINTER}";
        console.log(JSON.stringify(validate(${JSON.stringify(text)})));`;
      const { said } = await run(deno, ["eval", "--quiet", script]);
      return JSON.parse(said);
    };
    assertEquals(await lint(text), []);
    assert(JSON.stringify(await lint(text.replace("RUN", "RUNN"))).includes("RUNN"));
    const release = await Deno.readTextFile(inRepository(".github", "workflows", "release.yml"));
    const version = /DENO_VERSION: (\S+)/.exec(release)?.[1] ?? "none";
    assertEquals([...text.matchAll(/-(\d+\.\d+\.\d+)/g)].map(([, each]) => each), [
      ...[version, version],
    ]);
  },
});
