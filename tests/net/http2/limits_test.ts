/** What a hostile client can cost: each limit of `http2Limits`, reached and not reached. */
import { assert, assertEquals } from "../../_assert.ts";
import { encodeHeaders } from "../../../net/http2/hpack.ts";
import { http2Limits, Rate } from "../../../net/http2/limits.ts";
import { ErrorCode, FrameType, Setting } from "../../../net/http2/protocol.ts";
import {
  data,
  frame,
  headers,
  hello,
  join,
  Peer,
  requestFields,
  settings,
  word,
  write,
} from "./_peer.ts";

const answer = encodeHeaders([[":status", "200"]]);
const calm = ErrorCode.enhanceYourCalm;

/** A peer whose clock stands still until it is moved. */
function atRest(options: ConstructorParameters<typeof Peer>[0] = {}): {
  peer: Peer;
  clock: { ms: number };
} {
  const clock = { ms: 1000 };
  const peer = new Peer({ now: () => clock.ms, ...options });
  peer.send(hello);
  return { peer, clock };
}

/** How many times `send` may be called until the connection ends; at most `max`. */
function countUntilEnd(peer: Peer, max: number, send: (k: number) => Uint8Array): number {
  for (let k = 0; k < max; k++) {
    peer.send(send(k));
    if (peer.connection.isClosed) return k;
  }
  return max;
}

Deno.test("a rate allows its burst at once, then its tokens a second", () => {
  let ms = 0;
  const rate = new Rate(10, 5, () => ms);
  const takeAll = (): number => {
    let count = 0;
    while (rate.take()) count++;
    return count;
  };
  assertEquals(takeAll(), 10);
  ms = 1000;
  assertEquals(takeAll(), 5);
  ms = 1100;
  assertEquals(takeAll(), 0);
  ms = 1200;
  assertEquals(takeAll(), 1);
  ms = 1_000_000;
  assertEquals(takeAll(), 10);
});

Deno.test("rapid reset (CVE-2023-44487) ends the connection after 500 streams", () => {
  const { peer, clock } = atRest();
  const cancel = (k: number): Uint8Array =>
    join(headers(2 * k + 1), frame(3, 0, 2 * k + 1, word(8)));
  const { resetsBurst, resetsPerSecond } = http2Limits;
  for (let k = 0; k < resetsBurst; k++) peer.send(cancel(k));
  assert(!peer.connection.isClosed);
  clock.ms += 1000;
  for (let k = 0; k < resetsPerSecond; k++) peer.send(cancel(resetsBurst + k));
  assert(!peer.connection.isClosed);
  peer.send(cancel(resetsBurst + resetsPerSecond));
  assertEquals(peer.goAwayCode, calm);
});

Deno.test("cancelling calls that were answered is no rapid reset: Reverb's writers and samplers end so", () => {
  const { peer } = atRest({ serve: ({ stream }) => void stream.respond(answer) });
  const cancel = (k: number): Uint8Array =>
    join(headers(2 * k + 1), frame(3, 0, 2 * k + 1, word(8)));
  // Each was answered before its RST_STREAM came. They count for nothing.
  assertEquals(countUntilEnd(peer, 5000, cancel), 5000);
});

Deno.test("streams that a client makes the server reset (CVE-2025-8671) count too", () => {
  for (
    const fault of [
      (id: number): Uint8Array => frame(8, 0, id, word(0)),
      (id: number): Uint8Array => frame(2, 0, id, "00"),
      (id: number): Uint8Array => frame(8, 0, id, word(0x7fff_ffff)),
      (id: number): Uint8Array => frame(1, 4, id, encodeHeaders([["a", "b"]])),
    ]
  ) {
    const { peer } = atRest();
    const count = countUntilEnd(
      peer,
      5000,
      (k) => join(headers(2 * k + 1), fault(2 * k + 1)),
    );
    assertEquals([count, peer.goAwayCode], [http2Limits.resetsBurst, calm]);
  }
});

