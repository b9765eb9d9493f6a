/**
 * The list of episodes, as the model has it: by the plain definition of each column.
 *
 * @module
 */

import type { EpisodeColumns, EpisodeFilter } from "@exrp/replay/types";
import type { Fault } from "./faults.ts";
import type { Values } from "./values.ts";
import { type Episode, rewardsOf, type RewardSpec } from "./window_model.ts";

/** The columns of the list, but for its size, as plain arrays. */
export type ModelEpisodes = Readonly<Record<Exclude<keyof EpisodeColumns, "size">, number[]>>;

/** Any filter. Most list something. */
export function chooseFilter(values: Values, reward: RewardSpec): EpisodeFilter {
  const oneIn = (n: number): boolean => values.below(n) === 0;
  const lengthMin = values.below(5);
  const ended = ([true, false, "terminated", "truncated"] as const)[values.below(4)] ?? true;
  return {
    ...(oneIn(4) ? { tag: oneIn(2) ? values.below(3) : [-1, values.below(3), 0] } : {}),
    ...(oneIn(2) ? { ended } : {}),
    ...(oneIn(4) ? { lengthMin } : {}),
    ...(oneIn(4) ? { lengthMax: lengthMin + values.below(12) } : {}),
    ...(reward.count === 1 && oneIn(2) ? { discount: [1, 0.5, 0.9, 0][values.below(4)] ?? 1 } : {}),
    ...(reward.count === 1 && oneIn(2) ? { best: 1 + values.below(6) } : {}),
  };
}

/** The episodes that a filter takes, of all `episodes`, oldest first. */
export function listEpisodes(
  episodes: Iterable<Episode>,
  filter: EpisodeFilter,
  { reward, recordedCount, fault }: {
    reward: RewardSpec;
    recordedCount: number;
    fault: Fault | undefined;
  },
): ModelEpisodes {
  const { tag, ended, lengthMin = 0, lengthMax = Infinity, discount = 1, best } = filter;
  const asked = best !== undefined || filter.discount !== undefined;
  const rows = [...episodes].flatMap((episode) => {
    const { handle, records, births, first, ending } = episode;
    const length = records.length - first;
    const tags = typeof tag === "number" ? [tag] : tag ?? [episode.tag];
    const state = ending ?? "open";
    const isWanted = ended === undefined ||
      (ended === true ? state !== "open" : ended === false ? state === "open" : ended === state);
    if (!isWanted || !tags.includes(episode.tag) || length < lengthMin || length > lengthMax) {
      return [];
    }
    const newest = births[fault === "agesOfOldest" ? first : records.length - 1] ?? 0;
    let sum = 0;
    const begin = fault === "returnsCountTrimmed" ? first : 0;
    const rate = fault === "returnsForgetDiscount" ? 1 : discount;
    let factor = 1;
    for (let k = 0; k < begin; k++) factor *= rate;
    for (const record of records.slice(first)) {
      sum += factor * (rewardsOf(reward, record[2] ?? new Uint8Array())[0] ?? NaN);
      factor *= rate;
    }
    return {
      handle,
      length,
      firstPosition: first,
      tag: episode.tag,
      end: ["open", "terminated", "truncated"].indexOf(state),
      age: length === 0 ? NaN : recordedCount - 1 - newest,
      return: sum,
    };
  });
  const ties = fault === "bestTakesYounger" ? -1 : 1;
  const listed = best === undefined
    ? rows
    : rows.toSorted((a, b) => b.return - a.return || ties * (a.handle - b.handle)).slice(0, best);
  return {
    handle: listed.map((row) => row.handle),
    length: listed.map((row) => row.length),
    firstPosition: listed.map((row) => row.firstPosition),
    tag: listed.map((row) => row.tag),
    end: listed.map((row) => row.end),
    age: listed.map((row) => row.age),
    return: asked ? listed.map((row) => row.return) : [],
  };
}
