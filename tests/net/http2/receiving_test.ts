/** The receiving side: windows that are given back or withheld, events, endings, and any cutting of the bytes. */
import { assert, assertEquals } from "../../_assert.ts";
import { ErrorCode, FrameType, read32 } from "../../../net/http2/protocol.ts";
import { encodeHeaders } from "../../../net/http2/hpack.ts";
import { RandomStream } from "../../../selectors/random_stream.ts";
import { data, frame, headers, hello, join, Peer, requestFields, word, write } from "./_peer.ts";

const answer = encodeHeaders([[":status", "200"]]);

Deno.test("the server's first frames are SETTINGS and the window of the connection", () => {
  const peer = new Peer();
  const [settings, window] = peer.take();
  assertEquals(settings?.type, FrameType.settings);
  const pairs: number[][] = [];
  for (let at = 0; at < 24; at += 6) {
    const { payload } = settings ?? { payload: new Uint8Array(24) };
    pairs.push([(payload[at] ?? 0) * 256 + (payload[at + 1] ?? 0), read32(payload, at + 2)]);
  }
  assertEquals(pairs, [[3, 256], [4, 1 << 20], [5, 1 << 20], [6, 16 << 10]]);
  assertEquals([window?.type, window?.id], [FrameType.windowUpdate, 0]);
  assertEquals(read32(window?.payload ?? word(0), 0), (16 << 20) - 65_535);
});

Deno.test("the window of a stream is given back when its bytes were consumed, and withheld until then", () => {
  const peer = new Peer({ keeps: true });
  peer.send(hello, headers(1));
  const stream = peer.seen[0]?.stream;
  assert(stream !== undefined);
  const updates = (): number[] =>
    peer.frames.filter(({ type, id }) => type === FrameType.windowUpdate && id === 1)
      .map(({ payload }) => read32(payload, 0));
  const half = new Uint8Array(1 << 19);
  peer.send(data(1, half), data(1, half));
  assertEquals(updates(), []);
  assertEquals(stream.receiveWindow, 0);
  stream.consumed(1000);
  peer.take();
  assertEquals(updates(), [], "few bytes wait until they are worth a frame");
  stream.consumed((1 << 19) - 1000);
  peer.take();
  assertEquals(updates(), [1 << 19]);
  peer.send(data(1, half));
  assertEquals(peer.resetCode(1), undefined);
  peer.send(data(1, "00"));
  assertEquals(peer.resetCode(1), ErrorCode.flowControlError);
});

Deno.test("a stream that is held back does not hold up another one", () => {
  const peer = new Peer({ keeps: true });
  peer.send(hello);
  // 40 MiB on 40 streams, which nobody consumes: more than the connection's window.
  for (let k = 0; k < 40; k++) {
    peer.send(headers(2 * k + 1), data(2 * k + 1, new Uint8Array(1 << 20)));
  }
  assertEquals(peer.goAwayCode, undefined);
  assertEquals(peer.seen.map(({ body }) => body.length), Array(40).fill(1 << 20));
});

Deno.test("padding is given back by itself", () => {
  const peer = new Peer({ keeps: true });
  peer.send(hello, headers(1));
  const stream = peer.seen[0]?.stream;
  const padded = join(new Uint8Array([255]), new Uint8Array(255));
  for (let k = 0; k < 3000; k++) peer.send(frame(0, 8, 1, padded));
  assertEquals(peer.resetCode(1), undefined);
  const sum = (stream?.receiveWindow ?? 0) + (stream?.unreturned ?? 0);
  assertEquals(sum, 1 << 20);
});

