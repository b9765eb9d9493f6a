/**
 * Minibatches of a pick view: all its picks in random order, each once an epoch.
 *
 * An epoch notes the picks that are in the view when it begins, by episode and position. So it knows them again after the view has
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
import { OwnedPickView, type PickView } from "../register/pick_view.ts";
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
  /** The pick view; the first one by default. */
  readonly view?: PickView<S>;
  /**
   * Whether memory is used again (false by default). A batch is then yours until you ask for the next one, and nothing is allocated.
   */
  readonly reuse?: boolean;
}

/** Random streams of this number and above shuffle picks. */
const SHUFFLE_STREAM = 2 ** 30 + 2 ** 29;

/** Makes the minibatches of one replay's pick views. */
export class PickMinibatches {
  readonly #core: ReplayCore;
  readonly #register: Register;
  readonly #drawer: Drawer;
  #callCount = 0;

  /** Goes through the pick views of `register`. */
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
    checkOptions(MINIBATCHES, options, ["view", "epochs", "dropLast", "seed", "reuse"]);
    const { view: view, reuse = false } = options;
    const stream = SHUFFLE_STREAM + this.#callCount % 2 ** 29;
    const random = new RandomStream(this.#core.threadSeed, stream);
    const epochs = checkEpochs(size, options, EXRP_LIMIT_BATCH, random);
    checkBoolean(`${MINIBATCHES}: reuse`, reuse);
    const number = view === undefined ? 0 : this.#numberOf(view);
    this.#callCount++;
    return this.#run(number, epochs, reuse);
  }

  #numberOf(view: PickView): number {
    const number = this.#register.views.indexOf(view);
    if (number >= 0) return number;
    throw new TypeError(
      `${MINIBATCHES}: view must be a pick view of this replay, got ${
        view instanceof OwnedPickView ? "one of another" : showUnlike(view, OwnedPickView)
      }`,
    );
  }

  *#run(
    view: number,
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
        () => new EpochPicks(core, view, this.#register.pickCount(view), size, random),
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
          return this.#drawer.gather(MINIBATCHES, view, found, 1 / picks.count, kept);
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
  /** How many there were when the epoch began. */
  readonly count: number;
  readonly #core: ReplayCore;
  readonly #view: number;
  readonly #order: Int32Array<ArrayBuffer>;
  readonly #episodes: Float64Array<ArrayBuffer>;
  readonly #positions: Int32Array<ArrayBuffer>;
  readonly #found: Uint32Array<ArrayBuffer>;
  /** Episodes, positions and indices of picks, which the kernel is asked for. */
  readonly #asked: readonly [
    Float64Array<ArrayBuffer>,
    Int32Array<ArrayBuffer>,
    Uint32Array<ArrayBuffer>,
  ];
  #at = 0;

  constructor(core: ReplayCore, view: number, count: number, size: number, random: RandomStream) {
    this.#core = core;
    this.#view = view;
    this.count = count;
    this.#episodes = new Float64Array(Math.max(1, count));
    this.#positions = new Int32Array(Math.max(1, count));
    const piece = Math.min(size, count);
    this.#found = new Uint32Array(piece);
    this.#asked = [new Float64Array(piece), new Int32Array(piece), new Uint32Array(piece)];
    const { id, kernel: { symbols } } = core;
    const status = symbols.exrp_pick_list(id, view, 0, count, this.#episodes, this.#positions);
    core.check(MINIBATCHES, status);
    this.#order = rowsInOrder(count);
    shuffle(random, this.#order);
  }

  /** The indices in the view of the next picks that are still there. */
  next(): Uint32Array<ArrayBuffer> {
    const found = this.#found;
    const [episodes, positions, indices] = this.#asked;
    const { id, kernel: { symbols } } = this.#core;
    let foundCount = 0;
    while (foundCount < found.length && this.#at < this.count) {
      const count = Math.min(found.length - foundCount, this.count - this.#at);
      for (let k = 0; k < count; k++) {
        const pick = this.#order[this.#at++] as number;
        episodes[k] = this.#episodes[pick] as number;
        positions[k] = this.#positions[pick] as number;
        indices[k] = pick; // where it was when the epoch began
      }
      const status = symbols.exrp_pick_find(id, this.#view, episodes, positions, count, indices);
      this.#core.check(MINIBATCHES, status);
      for (let k = 0; k < count; k++) {
        if (indices[k] !== EXRP_INDEX_NONE) found[foundCount++] = indices[k] as number;
      }
    }
    return found.subarray(0, foundCount);
  }
}
