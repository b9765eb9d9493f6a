/** The example over a server: its command line, both languages in short, and that the two languages do the same. */
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "../_assert.ts";
import { type Options, parseOptions, train } from "../../examples/reverb/main.ts";
import { QNetwork } from "../../examples/_q_network.ts";
import { CartPole } from "../../envs/mod.ts";
import { ReverbClient } from "../../reverb/mod.ts";
import { readConfig, type ReverbServer, serve } from "../../server/mod.ts";
import { Tables } from "../../tables/mod.ts";
import { inRepository } from "../../tools/_repository.ts";
import { lineReader } from "../../bench/reverb/_real_server.ts";
import { besideReverb, reverbPython, runPython } from "../reverb/_real.ts";

const FOLDER = inRepository("examples", "reverb");

const defaults: Options = {
  actors: "python",
  learner: "typescript",
  bothWays: false,
  count: 1,
  address: undefined,
  seed: 1,
  steps: 60_000,
};

/** Serves the example's tables, or others. */
async function served(tables?: object): Promise<ReverbServer & { readonly tables: Tables }> {
  const text = tables === undefined
    ? await Deno.readTextFile(`${FOLDER}/tables.json`)
    : JSON.stringify({ tables });
  const made = await Tables.create({ tables: readConfig(text).tables, seed: 1 });
  return Object.assign(await serve({ tables: made }), { tables: made });
}

/** Runs `main.ts`. Returns its exit status and what it printed. */
async function runMain(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; out: string; errors: string }> {
  const folder = await Deno.makeTempDir();
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", `${FOLDER}/main.ts`, ...args],
    cwd: folder,
    env: { NO_COLOR: "1", ...env },
  }).output();
  await Deno.remove(folder, { recursive: true });
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), errors: decoder.decode(stderr) };
}

Deno.test("the example over a server refuses flags that are wrong", () => {
  assertEquals(parseOptions([]), defaults);
  assertEquals(parseOptions(["--actors", "typescript", "--learner=python", "--both-ways"]), {
    ...defaults,
    actors: "typescript",
    learner: "python",
    bothWays: true,
  });
  assertEquals(parseOptions(["--address=localhost:8000", "--count=2", "--steps=9", "--seed=0"]), {
    ...defaults,
    ...{ address: "localhost:8000", count: 2, steps: 9, seed: 0 },
  });
  assertEquals(parseOptions(["-h"]), "help");
  const wrong = [["--actors=ruby"], ["--learner", "Python"], ["--count=0"], ["--adress=a:1"]];
  for (const args of wrong) assertThrows(() => parseOptions(args), TypeError);
});

Deno.test("without Reverb's Python, the example says in one sentence what to run", async () => {
  const env = { EXRP_REVERB_PYTHON: "/no/such/python" };
  for (const args of [[], ["--actors=typescript", "--learner=python"]]) {
    const { code, out, errors } = await runMain(args, env);
    assertEquals([code, out], [1, ""]);
    assertEquals(
      errors.trim(),
      "Reverb's client for Python is not here: run `deno task reverb:install`, or take `--actors=typescript --learner=typescript`.",
    );
  }
});

Deno.test("the example says in one line that no server answers, or that a table is missing", async () => {
  const args = ["--actors=typescript", "--learner=typescript"];
  const none = await runMain([...args, "--address=127.0.0.1:9"]);
  assertEquals(none.code, 1);
  assert(/^[^\n]*127\.0\.0\.1:9[^\n]*$/.test(none.errors.trim()), none.errors);

  const server = await served({ replay: { maxSize: 9 } });
  const poor = await runMain([...args, `--address=${server.address}`]);
  await server.stop({ graceMs: 0 });
  server.tables[Symbol.dispose]();
  assertEquals(poor.code, 1);
  assert(poor.errors.includes("has no table variables; its tables are replay"), poor.errors);
});

/** Trains until the first evaluation, and looks at what the tables hold then. */
async function trainShortly(options: Partial<Options>): Promise<void> {
  const server = await served();
  try {
    const { evaluations, end } = await train(server.address, {
      ...defaults,
      actors: "typescript",
      steps: 1_000,
      ...options,
    });
    const [{ step, return: score }] = evaluations as [{ step: number; return: number }];
    assert(step >= 1_000 && step < 3_000, `${step} steps`);
    assert(score >= 8 && score <= 500 && end.worst >= 8, `${score}, ${end.worst}`);
    const replay = server.tables.table("replay");
    const { inserts, samples } = replay.info();
    // The rate limiter keeps the learner at one update of 128 for each step, within its error.
    assert(Math.abs(inserts * 128 - samples) <= 25_600 + 128_000, `${inserts}, ${samples}`);
    const { priorities } = await replay.getBatch(100);
    assert(new Set(priorities).size > 10, "the learner set no priorities");
    assertEquals(server.tables.table("variables").size, 1);
  } finally {
    await server.stop({ graceMs: 0 });
    server.tables[Symbol.dispose]();
  }
}

