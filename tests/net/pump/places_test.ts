/** When all places are taken, the connection that is idle for longest gives way; one that has a call never does. */
import { assert, assertEquals } from "../../_assert.ts";
import http2 from "node:http2";
import { GrpcConnection } from "../../../net/grpc/calls.ts";
import { listenByDeno } from "../../../net/pump/deno_sockets.ts";
import { listenByNode } from "../../../net/pump/node_sockets.ts";
import { Pump } from "../../../net/pump/pump.ts";
import { answerHttp1, plain } from "../../../net/http1.ts";
import type { Listen, Socket } from "../../../net/pump/socket.ts";
import { FrameType } from "../../../net/http2/protocol.ts";
import { cutFrames, headers, hello, join } from "../http2/_peer.ts";
import { inTime, pause, until } from "../../_wait.ts";

const hostname = "127.0.0.1";
/** No tick comes by itself. */
const tickMs = 2 ** 30;
const idleMinMs = 200;
const platforms = { "Deno's sockets": listenByDeno, "Node's sockets": listenByNode } as const;

/** A client of `node:http2`, which answers each PING. */
class Client {
  /** The code and last stream of each GOAWAY that came. */
  readonly goAways: (readonly [code: number, lastId: number])[] = [];
  isClosed = false;
  readonly #session: http2.ClientHttp2Session;

  constructor(port: number) {
    this.#session = http2.connect(`http://${hostname}:${port}`);
    this.#session.on("error", () => {});
    this.#session.on("goaway", (code, lastId) => this.goAways.push([code, lastId]));
    this.#session.on("close", () => this.isClosed = true);
  }

  /** Opens a call that waits for `end()`. */
  open(): http2.ClientHttp2Stream {
    const stream = this.#session.request({
      ":method": "POST",
      ":path": "/echo",
      "content-type": "application/grpc",
    });
    stream.on("error", () => {});
    stream.on("data", () => {});
    return stream;
  }

  /** Makes a whole call; its status, and undefined where it was not served. */
  async call(stream: http2.ClientHttp2Stream = this.open()): Promise<unknown> {
    let status: unknown;
    const read = (fields: http2.IncomingHttpHeaders): unknown => status ??= fields["grpc-status"];
    stream.on("response", read);
    stream.on("trailers", read);
    stream.end();
    if (!stream.closed) await new Promise<void>((done) => stream.once("close", done));
    return status;
  }

  close(): void {
    this.#session.destroy();
  }
}

/** Lets a connection's time without a call pass, which begins with the first tick after it. */
function becomeIdle(pump: Pump): void {
  pump.tick(1);
  pump.tick(idleMinMs);
}

/** Reads until the server ends; what came. */
async function ended(socket: Deno.TcpConn): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (;;) {
    const buffer = new Uint8Array(1000);
    const count = await socket.read(buffer);
    if (count === null) return join(...parts);
    parts.push(buffer.subarray(0, count));
  }
}

