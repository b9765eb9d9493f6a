/**
 * The same random calls on two tables, one of them Reverb's. What is not random must be the same on both: what is confirmed, drawn and
 * refused, in which order, with which probabilities, and the counters.
 *
 * The leader is called first. What waits there must wait on the other too, for a moment; what goes on there must go on there.
 */
import { assertEquals } from "../_assert.ts";
import { type Call, Connection, smallChunk, smallItem } from "./_grpc.ts";
import type { Message } from "./_proto.ts";
import type { RealRateLimiter, RealSelector, RealTable } from "./_real.ts";
import { PATIENCE_MS, until } from "../_wait.ts";

/** A draw. */
export interface Drawn {
  readonly key: bigint;
  readonly probability: number;
  readonly tableSize: number;
  readonly priority: number;
  readonly timesSampled: number;
}

/** The counters of a table. */
export interface Counters {
  readonly size: number;
  readonly episodes: number;
  readonly deletedEpisodes: number;
  readonly uniqueSamples: number;
  readonly inserts: number;
  readonly samples: number;
}

/** A table behind one of its doors. */
export interface Subject {
  /** Sends an item whose chunk is of the episode. */
  insert(key: bigint, priority: number, episode: bigint): Promise<void>;
  /** The keys confirmed so far, once they are `count`, or after the time. */
  confirmed(count: number, timeoutMs: number): Promise<readonly bigint[]>;
  /** Draws up to `count`, and fewer where the rate limiter lets no more through within the time. */
  sample(count: number, timeoutMs: number): Promise<readonly Drawn[]>;
  mutate(
    updates: readonly (readonly [bigint, number])[],
    deletes: readonly bigint[],
  ): Promise<void>;
  reset(): Promise<void>;
  counters(): Promise<Counters>;
  close(): void;
}

/** How long something must wait that is to wait. */
const MOMENT_MS = 25;

/** A table of a server, ours or Reverb's, over the wire. */
export class WireSubject implements Subject {
  readonly #connection: Connection;
  readonly #table: string;
  readonly #inserts: Call;
  readonly #confirmed: bigint[] = [];

  constructor(port: number, table: string) {
    this.#connection = new Connection(port);
    this.#table = table;
    this.#inserts = this.#connection.open("InsertStream");
  }

  insert(key: bigint, priority: number, episode: bigint): Promise<void> {
    this.#inserts.send({ chunks: [smallChunk(key, episode)] });
    this.#inserts.send({ items: [smallItem(key, this.#table, priority, key)] });
    return Promise.resolve();
  }

  async confirmed(count: number, timeoutMs: number): Promise<readonly bigint[]> {
    for (;;) {
      const left = this.#confirmed.length < count;
      const message = await this.#inserts.receive(left ? timeoutMs : 1);
      if (message === undefined) return this.#confirmed;
      this.#confirmed.push(...message.keys);
    }
  }

  async sample(count: number, timeoutMs: number): Promise<readonly Drawn[]> {
    const call = this.#connection.open("SampleStream");
    call.send({
      table: this.#table,
      num_samples: BigInt(count),
      rate_limiter_timeout: { milliseconds: BigInt(timeoutMs) },
    });
    const drawn: Drawn[] = [];
    while (drawn.length < count) {
      const message = await call.receive();
      if (message === undefined) break;
      for (const { info } of message.entries) if (info !== undefined) drawn.push(readInfo(info));
    }
    if (drawn.length === count) {
      call.cancel();
    } else {
      const { code, message } = await call.ending;
      assertEquals([code, message], [
        4,
        "Rate Limiter: Timeout exceeded before the right to insert was acquired.",
      ]);
    }
    return drawn;
  }

