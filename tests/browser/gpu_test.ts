/** Columns on a device of a browser, by its driver in software: batches are those of the replay, to the bit. `EXRP_GPU_BATCHES` says how many batches. */
import { assertEquals, assertGreater } from "../_assert.ts";
import { inRepository, run } from "../../tools/_repository.ts";
import { launchIn, Site, SOFTWARE_GPU, withChromium } from "./_chromium.ts";

const batchCount = Number(Deno.env.get("EXRP_GPU_BATCHES") ?? 80);
const seed = Number(Deno.env.get("EXRP_SEED") ?? 33);

withChromium("batches on a browser's device are those of the replay, to the bit", async () => {
  const folder = await Deno.makeTempDir({ prefix: "exrp_gpu_page_" });
  try {
    const { success, stderr } = await run([
      ...[Deno.execPath(), "bundle", "--quiet", "--platform", "browser"],
      ...["--external", "../prebuilt/targets.ts", "--outdir", folder],
      inRepository("tests", "browser", "_gpu_page.ts"),
    ], { env: { NO_COLOR: "1" } });
    if (!success) throw new Error(stderr);
    const html = '<!DOCTYPE html><script type="module" src="_gpu_page.js"></script>';
    await Deno.writeTextFile(`${folder}/index.html`, html);
    await using site = new Site(folder);
    const browser = await launchIn(`${folder}/profile`, SOFTWARE_GPU);
    try {
      const page = await browser.newPage();
      await page.goto(site.url);
      await page.waitForFunction("globalThis.compare !== undefined");
      const compared = await page.evaluate(`compare(${seed}, ${batchCount})`);
      const { arrays, errors } = compared as { arrays: number; errors: string[] };
      assertEquals(errors, []);
      assertGreater(arrays, batchCount);
    } finally {
      await browser.close();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
