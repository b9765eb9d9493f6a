/** The page that trains an agent on the browser's device, by its driver in software. */
import { assert, assertEquals, assertMatch, assertStrictEquals } from "../_assert.ts";
import axe from "npm:axe-core@4.14.1";
import { buildPage } from "../../tools/build_page.ts";
import { inChromium, Site, SOFTWARE_GPU } from "./_chromium.ts";

const folder = await Deno.makeTempDir({ prefix: "exrp_gpu_page_" });
addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
await buildPage(folder);

const STATE = "document.documentElement.dataset.state";

inChromium("the page for GPUs trains an agent, and asks no other server", async (tab) => {
  const { page, trouble, requests } = tab;
  await using site = new Site(folder, "/some/where/");
  // The agent learns from step 200 on.
  await page.goto(`${site.url}gpu.html?seed=1&steps=203`);
  await page.waitForFunction(`/done|failed/.test(${STATE})`);
  const text = await page.evaluate("document.body.innerText") as string;
  assertStrictEquals(await page.evaluate(STATE), "done", text);
  assertMatch(text, /203 of 203/);
  const textOf = (id: string): Promise<string> =>
    page.$eval(`#${id}`, (element) => element.textContent ?? "");
  assert(Number(await textOf("n-loss")) > 0, text);
  // 4 steps of 8 batches, each with 128 pictures of 1 kB.
  assertMatch(await textOf("n-batches"), /^4\.2 MB$/);
  assert(Number.parseFloat(await textOf("n-uploaded")) < 0.42, text);
  const evaluations = await page.evaluate('document.getElementById("curve").dataset.evaluations');
  assertStrictEquals(String(evaluations).split(" ").length, 3);
  await page.evaluate(axe.source);
  const faults = await page.evaluate(
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map((node) => node.html).join()))',
  );
  assertEquals(faults, []);
  assertEquals(trouble, []);
  assertEquals(
    requests.filter((url) => !url.startsWith(site.url) && !url.startsWith("data:")),
    [],
  );
}, SOFTWARE_GPU);

inChromium("without a device, the page for GPUs says so", async ({ page }) => {
  await using site = new Site(folder);
  await page.goto(`${site.url}gpu.html`);
  await page.waitForFunction(`${STATE} === "failed"`);
  const text = await page.$eval("#problem", (element) => element.textContent ?? "");
  assertMatch(text, /gives no device of WebGPU/);
});
