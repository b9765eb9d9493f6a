/** The page of benchmarks is what its results say, and results of another form are refused. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { digits, factor, table } from "../../bench/_section.ts";
import { overview } from "../../bench/peers/_overview.ts";
import { checkPeersResults } from "../../bench/peers/_results.ts";
import { makeReport } from "../../bench/report.ts";
import { cpuName } from "../../bench/_results.ts";
import { limitSection } from "../../bench/report/sections.ts";

const sample = new URL("results/", import.meta.url);

async function readSample(): Promise<Record<string, unknown>> {
  return JSON.parse(await Deno.readTextFile(new URL("peers.json", sample)));
}

Deno.test("the report has each figure, the fastest in bold, and how many times longer the best of the others takes", async () => {
  const { markdown } = await makeReport(sample);
  const lines = markdown.split("\n");
  const at = lines.indexOf("### Uniform");
  assertEquals(lines.slice(at + 4, at + 9), [
    "| µs a call | N | exrp | exrp, into | numpy | cpprb | flashbax | the best library ÷ exrp | the best library ÷ exrp, into | numpy ÷ exrp | numpy ÷ exrp, into |",
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    "| add 1 | 2^12 | **0.10** |  | 0.90 |  |  |  |  | 9.0× |  |",
    "| sample 32 | 2^12 | 4.00 | **2.00** | 6.00 | 9.00 | 120 | 2.3× cpprb | 4.5× cpprb | 1.5× | 3.0× |",
    "| sample 32 | 2^16 | 5.00 | **2.50** |  | 12.0 | – | 2.4× cpprb | 4.8× cpprb |  |  |",
  ]);
  assert(markdown.includes("| bytes a record | 2^18 | **90.0** | 150 | 1.7× |"));
});

Deno.test("the report names what is missing, absent, or not alike", async () => {
  const { markdown } = await makeReport(sample);
  for (
    const line of [
      "- **missing: TorchRL**: could not be installed: no wheel",
      "- flashbax has no figures (–) at 2^16: a batch is too large",
      "- cpprb has no figures (–): has no sequences",
      "- flashbax: Pairs obs.",
    ]
  ) assert(markdown.split("\n").includes(line), line);
  assert(markdown.includes("not to be quoted"), "a quick run must be said to be one");
  assert(markdown.includes("Deno 2.9.6, commit 0123456789+."));
});

Deno.test("the report draws a picture for each group that has times, and shows it", async () => {
  const { markdown, images } = await makeReport(sample);
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
    assert(markdown.includes(`(images/${name})`));
  }
});

Deno.test("a file that is not there gives no section", async () => {
  const { markdown, images } = await makeReport(new URL("no_such_folder/", import.meta.url));
  assert(markdown.startsWith("# Benchmarks\n") && !markdown.includes("##"));
  assertEquals(images.size, 0);
});

Deno.test("docs/benchmarks.md is what bench/results give", async () => {
  const { markdown, images } = await makeReport(new URL("../../bench/results/", import.meta.url));
  const docs = new URL("../../docs/", import.meta.url);
  assertEquals(await Deno.readTextFile(new URL("benchmarks.md", docs)), markdown);
  for (const name of images.keys()) {
    assert((await Deno.stat(new URL(`images/${name}`, docs))).isFile);
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
  assertEquals([1.24, 9.94, 9.96, 140.2].map(factor), ["1.2×", "9.9×", "10×", "140×"]);
  assertEquals(table(["a", "b"], [["c", "1"]]), "| a | b |\n|---|---:|\n| c | 1 |");
});

Deno.test("overview() shows a call at 2^20 records, the fastest system first, and cuts a bar that would hide the others", async () => {
  const results = checkPeersResults(await readSample());
  const row = { group: "uniform", capacity: 2 ** 20, call: "sample 256" };
  const rows = [
    { ...row, system: "exrp", value: 8e-6 },
    { ...row, system: "exrp, into", value: 4e-6 },
    { ...row, system: "cpprb", value: 40e-6 },
    { ...row, system: "numpy", value: 9000e-6 },
    { ...row, capacity: 2 ** 23, system: "exrp", value: 11e-6 },
  ];
  const svg = await overview({ ...results, rows }) ?? "";
  const texts = [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
  assert(texts.includes("in a buffer of 2^20 records"), texts.join("; "));
  const systems = ["exrp, batch reused", "exrp", "cpprb", "numpy"];
  assertEquals(texts.filter((text) => systems.includes(text ?? "")), systems);
  assertEquals(texts.filter((text) => text?.endsWith("µs")), [
    ...["8.00 µs", "4.00 µs", "40.0 µs", "→ 9,000 µs"],
  ]);
  assertEquals(await overview({ ...results, rows: [] }), undefined);
});

Deno.test("results are kept by processor, and shown side by side with where each floor was seen to hold", async () => {
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
    const { markdown } = await makeReport(new URL(`file://${folder}/`), [limitSection]);
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
