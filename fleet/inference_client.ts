/**
 * The actor's side of central inference: it sends what its environments went through, and gets their next actions.
 *
 * A request that gets no answer is repeated with the same number. The server answers a repeated one as before and records nothing again, so each
 * step counts once, whatever was lost.
 *
 * @module
 */

import { checkInteger, checkNumber, show } from "../base/checks.ts";
import { reasonOf, ReplayError } from "../base/errors.ts";
import { numberOf, showAs } from "../base/inspect.ts";
import { checkOptions } from "../base/option_names.ts";
import { checkWait, pause, TIMER_MAX_MS, waitUntil } from "../base/waits.ts";
import type { TransitionColumns } from "../learner/types.ts";
import type { WaitOptions } from "../mod.ts";
import { StagedColumn } from "../replay/record/staged_column.ts";
import { leavesAs } from "../replay/record/staged_state.ts";
import { type AnyColumnArray, type Column, type ColumnArray, viewOf } from "../schema/columns.ts";
import { type StateColumns, type StateValues, takeApart } from "../schema/state.ts";
import { type Connection, payloadMax } from "../shards/connection.ts";
import {
  decodeReply,
  GOES_ON,
  InferenceLayout,
  meanAnyServer,
  type RequestHead,
  TERMINATED,
  TRUNCATED,
} from "./_inference_message.ts";
import { checkName, randomWord } from "./_names.ts";
import type { InferenceClientOptions, InferenceStep } from "./types.ts";

const WHERE = "inferenceClient()";
const RESET = "reset()";
const STEP = "step()";
const PARTS = ["reward", "terminated", "truncated", "nextState", "state"];
/** How long it waits before it asks again, where no server is there. */
const ABSENT_MS = 50;
/** How long it looks for a server, unless the caller says otherwise. */
const FIND_MS = 10_000;

/** What an actor asks for actions. {@linkcode inferenceClient} makes it. */
export interface InferenceClient<
  State extends StateColumns = StateColumns,
  Action extends Column = Column,
  Reward extends Column = Column,
> extends AsyncDisposable {
  /** How many environments it has. */
  readonly environments: number;
  /** How often a request was repeated, because no answer came. */
  readonly repeatCount: number;
  /** How often the server did not know the environments, because it is new or had taken the actor for dead. Its episodes begin anew there. */
  readonly forgottenCount: number;
  /**
   * Begins an episode in each environment. Open ones end as truncated.
   *
   * @param state `[n, ...shape]`: the first states.
   * @returns `[n, ...shape]`: the actions.
   * @throws {TypeError} If values are of another kind than their column.
   * @throws {RangeError} If there are not as many as environments.
   * @throws {ReplayError} `timeout` if no answer came in time: within 10 s until a server has answered once, and else within `timeoutMs`; you may call it again. `refused` if the server has other columns, or its policy failed.
   * `disposed` after the end of the client or the connection. `busy` if a call of this client is not done.
   */
  reset(state: StateValues<State>, options?: WaitOptions): Promise<ColumnArray<Action>>;
  /**
   * Says what came of the last actions, and gets the next ones.
   *
   * @param step What the environments returned.
   * @returns `[n, ...shape]`: the actions.
   * @throws What `reset` throws. After a `timeout`, call it again with the same values, or call `reset`. After `refused`, call `reset`.
   */
  step(step: InferenceStep<State, Reward>, options?: WaitOptions): Promise<ColumnArray<Action>>;
  /** Says that the actor leaves. Its episodes end as truncated. The connection stays open: it is yours. */
  close(): Promise<void>;
}

