/**
 * Checks that a batch holds the records of its picks. The expected values follow from the pick policy, and from the
 * episodes' names and lengths. Every element is a code of its episode, position and column. Slow loops only, and nothing
 * of the kernel's way.
 *
 * @module
 */

import type { Batch, PickPolicy } from "@exrp/replay";

/** A column: what its elements are made of. */
export interface CodedColumn {
  /** Its name. */
  readonly name: string;
  /** Its number among the columns. */
  readonly id: number;
  /** Elements of one record. */
  readonly size: number;
  /** The dtype. */
  readonly dtype: string;
  /** Which records of an episode keep it: 1 for all. */
  readonly every: number;
}

/** The place of an episode in its stream, and its length. */
export interface EpisodeFacts {
  /** The stream: what one actor recorded between two ends. */
  readonly stream: number;
  /** The step of the stream that is the episode's position 0: more than 0 where the stream was cut, or forgotten in part. */
  readonly first: number;
  /** The position after its newest record. */
  readonly count: number;
  /** The position of its oldest stored record. */
  readonly stored: number;
  /** How it stands. */
  readonly state: "open" | "terminated" | "truncated" | "evicted";
}

/** A batch of any schema. */
export type AnyBatch = Batch;

/** The largest number a code may be, so that it is exact; bytes of 0 are no code, as they are padding. */
const LARGEST: Readonly<Record<string, number>> = {
  uint8: 255,
  int8: 127,
  float16: 2047,
  int16: 32767,
  float32: 2 ** 24 - 1,
  int32: 2 ** 31 - 1,
  float64: 2 ** 31 - 1,
};

/** The element of a column in a step of a stream: never 0. */
export function codeOf(column: CodedColumn, stream: number, step: number, element: number): number {
  let mix = Math.imul(stream + 1, 0x9e3779b1) ^ Math.imul(step + 1, 0x85ebca6b) ^
    Math.imul(element + 1, 0xc2b2ae35) ^ Math.imul(column.id + 1, 0x27d4eb2f);
  mix = Math.imul(mix ^ (mix >>> 15), 0x2c1b3c6d);
  mix = Math.imul(mix ^ (mix >>> 12), 0x297a2d39);
  return 1 + ((mix ^ (mix >>> 15)) >>> 0) % (LARGEST[column.dtype] ?? 1);
}

/** The properties that a batch breaks. */
export class Violation extends Error {}

/** The columns of a replay. */
export interface CodedColumns {
  readonly state: CodedColumn;
  readonly action: CodedColumn;
  readonly reward: CodedColumn;
  readonly extras: readonly CodedColumn[];
}

/** Checks batches of one pick view. */
export class BatchProperties {
  readonly #policy: PickPolicy;
  readonly #columns: CodedColumns;
  readonly #rows: number;
  readonly #facts: (episode: number) => EpisodeFacts | undefined;

  /** `facts` tells of an episode, undefined for a handle that was never given out. */
  constructor(
    policy: PickPolicy,
    columns: CodedColumns,
    facts: (episode: number) => EpisodeFacts | undefined,
  ) {
    this.#policy = policy;
    this.#columns = columns;
    this.#facts = facts;
    this.#rows = policy.burnIn + policy.before + policy.length;
  }

  /**
   * Checks all rows of all picks.
   *
   * @throws {Violation} Naming the first property that does not hold.
   */
  check(batch: AnyBatch): void {
    for (let pick = 0; pick < batch.size; pick++) this.#checkPick(batch, pick);
  }

  #checkPick(batch: AnyBatch, pick: number): void {
    const policy = this.#policy;
    const rows = this.#rows;
    const episode = batch.pickEpisode[pick] ?? -1;
    const position = batch.pickPosition[pick] ?? -1;
    const where = `pick ${pick} (episode ${episode}, position ${position})`;
    const holds = (property: string, isTrue: boolean): void => {
      if (!isTrue) throw new Violation(`${where}: ${property}`);
    };
    const facts = this.#facts(episode);
    if (facts === undefined) throw new Violation(`${where}: no such episode`);
    const { count, stored, state } = facts;
    const ended = state !== "open";
    holds("of an evicted episode", state !== "evicted");
    holds("begins in its episode", position >= 0 && position < count);
    holds("begins at a multiple of the stride", position % policy.stride === 0);
    const shows = policy.burnIn + policy.before + policy.stack - 1;
    holds("shows nothing that is gone", stored === 0 || position - shows >= stored);
    const own = Math.min(policy.length, count - position);
    if (policy.whole) holds("is a whole ended episode", ended && position === 0 && own === count);
    else if (own < policy.length) holds("may be short", ended && policy.allowShort);
    const knownEnd = ended ? count : count - 1; // positions before it have a next state
    if (!ended && !policy.allowOpenEnd) {
      const reach = position + own - 1 + Math.max(1, ...policy.nStep);
      holds("its last record's return is known", reach <= knownEnd);
    }

