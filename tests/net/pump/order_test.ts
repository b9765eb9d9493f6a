/** The pump on a socket that notes what is done with it, in which order. */
import { assertEquals } from "../../_assert.ts";
import { until } from "../../_wait.ts";
import { GrpcConnection } from "../../../net/grpc/calls.ts";
import { Pump } from "../../../net/pump/pump.ts";
import type { Socket } from "../../../net/pump/socket.ts";
import { hello } from "../http2/_peer.ts";

/** A pump with one socket. */
function pumpOf(socket: Socket): Promise<Pump> {
  return Pump.listen({
    ...{ hostname: "127.0.0.1", port: 1 },
    accept: (onOutput) => new GrpcConnection({ onOutput, handler: () => undefined }),
  }, (_name, port, taker) => {
    taker.take(socket);
    return Promise.resolve({ port, close: () => Promise.resolve() });
  });
}

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
  const pump = await pumpOf(socket);
  await until("it reads on", () => done.length > 2);
  assertEquals(done, ["read", "write", "read"]);
  await pump.stop(0);
});

Deno.test("regression: where a socket took a part and was closed, the rest is not written", async () => {
  const done: string[] = [];
  let endRead = (_count: null): void => {};
  let endWrite = (_count: number): void => {};
  const pump = await pumpOf({
    read: (buffer) => {
      done.push("read");
      if (done.length > 1) return new Promise<null>((resolve) => endRead = resolve);
      buffer.set(hello);
      return Promise.resolve(hello.length);
    },
    write: () => {
      done.push("write");
      return new Promise<number>((resolve) => endWrite = resolve);
    },
    closeWrite: () => Promise.resolve(),
    close: () => {
      done.push("close");
      endRead(null);
      endWrite(1);
    },
  });
  await until("it reads on", () => done.length > 2);
  await pump.stop(0);
  assertEquals(done, ["read", "write", "read", "close"]);
});
