/** SampleStream: how much is sent ahead of the socket, and how long a rate limiter may let a request wait. */
import { assert, assertEquals } from "../_assert.ts";
import { GrpcConnection } from "../../net/grpc/calls.ts";
import { FrameType, Setting } from "../../net/http2/protocol.ts";
import type { StartTimer } from "../../server/calls/method_call.ts";
import { Service } from "../../server/service.ts";
import { Table } from "../../tables/mod.ts";
import { Tables } from "../../tables/tables.ts";
import { envelope } from "../reverb/_grpc.ts";
import { encode } from "../reverb/_proto.ts";
import {
  cutFrames,
  data,
  frame,
  headers,
  hello,
  join,
  requestFields,
  settings,
  word,
} from "../net/http2/_peer.ts";
import { noise } from "../_noise.ts";

const path = "/deepmind.reverb.ReverbService/SampleStream";
const fields = requestFields.map(([name, value]) =>
  [name, name === ":path" ? path : value] as const
);

Deno.test("streams of samples go on as the socket takes them, in turns and in outputs that the cache has room for", async () => {
  using tables = await Tables.create({ tables: { t: { maxSize: 100 } }, seed: 1 });
  for (let k = 0; k < 9; k++) await tables.insert(noise(30_000, k), { t: 1 });
  const errors: unknown[] = [];
  const service = new Service(tables, undefined, (error) => errors.push(error), 1 << 30);
  const connection = new GrpcConnection({ handler: (path) => service.handler(path) });
  const drawn = (): number => tables.table("t").info().samples;
  const request = envelope(encode("SampleStreamRequest", { table: "t", num_samples: 500n }));
  // A client that takes all there is: only the socket holds it up.
  connection.receive(
    join(
      hello,
      settings([Setting.initialWindowSize, 0x7fff_ffff], [Setting.maxFrameSize, 1 << 20]),
      frame(8, 0, 0, word(1 << 30)),
    ),
  );
  for (const id of [1, 3]) connection.receive(join(headers(id, false, fields), data(id, request)));
  service.sendReady();
  const bytesOf = new Map<number, number>();
  let count = 0;
  for (let output; (output = connection.takeOutput()) !== undefined;) {
    assert(output.length < 200_000, `an output of ${output.length} bytes`);
    for (const { id, type, payload } of cutFrames(output)) {
      if (type === FrameType.data) bytesOf.set(id, (bytesOf.get(id) ?? 0) + payload.length);
    }
    if (++count === 4) assertEquals([...bytesOf.keys()], [1, 3]);
  }
  assertEquals([drawn(), errors], [1000, []]);
  for (const bytes of bytesOf.values()) assert(bytes > 15_000_000, `${bytes} bytes`);
});

/** Timers that run out when a test says so. */
class Timers {
  /** Of each timer, its milliseconds and whether it runs. */
  readonly all: { ms: number; isRunning: boolean }[] = [];
  #last = (): void => {};

  readonly start: StartTimer = (then, ms) => {
    const timer = { ms, isRunning: true };
    this.all.push(timer);
    this.#last = then;
    return () => timer.isRunning = false;
  };
  /** The last timer runs out. */
  expire(): void {
    this.#last();
  }
}

Deno.test("the timeout counts anew from the last sample, and not while one can be sent", async () => {
  using tables = await Tables.create({ tables: { q: Table.queue(3) }, seed: 1 });
  const timers = new Timers();
  const errors: unknown[] = [];
  const onError = (error: unknown): number => errors.push(error);
  const service = new Service(tables, undefined, onError, 1 << 30, timers.start);
  const connection = new GrpcConnection({ handler: (path) => service.handler(path) });
  const insert = async (): Promise<void> => {
    await tables.insert({ x: 1 }, { q: 1 });
    service.sendReady();
  };
  const wait = { milliseconds: 300n };
  const request = envelope(
    encode("SampleStreamRequest", { table: "q", num_samples: 3n, rate_limiter_timeout: wait }),
  );
  await insert();
  connection.receive(join(hello, headers(1, false, fields), data(1, request)));
  service.sendReady();
  const [first, second] = [{ ms: 300, isRunning: true }, { ms: 300, isRunning: true }];
  assertEquals([tables.table("q").info().samples, timers.all], [1, [first]]);
  await insert();
  first.isRunning = false;
  assertEquals([tables.table("q").info().samples, timers.all], [2, [first, second]]);
  assertEquals(service.callFigures, []);
  timers.expire();
  assertEquals(service.callFigures, [{ method: "SampleStream", code: 4, count: 1 }]);
  // The third is another's.
  await insert();
  assertEquals([tables.table("q").info().samples, timers.all.length, errors], [2, 2, []]);
});
