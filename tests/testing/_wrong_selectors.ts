/**
 * Selectors that are wrong in one place each, and what conforms() must say of them.
 *
 * @module
 */

import { prioritized } from "@exrp/replay";
import type { PickSelector, RandomStream, Selection } from "@exrp/replay/selectors";
import type { SelectorCase } from "@exrp/replay/testing";
import { Plain, Roulette, Turns } from "./_plain_rules.ts";

/** The promises of Roulette. */
export const PROPORTIONAL = { stationary: true, zeroIsNever: true, followsPriority: true } as const;

/** A wrong rule, and what must be said of it. */
export interface Wrong {
  /** The fault. */
  readonly fault: string;
  readonly rule: SelectorCase;
  /** Promises that must be named as broken, each with what is said. */
  readonly broken: Readonly<Record<string, RegExp>>;
}

/** The first promise of all. */
export const STORED = "only stored picks are drawn, after any records and evictions";
const REACH = "every stored pick can be drawn, and no evicted one";
const SEED = "the same seed and operations give the same draws";
const OTHER_SEED = "another seed gives other draws";
/** The promise that needs save() and load(). */
export const SAVED = "after saving and loading, draws go on the same";
const SUM = "the probabilities of all picks sum to 1, and draws follow them";
const ORDER = "picks keep the order of their probabilities when others are evicted";
const ZERO = "a pick of priority 0 is never drawn, unless all priorities are 0";
const LARGER = "a pick of larger priority is drawn more, and the last of two priorities counts";
const LARGEST = "a new pick has the largest priority set so far";

