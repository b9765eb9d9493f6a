/** The page that trains an agent in the browser: in Chromium, from a plain server, and where something is missing. */
import { assert, assertEquals, assertMatch, assertStrictEquals } from "../_assert.ts";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import axe from "npm:axe-core@4.14.1";
import type { Page } from "npm:puppeteer-core@25.16.0";
import { edgeLabels } from "../../examples/browser/_edge_labels.ts";
import { buildPage } from "../../tools/build_page.ts";
import { inRepository } from "../../tools/_repository.ts";
import { inChromium, Site } from "./_chromium.ts";

const folder = await Deno.makeTempDir({ prefix: "exrp_page_" });
addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
const bytes = await buildPage(folder);

Deno.test("the pages are small, and what they take from others is named with its licence", async () => {
  // A third of it is the kernel.
  assert(bytes < 1_200_000, `${bytes} bytes`);
  const { imports } = JSON.parse(await Deno.readTextFile(inRepository("deno.json")));
  const licences = await Deno.readTextFile(join(folder, "THIRD_PARTY.txt"));
  for (const name of ["@jax-js/jax", "uplot"]) {
    assert(licences.includes(imports[name].replace(/^npm:(.*)@(.*)$/, "== $1 $2")), name);
  }
});

Deno.test("the page's code has no syntax that its oldest browsers can't read", async () => {
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.endsWith(".js")) continue;
    const code = await Deno.readTextFile(join(folder, name));
    assertEquals(code.match(/\b(await )?using [\w$]+ ?=/), null, name);
  }
});

/** Waits until an attribute or a text of the page is as it should be. Gives up with what is there, at once if the page tells of a problem. */
async function until(page: Page, what: string, condition: string): Promise<void> {
  const timedOut = await page.waitForFunction(`(${condition}) || ${PROBLEM}`, { polling: 50 })
    .then(() => undefined, (error) => error);
  const isWell = condition === PROBLEM || !await page.evaluate(PROBLEM);
  if (timedOut === undefined && isWell) return;
  const text = await page.evaluate("document.body.innerText");
  throw new Error(`${what}: the page shows\n${text}`, { cause: timedOut });
}

const STATE = "document.documentElement.dataset.state";
const STEP = 'Number(document.getElementById("n-step").textContent.replaceAll(",", ""))';
const PRIORITIES = 'document.getElementById("priorities").dataset';
const PROBLEM = 'document.getElementById("problem").hidden === false';

function textOf(page: Page, id: string): Promise<string> {
  return page.$eval(`#${id}`, (element) => element.textContent ?? "");
}

/** How many pixels of the canvases in an element have something on them. */
function paintedPixels(page: Page, id: string): Promise<number> {
  return page.evaluate(`(() => {
    const host = document.getElementById(${JSON.stringify(id)});
    const canvas = host.querySelector("canvas") ?? host;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, k) => k % 4 === 3 && value > 0).length;
  })()`) as Promise<number>;
}

inChromium(
  "the page trains an agent from a plain server, under any path, and asks no other",
  async ({ page, trouble, requests }) => {
    await using site = new Site(folder, "/some/where/");
    await page.goto(`${site.url}?selector=prioritized&seed=1&steps=3000`);
    await until(page, "training ends", `${STATE} === "done"`);
    const dataset: Record<string, string> = await page.$eval(
      "#curve",
      (element) => ({ ...(element as unknown as { dataset: Record<string, string> }).dataset }),
    );
    // A random policy earns about 22. With this seed and selector the quickstart earns 305 at step 2,000 and 484 at step 3,000.
    const evaluations = (dataset["evaluations"] ?? "").split(" ").map(Number);
    assertStrictEquals(evaluations.length, 3);
    assert(Math.max(...evaluations) > 100, evaluations.join());
    assert(Number(dataset["episodes"]) > 30, dataset["episodes"]);
    assertStrictEquals(await textOf(page, "n-step"), "3,000");
    assertStrictEquals(await textOf(page, "n-records"), "3,000 of 10,000");
    assertMatch(
      await textOf(page, "status"),
      /^Not solved in 3,000 steps, with prioritized, seed 1/,
    );
    assertMatch(await textOf(page, "n-backend"), /^wasm: /);
    // Nearly every record is a pick: the last ones of the open episode lack their three steps.
    assert(Number(await page.evaluate(`${PRIORITIES}.picks`)) > 2_900);
    await until(
      page,
      "the cart moves",
      '/[1-9]\\d* of 500/.test(document.getElementById("cart-text").textContent)',
    );
    for (const id of ["curve", "priorities", "ages", "cart"]) {
      const pixels = await paintedPixels(page, id);
      assert(pixels > 1_000, `${id}: ${pixels} pixels`);
    }
    assertEquals(trouble, []);
    assertEquals(
      requests.filter((url) => !url.startsWith(site.url) && !url.startsWith("data:")),
      [],
    );
  },
);

