/**
 * No test fails because a machine is slow. A test waits for events (`tests/_wait.ts`), and a time-out that must not be reached is a minute
 * or more. The rules find what is against it in the text of tests and their helpers.
 */
import { assertEquals } from "../_assert.ts";
import { inRepository, listTree } from "../../tools/_repository.ts";

/** Time-outs up to here are to be reached: a test waits for their end. */
const REACHED_MAX = 500;
/** Time-outs from here on end what hangs. */
const PATIENT_MIN = 60_000;

/** Files that some rule is not for, and why. */
const exceptions: Readonly<Record<string, string>> = {
  "tests/_wait.ts": "the only deadline, of two minutes, and the only pause",
  "tests/machines/_relay.ts": "a cable, whose frames leave by the clock",
  "tests/tools/no_timed_assertions_test.ts": "has the planted examples",
};

type Find = (text: string) => readonly string[];

/** Finds what a pattern matches. */
function all(pattern: RegExp): Find {
  return (text) => [...text.matchAll(pattern)].map(([at]) => at.trim());
}

/** Finds times, the only group of a pattern, that are neither reached nor patient. */
function between(pattern: RegExp, unit = 1): Find {
  return (text) =>
    [...text.matchAll(pattern)].filter(([, digits = ""]) => {
      const ms = unit * Number(digits.replaceAll("_", ""));
      return ms > REACHED_MAX && ms < PATIENT_MIN;
    }).map(([at]) => at);
}

/** The names that a pattern finds, as a part of another pattern. */
function namesIn(text: string, pattern: RegExp): string {
  const names = new Set([...text.matchAll(pattern)].map(([, name = ""]) => name));
  return names.size === 0 ? "(?!)" : `(?:${[...names].join("|")})`;
}

