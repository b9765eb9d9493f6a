/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/**
 * The page: it starts a worker for each run, and shows what the worker tells.
 *
 * The address may name the first run, as in `?selector=uniform&seed=3&steps=20000`.
 *
 * @module
 */
import type { ReplayStats, SelectorStats } from "@exrp/replay/stats";
import type { Options } from "../_dqn_options.ts";
import { CartPicture, type Scene } from "./_cart.ts";
import {
  AgeChart,
  COLOUR_COUNT,
  LearningChart,
  PriorityChart,
  runColour,
  type RunCurve,
  runDash,
} from "./_charts.ts";
import type { Progress, Report, Request } from "./_messages.ts";

type SelectorName = Options["selector"];

/** The selectors of the quickstart, and what each does. */
const SELECTORS: Readonly<Record<SelectorName, string>> = {
  uniform: "Every pick has the same chance.",
  withoutReplacement: "Every pick has the same chance, and none comes twice in a batch.",
  recent: "Every pick of a window has the same chance. The window has the newest picks only.",
  prioritized: "The larger the error of a pick was, the more often it is drawn.",
  rankBased:
    "The higher a pick ranks by its error, the more often it is drawn. How large the error is does not count.",
  pser: "As prioritized, and the picks before a large error get a part of its priority.",
  combined: "The newest picks are in every batch. Prioritized draws the rest.",
  curious: "Draws picks that were rarely drawn, and picks with large errors.",
  ucb:
    "Draws picks by an upper confidence bound: by their errors, and more if they were rarely drawn.",
};
const DEFAULT_SELECTOR: SelectorName = "prioritized";
const STEPS_DEFAULT = 40_000;
const WHOLE_NUMBER = "it must be a whole number, and not too large";
/** Earlier runs that the learning curve keeps, besides the one that trains now. */
const EARLIER_RUNS = COLOUR_COUNT - 1;
const NEEDS = "The page needs Chrome or Edge 91, Firefox 114, Safari 16.4, or a newer one.";

/** A run, from the moment in which it begins. */
interface Run extends RunCurve {
  readonly selector: SelectorName;
  readonly seed: number;
  readonly episodes: { step: number; return: number }[];
  readonly evaluations: { step: number; return: number }[];
  /** How it ended, in words; undefined while it trains. */
  end?: string;
}

