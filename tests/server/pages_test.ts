/** The pages of a server: metrics, health, and the status page in a browser. */
import { assert, assertEquals } from "../_assert.ts";
import axe from "npm:axe-core@4.14.1";
import { inChromium } from "../browser/_chromium.ts";
import { insert, sample, served } from "./_served.ts";

Deno.test("the pages are on the port of the calls", async () => {
  await using site = await served();
  const get = (path: string): Promise<Response> => fetch(`http://${site.server.address}${path}`);
  await insert(site.connection, "u", 1n);
  const metrics = await get("/metrics");
  assertEquals(metrics.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const text = await metrics.text();
  assert(text.includes('exrp_table_items{table="u"} 1\n'), text);
  assert(text.includes('exrp_calls_total{method="InsertStream",code="0"} 1\n'), text);
  const healthy = await get("/healthz");
  assertEquals([healthy.status, await healthy.text()], [200, "serving\n"]);
  const page = await get("/");
  assertEquals(page.status, 200);
  assert((await page.text()).includes("<h1>Replay tables</h1>"));
  const none = await get("/nothing");
  assertEquals(none.status, 404);
  await none.body?.cancel();
});

Deno.test("a page that another site asks for under its own name is refused", async () => {
  await using site = await served();
  const { port } = site.server;
  for (
    const [host, status] of [
      ...[["evil.example", 403], ["evil.example:80:1", 403], [`evil.example:x`, 403]] as const,
      ...[[`127.0.0.1:${port}`, 200], [`[::1]:${port}`, 200], ["LocalHost", 200]] as const,
    ]
  ) {
    const socket = await Deno.connect({ hostname: "127.0.0.1", port });
    await socket.write(new TextEncoder().encode(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
    const bytes = new Uint8Array(1000);
    const count = await socket.read(bytes) ?? 0;
    socket.close();
    const line = new TextDecoder().decode(bytes.subarray(0, count)).slice(0, 13);
    assertEquals(line, `HTTP/1.1 ${status} `, host);
  }
});

Deno.test("an old probe, which gives no name of the server, reads /healthz and nothing else", async () => {
  await using site = await served();
  const get = async (path: string): Promise<string> => {
    const socket = await Deno.connect({ hostname: "127.0.0.1", port: site.server.port });
    await socket.write(new TextEncoder().encode(`GET ${path} HTTP/1.0\r\n\r\n`));
    return (await new Response(socket.readable).text()).slice(9, 12);
  };
  assertEquals([await get("/healthz"), await get("/"), await get("/metrics")], [
    "200",
    "403",
    "403",
  ]);
});

Deno.test("a client of TLS is told at once that this is none", async () => {
  await using site = await served();
  const socket = await Deno.connect({ hostname: "127.0.0.1", port: site.server.port });
  // The beginning of its greeting: it says more only after an answer, and the rest of this one need not come.
  await socket.write(new Uint8Array([0x16, 3, 1, 2, 0, 1, 0]));
  assertEquals((await new Response(socket.readable).text()).slice(0, 13), "HTTP/1.1 400 ");
});

inChromium(
  "the status page shows fill and rates, brings new ones by itself, and is accessible",
  async ({ page, trouble, requests }) => {
    await using site = await served();
    await insert(site.connection, "u", 1n);
    const url = `http://${site.server.address}/`;
    await page.goto(url);
    const items = (): Promise<string> =>
      page.$eval("tbody tr:nth-child(1) td:nth-child(5)", (cell) => String(cell.textContent));
    assertEquals(await items(), "1 / 1,000");
    // What waits, and what goes in now, is seen without scrolling in a window of this width, and in that of a phone.
    for (const width of [1100, 390]) {
      await page.setViewport({ width, height: 700 });
      const hidden = await page.evaluate(`
        [...document.querySelectorAll("#fill + div tr > :nth-child(-n + 4)")]
          .filter((cell) => cell.getBoundingClientRect().right > innerWidth)
          .map((cell) => cell.textContent)`);
      assertEquals(hidden, [], `at ${width} px`);
    }
    // Each header stands as its column does.
    const [heads, cells] = await Promise.all(
      ["thead th", "tbody tr:first-child > *"].map((row) =>
        page.evaluate(
          `[...document.querySelectorAll("${row}")].map((one) => getComputedStyle(one).textAlign)`,
        )
      ),
    );
    assertEquals(heads, cells);
    await insert(site.connection, "u", 2n);
    await sample(site.connection, "u", 1);
    await page.waitForFunction(
      'document.querySelector("tbody tr td:nth-child(5)").textContent === "2 / 1,000"',
    );
    assertEquals(await page.$eval("#note", (note) => note.textContent), "");
    await page.evaluate(axe.source);
    const violations = await page.evaluate(
      'axe.run().then(({ violations }) => violations.map(({ id, help }) => id + ": " + help))',
    );
    assertEquals(violations, []);
    assertEquals(trouble, []);
    assert(
      requests.every((request) => request === url || request.startsWith("data:")),
      "only itself",
    );
  },
);

inChromium(
  "the status page is whole without script, and says when the server is gone",
  async ({ page }) => {
    const site = await served();
    try {
      await insert(site.connection, "u", 1n);
      await page.setJavaScriptEnabled(false);
      await page.goto(`http://${site.server.address}/`);
      const html = await page.content();
      assert(html.includes("1 / 1,000") && html.includes("inserts go in, samples go out"));
      await page.setJavaScriptEnabled(true);
      await page.goto(`http://${site.server.address}/`);
    } finally {
      await site[Symbol.asyncDispose]();
    }
    await page.waitForFunction(
      'document.getElementById("note").textContent === "The server does not answer."',
    );
  },
);