const rules: Readonly<Record<string, readonly Find[]>> = {
  "an elapsed time has an upper bound": [
    (text) => {
      const name = namesIn(text, /\b(\w+) = (?:performance|Date)\.now\(\) - [a-z]/g);
      const bound = String.raw`(?<![\w.])${name} <=? |[\w)] >=? ${name}\b(?![.(])`;
      const asserted = String.raw`assertLess\w*\(\s*${name}\b|assertGreater\w*\([^,]*, ${name}\b`;
      return all(new RegExp(`${bound}|${asserted}`, "g"))(text);
    },
  ],
  "an elapsed time goes where no rule sees it: give it a name of its own, or compare it by `>`": [
    (text) => {
      const start = namesIn(text, /\b(\w+) = (?:performance|Date)\.now\(\);/g);
      const differences = [
        String
          .raw`(?<!const \w+ = |\$\{|Math\.round\()(?:performance|Date)\.now\(\) - [a-z](?!\w* >)`,
        String.raw`\b${start} - ${start}\b`,
      ];
      return all(new RegExp(differences.join("|"), "g"))(text);
    },
  ],
  "a deadline: wait by until() or inTime()": [
    all(/(?<!<=? )(?:performance|Date)\.now\(\) \+ .*/g),
    all(/_clock::now\(\) \+ std::chrono::\w*seconds.*/g),
    (text) => {
      const start = namesIn(text, /\b(\w+) = (?:performance|Date)\.now\(\);/g);
      return all(new RegExp(String.raw`\b${start} \+ [\w.]+`, "g"))(text);
    },
  ],
  "a wait for a time: wait by until(), or by pause() for what must not happen": [
    all(/new Promise(?:<\w+>)?\(\(\w+\) => (?:void )?\(?setTimeout\(.*/g),
  ],
  "a poll that gives up: wait by until()": [
    all(/for \(let (\w+) = \d+; [^;]*\b\1 <=? [\d_]+ && [^;]*;[^)]*\)[^)]*\bpause\(/g),
    all(/\b(?:tries|retry|attempt)\w* <=? [\d_]+/g),
  ],
  "a time-out that a slow machine reaches, or that a fast one waits for too long": [
    between(/(?<!keepalive)\btimeoutMs\b(?:: number)?\s*[:=]\s*([\d_]+)/g),
    between(/\b(?:\.timeout|\.receive|inTime)\(([\d_]+)\)/g),
    between(/\b(?:\w*_)?timeout_ms=([\d_]+)/g),
    between(/const \w*(?:PATIENCE|TIMEOUT|MS_MAX)\w* = ([\d_]+)/g),
    between(/setTimeout\([^;]*(?:reject|kill|Error)[^;]*, ([\d_]+)\)/g),
    between(/\b(?:join\(|timeout=|std::chrono::seconds\()(\d+)\)/g, 1000),
  ],
};

/** What is wrong with a test. */
function faultsOf(text: string): string[] {
  return Object.entries(rules).flatMap(([rule, finds]) =>
    finds.flatMap((find) => find(text)).map((at) => `${rule}: ${at}`)
  );
}

Deno.test("no test fails because a machine is slow", async () => {
  const found: string[] = [];
  for (const end of [".ts", ".py", ".cpp", ".hpp"]) {
    for (const file of await listTree("tests", end)) {
      if (file in exceptions) continue;
      const text = await Deno.readTextFile(inRepository(file));
      found.push(...faultsOf(text).map((fault) => `${file}: ${fault}`));
    }
  }
  assertEquals(found, []);
});

const start = "const start = performance.now();\nawait work();\n";
const took = `${start}const took = performance.now() - start;\n`;

for (
  const [rule, text] of [
    ["an elapsed time has", `${took}assert(took < 2000);`],
    ["an elapsed time has", `${took}assert(took >= 290 && took < 3000, \`\${took} ms\`);`],
    ["an elapsed time has", `${took}assert(steps * 20 > took);`],
    ["an elapsed time has", `${took}assertLess(took, 300);`],
    ["an elapsed time has", `${took}assertEquals(took <= 1000, true);`],
    ["an elapsed time goes", `${start}assert(performance.now() - start < 5000);`],
    ["an elapsed time goes", `${start}worst = Math.max(worst, performance.now() - start);`],
    ["an elapsed time goes", `${start}return performance.now() - start;`],
    ["an elapsed time goes", `${start}const end = performance.now();\nassert(end - start < 100);`],
    ["an elapsed time goes", `assert(Date.now() - before < 60_000);`],
    [
      "a deadline",
      "const until = performance.now() + 10_000;\nwhile (!isSo()) assert(now() < until);",
    ],
    ["a deadline", "for (const end = Date.now() + patienceMs; !isSo();) await turn();"],
    ["a deadline", `${start}while (performance.now() < start + 5000) await turn();`],
    ["a deadline", "const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(90);"],
    ["a wait", "await new Promise((resolve) => setTimeout(resolve, 200));\nassert(isDone);"],
    ["a wait", "await new Promise<void>((done) => void setTimeout(done, 5));"],
    ["a poll", "for (let k = 0; k < 200 && count > 1; k++) await pause(10);"],
    ["a poll", "for (let k = 0; k < 1_000 && isLeft(); k++) {\n  await pause(10);\n}"],
    ["a poll", "for (let tries = 0; !isSo() && tries < 20; tries++) await call();"],
    ["a time-out", "await client.sample(1, { timeoutMs: 1000 });"],
    ["a time-out", "async receive(timeoutMs = 10_000): Promise<void> {"],
    ["a time-out", "await call.receive(3000);"],
    ["a time-out", "const signal = AbortSignal.timeout(20_000);"],
    ["a time-out", "const PATIENCE_MS = 20_000;"],
    ["a time-out", "setTimeout(() => reject(new Error(`late`)), 15_000);"],
    ["a time-out", "writer.flush(timeout_ms=10_000)"],
    ["a time-out", "thread.join(10)"],
    ["a time-out", "const auto patience = std::chrono::seconds(30);"],
  ] as const
) {
  Deno.test(`it finds ${JSON.stringify(text.replace(took, "").replace(start, ""))}`, () => {
    const [fault = "", ...others] = faultsOf(text);
    assertEquals([fault.slice(0, rule.length), others], [rule, []]);
  });
}

Deno.test("it finds nothing wrong with lower bounds, patience, pauses, polls without an end, and clocks that are injected", () => {
  const harmless = [
    `${took}assert(took >= 290, \`\${took} ms\`);`,
    `${start}assert(performance.now() - start > 4900);`,
    `${start}console.log(\`\${Math.round(performance.now() - start)} ms\`);`,
    "const before = Date.now();\nassert(insertedAt >= before && insertedAt <= Date.now() + 1);",
    "const yesterday = new Date(Date.now() - 25 * 3600 * 1000);",
    'await until("it is closed", () => isClosed);\nassertEquals(count < 200, true);',
    "await pause(200);\nassertEquals(isOver, false);",
    "while (!isDone) await pause(1);",
    "for (let k = 0; k < 200 && count > 1; k++) record(k);",
    "await assertRejects(() => client.sample(1, { timeoutMs: 50 }));",
    "await replay.waitFor({ records: 1, timeoutMs: PATIENCE_MS });",
    "await replay.waitFor({ records: 1, timeoutMs: 600_000 });",
    "const limits = { keepaliveMs: 100, keepaliveTimeoutMs: 2000 };",
    "setTimeout(() => abort.abort(new Error('enough')), 50);",
    "thread.join(120)\nclient.server_info(timeout=120)\nwriter.flush(timeout_ms=120_000)",
    "const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);",
    "const poll = new BusyPoll(50, 2, () => time);\npass(51);",
  ];
  assertEquals(harmless.flatMap(faultsOf), []);
});
