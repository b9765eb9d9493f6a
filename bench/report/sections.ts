/**
 * The sections of the pages of benchmarks, other than that on Python libraries.
 *
 * @module
 */

import { curveSvg } from "../_paper_pictures.ts";
import type { Section } from "../_section.ts";
import { render as renderActors } from "./actors.ts";
import { type LimitResults, render as renderLimit } from "./limit.ts";
import { render as renderOwn } from "./own.ts";
import { type PaperResults, render as renderPaper } from "./paper.ts";
import { render as renderReverb, type ReverbResults, summarize } from "./reverb.ts";

const NONE: ReadonlyMap<string, string> = new Map();

function section(file: string, render: (text: string) => string): Section {
  return {
    file,
    render: (results) => {
      if (typeof results !== "object" || results === null || !("machine" in results)) {
        return Promise.reject(new TypeError(`${file} holds no results`));
      }
      return Promise.resolve({ markdown: render(JSON.stringify(results)).trim(), images: NONE });
    },
  };
}

/** Compared with the limit of the hardware. */
export const limitSection: Section = {
  file: "limit.*.json",
  render: (results) => {
    const isRight = (one: unknown): one is LimitResults =>
      typeof one === "object" && one !== null && "machine" in one && "workloads" in one;
    if (!Array.isArray(results) || !results.every(isRight)) {
      return Promise.reject(new TypeError("limit.*.json: a file holds no results"));
    }
    return Promise.resolve({ markdown: renderLimit(results).trim(), images: NONE });
  },
};

/** The paper's experiment, with its pictures. */
export const paperSection: Section = {
  file: "paper.json",
  render: async (results) => {
    const { markdown } = await section("paper.json", renderPaper).render(results);
    const found = results as PaperResults;
    return { markdown, images: new Map([["bench_paper_curve.svg", await curveSvg(found)]]) };
  },
};

/** This library's own figures. */
export const ownSection: Section = section("own.json", renderOwn);

/** Several threads at one replay. */
export const actorsSection: Section = section("actors.json", renderActors);

/** Our server and Reverb's. */
export const reverbSection: Section = {
  file: "reverb.json",
  render: async (results) => ({
    ...await section("reverb.json", renderReverb).render(results),
    summary: summarize(results as ReverbResults),
  }),
};
