/** Headless Chromium for tests, driven by Puppeteer, and a server for what it opens. */
import { join } from "node:path";
import { type Browser, launch, type Page } from "npm:puppeteer-core@25.16.0";
import { exists } from "../../tools/_repository.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const TIMEOUT_MS = 600_000;
const NONE = "there is no Chromium here; Debian has it as chromium";

/** The path of the browser; undefined where there is none. `EXRP_CHROMIUM` may name one. */
async function findChromium(): Promise<string | undefined> {
  const named = Deno.env.get("EXRP_CHROMIUM");
  if (named !== undefined) return named;
  const folders = (Deno.env.get("PATH") ?? "").split(":");
  for (const name of NAMES) {
    for (const folder of folders) {
      const path = join(folder, name);
      if (folder !== "" && await exists(path)) return path;
    }
  }
  return undefined;
}

const chromium = await findChromium();

/** A tab of the browser, and what went wrong in it. */
export interface Tab {
  readonly page: Page;
  /** Errors and warnings of the console, errors that nobody caught, and requests that failed. */
  readonly trouble: string[];
  /** The addresses of all requests. */
  readonly requests: string[];
}

/** Begins a browser with the profile of a folder, and with these switches. */
export async function launchIn(profile: string, more: readonly string[] = []): Promise<Browser> {
  if (chromium === undefined) throw new Error(NONE);
  return await launch({
    executablePath: chromium,
    userDataDir: profile,
    protocolTimeout: TIMEOUT_MS,
    // It opens nothing but pages of these tests. In containers, root has no sandbox.
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", ...more],
  });
}

/** Switches with which a browser has a device of WebGPU, by a driver in software. */
export const SOFTWARE_GPU = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"] as const;

/** Opens a tab in a browser of its own, and closes both at the end. */
export async function withTab(
  fn: (tab: Tab) => Promise<void>,
  more: readonly string[] = [],
): Promise<void> {
  const profile = await Deno.makeTempDir({ prefix: "exrp_chromium_" });
  const browser = await launchIn(profile, more);
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(TIMEOUT_MS);
    const tab: Tab = { page, trouble: [], requests: [] };
    page.on("console", (message) => {
      const type = message.type();
      if (type === "error" || type === "warn") tab.trouble.push(`${type}: ${message.text()}`);
    });
    page.on("pageerror", (error) => tab.trouble.push(String(error)));
    page.on("requestfailed", (request) => {
      tab.trouble.push(`${request.url()}: ${request.failure()?.errorText}`);
    });
    page.on("request", (request) => tab.requests.push(request.url()));
    await fn(tab);
  } finally {
    await browser.close();
    await Deno.remove(profile, { recursive: true });
  }
}

/** A test with a tab. Where there is no Chromium, it is skipped, and its name says why. */
export function inChromium(
  what: string,
  fn: (tab: Tab) => Promise<void>,
  more: readonly string[] = [],
): void {
  withChromium(what, () => withTab(fn, more));
}

/** A test that begins browsers by itself. */
export function withChromium(what: string, fn: () => Promise<void>): void {
  if (chromium !== undefined) return Deno.test(what, fn);
  Deno.test({ name: `${what} (skipped: ${NONE})`, ignore: true, fn: () => {} });
}

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css",
  html: "text/html; charset=utf-8",
  js: "text/javascript",
  txt: "text/plain; charset=utf-8",
  wasm: "application/wasm",
};

/** A plain server of static files. It sends no header but the type. */
export class Site implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  /** The address of the folder, which ends with a slash. */
  readonly url: string;

  /**
   * @param folder What it hands out.
   * @param path Under which path, such as `/some/where/`.
   * @param change Changes the text of files before they are handed out.
   */
  constructor(
    folder: string,
    path = "/",
    change: (name: string, text: string) => string | undefined = (_, text) => text,
  ) {
    const none = (): Response => new Response("there is no such file", { status: 404 });
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      async (request) => {
        const { pathname } = new URL(request.url);
        if (!pathname.startsWith(path)) return none();
        const name = pathname.slice(path.length) || "index.html";
        if (!await exists(join(folder, name))) return none();
        const headers = {
          "content-type": TYPES[name.split(".").at(-1) ?? ""] ?? "application/octet-stream",
        };
        if (name.endsWith(".wasm")) {
          return new Response(await Deno.readFile(join(folder, name)), { headers });
        }
        const text = change(name, await Deno.readTextFile(join(folder, name)));
        return text === undefined ? none() : new Response(text, { headers });
      },
    );
    this.url = `http://127.0.0.1:${this.#server.addr.port}${path}`;
  }

  /** Stops the server. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}
