/**
 * An echo server of gRPC for `bench/http2.ts`: by `net/http2` or by `node:http2`. It prints its port, and then for each line that it
 * reads its processor time so far, in microseconds.
 *
 * `/echo` sends each message back; `/sink` sends an empty one; `/source` answers each message by 28,224 bytes.
 *
 * @module
 */
import http2 from "node:http2";
import process from "node:process";
import { GrpcConnection } from "../../net/grpc/calls.ts";
import { Pump } from "../../net/pump/pump.ts";

const picture = new Uint8Array(28_224);

async function listenOurs(): Promise<number> {
  const pump = await Pump.listen({
    hostname: "127.0.0.1",
    port: 0,
    accept: (onOutput) =>
      new GrpcConnection({
        onOutput,
        handler: (path) => (call) => {
          let owed = 0;
          const pay = (): void => {
            for (; owed > 0 && call.buffered < 1 << 20; owed--) call.send(picture);
          };
          return {
            onMessage: (message) => {
              if (path === "/echo") call.send(message);
              else if (path === "/sink") call.send(new Uint8Array(0));
              else {
                owed++;
                pay();
              }
            },
            onHalfClose: () => call.finish(0),
            onCancel: () => {},
            onDrain: pay,
          };
        },
      }),
  });
  return pump.port;
}

function withPrefix(message: Uint8Array): Uint8Array {
  const whole = new Uint8Array(5 + message.length);
  new DataView(whole.buffer).setUint32(1, message.length);
  whole.set(message, 5);
  return whole;
}

function listenNode(): Promise<number> {
  const window = 16 << 20;
  const server = http2.createServer({
    settings: { initialWindowSize: 1 << 20, maxFrameSize: 1 << 20 },
  });
  server.on("session", (session) => session.setLocalWindowSize(window));
  server.on("stream", (stream: http2.ServerHttp2Stream, headers) => {
    const path = headers[":path"];
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, {
      waitForTrailers: true,
    });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    let rest: Uint8Array = new Uint8Array(0);
    stream.on("data", (piece: Uint8Array) => {
      const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
      let at = 0;
      while (bytes.length - at >= 5) {
        const length = new DataView(bytes.buffer, bytes.byteOffset + at).getUint32(1);
        if (bytes.length - at < 5 + length) break;
        const message = bytes.subarray(at + 5, at + 5 + length);
        at += 5 + length;
        if (path === "/echo") stream.write(withPrefix(message));
        else if (path === "/sink") stream.write(withPrefix(new Uint8Array(0)));
        else stream.write(withPrefix(picture));
      }
      rest = bytes.subarray(at);
    });
    stream.on("end", () => stream.end());
    stream.on("error", () => {});
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
}

if (import.meta.main) {
  console.log(Deno.args[0] === "ours" ? await listenOurs() : await listenNode());
  for await (const _ of Deno.stdin.readable) {
    const { user, system } = process.cpuUsage();
    console.log(user + system);
  }
}
