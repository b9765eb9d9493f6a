/**
 * Owns one replay of the kernel.
 *
 * @module
 */

import { dispose } from "../base/platform.ts";
import { checkStatus, type Kernel } from "./library.ts";

/** The finalizer needs these to free a replay. They never refer to the owner itself. */
interface Token {
  readonly kernel: Kernel;
  readonly id: number;
}

const registry = new FinalizationRegistry<Token>(destroy);

function destroy(token: Token): void {
  token.kernel.symbols.exrp_replay_destroy(token.id);
}

/** A replay of the kernel. `[Symbol.dispose]` frees it; without that call, the finalizer does. */
export class ReplayHandle implements Disposable {
  /** The kernel of the replay. */
  readonly kernel: Kernel;
  /** The replay's id in the kernel. After disposal the kernel refuses it. */
  readonly id: number;
  #disposed = false;

  /**
   * Creates a replay in the kernel.
   *
   * @param operation The call that an error is to name.
   * @throws {ReplayError} `capacity`, `memory`, `limit` or `argument`, as the kernel says.
   */
  constructor(
    kernel: Kernel,
    config: Float64Array<ArrayBuffer>,
    policy: Float64Array<ArrayBuffer>,
    columns: Uint32Array<ArrayBuffer>,
    operation: string,
  ) {
    const id = new Uint32Array(1);
    const status = kernel.symbols.exrp_replay_create(
      config,
      config.length,
      policy,
      policy.length,
      columns,
      columns.length / 3,
      id,
    );
    checkStatus(kernel, operation, status);
    this.kernel = kernel;
    this.id = id[0] ?? 0;
    registry.register(this, { kernel, id: this.id }, this);
  }

  /** True once the replay is freed. */
  get isDisposed(): boolean {
    return this.#disposed;
  }

  /** Frees the replay. A second call does nothing. */
  [dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    registry.unregister(this);
    destroy({ kernel: this.kernel, id: this.id });
  }
}
