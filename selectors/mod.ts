/**
 * What you need to write a selector of your own, and the option types of the library's selectors.
 *
 * The selectors themselves, from `uniform()` to `mixture()`, are in `@exrp/replay`. Only {@linkcode power} is here: it draws as Reverb does. A selector of your own is an object with the
 * methods of {@linkcode PickSelector}, or one that draws by means of others, {@linkcode ComposedSelector}. `conforms()` of
 * `@exrp/replay/testing` tests it.
 *
 * @example A selector that draws each pick with equal probability
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import type { PickSelector } from "@exrp/replay/selectors";
 *
 * function plain(): PickSelector {
 *   let count = 0;
 *   return {
 *     name: "plain",
 *     pushed: () => void count++,
 *     moved: () => {},
 *     popped: () => void count--,
 *     setPriority: () => {},
 *     select(n, out, random) {
 *       for (let k = 0; k < n; k++) out.index[k] = random.below(count);
 *       out.probability.fill(1 / count);
 *     },
 *   };
 * }
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * replay.record(replay.newEpisode(), [7], 0, 0, { finalState: [8] });
 * const batch = replay.getBatch(2, replay.newPickSelector(plain()));
 * console.log(batch.state[1]); // 7
 * ```
 *
 * @module
 */

export type { PickSelector, Selection } from "./pick_selector.ts";
export { power } from "./power.ts";
export type { PowerOptions } from "./power.ts";
export type {
  ComposedSelector,
  Composition,
  drawn,
  PartDrawer,
  SelectorPart,
  SelectorRule,
} from "./composed_selector.ts";
export { RandomStream } from "./random_stream.ts";
export { NativeSelector, type NoOptions } from "./native_selector.ts";
export type { SelectorOption } from "./native_selector.ts";

export type { PrioritizedOptions } from "./prioritized.ts";
export type { RankBasedOptions } from "./rank_based.ts";
export type { PserOptions } from "./pser.ts";
export type { CuriousOptions } from "./curious.ts";
export type { UcbOptions } from "./ucb.ts";
export type { AgeEndOptions } from "./age_end.ts";
export type { PriorityEndOptions } from "./priority_end.ts";
export { recentCount } from "./recent.ts";
export type { RecentOptions } from "./recent.ts";
export type { CombinedOptions } from "./combined.ts";
export type { LaberOptions } from "./laber.ts";
export type { MixturePart, MixtureRule, MixtureSelector } from "./mixture.ts";
