/**
 * The learner of each architecture, wherever its actors are.
 *
 * @module
 */
import { type Batch, ExperienceReplay, float32, queue } from "@exrp/replay";
import { Broadcast, type BroadcastArrays } from "@exrp/replay/actors";
import { CartPole } from "@exrp/replay/envs";
import { sendBroadcast, serveInference } from "@exrp/replay/fleet";
import { replayWriter } from "@exrp/replay/learner";
import { RandomStream } from "@exrp/replay/selectors";
import { type Connection, connectShards, serveShard, shardWriter } from "@exrp/replay/shards";
import { type CurvePoint, mean } from "../_curve.ts";
import * as apex from "../apex_cartpole/learner.ts";
import { epsilonOf } from "../apex_cartpole/actor.ts";
import { COLUMNS } from "../impala_cartpole/actor.ts";
import * as impala from "../impala_cartpole/learner.ts";
import * as r2d2 from "../r2d2_memory/agent.ts";
import {
  type Architecture,
  explorersOf,
  isStored,
  rateLimiterOf,
  ruleOf,
  STORED,
  type StoredArchitecture,
} from "./architectures.ts";
import { sayFigures } from "./_figures.ts";
import { NAME, PREFIX } from "./names.ts";

/** Updates between two versions of the weights, of learners that draw from shards. */
const PUBLISH_EVERY = 10;
/** How many batches may wait for a learner of IMPALA or IMPACT. */
const LAG = 2;
/** Bytes of steps that may wait for shards before SEED RL acts again. */
const UNCONFIRMED_MAX = 4096;
const WAIT = { timeoutMs: 120_000 };

/** What a learner is told. */
export interface LearnerOptions {
  readonly as: Architecture;
  readonly seed: number;
  /** Steps of all actors at most. */
  readonly steps: number;
  /** How many actors there are. */
  readonly actors: number;
  /** How many shards there are elsewhere. With 0, the replay is in this process. */
  readonly shards: number;
  /** Ends the actors. It is called once they were told to stop, and while there is still somebody who takes their steps. */
  readonly endActors: () => Promise<void>;
  /** Called with each evaluation. */
  readonly tell: (evaluation: CurvePoint) => void;
}

/** What came of it. */
export interface Outcome {
  readonly steps: number;
  readonly updates: number;
  /** The mean return of episodes that had no part in any choice. */
  readonly earned: number;
}

/** What learners of shards have in common. */
interface Learner extends Disposable {
  readonly isSolved: boolean;
  readonly trained: { readonly evaluations: readonly CurvePoint[] };
  beta(step: number): number;
  learn(batch: Batch<never>, step: number): { readonly priorities: Float32Array };
  published(stop?: number): BroadcastArrays;
  freshReturns(): readonly number[] | Promise<readonly number[]>;
}

/** Learns until the task is solved, or the steps are over. */
export function learn(connection: Connection, options: LearnerOptions): Promise<Outcome> {
  const { as } = options;
  return isStored(as)
    ? learnFromShards(connection, as, options)
    : learnFromQueue(connection, as, options);
}

/** Ape-X, R2D2 and SEED RL draw from shards, by priority. */
async function learnFromShards(
  connection: Connection,
  as: StoredArchitecture,
  { seed, steps, actors, shards: count, tell, endActors }: LearnerOptions,
): Promise<Outcome> {
  await using _own = count > 0 ? undefined : await ownShard(connection, as, seed);
  await using shards = await connectShards<never>(connection, {
    ...{ prefix: PREFIX, shards: Math.max(1, count), seed, ...WAIT },
    rateLimiter: rateLimiterOf(as),
  });
  using learner: Learner = as === "r2d2"
    ? await r2d2.Learner.create({ memory: "stored", seed, steps })
    : await apex.Learner.create(seed);
  const weights = Broadcast.create(learner.published());
  await using _actors = as === "seed"
    ? await serveActions(connection, learner as apex.Learner, { seed, actors })
    : await sendBroadcast(connection, NAME, weights);

  const { batchSize } = as === "r2d2" ? r2d2.SETTINGS : apex.SETTINGS;
  const { evaluations } = learner.trained;
  // Shards may have records of a learner before. Its steps do not count.
  const recorded = (): number =>
    shards.figures().shards.reduce((sum, { recorded }) => sum + recorded, 0);
  const before = recorded();
  let [updates, step, told] = [0, 0, 0];
  let evaluateAt: number = r2d2.SETTINGS.evaluation.every;
  using _figures = sayFigures(connection, "learner", () => ({
    ...{ steps: step, updates, version: weights.version, return: evaluations.at(-1)?.return ?? 0 },
  }));
  while (step < steps && !learner.isSolved) {
    const batch = await shards.getBatch(batchSize, {
      ...WAIT,
      beta: learner.beta(step),
    });
    step = recorded() - before;
    const { priorities } = learner.learn(batch, step);
    if (learner instanceof r2d2.Learner && step >= evaluateAt) {
      learner.evaluate(step);
      evaluateAt = step + r2d2.SETTINGS.evaluation.every;
    }
    shards.setPriority(batch, priorities);
    batch[Symbol.dispose]();
    if (++updates % PUBLISH_EVERY === 0) weights.publish(learner.published());
    for (; told < evaluations.length; told++) tell(evaluations[told] as CurvePoint);
  }

  weights.publish(learner.published(1));
  // A learner without a limit lets all go on that wait, once the one with a limit says no more.
  await shards.close();
  await using _free = await connectShards(connection, { prefix: PREFIX });
  await endActors();
  return { steps: step, updates, earned: mean(await learner.freshReturns()) };
}

