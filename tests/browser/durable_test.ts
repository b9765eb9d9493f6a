/**
 * Durable replays in a page's Worker: in Chromium, which is killed and begun again with the same profile. `EXRP_BROWSER_KILLS=50` kills more often, and `EXRP_SEED`
 * repeats a run's choices.
 *
 * @module
 */

import { assert, assertEquals, assertMatch } from "../_assert.ts";
import type { Browser, Page } from "npm:puppeteer-core@25.16.0";
import { ExperienceReplay } from "@exrp/replay";
import { fromBase64 } from "../../base/bytes.ts";
import { inRepository, run } from "../../tools/_repository.ts";
import { pause, until } from "../_wait.ts";
import { testRandom } from "../replay/_helpers.ts";
import { launchIn, Site, withChromium } from "./_chromium.ts";

const KILLS = Number(Deno.env.get("EXRP_BROWSER_KILLS") ?? 2);
const SEED = Number(Deno.env.get("EXRP_SEED") ?? 261128);

const folder = await Deno.makeTempDir({ prefix: "exrp_durable_page_" });
addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
let isBuilt = false;

/** Joins the modules of the page and of its Worker. */
async function build(): Promise<void> {
  if (isBuilt) return;
  const { success, stderr } = await run([
    ...[Deno.execPath(), "bundle", "--quiet", "--platform", "browser", "--code-splitting"],
    ...["--external", "../prebuilt/targets.ts", "--outdir", folder],
    ...["page", "worker"].map((name) => inRepository("tests", "browser", `_durable_${name}.ts`)),
  ], { env: { NO_COLOR: "1" } });
  if (!success) throw new Error(stderr);
  const html = '<!DOCTYPE html><script type="module" src="_durable_page.js"></script>';
  await Deno.writeTextFile(`${folder}/index.html`, html);
  isBuilt = true;
}

/** A tab with a Worker. */
class Tab {
  private constructor(readonly page: Page) {}

  static async open(browser: Browser, url: string): Promise<Tab> {
    const tab = new Tab(await browser.newPage());
    tab.page.setDefaultTimeout(120_000);
    await tab.page.goto(url);
    await tab.ready();
    return tab;
  }

  async ready(): Promise<void> {
    await this.page.waitForFunction("globalThis.ask !== undefined");
  }

  /** What the Worker answers; an error is its text. */
  async tell(...values: unknown[]): Promise<{ result?: unknown; error?: string }> {
    return await this.page.evaluate(`ask(...${JSON.stringify(values)})`) as never;
  }

  /** What the Worker answers; an error is thrown. */
  async ask<T = unknown>(...values: unknown[]): Promise<T> {
    const { result, error } = await this.tell(...values);
    if (error !== undefined) throw new Error(`${values[0]}: ${error}`);
    return result as T;
  }

  /** Opens a folder once nobody else has it. */
  async openOnceFree(name: string): Promise<void> {
    await until("the folder is free", async () => {
      const { error } = await this.tell("openAlone", name);
      if (error !== undefined && !error.startsWith("log-taken")) throw new Error(error);
      return error === undefined;
    });
  }

  /** How many records the Worker said to be on the disk. */
  async said(): Promise<number> {
    return await this.page.evaluate("said.at(-1) ?? 0") as number;
  }
}

/** Ends a browser as the system would: all of its processes at once. */
async function kill(browser: Browser): Promise<void> {
  const main = browser.process();
  assert(main?.pid !== undefined);
  const ended = new Promise((resolve) => main.once("exit", resolve));
  main.kill("SIGKILL");
  await ended;
}

/** A test with a server for its page, and a profile that its browsers share. */
function test(
  what: string,
  fn: (begin: () => Promise<Browser>, url: string) => Promise<void>,
): void {
  withChromium(what, async () => {
    await build();
    const profile = await Deno.makeTempDir({ prefix: "exrp_chromium_" });
    const browsers: Browser[] = [];
    try {
      await using site = new Site(folder);
      await fn(async () => {
        browsers.push(await launchIn(profile));
        return browsers.at(-1) as Browser;
      }, site.url);
    } finally {
      for (const browser of browsers) if (browser.connected) await browser.close();
      // Processes of a browser that was killed may write for a moment.
      await until(
        "the profile is gone",
        () => Deno.remove(profile, { recursive: true }).then(() => true, () => false),
      );
    }
  });
}

test(
  "what was flushed is there after the browser is killed, with the same future",
  async (begin, url) => {
    let browser = await begin();
    let tab = await Tab.open(browser, url);
    assertEquals(await tab.ask("open", "run/one"), null);
    await tab.ask("record", 5_000);
    await tab.ask("flush");
    await tab.ask("record", 777);
    await tab.ask("flush");
    const expected = await tab.ask("twin", [5_000, 777]);
    await kill(browser);

    browser = await begin();
    tab = await Tab.open(browser, url);
    await tab.ask("openAlone", "run/one");
    assertEquals(await tab.ask("check"), 5_777);
    assertEquals(await tab.ask("draw"), expected);
  },
);