function element<E extends HTMLElement = HTMLElement>(id: string): E {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element ${id}`);
  return found as E;
}

const problem = element("problem");
const addressNote = element("address");
const main = element("main");
const status = element("status");
const seedInput = element<HTMLInputElement>("seed");
const pauseButton = element<HTMLButtonElement>("pause");

const learningChart = new LearningChart(element("curve"));
const priorityChart = new PriorityChart(element("priorities"));
const ageChart = new AgeChart(element("ages"));
const cart = new CartPicture(element("cart"), () => ask({ do: "play" }), showScene);

const query = new URLSearchParams(location.search);
/** What is wrong in the address, one sentence each. */
const addressFaults: string[] = [];
const asked = {
  selector: fromAddress(
    "selector",
    "there is no such selector",
    (text) => isSelector(text) ? text : undefined,
    DEFAULT_SELECTOR,
  ),
  seed: fromAddress("seed", WHOLE_NUMBER, (text) => wholeNumber(text, 0), 1),
  steps: fromAddress("steps", WHOLE_NUMBER, (text) => wholeNumber(text, 1), STEPS_DEFAULT),
};
for (const name of query.keys()) {
  if (Object.hasOwn(asked, name)) continue;
  addressFaults.push(`“${name}” has no effect: a run has a selector, a seed and steps.`);
}
const { steps } = asked;

let worker: Worker | undefined;
let runs: Run[] = [];
let latest: Progress | undefined;
let state: "training" | "paused" | "done" | "failed" = "done";

/** What the address says of the first run, where it can be taken; else the default. */
function fromAddress<T>(
  name: string,
  needed: string,
  read: (text: string) => T | undefined,
  standard: T,
): T {
  const text = query.get(name);
  const value = text === null ? standard : read(text);
  if (value !== undefined) return value;
  addressFaults.push(`“${name}=${text}” has no effect: ${needed}. ${standard} was taken instead.`);
  return standard;
}

function wholeNumber(text: string | null, least: number): number | undefined {
  return text !== null && /^\d{1,10}$/.test(text) && Number(text) >= least &&
      Number(text) < 2 ** 31
    ? Number(text)
    : undefined;
}

function isSelector(name: string | null): name is SelectorName {
  return name !== null && Object.hasOwn(SELECTORS, name);
}

/** The state is an attribute too, so that a style or a test can see it. */
function setState(next: typeof state, text: string): void {
  state = next;
  document.documentElement.dataset.state = next;
  status.textContent = text;
  pauseButton.textContent = next === "paused" ? "Go on" : "Pause";
  pauseButton.disabled = next !== "training" && next !== "paused";
  cart.isPaused = next === "paused";
}

/** Says what is wrong, in place of the page. */
function fail(message: string): void {
  worker?.terminate();
  worker = undefined;
  problem.textContent = message;
  problem.hidden = false;
  addressNote.hidden = true;
  main.hidden = true;
  setState("failed", "");
}

function ask(request: Request): void {
  worker?.postMessage(request);
}

/** Whether a worker may be a module here. Where it may, the constructor reads the option `type`. */
function hasModuleWorkers(): boolean {
  let isRead = false;
  const options = {
    get type(): "module" {
      isRead = true;
      return "module";
    },
  };
  try {
    new Worker("data:text/javascript,", options).terminate();
  } catch {
    // Refused: what counts is whether it read the option.
  }
  return isRead;
}

/** Begins a run, and ends the one before. */
function begin(selector: SelectorName, seed: number): void {
  worker?.terminate();
  const before = runs.at(-1);
  if (before !== undefined && before.end === undefined) {
    before.end = `stopped at step ${count(latest?.step ?? 0)}`;
  }
  // A run that is made again takes the place of its first time, and a run without an evaluation has no line.
  runs = runs.filter((run) =>
    run.evaluations.length > 0 && (run.selector !== selector || run.seed !== seed)
  ).slice(-EARLIER_RUNS);
  const used = new Set(runs.map((run) => run.colour));
  let colour = 0;
  while (used.has(colour)) colour++;
  runs.push({ selector, seed, colour, episodes: [], evaluations: [] });
  latest = undefined;

  cart.clear();
  element("cart-text").textContent = "The first episode comes soon.";
  element("selector-text").textContent = SELECTORS[selector];
  drawCurves();
  history.replaceState(null, "", `?${addressOf(selector, seed)}`);

  worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  worker.addEventListener("message", ({ data }: MessageEvent<Report>) => hear(data));
  worker.addEventListener("error", (event) => {
    event.preventDefault();
    fail(
      `The worker of the page could not run: ${
        event.message ?? "its file could not be loaded"
      }. ${NEEDS}`,
    );
  });
  ask({ do: "train", options: { selector, seed, steps } });
  setState("training", `Training with ${selector}, seed ${seed}.`);
}

function addressOf(selector: SelectorName, seed: number): URLSearchParams {
  const address = new URLSearchParams({ selector, seed: String(seed) });
  if (steps !== STEPS_DEFAULT) address.set("steps", String(steps));
  return address;
}

/** Shows what the worker tells. */
function hear(report: Report): void {
  const run = runs.at(-1);
  if (run === undefined) return;
  switch (report.kind) {
    case "progress":
      latest = report;
      run.episodes.push(...report.episodes);
      run.evaluations.push(...report.evaluations);
      drawCurves();
      showProgress(report);
      break;
    case "episode":
      cart.add(report);
      break;
    case "done": {
      const at = count(latest?.step ?? 0);
      run.end = report.isSolved ? `solved after ${at} steps` : `not solved in ${at} steps`;
      drawCurves();
      setState("done", `${capital(run.end)}, with ${run.selector}, seed ${run.seed}.`);
      break;
    }
    case "failed":
      fail(`${capital(report.message)}.${report.lacksFeatures ? ` ${NEEDS}` : ""}`);
  }
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en");
}

function short(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString("en");
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function show(id: string, text: string): void {
  element(id).textContent = text;
}

/** The learning curve, and a line of its legend for each run. */
function drawCurves(): void {
  learningChart.draw(runs);
  const now = runs.at(-1);
  const items = runs.map((run) => {
    const best = run.evaluations.length === 0
      ? "no evaluation yet"
      : `best ${Math.max(...run.evaluations.map((point) => point.return)).toFixed(0)}`;
    const item = document.createElement("li");
    const isEarlier = run !== now;
    item.className = isEarlier ? "earlier" : "";
    const line = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    line.setAttribute("width", "36");
    line.setAttribute("height", "10");
    line.setAttribute("aria-hidden", "true");
    line.innerHTML = `<path d="M1 5H35" stroke="${
      runColour(run.colour, isEarlier)
    }" stroke-width="${isEarlier ? 2 : 3}" stroke-dasharray="${
      runDash(run.colour, isEarlier).join(" ")
    }"/>`;
    const end = run.end ?? "training";
    item.append(line, `${run.selector}, seed ${run.seed}: ${best}, ${end}`);
    return item;
  });
  element("runs").replaceChildren(...items.reverse());
  const points = now?.evaluations ?? [];
  const last = points.at(-1);
  const curve = element("curve");
  curve.dataset.episodes = String(now?.episodes.length ?? 0);
  curve.dataset.evaluations = points.map((point) => point.return).join(" ");
  curve.setAttribute(
    "aria-label",
    last === undefined
      ? "Learning curve: no evaluation yet"
      : `Learning curve: after ${count(last.step)} steps the mean return is ${
        last.return.toFixed(0)
      } of 500`,
  );
}

