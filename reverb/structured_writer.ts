/**
 * Writes items by patterns: you append steps, and the writer makes the items.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import type { Cell, Column } from "./_column.ts";
import { ItemWriter, type WriterDoor } from "./item_writer.ts";
import { samePath, showPath, type StepPath } from "./path.ts";
import { type Place, Steps } from "./_steps.ts";
import { newTrajectoryColumn, type TrajectoryColumn } from "./history.ts";
import type { PatternCondition, PatternConfig, PatternNode, PatternPriority } from "./patterns.ts";
import { specOfLeaf } from "./tensor.ts";
import type { StructuredWriterOptions, WaitLimits, WriterEndOptions } from "./writer_options.ts";

/** A pattern, and when it was last applied. */
interface ConfigState {
  readonly config: PatternConfig;
  /** The step of its last item, 0 before. */
  lastApplied: number;
}

/** Makes a writer. */
export let newStructuredWriter: (
  door: WriterDoor,
  configs: readonly PatternConfig[],
  options: StructuredWriterOptions,
) => StructuredWriter;

/**
 * Writes items by patterns: `client.structuredWriter()` makes one. You append steps. After each step the writer makes an item of every
 * pattern whose conditions hold, and for which there are enough steps.
 *
 * Await `append`: it waits while too many items are unconfirmed.
 *
 * @example
 * ```ts
 * import { Condition, createPatternConfig } from "@exrp/replay/reverb";
 * import { Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { replay: { maxSize: 1000 } } });
 *
 * interface Step {
 *   readonly state: Float32Array;
 *   readonly action: number;
 * }
 * const config = createPatternConfig<Step>({
 *   table: "replay",
 *   pattern: (step) => ({ states: step.state.slice(-5), actions: step.action.slice(-5, -1) }),
 *   conditions: [Condition.stepsSinceApplied().ge(2)],
 * });
 * await using writer = tables.structuredWriter([config], { chunkLength: 5 });
 * for (let t = 0; t < 10; t++) await writer.append({ state: Float32Array.of(t), action: 0 });
 * await writer.endEpisode();
 * console.log(tables.table("replay").size); // 3: after steps 5, 7 and 9
 * ```
 */
export class StructuredWriter extends ItemWriter {
  readonly #steps: Steps;
  readonly #states: readonly ConfigState[];
  /** The columns that conditions look at. */
  readonly #dataPaths: readonly StepPath[];
  /** The number of the newest step in its episode. */
  #stepIndex = 0;
  /** How many steps had values for patterns, and whether the newest one is among them. */
  #stepCount = 0;
  #isCounted = false;

  static {
    newStructuredWriter = (door, configs, options) => new StructuredWriter(door, configs, options);
  }

  private constructor(
    door: WriterDoor,
    configs: readonly PatternConfig[],
    options: StructuredWriterOptions,
  ) {
    if (!Array.isArray(configs) || configs.length === 0) {
      throw new TypeError(`structuredWriter() needs at least one config, got ${show(configs)}`);
    }
    checkOptions("structuredWriter()", options, [
      "validateItems",
      "chunkLength",
      "maxPendingItems",
    ]);
    const dataPaths = configs.flatMap(({ conditions }) =>
      conditions.flatMap(({ source }: PatternCondition) =>
        typeof source === "string" ? [] : [source]
      )
    );
    const used = [
      ...dataPaths,
      ...configs.flatMap(({ nodes }) => nodes.map(({ path }: PatternNode) => path)),
    ];
    const numKeepAliveRefs = Math.max(...configs.map(({ length }) => length));
    const steps = new Steps(
      "structuredWriter()",
      door,
      { ...options, numKeepAliveRefs },
      (path) => used.some((one) => samePath(one, path)),
    );
    super(steps);
    this.#steps = steps;
    this.#states = configs.map((config) => ({ config, lastApplied: 0 }));
    this.#dataPaths = dataPaths;
  }

  /** Complete steps since the episode began. */
  get episodeSteps(): number {
    return this.#steps.episodeSteps;
  }

  /** Whether the last `append` had `partialStep`, so that the next values belong to the same step. */
  get isStepOpen(): boolean {
    return this.#steps.isOpen;
  }

