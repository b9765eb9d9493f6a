/**
 * Makes the picture of docs/in_the_browser.md: `deno run -A tests/browser/_picture.ts`.
 *
 * @module
 */
import { inRepository } from "../../tools/_repository.ts";
import { buildPage } from "../../tools/build_page.ts";
import { Site, withTab } from "./_chromium.ts";

const STATE = "document.documentElement.dataset.state";
const STEP = 'Number(document.getElementById("n-step").textContent.replaceAll(",", ""))';

const folder = await Deno.makeTempDir();
try {
  await buildPage(folder);
  await using site = new Site(folder);
  await withTab(async ({ page }) => {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
    await page.setViewport({ width: 1000, height: 1118 });
    await page.goto(`${site.url}?selector=uniform&seed=1`);
    await page.waitForFunction(`${STATE} === "done"`);
    await page.click('input[value="prioritized"]');
    await page.waitForFunction(`${STATE} === "training" && ${STEP} > 6_000 && ${STEP} < 9_000`);
    await page.click("#pause");
    await page.waitForFunction(`${STATE} === "paused"`);
    await page.mouse.move(0, 0);
    await page.evaluate("document.activeElement.blur()");
    const path = inRepository("docs", "images", "in_the_browser.webp");
    await page.screenshot({ path: path as `${string}.webp`, type: "webp", quality: 85 });
    console.log(path);
  });
} finally {
  await Deno.remove(folder, { recursive: true });
}