  async mutate(
    updates: readonly (readonly [bigint, number])[],
    deletes: readonly bigint[],
  ): Promise<void> {
    await this.#connection.call("MutatePriorities", {
      table: this.#table,
      updates: updates.map(([key, priority]) => ({ key, priority })),
      delete_keys: deletes,
    });
  }

  async reset(): Promise<void> {
    await this.#connection.call("Reset", { table: this.#table });
  }

  async counters(): Promise<Counters> {
    const { table_info } = await this.#connection.call("ServerInfo");
    const info: Message = table_info.find(({ name }: Message) => name === this.#table);
    const { insert_stats, sample_stats } = info.rate_limiter_info;
    const number = (value: bigint | undefined): number => Number(value ?? 0);
    return {
      size: number(info.current_size),
      episodes: number(info.num_episodes),
      deletedEpisodes: number(info.num_deleted_episodes),
      uniqueSamples: number(info.num_unique_samples),
      inserts: number(insert_stats?.completed),
      samples: number(sample_stats?.completed),
    };
  }

  close(): void {
    this.#connection.close();
  }
}

/** Reads a SampleInfo. */
export function readInfo(info: Message): Drawn {
  return {
    key: info.item.key,
    probability: info.probability ?? 0,
    tableSize: Number(info.table_size ?? 0),
    priority: info.item.priority ?? 0,
    timesSampled: info.item.times_sampled ?? 0,
  };
}

/** A source of random numbers of a seed: numbers below `n`. */
export function randomOf(seed: number): (n: number) => number {
  let state = seed >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ state >>> 15, state | 1);
    value ^= value + Math.imul(value ^ value >>> 7, value | 61);
    return ((value ^ value >>> 14) >>> 0) % n;
  };
}

const samplers: readonly RealSelector[] = [
  { kind: "uniform" },
  { kind: "prioritized", exponent: 1 },
  { kind: "prioritized", exponent: 0.5 },
  { kind: "fifo" },
  { kind: "lifo" },
  { kind: "min_heap" },
  { kind: "max_heap" },
];
const removers = samplers.filter(({ exponent }) => exponent !== 0.5);

/** The rate limiters of the tables. */
export const rateLimiters: readonly RealRateLimiter[] = [
  { kind: "min_size", min_size: 1 },
  { kind: "min_size", min_size: 3 },
  { kind: "sample_to_insert_ratio", samples_per_insert: 1, min_size: 2, error_buffer: 2 },
  { kind: "sample_to_insert_ratio", samples_per_insert: 2.5, min_size: 1, error_buffer: 5.5 },
  { kind: "sample_to_insert_ratio", samples_per_insert: 0.5, min_size: 2, error_buffer: [-1, 4] },
  { kind: "queue", size: 3 },
  { kind: "stack", size: 4 },
];

function isRandom({ kind }: RealSelector): boolean {
  return kind === "uniform" || kind === "prioritized";
}

/** Tables of all samplers and removers, and times that an item may be drawn, with this rate limiter. */
export function tablesWith(rateLimiter: RealRateLimiter): RealTable[] {
  const tables: RealTable[] = [];
  for (const sampler of samplers) {
    for (const remover of removers) {
      // With 3 and different items, the sizes differ by chance.
      for (const max_times_sampled of isRandom(sampler) || isRandom(remover) ? [0, 1] : [0, 1, 3]) {
        const name = [sampler.kind, sampler.exponent ?? "", remover.kind, max_times_sampled].join(
          " ",
        );
        const max_size = 2 + (tables.length * 5) % 7;
        tables.push({ name, sampler, remover, max_size, max_times_sampled, rateLimiter });
      }
    }
  }
  return tables;
}

const PRIORITIES = [0, 0.5, 1, 2, 2, 3, 5, 1e-3, 1e6];

/**
 * Drives both with the calls of a seed; `other` is Reverb's. An error names the table, the seed and the call. `patienceMs` says how long
 * Reverb's counts may take to become ours.
 */
