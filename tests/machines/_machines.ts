/**
 * Machines that are network namespaces of Linux: each has an address, and a cable to one switch. Cables are pulled, made slow, and made lossy. It needs the rights of
 * root, `ip` and `tc`.
 *
 * @module
 */

import { exists, inRepository } from "../../tools/_repository.ts";
import type { Link, Order } from "./_relay.ts";

/** What delays and loses packets: the kernel, or a process of ours where it can't. */
export type Shaper = "netem" | "relay";

/** Runs a command; returns what went wrong, or nothing. */
async function attempt(command: readonly string[]): Promise<string | undefined> {
  const [program = "", ...args] = command;
  try {
    const { success, stderr } = await new Deno.Command(program, {
      args,
      stdout: "null",
      stderr: "piped",
    }).output();
    return success ? undefined : `${command.join(" ")}: ${new TextDecoder().decode(stderr)}`;
  } catch (error) {
    return `${command.join(" ")}: ${error}`;
  }
}

async function must(...command: readonly string[]): Promise<void> {
  const trouble = await attempt(command);
  if (trouble !== undefined) throw new Error(trouble);
}

/** The process of `_relay.ts`, within the network of the switch. */
class Relay {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #answers: ReadableStreamDefaultReader<string>;

  constructor(before: readonly string[]) {
    const [command = "", ...args] = [
      ...before,
      ...[Deno.execPath(), "run", "--allow-ffi", "--no-check", "--quiet"],
      inRepository("tests", "machines", "_relay.ts"),
    ];
    const options = { args, stdin: "piped", stdout: "piped", stderr: "inherit" } as const;
    this.#child = new Deno.Command(command, options).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#answers = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Gives an order, and waits until it is done. False if the relay can't, and has ended. */
  async obeys(order: Order): Promise<boolean> {
    try {
      await this.#writer.write(new TextEncoder().encode(`${JSON.stringify(order)}\n`));
    } catch {
      return false;
    }
    return (await this.#answers.read()).value === `${order.name}\n`;
  }

  async end(): Promise<void> {
    await this.#writer.close().catch(() => {});
    await this.#child.status;
    await this.#answers.cancel();
  }
}

/** Removes the machines of processes that ended before they could, and ends the programs on them. */
async function removeLeft(): Promise<void> {
  if (!await exists("/run/netns")) return;
  for await (const { name } of Deno.readDir("/run/netns")) {
    const [, pid] = /^exrp(\d+)-/.exec(name) ?? [];
    if (pid === undefined || await exists(`/proc/${pid}`)) continue;
    const { stdout } = await new Deno.Command("ip", { args: ["netns", "pids", name] }).output();
    for (const program of new TextDecoder().decode(stdout).split("\n").filter(Boolean)) {
      await attempt(["kill", "-9", program]);
    }
    await attempt(["ip", "netns", "del", name]);
  }
}

/** Some machines. */
export class Machines implements AsyncDisposable {
  readonly #prefix: string;
  readonly #names: string[] = [];
  /** What `tc` was told of slow cables, where it can. */
  readonly #netem = new Map<string, readonly string[] | undefined>();
  /** Slow cables, where it can't. */
  readonly #relayed = new Set<string>();
  #relay: Relay | undefined;

  private constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Makes a switch, to which nothing is connected; undefined where there are no namespaces, or we may not make them. */
  static async make(): Promise<Machines | undefined> {
    if (Deno.build.os !== "linux") return undefined;
    await removeLeft();
    const machines = new Machines(`exrp${Deno.pid}`);
    const net = machines.#space("switch");
    if (await attempt(["ip", "netns", "add", net]) !== undefined) return undefined;
    const inside = ["ip", "-n", net, "link"];
    const isMade = await attempt([...inside, "add", "switch", "type", "bridge"]) === undefined &&
      await attempt([...inside, "set", "switch", "up"]) === undefined;
    if (isMade) return machines;
    await machines[Symbol.asyncDispose]();
    return undefined;
  }

  #space(name: string): string {
    return `${this.#prefix}-${name}`;
  }

  /** Adds a machine; returns its address. */
  async add(name: string): Promise<string> {
    const [net, own] = [this.#space("switch"), this.#space(name)];
    this.#names.push(name);
    const address = `10.231.0.${this.#names.length}`;
    await must("ip", "netns", "add", own);
    await must(...["ip", "-n", own, "link", "set", "lo", "up"]);
    const cable = ["ip", "-n", net, "link", "add", "name", name, "type", "veth"];
    await must(...cable, "peer", "name", "eth0", "netns", own);
    await must(...["ip", "-n", net, "link", "set", "dev", name, "master", "switch", "up"]);
    await must(...["ip", "-n", own, "addr", "add", `${address}/24`, "dev", "eth0"]);
    await must(...["ip", "-n", own, "link", "set", "eth0", "up"]);
    return address;
  }

  /** What comes before a command that a machine is to run. */
  on(name: string): readonly string[] {
    return ["ip", "netns", "exec", this.#space(name)];
  }

  /** Pulls the cable of a machine, or puts it back. */
  async cable(name: string, isIn: boolean): Promise<void> {
    const net = this.#space("switch");
    await must(...["ip", "-n", net, "link", "set", "dev", name, isIn ? "up" : "down"]);
  }

  /** Makes a cable so narrow that its short queue loses packets, both ways, or as wide as it was. */
  async narrow(name: string, isNarrow: boolean): Promise<void> {
    const narrow = ["tbf", "rate", "1mbit", "burst", "4kb", "limit", "8kb"];
    await this.#queue(name, isNarrow ? narrow : this.#netem.get(name));
  }

  /**
   * Makes a cable slow and lossy, both ways; without a link, it is plain again. Says what does it: the kernel's `netem`, or a process where the kernel has none. Undefined
   * where the system can't have either.
   */
  async shape(name: string, link?: Link, seed = 1): Promise<Shaper | undefined> {
    if (this.#relay === undefined) {
      const words = link && [
        ...["netem", "delay", `${link.delayMs}ms`, `${link.jitterMs}ms`],
        ...["loss", `${link.lossPercent}%`],
      ];
      this.#netem.set(name, words);
      if (await this.#queue(name, words)) return "netem";
      this.#netem.delete(name);
      if (!await exists("/dev/net/tun")) return undefined;
      this.#relay = new Relay(this.on("switch"));
    }
    const net = ["ip", "-n", this.#space("switch"), "link"];
    // Between the cable of the machine and the switch, there are a bridge, and the two ends that the relay joins.
    const [bridge, near, far] = [`${name}-w`, `${name}-a`, `${name}-b`] as const;
    const isNew = link !== undefined && !this.#relayed.has(name);
    if (link === undefined) await must(...net, "set", "dev", name, "master", "switch");
    if (!await this.#relay.obeys({ name, ends: [near, far], seed, link })) return undefined;
    if (isNew) {
      await must(...net, "add", "name", bridge, "type", "bridge");
      await must(...net, "set", "dev", bridge, "up");
      await must(...net, "set", "dev", near, "master", bridge, "up");
      await must(...net, "set", "dev", far, "master", "switch", "up");
      await must(...net, "set", "dev", name, "master", bridge);
      this.#relayed.add(name);
    } else if (link === undefined && this.#relayed.delete(name)) {
      await must(...net, "del", "dev", bridge);
    }
    return "relay";
  }

  /** Puts a queue before both ends of a cable, in the place of what was there. Says whether the system has such a one. */
  async #queue(name: string, words: readonly string[] | undefined): Promise<boolean> {
    let isDone = true;
    for (const [space, device] of [["switch", name], [name, "eth0"]] as const) {
      const to = ["tc", "-n", this.#space(space), "qdisc"];
      const place = ["dev", device, "root"];
      await attempt([...to, "del", ...place]);
      if (words === undefined) continue;
      isDone &&= await attempt([...to, "add", ...place, ...words]) === undefined;
    }
    return isDone;
  }

  /** Ends all of it. Programs on the machines must have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#relay?.end();
    for (const name of [...this.#names, "switch"]) {
      await attempt(["ip", "netns", "del", this.#space(name)]);
    }
  }
}

/** Whether this system has machines, and what delays and loses their packets. */
export async function lookForMachines(): Promise<readonly [hasMachines: boolean, shaper?: Shaper]> {
  await using machines = await Machines.make();
  if (machines === undefined) return [false];
  await machines.add("a");
  const shaper = await machines.shape("a", { delayMs: 1, jitterMs: 0, lossPercent: 0 });
  return shaper === undefined ? [true] : [true, shaper];
}
