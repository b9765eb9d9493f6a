/** conforms() lets right rules pass and names what is broken of wrong ones, each wrong in one place. */
import { ExperienceReplay, fifo, uniform } from "@exrp/replay";
import type { PickSelector, RandomStream, Selection } from "@exrp/replay/selectors";
import { ConformanceError, conforms, evictionChecks, selectorChecks } from "@exrp/replay/testing";
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "../_assert.ts";
import { Plain, Roulette, Turns } from "./_plain_rules.ts";
import { PROPORTIONAL, SAVED, STORED, WRONG } from "./_wrong_selectors.ts";

Deno.test("conforms() lets right rules pass, with all that they promise", async () => {
  await conforms({ make: () => new Plain(), stationary: true });
  await conforms({ make: () => new Roulette(), ...PROPORTIONAL });
  await conforms({ make: () => new Turns(), deterministic: true, stationary: true });
  await conforms({ make: uniform, stationary: true }, { seed: 1000 });
  const unsavable = (): PickSelector => {
    const rule: PickSelector = new Plain();
    rule.save = undefined;
    rule.load = undefined;
    return rule;
  };
  await conforms({ make: unsavable, savable: false });
});

for (const { fault, rule, broken } of WRONG) {
  Deno.test(`conforms() names what is broken of a rule that ${fault}`, async () => {
    const error = await assertRejects(() => conforms(rule), ConformanceError);
    for (const [promise, reason] of Object.entries(broken)) {
      const found = error.broken.find((each) => each.promise === promise);
      assert(found !== undefined, `"${promise}" is not among what broke: ${error.message}`);
      assertMatch(found.reason, reason);
      assert(error.message.includes(`  ${promise} (seed ${found.seed}`));
    }
  });
}