/** All of them. */
export const WRONG: readonly Wrong[] = [
  {
    fault: "forgets a pop",
    rule: {
      make: () =>
        new class extends Plain {
          override popped(): void {}
        }(),
    },
    broken: {
      [STORED]: /^the selector plain drew \d+ as pick \d+ of \d+; there are picks 0 to \d+$/,
    },
  },
  {
    fault: "draws one beyond the last",
    rule: {
      make: () =>
        new class extends Plain {
          override select(count: number, out: Selection, random: RandomStream): void {
            super.select(count, out, random);
            for (let k = 0; k < count; k++) out.index[k] = random.below(this.count + 1);
          }
        }(),
    },
    broken: {
      [STORED]: /^the selector plain drew (\d+) as pick/,
      [REACH]: /there are picks 0 to 20/,
    },
  },
  {
    fault: "fills a part of the batch",
    rule: {
      make: () =>
        new class extends Plain {
          override select(count: number, out: Selection): void {
            out.index.fill(0, 0, count - 1);
            out.probability.fill(1);
          }
        }(),
    },
    broken: { [STORED]: /^the selector plain drew nothing as pick/ },
  },
  {
    fault: "gives no probabilities",
    rule: {
      make: () =>
        new class extends Plain {
          override select(count: number, out: Selection, random: RandomStream): void {
            for (let k = 0; k < count; k++) out.index[k] = random.below(this.count);
          }
        }(),
    },
    broken: { [STORED]: /^the selector plain gave probability NaN for pick 0/ },
  },
  {
    fault: "throws when it is told of a change",
    rule: {
      make: () =>
        new class extends Plain {
          override moved(): void {
            throw new Error("not ready");
          }
        }(),
    },
    broken: {
      [STORED]: /^the selector plain threw in pushed\(\), moved\(\) or popped\(\).*not ready/,
    },
  },
  {
    fault: "never draws the last pick",
    rule: {
      make: () =>
        new class extends Plain {
          override select(count: number, out: Selection, random: RandomStream): void {
            super.select(count, out, random);
            for (let k = 0; k < count; k++) {
              out.index[k] = random.below(Math.max(1, this.count - 1));
            }
          }
        }(),
    },
    broken: { [REACH]: /^the pick of state 20 was never drawn; .* someOnly: true$/ },
  },
  {
    fault: "leaves out picks that were there before",
    rule: {
      make: () =>
        new class extends Plain {
          #told = 0;
          #early = 0;
          override pushed(index: number): void {
            super.pushed(index);
            if (this.#told++ < 6) this.#early++;
          }
          override popped(index: number): void {
            super.popped(index);
            this.#early = Math.min(this.#early, this.count);
          }
          override select(count: number, out: Selection, random: RandomStream): void {
            super.select(count, out, random);
            if (this.count === this.#early) out.index.fill(0);
          }
        }(),
    },
    broken: {
      "picks older than the selector are drawn too":
        /^the pick of state 1 was never drawn; .* someOnly: true$/,
    },
  },
  {
    fault: "does not get over an empty view",
    rule: {
      make: () =>
        new class extends Plain {
          #wasEmpty = false;
          override popped(index: number): void {
            super.popped(index);
            this.#wasEmpty ||= this.count === 0;
          }
          override select(count: number, out: Selection, random: RandomStream): void {
            super.select(count, out, random);
            if (this.#wasEmpty) out.index.fill(0);
          }
        }(),
    },
    broken: {
      "a draw from an empty pick view is an error, and a refilled view works again":
        /^the pick of state 51 was never drawn; .* someOnly: true$/,
    },
  },
  {
    fault: "throws when priorities are set",
    rule: {
      make: () =>
        new class extends Plain {
          override setPriority(): void {
            throw new Error("not now");
          }
        }(),
    },
    broken: {
      "setPriority counts the picks it applied to, and skips evicted picks": /^not now$/,
      [STORED]: /^not now$/,
    },
  },
  {
    fault: "draws random numbers of its own",
    rule: {
      make: () =>
        new class extends Plain {
          override select(count: number, out: Selection, random: RandomStream): void {
            super.select(count, out, random);
            for (let k = 0; k < count; k++) out.index[k] = Math.floor(Math.random() * this.count);
          }
        }(),
      stationary: true,
    },
    broken: {
      [SEED]: /^the states drawn by the same operations must be \[.*\], are \[/,
      "an invalid priority changes nothing":
        /^a batch after refused priorities: pick \d+ is record \d+ of episode 0 .*, must be record/,
      [SAVED]: /^a batch after loading: pick \d+ is record/,
    },
  },
  {
    fault: "draws with random numbers of one seed whatever the seed",
    rule: {
      make: () =>
        new class extends Plain {
          override select(count: number, out: Selection): void {
            for (let k = 0; k < count; k++) out.index[k] = (7 * k) % this.count;
            out.probability.fill(1 / this.count);
          }
        }(),
    },
    broken: { [OTHER_SEED]: /^seed 2 gives the same 2560 draws; .* promises `deterministic`$/ },
  },
  {
    fault: "promises to need no random numbers, and needs them",
    rule: { make: () => new Plain(), deterministic: true },
    broken: { "draws depend on no random number": /^the states drawn with seed 2 must be \[/ },
  },
  {
    fault: "says another probability than it draws with",
    rule: {
      make: () =>
        new class extends Plain {
          override select(count: number, out: Selection, random: RandomStream): void {
            super.select(count, out, random);
            for (let k = 0; k < count; k++) if (random.below(72) === 0) out.index[k] = 0;
          }
        }(),
      stationary: true,
    },
    broken: {
      [SUM]: /^the pick of state 0 has probability 0\.1\d*, and is 0\.11\d* of 50000 draws$/,
    },
  },
  {
    fault: "says probabilities that sum to more than 1",
    rule: {
      make: () =>
        new class extends Plain {
          override select(count: number, out: Selection, random: RandomStream): void {
            super.select(count, out, random);
            out.probability.fill(Math.min(1, 1.01 / this.count));
          }
        }(),
      stationary: true,
    },
    broken: { [SUM]: /^the probabilities sum to 1\.0100/ },
  },
  {
    fault: "says another probability each time",
    rule: {
      make: () =>
        new class extends Plain {
          override select(count: number, out: Selection, random: RandomStream): void {
            super.select(count, out, random);
            for (let k = 0; k < count; k++) out.probability[k] = (1 + random.below(2)) / 60;
          }
        }(),
      stationary: true,
    },
    broken: { [SUM]: /^the pick of state \d is drawn with probability 0\.0\d+, then 0\.0\d+$/ },
  },
  {
    fault: "ignores that a pick moved",
    rule: {
      make: () =>
        new class extends Roulette {
          override moved(): void {}
        }(),
      ...PROPORTIONAL,
    },
    broken: {
      [ORDER]:
        /^the picks of states \d+ and \d+ had probabilities .* after another episode was evicted/,
    },
  },
  {
    fault: "ignores priorities",
    rule: {
      make: () =>
        new class extends Roulette {
          override setPriority(): void {}
        }(),
      ...PROPORTIONAL,
    },
    broken: {
      [ZERO]: /^\d+ of 5000 draws are of a pick of priority 0$/,
      [LARGER]: /^priorities 0\.01, 1 and 50 were drawn \d+, \d+ and \d+ times in 6000 draws$/,
      [LARGEST]: /^of 3000 draws, \d+ are of the pick of priority 20, \d+ of the one of 0\.01/,
    },
  },
  {
    fault: "takes the first of two priorities for one pick",
    rule: {
      make: () =>
        new class extends Roulette {
          override setPriority(indices: Uint32Array, priorities: Float64Array): void {
            super.setPriority(indices.toReversed(), priorities.toReversed());
          }
        }(),
      ...PROPORTIONAL,
    },
    broken: { [LARGER]: /^priorities 0\.01, 1 and 50 were drawn/ },
  },
  {
    fault: "begins new picks with priority 1",
    rule: {
      make: () =>
        new class extends Roulette {
          override pushed(): void {
            this.priorities.push(1);
          }
        }(),
      ...PROPORTIONAL,
    },
    broken: {
      [LARGEST]:
        /^of 3000 draws, 2\d\d\d are of the pick of priority 20.* and \d{2,3} of the new one$/,
    },
  },
  {
    fault: "draws the first when all priorities are 0",
    rule: {
      make: () =>
        new class extends Roulette {
          override select(count: number, out: Selection, random: RandomStream): void {
            super.select(count, out, random);
            if (this.priorities.every((priority) => priority === 0)) out.index.fill(0);
          }
        }(),
      ...PROPORTIONAL,
    },
    broken: { [ZERO]: /^all priorities are 0, and 0 of 2000 draws are of one of 7$/ },
  },
  {
    fault: "saves nothing of what it knows",
    rule: {
      make: () =>
        new class extends Turns {
          override save(): Uint8Array {
            return new Uint8Array(0);
          }
        }(),
      deterministic: true,
    },
    broken: { [SAVED]: /^a batch after loading: pick 0 is record \d+ of episode \d+ / },
  },
  {
    fault: "forgets the largest priority when it is saved",
    rule: {
      make: () =>
        new class extends Roulette {
          override load(bytes: Uint8Array): void {
            super.load(bytes);
            this.largest = 1;
          }
        }(),
      ...PROPORTIONAL,
    },
    broken: { [SAVED]: /^a batch after loading: pick \d is / },
  },
  {
    fault: "keeps what it knew before it was loaded",
    rule: {
      make: () =>
        new class extends Roulette {
          override load(bytes: Uint8Array): void {
            const { largest } = this;
            super.load(bytes);
            this.largest = Math.max(this.largest, largest);
          }
        }(),
      ...PROPORTIONAL,
    },
    broken: { [SAVED]: /^a batch after loading: pick \d is / },
  },
  {
    fault: "can't load what it saved",
    rule: {
      make: () =>
        new class extends Turns {
          override load(): void {
            throw new RangeError("8 bytes are too many");
          }
        }(),
      deterministic: true,
    },
    broken: { [SAVED]: /8 bytes are too many/ },
  },
  {
    fault: "can't be saved",
    rule: {
      make: (): PickSelector => {
        const rule: PickSelector = new Plain();
        rule.save = undefined;
        rule.load = undefined;
        return rule;
      },
    },
    broken: { [SAVED]: /^the selector plain has no save\(\) and load\(\)$/ },
  },
  {
    fault: "promises no pick twice, and draws some twice",
    rule: { make: () => new Plain(), distinct: true },
    broken: { [STORED]: /^a batch of \d+ has \d+ different picks$/ },
  },
  {
    fault: "promises that 0 is never drawn, and draws it",
    rule: { make: prioritizedAlittle, stationary: true, zeroIsNever: true },
    broken: { [ZERO]: /^\d+ of 5000 draws are of a pick of priority 0$/ },
  },
];

/** A native rule whose priorities never are 0. */
function prioritizedAlittle(): ReturnType<typeof prioritized> {
  return prioritized({ epsilon: 0.1 });
}
