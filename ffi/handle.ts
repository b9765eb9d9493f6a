/**
 * Owns one seat at a replay of the kernel: the only one, unless the replay is shared.
 *
 * @module
 */

import { lengthOf } from "../base/typed_arrays.ts";
import { dispose } from "../base/platform.ts";
import { checkStatus, type Kernel } from "./library.ts";

/** The finalizer needs these to give a seat back. They never refer to the owner itself. */
type Token = Pick<ReplayHandle, "kernel" | "id">;

const registry = new FinalizationRegistry<Token>(destroy);

function destroy(token: Token): void {
  token.kernel.symbols.exrp_replay_destroy(token.id);
}

/**
 * A seat at a replay of the kernel. `[Symbol.dispose]` gives it back; without that call, the finalizer does. The last seat frees the
 * replay.
 */
export class ReplayHandle implements Disposable {
  /** The kernel of the replay. */
  readonly kernel: Kernel;
  /** The seat's id, which calls of the kernel take. After disposal the kernel refuses it. */
  readonly id: number;
  #disposed = false;

  private constructor(kernel: Kernel, id: number) {
    this.kernel = kernel;
    this.id = id;
    registry.register(this, { kernel, id }, this);
  }

  /**
   * Creates a replay in the kernel.
   *
   * @param operation The call that an error is to name.
   * @throws {ReplayError} `capacity`, `memory`, `limit` or `argument`, as the kernel says.
   */
  static create(
    kernel: Kernel,
    config: Float64Array<ArrayBuffer>,
    policy: Float64Array<ArrayBuffer>,
    columns: Uint32Array<ArrayBuffer>,
    operation: string,
  ): ReplayHandle {
    const id = new Uint32Array(1);
    const status = kernel.symbols.exrp_replay_create(
      config,
      lengthOf(config),
      policy,
      lengthOf(policy),
      columns,
      lengthOf(columns) / 3,
      id,
    );
    checkStatus(kernel, operation, status);
    return new ReplayHandle(kernel, id[0] ?? 0);
  }

  /**
   * Takes a seat at a replay that is shared, by the numbers of a ticket.
   *
   * @throws {ReplayError} `ticket`, `limit` or `memory`, as the kernel says.
   */
  static attach(kernel: Kernel, ticket: Float64Array<ArrayBuffer>): ReplayHandle {
    const id = new Uint32Array(1);
    const status = kernel.symbols.exrp_replay_attach(ticket, lengthOf(ticket), id);
    checkStatus(kernel, "ExperienceReplay.attach()", status);
    return new ReplayHandle(kernel, id[0] ?? 0);
  }

  /** True once the seat was given back. */
  get isDisposed(): boolean {
    return this.#disposed;
  }

  /** Gives the seat back. A second call does nothing. */
  [dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    registry.unregister(this);
    destroy({ kernel: this.kernel, id: this.id });
  }
}