for (
  const [what, bytes, words] of [
    [
      "DATA",
      join(headers(1), frame(0, 8, 1, "04616263")),
      "DATA of 4 bytes with 4 bytes of padding, where 3 have room",
    ],
    [
      "DATA without a byte",
      join(headers(1), frame(0, 8, 1)),
      "DATA with padding, without the byte that says how much",
    ],
    [
      "HEADERS",
      frame(1, 0x0c, 1, "ff8286"),
      "HEADERS of 3 bytes with 255 bytes of padding, where 2 have room",
    ],
    [
      "HEADERS without a byte",
      frame(1, 0x0c, 1),
      "HEADERS with padding, without the byte that says how much",
    ],
    [
      "HEADERS with a priority",
      frame(1, 0x24, 1, "80000009"),
      "HEADERS of 4 bytes without room for the 5 of a priority",
    ],
  ] as const
) {
  Deno.test(`the GOAWAY for padding of ${what} that has no room says what came and what has room`, () => {
    const peer = new Peer();
    peer.send(hello, bytes);
    const goAway = peer.frames.findLast(({ type }) => type === FrameType.goAway);
    assertEquals(new TextDecoder().decode(goAway?.payload.subarray(8)), words);
  });
}

Deno.test("a handler that throws loses its own stream only", () => {
  for (const event of ["onStream", "onData", "onEnd", "onReset", "onDrain"] as const) {
    const peer = new Peer({
      serve: ({ stream }) => {
        if (stream.id !== 1) return;
        if (event === "onStream") throw new Error(event);
        return {
          [event]: () => {
            throw new Error(event);
          },
        };
      },
    });
    peer.send(hello, headers(1), data(1, "61"));
    const stream = peer.seen[0]?.stream;
    if (event === "onDrain") {
      stream?.respond(answer);
      write(stream, new Uint8Array(70_000));
      peer.take();
      peer.send(frame(8, 0, 1, word(1 << 20)), frame(8, 0, 0, word(1 << 20)));
    }
    if (event === "onReset") peer.send(frame(3, 0, 1, word(8)));
    else peer.send(data(1, "", true));
    assertEquals(peer.errors.map((error) => (error as Error).message), [event]);
    if (event !== "onReset") assertEquals(peer.resetCode(1), ErrorCode.internalError);
    peer.send(headers(3), data(3, "6162", true));
    assertEquals(peer.seen[1]?.body.length, 2);
    assertEquals(peer.goAwayCode, undefined);
  }
});

Deno.test("shutDown() serves until the client knows, and ends after the last stream", () => {
  const peer = new Peer();
  peer.send(hello, headers(1, true));
  peer.connection.shutDown();
  const [goAway, ping] = peer.take();
  assertEquals([goAway?.type, read32(goAway?.payload ?? word(0), 0)], [7, 0x7fff_ffff]);
  assertEquals(ping?.type, FrameType.ping);
  peer.send(headers(3, true)); // it was on its way
  assertEquals(peer.seen.length, 2);
  const [last] = peer.send(frame(6, 1, 0, ping?.payload ?? ""));
  assertEquals([last?.type, read32(last?.payload ?? word(0), 0)], [7, 3]);
  peer.send(headers(5, true), data(5, "00"), frame(3, 0, 5, word(8)));
  assertEquals([peer.seen.length, peer.connection.isClosed], [2, false]);
  peer.seen[0]?.stream.respond(answer, true);
  assert(!peer.connection.isClosed);
  peer.seen[1]?.stream.respond(answer, true);
  assert(peer.connection.isClosed);
  assertEquals(peer.take().filter(({ type }) => type === 1).length, 2);
  assertEquals(peer.goAwayCode, 0);
});

Deno.test("shutDown() without streams ends with the client's answer", () => {
  const peer = new Peer();
  peer.send(hello);
  peer.connection.shutDown();
  const ping = peer.take().find(({ type }) => type === FrameType.ping);
  peer.send(frame(6, 1, 0, "0000000000000000"));
  assert(!peer.connection.isClosed, "another PING's answer");
  peer.send(frame(6, 1, 0, ping?.payload ?? ""));
  assert(peer.connection.isClosed);
});

Deno.test("close() tells every stream once, and the client by GOAWAY", () => {
  const peer = new Peer();
  peer.send(hello, headers(1), headers(3));
  peer.connection.close();
  peer.connection.close();
  assertEquals(peer.seen.map(({ resetWith }) => resetWith), [8, 8]);
  assertEquals(peer.take().map(({ type }) => type), [FrameType.goAway]);
  peer.seen[0]?.stream.respond(answer);
  write(peer.seen[0]?.stream, new Uint8Array(9));
  peer.seen[0]?.stream.end();
  peer.seen[0]?.stream.reset();
  assertEquals(peer.send(headers(5)), []);
});

