/** The pump: real sockets, with the HTTP/2 client of Node as the peer. */
import { assert, assertEquals, assertStrictEquals } from "../../_assert.ts";
import { noise } from "../../_noise.ts";
import http2 from "node:http2";
import { type GrpcCall, GrpcConnection } from "../../../net/grpc/calls.ts";
import { BusyPoll } from "../../../net/pump/busy_poll.ts";
import { listenByDeno } from "../../../net/pump/deno_sockets.ts";
import { listenByNode } from "../../../net/pump/node_sockets.ts";
import { Pump, type PumpOptions } from "../../../net/pump/pump.ts";
import { listenError } from "../../../net/pump/socket_errors.ts";
import { answerHttp1, plain } from "../../../net/http1.ts";
import { join, word } from "../http2/_peer.ts";
import { PATIENCE_MS, pause, until } from "../../_wait.ts";

const host = "127.0.0.1";

/** An echo of messages; `/big` answers each message by as many bytes as its first four say. */
function connectionOf(
  onOutput: () => void,
  calls: GrpcCall[] = [],
  errors: unknown[] = [],
): GrpcConnection {
  return new GrpcConnection({
    onOutput,
    onError: (error) => errors.push(error),
    handler: (path) => (call) => {
      calls.push(call);
      return {
        onMessage: (message) => {
          if (path === "/quiet") return;
          if (path !== "/big") return call.send(message);
          const count = new DataView(message.buffer, message.byteOffset).getUint32(0);
          call.send(new Uint8Array(count).fill(count & 255));
        },
        onHalfClose: () => call.finish(0),
        onCancel: () => {},
      };
    },
  });
}

/** A poll for two cores, on a clock that stands still until it is moved. A client has just called, so the next input is not the only one. */
function pollOn(pollMs: number): { poll: BusyPoll; pass: (ms: number) => void } {
  let time = 1000;
  const poll = new BusyPoll(pollMs, 2, () => time);
  poll.note(-1);
  time += 50;
  return { poll, pass: (ms) => void (time += ms) };
}

const aPage = { answer: () => plain(200, "a page"), isKnownHost: () => true };

/** Listens by the sockets of Deno and by those of Node, in turn. */
const platforms = {
  "Deno's sockets": listenByDeno,
  "Node's sockets": listenByNode,
} as const;

async function listen(
  platform: keyof typeof platforms,
  options: Partial<PumpOptions> = {},
): Promise<Pump> {
  const whole: PumpOptions = { hostname: host, port: 0, accept: connectionOf, ...options };
  return await Pump.listen(whole, platforms[platform]);
}

interface Reply {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly status: string | undefined;
  readonly code: number;
}

/** A call by Node's client. */
function call(
  session: http2.ClientHttp2Session,
  path: string,
  messages: readonly Uint8Array[],
): Promise<Reply> {
  return new Promise((resolve) => {
    const request = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const parts: Uint8Array[] = [];
    let status: string | undefined;
    request.on("data", (part: Uint8Array) => parts.push(part));
    request.on("trailers", (fields) => status = fields["grpc-status"] as string | undefined);
    request.on("response", (fields) => status ??= fields["grpc-status"] as string | undefined);
    request.on("error", () => {});
    request.on("close", () => {
      resolve({ bytes: new Uint8Array(Buffer.concat(parts)), status, code: request.rstCode ?? 0 });
    });
    for (const message of messages) {
      request.write(withPrefix(message));
    }
    request.end();
  });
}

const withPrefix = (message: Uint8Array): Uint8Array<ArrayBuffer> =>
  join(new Uint8Array(1), word(message.length), message);

async function connect(
  port: number,
  settings: http2.Settings = {},
): Promise<http2.ClientHttp2Session> {
  const session = http2.connect(`http://${host}:${port}`, { settings });
  session.on("error", () => {});
  await new Promise((done) => session.once("connect", done));
  return session;
}

async function close(session: http2.ClientHttp2Session): Promise<void> {
  await new Promise<void>((done) => session.close(done));
}