export async function runSideBySide(
  table: RealTable,
  leader: Subject,
  other: Subject,
  seed: number,
  { calls = 40, patienceMs }: { calls?: number; patienceMs?: number } = {},
): Promise<void> {
  const said: string[] = [];
  try {
    await new Run(table, leader, other, seed, said, patienceMs).all(calls);
  } catch (error) {
    const where = `table "${table.name}", ${JSON.stringify(table)}, seed ${seed}, after\n  ${
      said.join("\n  ")
    }`;
    throw new Error(`${where}\n${error instanceof Error ? error.message : error}`);
  }
}

class Run {
  readonly #random: (n: number) => number;
  readonly #leader: Subject;
  readonly #other: Subject;
  readonly #said: string[];
  readonly #patienceMs: number | undefined;
  /** Which item is drawn is random. */
  readonly #isDrawRandom: boolean;
  /** Which items are there is random. */
  readonly #areItemsRandom: boolean;
  readonly #sampler: RealSelector;
  readonly #keys: bigint[] = [];
  #sent = 0;
  /** Inserts that wait for the rate limiter. */
  #waiting = 0;
  /** Probabilities by key since the last change, of both. */
  #probabilities: [Map<bigint, number>, Map<bigint, number>] = [new Map(), new Map()];

  constructor(
    { sampler, remover, max_times_sampled = 0 }: RealTable,
    leader: Subject,
    other: Subject,
    seed: number,
    said: string[],
    patienceMs: number | undefined,
  ) {
    this.#patienceMs = patienceMs;
    this.#random = randomOf(seed);
    this.#leader = leader;
    this.#other = other;
    this.#said = said;
    this.#sampler = sampler;
    this.#isDrawRandom = isRandom(sampler);
    this.#areItemsRandom = isRandom(remover) || isRandom(sampler) && max_times_sampled > 0;
  }

  async all(calls: number): Promise<void> {
    for (let call = 0; call < calls; call++) {
      await this.#step();
      await this.#compareConfirmed();
      if (call % 5 === 4 || call === calls - 1) await this.#compareCounters();
    }
    await this.#drain();
  }

  #both(call: (subject: Subject) => Promise<void>): Promise<unknown> {
    this.#probabilities = [new Map(), new Map()];
    return call(this.#leader).then(() => call(this.#other));
  }