function showProgress(progress: Progress): void {
  const { stats } = progress;
  const last = runs.at(-1)?.episodes.slice(-20).map((point) => point.return) ?? [];
  const mean = last.reduce((sum, each) => sum + each, 0) / Math.max(1, last.length);
  show("n-step", count(progress.step));
  if (progress.stepsPerSecond > 0) show("n-speed", count(progress.stepsPerSecond));
  show("n-return", mean.toFixed(1));
  show(
    "n-best",
    progress.best.step === 0
      ? "–"
      : `${progress.best.return.toFixed(1)} at step ${count(progress.best.step)}`,
  );
  show("n-records", `${count(stats.records.stored)} of ${count(stats.records.capacity)}`);
  show("n-draws", short(stats.drawsPerRecord));
  show("n-share", percent(progress.replayShare));
  show("n-backend", progress.backend);
  showPriorities(stats);
  showAges(stats);
}

/** The selector that draws the batches: the one that is no part of another. */
function drawingSelector({ selectors }: ReplayStats): SelectorStats | undefined {
  return selectors.find(({ id }) => !selectors.some(({ parts }) => parts.includes(id)));
}

/** The priorities of the selector, or of the one that it draws with. */
function showPriorities(stats: ReplayStats): void {
  const selector = drawingSelector(stats);
  const kept = stats.selectors.find((each) => each.priorities !== undefined);
  const chart = element("priorities");
  const none = element("priorities-none");
  const priorities = kept?.priorities;
  const isOneValue = priorities !== undefined && priorities.smallest === priorities.largest &&
    priorities.zeroCount === 0;
  chart.hidden = priorities === undefined || isOneValue;
  none.hidden = !chart.hidden;
  if (chart.hidden) priorityChart.clear();
  chart.dataset.kind = kept?.kind ?? "";
  if (kept === undefined || priorities === undefined) {
    none.textContent = `${
      selector?.kind ?? "This selector"
    } draws by no priorities, so it keeps none.`;
    return show("priorities-text", "");
  }
  const { histogram, largest, zeroCount, unknownCount } = priorities;
  const shown = histogram.counts.reduce((sum, each) => sum + each, 0);
  chart.dataset.picks = String(shown);
  if (isOneValue) none.textContent = `All priorities are ${short(largest)} so far.`;
  else priorityChart.draw(histogram);
  const text = `${count(shown)} picks; the largest priority is ${short(largest)}`;
  chart.setAttribute("aria-label", `Distribution of priorities: ${text}`);
  show(
    "priorities-text",
    [
      kept === selector ? "" : `Those of ${kept.kind}, which ${selector?.kind} draws with. `,
      text,
      zeroCount > 0 ? `; ${count(zeroCount)} have priority 0` : "",
      unknownCount > 0 ? `; ${count(unknownCount)} have none yet` : "",
      ". A new pick has the largest priority so far, until it is drawn.",
    ].join(""),
  );
}

