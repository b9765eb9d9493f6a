/**
 * Trains the agent of the quickstart in a worker, so that the page stays free to draw.
 *
 * Every few dozen milliseconds training stops for a moment. The worker then reads what the page asks, and tells it how far it is.
 *
 * @module
 */
import { ReplayError } from "@exrp/replay";
import { CartPole } from "@exrp/replay/envs";
import { isSolved } from "../_curve.ts";
import { type Seen, SETTINGS, train } from "../_dqn_agent.ts";
import type { LearningCurve } from "../_dqn_report.ts";
import { QNetwork } from "../_q_network.ts";
import { Stopwatch } from "../_stopwatch.ts";
import type { Episode, Report, Request } from "./_messages.ts";

/** How long it trains at a stretch. */
const STRETCH_MS = 40;
/** How often it tells how far it is, at most. */
const REPORT_MS = 200;

/** What the page asked for, and did not get yet. */
const asked = { play: false, pause: false };
/** Called at each request. */
let wake: () => void = () => {};

/** Lets the worker read its messages. A timer would wait for 4 ms or more. */
const channel = new MessageChannel();
function breathe(): Promise<void> {
  return new Promise((resolve) => {
    channel.port1.onmessage = () => resolve();
    channel.port2.postMessage(undefined);
  });
}

/** Waits for the page's next request. */
function nextRequest(): Promise<void> {
  return new Promise((resolve) => wake = resolve);
}

function post(report: Report, transfer: Transferable[] = []): void {
  self.postMessage(report, { transfer });
}

/** Plays one episode without exploring. It changes nothing that training depends on. */
function playOne(network: QNetwork, environment: CartPole, step: number): Episode {
  let state = environment.reset();
  const states = [...state];
  const actions: number[] = [];
  for (let isOver = false; !isOver;) {
    const action = network.bestAction(state);
    const result = environment.step(action);
    state = result.state;
    states.push(...state);
    actions.push(action);
    isOver = result.terminated || result.truncated;
  }
  return {
    kind: "episode",
    step,
    states: Float32Array.from(states),
    actions: Uint8Array.from(actions),
  };
}

/** Trains, and shows the best policy afterwards. It ends with the worker. */
async function run(
  { selector, seed, steps }: (Request & { do: "train" })["options"],
): Promise<never> {
  const curve: LearningCurve = { episodes: [], evaluations: [] };
  const stopwatch = new Stopwatch();
  const stage = new CartPole(3_000_000 + seed);
  const show = (network: QNetwork, step: number): void => {
    asked.play = false;
    const episode = playOne(network, stage, step);
    post(episode, [episode.states.buffer, episode.actions.buffer]);
  };

  let sent = { step: 0, episodes: 0, evaluations: 0, workedMs: 0 };
  let workedMs = 0;
  let startedAt = performance.now(); // of this stretch
  let reportedAt = -REPORT_MS;

  const report = ({ step, kept, replay }: Seen): void => {
    reportedAt = performance.now();
    post({
      kind: "progress",
      step,
      stepsPerSecond: 1000 * (step - sent.step) / Math.max(1, workedMs - sent.workedMs),
      replayShare: 1000 * stopwatch.secondsOf("replay: ") / Math.max(1, workedMs),
      episodes: curve.episodes.slice(sent.episodes),
      evaluations: curve.evaluations.slice(sent.evaluations),
      best: { step: kept.step, return: kept.evaluation },
      stats: replay.stats(),
      backend: replay.describe().backend,
    });
    const { episodes, evaluations } = curve;
    sent = { step, episodes: episodes.length, evaluations: evaluations.length, workedMs };
  };

  const rest = async (seen: Seen): Promise<void> => {
    await breathe();
    const isLast = seen.step === steps || isSolved(curve.evaluations, SETTINGS.solved);
    if (isLast || asked.pause || performance.now() - reportedAt >= REPORT_MS) report(seen);
    do {
      if (asked.play) show(seen.network, seen.step);
      if (asked.pause) await nextRequest();
    } while (asked.pause);
    startedAt = performance.now();
  };

  const kept = await train(
    { selector, seed, steps, eviction: "secondChance" },
    curve,
    stopwatch,
    (seen) => {
      const isLast = seen.step === steps || isSolved(curve.evaluations, SETTINGS.solved);
      const stretch = performance.now() - startedAt;
      if (stretch < STRETCH_MS && !isLast) return;
      workedMs += stretch;
      return rest(seen);
    },
  );
  post({ kind: "done", isSolved: isSolved(curve.evaluations, SETTINGS.solved) });

  // The best policy plays on for as long as the page wants to see it.
  using network = await QNetwork.create({ weights: kept.weights });
  while (true) {
    if (asked.play) show(network, kept.step);
    await nextRequest();
  }
}

self.addEventListener("message", ({ data: request }: MessageEvent<Request>) => {
  switch (request.do) {
    case "train":
      run(request.options).catch((error) => {
        const message = error instanceof Error ? error.message : String(error);
        const lacksFeatures = error instanceof ReplayError && error.code === "kernel-missing";
        post({ kind: "failed", message, lacksFeatures });
      });
      break;
    case "play":
      asked.play = true;
      break;
    default:
      asked.pause = request.do === "pause";
  }
  wake();
});