/** A shard in the learner's process. Yours are processes of their own: `deno task shard`. */
async function ownShard(
  connection: Connection,
  as: StoredArchitecture,
  seed: number,
): Promise<AsyncDisposable> {
  const replay = await ExperienceReplay.create({
    ...STORED[as].options as typeof apex.OPTIONS,
    seed,
  });
  replay.newPickSelector(ruleOf(as));
  const shard = await serveShard(replay as ExperienceReplay, connection, {
    name: "own",
    prefix: PREFIX,
  });
  return {
    async [Symbol.asyncDispose](): Promise<void> {
      await shard.close();
      replay[Symbol.dispose]();
    },
  };
}

/** SEED RL: acts for the environments of all actors, and records their steps. */
async function serveActions(
  connection: Connection,
  learner: apex.Learner,
  { seed, actors }: { readonly seed: number; readonly actors: number },
): Promise<AsyncDisposable> {
  const writer = await shardWriter<typeof apex.OPTIONS>(connection, { prefix: PREFIX });
  const random = new RandomStream(seed, 2);
  const explorers = explorersOf("seed", actors);
  const server = await serveInference(connection, NAME, {
    state: float32(CartPole.stateSize),
    act: async ({ size, state, environment }) => {
      // Who runs ahead of the learner would act by old weights.
      if (writer.figures().unconfirmedBytes > UNCONFIRMED_MAX) await writer.flush();
      const action = Int32Array.from(
        learner.network.bestActions(state.slice(0, size * CartPole.stateSize)),
      );
      for (let k = 0; k < size; k++) {
        // Before the first update, all act at random, as in Ape-X.
        const chance = learner.updates === 0
          ? 1
          : epsilonOf((environment[k] ?? 0) % explorers, explorers);
        if (random.uniform() < chance) action[k] = random.below(CartPole.actionCount);
      }
      return { action };
    },
    writer: () => replayWriter(writer.replay, { flushSteps: 16 }),
  });
  return {
    async [Symbol.asyncDispose](): Promise<void> {
      await server.close({ timeoutMs: 10_000 });
      await writer.close({ timeoutMs: 10_000 });
    },
  };
}

/** IMPALA and IMPACT take each step once, out of a queue in the learner's process. */
async function learnFromQueue(
  connection: Connection,
  method: "impala" | "impact",
  { seed, steps, tell, endActors }: LearnerOptions,
): Promise<Outcome> {
  using replay = await ExperienceReplay.create({
    ...COLUMNS,
    capacity: (LAG + 8) * impala.BATCH_SIZE,
    pick: { discount: impala.SETTINGS.discount },
    rateLimiter: queue((LAG + 1) * impala.BATCH_SIZE), // actors wait for the learner, so no step is lost
    seed,
  });
  await using _shard = await serveShard(replay as unknown as ExperienceReplay, connection, {
    name: "queue",
    prefix: PREFIX,
  });
  using learner = await impala.Learner.create({ method, lag: LAG, seed, steps });
  const { trained } = learner;
  const published = (stop = 0): BroadcastArrays => ({
    weights: trained.weights,
    stop: Uint8Array.of(stop),
  });
  const weights = Broadcast.create(published());
  await using _actors = await sendBroadcast(connection, NAME, weights);

  let told = 0;
  using _figures = sayFigures(connection, "learner", () => ({
    ...{ steps: learner.seen.step, updates: trained.updates, version: weights.version },
    return: trained.evaluations.at(-1)?.return ?? 0,
  }));
  while (!learner.isDone) {
    const { BATCH_SIZE } = impala;
    const batch = await replay.whenReady(() => replay.drain({ steps: BATCH_SIZE }), WAIT);
    learner.learn(batch);
    weights.publish(published());
    for (; told < trained.evaluations.length; told++) tell(trained.evaluations[told] as CurvePoint);
    await new Promise((resolve) => setTimeout(resolve)); // messages come in
  }
  weights.publish(published(1));
  replay.setRateLimiter(undefined);
  await endActors();
  const earned = mean(await learner.freshReturns());
  return { steps: learner.seen.step, updates: trained.updates, earned };
}
