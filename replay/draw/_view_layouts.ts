/**
 * How the batches of one pick view are laid out.
 *
 * @module
 */

import { checkInteger } from "../../base/checks.ts";
import { EXRP_LIMIT_BATCH } from "../../ffi/symbols.ts";
import { describeLayout, rowCount } from "../../schema/pick_options.ts";
import type { ReplayCore } from "../core.ts";
import type { PickView } from "../register/pick_view.ts";
import { BatchLayout } from "./batch_layout.ts";

/** At most this many layouts are kept. */
const LAYOUTS_MAX = 32;

/** The layouts of one pick view's batches, by size. */
export class ViewLayouts {
  readonly #view: PickView;
  readonly #core: ReplayCore;
  readonly #key: string;
  readonly #layouts = new Map<number, BatchLayout>();
  #latest: BatchLayout | undefined;

  /** The layouts of `view`, a pick view of the replay of `core`. */
  constructor(core: ReplayCore, view: PickView) {
    this.#core = core;
    this.#view = view;
    const { policy } = view;
    const columns = core.config.columns.map(({ name, column }) => `${name}: ${column}`);
    const layout = describeLayout(policy);
    this.#key = `{ ${columns.join(", ")} } x ${rowCount(policy)}${layout && `, ${layout}`}`;
  }

  /** The bytes of the spare buffers. */
  get spareBytes(): number {
    let bytes = 0;
    for (const layout of this.#layouts.values()) bytes += layout.spareBytes;
    return bytes;
  }

  /** The layout of batches of `size`. */
  of(size: number, operation = "getBatch()"): BatchLayout {
    if (this.#latest?.size === size) return this.#latest;
    checkInteger(`${operation}: size`, size, 1, EXRP_LIMIT_BATCH);
    let layout = this.#layouts.get(size);
    if (layout === undefined) {
      layout = new BatchLayout(this.#core, this.#view, this.#key, size);
      if (this.#layouts.size >= LAYOUTS_MAX) this.#layouts.clear();
      this.#layouts.set(size, layout);
    }
    this.#latest = layout;
    return layout;
  }
}