/**
 * Makes what an actor asks for actions: the server of {@linkcode serveInference} has the policy, and records the steps.
 *
 * @param connection A connection of NATS, or any other {@linkcode Connection}.
 * @param name What the server calls itself.
 * @param columns The same `state`, `action` and `reward` as those of the server.
 * @throws {TypeError} For arguments of another kind.
 * @throws {RangeError} For a number out of its range.
 * @example An actor of two environments
 * ```ts
 * import { float32 } from "@exrp/replay";
 * import { CartPole } from "@exrp/replay/envs";
 * import { inferenceClient, serveInference } from "@exrp/replay/fleet";
 * import { localConnection } from "@exrp/replay/shards";
 *
 * const connection = localConnection(); // or one of NATS, in each process
 * const columns = { state: float32(4) };
 * await using _server = await serveInference(connection, "policy", {
 *   ...columns,
 *   act: ({ size }) => ({ action: new Int32Array(size).fill(1) }), // yours: a network
 * });
 *
 * const carts = [new CartPole(1), new CartPole(2)];
 * await using client = inferenceClient(connection, "policy", columns, { environments: 2 });
 * let action = await client.reset(carts.flatMap((cart) => [...cart.reset()]));
 * for (let step = 0; step < 20; step++) {
 *   const results = carts.map((cart, k) => cart.step(action[k] ?? 0));
 *   const state = results.flatMap(({ state, terminated, truncated }, k) =>
 *     terminated || truncated ? [...carts[k]?.reset() ?? []] : [...state]
 *   );
 *   action = await client.step({
 *     reward: results.map(({ reward }) => reward),
 *     terminated: results.map(({ terminated }) => terminated),
 *     truncated: results.map(({ truncated }) => truncated),
 *     nextState: results.flatMap(({ state }) => [...state]),
 *     state,
 *   });
 * }
 * console.log([...action]); // [1, 1]
 * ```
 */
export function inferenceClient<
  const State extends StateColumns,
  Action extends Column = Column<"int32", []>,
  Reward extends Column = Column<"float32", []>,
>(
  connection: Connection,
  name: string,
  columns: TransitionColumns<State, Action, Reward, never>,
  options: InferenceClientOptions = {},
): InferenceClient<State, Action, Reward> {
  checkName(WHERE, name);
  checkOptions(WHERE, options, ["environments", "retryMs"]);
  checkOptions(`${WHERE}: the columns`, columns, ["state", "action", "reward"]);
  const { environments = 1, retryMs = 1000 } = options;
  checkInteger(`${WHERE}: environments`, environments, 1, 65_536);
  checkNumber(`${WHERE}: retryMs`, retryMs, 1, TIMER_MAX_MS);
  const layout = new InferenceLayout(WHERE, columns as TransitionColumns);
  return new Client(connection, name, { layout, environments, retryMs });
}

/** What a client needs besides. */
interface ClientNeeds {
  readonly layout: InferenceLayout;
  readonly environments: number;
  readonly retryMs: number;
}