Deno.test("conforms() tells the seed and the operation at which a promise broke", async () => {
  /** Wrong from a certain draw on. */
  class Late extends Plain {
    #draws = 0;
    override select(count: number, out: Selection, random: RandomStream): void {
      super.select(count, out, random);
      this.#draws += count;
      if (this.#draws > 1500) out.index.fill(this.count);
    }
  }
  const places: unknown[] = [];
  for (const seed of [1, 1, 40]) {
    const error = await conforms({ make: () => new Late(), name: "late" }, { seed }).catch((e) =>
      e
    );
    assertInstanceOf(error, ConformanceError);
    assertStrictEquals(error.rule, "late");
    const [first] = error.broken;
    assertStrictEquals(first?.promise, STORED);
    assertStrictEquals(first.seed, seed);
    assert((first.operation ?? 0) > 100, `operation ${first.operation}`);
    assert(error.message.startsWith("late breaks "));
    assert(
      error.message.includes(`(seed ${seed}, operation ${first.operation}): the selector plain`),
    );
    assertInstanceOf(first.cause, Error);
    assertStrictEquals(error.cause, first.cause);
    places.push(first.operation);
  }
  assertStrictEquals(places[0], places[1]);
  assert(places[0] !== places[2]);
});

Deno.test("selectorChecks() gives the same checks one by one, and one that fails stands alone", async () => {
  const rule = {
    make: () =>
      new class extends Turns {
        override save(): Uint8Array {
          return new Uint8Array(0);
        }
      }(),
    deterministic: true,
  };
  const failed: string[] = [];
  const checks = selectorChecks(rule);
  for (const { name, run } of checks) {
    await run().catch((error) => {
      assertInstanceOf(error, ConformanceError);
      assertStrictEquals(error.broken.length, 1);
      failed.push(name);
    });
  }
  assertEquals(failed, [`turns: ${SAVED}`]);
  assertStrictEquals(new Set(checks.map(({ name }) => name)).size, checks.length);
});

Deno.test("every promise can be broken: each has a wrong rule above", () => {
  const all = selectorChecks({ make: () => new Roulette(), ...PROPORTIONAL });
  const promises = [...all, ...selectorChecks({ make: () => new Turns(), deterministic: true })]
    .map(({ name }) => name.replace(/^\w+: /, ""));
  const broken = new Set(WRONG.flatMap(({ broken }) => Object.keys(broken)));
  for (const promise of promises) assert(broken.has(promise), `no rule breaks "${promise}"`);
  for (const promise of broken) assert(promises.includes(promise), promise);
});

Deno.test("a stationary rule that draws some picks only is told of someOnly, and passes with it", async () => {
  class OlderHalf extends Plain {
    override select(count: number, out: Selection, random: RandomStream): void {
      const half = Math.ceil(this.count / 2);
      for (let k = 0; k < count; k++) out.index[k] = random.below(half);
      out.probability.fill(1 / half);
    }
  }
  // The probabilities were asked of all picks even with someOnly, and no failure named it.
  const rule = { make: (): PickSelector => new OlderHalf(), stationary: true };
  const error = await conforms(rule).catch((e) => e);
  assertInstanceOf(error, ConformanceError);
  assert(error.broken.length > 1);
  for (const { reason } of error.broken) assertMatch(reason, /says so by someOnly: true/);
  await conforms({ ...rule, someOnly: true });
});

Deno.test("conforms() refuses what is no case, a misspelt promise too", () => {
  const rule = new Plain();
  const make = (): Plain => new Plain();
  const check = selectorChecks as (rule: unknown, options?: unknown) => unknown;
  const cases: [unknown, unknown, RegExp][] = [
    [undefined, {}, /conforms\(\) takes an object of options, got undefined/],
    [rule, {}, /conforms\(\) has no option "\w+"/],
    [{ make: rule }, {}, /make must be a function that makes the rule, got Plain/],
    [{ make: () => rule }, {}, /make returned the same object twice/],
    [{ make: () => 7 }, {}, /conforms\(\).*got 7/],
    [{ make: fifo }, {}, /conforms\(\): the selector fifo has no method pushed\(\)/],
    [{ make, stationery: true }, {}, /conforms\(\) has no option "stationery"/],
    [{ make, stationary: 1 }, {}, /stationary must be true or false, got 1/],
    [{ make, name: 3 }, {}, /name must be a string, got 3/],
    [{ make }, { seed: -1 }, /conforms\(\): seed must be an integer .* got -1/],
    [{ make }, { kernel: "x" }, /conforms\(\) has no option "kernel"/],
    [{ make }, { backend: "fast" }, /backend must be "auto", "native" or "wasm", got "fast"/],
    [
      { make },
      { backend: "wasm", kernelPath: "/x" },
      /kernelPath .* does not go with backend: "wasm"/,
    ],
  ];
  for (const [wrong, options, text] of cases) {
    const error = assertThrows(() => check(wrong, options), Error);
    assertMatch(error.message, text);
  }
});

Deno.test("the checks run on the kernel that is asked for", async () => {
  for (const backend of ["native", "wasm"] as const) {
    const seen = new Set<string>();
    const { create } = ExperienceReplay;
    try {
      // Every replay of the checks is made by this function.
      ExperienceReplay.create = (async (options: never) => {
        const made: ExperienceReplay = await Reflect.apply(create, ExperienceReplay, [options]);
        seen.add(made.describe().backend.split(":")[0] ?? "");
        return made;
      }) as typeof create;
      for (
        const [check] of [
          selectorChecks({ make: uniform }, { backend }),
          evictionChecks({ make: fifo }, { backend }),
        ]
      ) {
        await check?.run();
        assertEquals([...seen], [backend]);
        seen.clear();
      }
    } finally {
      ExperienceReplay.create = create;
    }
  }
});

Deno.test("conforms() says that there is no kernel, and does not call it the rule's fault", async () => {
  const error = await conforms({ make: uniform }, { kernelPath: "/nowhere/libexrp.so" }).catch((
    e,
  ) => e);
  assertStrictEquals(error.code, "kernel-missing");
});
