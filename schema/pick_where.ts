/**
 * The episodes whose picks a pick view has, by their tags.
 *
 * @module
 */

import { checkInteger, show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { EXRP_LIMIT_TAGS } from "../ffi/symbols.ts";

/**
 * Which episodes have picks in a pick view. It is the option `where` of {@linkcode PickOptions}.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
 * const demos = replay.newPickView({ where: { tag: 1 } });
 * for (const tag of [0, 1]) replay.record(replay.newEpisode({ tag }), tag, 0, 0, { finalState: 9 });
 * console.log([...replay.getBatch(2, demos.newPickSelector(uniform())).state]); // [1, 1]
 * ```
 */
export interface PickWhere {
  /** The tag of these episodes, or a list of 1 to 16 tags; each a whole number from -2^31 to 2^31 - 1. */
  readonly tag: number | readonly number[];
}

/** {@linkcode PickWhere}, checked: the tags are a rising list. */
export interface PolicyWhere {
  /** The tags, in rising order, each once. */
  readonly tag: readonly number[];
}

/** A tag, checked. */
export function checkTag(name: string, value: unknown): number {
  return checkInteger(name, value, -(2 ** 31), 2 ** 31 - 1);
}

/** One tag or a list of tags, checked: in rising order, each once. */
export function checkTags(name: string, value: unknown): readonly number[] {
  if (typeof value !== "number" && !Array.isArray(value)) {
    throw new TypeError(
      `${name} must be a whole number or a list of whole numbers, got ${show(value)}`,
    );
  }
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length < 1 || list.length > EXRP_LIMIT_TAGS) {
    throw new RangeError(`${name} takes 1 to ${EXRP_LIMIT_TAGS} tags, got ${list.length}`);
  }
  const tags = list.map((each, k) => checkTag(Array.isArray(value) ? `${name}[${k}]` : name, each));
  return [...new Set(tags)].sort((a, b) => a - b);
}

/** The option `where`, checked; `name` is its name in errors. */
export function checkWhere(name: string, value: unknown): PolicyWhere {
  checkOptions(name, value, ["tag"]);
  const { tag } = value as Partial<Record<"tag", unknown>>;
  return Object.freeze({ tag: Object.freeze(checkTags(`${name}.tag`, tag)) });
}

/** The tags in words, such as "tag 1" or "tag 1 or 2". */
export function tagsText({ tag }: PolicyWhere): string {
  return `tag ${tag.join(" or ")}`;
}
