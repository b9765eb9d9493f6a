/** The metrics are what Prometheus reads. */
import { assert, assertEquals } from "../../_assert.ts";
import { metricsText } from "../../../server/web/metrics.ts";
import { figuresOf, table } from "./_figures.ts";

const odd = {
  ...table,
  name: 'a"b\\c\nd',
  rateLimiter: { ...table.rateLimiter, differenceMin: -Infinity },
};

Deno.test("each line of the metrics is a comment or a figure, and each figure has its type before it", () => {
  const lines = metricsText(figuresOf(table, odd)).split("\n");
  assertEquals(lines.pop(), "");
  const types = new Set<string>();
  for (const line of lines) {
    const type = /^# TYPE (\w+) (gauge|counter)$/.exec(line);
    if (type !== null) {
      assert(!types.has(type[1] ?? ""), `${line} comes twice`);
      types.add(type[1] ?? "");
    } else if (!line.startsWith("# HELP ")) {
      const [, name = ""] =
        /^(\w+)(?:\{(?:\w+="(?:[^"\\\n]|\\["\\n])*",?)+\})? (?:-?[\d.]+(?:e[+-]?\d+)?|[+-]Inf)$/
          .exec(
            line,
          ) ?? [];
      assert(types.has(name), line);
    }
  }
});

Deno.test("the metrics of a table are under its name, with odd letters escaped", () => {
  const text = metricsText(figuresOf(table, odd));
  assert(text.includes('exrp_table_items{table="replay"} 250\n'));
  assert(text.includes('exrp_table_items{table="a\\"b\\\\c\\nd"} 250\n'));
  assert(text.includes('exrp_table_rate_limiter_difference{table="replay"} 100\n'));
  assert(text.includes('exrp_table_rate_limiter_difference_min{table="a\\"b\\\\c\\nd"} -Inf\n'));
  assert(text.includes('exrp_calls_total{method="InsertStream",code="0"} 4\n'));
});

Deno.test("the metrics have checkpoints where the server writes some, and the last one once there is one", () => {
  const namesOf = (figures: ReturnType<typeof figuresOf>): string[] =>
    [...metricsText(figures).matchAll(/^(exrp_checkpoint\w*) (.+)$/gm)].map(([line]) => line);
  assertEquals(namesOf(figuresOf(table)), []);
  const none = { written: 0, failed: 1, last: undefined };
  const before = ["exrp_checkpoints_total 0", "exrp_checkpoint_failures_total 1"];
  assertEquals(namesOf({ ...figuresOf(table), checkpoints: none }), before);
  const last = { at: 1_700_000_000.5, bytes: 4096, seconds: 0.25 };
  assertEquals(namesOf({ ...figuresOf(table), checkpoints: { written: 7, failed: 0, last } }), [
    "exrp_checkpoints_total 7",
    "exrp_checkpoint_failures_total 0",
    "exrp_checkpoint_last_time_seconds 1700000000.5",
    "exrp_checkpoint_last_bytes 4096",
    "exrp_checkpoint_last_duration_seconds 0.25",
  ]);
});
