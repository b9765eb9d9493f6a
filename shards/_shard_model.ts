/**
 * The replay of shards as their learner knows it: without records, made of the first announcement. It says what a batch is, and what another shard must have to
 * give a part of one.
 *
 * @module
 */

import type { Kernel } from "../ffi/library.ts";
import { ReplayCore } from "../replay/core.ts";
import { BatchLayout } from "../replay/draw/batch_layout.ts";
import { insideOf, replayOver } from "../replay/experience_replay.ts";
import { makePickView } from "../replay/register/make.ts";
import type { PickView } from "../replay/register/pick_view.ts";
import type { ReplayConfig } from "../schema/create_options.ts";
import { type Announcement, schemaText } from "./_announcement.ts";
import { type Strides, stridesOf } from "./_draw_message.ts";

const WHERE = "connectShards()";
const LAYOUTS_MAX = 32;
/** Rules by which every weight is 1, whatever is drawn. */
const UNWEIGHTED = new Set(["oldest", "newest", "highestPriority", "lowestPriority", "recent"]);

/** What all shards have in common. */
export class ShardModel {
  /** The pick view of the selector. */
  readonly view: PickView;
  /** Whether its rule defines importance weights. */
  readonly isWeighted: boolean;
  readonly #first: Announcement;
  readonly #selector: number;
  readonly #core: ReplayCore;
  readonly #layouts = new Map<number, readonly [BatchLayout, Strides]>();

  /** Makes the replay of an announcement, for draws by this selector; throws if there can be none. */
  constructor(kernel: Kernel, first: Announcement, selector: number) {
    const { config, views, rules } = first;
    const small = { ...config, capacity: Math.min(config.capacity, 65_536) };
    const segmentLength = Math.min(config.segmentLength, small.capacity);
    const core = new ReplayCore(kernel, {
      ...{ ...small, segmentLength, capacityBytes: 0, maxAge: 0 },
    });
    try {
      const { register } = insideOf(replayOver(core));
      for (const policy of views.slice(1)) {
        register.addTable(policy);
        core.check(WHERE, makePickView(core.kernel, core.id, policy, core.config));
      }
      const rule = rules[selector];
      const view = register.views[rule?.view ?? -1];
      if (view === undefined) throw new RangeError(`there is no pick view ${rule?.view}`);
      this.view = view;
      this.isWeighted = !UNWEIGHTED.has(rule?.name ?? "");
    } catch (error) {
      core.dispose();
      throw error;
    }
    this.#core = core;
    this.#first = first;
    this.#selector = selector;
  }

  /** The checksum of the columns. */
  get schema(): number {
    return this.#first.schema;
  }

  /** The configuration. */
  get config(): ReplayConfig {
    return this.#core.config;
  }

  /** What differs in another shard; undefined if nothing does. */
  differenceOf({ name, config, views, rules }: Announcement): string | undefined {
    const first = this.#first;
    const selector = this.#selector;
    const rule = rules[selector];
    if (rule === undefined) return noSelector(name, selector);
    const pairs: readonly (readonly [what: string, here: string, there: string])[] = [
      ["columns", schemaText(config), schemaText(first.config)],
      ["pick views", JSON.stringify(views), JSON.stringify(first.views)],
      [`a selector ${selector}`, JSON.stringify(rule), JSON.stringify(first.rules[selector])],
    ];
    const differing = pairs.filter(([, here, there]) => here !== there);
    if (differing.length === 0) return undefined;
    return differing.map(([what, here, there]) =>
      `the shard ${name} has ${what} ${here}, and the shard ${first.name} has ${there}`
    ).join("; ");
  }

  /** The layout of a batch of this size, and that of the rows that shards send for it. */
  layoutOf(size: number): readonly [BatchLayout, Strides] {
    let known = this.#layouts.get(size);
    if (known === undefined) {
      const layout = new BatchLayout(this.#core, this.view, size);
      known = [layout, stridesOf(layout)];
      if (this.#layouts.size >= LAYOUTS_MAX) this.#layouts.clear();
      this.#layouts.set(size, known);
    }
    return known;
  }

  /** Frees it. */
  dispose(): void {
    this.#core.dispose();
  }
}

/** Says that a shard lacks the selector that a learner draws by. */
export function noSelector(shard: string, selector: number): string {
  return `the shard ${shard} has no selector ${selector}`;
}