class Client<State extends StateColumns, Action extends Column, Reward extends Column>
  implements InferenceClient<State, Action, Reward> {
  static readonly name = "InferenceClient";
  readonly environments: number;
  repeatCount = 0;
  forgottenCount = 0;
  readonly #connection: Connection;
  readonly #name: string;
  readonly #layout: InferenceLayout;
  readonly #retryMs: number;
  readonly #actor = randomWord() * 2 ** 21 + randomWord() % 2 ** 21;
  readonly #end = new AbortController();
  readonly #operation = { name: RESET };
  readonly #state: readonly StagedColumn[];
  readonly #nextState: readonly StagedColumn[];
  readonly #reward: StagedColumn;
  readonly #ended: Uint8Array;
  /** The number of the latest request, and whether it was answered. */
  #number = -1;
  #isAnswered = true;
  /** The server that answered last: the next request is meant for it. */
  #server = 0;
  /** Why the last attempt had no answer. */
  #lastError: unknown;
  #isAsking = false;
  #hasActions = false;

  constructor(connection: Connection, name: string, needs: ClientNeeds) {
    const { layout, environments, retryMs } = needs;
    this.environments = environments;
    this.#connection = connection;
    this.#name = name;
    this.#layout = layout;
    this.#retryMs = retryMs;
    const staged = (named: { name: string; column: Column }): StagedColumn => {
      const { elementBytes, elementCount } = named.column;
      const buffer = new ArrayBuffer(elementBytes * elementCount * environments);
      return new StagedColumn(named, { operation: this.#operation, buffer, steps: environments });
    };
    this.#state = layout.leaves.map(staged);
    this.#nextState = leavesAs("nextState", layout.leaves).map(staged);
    this.#reward = staged(layout.reward);
    this.#ended = new Uint8Array(environments);
  }

  async reset(
    state: StateValues<State>,
    options: WaitOptions = {},
  ): Promise<ColumnArray<Action>> {
    this.#check(RESET, options);
    this.#operation.name = RESET;
    this.#write("state", this.#state, state);
    const head = this.#headOf(this.#number + 1, { isReset: true });
    this.#number = head.number;
    this.#hasActions = false;
    return await this.#ask(RESET, this.#message(head), options);
  }

  async step(
    step: InferenceStep<State, Reward>,
    options: WaitOptions = {},
  ): Promise<ColumnArray<Action>> {
    this.#check(STEP, options);
    checkOptions(STEP, step, PARTS);
    if (!this.#hasActions) {
      throw new ReplayError("episode-ended", `${STEP}: no episode is open; call reset() first`);
    }
    this.#operation.name = STEP;
    this.#write("state", this.#state, step.state);
    this.#write("nextState", this.#nextState, step.nextState);
    this.#reward.write(step.reward);
    this.#writeEnded(step);
    // Where the last call got no answer, this is the same step again.
    const head = this.#headOf(this.#isAnswered ? this.#number + 1 : this.#number, {});
    this.#number = head.number;
    return await this.#ask(STEP, this.#message(head), options);
  }

  async close(): Promise<void> {
    if (this.#end.signal.aborted) return;
    this.#end.abort(new ReplayError("disposed", "close(): the client is closed"));
    if (this.#number < 0 || this.#connection.isClosed()) return;
    const head = this.#headOf(this.#number + 1, { isEnd: true });
    try {
      await this.#connection.request(this.#name, this.#message(head), { timeout: this.#retryMs });
    } catch {
      return; // the server notices by the silence
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #check(operation: string, options: WaitOptions): void {
    checkOptions(operation, options, ["signal", "timeoutMs"]);
    checkWait(operation, options);
    if (this.#end.signal.aborted) {
      throw new ReplayError("disposed", `${operation}: the client is closed`);
    }
    if (this.#isAsking) {
      throw new ReplayError("busy", `${operation}: an earlier call of this client is not done`);
    }
  }

  #headOf(number: number, { isReset = false, isEnd = false }): RequestHead {
    const { environments } = this;
    return { actor: this.#actor, number, server: this.#server, environments, isReset, isEnd };
  }

  #write(name: string, leaves: readonly StagedColumn[], value: unknown): void {
    const values = takeApart(`${this.#operation.name}: ${name}`, this.#layout.named.tree, value);
    for (const [k, leaf] of leaves.entries()) leaf.write(values[k]);
  }

  #writeEnded({ terminated, truncated }: Pick<InferenceStep, "terminated" | "truncated">): void {
    const count = this.environments;
    const flags = (name: string, given: ArrayLike<unknown> | undefined): readonly boolean[] => {
      if (given?.length !== count) {
        throw new RangeError(
          `${STEP}: ${name} must have a flag for each of ${count} environments, got ${show(given)}`,
        );
      }
      return Array.from(given, (flag) => {
        if (typeof flag === "boolean" || flag === 0 || flag === 1) return Boolean(flag);
        throw new TypeError(`${STEP}: ${name} must have true or false, 1 or 0, got ${show(flag)}`);
      });
    };
    const isTerminated = flags("terminated", terminated);
    const isTruncated = truncated === undefined ? [] : flags("truncated", truncated);
    for (let k = 0; k < count; k++) {
      this.#ended[k] = isTerminated[k] ? TERMINATED : isTruncated[k] ? TRUNCATED : GOES_ON;
    }
  }

  /** The request with what is staged. */
  #message(head: RequestHead): Uint8Array<ArrayBuffer> {
    const layout = this.#layout;
    const isStep = !head.isReset && !head.isEnd;
    const ended = isStep ? [...this.#ended.keys()].filter((k) => this.#ended[k] !== GOES_ON) : [];
    const buffer = new ArrayBuffer(layout.bytesOf(head, ended.length));
    layout.writeHead(buffer, head, ended.length);
    if (head.isEnd) return new Uint8Array(buffer);
    const parts = layout.partsIn(buffer, head, ended.length);
    for (const [k, leaf] of this.#state.entries()) parts.state[k]?.set(leaf.view);
    if (isStep) {
      parts.reward.set(this.#reward.view);
      parts.ended.set(this.#ended);
      for (const [k, { view, named: { column: { elementCount } } }] of this.#nextState.entries()) {
        for (const [row, e] of ended.entries()) {
          const from = view.subarray(e * elementCount, (e + 1) * elementCount);
          parts.finalState[k]?.set(from, row * elementCount);
        }
      }
    }
    return new Uint8Array(buffer);
  }

  /** Sends a request until it is answered. */
  async #ask(
    operation: string,
    message: Uint8Array,
    // A server that is there may make an actor wait for long, such as for a replay that is full.
    { signal, timeoutMs = this.#server === 0 ? FIND_MS : Infinity }: WaitOptions,
  ): Promise<ColumnArray<Action>> {
    const most = payloadMax(this.#connection);
    if (message.length > most) {
      throw new RangeError(
        `${operation}: the states of ${this.environments} environments take ${message.length} bytes, and the connection takes ${most} at once; give NATS a larger max_payload, or an actor fewer environments`,
      );
    }
    let request = message;
    this.#isAsking = true;
    this.#isAnswered = false;
    const end = performance.now() + timeoutMs;
    const both = signal === undefined
      ? this.#end.signal
      : AbortSignal.any([signal, this.#end.signal]);
    try {
      for (let attempt = 0;; attempt++) {
        both.throwIfAborted();
        if (this.#connection.isClosed()) {
          throw new ReplayError("disposed", `${operation}: the connection is closed`);
        }
        const leftMs = end - performance.now();
        if (leftMs <= 0) {
          const why = this.#lastError === undefined ? "" : `: ${reasonOf(this.#lastError)}`;
          throw new ReplayError(
            "timeout",
            `${operation}: no answer came within ${timeoutMs} ms${why}`,
            { cause: this.#lastError },
          );
        }
        if (attempt > 0) this.repeatCount++;
        // The server may be gone. Another one takes the environments over.
        if (attempt === 1) request = meanAnyServer(message);
        const data = await this.#attempt(request, Math.min(this.#retryMs, leftMs), both);
        if (data === undefined) continue;
        const action = this.#actionsOf(operation, data);
        if (action !== undefined) return action;
        await pause(ABSENT_MS, both); // somebody else answers here
      }
    } finally {
      this.#isAsking = false;
    }
  }

  /** One attempt: undefined where no answer came. */
  async #attempt(
    message: Uint8Array,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    const begin = performance.now();
    try {
      return await waitUntil<Uint8Array>({ signal }, (done, fail) => {
        const timeout = Math.max(1, Math.ceil(timeoutMs));
        this.#connection.request(this.#name, message, { timeout }).then(
          ({ data }) => done(data),
          fail,
        );
        return () => {};
      });
    } catch (error) {
      signal.throwIfAborted();
      this.#lastError = error;
      const restMs = Math.min(ABSENT_MS, timeoutMs) - (performance.now() - begin);
      if (restMs > 0) await pause(restMs, signal); // nobody was there
      return undefined;
    }
  }

  /** The actions of an answer; undefined if it is none. */
  #actionsOf(operation: string, data: Uint8Array): ColumnArray<Action> | undefined {
    const reply = decodeReply(data);
    if (reply === undefined) return undefined;
    this.#server = reply.server;
    if (reply.error !== undefined) {
      this.#isAnswered = true;
      this.#hasActions = false;
      throw new ReplayError("refused", `${operation}: the server refused it: ${reply.error}`);
    }
    const { dtype, elementBytes, elementCount } = this.#layout.action.column;
    const count = this.environments * elementCount;
    if (reply.number !== this.#number || reply.actions.length !== count * elementBytes) {
      return undefined;
    }
    this.#isAnswered = true;
    this.#hasActions = true;
    if (reply.isNew) this.forgottenCount++;
    const action: AnyColumnArray = viewOf(
      dtype,
      new Uint8Array(reply.actions).buffer,
      0,
      count,
    );
    return action as ColumnArray<Action>;
  }
}

showAs(
  Client,
  (client: Client<StateColumns, Column, Column>) =>
    `InferenceClient { ${numberOf(client.environments, "environment")}, ${
      numberOf(client.repeatCount, "repeated request")
    } }`,
);
