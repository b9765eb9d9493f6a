/**
 * One random schedule of a fleet on a simulated network: actors write, a learner draws, and faults of links, processes and disks come at random moments. What is in
 * the folders at the end is compared with what each actor was told.
 *
 * @module
 */

import { ExperienceReplay } from "@exrp/replay";
import { assert, assertEquals } from "../_assert.ts";
import { Fabric, type LinkOptions, type Peer } from "../shards/_fabric.ts";
import type { Numbered } from "../shards/_numbered.ts";
import { SimulatedActor } from "./_simulated_actor.ts";
import { type LimitNumbers, priorityOf, SimulatedLearner } from "./_simulated_learner.ts";
import { SimulatedShard } from "./_simulated_shard.ts";

/** So long, in virtual time, anything may take once all faults have ended: a shard that was left out is asked again after 3 s, a chunk is sent again after 8. */
const CALM_MS = 120_000;

/** What can go wrong, by how often it does. */
const FAULTS = [
  ...["shard dies", "shard dies", "actor dies", "learner dies", "partition", "partition"],
  ...["hub restarts", "disk is full", "slow link"],
] as const;

/** What a schedule had. */
export interface ScheduleFigures {
  readonly events: number;
  readonly virtualMs: number;
  readonly records: number;
  readonly batches: number;
  readonly redrawn: number;
  /** How often an actor that lived at the end had gone on to another shard. */
  readonly moves: number;
  /** Records that power cuts took before they were confirmed. */
  readonly lost: number;
  /** By how many records a limit over all shards was exceeded at most, where no shard died and where one did. */
  readonly above: number;
  readonly aboveAfterDeaths: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly trace: number;
}

