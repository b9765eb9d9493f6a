/** A table of ours in the kernel, as one of two tables that are driven side by side. */
import type { Kernel } from "../../ffi/library.ts";
import * as abi from "../../ffi/symbols.ts";
import { highestPriority, lowestPriority, newest, oldest, uniform } from "../../mod.ts";
import type { NativeSelector } from "../../selectors/native_selector.ts";
import { power } from "../../selectors/power.ts";
import { type Inserter, KernelTables } from "../../tables/kernel_tables.ts";
import { smallChunk, smallItem } from "./_grpc.ts";
import { decode, encode, type Message } from "./_proto.ts";
import type { RealRateLimiter, RealSelector, RealTable } from "./_real.ts";
import { type Counters, type Drawn, readInfo, type Subject } from "./_side_by_side.ts";

/** Our rule for one of Reverb's selectors. */
export function kernelRule({ kind, exponent = 1 }: RealSelector): NativeSelector {
  switch (kind) {
    case "uniform":
      return uniform();
    case "fifo":
      return oldest();
    case "lifo":
      return newest();
    case "min_heap":
      return lowestPriority();
    case "max_heap":
      return highestPriority();
    case "prioritized":
      return power({ exponent });
  }
}

/** The four numbers of one of Reverb's rate limiters. */
export function kernelRateLimiter(rateLimiter: RealRateLimiter): readonly number[] {
  switch (rateLimiter.kind) {
    case "min_size":
      return [1, rateLimiter.min_size, -Number.MAX_VALUE, Number.MAX_VALUE];
    case "queue":
    case "stack":
      return [1, 1, 0, rateLimiter.size];
    case "sample_to_insert_ratio": {
      const { samples_per_insert, min_size, error_buffer } = rateLimiter;
      const middle = samples_per_insert * min_size;
      const [least, most] = typeof error_buffer === "number"
        ? [middle - error_buffer, middle + error_buffer]
        : error_buffer;
      return [samples_per_insert, min_size, least, most];
    }
  }
}

/** A table of ours. */
export class KernelSubject implements Subject {
  readonly #tables: KernelTables;
  readonly #inserter: Inserter;
  readonly #name: string;
  readonly #confirmed: bigint[] = [];
  readonly #out = new Uint8Array(1 << 16);

  constructor(kernel: Kernel, table: RealTable, seed: number) {
    this.#name = table.name;
    this.#tables = KernelTables.create(kernel, [{
      name: table.name,
      maxSize: table.max_size,
      maxTimesSampled: table.max_times_sampled ?? 0,
      sampler: kernelRule(table.sampler),
      remover: kernelRule(table.remover),
      rateLimiter: kernelRateLimiter(table.rateLimiter),
    }], seed);
    this.#inserter = this.#tables.inserter();
  }

  insert(key: bigint, priority: number, episode: bigint): Promise<void> {
    this.#feed({ chunks: [smallChunk(key, episode)] });
    this.#feed({ items: [smallItem(key, this.#name, priority, key)] });
    return Promise.resolve();
  }

  #feed(message: Message): void {
    this.#inserter.feed(encode("InsertStreamRequest", message));
  }

  confirmed(): Promise<readonly bigint[]> {
    for (;;) {
      const size = this.#inserter.readConfirmations(this.#out);
      if (size === 0) return Promise.resolve(this.#confirmed);
      const { keys } = decode("InsertStreamResponse", this.#out.subarray(0, size));
      this.#confirmed.push(...keys);
    }
  }

  sample(count: number): Promise<readonly Drawn[]> {
    using sampler = this.#tables.sampler(0);
    sampler.ask(count);
    const drawn: Drawn[] = [];
    for (;;) {
      const size = sampler.read(this.#out);
      if (size === 0) return Promise.resolve(drawn);
      const { entries } = decode("SampleStreamResponse", this.#out.subarray(0, size));
      for (const { info } of entries) if (info !== undefined) drawn.push(readInfo(info));
    }
  }

  mutate(
    updates: readonly (readonly [bigint, number])[],
    deletes: readonly bigint[],
  ): Promise<void> {
    this.#tables.mutate(encode("MutatePrioritiesRequest", {
      table: this.#name,
      updates: updates.map(([key, priority]) => ({ key, priority })),
      delete_keys: deletes,
    }));
    return Promise.resolve();
  }

  reset(): Promise<void> {
    this.#tables.reset(0);
    return Promise.resolve();
  }

  counters(): Promise<Counters> {
    const info = this.#tables.info(0);
    const at = (index: number): number => info[index] ?? NaN;
    return Promise.resolve({
      size: at(abi.EXRP_TABLES_INFO_SIZE),
      episodes: at(abi.EXRP_TABLES_INFO_EPISODES),
      deletedEpisodes: at(abi.EXRP_TABLES_INFO_EPISODES_DELETED),
      uniqueSamples: at(abi.EXRP_TABLES_INFO_UNIQUE_SAMPLES),
      inserts: at(abi.EXRP_TABLES_INFO_INSERTS),
      samples: at(abi.EXRP_TABLES_INFO_SAMPLES),
    });
  }

  close(): void {
    this.#tables[Symbol.dispose]();
  }
}