for (const platform of Object.keys(platforms) as (keyof typeof platforms)[]) {
  Deno.test(`${platform}: 200 calls at once, of small and large messages, come back as they were sent`, async () => {
    const pump = await listen(platform);
    const session = await connect(pump.port);
    const sizes = [0, 1, 100, 20_000, 70_000, 300_000];
    const sent = noise(300_200);
    const replies = Array.from({ length: 200 }, async (_, k) => {
      const messages = [0, 1].map((n) =>
        sent.subarray(k, k + (sizes[(k + n) % sizes.length] ?? 0))
      );
      const { bytes, status } = await call(session, "/echo", messages);
      assertEquals(status, "0");
      assert(Buffer.concat(messages.map(withPrefix)).equals(bytes), `call ${k}`);
    });
    await Promise.all(replies);
    assertEquals(pump.connectionCount, 1);
    await close(session);
    await pump.stop();
    assertEquals(pump.connectionCount, 0);
  });

  Deno.test(`${platform}: 10 MB each way, through small windows and small frames of the client`, async () => {
    const pump = await listen(platform);
    for (
      const settings of [
        { initialWindowSize: 1000, headerTableSize: 0 },
        { initialWindowSize: 1 << 20, maxFrameSize: 1 << 20 },
      ]
    ) {
      const session = await connect(pump.port, settings);
      const size = settings.initialWindowSize === 1000 ? 200_000 : 10_000_000;
      const message = noise(size);
      const { bytes, status } = await call(session, "/echo", [message]);
      assertEquals(status, "0");
      assert(Buffer.from(withPrefix(message)).equals(bytes));
      await close(session);
    }
    await pump.stop();
  });

  Deno.test(`${platform}: cancelled calls and broken sockets leave nothing open`, async () => {
    const calls: GrpcCall[] = [];
    const errors: unknown[] = [];
    const pump = await listen(platform, {
      accept: (onOutput) => connectionOf(onOutput, calls, errors),
      onError: (error) => errors.push(error),
    });
    for (let round = 0; round < 20; round++) {
      const session = await connect(pump.port);
      for (let k = 0; k < 10; k++) {
        const request = session.request({
          ...{ ":method": "POST", ":path": "/big", "content-type": "application/grpc" },
        });
        request.on("error", () => {});
        request.write(withPrefix(word(5_000_000)));
        if (k < 3) request.close(http2.constants.NGHTTP2_CANCEL);
      }
      await until("most have begun", () => calls.length >= 7 * (round + 1));
      session.destroy();
    }
    const other = await connect(pump.port);
    const { status } = await call(other, "/echo", [new Uint8Array(9)]);
    assertEquals(status, "0");
    await close(other);
    await until("all are gone", () => pump.connectionCount === 0);
    assert(calls.length > 50 && calls.every(({ isOver }) => isOver));
    assertEquals(errors, []);
    await pump.stop();
  });

  Deno.test(`${platform}: a client that reads nothing costs a bounded output, and stops only itself`, async () => {
    const calls: GrpcCall[] = [];
    const pump = await listen(platform, { accept: (onOutput) => connectionOf(onOutput, calls) });
    const slow = await connect(pump.port, { initialWindowSize: 65_535 });
    const request = slow.request({
      ...{ ":method": "POST", ":path": "/big", "content-type": "application/grpc" },
    });
    request.pause();
    request.write(withPrefix(word(3_000_000)));
    await until("it has its answer", () => (calls[0]?.buffered ?? 0) > 0);
    await pause(100);
    assert((calls[0]?.buffered ?? 0) > 2_500_000, "what it does not read waits in its call");
    const other = await connect(pump.port);
    const { bytes } = await call(other, "/big", [word(2_000_000)]);
    assertEquals(bytes.length, 2_000_005);
    await close(other);
    let count = 0;
    request.on("data", (part: Uint8Array) => count += part.length);
    request.resume();
    request.end();
    await new Promise((done) => request.once("close", done));
    assertEquals(count, 3_000_005);
    await close(slow);
    await pump.stop();
  });

  Deno.test(`${platform}: the event loop turns after a call, until its time is over or the pump stops`, async () => {
    for (const ends of ["never begins", "by its time", "by stop()"]) {
      const { poll, pass } = pollOn(ends === "never begins" ? 0 : 50);
      const pump = await listen(platform, { poll });
      const session = await connect(pump.port);
      await call(session, "/echo", [new Uint8Array(9)]);
      assertEquals(pump.isPolling, ends !== "never begins");
      if (ends === "by its time") {
        pass(51);
        await until("its time is over", () => !pump.isPolling);
      }
      await close(session);
      await pump.stop();
      assertEquals(pump.isPolling, false);
    }
  });

  Deno.test(`${platform}: neither a page nor a PING of an idle connection makes the event loop turn`, async () => {
    const { poll, pass } = pollOn(40);
    const pump = await listen(platform, {
      ...{ poll, tickMs: 20 },
      answerOther: (first) => answerHttp1(first, aPage),
    });
    const session = await connect(pump.port);
    await call(session, "/echo", [new Uint8Array(9)]);
    assertEquals(pump.isPolling, true);
    pass(41); // an input now would not be the only one
    await until("the time after the call is over", () => !pump.isPolling);
    for (let k = 0; k < 3; k++) {
      await new Promise((done) => session.ping(done));
      assertEquals(pump.isPolling, false, "a PING");
    }
    const page = await fetch(`http://${host}:${pump.port}/`);
    assertEquals([await page.text(), pump.isPolling], ["a page\n", false]);
    await close(session);
    await pump.stop();
  });

  Deno.test(`${platform}: stop() waits for open calls, then ends what is left`, async () => {
    const pump = await listen(platform);
    const session = await connect(pump.port);
    const request = session.request({
      ...{ ":method": "POST", ":path": "/echo", "content-type": "application/grpc" },
    });
    request.on("error", () => {});
    let status: string | undefined;
    request.on("trailers", (fields) => status = fields["grpc-status"] as string | undefined);
    request.on("data", () => {});
    request.write(withPrefix(new Uint8Array(9)));
    await new Promise((done) => request.once("response", done));
    const closed = new Promise((done) => request.once("close", done));
    const stopped = pump.stop(PATIENCE_MS);
    await pause(50);
    request.end();
    await Promise.all([stopped, closed]);
    assertEquals(status, "0");
    session.destroy();

    const calls: GrpcCall[] = [];
    const second = await listen(platform, { accept: (onOutput) => connectionOf(onOutput, calls) });
    const stuck = await connect(second.port);
    const open = stuck.request({
      ...{ ":method": "POST", ":path": "/quiet", "content-type": "application/grpc" },
    });
    open.on("error", () => {});
    open.write(withPrefix(new Uint8Array(9)));
    await until("the call is there", () => calls.length === 1);
    await second.stop(100);
    assertEquals(second.connectionCount, 0);
    stuck.destroy();
  });

  Deno.test(`${platform}: a connection too many is closed, and so is one that says nothing`, async () => {
    const pump = await listen(platform, { connectionsMax: 2, handshakeMs: 500 });
    const session = await connect(pump.port);
    assertEquals((await call(session, "/echo", [])).status, "0");
    const silent = await Deno.connect({ hostname: host, port: pump.port });
    await until("both are taken", () => pump.connectionCount === 2);
    const third = await Deno.connect({ hostname: host, port: pump.port });
    assertEquals(await third.read(new Uint8Array(9)), null);
    third.close();
    assertEquals(await silent.read(new Uint8Array(9)), null);
    silent.close();
    const { status } = await call(session, "/echo", []);
    assertEquals(status, "0");
    await close(session);
    await pump.stop();
  });

  Deno.test(`${platform}: the first bytes tell HTTP/2 from the rest, however they are cut`, async () => {
    const seen: string[] = [];
    const pump = await listen(platform, {
      answerOther: (first) => {
        const text = new TextDecoder().decode(first);
        if (!text.endsWith("\n")) return undefined;
        seen.push(text);
        return new TextEncoder().encode("an answer\n");
      },
    });
    for (
      const parts of [["GET /\n"], ["P", "OST /\n"], ["PRI * HTTP/2.0\r\n\r\nS", "\n"], ["\n"]]
    ) {
      const socket = await Deno.connect({ hostname: host, port: pump.port });
      for (const part of parts) {
        await socket.write(new TextEncoder().encode(part));
        await pause(10);
      }
      const text = await new Response(socket.readable).text();
      assertEquals(text, "an answer\n");
    }
    assertEquals(seen, ["GET /\n", "POST /\n", "PRI * HTTP/2.0\r\n\r\nS\n", "\n"]);
    await pump.stop();

    const without = await listen(platform);
    const socket = await Deno.connect({ hostname: host, port: without.port });
    await socket.write(new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n"));
    assertEquals(await socket.read(new Uint8Array(9)).catch(() => null), null);
    socket.close();
    await without.stop();
  });

  Deno.test(`${platform}: a client gets the GOAWAY that says what was wrong`, async () => {
    const pump = await listen(platform);
    const socket = await Deno.connect({ hostname: host, port: pump.port });
    const preface = new TextEncoder().encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    const wrong = new Uint8Array(preface.length + 100_000);
    wrong.set(preface); // then a frame of no bytes and type 0, before SETTINGS
    await socket.write(wrong);
    const bytes = new Uint8Array(await new Response(socket.readable).arrayBuffer());
    assert(new TextDecoder().decode(bytes).endsWith("the first frame is not SETTINGS"));
    await pump.stop();
  });

  Deno.test(`${platform}: afterRead() is called after each read, before its output`, async () => {
    let reads = 0;
    const open: GrpcCall[] = [];
    const pump = await listen(platform, {
      accept: (onOutput) =>
        new GrpcConnection({
          onOutput,
          handler: () => (call) => {
            open.push(call);
            return { onMessage: () => {}, onHalfClose: () => {}, onCancel: () => {} };
          },
        }),
      afterRead: () => {
        reads++;
        for (const call of open.splice(0)) {
          call.send(new Uint8Array([7]));
          call.finish(0);
        }
      },
    });
    const session = await connect(pump.port);
    const replies = await Promise.all([1, 2, 3].map(() => call(session, "/x", [word(1)])));
    assertEquals(replies.map(({ bytes }) => [...bytes]), Array(3).fill([0, 0, 0, 0, 1, 7]));
    assert(reads > 0);
    await close(session);
    await pump.stop();
  });
}

Deno.test("listen() takes the sockets of this platform, and refuses a port that is taken", async () => {
  const pump = await Pump.listen({ hostname: host, port: 0, accept: connectionOf });
  let error: unknown;
  try {
    await Pump.listen({ hostname: host, port: pump.port, accept: connectionOf });
  } catch (thrown) {
    error = thrown;
  }
  assert(error instanceof Error && error.cause instanceof Deno.errors.AddrInUse);
  assertStrictEquals(
    error.message,
    `another program listens on ${host}:${pump.port}; choose another port, or 0 for a free one`,
  );
  await pump.stop();
  await pump.stop();
});

// What Deno 2 and Node 20 throw, by their names, codes and messages.
for (
  const [name, code, message, hostname, port, words] of [
    [
      "AddrNotAvailable",
      "EADDRNOTAVAIL",
      "Cannot assign requested address (os error 99)",
      "192.0.2.1",
      8000,
      "can't listen on 192.0.2.1:8000: Cannot assign requested address (os error 99); choose an address of this machine",
    ],
    [
      "Error",
      "EADDRNOTAVAIL",
      "listen EADDRNOTAVAIL: address not available 2001:db8::1:8000",
      "2001:db8::1",
      8000,
      "can't listen on [2001:db8::1]:8000: listen EADDRNOTAVAIL: address not available 2001:db8::1:8000; choose an address",
    ],
    [
      "Error",
      undefined,
      "failed to lookup address information: Name or service not known",
      "gpu7",
      8000,
      "can't listen on gpu7:8000: failed to lookup address information: Name or service not known; choose an address",
    ],
    [
      "Error",
      "ENOTFOUND",
      "getaddrinfo ENOTFOUND gpu7",
      "gpu7",
      8000,
      "can't listen on gpu7:8000: getaddrinfo ENOTFOUND gpu7; choose an address",
    ],
    [
      "PermissionDenied",
      "EACCES",
      "Permission denied (os error 13)",
      "127.0.0.1",
      80,
      "can't listen on 127.0.0.1:80: Permission denied (os error 13); systems keep ports below 1024",
    ],
    [
      "Error",
      "EMFILE",
      "Too many open files (os error 24)",
      "127.0.0.1",
      8000,
      "can't listen on 127.0.0.1:8000: Too many open files (os error 24)",
    ],
    [
      "NotCapable",
      undefined,
      'Requires net access to "127.0.0.1:8000", run again with the --allow-net flag',
      "127.0.0.1",
      8000,
      'Requires net access to "127.0.0.1:8000", run again with the --allow-net flag',
    ],
  ] as const
) {
  Deno.test(`where ${message} ends listen(), the words say the address and what to do`, () => {
    const error = listenError(Object.assign(new Error(message), { name, code }), hostname, port);
    assert(error instanceof Error && error.message.startsWith(words), String(error));
  });
}

for (const platform of ["Deno's sockets", "Node's sockets"] as const) {
  Deno.test(`${platform}: a connection that fails as it counts the time, and as it closes, ends alone`, async () => {
    const errors: unknown[] = [];
    const fail = (what: string) => (): never => {
      throw new Error(what);
    };
    let made = 0;
    const pump = await listen(platform, {
      tickMs: 20,
      onError: (error) => errors.push(error),
      accept: (onOutput) => {
        const connection = connectionOf(onOutput);
        if (made++ > 0) return connection;
        return Object.assign(connection, { tick: fail("no tick"), close: fail("no last words") });
      },
    });
    const first = http2.connect(`http://${host}:${pump.port}`);
    first.on("error", () => {});
    await new Promise((resolve) => first.once("close", resolve));
    const second = http2.connect(`http://${host}:${pump.port}`);
    assertEquals((await call(second, "/echo", [word(7)])).status, "0");
    second.destroy();
    await pump.stop(0);
    assertEquals(errors.slice(0, 2), [new Error("no tick"), new Error("no last words")]);
  });
}
