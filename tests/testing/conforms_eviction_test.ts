/** conformsEviction() lets right policies pass and names what is broken of wrong ones, each wrong in one place. */
import { fifo, uniform } from "@exrp/replay";
import type { EvictionPolicy } from "@exrp/replay/eviction";
import {
  ConformanceError,
  conformsEviction,
  type EvictionCase,
  evictionChecks,
} from "@exrp/replay/testing";
import {
  assert,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "../_assert.ts";
import { LeastRecent } from "./_plain_rules.ts";

function unsavable(): EvictionPolicy {
  const policy: EvictionPolicy = new LeastRecent();
  policy.save = undefined;
  policy.load = undefined;
  return policy;
}

Deno.test("conformsEviction() lets right policies pass", async () => {
  await conformsEviction({ make: () => new LeastRecent() }, { seed: 500 });
  await conformsEviction({ make: unsavable, savable: false });
  // Where open ones are named on purpose.
  await conformsEviction({ make: () => new YoungestFirst(), namesOpen: true });
});

/** Names the youngest episode, which is mostly open. */
class YoungestFirst extends LeastRecent {
  override sampled(): void {}
  override victim(): number {
    return this.handles.at(-1) ?? -1;
  }
}

interface Wrong {
  readonly fault: string;
  readonly rule: EvictionCase;
  readonly broken: Readonly<Record<string, RegExp>>;
}

const CAPACITY = "nothing is evicted below the capacity, and the replay never exceeds it";
const SOUND = "the replay stays sound after any records, draws and evictions";
const REMOVED = "episodes may be removed in any order, even the last one";
const OPEN = "a single open episode can grow without end";
const ALIKE = "the same operations evict the same episodes";
const SAVED = "after saving and loading, it evicts the same episodes";
const ENDED = "it names episodes that have ended";
const NOT_THERE =
  /^the replay is full, and the eviction policy leastRecent named episode .* as the victim, which is not in the replay$/;

const WRONG: readonly Wrong[] = [
  {
    fault: "forgets that an episode was removed",
    rule: {
      make: () =>
        new class extends LeastRecent {
          override sampled(): void {}
          override removed(): void {}
        }(),
    },
    broken: { [CAPACITY]: NOT_THERE, [SOUND]: NOT_THERE, [REMOVED]: NOT_THERE },
  },
  {
    fault: "always names the first",
    rule: {
      make: () =>
        new class extends LeastRecent {
          override victim(): number {
            return 0;
          }
        }(),
    },
    broken: { [SOUND]: NOT_THERE },
  },
  {
    fault: "names only what was drawn",
    rule: {
      make: () =>
        new class extends LeastRecent {
          readonly #drawn = new Set<number>();
          override sampled(handles: Float64Array): void {
            for (const handle of handles) this.#drawn.add(handle);
          }
          override victim(): number {
            return this.handles.find((handle) =>
              this.over.has(handle) && this.#drawn.has(handle)
            ) ??
              -1;
          }
        }(),
    },
    broken: { [CAPACITY]: NOT_THERE, [OPEN]: NOT_THERE },
  },
  {
    fault: "takes one that was drawn for a new one",
    rule: {
      make: () =>
        new class extends LeastRecent {
          override sampled(handles: Float64Array): void {
            this.handles.push(...handles);
          }
          override victim(): number {
            return this.handles[0] ?? -1;
          }
        }(),
    },
    broken: { [SOUND]: NOT_THERE },
  },
  {
    fault: "names open episodes",
    rule: { make: () => new YoungestFirst() },
    broken: {
      [ENDED]:
        /^victim\(\) named episode \d+, which is open\. Only ended episodes are evicted, so open ones lost records instead\. .* say namesOpen: true$/,
    },
  },
  {
    fault: "decides by chance",
    rule: {
      make: () =>
        new class extends LeastRecent {
          override victim(): number {
            return this.handles[Math.floor(Math.random() * this.handles.length)] ?? -1;
          }
        }(),
    },
    broken: {
      [ALIKE]: /^the episodes evicted by the same operations must be \[.*\], are \[/,
      [SAVED]: /after loading/,
    },
  },
  {
    fault: "changes the handles that it is shown",
    rule: {
      make: () =>
        new class extends LeastRecent {
          override sampled(handles: Float64Array): void {
            super.sampled(handles);
            handles.fill(-1);
          }
        }(),
    },
    broken: { [SOUND]: /^a batch says that a pick is of episode -1, which is not there$/ },
  },
  {
    fault: "saves nothing of what it knows",
    rule: {
      make: () =>
        new class extends LeastRecent {
          override load(): void {}
        }(),
    },
    broken: { [SAVED]: /^(the episodes|a batch) after loading/ },
  },
  {
    fault: "can't be saved",
    rule: { make: unsavable },
    broken: { [SAVED]: /^the eviction policy leastRecent has no save\(\) and load\(\)$/ },
  },
  {
    fault: "throws when it is asked",
    rule: {
      make: () =>
        new class extends LeastRecent {
          override victim(): number {
            throw new Error("can't decide");
          }
        }(),
    },
    broken: { [CAPACITY]: /^can't decide$/, [OPEN]: /^can't decide$/ },
  },
];

for (const { fault, rule, broken } of WRONG) {
  Deno.test(`conformsEviction() names what is broken of a policy that ${fault}`, async () => {
    const error = await assertRejects(() => conformsEviction(rule), ConformanceError);
    for (const [promise, reason] of Object.entries(broken)) {
      const found = error.broken.find((each) => each.promise === promise);
      assert(found !== undefined, `"${promise}" is not among what broke: ${error.message}`);
      assertMatch(found.reason, reason);
      assert(error.message.includes(`  ${promise} (seed ${found.seed}`));
    }
  });
}

Deno.test("every promise of an eviction policy can be broken: each has a wrong one above", () => {
  const broken = new Set(WRONG.flatMap(({ broken }) => Object.keys(broken)));
  const checks = evictionChecks({ make: () => new LeastRecent() });
  for (const { name } of checks) {
    assert(broken.has(name.replace("leastRecent: ", "")), `no policy breaks "${name}"`);
  }
  assertStrictEquals(broken.size, checks.length);
  // The library's own policies run in the kernel, which never asks them about open ones.
  assertStrictEquals(evictionChecks({ make: fifo }).length, checks.length - 1);
});

Deno.test("conformsEviction() refuses what is no case", () => {
  const policy = new LeastRecent();
  const check = evictionChecks as (rule: unknown, options?: unknown) => unknown;
  const cases: [unknown, unknown, RegExp][] = [
    [policy, {}, /conformsEviction\(\) has no option "\w+"/],
    [{ make: policy }, {}, /make must be a function that makes the rule, got LeastRecent/],
    [{ make: () => policy }, {}, /make returned the same object twice/],
    [{ make: uniform }, {}, /what make\(\) gives must be fifo\(\).* got NativeSelector/],
    [{ make: fifo, saveable: false }, {}, /has no option "saveable"/],
    [{ make: fifo, savable: 0 }, {}, /savable must be true or false, got 0/],
    [{ make: fifo }, { seed: 0.5 }, /seed must be an integer .* got 0.5/],
  ];
  for (const [wrong, options, text] of cases) {
    assertMatch(assertThrows(() => check(wrong, options), Error).message, text);
  }
});