    const context = Math.min(policy.burnIn + policy.before, position);
    const lead = policy.before > 0 ? policy.before - context : 0;
    const end = lead + context + own;
    const first = position - context;
    const knownRows = Math.min(context + own, knownEnd - first);
    holds("seqLen", batch.seqLen[pick] === end);
    holds("nextSeqLen", batch.nextSeqLen[pick] === lead + knownRows);
    const probability = batch.probability[pick] ?? 0;
    const weight = batch.importanceWeight[pick] ?? 0;
    holds("its probability is one", probability > 0 && probability <= 1);
    holds("its weight is at most 1", weight > 0 && weight <= 1);

    /** The position that a row shows, undefined for padding. */
    const shown = (row: number): number | undefined => {
      if (row < lead || row >= end) return undefined;
      return policy.reversed ? position + own - 1 - row : first + row - lead;
    };
    const bootstraps = (at: number): boolean =>
      at < knownEnd && !(state === "terminated" && at === count - 1);

    const columns = this.#columns;
    const parts: [CodedColumn, ArrayLike<number>][] = [
      [columns.action, batch.action],
      [columns.reward, batch.reward],
      ...columns.extras.map((column): [CodedColumn, ArrayLike<number>] => [
        column,
        batch.extras[column.name.slice("extras.".length)] ?? [],
      ]),
    ];
    for (const [column, values] of parts) {
      if (column.every > 1) {
        // One value a pick: the newest that was kept at or before its first row.
        const at = first - first % column.every;
        holds(`${column.name} is there once`, values.length === batch.size * column.size);
        for (let element = 0; element < column.size; element++) {
          const expected = codeOf(column, facts.stream, facts.first + at, element);
          holds(`${column.name}[${element}]`, values[pick * column.size + element] === expected);
        }
        continue;
      }
      holds(`${column.name} has all rows`, values.length === batch.size * rows * column.size);
      for (let row = 0; row < rows; row++) {
        const at = shown(row);
        for (let element = 0; element < column.size; element++) {
          const value = values[(pick * rows + row) * column.size + element];
          const expected = at === undefined
            ? 0
            : codeOf(column, facts.stream, facts.first + at, element);
          if (value !== expected) {
            throw new Violation(`${where}: ${column.name}[${row}][${element}] is ${value}`);
          }
        }
      }
    }