test(
  `a browser that is killed ${KILLS} times while a page records loses nothing that was flushed (seed ${SEED})`,
  async (begin, url) => {
    const random = testRandom(SEED);
    let flushed = 0;
    for (let k = 0; k <= KILLS; k++) {
      const browser = await begin();
      const tab = await Tab.open(browser, url);
      await tab.ask("open", "run");
      const found = await tab.ask<number>("check");
      assert(found >= flushed, `${flushed} records were flushed, and ${found} are there`);
      const [, recordedCount] = await tab.ask<number[]>("counts");
      assertEquals(found, recordedCount);
      if (k === KILLS) break;
      tab.tell("goOn").catch(() => {});
      await until("it flushes", async () => await tab.said() > found);
      await pause(random(400));
      flushed = await tab.said();
      await kill(browser);
    }
    assert(flushed > 0);
  },
);

test("a page that is loaded again goes on, and a second tab is refused", async (begin, url) => {
  const browser = await begin();
  const tab = await Tab.open(browser, url);
  await tab.ask("open", "run");
  await tab.ask("record", 100);
  await tab.ask("flush");
  const second = await Tab.open(browser, url);
  assertMatch(
    (await second.tell("openAlone", "run")).error ?? "",
    /^log-taken: ExperienceReplay\.open\(\): the folder "run" is open already/,
  );
  assertMatch((await tab.tell("openAlone", "/run/")).error ?? "", /^log-taken/);
  await tab.page.reload();
  await tab.ready();
  await tab.openOnceFree("run");
  assertEquals(await tab.ask("counts"), [100, 100]);
  await tab.ask("dispose");
  await second.openOnceFree("run");
  assertEquals(await second.ask("check"), 100);
  await second.page.close();
  await tab.openOnceFree("run");
});

test("files come and go, and are those of any other system", async (begin, url) => {
  const tab = await Tab.open(await begin(), url);
  await tab.ask("open", "run");
  // 9 MB without a moment in which files could be opened, and four segments of 1 MiB are ahead. Checkpoints take the place of the first ones.
  for (const count of [500_000, 100_000, 100_000, 100_000]) {
    await tab.ask("record", count);
    await tab.ask("flush");
  }
  const { logBytes, writtenBytes } = await tab.ask<Record<string, number>>("durability");
  assert(
    (writtenBytes ?? 0) > 12e6 && (logBytes ?? 0) < (writtenBytes ?? 0) / 2,
    `${logBytes} of ${writtenBytes}`,
  );
  const state = await tab.ask("state");
  await tab.ask("dispose");
  await tab.ask("open", "run");
  assertEquals(await tab.ask("state"), state);
  await tab.ask("dispose");
  await tab.ask("open", "another");
  const copy = await Deno.makeTempDir();
  try {
    const files = await tab.ask<Record<string, string>>("files", "run");
    for (const [name, text] of Object.entries(files)) {
      assert(name === "lock.exrp" || text !== "", `${name} is empty`);
      await Deno.writeFile(`${copy}/${name}`, fromBase64(text));
    }
    assertEquals(files["lock.exrp"], "");
    using replay = await ExperienceReplay.open(copy);
    const digest = await crypto.subtle.digest("SHA-256", await replay.serialize());
    assertEquals(
      Array.from(new Uint8Array(digest), (byte) => byte.toString(16)).join(""),
      state,
    );
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
});

test("a file that a crash left half in its place is put there", async (begin, url) => {
  const tab = await Tab.open(await begin(), url);
  for (const isDecided of [true, false]) {
    await tab.ask("open", "run");
    await tab.ask("record", 10);
    await tab.ask("dispose");
    // The files are closed a moment later.
    await until(
      "the folder is free",
      async () => (await tab.tell("breakOff", "run", isDecided)).error === undefined,
    );
    await tab.ask("openAlone", "run");
    await tab.ask("dispose");
  }
  await tab.ask("openAlone", "run");
  assertEquals(await tab.ask("check"), 20);
});

test("without room, flush() says so, and memory goes on", async (begin, url) => {
  const tab = await Tab.open(await begin(), url);
  await tab.ask("open", "run", { whenDiskFails: "memory" });
  await tab.ask("record", 1_000);
  await tab.ask("flush");
  const session = await tab.page.createCDPSession();
  const { origin } = new URL(url);
  await session.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: 200_000 });
  await tab.ask("record", 100_000);
  assertMatch((await tab.tell("flush")).error ?? "", /^disk: .*quota/);
  const [, recordedCount] = await tab.ask<number[]>("counts");
  assertEquals(recordedCount, 101_000);
  await session.send("Storage.overrideQuotaForOrigin", { origin });
  await tab.ask("dispose");
  await tab.ask("openAlone", "run");
  assert(await tab.ask<number>("check") >= 1_000);
});

test(
  "tables are durable, too, and where a page can't have a folder, open() says what is needed",
  async (begin, url) => {
    const tab = await Tab.open(await begin(), url);
    assertEquals(await tab.ask("tables", "tables", 5), 5);
    assertEquals(await tab.ask("tables", "tables", 7), 12);
    assertMatch(
      await tab.page.evaluate("openHere()") as string,
      /^file: ExperienceReplay\.open\(\): in a browser, it needs a dedicated Worker/,
    );
    assertMatch(
      (await tab.tell("openAlone", "nothing")).error ?? "",
      /give the options of a new one/,
    );
  },
);
