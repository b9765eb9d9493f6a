/**
 * Machines that are network namespaces of Linux: each has an address, and a cable to one switch. Cables are pulled, made slow, and made lossy. It needs the rights of
 * root, `ip` and `tc`.
 *
 * @module
 */

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

/** Some machines. */
export class Machines implements AsyncDisposable {
  readonly #prefix: string;
  readonly #names: string[] = [];

  private constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Makes a switch, to which nothing is connected; undefined where there are no namespaces, or we may not make them. */
  static async make(): Promise<Machines | undefined> {
    if (Deno.build.os !== "linux") return undefined;
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

  /** Makes a cable slow or lossy, both ways: words of `tc qdisc`, as `netem delay 5ms loss 1%`; none make it fast again. False where the system can't. */
  async shape(name: string, words: readonly string[]): Promise<boolean> {
    let isDone = true;
    for (const [space, device] of [["switch", name], [name, "eth0"]] as const) {
      const to = ["tc", "-n", this.#space(space), "qdisc"];
      const place = ["dev", device, "root"];
      await attempt([...to, "del", ...place]);
      if (words.length === 0) continue;
      isDone &&= await attempt([...to, "add", ...place, ...words]) === undefined;
    }
    return isDone;
  }

  /** Ends all of it. Programs on the machines must have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of [...this.#names, "switch"]) {
      await attempt(["ip", "netns", "del", this.#space(name)]);
    }
  }
}
