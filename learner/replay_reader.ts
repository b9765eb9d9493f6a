/**
 * Draws transitions from a replay of this thread, shared or not.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { checkOptions } from "../base/option_names.ts";
import { checkWait } from "../base/waits.ts";
import type { Batch, ExperienceReplay, Selector } from "../mod.ts";
import { coreOf } from "../replay/replay_view.ts";
import type { StateLeaves } from "../schema/state.ts";
import type { AnySchema, Schema } from "../schema/schema.ts";
import type {
  ReaderBatchesOptions,
  ReaderGetBatchOptions,
  ReaderStats,
  ReplayReader,
  TransitionBatch,
  TransitionsOf,
} from "./types.ts";
import { Transitions } from "./transitions.ts";
import { Waits } from "./_waits.ts";

const WHERE = "replayReader()";
const SAMPLE = ["beta", "timeoutMs", "signal"];

/**
 * Makes the {@linkcode ReplayReader} of a replay: one of `create`, or one that this thread attached to.
 *
 * A pick must be one step. If the pick view of the selector has one n-step return, `reward`, `nextState` and `discount` are those of
 * it. For sequences, call the replay itself.
 *
 * @param selector What draws: a selector of the replay.
 * @throws {TypeError} If `replay` is none, or if a pick is longer than a step, has several n-step returns, or may have no next state.
 * @throws {ReplayError} `foreign-selector` for a selector of another replay.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
 * import { replayReader, replayWriter } from "@exrp/replay/learner";
 *
 * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(2) });
 * await using reader = replayReader(replay, replay.newPickSelector(prioritized()));
 * await using writer = replayWriter(replay);
 * await writer.append({ state: [0, 1], action: 1, reward: 0.5, nextState: [1, 2], terminated: true });
 * await writer.flush();
 *
 * const batch = await reader.getBatch(32, { beta: 0.4, timeoutMs: 1000 });
 * console.log(batch.shape.state); // [32, 2]
 * console.log(batch.nextState.subarray(0, 2)); // Float32Array(2) [1, 2]
 * console.log(batch.reward[0], batch.discount[0]); // 0.5 0
 * await reader.setPriority(batch, batch.reward.map(Math.abs)); // yours: the TD errors
 * console.log(await reader.stats()); // { size: 1, inserted: 1, drawn: 32 }
 * ```
 */
export function replayReader<S extends Schema = AnySchema>(
  replay: ExperienceReplay<S>,
  selector: Selector,
): ReplayReader<TransitionsOf<S>> {
  const { config } = coreOf(WHERE, replay);
  return new OwnReplayReader<TransitionsOf<S>>(
    replay as unknown as ExperienceReplay,
    selector,
    config,
  );
}

/** The arrays of a batch that say which picks it has. */
type Keys = Partial<Pick<Batch, "pickEpisode" | "pickPosition">>;

class OwnReplayReader<S extends Schema> implements ReplayReader<S> {
  static readonly name = "ReplayReader";
  readonly #replay: ExperienceReplay;
  readonly #selector: Selector;
  readonly #transition: Transitions<S>;
  readonly #waits = new Waits("reader");

  constructor(replay: ExperienceReplay, selector: Selector, state: StateLeaves) {
    this.#replay = replay;
    this.#selector = selector;
    const { pickViews, selectors } = replay;
    if (selectors[selector?.id] !== selector) {
      throw new ReplayError("foreign-selector", `${WHERE} takes a selector of the same replay`);
    }
    const policy = pickViews[selector.view]?.policy;
    this.#transition = new Transitions(WHERE, policy, state, replay.columns.reward);
  }

  async getBatch(
    size: number,
    options?: ReaderGetBatchOptions,
  ): Promise<TransitionBatch<S>> {
    const where = "getBatch()";
    this.#waits.check(where);
    if (options !== undefined) {
      checkOptions(where, options, SAMPLE);
      checkWait(where, options);
      options.signal?.throwIfAborted();
    }
    const beta = options?.beta ?? 1;
    try {
      return this.#draw(size, beta);
    } catch (error) {
      if (!isPassing(error)) throw error;
    }
    const draw = (): TransitionBatch<S> => this.#draw(size, beta);
    return await this.#waits.run(
      where,
      options ?? {},
      (wait) => this.#replay.whenReady(draw, wait),
    );
  }

  #draw(size: number, beta: number): TransitionBatch<S> {
    return this.#transitions(this.#replay.getBatch(size, this.#selector, { beta }));
  }

  async *batches(
    size: number,
    options: ReaderBatchesOptions = {},
  ): AsyncGenerator<TransitionBatch<S>, void, void> {
    const where = "batches()";
    checkOptions(where, options, ["beta", "prefetch", "signal"]);
    const { beta = 1 } = options;
    const signal = this.#waits.signalOf(options.signal);
    for (;;) {
      // The replay's own stream does not wait for a first pick.
      yield await this.getBatch(size, {
        beta: typeof beta === "function" ? beta() : beta,
        signal,
      });
      try {
        const stream = this.#replay.batches(size, this.#selector, { ...options, signal });
        for await (const batch of stream) yield this.#transitions(batch);
      } catch (error) {
        if (!isPassing(error)) throw error;
      }
    }
  }

  // deno-lint-ignore require-await -- every error is a rejection
  async setPriority(
    { keys }: { readonly keys: unknown },
    priorities: Float32Array | Float64Array | readonly number[],
  ): Promise<void> {
    this.#waits.check("setPriority()");
    const { pickEpisode, pickPosition } = (keys ?? {}) as Keys;
    if (pickEpisode === undefined || pickPosition === undefined) {
      throw new TypeError("setPriority() takes a batch of this reader, got one of a table");
    }
    this.#replay.setPriority(this.#selector, pickEpisode, pickPosition, priorities);
  }

  // deno-lint-ignore require-await -- every error is a rejection
  async stats(): Promise<ReaderStats> {
    this.#waits.check("stats()");
    const { records, selectors } = this.#replay.stats();
    const { pickCount = 0, drawnCount = 0 } = selectors[this.#selector.id] ?? {};
    return { size: pickCount, inserted: records.written, drawn: drawnCount };
  }

  // deno-lint-ignore require-await -- other readers have something to wait for
  async close(): Promise<void> {
    this.#waits.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #transitions(batch: Batch): TransitionBatch<S> {
    const { pickEpisode, pickPosition } = batch;
    return this.#transition.of(batch, { pickEpisode, pickPosition } satisfies Keys);
  }
}

/** Whether a draw may succeed later, when records come. */
function isPassing(error: unknown): boolean {
  return error instanceof ReplayError && (error.code === "empty" || error.code === "rate-limiter");
}
