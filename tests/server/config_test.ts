/** The configuration file: what it means, and the words for each field that is wrong. */
import { assert, assertEquals, assertThrows } from "../_assert.ts";
import { readConfig } from "../../server/config.ts";
import { tableFigures } from "../../server/table_figures.ts";
import { Tables } from "../../tables/tables.ts";

/** A file with one table of these fields. */
function withTable(table: object, more: object = {}): string {
  return JSON.stringify({ tables: { replay: table }, ...more });
}

Deno.test("a file may begin with a mark of UTF-8", () => {
  assertEquals(Object.keys(readConfig(`\uFEFF${withTable({ maxSize: 3 })}`).tables), ["replay"]);
});

Deno.test("names that look like fields, and fields of the same name in different objects, are no faults", () => {
  const name = 'a": {"b": 1}, "\\';
  const spec = { dtype: "int8", shape: [] };
  const signature = { a: spec, b: [spec, { a: spec, b: spec }, { a: spec }], ":": spec };
  const text = JSON.stringify({ tables: { [name]: { queue: 1, signature }, b: { queue: 1 } } });
  assertEquals(Object.keys(readConfig(text).tables), [name, "b"]);
});

Deno.test("a file with everything is read, and its tables are as it says", async () => {
  const config = readConfig(JSON.stringify({
    hostname: "::1",
    port: 8000,
    seed: 7,
    limits: {
      connections: 10,
      calls: 20,
      messageBytes: 5000,
      bytesInFlight: 3 << 20,
      keepaliveMs: 100,
      idleMs: 1e6,
    },
    busyPollMs: 0,
    tables: {
      replay: {
        sampler: { prioritized: { alpha: 0.6 } },
        remover: "minHeap",
        maxSize: 100,
        maxBytes: 1e6,
        maxTimesSampled: 4,
        rateLimiter: { sampleToInsertRatio: { samplesPerInsert: 8, minSize: 10, error: 32 } },
        signature: [{ dtype: "int8", shape: [] }],
      },
      plain: { maxSize: 5 },
      same: {
        maxSize: 10,
        rateLimiter: { samplesPerInsert: { ratio: 8, minSize: 10, error: [48, 112] } },
      },
      jobs: { queue: 3 },
      undo: { stack: 4 },
    },
  }));
  assertEquals([config.hostname, config.port, config.seed], ["::1", 8000, 7]);
  assertEquals([config.limits.bytesInFlight, config.limits.keepaliveMs], [3 << 20, 100]);
  assertEquals(config.busyPollMs, 0);
  using tables = await Tables.create({ tables: config.tables });
  const figures = tables.names.map((name) => tableFigures(tables, name));
  assertEquals(
    figures.map(({ name, maxSize, maxBytes, maxTimesSampled }) => [
      ...[name, maxSize, maxBytes, maxTimesSampled],
    ]),
    [["replay", 100, 1e6, 4], ["plain", 5, 0, 0], ["same", 10, 0, 0], ["jobs", 3, 0, 1], [
      "undo",
      4,
      0,
      1,
    ]],
  );
  const [replay, plain, same, jobs, undo] = figures;
  assertEquals(same?.rateLimiter, replay?.rateLimiter);
  assert(replay?.sampler.startsWith("prioritized({ alpha: 0.6"));
  assert(replay?.remover.startsWith("lowestPriority("));
  assertEquals(replay?.rateLimiter, {
    ratio: 8,
    minSize: 10,
    differenceMin: 48,
    differenceMax: 112,
  });
  assertEquals([plain?.sampler, plain?.remover], ["uniform()", "oldest()"]);
  assertEquals([jobs?.sampler, undo?.sampler, undo?.remover], ["oldest()", "newest()", "newest()"]);
  assertEquals([jobs?.rateLimiter.differenceMax, undo?.rateLimiter.differenceMax], [3, 4]);
});