  async #step(): Promise<void> {
    const what = this.#random(100);
    if (what < 45) return await this.#insert();
    if (what < 80) return void await this.#sample(1 + this.#random(3));
    if (what < 97) return await this.#mutate();
    this.#said.push("reset()");
    await this.#both((subject) => subject.reset());
  }

  #someKey(): bigint {
    return this.#keys[this.#random(this.#keys.length)] ?? 4n;
  }

  async #insert(): Promise<void> {
    const isOld = !this.#areItemsRandom && this.#keys.length > 0 && this.#random(6) === 0;
    const key = isOld ? this.#someKey() : BigInt(this.#random(2 ** 32)) << 32n | BigInt(this.#sent);
    if (!isOld) this.#keys.push(key);
    const priority = PRIORITIES[this.#random(PRIORITIES.length)] ?? 1;
    const episode = BigInt(1 + this.#random(5));
    this.#said.push(`insert(${key}, ${priority}, episode ${episode})`);
    this.#sent++;
    await this.#both((subject) => subject.insert(key, priority, episode));
  }

  /** Both have confirmed the same, and in the same order. */
  async #compareConfirmed(): Promise<void> {
    const first = await this.#leader.confirmed(this.#sent, MOMENT_MS);
    this.#waiting = this.#sent - first.length;
    const second = await this.#other.confirmed(first.length, PATIENCE_MS);
    if (second.length > first.length) await this.#leader.confirmed(second.length, PATIENCE_MS);
    assertEquals([...first], [...second], "confirmed keys");
  }

  async #sample(count: number): Promise<readonly Drawn[]> {
    this.#said.push(`sample(${count})`);
    const first = await this.#leader.sample(count, MOMENT_MS);
    const isWhole = first.length === count;
    // What one has drawn, the other can draw, however slow it is now. Only for what is held back is a moment enough.
    const second = first.length === 0
      ? []
      : [...await this.#other.sample(first.length, PATIENCE_MS)];
    if (!isWhole) second.push(...await this.#other.sample(count - first.length, MOMENT_MS));
    this.#said.push(`  ${first.map(({ key }) => key)}`);
    assertEquals(first.length, second.length, "draws until the rate limiter let none through");
    const shared = ({ tableSize }: Drawn): unknown => ({ tableSize });
    const all = (drawn: Drawn): unknown => drawn;
    const known = this.#areItemsRandom || this.#isDrawRandom ? shared : all;
    assertEquals(first.map(known), second.map(known), "draws");
    // An insert that waits may come between two draws, and changes the probabilities.
    if (this.#waiting > 0) this.#probabilities = [new Map(), new Map()];
    else if (this.#isDrawRandom) this.#compareProbabilities(first, second);
    return first;
  }

  #compareProbabilities(first: readonly Drawn[], second: readonly Drawn[]): void {
    if (this.#areItemsRandom) {
      // Items are not the same ones, so only the size decides.
      if (this.#sampler.kind !== "uniform") return;
      const of = ({ probability }: Drawn): number => probability;
      return assertEquals(first.map(of), second.map(of), "probabilities");
    }
    for (const [index, drawn] of [first, second].entries()) {
      for (const { key, probability, priority } of drawn) {
        this.#probabilities[index]?.set(key, probability);
        const twin = this.#probabilities[1 - index]?.get(key) ?? probability;
        // Reverb's sums keep what rounding left of large priorities that have gone, until it is 1e-4.
        if (Math.abs(twin - probability) <= 1e-12 + 1e-3 * Math.abs(twin)) continue;
        // Where all priorities are 0, all items are as likely. With such a rest, Reverb says that they have the probability 0.
        if (priority === 0 && (index === 0 ? twin : probability) === 0) continue;
        assertEquals(probability, twin, `the probability of ${key}`);
      }
    }
  }

  async #mutate(): Promise<void> {
    if (this.#areItemsRandom) return await this.#insert();
    const updates: [bigint, number][] = [];
    const deletes: bigint[] = [];
    for (let count = this.#random(3); count > 0; count--) {
      updates.push([this.#someKey(), PRIORITIES[this.#random(PRIORITIES.length)] ?? 1]);
    }
    if (this.#random(2) === 0) deletes.push(this.#someKey());
    this.#said.push(`mutate([${updates}], [${deletes}])`);
    await this.#both((subject) => subject.mutate(updates, deletes));
  }

  async #compareCounters(): Promise<void> {
    const known = (counters: Counters): unknown => {
      const { size, inserts, samples } = counters;
      if (this.#areItemsRandom) return { size, inserts, samples };
      return this.#isDrawRandom ? { ...counters, uniqueSamples: 0 } : counters;
    };
    const first = await this.#leader.counters();
    let second = await this.#other.counters();
    // Reverb confirms an insert before it counts the item that the remover takes for it.
    await until("both count the same items", async () => {
      second = await this.#other.counters();
      return first.size === second.size;
    }, this.#patienceMs);
    assertEquals(known(first), known(second), "counters");
  }

  /** Draws and deletes until nothing comes, so that what is there, and its order, is seen. */
  async #drain(): Promise<void> {
    if (this.#areItemsRandom || this.#isDrawRandom) return;
    for (let left = 20; left > 0; left--) {
      const drawn = await this.#sample(1);
      const key = drawn[0]?.key;
      if (key === undefined) return;
      this.#said.push(`mutate([], [${key}])`);
      await this.#both((subject) => subject.mutate([], [key]));
      await this.#compareConfirmed();
    }
  }
}

/** Runs jobs, `width` of them at a time. The first error ends it. */
export async function inParallel(
  width: number,
  jobs: readonly (() => Promise<void>)[],
): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    for (let job = jobs[next++]; job !== undefined; job = jobs[next++]) await job();
  };
  await Promise.all(Array.from({ length: width }, work));
}