Deno.test("two actors and a learner in TypeScript train over a server", () =>
  trainShortly({ count: 2 }));
besideReverb(
  "an actor in Python and a learner in TypeScript train over a server",
  () => trainShortly({ actors: "python" }),
);
besideReverb(
  "an actor in TypeScript and a learner in Python train over a server",
  () => trainShortly({ learner: "python" }),
);

besideReverb("the example trains over Reverb's own server, whose tables are ours", async () => {
  const real = new Deno.Command(reverbPython ?? "", {
    args: ["-B", `${FOLDER}/server.py`, "--port=0"],
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const own = await served();
  try {
    const [, port] = /on port (\d+)/.exec(await lineReader(real.stdout)()) ?? [];
    const address = `127.0.0.1:${port}`;
    await using client = await ReverbClient.connect(address);
    await using ours = await ReverbClient.connect(own.address);
    assertEquals(await client.serverInfo(), await ours.serverInfo());
    const args = ["--actors=typescript", "--learner=typescript", "--steps=1000"];
    const { code, out, errors } = await runMain([...args, `--address=${address}`]);
    assertEquals([code, errors], [0, ""]);
    assert(out.includes("not solved after"), out);
  } finally {
    real.kill("SIGKILL");
    await real.status;
    await own.stop({ graceMs: 0 });
    own.tables[Symbol.dispose]();
  }
});

const PYTHON = `
import json, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from agent import CartPoles, layers_of, q_values
import learner
given = json.loads(sys.argv[2])
made = learner.Learner(np.random.default_rng(1))
made.weights[:] = given["weights"]
made.target[:] = given["weights"]
batch = [np.array(given[name], type) for name, type in (
    ("state", "f4"), ("action", "i4"), ("reward", "f4"), ("discount", "f4"), ("nextState", "f4"), ("weight", "f4"))]
batch[0], batch[4] = batch[0].reshape(-1, 4), batch[4].reshape(-1, 4)
values = q_values(layers_of(made.weights), batch[0])
losses = []
for _ in range(3):
    loss, error = made.update(*batch)
    losses.append(float(loss))
poles = CartPoles(1, np.random.default_rng(1))
poles.state[0] = given["first"]
states = []
for action in given["action"]:
    ended = poles.step(np.array([action]))
    states.append(poles.observe()[0].tolist() + [bool(ended[0][0])])
print(json.dumps({"values": values.ravel().tolist(), "losses": losses, "error": error.tolist(),
    "weights": made.weights.tolist(), "states": states}))
`;

besideReverb("the network, its updates and CartPole are the same in both languages", async () => {
  using network = await QNetwork.create({ seed: 3 });
  const weights = network.weights();
  const count = 32;
  const wave = (size: number, scale: number): Float32Array<ArrayBuffer> =>
    Float32Array.from({ length: size }, (_, k) => scale * Math.sin(1 + 3.7 * k));
  const action = Int32Array.from({ length: count }, (_, k) => k % 3 === 0 ? 0 : 1);
  const batch = {
    state: wave(4 * count, 0.5),
    action,
    reward: wave(count, 3),
    discount: Float32Array.from({ length: count }, (_, k) => k % 5 === 0 ? 0 : 0.97),
    nextState: wave(4 * count, 0.7),
    weight: Float32Array.from({ length: count }, (_, k) => 1 / (1 + k % 4)),
  };
  const first = [0.01, -0.02, 0.03, 0.04] as const;
  const given = Object.fromEntries(
    Object.entries({ weights, ...batch, first }).map(([name, values]) => [name, [...values]]),
  );
  const said = await runPython(PYTHON, [FOLDER, JSON.stringify(given)]);
  const theirs: Record<string, number[]> & { states: (number | boolean)[][] } = JSON.parse(said);

  const near = (name: string, ours: ArrayLike<number>, tolerance: number): void => {
    assertEquals(theirs[name]?.length, ours.length, name);
    theirs[name]?.forEach((value, k) =>
      assertAlmostEquals(value, ours[k] ?? NaN, tolerance, `${name}[${k}]`)
    );
  };
  near("values", network.values(batch.state), 1e-5);
  const updates = [1, 2, 3].map((update) =>
    network.update(batch, { learningRate: 1e-3 - update * 9e-4 / 15_000, targetRate: 0.01 })
  );
  near("losses", updates.map(({ loss }) => loss), 1e-4);
  near("error", updates[2]?.tdError ?? [], 1e-3);
  near("weights", network.weights(), 1e-4);

  const environment = new CartPole(1);
  environment.reset(first);
  for (const [k, [...row]] of theirs.states.entries()) {
    const { state, terminated } = environment.step(action[k] ?? 0);
    assertEquals(row.pop(), terminated);
    row.forEach((value, j) => assertAlmostEquals(Number(value), state[j] ?? NaN, 1e-6));
    if (terminated) break;
  }
});
