/**
 * The speed of `ReverbClient`: against a server that runs already, or else against Reverb's own.
 *
 * A step has a state of 4 float32, an action of int32, a reward of float32 and the next state: 40 bytes. Each figure is the best of some
 * repeats, because other work on the machine only makes them slower.
 *
 * `deno run -A bench/reverb/typescript.ts [--address=127.0.0.1:8000]`; the server there needs the tables `uniform` and `prioritized`.
 *
 * @module
 */
import { ReverbClient, tensor } from "@exrp/replay/reverb";
import { readArguments } from "../../tools/_arguments.ts";
import { findReverbPython } from "./_python.ts";
import { RealServer } from "./_real_server.ts";

interface Step {
  readonly state: Float32Array;
  readonly action: ReturnType<typeof tensor>;
  readonly reward: ReturnType<typeof tensor>;
  readonly next: Float32Array;
}

const state = new Float32Array(4);
const step: Step = {
  state,
  action: tensor(1, { dtype: "int32" }),
  reward: tensor(0.5, { dtype: "float32" }),
  next: new Float32Array(4),
};

/** The best of some repeats, in milliseconds. */
async function best(repeats: number, run: () => Promise<void>): Promise<number> {
  let least = Infinity;
  for (let k = 0; k < repeats; k++) {
    const start = performance.now();
    await run();
    least = Math.min(least, performance.now() - start);
  }
  return least;
}

/** Steps a second, in items of 100 steps with chunks of 100. */
async function chunks(client: ReverbClient): Promise<string> {
  const items = 300;
  const ms = await best(5, async () => {
    const writer = client.trajectoryWriter<Step>({ numKeepAliveRefs: 100, chunkLength: 100 });
    for (let item = 0; item < items; item++) {
      for (let k = 0; k < 100; k++) {
        state[0] = k;
        writer.append(step);
      }
      const { state: states, action, reward, next } = writer.history;
      await writer.createItem("uniform", 1, {
        state: states.slice(-100),
        action: action.slice(-100),
        reward: reward.slice(-100),
        next: next.slice(-100),
      });
    }
    await writer.close();
  });
  return `${Math.round(items * 100 / ms)},000 steps/s`;
}

async function oldWriter(client: ReverbClient): Promise<string> {
  const items = 2000;
  const ms = await best(5, async () => {
    const writer = client.writer({ maxSequenceLength: 1 });
    for (let k = 0; k < items; k++) {
      writer.append(step as never);
      await writer.createItem("uniform", 1, 1);
    }
    await writer.close();
  });
  return `${(ms / items * 1000).toFixed(1)} us`;
}

async function trajectories(client: ReverbClient): Promise<string> {
  const items = 2000;
  const ms = await best(5, async () => {
    const writer = client.trajectoryWriter<Step>({ numKeepAliveRefs: 1 });
    for (let k = 0; k < items; k++) {
      writer.append(step);
      const { state: states, action, reward, next } = writer.history;
      await writer.createItem("uniform", 1, [
        states.slice(-1),
        action.slice(-1),
        reward.slice(-1),
        next.slice(-1),
      ]);
    }
    await writer.close();
  });
  return `${(ms / items * 1000).toFixed(1)} us`;
}

async function single(client: ReverbClient): Promise<string> {
  const ms = await best(5, async () => {
    for (let k = 0; k < 100; k++) await client.insert(step as never, { uniform: 1 });
  });
  return `${Math.round(ms * 10)} us`;
}

async function sampled(client: ReverbClient): Promise<string> {
  const ms = await best(50, async () => {
    await client.getBatch("uniform", 256);
  });
  return `${ms.toFixed(2)} ms`;
}

async function batches(client: ReverbClient): Promise<string> {
  const count = 40;
  const ms = await best(5, async () => {
    for await (const { size } of client.batches("uniform", { batchSize: 256, maxBatches: count })) {
      if (size !== 256) throw new Error(`a batch has ${size} items`);
    }
  });
  return `${(ms / count).toFixed(2)} ms`;
}

async function priorities(client: ReverbClient): Promise<string> {
  const { keys } = await client.getBatch("uniform", 256);
  const updates = { keys, priorities: new Float64Array(256).fill(2) };
  const ms = await best(30, () => client.setPriority("uniform", { updates }));
  return `${Math.round(ms * 1000)} us`;
}

const cases: [string, string, (client: ReverbClient) => Promise<string>][] = [
  ["`trajectoryWriter`, items and chunks of 100 steps", "uniform", chunks],
  ["`writer`, items of one step", "uniform", oldWriter],
  ["`trajectoryWriter`, items of one step", "uniform", trajectories],
  ["`insert`", "uniform", single],
  ["`sample`, 256 items of one step", "uniform", sampled],
  ["`batches`, 256 items of one step", "uniform", batches],
  ["`mutatePriorities`, 256 keys", "uniform", priorities],
];

async function measure(address: string): Promise<void> {
  await using client = await ReverbClient.connect(address);
  console.log("| what | best |\n|---|---:|");
  for (const [name, table, run] of cases) {
    await client.clear(table);
    if (run === sampled || run === batches || run === priorities) await oldWriter(client);
    console.log(`| ${name} | ${await run(client)} |`);
  }
}

const values = readArguments(
  Deno.args,
  { address: { type: "string" } },
  "deno run -A bench/reverb/typescript.ts [--address=127.0.0.1:8000]",
);
if (typeof values === "number") Deno.exit(values);
if (values.address === undefined) {
  const found = await findReverbPython();
  if (!("python" in found)) throw new Error(found.why);
  const selectors = { uniform: { kind: "uniform" }, prioritized: { kind: "prioritized" } } as const;
  await using server = await RealServer.start(
    found.python,
    Object.entries(selectors).map(([name, sampler]) => ({
      name,
      sampler,
      remover: { kind: "fifo" },
      max_size: 1_000_000,
      rateLimiter: { kind: "min_size", min_size: 1 },
    })),
  );
  await measure(`127.0.0.1:${server.port}`);
} else await measure(values.address);
