/** 200 clients that die in the middle of a message: others never notice, and what was held is free again. */
import { assert, assertEquals } from "../../_assert.ts";
import { RandomStream } from "../../../selectors/random_stream.ts";
import { type GrpcCall, GrpcConnection } from "../../../net/grpc/calls.ts";
import { HeldBytes } from "../../../net/grpc/held_bytes.ts";
import { Pump } from "../../../net/pump/pump.ts";
import { data, headers, hello, join, word } from "../http2/_peer.ts";
import { pause, until } from "../../_wait.ts";

Deno.test("200 clients that are killed within a message leave nothing, and others are served meanwhile", async () => {
  const seed = 261123;
  const random = new RandomStream(seed);
  const held = new HeldBytes();
  const calls: GrpcCall[] = [];
  const errors: unknown[] = [];
  let mostHeld = 0;
  const pump = await Pump.listen({
    hostname: "127.0.0.1",
    port: 0,
    onError: (error) => errors.push(error),
    afterRead: () => mostHeld = Math.max(mostHeld, held.count),
    accept: (onOutput) =>
      new GrpcConnection({
        onOutput,
        held,
        onError: (error) => errors.push(error),
        handler: () => (call) => {
          calls.push(call);
          return {
            onMessage: (message) => call.send(message),
            onHalfClose: () => call.finish(0),
            onCancel: () => {},
          };
        },
      }),
  });
  const connect = (): Promise<Deno.TcpConn> =>
    Deno.connect({ hostname: "127.0.0.1", port: pump.port });

  let isOver = false;
  let served = 0;
  const other = (async () => {
    const conn = await connect();
    const buffer = new Uint8Array(4096);
    await conn.write(hello);
    await conn.read(buffer);
    for (let id = 1; !isOver; id += 2) {
      const message = join(new Uint8Array(1), word(3), new Uint8Array([7, 8, 9]));
      await conn.write(join(headers(id), data(id, message, true)));
      // The end of the answer is a HEADERS frame with END_STREAM, of `grpc-status: 0`.
      let text = "";
      while (!text.endsWith("grpc-status\x010")) {
        const count = await conn.read(buffer);
        assert(count !== null);
        text += new TextDecoder("latin1").decode(buffer.subarray(0, count));
      }
      assert(text.includes("\x07\x08\x09"));
      served++;
      await pause(1);
    }
    conn.close();
  })();

  const kill = async (): Promise<void> => {
    const conn = await connect();
    const body = join(new Uint8Array(1), word(300_000), new Uint8Array(300_000));
    const whole = join(hello, headers(1), data(1, body), headers(3), data(3, body));
    // Somewhere in the preface, in a frame's header, in headers, or in one of the messages.
    const cut = random.below(4) === 0 ? random.below(200) : random.below(whole.length);
    try {
      for (let at = 0; at < cut;) at += await conn.write(whole.subarray(at, cut));
    } finally {
      conn.close(); // with unread answers, this is a reset
    }
  };
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 10 }, kill));
    const before = served;
    await until("the other client is served", () => served > before);
  }
  await until("the killed clients are gone", () => pump.connectionCount === 1);
  isOver = true;
  await other;
  assertEquals(held.count, 0);
  assert(mostHeld > 100_000, `${mostHeld} bytes were held at most, so no message was cut`);
  assertEquals(calls.filter((call) => !call.isOver).length, 0);
  assert(calls.length - served > 150, `${calls.length - served} calls of clients that were killed`);
  assertEquals(errors, []);
  assert(served >= 20, String(served));
  await pump.stop();
  assertEquals(pump.connectionCount, 0);
});
