/**
 * A NATS server, shards, actors and a learner, each on a machine of its own, which are killed under load, one after the other; cables are pulled and made slow, and the
 * disk of a shard is full. What was confirmed is there, no record is there twice, and all go on.
 *
 * `EXRP_MACHINE_KILLS` kills more often, `EXRP_MACHINE_LOSSY_KILLS` does so over slow cables that lose packets, and `EXRP_MACHINE_PARTS` kills some parts only.
 * `EXRP_MACHINE_SEED` is the seed. Machines are network namespaces. Where there is no NATS server, or these can't be made, this is left out.
 *
 * @module
 */

import { ExperienceReplay } from "@exrp/replay";
import { assert, assertEquals } from "../_assert.ts";
import { onWasm } from "../_native.ts";
import { pause, until } from "../_wait.ts";
import { findNats } from "../../tools/_nats.ts";
import { testRandom } from "../replay/_helpers.ts";
import { type Numbered, numbersOf } from "../shards/_numbered.ts";
import { confirmedOf, Program } from "../shards/_program.ts";
import { lookForMachines, Machines } from "./_machines.ts";
import type { Link } from "./_relay.ts";

const KILLS = Number(Deno.env.get("EXRP_MACHINE_KILLS") ?? 10);
/** Over slow and lossy cables. Each part is killed once, and each disturbance comes, with 9. */
const LOSSY_KILLS = Number(Deno.env.get("EXRP_MACHINE_LOSSY_KILLS") ?? 4);
const SEED = Number(Deno.env.get("EXRP_MACHINE_SEED") ?? 1);
const PARTS = (Deno.env.get("EXRP_MACHINE_PARTS") ?? "shard,actor,NATS,learner").split(",");
const PORT = 4222;
const SHARDS = ["a", "b", "c"];
/** Records that an actor writes between two flushes. */
const ROUND = "20";
/** The disk of each shard, which is full now and then. */
const DISK_BYTES = 2 ** 28;
const isLogged = Deno.env.get("EXRP_MACHINE_LOG") !== undefined;
const nats = await findNats();

/** Slow and lossy cables. */
const LINK: Link = { delayMs: 5, jitterMs: 2, lossPercent: 1 };

const [hasMachines, shaper] = nats === undefined || onWasm ? [false] : await lookForMachines();

/** The least number that so large a part of some numbers does not exceed. */
function quantile(numbers: readonly number[], part: number): number {
  return numbers.toSorted((a, b) => a - b)[Math.ceil(part * numbers.length) - 1] ?? NaN;
}

function told(what: string, numbers: readonly number[]): string {
  const [median, most, worst] = [0.5, 0.9, 1].map((part) => quantile(numbers, part));
  return `${what}: median ${median} ms, 90 of 100 ${most} ms, worst ${worst} ms, of ${numbers.length}`;
}

/** All processes of one experiment. */
class Fleet {
  readonly shards = new Map<string, Program>();
  readonly actors = new Map<string, Program>();
  readonly dead: Program[] = [];
  learner!: Program;
  readonly #machines: Machines;
  readonly #folder: string;
  #server: Deno.ChildProcess | undefined;
  #address = "";
  #actorCount = 0;

  constructor(machines: Machines, folder: string) {
    this.#machines = machines;
    this.#folder = folder;
  }

