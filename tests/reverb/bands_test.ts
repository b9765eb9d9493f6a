/** Which bands of rate limiters go on for ever and which stand still on Reverb's server, and those that ours takes. */
import { assertEquals } from "../_assert.ts";
import { type TriedBand, triedBands } from "../rate_limiters/_bands.ts";
import { neverDeadlocks } from "../../rate_limiters/checks.ts";
import { asConfig } from "../server/_as_config.ts";
import { served } from "../server/_served.ts";
import { Connection, smallChunk, smallItem } from "./_grpc.ts";
import type { Message } from "./_proto.ts";
import { besideReverb, plainTable, type RealTable, startReal } from "./_real.ts";
import { pause, until } from "../_wait.ts";

const ITEMS = 300;

function tableOf({ band, maxTimesSampled = 0 }: TriedBand, index: number): RealTable {
  const [samples_per_insert, min_size, least, largest] = band;
  return plainTable(`band ${index}: ${band}`, {
    sampler: { kind: "fifo" },
    max_size: 1000,
    max_times_sampled: maxTimesSampled,
    rateLimiter: {
      kind: "sample_to_insert_ratio",
      samples_per_insert,
      min_size,
      error_buffer: [least, largest],
    },
  });
}

/** Inserts and samples beside each other, until each table has had so many of both or more. Returns how many came through in the end. */
async function drive(
  port: number,
  wanted: ReadonlyMap<string, readonly number[]>,
): Promise<Map<string, number[]>> {
  const connection = new Connection(port);
  try {
    for (const name of wanted.keys()) {
      const inserts = connection.open("InsertStream");
      for (let key = 1n; key <= ITEMS; key++) {
        inserts.send({ chunks: [smallChunk(key)], items: [smallItem(key, name, 1, key)] });
      }
      connection.open("SampleStream").send({
        table: name,
        num_samples: 10_000n,
        rate_limiter_timeout: { milliseconds: -1n },
      });
    }
    const counts = async (): Promise<Map<string, number[]>> => {
      const { table_info } = await connection.call("ServerInfo");
      return new Map(table_info.map(({ name, rate_limiter_info: info }: Message) => [
        name,
        [info.insert_stats, info.sample_stats].map((stats) => Number(stats?.completed ?? 0)),
      ]));
    };
    await until("all have come so far", async () => {
      const now = await counts();
      return [...wanted].every(([name, least]) =>
        least.every((count, k) => (now.get(name)?.[k] ?? 0) >= count)
      );
    });
    await pause(500); // to come further, where it should not
    return await counts();
  } finally {
    connection.close();
  }
}

besideReverb("bands go on and stand still on Reverb's server as we say", async () => {
  const tables = triedBands.map(tableOf);
  await using real = await startReal(tables);
  const wanted = triedBands.map(({ still }, k) =>
    [
      tables[k]?.name ?? "",
      still === undefined ? [ITEMS] : [...still],
    ] as const
  );
  const counts = await drive(real.port, new Map(wanted));
  triedBands.forEach((one, index) => {
    const { name } = tableOf(one, index);
    const found = counts.get(name) ?? [];
    if (one.still === undefined) assertEquals(found[0], ITEMS, name);
    else assertEquals(found, [...one.still], name);
  });
});

Deno.test("a band that our server takes goes on", async () => {
  const isTaken = ({ band: [ratio, minSize, differenceMin, differenceMax] }: TriedBand): boolean =>
    neverDeadlocks({ ratio, minSize, differenceMin, differenceMax });
  const tables = triedBands.filter(isTaken).map(tableOf);
  await using site = await served(asConfig(tables));
  const wanted = new Map(tables.map(({ name }) => [name, [ITEMS]]));
  const counts = await drive(site.server.port, wanted);
  for (const { name } of tables) assertEquals(counts.get(name)?.[0], ITEMS, name);
});
