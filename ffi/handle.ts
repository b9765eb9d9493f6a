/**
 * Owns one replay of the kernel.
 *
 * @module
 */

import { checkStatus, type Kernel } from "./library.ts";

/** What is kept to free a replay whose owner was forgotten: never the owner itself. */
interface Token {
  readonly kernel: Kernel;
  readonly id: number;
}

const registry = new FinalizationRegistry<Token>(destroy);

function destroy(token: Token): void {
  token.kernel.symbols.exrp_replay_destroy(token.id);
}

/** A replay of the kernel: freed by `[Symbol.dispose]`, or by the finalizer when that was forgotten. */
export class ReplayHandle implements Disposable {
  /** The kernel it lives in. */
  readonly kernel: Kernel;
  /** Its number there. Stale after disposal, which the kernel notices. */
  readonly id: number;
  #disposed = false;

  /**
   * Creates a replay in the kernel.
   *
   * @throws {ReplayError} The kernel's answer: `capacity`, `memory`, `limit` or `argument`.
   */
  constructor(
    kernel: Kernel,
    config: Float64Array<ArrayBuffer>,
    policy: Float64Array<ArrayBuffer>,
    columns: Uint32Array<ArrayBuffer>,
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
    checkStatus(kernel, "ExperienceReplay.create()", status);
    this.kernel = kernel;
    this.id = id[0] ?? 0;
    registry.register(this, { kernel, id: this.id }, this);
  }

  /** True once it was freed. */
  get isDisposed(): boolean {
    return this.#disposed;
  }

  /** Frees it; a second time does nothing. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    registry.unregister(this);
    destroy({ kernel: this.kernel, id: this.id });
  }
}