for (const [platform, listen] of Object.entries(platforms)) {
  /** Calls and pages that the server knows of. */
  let begun = 0;
  const serve = async (
    connectionsMax: number,
    keepaliveMs = 60_000,
    by: Listen = listen,
    onError?: (error: unknown) => void,
  ): Promise<Pump> =>
    await Pump.listen({
      ...{ hostname, port: 0, tickMs, idleMinMs, connectionsMax, onError },
      accept: (onOutput) =>
        new GrpcConnection({
          onOutput,
          limits: { keepaliveMs, keepaliveTimeoutMs: 5000 },
          handler: () => (call) => {
            begun++;
            return {
              onMessage: () => {},
              onHalfClose: () => call.finish(0),
              onCancel: () => {},
            };
          },
        }),
      answerOther: (first) => {
        begun++;
        return answerHttp1(first, {
          answer: () => plain(200, "a page"),
          isKnownHost: () => true,
        });
      },
    }, by);

  Deno.test(`${platform}: idle connections that answer PINGs give way to new ones, the longest idle first`, async () => {
    begun = 0;
    const pump = await serve(3, 50);
    const first = new Client(pump.port);
    assertEquals(await first.call(), "0");
    becomeIdle(pump);
    const second = new Client(pump.port);
    assertEquals(await second.call(), "0");
    const busy = new Client(pump.port);
    const open = busy.open();
    await until("all have begun", () => pump.connectionCount === 3 && begun === 3);
    becomeIdle(pump);
    // The first has been idle for longest; it is told which calls were served.
    const third = new Client(pump.port);
    assertEquals(await third.call(), "0");
    await until("the first is gone", () => first.isClosed);
    assertEquals(first.goAways.at(-1), [0, 1]);
    assertEquals([second.isClosed, busy.isClosed, pump.connectionCount], [false, false, 3]);
    // The status page counts, too. The third was not idle for long enough.
    const page = await fetch(`http://${hostname}:${pump.port}/`);
    assertEquals(await page.text(), "a page\n");
    await until("the second is gone", () => second.isClosed);
    assertEquals([third.isClosed, busy.isClosed], [false, false]);
    assertEquals(await busy.call(open), "0");
    for (const client of [first, second, third, busy]) client.close();
    await pump.stop(0);
  });

  Deno.test(`${platform}: a connection with an open call never gives way, nor does one that just had a call`, async () => {
    begun = 0;
    const pump = await serve(2);
    const busy = new Client(pump.port);
    const open = busy.open();
    const recent = new Client(pump.port);
    await until("all have begun", () => pump.connectionCount === 2 && begun === 1);
    becomeIdle(pump);
    assertEquals(await recent.call(), "0");
    const refused = await Deno.connect({ hostname, port: pump.port });
    await refused.write(hello);
    assertEquals(await refused.read(new Uint8Array(99)).catch(() => null), null);
    refused.close();
    assertEquals([busy.goAways, recent.goAways, pump.connectionCount], [[], [], 2]);
    assertEquals(await busy.call(open), "0");
    assertEquals(await recent.call(), "0");
    busy.close();
    recent.close();
    await pump.stop(0);
  });

  Deno.test(`${platform}: one that says nothing, and half a request of HTTP/1, give way, and their sockets are closed though they read nothing`, async () => {
    begun = 0;
    const pump = await serve(2);
    const silent = await Deno.connect({ hostname, port: pump.port });
    const half = await Deno.connect({ hostname, port: pump.port });
    await half.write(new TextEncoder().encode("GET / HT"));
    await until("all have begun", () => pump.connectionCount === 2 && begun === 1);
    becomeIdle(pump);
    const clients = [new Client(pump.port), new Client(pump.port)];
    for (const client of clients) assertEquals(await client.call(), "0");
    assertEquals(pump.connectionCount, 2);
    for (const socket of [silent, half]) {
      assertEquals(await socket.read(new Uint8Array(9)).catch(() => null), null);
      socket.close();
    }
    for (const client of clients) client.close();
    await pump.stop(0);
  });

  Deno.test(`${platform}: connections that never made a call push out no client that paused`, async () => {
    const pump = await serve(16);
    const paused = new Client(pump.port);
    assertEquals(await paused.call(), "0");
    becomeIdle(pump);
    let gone = 0;
    const silent: Deno.TcpConn[] = [];
    for (let k = 0; k < 40; k++) {
      const socket = await Deno.connect({ hostname, port: pump.port });
      silent.push(socket);
      socket.write(hello).then(() => ended(socket)).catch(() => {}).then(() => gone++);
    }
    await until("all others gave way", () => gone + paused.goAways.length >= 25);
    assertEquals([paused.goAways, pump.connectionCount], [[], 16]);
    assertEquals(await paused.call(), "0");
    paused.close();
    await pump.stop(0);
    await until("all are gone", () => gone === 40);
    for (const socket of silent) socket.close();
  });

  Deno.test(`${platform}: with all places taken by connections that never made a call, a new client gets in at once`, async () => {
    const pump = await serve(3);
    const silent = await Promise.all(
      [0, 1, 2].map(() => Deno.connect({ hostname, port: pump.port })),
    );
    for (const socket of silent) await socket.write(hello);
    await until("all places are taken", () => pump.connectionCount === 3);
    const client = new Client(pump.port);
    assertEquals(await client.call(), "0");
    for (const socket of silent) socket.close();
    client.close();
    await pump.stop(0);
  });

  Deno.test(`${platform}: clients that pause keep no new ones out: half of the places is for those that come`, async () => {
    const pump = await serve(8);
    const paused = Array.from({ length: 8 }, () => new Client(pump.port));
    for (const client of paused) assertEquals(await client.call(), "0");
    becomeIdle(pump);
    const sockets: Deno.TcpConn[] = [];
    for (let k = 0; k < 6; k++) {
      sockets.push(await Deno.connect({ hostname, port: pump.port }));
      await sockets[k]?.write(hello);
    }
    const first = sockets[0];
    assert(first !== undefined);
    await ended(first);
    // Those that came made room for each other, so five of those that paused are gone: half of the places, and the one above it.
    assertEquals(paused.filter(({ goAways }) => goAways.length > 0).length, 5);
    for (const each of [...paused, ...sockets]) each.close();
    await pump.stop(0);
  });

  Deno.test(`${platform}: clients that come at once to a full server push out those that pause, and not each other`, async () => {
    const pump = await serve(16);
    const paused = Array.from({ length: 16 }, () => new Client(pump.port));
    for (const client of paused) assertEquals(await client.call(), "0");
    becomeIdle(pump);
    const sockets: Deno.TcpConn[] = [];
    for (let k = 0; k < 8; k++) sockets.push(await Deno.connect({ hostname, port: pump.port }));
    await until(
      "all have come",
      () => paused.filter((each) => each.goAways.length > 0).length === 8,
    );
    begun = 0;
    for (const socket of sockets) await socket.write(join(hello, headers(1, true)));
    await until("all are served", () => begun === 8);
    for (const each of [...paused, ...sockets]) each.close();
    await pump.stop(0);
  });

  Deno.test(`${platform}: one that had the time for a call and made none gives way before a client that pauses`, async () => {
    const pump = await serve(4);
    const paused = Array.from({ length: 3 }, () => new Client(pump.port));
    for (const client of paused) assertEquals(await client.call(), "0");
    becomeIdle(pump);
    const silent = await Deno.connect({ hostname, port: pump.port });
    await silent.write(hello);
    await silent.read(new Uint8Array(1000)); // the server's settings
    await pause(20); // until the server knows that they are written
    becomeIdle(pump);
    const next = new Client(pump.port);
    assertEquals(await next.call(), "0");
    await ended(silent);
    assertEquals(paused.flatMap(({ goAways }) => goAways), []);
    silent.close();
    for (const client of [...paused, next]) client.close();
    await pump.stop(0);
  });

  Deno.test(`${platform}: a client that gives way before its first bytes came is told by GOAWAY that its call was not served`, async () => {
    begun = 0;
    const pump = await serve(2);
    const sockets: Deno.TcpConn[] = [];
    const places = (): number => pump.connectionCount;
    for (let k = 0; k < 2; k++) {
      sockets.push(await Deno.connect({ hostname, port: pump.port }));
      await until("it has a place", () => places() === k + 1);
    }
    const next = new Client(pump.port);
    assertEquals(await next.call(), "0");
    const [first] = sockets;
    assert(first !== undefined);
    await first.write(join(hello, headers(1, true)));
    const frames = cutFrames(await ended(first));
    const goAway = frames.find(({ type }) => type === FrameType.goAway);
    assertEquals([...goAway?.payload.subarray(0, 8) ?? []], [0, 0, 0, 0, 0, 0, 0, 0]);
    assertEquals(begun, 1);
    for (const each of [...sockets, next]) each.close();
    await pump.stop(0);
  });

  Deno.test(`${platform}: a call that comes long after its connection gave way is told by GOAWAY that it was not served`, async () => {
    begun = 0;
    const pump = await serve(1);
    const socket = await Deno.connect({ hostname, port: pump.port });
    await socket.write(join(hello, headers(1, true)));
    await until("it is served", () => begun === 1);
    becomeIdle(pump);
    const next = new Client(pump.port);
    assertEquals(await next.call(), "0");
    // A client of gRPC that has no call looks at its socket every five seconds.
    await pause(700);
    await socket.write(headers(3, true));
    const frames = cutFrames(await ended(socket));
    const goAway = frames.find(({ type }) => type === FrameType.goAway);
    assertEquals([...goAway?.payload.subarray(0, 8) ?? []], [0, 0, 0, 1, 0, 0, 0, 0]);
    socket.close();
    next.close();
    await pump.stop(0);
  });

  Deno.test(`${platform}: a call that is sent while its connection gives way was not served, and is told so`, async () => {
    const pump = await serve(1);
    const idle = new Client(pump.port);
    assertEquals(await idle.call(), "0");
    becomeIdle(pump);
    const socket = await Deno.connect({ hostname, port: pump.port });
    await until("it gave way", () => idle.goAways.length > 0);
    const status = await idle.call().catch(() => undefined);
    assertEquals(status, undefined);
    assertEquals(idle.goAways.at(-1), [0, 1]);
    assert(pump.connectionCount <= 1);
    socket.close();
    idle.close();
    await pump.stop(0);
  });

  Deno.test(`${platform}: where the system gives no socket, the pump goes on to accept, and an idle connection gives way`, async () => {
    const errors: unknown[] = [];
    let refuse = (): number => 0;
    const failing: Listen = (name, port, taker) => {
      const failure = Object.assign(new Error("Too many open files"), { code: "EMFILE" });
      refuse = () => taker.refuse(failure);
      return listen(name, port, taker);
    };
    const pump = await serve(9, 60_000, failing, (error) => errors.push(error));
    const idle = new Client(pump.port);
    assertEquals(await idle.call(), "0");
    assertEquals(refuse(), 100, "a pause before the next try");
    assertEquals(idle.goAways, []);
    becomeIdle(pump);
    refuse();
    await until("it gave way", () => idle.goAways.length > 0);
    const next = new Client(pump.port);
    assertEquals(await next.call(), "0");
    assertEquals(errors.map(String), ["Error: Too many open files"]);
    for (const client of [idle, next]) client.close();
    await pump.stop(0);
  });

  Deno.test(`${platform}: clients that leave before they are taken do not hold up the next one, and are no error`, async () => {
    const errors: unknown[] = [];
    let pause = -1;
    const left: Listen = (name, port, taker) => {
      pause = taker.refuse(Object.assign(new Error("aborted"), { code: "ECONNABORTED" }));
      return listen(name, port, taker);
    };
    const pump = await serve(9, 60_000, left, (error) => errors.push(error));
    assertEquals(pause, 0);
    const client = new Client(pump.port);
    assertEquals(await inTime("the client is served", client.call()), "0");
    assertEquals(errors, []);
    client.close();
    await pump.stop(0);
  });
}

