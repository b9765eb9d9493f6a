/** The server beside grpcio, the library that Reverb's client is made of. */
import { assert, assertEquals } from "../../_assert.ts";
import { type GrpcCall, GrpcConnection } from "../../../net/grpc/calls.ts";
import { Status } from "../../../net/grpc/status.ts";
import { Pump } from "../../../net/pump/pump.ts";
import { besideReverb, runPython } from "../../reverb/_real.ts";

/** Sends as long as little waits. */
function sendOn(call: GrpcCall): void {
  while (!call.isOver && call.buffered < 100_000) call.send(new Uint8Array(10_000));
}

besideReverb("grpcio calls, streams, cancels, waits and is refused as gRPC says", async () => {
  const errors: unknown[] = [];
  const calls: GrpcCall[] = [];
  let mostBuffered = 0;
  const paths = ["/echo", "/error", "/never", "/throws", "/metadata", "/endless"];
  const pump = await Pump.listen({
    hostname: "127.0.0.1",
    port: 0,
    onError: (error) => errors.push(error),
    accept: (onOutput) =>
      new GrpcConnection({
        onOutput,
        onError: (error) => errors.push(error),
        handler: (path) => {
          if (!paths.includes(path)) return undefined;
          return (call) => {
            calls.push(call);
            return {
              onMessage: (message) => {
                if (path === "/echo") call.send(message);
                else if (path === "/throws") throw new Error("thrown");
                else if (path === "/metadata") {
                  call.send(new Uint8Array(call.metadata.get("x-more")?.length ?? 0));
                } else if (path === "/endless") sendOn(call);
              },
              onHalfClose: () => {
                if (path === "/error") call.finish(Status.notFound, "no table 'µ', 100 %\n");
                else if (path === "/echo" || path === "/metadata") call.finish(Status.ok);
              },
              onDrain: () => {
                mostBuffered = Math.max(mostBuffered, call.buffered);
                if (path === "/endless") sendOn(call);
              },
              onCancel: () => {},
            };
          };
        },
      }),
  });
  const text = await runPython(new URL("./_python_client.py", import.meta.url), [pump.port]);
  const seen = JSON.parse(text);
  assertEquals([seen.small, seen.empty, seen.big, seen.after], ["abc", 0, true, "still here"]);
  assertEquals(seen.stream, Array.from({ length: 200 }, (_, k) => 37 * k % 70_000));
  assertEquals(seen.unknown, ["UNIMPLEMENTED", "there is no method /nothing"]);
  assertEquals(seen.error, ["NOT_FOUND", "no table 'µ', 100 %\n"]);
  assertEquals(seen.late[0], "DEADLINE_EXCEEDED");
  assertEquals(seen.compressed[0], "UNIMPLEMENTED");
  assertEquals(seen.thrown, ["INTERNAL", "the server could not serve this call"]);
  assertEquals([seen.metadata, seen.endless, seen.threads], [3000, 50, 400]);
  assertEquals(seen.slow, 2001 * 10_000);
  assert(mostBuffered < 200_000, String(mostBuffered));
  assertEquals(errors.map((error) => (error as Error).message), ["thrown"]);
  assert(calls.every(({ isOver }) => isOver));
  await pump.stop();
  assertEquals(pump.connectionCount, 0);
});