inChromium(
  "another selector begins another run; the histogram follows, and the older curve stays",
  async ({ page, trouble }) => {
    await using site = new Site(folder);
    await page.goto(`${site.url}?selector=rankBased&seed=2`);
    await until(
      page,
      "priorities come",
      `${PRIORITIES}.kind === "rankBased" && ${PRIORITIES}.picks > 0`,
    );
    await until(page, "an evaluation comes", `${STEP} >= 1000`);

    // By the keyboard: the next radio button is pser.
    await page.focus('input[value="rankBased"]');
    await page.keyboard.press("ArrowRight");
    await until(page, "pser begins", `${PRIORITIES}.kind === "pser" && ${STEP} > 0`);
    assertMatch(await textOf(page, "status"), /^Training with pser, seed 2/);
    const runs = await page.$$eval(
      "#runs li",
      (items) => items.map((item) => item.textContent ?? ""),
    );
    assertStrictEquals(runs.length, 2);
    assertMatch(runs[0] ?? "", /^pser, seed 2: .*training$/);
    assertMatch(runs[1] ?? "", /^rankBased, seed 2: best \d+, stopped at step [\d,]+$/);
    assertMatch(page.url(), /\?selector=pser&seed=2$/);

    await page.click('input[value="uniform"]');
    const none = "uniform draws by no priorities, so it keeps none.";
    await until(
      page,
      "uniform has no priorities",
      `document.getElementById("priorities-none").textContent === "${none}"`,
    );
    assertStrictEquals(
      await page.evaluate('document.getElementById("priorities").hidden'),
      true,
    );

    // A composed rule shows the priorities of its part.
    await page.click('input[value="combined"]');
    await until(
      page,
      "the part of combined has priorities",
      `${PRIORITIES}.kind === "prioritized" && ${STEP} > 0`,
    );
    assertMatch(
      await textOf(page, "priorities-text"),
      /^Those of prioritized, which combined draws with\./,
    );
    assertEquals(trouble, []);
  },
);

inChromium(
  "without an evaluation there is no best one, and priorities that are all the same are said in words",
  async ({ page, trouble }) => {
    await using site = new Site(folder);
    // Keeps what the legend says first: evaluations come soon.
    await page.evaluateOnNewDocument(
      `new MutationObserver(() => {
        const text = document.getElementById("runs")?.textContent;
        if (text) globalThis.firstLegend ??= text;
      }).observe(document, { childList: true, subtree: true })` as unknown as () => void,
    );
    // The agent learns from step 1,000 on.
    await page.goto(`${site.url}?selector=pser&seed=1&steps=500`);
    await until(page, "training ends", `${STATE} === "done"`);
    assertStrictEquals(await textOf(page, "priorities-none"), "All priorities are 1 so far.");
    assertStrictEquals(
      await page.evaluate('document.getElementById("priorities").hidden'),
      true,
    );
    assertStrictEquals(
      await page.evaluate("globalThis.firstLegend"),
      "pser, seed 1: no evaluation yet, training",
    );
    assertStrictEquals(await page.evaluate('document.getElementById("address").hidden'), true);
    assertEquals(trouble, []);
  },
);

inChromium(
  "what the address asks for in vain is said, until another run begins",
  async ({ page, trouble }) => {
    await using site = new Site(folder);
    await page.goto(`${site.url}?selector=nonsense&seed=abc&steps=-5&colour=red`);
    await until(page, "training begins", `${STEP} > 0`);
    assertStrictEquals(
      await textOf(page, "address"),
      "In the address: “selector=nonsense” has no effect: there is no such selector. prioritized was taken instead. " +
        "“seed=abc” has no effect: it must be a whole number, and not too large. 1 was taken instead. " +
        "“steps=-5” has no effect: it must be a whole number, and not too large. 40000 was taken instead. " +
        "“colour” has no effect: a run has a selector, a seed and steps.",
    );
    assertMatch(page.url(), /\?selector=prioritized&seed=1$/);
    await page.click('input[value="uniform"]');
    await until(page, "the note goes", 'document.getElementById("address").hidden');
    assertEquals(trouble, []);
  },
);

Deno.test("labels of a logarithmic axis do not touch, and there are always some", () => {
  const edges = (first: number, last: number, steps: number): number[] =>
    Array.from({ length: (last - first) * steps + 1 }, (_, k) => 10 ** (first + k / steps));
  const labels = (list: number[], width: number): string =>
    edgeLabels(list, width).filter((label) => label !== "").join(" ");
  assertStrictEquals(labels(edges(-4, 2, 4), 600), "0.0001 0.001 0.01 0.1 1 10 100");
  assertStrictEquals(labels(edges(-4, 2, 4), 230), "0.0001 0.01 1 100");
  assertStrictEquals(labels(edges(-5, 2, 4), 150), "0.001 1");
  // One power of ten, or none.
  assertStrictEquals(labels([0.5, 1, 2], 300), "0.5 1 2");
  assertStrictEquals(labels([0.5, 1, 2], 80), "1");
  assertStrictEquals(labels([2, 4], 300), "2 4");
});