  async begin(link: Link | undefined): Promise<void> {
    this.#address = `${await this.#machines.add("nats")}:${PORT}`;
    for (const [k, name] of [...SHARDS, "actor-0", "actor-1", "actor-2", "learner"].entries()) {
      await this.#machines.add(name);
      if (link !== undefined) await this.#machines.shape(name, link, SEED + k);
    }
    this.beginServer();
    await Deno.writeTextFile(
      `${this.#folder}/shard.json`,
      JSON.stringify({
        name: "a",
        directory: "a",
        nats: { servers: this.#address, reconnectTimeWait: 50 },
        replay: { capacity: 4_000_000, state: "int32(2)", action: "int32()", reward: "float32()" },
        selectors: ["prioritized"],
      }),
    );
    for (const name of SHARDS) this.beginShard(name);
    for (const shard of this.shards.values()) await shard.until("serving");
    for (const name of ["actor-0", "actor-1", "actor-2"]) {
      // One after the other: each takes the shard with fewer writers of two, so most have some.
      await this.beginActor(name).until("confirmed");
    }
    this.beginLearner();
    await this.learner.until("batches");
  }

  directory(shard: string): string {
    return `${this.#folder}/${shard}`;
  }

  beginServer(): void {
    const [command = "", ...args] = [
      ...this.#machines.on("nats"),
      ...[nats as string, "-a", "0.0.0.0", "-p", `${PORT}`],
    ];
    const options = { args, stdin: "null", stdout: "null", stderr: "null" } as const;
    this.#server = new Deno.Command(command, options).spawn();
  }

  async killServer(): Promise<void> {
    this.#server?.kill("SIGKILL");
    await this.#server?.status;
  }

  beginShard(name: string): Program {
    const args = ["--config", `${this.#folder}/shard.json`, "--name", name];
    const shard = new Program(
      "shards/main.ts",
      [...args, "--directory", `${this.directory(name)}/replay`],
      this.#machines.on(name),
    );
    this.shards.set(name, shard);
    return shard;
  }

  beginActor(name: string): Program {
    const args = [this.#address, ROUND, `${this.#actorCount++}`];
    const actor = new Program("tests/shards/_actor.ts", args, this.#machines.on(name));
    this.actors.set(name, actor);
    return actor;
  }

  beginLearner(): void {
    const args = [this.#address, "1"];
    this.learner = new Program("tests/machines/_learner.ts", args, this.#machines.on("learner"));
  }

  /** How many batches the learner had. */
  get batches(): number {
    const { said } = this.learner;
    return Number(/.*^batches (\d+)$/ms.exec(said.slice(-2000))?.[1] ?? 0);
  }

  /** Waits until the learner draws. */
  async untilLearnerGoesOn(): Promise<void> {
    const { batches } = this;
    await until("the learner goes on", () => this.batches > batches + 5);
  }

  /** Waits until the learner draws, and each actor has more confirmed. An actor's flush waits for a shard that is dead, so none may be. */
  async untilAllGoOn(): Promise<void> {
    const before = [...this.actors.values()].map((actor) => [actor, confirmedOf(actor)] as const);
    await this.untilLearnerGoesOn();
    for (const [actor, count] of before) {
      await until(`actor ${actor.actor} goes on`, () => confirmedOf(actor) > count);
    }
  }

  async end(): Promise<void> {
    for (const actor of this.actors.values()) await actor.end(undefined);
    for (const actor of this.actors.values()) {
      assert(actor.said.endsWith("done\n"), actor.said.slice(-200));
    }
    await this.learner.end(undefined);
    assert(this.learner.said.endsWith("done\n"), this.learner.said.slice(-200));
    for (const shard of this.shards.values()) {
      await shard.end("SIGTERM");
      assert(shard.said.endsWith("stopped\n"), shard.said.slice(-200));
    }
  }

  /** Ends what is left, whatever happened. */
  async kill(): Promise<void> {
    for (const program of [...this.shards.values(), ...this.actors.values(), this.learner]) {
      await program?.end("SIGKILL");
    }
    await this.killServer().catch(() => {});
  }
}

/** What was measured, in ms. */
interface Times {
  /** From the death of a shard until the learner knows. */
  readonly noticed: number[];
  /** How long the learner stood still, by what had died. */
  readonly pauses: Map<string, number[]>;
}

/** Kills one part, and starts it again. */
async function kill(
  what: string,
  fleet: Fleet,
  random: (below: number) => number,
  times: Times,
): Promise<void> {
  let begin = Date.now();
  if (what === "shard") {
    const name = SHARDS[random(SHARDS.length)] as string;
    await fleet.shards.get(name)?.end("SIGKILL");
    const isLong = random(4) > 0;
    if (isLong) {
      const changes = new RegExp(`^(\\w+) ${name} (\\d+)$`, "gm");
      const newest = () => [...fleet.learner.said.matchAll(changes)].at(-1);
      await until(
        `the learner hears of the death of ${name}`,
        () => newest()?.[1] === "left",
      );
      const leftAt = Number(newest()?.[2]);
      // Over a slow network, it may have counted as dead before.
      if (leftAt > begin) times.noticed.push(leftAt - begin);
      await fleet.untilLearnerGoesOn();
    }
    await fleet.beginShard(name).until("serving");
  } else if (what === "actor") {
    const names = [...fleet.actors.keys()];
    const name = names[random(names.length)] as string;
    const actor = fleet.actors.get(name) as Program;
    await actor.end("SIGKILL");
    fleet.dead.push(actor);
    await fleet.beginActor(name).until("confirmed");
  } else if (what === "NATS") {
    await fleet.killServer();
    await pause(random(1500));
    fleet.beginServer();
    begin = Date.now();
  } else {
    await fleet.learner.end("SIGKILL");
    fleet.beginLearner();
    await fleet.learner.until("batches");
  }
  await fleet.untilAllGoOn();
  if (what === "learner") return;
  let longest = 0;
  for (const [, from, to] of fleet.learner.said.matchAll(/^gap (\d+) (\d+)$/gm)) {
    longest = Math.max(longest, Number(to) - Math.max(begin, Number(from)));
  }
  times.pauses.set(what, [...times.pauses.get(what) ?? [], longest]);
  if (isLogged) console.log(`${Date.now()} ${what}: the learner stood still for ${longest} ms`);
}

/** Pulls a cable, makes one slow, or fills the disk of a shard. */
async function disturb(
  what: string,
  fleet: Fleet,
  machines: Machines,
  random: (below: number) => number,
): Promise<void> {
  const names = [...SHARDS, ...fleet.actors.keys(), "learner"];
  const name = names[random(names.length)] as string;
  if (what === "partition") {
    await machines.cable(name, false);
    await pause(200 + random(4000));
    await machines.cable(name, true);
  } else if (what === "narrow link") {
    await machines.narrow(name, true);
    await pause(1000 + random(2000));
    await machines.narrow(name, false);
  } else {
    const shard = SHARDS[random(SHARDS.length)] as string;
    const program = fleet.shards.get(shard) as Program;
    const filler = `${fleet.directory(shard)}/filler`;
    await new Deno.Command("dd", {
      args: ["if=/dev/zero", `of=${filler}`, "bs=64k"],
      stderr: "null",
    }).output();
    // It ends once an actor sends it something, if one does; else it is killed.
    const ending = program.child.status.then(({ code }) => code);
    const code = await Promise.race([ending, pause(3000)]);
    if (code !== undefined) {
      assert(code !== 0, "a shard ended well with a full disk");
      await fleet.untilLearnerGoesOn();
    }
    await program.end("SIGKILL");
    await Deno.remove(filler);
    await fleet.beginShard(shard).until("serving");
  }
  await fleet.untilAllGoOn();
}

/** Compares what is in the folders with what the actors were told. */
async function check(fleet: Fleet): Promise<number> {
  const there = new Map<number, number[]>();
  let count = 0;
  for (const name of SHARDS) {
    using replay = await ExperienceReplay.open<Numbered>(`${fleet.directory(name)}/replay`);
    count += replay.recordCount;
    assertEquals(replay.recordCount, replay.describe().recordedCount, "some were evicted");
    for (const [actor, numbers] of numbersOf(replay)) {
      there.set(actor, (there.get(actor) ?? []).concat(numbers));
    }
  }
  for (const actor of [...fleet.actors.values(), ...fleet.dead]) {
    const numbers = there.get(actor.actor) ?? [];
    const known = new Set(numbers);
    assertEquals(known.size, numbers.length, `actor ${actor.actor} has records twice`);
    const confirmed = confirmedOf(actor);
    for (let k = 0; k < confirmed; k++) {
      assert(known.has(k), `actor ${actor.actor} lacks record ${k} of ${confirmed}`);
    }
  }
  return count;
}

async function run(kills: number, link?: Link): Promise<void> {
  const random = testRandom(SEED);
  await using machines = await Machines.make();
  if (machines === undefined) throw new Error("there are no machines");
  const folder = await Deno.makeTempDir({ prefix: "exrp-machines-" });
  const disks = SHARDS.map((name) => `${folder}/${name}`);
  let hasDisks = true;
  for (const disk of disks) {
    await Deno.mkdir(disk);
    const args = ["-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "tmpfs", disk];
    const { success } = await new Deno.Command("mount", { args, stderr: "null" }).output();
    hasDisks &&= success;
  }
  const fleet = new Fleet(machines, folder);
  const times: Times = { noticed: [], pauses: new Map() };
  const disturbances = ["partition", "narrow link", ...hasDisks ? ["full disk"] : []];
  const done = new Map<string, number>();
  try {
    await fleet.begin(link);
    for (let k = 0; k < kills; k++) {
      await pause(100 + random(300));
      const what = PARTS[k % PARTS.length] as string;
      if (isLogged) console.log(`${Date.now()} ${what}`);
      await kill(what, fleet, random, times);
      done.set(what, (done.get(what) ?? 0) + 1);
      if (k % 3 !== 2) continue;
      const other = disturbances[(k - 2) / 3 % disturbances.length] as string;
      if (isLogged) console.log(`${Date.now()} ${other}`);
      await disturb(other, fleet, machines, random);
      done.set(other, (done.get(other) ?? 0) + 1);
    }
    await fleet.end();
    const records = await check(fleet);
    console.log(
      `seed ${SEED}: ${records} records; ${
        [...done].map(([what, count]) => `${what} ${count}`).join(", ")
      }${hasDisks ? "" : "; there are no disks to fill"}${
        link === undefined ? "" : `; packets are delayed and lost by ${shaper}`
      }`,
    );
    console.log(told("a shard's death was noticed after", times.noticed));
    for (const [what, pauses] of times.pauses) {
      console.log(told(`the learner stood still, once a ${what} had died,`, pauses));
    }
  } finally {
    await fleet.kill();
    for (const disk of disks) {
      await new Deno.Command("umount", { args: [disk], stderr: "null" }).output();
    }
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test({
  name: `all parts of a fleet are killed ${KILLS} times on machines of their own (seed ${SEED})`,
  ignore: !hasMachines || KILLS === 0,
  fn: () => run(KILLS),
});

Deno.test({
  name: `a fleet whose links delay and lose packets is killed ${LOSSY_KILLS} times (seed ${SEED})`,
  ignore: shaper === undefined || LOSSY_KILLS === 0,
  fn: () => run(LOSSY_KILLS, LINK),
});
