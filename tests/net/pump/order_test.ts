/** The pump on a socket that notes what is done with it, in which order. */
import { assertEquals } from "../../_assert.ts";
import { until } from "../../_wait.ts";
import { GrpcConnection } from "../../../net/grpc/calls.ts";
import { Pump } from "../../../net/pump/pump.ts";
import type { Socket } from "../../../net/pump/socket.ts";
import { hello } from "../http2/_peer.ts";

Deno.test("what came is answered before more is read", async () => {
  const done: string[] = [];
  let end = (_count: null): void => {};
  const closed = new Promise<null>((resolve) => end = resolve);
  const socket: Socket = {
    read: (buffer) => {
      done.push("read");
      if (done.length > 1) return closed;
      buffer.set(hello);
      return Promise.resolve(hello.length);
    },
    write: (bytes) => {
      done.push("write");
      return Promise.resolve(bytes.length);
    },
    closeWrite: () => Promise.resolve(),
    close: () => end(null),
  };
  const pump = await Pump.listen({
    ...{ hostname: "127.0.0.1", port: 1 },
    accept: (onOutput) => new GrpcConnection({ onOutput, handler: () => undefined }),
  }, (_name, port, taker) => {
    taker.take(socket);
    return Promise.resolve({ port, close: () => Promise.resolve() });
  });
  await until("it reads on", () => done.length > 2);
  assertEquals(done, ["read", "write", "read"]);
  await pump.stop(0);
});