function showAges(stats: ReplayStats): void {
  const selector = drawingSelector(stats);
  if (selector === undefined) return;
  ageChart.draw(stats.ages, selector.noted.ages);
  const text = agesText(selector);
  element("ages").setAttribute("aria-label", text);
  show("ages-text", text);
}

function agesText({ noted, weights, pickCount }: SelectorStats): string {
  if (noted.count === 0) return "Nothing was drawn yet: the first batch comes at step 1,000.";
  const half = `Half of the picks that were drawn are at most ${
    count(noted.ages.median)
  } records old.`;
  return weights === undefined
    ? half
    : `${half} The draws repeat as if there were ${count(weights.effectiveCount)} picks, of ${
      count(pickCount)
    }.`;
}

function showScene({ learned, shown, isOver, hasStood }: Scene): void {
  const end = hasStood ? "It stood to the end." : isOver ? "It fell." : "";
  const text = `After ${count(learned)} ${
    learned === 1 ? "step" : "steps"
  } of training, without random actions: ${count(shown)} of 500 steps. ${end}`;
  const line = element("cart-text");
  if (line.textContent === text) return;
  line.textContent = text;
  if (isOver) element("cart").setAttribute("aria-label", `The cart. ${text}`);
}

/** One radio button for each selector. */
function makeChoices(chosen: SelectorName): void {
  const labels = Object.keys(SELECTORS).map((name) => {
    const label = document.createElement("label");
    const input = document.createElement("input");
    const text = document.createElement("span");
    Object.assign(input, {
      type: "radio",
      name: "selector",
      value: name,
      checked: name === chosen,
    });
    text.textContent = name;
    label.title = isSelector(name) ? SELECTORS[name] : "";
    label.append(input, text);
    return label;
  });
  element("selectors").replaceChildren(...labels);
}

function chosenSelector(): SelectorName {
  const input = document.querySelector<HTMLInputElement>('input[name="selector"]:checked');
  const name = input?.value ?? null;
  return isSelector(name) ? name : DEFAULT_SELECTOR;
}

function beginChosen(): void {
  addressNote.hidden = true;
  const seed = wholeNumber(seedInput.value, 0);
  if (seed === undefined) {
    seedInput.reportValidity();
    return;
  }
  begin(chosenSelector(), seed);
}

function start(): void {
  makeChoices(asked.selector);
  seedInput.value = String(asked.seed);
  setState("done", "");
  if (typeof Worker === "undefined" || !hasModuleWorkers()) {
    return fail(`This browser has no workers that are modules. ${NEEDS}`);
  }
  element("selectors").addEventListener("change", beginChosen);
  element<HTMLFormElement>("controls").addEventListener("submit", (event) => {
    event.preventDefault();
    beginChosen();
  });
  pauseButton.addEventListener("click", () => {
    const run = runs.at(-1);
    if (run === undefined) return;
    const pauses = state === "training";
    ask({ do: pauses ? "pause" : "resume" });
    const what = `with ${run.selector}, seed ${run.seed}.`;
    setState(pauses ? "paused" : "training", `${pauses ? "Paused" : "Training"} ${what}`);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    drawCurves();
    if (latest !== undefined) showProgress(latest);
  });
  beginChosen();
  // A later run takes nothing from the address.
  addressNote.textContent = `In the address: ${addressFaults.join(" ")}`;
  addressNote.hidden = addressFaults.length === 0;
}

start();
