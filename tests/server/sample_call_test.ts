/** SampleStream: how much is sent ahead of the socket. */
import { assert, assertEquals } from "../_assert.ts";
import { GrpcConnection } from "../../server/grpc/calls.ts";
import { FrameType, Setting } from "../../server/http2/protocol.ts";
import { Service } from "../../server/service.ts";
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
} from "./http2/_peer.ts";
import { noise } from "../_noise.ts";

Deno.test("streams of samples go on as the socket takes them, in turns and in outputs that the cache has room for", async () => {
  using tables = await Tables.create({ tables: { t: { maxSize: 100 } }, seed: 1 });
  for (let k = 0; k < 9; k++) await tables.insert(noise(30_000, k), { t: 1 });
  const errors: unknown[] = [];
  const service = new Service(tables, undefined, (error) => errors.push(error), 1 << 30);
  const connection = new GrpcConnection({ handler: (path) => service.handler(path) });
  const drawn = (): number => tables.table("t").info().samples;
  const path = "/deepmind.reverb.ReverbService/SampleStream";
  const fields = requestFields.map(([name, value]) =>
    [name, name === ":path" ? path : value] as const
  );
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
  service.settle();
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
