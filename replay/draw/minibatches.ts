/**
 * Minibatches of a pick table: all its picks in random order, each once an epoch.
 *
 * An epoch notes the picks that are in the table when it begins, by episode and position. So it knows them again after the table has
 * changed: picks that are gone are passed over.
 *
 * @module
 */

import { checkBoolean, showUnlike } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import { checkOptions } from "../../base/option_names.ts";
import { EXRP_INDEX_NONE, EXRP_LIMIT_BATCH } from "../../ffi/symbols.ts";
import type { AnySchema, Schema } from "../../schema/schema.ts";
import { RandomStream } from "../../selectors/random_stream.ts";
import type { ReplayCore } from "../core.ts";
import { OwnedPickTable, type PickTable } from "../register/pick_table.ts";
import type { Register } from "../register/register.ts";
import type { Drawer } from "./drawer.ts";
import {
  checkEpochs,
  type EpochOptions,
  type Epochs,
  MINIBATCHES,
  rowsInOrder,
  shuffle,
} from "./epochs.ts";
import type { OwnedBatch } from "./owned_batch.ts";

/** The options of {@linkcode ExperienceReplay.minibatches}; `S` is the schema of its batches. */
export interface PickMinibatchOptions<S extends Schema = AnySchema> extends EpochOptions {
  /** The pick table; the first one by default. */
  readonly table?: PickTable<S>;
  /**
   * Whether memory is used again (false by default). A batch is then yours until you ask for the next one, and nothing is allocated.
   */
  readonly reuse?: boolean;
}

/** Random streams of this number and above shuffle picks. */
const SHUFFLE_STREAM = 2 ** 30 + 2 ** 29;

/** Makes the minibatches of one replay's pick tables. */
export class PickMinibatches {
  readonly #core: ReplayCore;
  readonly #register: Register;
  readonly #drawer: Drawer;
  #callCount = 0;

  /** Goes through the pick tables of `register`. */
  constructor(core: ReplayCore, register: Register, drawer: Drawer) {
    this.#core = core;
    this.#register = register;
    this.#drawer = drawer;
  }

  /** Checks the options and goes through the picks. */
  minibatches(
    size: number,
    options: PickMinibatchOptions,
  ): Generator<OwnedBatch, void, void> {
    this.#core.checkUsable(MINIBATCHES);
    checkOptions(MINIBATCHES, options, ["table", "epochs", "dropLast", "seed", "reuse"]);
    const { table, reuse = false } = options;
    const stream = SHUFFLE_STREAM + this.#callCount % 2 ** 29;
    const random = new RandomStream(this.#core.threadSeed, stream);
    const epochs = checkEpochs(size, options, EXRP_LIMIT_BATCH, random);
    checkBoolean(`${MINIBATCHES}: reuse`, reuse);
    const number = table === undefined ? 0 : this.#numberOf(table);
    this.#callCount++;
    return this.#run(number, epochs, reuse);
  }

  #numberOf(table: PickTable): number {
    const number = this.#register.tables.indexOf(table);
    if (number >= 0) return number;
    throw new TypeError(
      `${MINIBATCHES}: table must be a pick table of this replay, got ${
        table instanceof OwnedPickTable ? "one of another" : showUnlike(table, OwnedPickTable)
      }`,
    );
  }

  *#run(
    table: number,
    { size, epochs, dropLast, random }: Epochs,
    reuse: boolean,
  ): Generator<OwnedBatch, void, void> {
    const core = this.#core;
    // The memory of whole batches; the last one of an epoch may be smaller.
    let kept: OwnedBatch | undefined;
    for (let epoch = 0; epoch < epochs; epoch++) {
      core.checkUsable(MINIBATCHES);
      const { id } = core;
      const picks = core.together(
        MINIBATCHES,
        () => new EpochPicks(core, table, this.#register.pickCount(table), size, random),
      );
      for (;;) {
        core.checkUsable(MINIBATCHES);
        if (core.id !== id) {
          throw new ReplayError(
            "record-unknown",
            `${MINIBATCHES}: a snapshot was loaded during the epoch, so its picks are gone; begin anew`,
          );
        }
        const batch = core.together(MINIBATCHES, () => {
          const found = picks.next();
          if (found.length === 0 || (dropLast && found.length < size)) return undefined;
          return this.#drawer.gather(MINIBATCHES, table, found, 1 / picks.count, kept);
        });
        if (batch === undefined) break;
        if (reuse && batch.size === size) kept = batch;
        yield batch;
      }
    }
  }
}

/** The picks of one epoch, in random order. */
class EpochPicks {
  /** How many picks there were when the epoch began. */
  readonly count: number;
  readonly #core: ReplayCore;
  readonly #table: number;
  /** The picks in random order: their indices at the beginning, and the places that name them. */
  readonly #order: Int32Array<ArrayBuffer>;
  readonly #episodes: Float64Array<ArrayBuffer>;
  readonly #positions: Int32Array<ArrayBuffer>;
  readonly #found: Uint32Array<ArrayBuffer>;
  #at = 0;

  /** The picks of a table, in minibatches of at most `size`. */
  constructor(core: ReplayCore, table: number, count: number, size: number, random: RandomStream) {
    this.#core = core;
    this.#table = table;
    this.count = count;
    const episodes = new Float64Array(count);
    const positions = new Int32Array(count);
    const { symbols } = core.kernel;
    const status = symbols.exrp_pick_list(core.id, table, 0, count, episodes, positions);
    core.check(MINIBATCHES, status);
    this.#order = rowsInOrder(count);
    shuffle(random, this.#order);
    this.#episodes = new Float64Array(count);
    this.#positions = new Int32Array(count);
    for (let k = 0; k < count; k++) {
      const pick = this.#order[k] as number;
      this.#episodes[k] = episodes[pick] as number;
      this.#positions[k] = positions[pick] as number;
    }
    this.#found = new Uint32Array(Math.min(size, count));
  }

  /** The indices of the next picks that are still there. The next call replaces them. */
  next(): Uint32Array<ArrayBuffer> {
    const found = this.#found;
    const { kernel: { symbols }, id } = this.#core;
    let foundCount = 0;
    while (foundCount < found.length && this.#at < this.count) {
      const from = this.#at;
      const wanted = Math.min(found.length - foundCount, this.count - from);
      this.#at += wanted;
      const part = found.subarray(foundCount, foundCount + wanted);
      // Most picks stand where they stood, so the kernel looks there first.
      part.set(this.#order.subarray(from, this.#at));
      const episodes = this.#episodes.subarray(from, this.#at);
      const positions = this.#positions.subarray(from, this.#at);
      const status = symbols.exrp_pick_find(id, this.#table, episodes, positions, wanted, part);
      this.#core.check(MINIBATCHES, status);
      for (const index of part) if (index !== EXRP_INDEX_NONE) found[foundCount++] = index;
    }
    return found.subarray(0, foundCount);
  }
}