  /**
   * Appends a step, makes the items for which it is the time, and waits while too many items are unconfirmed. Columns that no pattern
   * has are not kept.
   *
   * @throws {TypeError} If a column changes its dtype or shape. Nothing was appended then.
   */
  async append(
    data: unknown,
    options: WaitLimits & { readonly partialStep?: boolean } = {},
  ): Promise<void> {
    checkOptions("append()", options, ["partialStep", "timeoutMs", "signal"]);
    const { partialStep = false, ...wait } = options;
    for (const path of this.#dataPaths) checkOne(path, data);
    const steps = this.#steps;
    const isNew = !steps.isOpen;
    steps.append(data, partialStep);
    if (isNew) this.#isCounted = false;
    // A complete step counts already, but its number is that of the step itself.
    this.#stepIndex = partialStep ? steps.episodeSteps : steps.episodeSteps - 1;
    this.#apply(false);
    await steps.relieve("append()", wait);
  }

  #apply(isEnd: boolean): void {
    const steps = this.#steps;
    const position = steps.length - 1;
    if (position < 0 || !steps.columns.some((column) => column.has(position))) return;
    if (!this.#isCounted) this.#stepCount += 1;
    this.#isCounted = true;
    for (const state of this.#states) {
      const { config } = state;
      const stepsSinceApplied = this.#stepCount - state.lastApplied;
      if (stepsSinceApplied === 0 || steps.length < config.length) continue;
      if (!this.#isTime(config, stepsSinceApplied, isEnd)) continue;
      const columns = this.#columns(config);
      if (columns === undefined) continue;
      const { table, nodes, paths, priority, removerPriority: own } = config;
      const head = {
        table,
        priority: priorityOf(priority, nodes, columns),
        removerPriority: own && priorityOf(own, nodes, columns),
      };
      const placed = columns.map((column, k) => ({ path: paths[k] ?? [], column }));
      steps.create("append()", head, placed);
      state.lastApplied = this.#stepCount;
    }
  }

  #isTime({ conditions }: PatternConfig, stepsSinceApplied: number, isEnd: boolean): boolean {
    const { length } = this.#steps;
    return conditions.every(({ source, holds }) => {
      if (source === "stepIndex") return holds(this.#stepIndex);
      if (source === "stepsSinceApplied") return holds(stepsSinceApplied);
      if (source === "isEndEpisode") return holds(isEnd ? 1 : 0);
      const cell = this.#column(source)?.cell(length - 1, length);
      return cell !== undefined && holds(Number(cell.chunk.row(cell.offset)[0]));
    });
  }

  #column(path: StepPath): Column | undefined {
    let place: Place | undefined = this.#steps.root;
    for (const key of path) place = place?.parts.get(key);
    return place?.column;
  }

  /** The columns of an item; undefined where a value is missing. */
  #columns({ nodes }: PatternConfig): TrajectoryColumn[] | undefined {
    const { length } = this.#steps;
    const columns: TrajectoryColumn[] = [];
    for (const { path, start, stop, step, isSqueezed } of nodes) {
      const column = this.#column(path);
      if (column === undefined) return undefined;
      const cells: Cell[] = [];
      for (let at = start; at < stop; at += step) {
        const cell = column.cell(length + at, length);
        if (cell === undefined) return undefined;
        cells.push(cell);
      }
      columns.push(newTrajectoryColumn({ cells, spec: column.specs[0] }, isSqueezed));
    }
    return columns;
  }

  /**
   * Makes the items of patterns that wait for the episode's end, flushes everything, and begins a new episode. If that fails, the episode
   * goes on.
   */
  async endEpisode(options: WriterEndOptions = {}): Promise<void> {
    this.#steps.stream.check();
    this.#apply(true);
    await this.#steps.endEpisode(options);
  }
}

/** A condition looks at one number. */
function checkOne(path: StepPath, data: unknown): void {
  let value = data;
  for (const key of path) {
    value = (value as Record<string | number, unknown> | null | undefined)?.[key];
  }
  if (value === null || value === undefined) return;
  const { dtype, elements } = specOfLeaf(path, value);
  if (dtype.array !== undefined && elements === 1) return;
  throw new TypeError(
    `append(): ${showPath(path)} must be one number or boolean, as a condition looks at it, got ${
      show(value)
    }`,
  );
}

function priorityOf(
  priority: PatternPriority,
  nodes: readonly PatternNode[],
  columns: readonly TrajectoryColumn[],
): number {
  if (priority.kind === "constant") return priority.value;
  const k = nodes.findLastIndex(({ path }) => samePath(path, priority.path));
  const values = (columns[k]?.values() ?? []) as ArrayLike<unknown>;
  const errors = Array.from(values, (error) => Math.abs(Number(error)));
  const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
  return priority.maxWeight * Math.max(...errors) + (1 - priority.maxWeight) * mean;
}
