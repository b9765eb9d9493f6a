/** The options of the comparison with peers: what is not a whole run never goes where the documentation is made of. */
import { assert, assertEquals, assertThrows } from "../_assert.ts";
import { parseOptions, USAGE, UsageError } from "../../bench/peers/_options.ts";

Deno.test("parseOptions() sends only a whole run to bench/results", () => {
  const where = (...args: string[]) =>
    parseOptions(args).out.replaceAll("\\", "/").split("/").slice(-2).join("/");
  assertEquals(where(), "results/peers.json");
  assertEquals(where("--install"), "results/peers.json");
  assertEquals(where("--quick"), "build/peers_quick.json");
  for (const part of ["--only=cpprb,numpy", "--only=", "--groups=uniform"]) {
    assertEquals(where(part), "build/peers_part.json");
    assertEquals(where(part, "--quick"), "build/peers_part.json");
    assertEquals(where(part, "--out=some/where.json"), "some/where.json");
  }
  // There the groups replace those of the whole run.
  assertEquals(where("--groups=memory", "--save"), "results/peers.json");
});

Deno.test("parseOptions() reads names separated by commas", () => {
  assertEquals(parseOptions(["--only=cpprb, numpy"]).only, ["cpprb", "numpy"]);
  assertEquals(parseOptions(["--only="]).only, []);
  assertEquals(parseOptions(["--groups=memory,seed 001"]).groups, ["memory", "seed 001"]);
  const { only, groups, quick, install, help } = parseOptions([]);
  assertEquals([only.length, groups, quick, install, help], [8, undefined, false, false, false]);
  assert(parseOptions(["--help"]).help && USAGE.includes("peers: numpy, cpprb"));
});

Deno.test("parseOptions() says what there is in place of what it does not know", () => {
  const wrong: [string, string][] = [
    ["--onyl=cpprb", "unknown option --onyl=cpprb; there are --only, --install"],
    ["cpprb", "unknown option cpprb"],
    ["--only", "--only needs a value"],
    ["--quick=yes", "--quick takes no value"],
    ["--only=cprb", "there is no peer cprb; there are numpy, cpprb"],
    ["--groups=images,nothing", 'begins with "nothing"; there are memory, uniform;'],
    ["--groups=", "there are memory, uniform;"],
    ["--save", "--save needs --groups"],
    ["--save --groups=memory --only=cpprb", "does not go with --only"],
    ["--save --groups=memory --quick", "does not go with --only, --quick"],
    ["--save --groups=memory --out=x.json", "or --out"],
  ];
  for (const [args, message] of wrong) {
    assertThrows(
      () => parseOptions(args.split(" --").map((arg, k) => k === 0 ? arg : `--${arg}`)),
      UsageError,
      message,
    );
  }
});
