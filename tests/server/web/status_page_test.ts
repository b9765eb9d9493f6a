/** The status page, as text and in a browser. */
import { assert, assertEquals } from "../../_assert.ts";
import { statusPage } from "../../../server/web/status_page.ts";
import { figuresOf, table } from "./_figures.ts";

Deno.test("the page has each table's fill, rate limiter and rates, and escapes names", () => {
  const hostile = { ...table, name: "<script>alert('x')</script>" };
  const rates = new Map([["replay", { inserts: 1234.5, samples: 0.25 }]]);
  const page = statusPage(figuresOf(table, hostile), rates);
  for (
    const words of [
      "Up for 1:02:05, 3 connections",
      "25.0 %",
      "250 / 1,000",
      "3.00 MiB",
      "1,235 /s",
      "0.3 /s",
      "at least 100 items; 2 samples an insert; difference 0 to ∞",
      "inserts go in, samples go out",
      "&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;",
    ]
  ) assert(page.includes(words), words);
  assert(!page.includes("<script>alert"));
});

Deno.test("a rate limiter without a band says only how many items it needs", () => {
  const rateLimiter = {
    ratio: 1,
    minSize: 1,
    differenceMin: -Number.MAX_VALUE,
    differenceMax: Infinity,
  };
  const page = statusPage({ ...figuresOf({ ...table, rateLimiter }), connections: 1 }, new Map());
  assert(page.includes(">at least 1 item</td>"), page);
  assert(page.includes("1 connection,"), page);
});

Deno.test("one sample is no samples, and a short time is not 0.0 s", () => {
  const rateLimiter = { ratio: 1, minSize: 10, differenceMin: -5, differenceMax: 5 };
  const last = { at: 1_700_000_000, bytes: 1000, seconds: 0.0042 };
  const figures = figuresOf({ ...table, rateLimiter });
  const page = statusPage({ ...figures, checkpoints: { written: 1, failed: 0, last } }, new Map());
  assert(page.includes("at least 10 items; 1 sample an insert; difference -5 to 5"), page);
  assert(page.includes("1000 bytes in 5 ms"), page);
});

Deno.test("a page without tables' figures says what waits", () => {
  const empty = { ...table, size: 0, inserts: 0, samples: 0, deletes: 0 };
  assertEquals(
    /inserts go in, no item to sample/.test(statusPage(figuresOf(empty), new Map())),
    true,
  );
});
