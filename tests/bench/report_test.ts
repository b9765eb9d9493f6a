/** The pages of benchmarks are what their results say, and results of another form are refused. */
import { assert, assertEquals, assertThrows } from "../_assert.ts";
import { digits, factor, table } from "../../bench/_section.ts";
import { OVERVIEW, overview } from "../../bench/peers/_overview.ts";
import { checkPeersResults } from "../../bench/peers/_results.ts";
import { makeReport } from "../../bench/report.ts";
import { cpuName } from "../../bench/_results.ts";
import { limitSection } from "../../bench/report/sections.ts";
import { reverbResults } from "./_reverb_results.ts";

const sample = new URL("results/", import.meta.url);

const SERVERS = reverbResults([
  { name: "client.writer, 1 process", unit: "items/s", isCost: false, reverb: 200, ours: 240 },
  { name: "mutate_priorities, 1 key", unit: "calls/s", isCost: false, reverb: 100, ours: 90 },
  { name: "another call", unit: "calls/s", isCost: false, reverb: 100, ours: 77 },
]);

async function readSample(): Promise<Record<string, unknown>> {
  return JSON.parse(await Deno.readTextFile(new URL("peers.json", sample)));
}

Deno.test("the report has each figure, the fastest in bold, and how many times longer the best of the others takes", async () => {
  const { raw } = await makeReport(sample);
  const lines = raw.split("\n");
  const at = lines.indexOf("### Uniform");
  assertEquals(lines.slice(at + 4, at + 9), [
    "| µs a call | N | exrp | exrp, into | numpy | cpprb | flashbax | the best library ÷ exrp | the best library ÷ exrp, into | numpy ÷ exrp | numpy ÷ exrp, into |",
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    "| add 1 | 2^12 | **0.10** |  | 0.90 |  |  |  |  | 9.0× |  |",
    "| sample 32 | 2^12 | 4.00 | **2.00** | 6.00 | 9.00 | 120 | 2.3× cpprb | 4.5× cpprb | 1.5× | 3.0× |",
    "| sample 32 | 2^16 | 5.00 | **2.50** |  | 12.0 | – | 2.4× cpprb | 4.8× cpprb |  |  |",
  ]);
  assert(raw.includes("| bytes a record | 2^18 | **90.0** | 150 | 1.7× |"));
});

Deno.test("the report names what is missing, absent, or not alike", async () => {
  const { raw, short } = await makeReport(sample);
  for (
    const line of [
      "- **missing: TorchRL**: could not be installed: no wheel",
      "- flashbax has no figures (–) at 2^16: a batch is too large",
      "- cpprb has no figures (–): has no sequences",
      "- flashbax: Pairs obs.",
    ]
  ) assert(raw.split("\n").includes(line), line);
  assert(raw.includes("not to be quoted"), "a quick run must be said to be one");
  assert(short.includes("Do not quote them"), "on both pages");
  for (const page of [raw, short]) assert(page.includes("Deno 2.9.6, commit 0123456789+."));
});

Deno.test("the report draws a picture for each group that has times, and shows it", async () => {
  const { short, raw, images } = await makeReport(sample);
  assertEquals([...images.keys()], [
    "bench_peers_overview.svg",
    "bench_peers_uniform.svg",
    "bench_peers_sequences.svg",
    "bench_peers_seed_003_uniform.svg",
  ]);
  // The sample has figures of cpprb for none of the calls that these two show.
  const withoutCpprb = ["bench_peers_overview.svg", "bench_peers_sequences.svg"];
  for (const [name, svg] of images) {
    assert(svg.startsWith("<svg") && svg.includes("cpprb") === !withoutCpprb.includes(name), name);
    assert(
      name === OVERVIEW ? short.includes(`(images/${name})`) : raw.includes(`(../images/${name})`),
    );
  }
});