for (
  const [name, make] of [
    ["PING (CVE-2019-9512)", () => frame(6, 0, 0, "0102030405060708")],
    ["answers to PING", () => frame(6, 1, 0, "0102030405060708")],
    ["SETTINGS (CVE-2019-9515)", () => settings([Setting.maxFrameSize, 20_000])],
    ["empty SETTINGS", () => settings()],
    ["answers to SETTINGS", () => frame(4, 1, 0)],
    ["PRIORITY (CVE-2019-9513)", () => frame(2, 0, 7, "0000000010")],
    ["empty DATA (CVE-2019-9518)", () => data(1, "")],
    ["empty padded DATA of no stream", () => data(99, "")],
    ["frames of unknown types", () => frame(0x42, 0, 0, "00")],
    ["GOAWAY", () => frame(7, 0, 0, join(word(0), word(0)))],
    ["RST_STREAM of closed streams", () => frame(3, 0, 3, word(8))],
    ["DATA of a closed stream", () => data(5, "00")],
  ] as const
) {
  Deno.test(`a flood of ${name} ends the connection`, () => {
    const { peer } = atRest();
    peer.send(headers(1), headers(3), frame(3, 0, 3, word(8)), headers(5));
    peer.seen[2]?.stream.reset();
    if (name === "DATA of a closed stream") {
      peer.send(headers(7), headers(9), frame(3, 0, 5, word(0)));
    }
    const count = countUntilEnd(peer, 5000, make);
    if (name === "empty padded DATA of no stream") {
      assertEquals(peer.goAwayCode, ErrorCode.protocolError);
    } else if (name === "DATA of a closed stream") {
      // It may be on its way for long: the connection's window bounds it, and it is not answered.
      assertEquals(count, 5000);
      assertEquals(peer.frames.filter(({ type, id }) => type === 3 && id === 5).length, 1);
    } else {
      assert(count > 1900 && count <= http2Limits.idleFramesBurst, String(count));
      assertEquals(peer.goAwayCode, calm);
    }
  });
}

Deno.test("idle frames at a rate that is allowed never end the connection", () => {
  const { peer, clock } = atRest();
  for (let second = 0; second < 20; second++) {
    for (let k = 0; k < http2Limits.idleFramesPerSecond; k++) {
      peer.send(frame(6, 0, 0, "0102030405060708"));
    }
    clock.ms += 1000;
  }
  assert(!peer.connection.isClosed);
});

Deno.test("a client that sends PING and reads nothing has a bounded output", () => {
  const peer = new Peer({ limits: { idleFramesBurst: 1e9 } });
  peer.connection.receive(hello);
  const pings = join(...Array(1000).fill(frame(6, 0, 0, "0102030405060708")));
  let count = 0;
  while (!peer.connection.isClosed && count < 1000) {
    peer.connection.receive(pings);
    count++;
    if (count === 70) assert(peer.connection.isCongested);
  }
  const bytes = peer.take().reduce((sum, { payload }) => sum + 9 + payload.length, 0);
  assertEquals(peer.goAwayCode, calm);
  assert(bytes > 1 << 20 && bytes < (2 << 20) + 1000, String(bytes));
});

Deno.test("answers to requests count for the output, where the client reads none", () => {
  const long = encodeHeaders([[":status", "200"], ["x", "y".repeat(10_000)]]);
  const peer = new Peer({ serve: ({ stream }) => void stream.respond(long, true) });
  peer.connection.receive(hello);
  let k = 0;
  for (; k < 1000 && !peer.connection.isClosed; k++) {
    peer.connection.receive(headers(2 * k + 1, true));
  }
  peer.take();
  assertEquals(peer.goAwayCode, calm);
  assert(k > 150 && k < 250, String(k));
});

Deno.test("CONTINUATION floods (CVE-2024-27316): bytes and frames are bounded", () => {
  const block = encodeHeaders(requestFields);
  for (const [size, most] of [[0, 33], [1, 33], [8000, 5]] as const) {
    const { peer } = atRest();
    peer.send(frame(1, 0, 1, block));
    const count = countUntilEnd(peer, 1000, () => frame(9, 0, 1, new Uint8Array(size)));
    assert(count < most, `${size}: ${count}`);
    assertEquals(peer.goAwayCode, calm);
  }
});

Deno.test("a frame other than DATA above 32 KiB ends the connection before it is kept", () => {
  for (const type of [1, 4, 7]) {
    const { peer } = atRest();
    peer.send(frame(type, 4, type === 1 ? 1 : 0, "", 32_769));
    assertEquals(peer.goAwayCode, calm);
  }
});

Deno.test("a list of headers above 16 KiB is answered by 431, and the connection goes on", () => {
  const { peer } = atRest();
  const fields: [string, string][] = Array.from(
    { length: 5 },
    (_, k) => [`x${k}`, "y".repeat(4000)],
  );
  peer.send(headers(1, true, [...requestFields, ...fields]));
  assertEquals(peer.seen.length, 0);
  const sent = peer.frames.findLast(({ type }) => type === FrameType.headers);
  assertEquals([...sent?.payload ?? []].slice(-3), [...new TextEncoder().encode("431")]);
  peer.send(headers(3, true));
  assertEquals(peer.seen.length, 1);
});

Deno.test("the 257th open stream is refused, and the next one after an end is served", () => {
  const { peer } = atRest();
  for (let k = 0; k < 257; k++) peer.send(headers(2 * k + 1));
  assertEquals(peer.seen.length, 256);
  assertEquals(peer.resetCode(513), ErrorCode.refusedStream);
  assertEquals(peer.connection.streamCount, 256);
  peer.send(frame(3, 0, 1, word(8)), headers(515));
  assertEquals(peer.seen.length, 257);
  assertEquals(peer.goAwayCode, undefined);
});

