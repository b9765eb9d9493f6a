/**
 * Makes the pictures of pages in the guides: `deno run -A tests/browser/_picture.ts` that of docs/in_the_browser.md, and with `gpu` behind it that of docs/gpu.md.
 *
 * @module
 */
import type { Page } from "npm:puppeteer-core@25.16.0";
import { inRepository } from "../../tools/_repository.ts";
import { buildPage } from "../../tools/build_page.ts";
import { Site, SOFTWARE_GPU, withTab } from "./_chromium.ts";

const STATE = "document.documentElement.dataset.state";
const STEP = 'Number(document.getElementById("n-step").textContent.replaceAll(",", ""))';

/** Two runs of the page with selectors, of which the second is under way. */
async function showSelectors(page: Page, url: string): Promise<void> {
  await page.setViewport({ width: 1000, height: 1118 });
  await page.goto(`${url}?selector=uniform&seed=1`);
  await page.waitForFunction(`${STATE} === "done"`);
  await page.click('input[value="prioritized"]');
  await page.waitForFunction(`${STATE} === "training" && ${STEP} > 6_000 && ${STEP} < 9_000`);
  await page.click("#pause");
  await page.waitForFunction(`${STATE} === "paused"`);
}

/** A run of the page for GPUs. */
async function showGpu(page: Page, url: string): Promise<void> {
  await page.setViewport({ width: 1000, height: 880 });
  await page.goto(`${url}gpu.html?seed=1`);
  await page.waitForFunction(`${STATE} === "done"`);
  console.log(await page.evaluate("document.body.innerText"));
}

const [name, show, switches] = Deno.args[0] === "gpu"
  ? ["gpu_page.webp", showGpu, SOFTWARE_GPU] as const
  : ["in_the_browser.webp", showSelectors, []] as const;
const folder = await Deno.makeTempDir();
try {
  await buildPage(folder);
  await using site = new Site(folder);
  await withTab(async ({ page }) => {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
    await show(page, site.url);
    await page.mouse.move(0, 0);
    await page.evaluate("document.activeElement.blur()");
    const path = inRepository("docs", "images", name);
    await page.screenshot({ path: path as `${string}.webp`, type: "webp", quality: 85 });
    console.log(path);
  }, switches);
} finally {
  await Deno.remove(folder, { recursive: true });
}