    this.#checkStates(batch, pick, where, facts, {
      rows,
      shown,
      first,
      lead,
      end,
      own,
      position,
      knownEnd,
    });
    const masked = policy.masks ? rows : 0;
    holds("masks are there as asked", batch.learnMask.length === batch.size * masked);
    for (let row = 0; row < rows; row++) {
      const at = shown(row);
      const discount = at !== undefined && bootstraps(at) ? Math.fround(policy.discount) : 0;
      holds(`discount[${row}]`, batch.discount[pick * rows + row] === discount);
      if (!policy.masks) continue;
      const learns = at !== undefined && at >= position;
      holds(`learnMask[${row}]`, batch.learnMask[pick * rows + row] === (learns ? 1 : 0));
      const isContext = at !== undefined && at < position;
      holds(`contextMask[${row}]`, batch.contextMask[pick * rows + row] === (isContext ? 1 : 0));
    }

    this.#checkEnds(batch, pick, holds, facts, rows, shown);
    holds("n-step parts are there as asked", batch.nStep.length === policy.nStep.length);
    const stackSize = policy.stack * columns.state.size;
    for (const [k, n] of policy.nStep.entries()) {
      const part = batch.nStep[k];
      if (part === undefined || part.n !== n) throw new Violation(`${where}: n of part ${k}`);
      for (let row = 0; row < rows; row++) {
        const at = shown(row);
        const m = at === undefined ? 0 : Math.max(0, Math.min(n, knownEnd - at));
        for (let element = 0; element < columns.reward.size; element++) {
          let sum = 0;
          // The newest record of an open episode has its own reward.
          for (let step = 0; at !== undefined && step < Math.max(1, m); step++) {
            const reward = codeOf(columns.reward, facts.stream, facts.first + at + step, element);
            sum += policy.discount ** step * reward;
          }
          const value = part.reward[(pick * rows + row) * columns.reward.size + element] ?? NaN;
          // Powers and sums round in their own order: a few units of single precision.
          const isNear = Math.abs(value - sum) <= 1e-6 * Math.abs(sum);
          holds(`nStep[${k}].reward[${row}] is ${value}, the slow loop says ${sum}`, isNear);
        }
        const through = at !== undefined && m > 0 && bootstraps(at + m - 1);
        const discount = part.discount[pick * rows + row] ?? NaN;
        const expected = through ? policy.discount ** m : 0;
        holds(`nStep[${k}].discount[${row}]`, Math.abs(discount - expected) <= 1e-6 * expected);
        const offset = (pick * rows + row) * stackSize;
        const target = at === undefined || m === 0 ? undefined : at + m;
        this.#checkStack(part.nextState, offset, target, facts, `${where}: nStep[${k}] row ${row}`);
      }
    }
  }

  /** How the episode ended, and the rewards up to there. */
  #checkEnds(
    batch: AnyBatch,
    pick: number,
    holds: (property: string, isTrue: boolean) => void,
    facts: EpisodeFacts,
    rows: number,
    shown: (row: number) => number | undefined,
  ): void {
    const { ends, returnToGo } = this.#policy;
    const { reward } = this.#columns;
    const { terminated, truncated, returnToGo: toGo } = batch;
    const marked = ends ? batch.size * rows : 0;
    holds("ends as asked", terminated.length === marked && truncated.length === marked);
    const added = returnToGo ? batch.size * rows * reward.size : 0;
    holds("returns to go as asked", toGo.length === added);
    for (let row = 0; row < rows; row++) {
      const [at, index] = [shown(row), pick * rows + row];
      const how = at === facts.count - 1 ? facts.state : undefined;
      if (ends) {
        holds(`terminated[${row}]`, terminated[index] === (how === "terminated" ? 1 : 0));
        holds(`truncated[${row}]`, truncated[index] === (how === "truncated" ? 1 : 0));
      }
      for (let element = 0; returnToGo && element < reward.size; element++) {
        let sum = 0;
        for (let next = at ?? facts.count; next < facts.count; next++) {
          sum += codeOf(reward, facts.stream, facts.first + next, element);
        }
        const value = toGo[index * reward.size + element] ?? NaN;
        const isNear = Math.abs(value - sum) <= 1e-6 * Math.abs(sum);
        holds(`returnToGo[${row}] is ${value}, the slow loop says ${sum}`, isNear);
      }
    }
  }

  #checkStates(
    batch: AnyBatch,
    pick: number,
    where: string,
    facts: EpisodeFacts,
    window: {
      readonly rows: number;
      readonly shown: (row: number) => number | undefined;
      readonly first: number;
      readonly lead: number;
      readonly end: number;
      readonly own: number;
      readonly position: number;
      readonly knownEnd: number;
    },
  ): void {
    const policy = this.#policy;
    const { rows, shown, lead, end, own, position, knownEnd } = window;
    const size = this.#columns.state.size;
    const overlap = policy.nextState === "overlap";
    const last = position + own - 1;
    const hasNext = last < knownEnd;
    if (policy.stackCompact) {
      const frames = policy.stack - 1 + rows + (overlap ? 1 : 0);
      if (batch.state.length !== batch.size * frames * size) {
        throw new Violation(`${where}: frames`);
      }
      for (let frame = 0; frame < frames; frame++) {
        // Frame `stack - 1` is the newest of row 0, which shows position `first - lead`.
        const at = window.first - lead + frame - (policy.stack - 1);
        const there = at <= (overlap && hasNext ? last + 1 : last);
        const offset = (pick * frames + frame) * size;
        this.#checkFrame(
          batch.state,
          offset,
          there ? at : undefined,
          facts,
          `${where}: frame ${frame}`,
        );
      }
    } else {
      const stateRows = rows + (overlap ? 1 : 0);
      if (batch.state.length !== batch.size * stateRows * policy.stack * size) {
        throw new Violation(`${where}: rows of states`);
      }
      for (let row = 0; row < stateRows; row++) {
        const at = overlap && row === end && hasNext ? last + 1 : shown(row);
        const offset = (pick * stateRows + row) * policy.stack * size;
        this.#checkStack(batch.state, offset, at, facts, `${where}: state of row ${row}`);
      }
    }
    const copies = policy.nextState === "copy" ? rows : 0;
    if (batch.nextState.length !== batch.size * copies * policy.stack * size) {
      throw new Violation(`${where}: rows of next states`);
    }
    for (let row = 0; row < copies; row++) {
      const at = shown(row);
      const next = at !== undefined && at < knownEnd ? at + 1 : undefined;
      const offset = (pick * rows + row) * policy.stack * size;
      this.#checkStack(batch.nextState, offset, next, facts, `${where}: next state of row ${row}`);
    }
  }

  /** A stack that ends with the frame of position `at`; zeros for undefined. */
  #checkStack(
    values: ArrayLike<number>,
    offset: number,
    at: number | undefined,
    facts: EpisodeFacts,
    where: string,
  ): void {
    const { stack } = this.#policy;
    const { size } = this.#columns.state;
    for (let frame = 0; frame < stack; frame++) {
      const shown = at === undefined ? undefined : at - (stack - 1) + frame;
      this.#checkFrame(values, offset + frame * size, shown, facts, `${where}, frame ${frame}`);
    }
  }

  /** The state of position `at`: before the episode it is padding, undefined is zero. */
  #checkFrame(
    values: ArrayLike<number>,
    offset: number,
    at: number | undefined,
    facts: EpisodeFacts,
    where: string,
  ): void {
    const { state } = this.#columns;
    const zero = at === undefined || (at < 0 && this.#policy.stackPadding === "zeros");
    const step = facts.first + Math.max(0, at ?? 0);
    for (let element = 0; element < state.size; element++) {
      const value = values[offset + element];
      const expected = zero ? 0 : codeOf(state, facts.stream, step, element);
      if (value !== expected) {
        throw new Violation(`${where}: element ${element} is ${value}, not ${expected}`);
      }
    }
  }
}