Deno.test("a flood of streams above the limit ends the connection", () => {
  const { peer } = atRest();
  const count = countUntilEnd(peer, 5000, (k) => headers(2 * k + 1));
  assert(count > 2000 && count < 2300, String(count));
  assertEquals(peer.goAwayCode, calm);
});

Deno.test("a stream that never ends its request holds nothing but itself, and others are served", () => {
  const { peer } = atRest();
  for (let k = 0; k < 255; k++) peer.send(headers(2 * k + 1), data(2 * k + 1, "0000"));
  for (let k = 255; k < 400; k++) {
    peer.send(headers(2 * k + 1, true));
    peer.seen.at(-1)?.stream.respond(answer, true);
  }
  assertEquals(peer.seen.length, 400);
});

Deno.test("a window that is opened byte by byte (CVE-2019-9511) ends the connection", () => {
  const { peer } = atRest();
  peer.send(settings([Setting.initialWindowSize, 0]), headers(1, true));
  const stream = peer.seen[0]?.stream;
  stream?.respond(answer);
  write(stream, new Uint8Array(50_000));
  const count = countUntilEnd(peer, 5000, () => frame(8, 0, 1, word(1)));
  assert(count > 1900 && count <= 2000, String(count));
  assertEquals(peer.goAwayCode, calm);
});

Deno.test("of several windows in one frame of SETTINGS, open streams get the last, and no walk for each", () => {
  const { peer } = atRest();
  for (let k = 0; k < 256; k++) peer.send(headers(2 * k + 1));
  let walks = 0;
  for (const { stream } of peer.seen) {
    let { sendWindow } = stream;
    Object.defineProperty(stream, "sendWindow", {
      get: () => sendWindow,
      set: (value: number) => {
        walks++;
        sendWindow = value;
      },
    });
  }
  const windows = Array.from({ length: 5000 }, (_, k) => [4, 1000 + k] as const);
  peer.send(settings(...windows));
  assertEquals([peer.seen[0]?.stream.sendWindow, peer.seen[255]?.stream.sendWindow], [5999, 5999]);
  assertEquals(walks, 256);
  peer.send(headers(999));
  assertEquals(peer.goAwayCode, undefined);
});

Deno.test("small windows of a client that reads small messages cost nothing", () => {
  const { peer } = atRest();
  peer.send(settings([Setting.initialWindowSize, 0]), headers(1, true));
  const stream = peer.seen[0]?.stream;
  stream?.respond(answer);
  peer.send(frame(8, 0, 0, word(1 << 20)));
  for (let k = 0; k < 5000; k++) {
    write(stream, new Uint8Array(20));
    peer.send(frame(8, 0, 1, word(20)));
  }
  assertEquals([peer.goAwayCode, stream?.buffered], [undefined, 0]);
});

Deno.test("DATA waits for the window of its stream as long as the client answers PINGs", () => {
  const { peer } = atRest();
  peer.send(headers(1, true));
  const [seen] = peer.seen;
  seen?.stream.respond(answer);
  write(seen?.stream, new Uint8Array(100_000));
  peer.take();
  // A learner computes for hours, and its library answers each PING meanwhile.
  for (let k = 0; k < 5 * 3600; k += 10) {
    peer.connection.tick(10_000);
    for (const { type, flags, payload } of peer.take()) {
      if (type === FrameType.ping && flags === 0) peer.send(frame(FrameType.ping, 1, 0, payload));
    }
  }
  assertEquals([seen?.resetWith, peer.goAwayCode], [-1, undefined]);
  peer.send(frame(8, 0, 1, word(50_000)), frame(8, 0, 0, word(50_000)));
  peer.take();
  assertEquals(seen?.stream.buffered, 0);
  // Without an answer it ends with its connection.
  const { keepaliveMs, keepaliveTimeoutMs } = http2Limits;
  for (let ms = 0; ms <= keepaliveMs + keepaliveTimeoutMs + 2000; ms += 1000) {
    peer.connection.tick(1000);
    peer.connection.takeOutput();
  }
  assert(peer.connection.isClosed);
});

Deno.test("a client without SETTINGS for 10 seconds is sent away", () => {
  const peer = new Peer();
  peer.connection.tick(10_000);
  assert(!peer.connection.isClosed);
  peer.connection.tick(1);
  peer.take();
  assertEquals(peer.goAwayCode, ErrorCode.settingsTimeout);
});

Deno.test("DATA above the connection's window ends the connection", () => {
  const { peer } = atRest({ limits: { connectionWindow: 100_000, streamWindow: 1 << 20 } });
  peer.send(headers(1));
  // What comes is given back in steps of half the window, so this is above it in one frame only.
  peer.send(data(1, new Uint8Array(100_001)));
  assertEquals(peer.goAwayCode, ErrorCode.flowControlError);
});