inChromium(
  "pause pauses, and going on goes on; a seed that is none begins nothing",
  async ({ page, trouble }) => {
    await using site = new Site(folder);
    await page.goto(`${site.url}?selector=uniform&seed=1`);
    await until(page, "training begins", `${STEP} > 0`);
    await page.click("#pause");
    await until(page, "it pauses", `${STATE} === "paused"`);
    // The worker tells once more where it stopped. Then a second passes in which it would take hundreds of steps.
    const frames = (count: number): Promise<unknown> =>
      page.evaluate(`new Promise((resolve) => {
      let left = ${count};
      const next = () => left-- > 0 ? requestAnimationFrame(next) : resolve(0);
      next();
    })`);
    await frames(30);
    const paused = Number(await page.evaluate(STEP));
    await frames(60);
    assertStrictEquals(Number(await page.evaluate(STEP)), paused);
    assertStrictEquals(await textOf(page, "pause"), "Go on");
    await page.click("#pause");
    await until(page, "it goes on", `${STATE} === "training" && ${STEP} > ${paused}`);

    await page.$eval("#seed", (input) => (input as unknown as { value: string }).value = "-1");
    await page.click("#restart");
    assertMatch(await textOf(page, "status"), /uniform, seed 1/);
    await page.$eval("#seed", (input) => (input as unknown as { value: string }).value = "5");
    await page.click("#restart");
    await until(
      page,
      "seed 5 begins",
      'document.getElementById("status").textContent.includes("seed 5")',
    );
    assertEquals(trouble, []);
  },
);

inChromium("the page is accessible in light and dark, and fits a phone", async ({ page }) => {
  await using site = new Site(folder);
  for (
    const [value, width] of [["light", 1200], ["dark", 1200], ["light", 360], [
      "dark",
      360,
    ]] as const
  ) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
    await page.setViewport({ width, height: 800 });
    await page.goto(`${site.url}?seed=1`);
    await until(page, "training begins", `${STEP} > 0`);
    const where = `${value}, ${width} pixels`;
    const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    assertStrictEquals(overflow, 0, where);
    await page.evaluate(axe.source);
    const faults = await page.evaluate(
      'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map((node) => node.html).join()))',
    );
    assertEquals(faults, [], where);
  }
});

/** What is missing, how it is taken away, and what the page must say. */
const missing: readonly {
  readonly what: string;
  /** Runs before the page. */
  readonly before?: string;
  /** Changes a file; undefined if it is not there. */
  readonly change?: (name: string, text: string) => string | undefined;
  readonly says: RegExp;
}[] = [
  {
    what: "vector instructions",
    change: (name, text) =>
      name === "worker.js" ? `WebAssembly.validate = () => false;${text}` : text,
    says: /has no vector instructions \(SIMD\).*Chrome or Edge 91, Firefox 114, Safari 16\.4/,
  },
  {
    what: "WebAssembly",
    change: (name, text) => name === "worker.js" ? `delete globalThis.WebAssembly;${text}` : text,
    says: /has no WebAssembly.*Chrome or Edge 91/,
  },
  { what: "workers", before: "delete window.Worker", says: /has no workers.*Firefox 114/ },
  {
    what: "workers that are modules",
    before: "const Old = Worker; window.Worker = function (url) { return new Old(url); };",
    says: /has no workers that are modules.*Firefox 114/,
  },
  {
    what: "JavaScript modules",
    before: "delete HTMLScriptElement.prototype.noModule",
    says: /has no JavaScript modules.*Chrome or Edge 91/,
  },
  {
    what: "the worker's file",
    change: (name, text) => name === "worker.js" ? undefined : text,
    says: /worker of the page could not run/,
  },
  {
    what: "the page's script",
    change: (name, text) => name === "page.js" ? undefined : text,
    says: /could not start: a file of it could not be loaded/,
  },
];

inChromium(
  "where something is missing, the page says what, and which browsers have it",
  async ({ page }) => {
    for (const { what, before, change, says } of missing) {
      await using site = new Site(folder, "/", change);
      const script = before === undefined
        ? undefined
        : await page.evaluateOnNewDocument(before as unknown as () => void);
      await page.goto(site.url);
      await until(page, `without ${what}`, PROBLEM);
      assertMatch(await textOf(page, "problem"), says, what);
      assertStrictEquals(await page.$eval("#main", (main) => main.checkVisibility()), false, what);
      if (script !== undefined) {
        await page.removeScriptToEvaluateOnNewDocument(script.identifier);
      }
    }
    await page.goto(pathToFileURL(join(folder, "index.html")).href);
    await until(page, "from a file", PROBLEM);
    assertMatch(await textOf(page, "problem"), /opened as a file.*python3 -m http\.server/);
  },
);