/** Runs the schedule of a seed. Throws where a history is wrong, or somebody waits for ever. */
export async function runSchedule(
  seed: number,
  log?: (line: string) => void,
): Promise<ScheduleFigures> {
  const fabric = new Fabric({ seed, ...log === undefined ? {} : { log } });
  const folder = await Deno.makeTempDir({ prefix: "exrp-machines-" });
  const schedule = new Schedule(fabric, folder);
  try {
    return await fabric.run(() => schedule.run(log));
  } catch (error) {
    throw new Error(`schedule ${seed}: ${error}`, { cause: error });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

class Schedule {
  readonly #fabric: Fabric;
  readonly #folder: string;
  readonly #shards: SimulatedShard[] = [];
  readonly #actors: SimulatedActor[] = [];
  readonly #faults: Record<string, number> = {};
  #learner: SimulatedLearner | undefined;
  #learners = 0;
  #batches = 0;
  #redrawn = 0;
  #isTended = true;
  /** A learner that begins anew counts anew, so the limits are followed for the first one only. */
  #limits: LimitNumbers | undefined;
  #chunkRecords = 0;
  #interruptions = 0;
  #hasDied = false;
  #above = 0;
  #aboveAfterDeaths = 0;
  #isFollowed = false;

  constructor(fabric: Fabric, folder: string) {
    this.#fabric = fabric;
    this.#folder = folder;
  }

  async run(log?: (line: string) => void): Promise<ScheduleFigures> {
    const fabric = this.#fabric;
    const count = 2 + fabric.below(3);
    const actorCount = 2 + fabric.below(3);
    this.#limits = fabric.below(3) === 0
      ? { ratio: 2, minSize: 20, error: 40 + 200 * fabric.below(3) }
      : undefined;
    for (let k = 0; k < count; k++) {
      const folder = `${this.#folder}/${k}`;
      const shard = new SimulatedShard(fabric, `shard-${k}`, folder);
      this.#shards.push(shard);
      shard.begin();
    }
    await this.#until("all shards serve", () => this.#shards.every(({ isServing }) => isServing));
    this.#beginLearner();
    if (this.#limits !== undefined) {
      // Before the limits are there, shards take what comes.
      await fabric.pause(1500);
      this.#isFollowed = true;
    }
    for (let k = 0; k < actorCount; k++) this.#beginActor();
    this.#chunkRecords = 200;
    const worst = this.#link();
    const peers = (): Peer[] => [
      ...this.#shards.map(({ peer }) => peer),
      ...this.#actors.map(({ peer }) => peer),
      ...this.#learner === undefined ? [] : [this.#learner.peer],
    ];
    for (const peer of peers()) peer.link(worst);
    for (let left = 1 + fabric.below(6); left > 0; left--) {
      await this.#rest(20 + fabric.below(900));
      const fault = FAULTS[fabric.below(FAULTS.length)] as (typeof FAULTS)[number];
      log?.(fault);
      this.#faults[fault] = (this.#faults[fault] ?? 0) + 1;
      await this.#fault(fault, peers());
      for (const peer of peers()) peer.link(worst);
    }
    for (const actor of this.#actors) actor.isEnough = true;
    for (const peer of peers()) {
      peer.heal();
      peer.link({ loss: 0, twice: 0, reorder: false, bytesPerMs: Infinity, delayMs: [0.05, 0.5] });
    }
    await this.#until(
      "all actors are done",
      () => this.#actors.every(({ isDone, peer }) => isDone || !peer.isAlive),
    );
    await this.#end();
    return {
      events: fabric.eventCount,
      virtualMs: fabric.now,
      records: await this.#check(),
      batches: this.#batches,
      redrawn: this.#redrawn,
      moves: this.#actors.reduce((sum, { writer }) => sum + (writer?.figures().moves ?? 0), 0),
      lost: this.#shards.reduce((sum, { lost }) => sum + lost, 0),
      above: this.#above,
      aboveAfterDeaths: this.#aboveAfterDeaths,
      faults: this.#faults,
      trace: fabric.trace,
    };
  }

  /** How bad all links are. */
  #link(): LinkOptions {
    const fabric = this.#fabric;
    const slowest = fabric.below(3) === 0 ? 60 : 3;
    return {
      loss: [0, 0, 0.01, 0.08][fabric.below(4)] ?? 0,
      twice: [0, 0, 0.05][fabric.below(3)] ?? 0,
      reorder: fabric.below(2) === 0,
      delayMs: [0.05, 0.1 + fabric.chance() * slowest],
    };
  }

  #beginActor(): void {
    const fabric = this.#fabric;
    const environments = 1 + fabric.below(3);
    const first = this.#actors.reduce((sum, { options }) => sum + options.environments, 0);
    const peer = fabric.peer(`actor-${this.#actors.length}`);
    const actor = new SimulatedActor(fabric, peer, {
      ...{ first, environments },
      records: 30 + fabric.below(370),
      chunkBytes: 1024 + fabric.below(3000),
      unconfirmedBytes: 2 ** 16,
      // Some compare shards all the time, so that they move among faults.
      stayMs: fabric.below(2) === 0 ? 100 + fabric.below(2000) : 30_000,
    });
    this.#actors.push(actor);
    actor.begin();
  }

  #beginLearner(): void {
    const fabric = this.#fabric;
    const peer = fabric.peer(`learner-${this.#learners++}`);
    const size = 4 + fabric.below(17);
    this.#learner = new SimulatedLearner(fabric, peer, size, this.#limits);
    this.#learner.begin();
  }

  async #fault(fault: (typeof FAULTS)[number], peers: Peer[]): Promise<void> {
    const fabric = this.#fabric;
    const shard = this.#shards[fabric.below(this.#shards.length)] as SimulatedShard;
    if (fault === "shard dies") {
      this.#isTended = false;
      this.#hasDied = true;
      const afterMessages = fabric.below(2) * fabric.below(60);
      shard.peer.kill({
        silent: fabric.below(3) === 0,
        ...afterMessages > 0 ? { afterMessages } : {},
      });
      await this.#until("a shard is dead", () => !shard.peer.isAlive);
      await this.#rest(fabric.below(2) * fabric.below(2500));
      this.#isTended = true;
    } else if (fault === "actor dies") {
      const actor = this.#actors[fabric.below(this.#actors.length)] as SimulatedActor;
      if (actor.isDone || !actor.peer.isAlive) return;
      actor.peer.kill({ silent: fabric.below(3) === 0 });
      this.#beginActor();
    } else if (fault === "learner dies") {
      this.#learner?.peer.kill({ silent: fabric.below(3) === 0 });
      await this.#endLearner();
      await this.#rest(fabric.below(2) * fabric.below(2000));
      this.#beginLearner();
    } else if (fault === "partition") {
      this.#interruptions++;
      const cut = peers.filter(({ isAlive }) => isAlive && fabric.below(3) === 0);
      fabric.cut(cut, fabric.below(2) === 0);
      await this.#rest(10 + fabric.below(3000));
      fabric.heal(cut);
    } else if (fault === "hub restarts") {
      this.#interruptions++;
      fabric.restartHub(5 + fabric.below(2000));
    } else if (fault === "disk is full") {
      this.#hasDied = true;
      shard.isFull = true;
      await this.#rest(200 + fabric.below(2500));
      shard.isFull = false;
    } else {
      const slow = peers[fabric.below(peers.length)] as Peer;
      slow.link({ bytesPerMs: 1 + fabric.below(40), pendingMax: 2 ** 16 });
      await this.#rest(200 + fabric.below(2000));
      slow.link({ bytesPerMs: Infinity });
    }
  }

  /** What a supervisor does, and what is looked at all the time. */
  async #tend(): Promise<void> {
    for (const shard of this.#shards) {
      if (shard.peer.isAlive || !this.#isTended) continue;
      this.#hasDied = true;
      await shard.bury();
      if (!shard.isFull) shard.begin();
    }
    this.#follow();
  }

  async #rest(ms: number): Promise<void> {
    for (const end = this.#fabric.now + ms; this.#fabric.now < end;) {
      await this.#fabric.pause(Math.min(20, end - this.#fabric.now));
      await this.#tend();
    }
  }

  async #until(what: string, isSo: () => boolean): Promise<void> {
    const end = this.#fabric.now + CALM_MS;
    while (!isSo()) {
      if (this.#fabric.now > end) {
        const figures = this.#learner?.shards?.figures();
        const waiting = this.#actors.map(({ isDone, peer, written, confirmed, writer }) =>
          `${peer.name} ${peer.isAlive ? "lives" : "is dead"} ${
            isDone ? "done" : "waits"
          } ${confirmed.join()} of ${written.join()} ${JSON.stringify(writer?.figures())}`
        );
        throw new Error(
          `it never came to this: ${what}; ${this.#fabric}; ${
            waiting.join("; ")
          }; the learner has ${this.#learner?.batches} batches, ${JSON.stringify(figures)}`,
        );
      }
      await this.#rest(20);
    }
  }

  /** Follows the limits: I records and S picks may part only as far as they say. */
  #follow(): void {
    const [limits, shards] = [this.#limits, this.#learner?.shards];
    if (!this.#isFollowed || limits === undefined || shards === undefined) return;
    if (this.#shards.some(({ replay }) => replay === undefined)) return;
    const { ratio, minSize, error } = limits;
    const { drawn } = shards.figures();
    const inserted = this.#shards.reduce(
      (sum, { replay }) => sum + (replay?.recordCount ?? 0),
      0,
    );
    const lost = this.#shards.reduce((sum, each) => sum + each.lost, 0);
    const difference = ratio * inserted - drawn;
    const least = ratio * minSize - error - ratio * lost;
    assert(difference >= least || drawn === 0, `${drawn} picks were drawn of ${inserted} records`);
    const above = inserted - Math.max(minSize, (ratio * minSize + error + drawn) / ratio);
    if (this.#hasDied) {
      return void (this.#aboveAfterDeaths = Math.max(this.#aboveAfterDeaths, above));
    }
    this.#above = Math.max(this.#above, above);
    const count = this.#shards.length;
    // What a shard that is cut off had left goes to the others, and it may write it all the same.
    const helpings = this.#interruptions * count * error / ratio;
    const ahead = 3 * (this.#learner?.size ?? 0) / ratio;
    const allowed = count * this.#chunkRecords + helpings + ahead;
    assert(above <= allowed, `${inserted} records came, ${above} more than the limits allow`);
  }

  async #endLearner(): Promise<void> {
    this.#isFollowed = false;
    this.#batches += this.#learner?.batches ?? 0;
    this.#redrawn += this.#learner?.shards?.figures().redrawn ?? 0;
    await this.#learner?.end();
  }

  /** Once all is calm: the learner goes on with all shards, and all end. */
  async #end(): Promise<void> {
    await this.#until("all shards serve", () => this.#shards.every(({ isServing }) => isServing));
    const learner = this.#learner as SimulatedLearner;
    await this.#until(
      "the learner knows all shards",
      () =>
        learner.shards?.figures().shards.filter(({ isAlive }) => isAlive).length ===
          this.#shards.length,
    );
    if (this.#limits === undefined) {
      const before = learner.batches;
      await this.#until("the learner goes on", () => learner.batches >= before + 3);
    }
    await this.#endLearner();
    for (const { writer } of this.#actors) writer?.abandon();
    this.#isTended = false;
    for (const shard of this.#shards) {
      shard.peer.run(() => shard.shard?.close()).catch((error) => this.#fabric.fail(error));
      await this.#until("a shard has ended", () => !shard.peer.isAlive);
      Reflect.deleteProperty(shard.replay as object, "flush");
      await this.#fabric.outside((async () => {
        await shard.replay?.flush();
        shard.replay?.[Symbol.dispose]();
      })());
    }
  }

  /** Opens the folders, and compares them with what the actors know. Returns how many records there are. */
  async #check(): Promise<number> {
    const there = new Map<number, number[]>();
    let count = 0;
    for (const { name } of this.#shards) {
      const path = `${this.#folder}/${name.slice("shard-".length)}`;
      using replay = await this.#fabric.outside(
        ExperienceReplay.open<Numbered>(path),
      ) as ExperienceReplay<Numbered>;
      count += replay.recordCount;
      assertEquals(replay.recordCount, replay.describe().recordedCount);
      const [selector] = replay.selectors;
      for (const episode of replay.episodes().handle) {
        const { state, action } = replay.episodeRecords(episode);
        const [first = -1, environment = -1] = state;
        const positions = Int32Array.from(action, (_, k) => k);
        const priorities = replay.getPriority(
          selector as NonNullable<typeof selector>,
          new Float64Array(action.length).fill(episode),
          positions,
        );
        const numbers = there.get(environment) ?? [];
        for (const [k, each] of action.entries()) {
          const found = [state[2 * k], state[2 * k + 1], each];
          assertEquals(
            found,
            [first + k, environment, (first + k) % 7],
            `record ${k} of an episode of ${name}`,
          );
          numbers.push(first + k);
          const priority = priorities[k] ?? NaN;
          const own = priorityOf(environment, first + k);
          const isRight = [1, own].some((right) => Math.abs(priority - right) < 1e-4);
          // The last record of an open episode is no pick yet.
          assert(
            isRight || Number.isNaN(priority),
            `record ${
              first + k
            } of environment ${environment} has the priority ${priority}, and not ${own}`,
          );
        }
        there.set(environment, numbers);
      }
    }
    for (const { options, written, confirmed, isDone, peer } of this.#actors) {
      for (const [k, total] of written.entries()) {
        const environment = options.first + k;
        const numbers = there.get(environment) ?? [];
        const known = new Set(numbers);
        assertEquals(known.size, numbers.length, `environment ${environment} has records twice`);
        const sure = isDone ? total : confirmed[k] ?? 0;
        for (let number = 0; number < sure; number++) {
          assert(known.has(number), `environment ${environment} lacks ${number} of ${sure}`);
        }
        for (const number of known) {
          assert(number < total || !peer.isAlive, `${number} of ${total}`);
        }
      }
    }
    return count;
  }
}
