/**
 * The section of the pages of benchmarks on several threads at one replay.
 *
 * @module
 */

import type { Done } from "../actors/measure.ts";
import { type Origin, originLine } from "../_results.ts";
import { digits, factor, table } from "../_section.ts";

/** A run of ours, and of cpprb where it is installed. */
interface Both {
  readonly ours: Done;
  readonly cpprb?: Done;
  /** The longest gap of as many threads that only read the clock, in milliseconds. */
  readonly gap?: number;
}

/** What `bench:actors` saves. */
export interface ActorResults extends Origin {
  /** Rounds of which the best counts. */
  readonly rounds: number;
  /** Seconds a round. */
  readonly seconds: number;
  /** Small records. */
  readonly rows: readonly (Both & { readonly size: number; readonly writers: number })[];
  /** Images: the learner's batch without writers, beside writers of a steady rate, and beside writers as fast as they can. */
  readonly images: readonly (Done & { readonly writers: number; readonly rate: number })[];
  /** Large rows on a small replay, where torn ones are looked for. */
  readonly torn: Both;
  /** How often the learner went on after a writer was killed. */
  readonly survived: { readonly ours: number; readonly cpprb: number; readonly of: number };
}

function ratio(a: number | undefined, b: number | undefined): string {
  return a === undefined || b === undefined || b === 0 ? "" : factor(a / b);
}

function rowsOf({ rows }: ActorResults): string {
  const cell = (value: number | undefined): string => value === undefined ? "" : digits(value);
  return table(
    [
      "capacity",
      "writers",
      "records/s",
      "cpprb",
      "÷ cpprb",
      "learner steps/s",
      "cpprb",
      "÷ cpprb",
      "worst call, ms",
      "cpprb",
      "cpprb ÷",
      "gap of clocks, ms",
    ],
    rows.map(({ size, writers, ours, cpprb, gap }) => [
      `2^${Math.log2(size)}`,
      String(writers),
      writers === 0 ? "" : cell(ours.records),
      writers === 0 ? "" : cell(cpprb?.records),
      writers === 0 ? "" : ratio(ours.records, cpprb?.records),
      cell(ours.steps),
      cell(cpprb?.steps),
      ratio(ours.steps, cpprb?.steps),
      cell(ours.worst),
      cell(cpprb?.worst),
      ratio(cpprb?.worst, ours.worst),
      cell(gap),
    ]),
  );
}

function imagesOf({ images }: ActorResults): string {
  const alone = images[0]?.batch;
  return table(
    [
      "images of 84×84×4, capacity 4,096",
      "median batch of 256, ms",
      "÷ without writers",
      "records/s",
    ],
    images.map(({ writers, rate, batch, records }) => [
      writers === 0
        ? "no writers"
        : `${writers} writers, ${
          rate === 0
            ? "as fast as they can"
            : `${rate.toLocaleString("en-US")} images a second each`
        }`,
      batch === undefined ? "" : digits(batch),
      ratio(batch, alone),
      writers === 0 ? "" : digits(records),
    ]),
  );
}

function reliabilityOf({ torn, survived }: ActorResults): string {
  const text = (done: Done | undefined): string =>
    done === undefined ? "" : `${done.torn} of ${(done.drawn ?? 0).toLocaleString("en-US")}`;
  return table(["reliability", "exrp", "cpprb"], [
    ["torn rows drawn: 3 writers, rows of 32 KiB, capacity 64", text(torn.ours), text(torn.cpprb)],
    [
      "the learner went on after one of two writers was killed, rows of 32 KiB",
      `${survived.ours} of ${survived.of}`,
      torn.cpprb === undefined ? "" : `${survived.cpprb} of ${survived.of}`,
    ],
  ]);
}

/** The section as Markdown. */
export function render(text: string): string {
  const results = JSON.parse(text) as ActorResults;
  return `## Many actors, one replay

\`deno task bench:actors\`, then \`deno task bench:report\`. ${originLine(results)}.

Writers record chunks of 100 records of 15 floats, with priorities, as fast as they can. At the same time a learner draws prioritized batches of
256 and sets their priorities. Ours are Workers of one process that share a replay ([actors.md](../actors.md)). Those of cpprb are processes on its
\`MPPrioritizedReplayBuffer\`. Each takes turns of ${results.seconds} s in one run, after 0.3 s that do not count. The best of ${results.rounds} turns counts, and the
least of their worst calls. Without writers, both still take their locks. The last column is about the machine: the longest gap of
as many threads that only read the clock, in the same turns. A learner waits for its own gaps, and for those of the thread that has the lock. Threads that
sleep at times, as both sides' do, are stopped for less.

${rowsOf(results)}

The batch of images is the learner's. It shares the processor with the writers, so with fewer cores than threads it waits for its turn, too.

${imagesOf(results)}

All numbers of a row are equal here, so a torn row is seen. A killed process of cpprb may hold a lock for good. A Worker that is terminated finishes
its call first.

${reliabilityOf(results)}
`;
}
