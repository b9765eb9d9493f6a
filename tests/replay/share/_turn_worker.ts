/** A Worker that records and draws when it is told to. */
import { ExperienceReplay, type Selector } from "@exrp/replay";
import type { ShareTicket } from "@exrp/replay/types";
import { testRandom } from "../_helpers.ts";
import { type HashedReplay, NARROW, schemaOf, stateOf, stepsOf } from "./_rows.ts";

/** What it is told. */
export type Turn =
  | { readonly ticket: ShareTicket; readonly seed: number }
  | { readonly steps: number }
  | { readonly ends: true };

// The types of a Worker's global scope are not those of the main thread's.
const scope = globalThis as unknown as {
  onmessage: (message: MessageEvent<Turn>) => void;
  postMessage(message: readonly number[]): void;
};

interface Actor {
  readonly replay: HashedReplay;
  readonly selector: Selector;
  readonly below: (bound: number) => number;
  handle: number;
  episode: number;
  step: number;
}

let actor: Actor | undefined;

async function begin(ticket: ShareTicket, seed: number): Promise<Actor> {
  const replay = await ExperienceReplay.attach(ticket, schemaOf(NARROW));
  const selector = replay.selectors.at(-1);
  if (selector === undefined) throw new Error("no selector");
  const handle = replay.newEpisode();
  return { replay, selector, below: testRandom(seed), handle, episode: 0, step: 0 };
}

function record(to: Actor, count: number): readonly number[] {
  const { replay, below } = to;
  const ends = below(3) === 0;
  to.handle = replay.recordMany(to.handle, {
    ...stepsOf([0, to.episode], to.step, count, NARROW),
    ...(ends ? { finalState: stateOf(0, to.episode, to.step + count) } : {}),
  });
  to.step += count;
  if (ends) {
    to.handle = replay.newEpisode();
    to.episode++;
    to.step = 0;
  }
  const { pickEpisode, pickPosition } = replay.getBatch(8, to.selector);
  return [...pickEpisode, ...pickPosition];
}

scope.onmessage = async ({ data }) => {
  if ("ticket" in data) actor = await begin(data.ticket, data.seed);
  else if (actor === undefined) throw new Error("no replay");
  else if ("steps" in data) return scope.postMessage(record(actor, data.steps));
  else actor.replay[Symbol.dispose]();
  scope.postMessage([]);
};
