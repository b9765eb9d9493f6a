/**
 * The page of `deno task cluster`: it asks for the figures once a second, and shows them.
 *
 * @module
 */
import type { Death, Running } from "./_supervisor.ts";

/** What the page shows. Undefined is what nobody has said yet. */
export interface ClusterFigures {
  readonly architecture: string;
  /** Since the cluster was started. */
  readonly seconds: number;
  readonly programs: readonly Running[];
  readonly shards: readonly ShardFigures[];
  readonly actors: readonly ActorFigures[];
  readonly learner: LearnerFigures | undefined;
  readonly deaths: readonly Death[];
}

/** A shard, by its heartbeats. */
export interface ShardFigures {
  readonly name: string;
  readonly records: number;
  readonly capacity: number;
  /** Records that it took each second lately. */
  readonly rate: number;
  /** Since when nothing was heard of it. */
  readonly silentMs: number;
}

/** An actor, by what it says once a second. */
export interface ActorFigures {
  readonly name: string;
  readonly steps: number;
  readonly rate: number;
  /** Which version of the weights it acts by; 0 of an actor that has none. */
  readonly version: number;
  readonly silentMs: number;
}

/** The learner. */
export interface LearnerFigures {
  readonly steps: number;
  readonly updates: number;
  /** Updates a second. */
  readonly rate: number;
  readonly version: number;
  /** The mean return of the latest evaluation. */
  readonly return: number;
  readonly silentMs: number;
}

const HTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Cluster</title>
<style>
  :root { color-scheme: light dark; }
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
  h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 1.5rem 0 .3rem; }
  table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
  th, td { text-align: right; padding: .2rem .6rem; border-bottom: 1px solid #8884; }
  th:first-child, td:first-child { text-align: left; }
  .bad { color: #c22; font-weight: 600; }
</style>
<h1 id="title">Cluster</h1>
<p id="state" role="status"></p>
<main id="tables"></main>
<script type="module">
const [tables, state, title] = ["tables", "state", "title"].map((id) => document.getElementById(id));
const whole = (value) => Math.round(value).toLocaleString("en");
const silence = (ms) => ({ text: (ms / 1000).toFixed(1) + " s", bad: ms > 2500 });

function add(heading, columns, rows) {
  const table = document.createElement("table");
  const line = (cells, kind) => {
    const row = table.insertRow();
    for (const cell of cells) {
      const made = document.createElement(kind);
      made.textContent = cell?.text ?? cell;
      if (cell?.bad) made.className = "bad";
      row.append(made);
    }
  };
  line(columns, "th");
  for (const row of rows) line(row, "td");
  const made = document.createElement("h2");
  made.textContent = heading;
  return [made, table];
}

function show({ architecture, seconds, programs, shards, actors, learner, deaths }) {
  title.textContent = "Cluster: " + architecture;
  state.textContent = whole(seconds) + " s since its start";
  tables.replaceChildren(
    ...add("Learner", ["", "steps", "updates", "updates/s", "weights", "return", "silent for"],
      learner === undefined ? [] : [["learner", whole(learner.steps), whole(learner.updates), whole(learner.rate),
        "version " + learner.version, learner.return.toFixed(1), silence(learner.silentMs)]]),
    ...add("Shards", ["", "records", "fill", "records/s", "silent for"],
      shards.map((each) => [each.name, whole(each.records), (100 * each.records / each.capacity).toFixed(1) + " %",
        whole(each.rate), silence(each.silentMs)])),
    ...add("Actors", ["", "steps", "steps/s", "weights", "versions behind", "silent for"],
      actors.map((each) => [each.name, whole(each.steps), whole(each.rate), each.version || "none",
        each.version && learner ? Math.max(0, learner.version - each.version) : "", silence(each.silentMs)])),
    ...add("Programs", ["", "process", "runs for", "started again"],
      programs.map((each) => [each.name, each.pid ?? { text: "none", bad: true }, whole(each.seconds) + " s", each.restarts])),
    ...add("Deaths", ["", "how", "ago"], deaths.length === 0 ? [["none"]]
      : deaths.map((each) => [each.name, each.how, whole(each.secondsAgo) + " s"])),
  );
}

async function look() {
  try {
    show(await (await fetch("figures.json")).json());
  } catch {
    state.innerHTML = '<span class="bad">the cluster does not answer: it has ended</span>';
  }
  setTimeout(look, 1000);
}
look();
</script>
</html>
`;

/** Answers a request of a browser. */
export function answerPage(request: Request, figures: () => ClusterFigures): Response {
  const { pathname } = new URL(request.url);
  if (pathname === "/figures.json") return Response.json(figures());
  if (pathname !== "/") return new Response("there is no such page", { status: 404 });
  return new Response(HTML, { headers: { "content-type": "text/html; charset=utf-8" } });
}
