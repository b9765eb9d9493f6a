/**
 * Writes steps to a replay of this thread, shared or not.
 *
 * @module
 */

import { ActorWriter } from "../actors/actor_writer.ts";
import type { ActorStep } from "../actors/actor_options.ts";
import { isNumeric } from "../base/typed_arrays.ts";
import { checkOptions } from "../base/option_names.ts";
import type { ExperienceReplay, WaitOptions } from "../mod.ts";
import type { Schema } from "../schema/schema.ts";
import type { ReplayWriter, TransitionsOf, WriterStep } from "./types.ts";
import { Turns } from "./_turns.ts";

/** The options of {@linkcode replayWriter}, those of the {@linkcode ActorWriter} that it is made of. */
export interface ReplayWriterOptions {
  /** How many steps are written in one call: from 1 to 1,048,576; 50 by default. */
  readonly flushSteps?: number;
  /** The tag of the episodes: a whole number from -2^31 to 2^31 - 1; 0 by default. */
  readonly tag?: number;
}

/**
 * Makes the {@linkcode ReplayWriter} of one environment for a replay: one of `create`, or one that this thread attached to.
 *
 * @throws {TypeError} If `replay` is none, or for an unknown option.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import { replayWriter } from "@exrp/replay/learner";
 *
 * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32() });
 * await using writer = replayWriter(replay, { flushSteps: 10 });
 * for (let state = 0; state < 14; state++) {
 *   await writer.append({ state, action: 0, reward: 1, nextState: state + 1, terminated: false });
 * }
 * console.log(replay.recordCount); // 10
 * await writer.flush();
 * console.log(replay.recordCount); // 14
 * ```
 */
export function replayWriter<S extends Schema>(
  replay: ExperienceReplay<S>,
  options: ReplayWriterOptions = {},
): ReplayWriter<TransitionsOf<S>> {
  checkOptions("replayWriter()", options, ["flushSteps", "tag"]);
  return new OwnReplayWriter(
    new ActorWriter(replay, options) as unknown as ActorWriter<TransitionsOf<S>>,
  );
}

class OwnReplayWriter<S extends Schema> implements ReplayWriter<S> {
  static readonly name = "ReplayWriter";
  readonly #writer: ActorWriter<S>;
  readonly #turns = new Turns();

  constructor(writer: ActorWriter<S>) {
    this.#writer = writer;
  }

  async append(step: WriterStep<S>, options: WaitOptions = {}): Promise<void> {
    const where = "append()";
    this.#turns.check(where);
    if (this.#turns.isFree && !this.#writer.isFull) {
      this.#writer.step(step as ActorStep<S>);
      return;
    }
    const own = copyOf(step);
    await this.#turns.run(where, options, async (limits) => {
      if (this.#writer.isFull) await this.#writer.flushWhenReady(limits);
      this.#writer.step(own as ActorStep<S>);
    });
  }

  async endEpisode(options: WaitOptions = {}): Promise<void> {
    // deno-lint-ignore require-await -- every error is a rejection
    await this.#turns.run("endEpisode()", options, async () => this.#writer.cut());
  }

  async flush(options: WaitOptions = {}): Promise<void> {
    await this.#turns.run("flush()", options, async (limits) => {
      await this.#writer.flushWhenReady(limits);
    });
  }

  close(options: WaitOptions = {}): Promise<void> {
    return this.#turns.close(options, async (limits) => {
      await this.#writer.close(limits);
      this.#turns.end();
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** A step with arrays of its own. What is no array stays what it is, so that the writer can refuse it. */
function copyOf(part: unknown): unknown {
  if (Array.isArray(part) || isNumeric(part)) return part.slice();
  if (typeof part !== "object" || part === null || ArrayBuffer.isView(part)) return part;
  return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, copyOf(one)]));
}