for (
  const [what, text, words] of [
    ["no JSON", "{", "the configuration is not valid JSON: "],
    ["an array", "[]", "the configuration must be an object, got Array(0)"],
    ["no tables", "{}", "tables must be an object, got undefined"],
    [
      "an empty object of tables",
      '{"tables":{}}',
      "the number of tables must be an integer from 1 to 64, got 0",
    ],
    [
      "an unknown field",
      withTable({ maxSize: 1 }, { prot: 1 }),
      'no option "prot"; did you mean port?',
    ],
    [
      "a port out of range",
      withTable({ maxSize: 1 }, { port: 70_000 }),
      "port must be an integer from 0 to 65535, got 70000",
    ],
    [
      "a busy poll that is too long",
      withTable({ maxSize: 1 }, { busyPollMs: 1001 }),
      "busyPollMs must be an integer from 0 to 1000, got 1001",
    ],
    [
      "a hostname that is none",
      withTable({ maxSize: 1 }, { hostname: 7 }),
      "hostname must be an address",
    ],
    ["a negative seed", withTable({ maxSize: 1 }, { seed: -1 }), "seed must be an integer"],
    [
      "an unknown limit",
      withTable({ maxSize: 1 }, { limits: { conections: 1 } }),
      'limits has no option "conections"; did you mean connections?',
    ],
    [
      "a limit of 0",
      withTable({ maxSize: 1 }, { limits: { calls: 0 } }),
      "limits.calls must be an integer",
    ],
    ["a table that is no object", withTable([]), "tables.replay must be an object, got Array(0)"],
    ["no size", withTable({}), "tables.replay: maxSize must be an integer"],
    [
      "an unknown field of a table",
      withTable({ maxSize: 1, sampeler: "uniform" }),
      'tables.replay has no option "sampeler"; did you mean sampler?',
    ],
    [
      "an unknown selector",
      withTable({ maxSize: 1, sampler: "unifrom" }),
      'got "unifrom"; did you mean uniform?',
    ],
    [
      "Reverb's Prioritized by its class",
      withTable({ maxSize: 1, sampler: "Prioritized" }),
      'got "Prioritized"; Reverb\'s Prioritized is { "power": { "exponent": 0.6 } }',
    ],
    [
      "Reverb's Prioritized with options",
      withTable({ maxSize: 1, remover: { Prioritized: { priority_exponent: 1 } } }),
      'got "Prioritized"; Reverb\'s Prioritized is { "power": { "exponent": 0.6 } }',
    ],
    ...([
      ["Uniform", "uniform"],
      ["Fifo", "fifo"],
      ["Lifo", "lifo"],
      ["MinHeap", "minHeap"],
      ["MaxHeap", "maxHeap"],
    ] as const).map(([theirs, ours]) =>
      [
        `Reverb's ${theirs} by its class`,
        withTable({ maxSize: 1, sampler: theirs }),
        `got "${theirs}"; did you mean ${ours}?`,
      ] as const
    ),
    [
      "two selectors",
      withTable({ maxSize: 1, sampler: { uniform: {}, fifo: {} } }),
      "tables.replay.sampler must be a name, or an object with one name and its options",
    ],
    [
      "a wrong option of a selector",
      withTable({ maxSize: 1, sampler: { prioritized: { alpha: -1 } } }),
      "tables.replay.sampler.prioritized: alpha must be",
    ],
    [
      "an unknown option of a selector by Reverb's name",
      withTable({ maxSize: 1, remover: { fifo: { size: 1 } } }),
      'tables.replay.remover.fifo has no option "size"',
    ],
    [
      "a selector with a number",
      withTable({ maxSize: 1, remover: { lifo: 3 } }),
      "tables.replay.remover.lifo must be an object, got 3",
    ],
    [
      "an unknown rate limiter",
      withTable({ maxSize: 1, rateLimiter: "minsize" }),
      'tables.replay.rateLimiter must be one of minSize, samplesPerInsert, sampleToInsertRatio, queue, stack, got "minsize"; did you mean minSize?',
    ],
    [
      "a narrow rate limiter",
      withTable({
        maxSize: 99,
        rateLimiter: { sampleToInsertRatio: { samplesPerInsert: 8, minSize: 1, error: 1 } },
      }),
      "tables.replay.rateLimiter.sampleToInsertRatio: error must be at least 8, or writers and learners could wait for each other for ever, got 1",
    ],
    [
      "a narrow rate limiter in our words",
      withTable({
        maxSize: 99,
        rateLimiter: { samplesPerInsert: { ratio: 8, minSize: 1, error: 1 } },
      }),
      "tables.replay.rateLimiter.samplesPerInsert: error must be at least 8, or writers and learners could wait",
    ],
    [
      "a ratio of 0 in Reverb's words",
      JSON.stringify({
        tables: {
          ratio: {
            maxSize: 9,
            rateLimiter: { sampleToInsertRatio: { samplesPerInsert: 0, minSize: 1, error: 1 } },
          },
        },
      }),
      "tables.ratio.rateLimiter.sampleToInsertRatio: samplesPerInsert must be above 0, got 0",
    ],
    [
      "a least size of 0",
      withTable({ maxSize: 9, rateLimiter: { minSize: 0 } }),
      "tables.replay.rateLimiter.minSize: size must be an integer",
    ],
    [
      "a stack in a rate limiter that is none",
      withTable({ maxSize: 9, rateLimiter: { stack: 0 } }),
      "tables.replay.rateLimiter.stack: size must be an integer",
    ],
    [
      "a rate limiter that could deadlock",
      withTable({
        maxSize: 9,
        rateLimiter: { samplesPerInsert: { ratio: 1, minSize: 1, error: [0, 0.5] } },
      }),
      'tables.replay: rateLimiter: samplesPerInsert({ ratio: 1, minSize: 1, error: "[0, 0.5]" }) could deadlock',
    ],
    [
      "a rate limiter with a text for an end",
      withTable({
        maxSize: 9,
        rateLimiter: { samplesPerInsert: { ratio: 1, minSize: 1, error: ["0", 5] } },
      }),
      "tables.replay.rateLimiter.samplesPerInsert: error[0] must be a number",
    ],
    [
      "a rate limiter that is larger than its table",
      withTable({ maxSize: 9, rateLimiter: { minSize: 10 } }),
      "tables.replay: rateLimiter waits for 10 items, but the table holds at most 9 (maxSize)",
    ],
    [
      "more samples of an item than a table counts",
      withTable({ maxSize: 9, maxTimesSampled: 2 ** 31 }),
      "tables.replay: maxTimesSampled must be an integer from 1 to 2147483647, got 2147483648",
    ],
    [
      "a queue with a sampler",
      withTable({ queue: 5, sampler: "uniform" }),
      'tables.replay has no option "sampler"',
    ],
    [
      "a table without a name",
      JSON.stringify({ tables: { "": { maxSize: 1 } } }),
      "a name of tables must have 1 to 65536 bytes in UTF-8, got 0",
    ],
    [
      "a name that is too long",
      JSON.stringify({ tables: { ["é".repeat(40_000)]: { maxSize: 1 } } }),
      "a name of tables must have 1 to 65536 bytes in UTF-8, got 80000",
    ],
    [
      "a name that is no text",
      '{ "tables": { "\\ud800": { "maxSize": 1 } } }',
      'a name of tables must be well-formed text, got "\\ud800"',
    ],
    [
      "too many tables",
      JSON.stringify({ tables: Object.fromEntries(Array.from({ length: 65 }, (_, k) => [k, {}])) }),
      "the number of tables must be an integer from 1 to 64, got 65",
    ],
    [
      "a part of a byte",
      withTable({ maxSize: 1, maxBytes: 1.5 }),
      "tables.replay: maxBytes must be an integer of at least 1, got 1.5",
    ],
    [
      "two tables of one name",
      '{ "tables": { "a": { "maxSize": 1 }, "b": { "maxSize": 2 }, "\\u0061" : { "maxSize": 3 } } }',
      "the configuration has tables.a twice; give each field once",
    ],
    [
      "a field of a table twice",
      '{ "tables": { "a": { "maxSize": 1, "signature": [{ "dtype": "int8", "shape": [] }], "maxSize": 2 } } }',
      "the configuration has tables.a.maxSize twice; give each field once",
    ],
    [
      "limits twice",
      '{ "limits": {}, "tables": { "a": { "maxSize": 1 } }, "limits": { "calls": 1 } }',
      "the configuration has limits twice; give each field once",
    ],
    [
      "a list of limits",
      withTable({ maxSize: 1 }, { limits: [] }),
      "limits must be an object, got Array(0)",
    ],
    [
      "a queue of no item",
      withTable({ queue: 0 }),
      "tables.replay.queue must be an integer from 1 to 268435456, got 0",
    ],
    [
      "a stack of a text",
      withTable({ stack: "9" }),
      'tables.replay.stack must be an integer, got "9"',
    ],
    [
      "a wrong signature",
      withTable({ maxSize: 1, signature: { a: { dtype: "x", shape: [] } } }),
      "tables.replay: signature.a.dtype must be one of",
    ],
  ] as const
) {
  Deno.test(`a file with ${what} is refused, and the words say where`, () => {
    assertThrows(() => readConfig(text), Error, words);
  });
}

Deno.test("a band may be open or narrow, as far as it never deadlocks", () => {
  for (
    const [ratio, minSize, error, expected] of [
      [1, 5, [null, 7], [-Infinity, 7]],
      [1, 5, [-3, null], [-3, Infinity]],
      [1, 5, [null, null], [-Infinity, Infinity]],
      [1, 5, [-1e308, 7], [-1e308, 7]],
      [1, 5, [-3, Number.MAX_VALUE], [-3, Number.MAX_VALUE]],
      [1, 5, 1e308, [-1e308, 1e308]],
      [1, 1, [0, 1], [0, 1]],
      [1, 1, [0, 1.9], [0, 1.9]],
      [2, 4, [9, 14], [9, 14]],
    ] as const
  ) {
    const rateLimiter = { sampleToInsertRatio: { samplesPerInsert: ratio, minSize, error } };
    const { rateLimiter: read } =
      readConfig(withTable({ maxSize: 9, rateLimiter })).tables["replay"] ?? {};
    assertEquals([read?.numbers.differenceMin, read?.numbers.differenceMax], [...expected]);
  }
});
