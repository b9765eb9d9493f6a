/** Cables between machines delay and lose what they are told to, and nothing else. Where machines can't be made, this is left out. */
import { assert, assertEquals, assertStrictEquals } from "../_assert.ts";
import { onWasm } from "../_native.ts";
import { until } from "../_wait.ts";
import { inRepository } from "../../tools/_repository.ts";
import { lookForMachines, Machines } from "./_machines.ts";

const COUNT = 300;
const [, shaper] = onWasm ? [] : await lookForMachines();

interface Came {
  readonly numbers: readonly number[];
  readonly leastMs: number;
}

/** The command of a program that sends datagrams, on a machine. */
function datagrams(machines: Machines, name: string, args: readonly string[]): Deno.Command {
  const [command = "", ...rest] = [
    ...machines.on(name),
    ...[Deno.execPath(), "run", "--allow-net", "--unstable-net", "--no-check", "--quiet"],
    ...[inRepository("tests", "machines", "_datagrams.ts"), ...args],
  ];
  return new Deno.Command(command, { args: rest, stdout: "piped" });
}

/** Sends datagrams from `a` to `b`, which sends them back. */
async function send(machines: Machines, address: string): Promise<Came> {
  const { stdout } = await datagrams(machines, "a", [address]).output();
  return JSON.parse(new TextDecoder().decode(stdout)) as Came;
}

/** How often one came that another had overtaken. */
function overtaken({ numbers }: Came): number {
  return numbers.filter((number, k) => number < (numbers[k - 1] ?? 0)).length;
}

Deno.test({
  name: `cables delay and lose packets by ${shaper}, keep their order, and are plain again`,
  ignore: shaper === undefined,
  fn: async () => {
    await using machines = await Machines.make();
    assert(machines !== undefined);
    await machines.add("a");
    const address = await machines.add("b");
    const echo = datagrams(machines, "b", []).spawn();
    try {
      let said = "";
      (async () => {
        for await (const text of echo.stdout.pipeThrough(new TextDecoderStream())) said += text;
      })();
      await until("the other machine listens", () => said !== "");

      assertStrictEquals(
        await machines.shape("a", { delayMs: 20, jitterMs: 0, lossPercent: 10 }, 3),
        shaper,
      );
      const slow = await send(machines, address);
      assert(slow.leastMs >= 40, `one came after ${slow.leastMs} ms`);
      // Of 300, 243 should come, give or take 6.8.
      const { length } = slow.numbers;
      assert(length > 200 && length < 285, `${length} came`);
      // A system with several processors may itself change the order of a few.
      assert(overtaken(slow) < 10, slow.numbers.join());

      await machines.shape("a", { delayMs: 20, jitterMs: 20, lossPercent: 0 });
      const uneven = await send(machines, address);
      assert(overtaken(uneven) > 30, uneven.numbers.join());

      await machines.shape("a");
      const plain = await send(machines, address);
      assertEquals(
        plain.numbers.toSorted((one, other) => one - other),
        Array.from({ length: COUNT }, (_, k) => k),
      );
    } finally {
      echo.kill("SIGKILL");
      await echo.status;
    }
  },
});