Deno.test("where the system gives Deno no socket, it tries again after the time that it is told", async () => {
  const refused: unknown[] = [];
  let left = 3;
  let taken = (_: Socket): void => {};
  const first = new Promise<Socket>((resolve) => taken = resolve);
  const server = await listenByDeno(hostname, 0, {
    take: (socket) => {
      if (left-- === 0) return taken(socket);
      socket.close();
      throw new Error("no socket");
    },
    refuse: (error) => refused.push(error),
  });
  const sockets = [0, 1, 2, 3].map(() => Deno.connect({ hostname, port: server.port }));
  (await inTime("one is taken", first)).close();
  assertEquals(refused.map(String), Array(3).fill("Error: no socket"));
  for (const socket of await Promise.all(sockets)) socket.close();
  await server.close();
});

Deno.test("of connections that gave way, no more sockets stay open than there are places", async () => {
  let isOpen = 0;
  let most = 0;
  const come = (): Socket => {
    most = Math.max(most, ++isOpen);
    let isFirst = true;
    let isClosed = false;
    let end = (_: null): void => {};
    const closed = new Promise<null>((resolve) => end = resolve);
    return {
      read: (buffer) => {
        if (!isFirst) return closed;
        isFirst = false;
        buffer.set(hello);
        return Promise.resolve(hello.length);
      },
      write: (bytes) => Promise.resolve(bytes.length),
      closeWrite: () => Promise.resolve(),
      close: () => {
        if (!isClosed) isOpen--;
        isClosed = true;
        end(null);
      },
    };
  };
  const listen: Listen = async (_name, port, taker) => {
    for (let k = 0; k < 50; k++) {
      taker.take(come());
      await pause(0);
    }
    return { port, close: () => Promise.resolve() };
  };
  const pump = await Pump.listen({
    ...{ hostname, port: 1, connectionsMax: 4 },
    accept: (onOutput) => new GrpcConnection({ onOutput, handler: () => undefined }),
  }, listen);
  await until("all came", () => most > 0 && isOpen === 8);
  assertEquals([most <= 9, pump.connectionCount], [true, 4]);
  await pump.stop(0);
  assertEquals(isOpen, 0);
});