/** What a run of the server can be seen to do. */
function watch(pieces: readonly Uint8Array[]): unknown {
  const log: string[] = [];
  const bodies = new Map<number, number[]>();
  const peer = new Peer({
    serve: ({ stream }) => {
      const body: number[] = [];
      bodies.set(stream.id, body);
      log.push(`open ${stream.id} ${[...stream.request.fields].join(";")}`);
      return {
        onData: (bytes) => {
          body.push(...bytes);
          stream.consumed(bytes.length);
        },
        onEnd: () => {
          log.push(`end ${stream.id} ${body.length}`);
          stream.respond(answer);
          write(stream, new Uint8Array(body));
          stream.end();
        },
        onReset: (code) => log.push(`reset ${stream.id} ${code} ${body.length}`),
      };
    },
  });
  const out: number[] = [];
  for (const piece of pieces) {
    // The pump uses its buffer again, so what was kept of it would change.
    const lent = piece.slice();
    peer.connection.receive(lent);
    lent.fill(0xaa);
    const output = peer.connection.takeOutput();
    if (output !== undefined) out.push(...output);
  }
  return { log, out, bodies: [...bodies], closed: peer.connection.isClosed, errors: peer.errors };
}

/** Requests of many kinds, at times with a fault at the end. */
function conversation(random: RandomStream): Uint8Array {
  const parts: Uint8Array[] = [hello];
  let id = -1;
  const below = (n: number): number => random.below(n);
  for (let k = 0; k < 12; k++) {
    id += 2;
    const fields = [...requestFields, ["x", "y".repeat(below(300))] as const];
    const block = encodeHeaders(fields);
    const cut = below(block.length);
    parts.push(
      below(2) === 0 ? headers(id, false, fields) : join(
        frame(1, 0, id, block.slice(0, cut)),
        frame(9, 0, id),
        frame(9, 4, id, block.slice(cut)),
      ),
    );
    for (let n = below(4); n > 0; n--) {
      const bytes = Uint8Array.from({ length: below(600) }, () => below(256));
      const padding = below(20);
      parts.push(
        below(2) === 0
          ? data(id, bytes)
          : frame(0, 8, id, join(new Uint8Array([padding]), bytes, new Uint8Array(padding))),
      );
      if (below(3) === 0) parts.push(frame(6, 0, 0, "0102030405060708"));
      if (below(4) === 0) parts.push(frame(0x30, 9, id, new Uint8Array(below(40))));
      if (below(4) === 0) parts.push(frame(8, 0, 0, word(1 + below(1000))));
    }
    const how = below(4);
    if (how === 0) parts.push(frame(3, 0, id, word(8)));
    else if (how === 1) parts.push(frame(1, 5, id, encodeHeaders([["t", "r"]])));
    else parts.push(data(id, new Uint8Array(below(2)), true));
  }
  if (below(2) === 0) parts.push(frame(8, 0, 0, word(0)));
  return join(...parts);
}

Deno.test("any cutting of the bytes gives the same events and the same answers", () => {
  const seed = 261123;
  const random = new RandomStream(seed);
  for (let round = 0; round < 30; round++) {
    const bytes = conversation(random);
    const whole = watch([bytes]);
    const single = watch(Array.from(bytes, (byte) => new Uint8Array([byte])));
    assertEquals(single, whole, `seed ${seed}, round ${round}, byte by byte`);
    for (let again = 0; again < 5; again++) {
      const pieces: Uint8Array[] = [];
      for (let at = 0; at < bytes.length;) {
        const to = at + 1 + Math.floor(random.uniform() ** 3 * 800);
        pieces.push(bytes.subarray(at, to));
        at = to;
      }
      assertEquals(watch(pieces), whole, `seed ${seed}, round ${round}, ${pieces.length} pieces`);
    }
  }
});