Deno.test("a file that is not there gives no section", async () => {
  const { short, raw, images } = await makeReport(new URL("no_such_folder/", import.meta.url));
  assert(raw.startsWith("# All figures of the benchmarks\n") && !raw.includes("##"));
  assertEquals(short.match(/^#+ .*$/gm), ["# Benchmarks", "## How to repeat this"]);
  assertEquals(images.size, 0);
});

Deno.test("the pages and their pictures are what bench/results give", async () => {
  const { short, raw, images } = await makeReport(new URL("../../bench/results/", import.meta.url));
  const read = (path: string) => Deno.readTextFile(new URL(`../../docs/${path}`, import.meta.url));
  assertEquals(await read("benchmarks.md"), short);
  assertEquals(await read("internals/benchmarks_raw.md"), raw);
  for (const [name, svg] of images) assert(await read(`images/${name}`) === svg, name);
  const drawn: string[] = [];
  for await (const { name } of Deno.readDir(new URL("../../docs/images/", import.meta.url))) {
    if (name.startsWith("bench_")) drawn.push(name);
  }
  assertEquals(drawn.toSorted(), [...images.keys()].toSorted());
});

Deno.test("the short page links to every section of the page with all figures", async () => {
  const { short, raw } = await makeReport(new URL("../../bench/results/", import.meta.url));
  const headings = [...raw.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading ?? "");
  assertEquals(headings.length, 6);
  for (const heading of headings) {
    assert(short.includes(`- [${heading}](internals/benchmarks_raw.md#`));
  }
});

Deno.test("checkPeersResults() says what is wrong with results of another form", async () => {
  const right = await readSample();
  assertEquals(checkPeersResults(right).rows.length, 17);
  const row = { group: "uniform", capacity: 4096, call: "add 1", system: "exrp" };
  const wrong: [Record<string, unknown>, string][] = [
    [{ ...right, version: 2 }, "version 1"],
    [{ ...right, cpu: 3 }, "peers.json.cpu must be a string, got 3"],
    [{ ...right, more: 1 }, "unknown member more"],
    [{ ...right, rows: [row] }, "rows[0] must have a value, or say why there is none"],
    [{ ...right, rows: [{ ...row, value: 1, why: "x" }] }, "rows[0] must have a value"],
    [{ ...right, rows: [{ ...row, value: 0 }] }, "rows[0].value must be positive"],
    [{ ...right, rows: [{ ...row, value: 1, system: "x" }] }, "unknown system x"],
    [{ ...right, missing: {} }, "missing must be an array"],
  ];
  for (const [value, message] of wrong) {
    assertThrows(() => checkPeersResults(value), TypeError, message);
  }
});

Deno.test("digits() and factor() write three and two digits that count, table() aligns numbers to the right", () => {
  assertEquals([0.0812, 4.004, 9.996, 31.25, 99.96, 348.2, 1234, 99999].map(digits), [
    ...["0.08", "4.00", "10.0", "31.3", "100", "348", "1,230", "100,000"],
  ]);
  assertEquals([1.24, 9.94, 9.96, 140.2, 1043].map(factor), [
    "1.2×",
    "9.9×",
    "10×",
    "140×",
    "1,043×",
  ]);
  assertEquals(table(["a", "b"], [["c", "1"]]), "| a | b |\n|---|---:|\n| c | 1 |");
});

/** The texts of a picture. */
function textsOf(svg: string): string[] {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text ?? "");
}

Deno.test("overview() shows a call at 2^20 steps, the fastest system first, and cuts a bar that would hide the others", async () => {
  const results = checkPeersResults(await readSample());
  const row = { group: "uniform", capacity: 2 ** 20, call: "sample 256" };
  const rows = [
    { ...row, system: "exrp", value: 8e-6 },
    { ...row, system: "exrp, into", value: 4e-6 },
    { ...row, system: "cpprb", value: 40e-6 },
    { ...row, system: "numpy", value: 9000e-6 },
    { ...row, capacity: 2 ** 23, system: "exrp", value: 11e-6 },
  ];
  const texts = textsOf(overview({ ...results, rows }) ?? "");
  const at = texts.indexOf("Sample 256 uniformly");
  assertEquals(texts.slice(at + 1, at + 10), [
    "µs, 2²⁰ steps",
    ...["exrp reused", "4.00", "exrp", "8.00", "cpprb", "40.0", "numpy", "→ 9,000"],
  ]);
  assertEquals(overview({ ...results, rows: [] }), undefined);
});

Deno.test("overview() says what is unlike in a system's figure, and when memory and the server were measured", async () => {
  const results = checkPeersResults(await readSample());
  const memory = { group: "memory, prioritized", capacity: 2 ** 20, call: "bytes a record" };
  const ours = { ...memory, system: "exrp", value: 95 };
  const theirs = { ...memory, system: "Reverb", value: 4500 };
  const notes = [{ group: memory.group, system: "Reverb", text: "Held 2^16 records only." }];
  const part = { ...results, groups: [memory.group], measured: ["exrp"], date: "2026-11-23" };
  const shown = textsOf(
    overview({ ...results, notes, rows: [ours, theirs], parts: [part] }, SERVERS) ?? "",
  );
  for (const text of ["Reverb: 2¹⁶ steps", "write steps", "1.20×", "update 1 priority", "0.90×"]) {
    assert(shown.includes(text), `${text} is not in ${shown}`);
  }
  assertEquals(shown.at(-1), "memory: 2026-11-23; server: 2026-11-22");
  const alone = textsOf(overview({ ...results, notes, rows: [ours] }) ?? "");
  assert(!alone.some((text) => text.includes("Reverb") || text.includes("memory:")), `${alone}`);
});

Deno.test("results are kept by processor, and shown side by side with where each target was met", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const figures = (ours: number, floor: number) => ({
      bench: "limit",
      date: "2026-01-02T03:04Z",
      commit: "",
      versions: {},
      limitCpu: "x86_64_v3",
      workloads: [{
        name: "uniform",
        ours: { min: ours, median: ours },
        limit: { min: 1000, median: 1000 },
        lookUps: { min: 1250, median: 1250 },
        busyShare: 0.5,
        variant: 0,
        ratio: ours / 1000,
        floor,
      }],
    });
    const machine = { os: "linux x64", cores: 2, memoryGiB: 4 };
    const write = (cpu: string, ours: number, floor: number) =>
      Deno.writeTextFile(
        `${folder}/limit.${cpuName(cpu)}.json`,
        JSON.stringify({ ...figures(ours, floor), machine: { ...machine, cpu } }),
      );
    await write("Intel(R) Xeon(R) Processor", 2000, 1.6);
    await write("AMD EPYC", 1500, 1.6);
    const { raw: markdown } = await makeReport(new URL(`file://${folder}/`), [limitSection]);
    const lines = markdown.split("\n");
    assert(
      lines.includes("| uniform | 1.50 (1.6) | 1.20 | 2.00 (1.6) | 1.60 | AMD EPYC |"),
      markdown,
    );
    assert(lines.includes("### AMD EPYC") && lines.includes("### Intel Xeon Processor"), markdown);
    assert(markdown.includes("busy in at most 50 % of a workload's turns"), markdown);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
