/** Silent connections: who is asked by a PING, who is closed, and who is sent away gracefully. */
import { assert, assertEquals } from "../../_assert.ts";
import { encodeHeaders } from "../../../net/http2/hpack.ts";
import { http2Limits } from "../../../net/http2/limits.ts";
import { ErrorCode, FrameType, windowMax } from "../../../net/http2/protocol.ts";
import { frame, headers, hello, Peer, type SentFrame, word } from "./_peer.ts";

const { keepaliveMs, keepaliveTimeoutMs } = http2Limits;
const idleMs = 600_000;
const step = 1000;
const answer = encodeHeaders([[":status", "200"]]);

function greeted(options: ConstructorParameters<typeof Peer>[0] = {}): Peer {
  const peer = new Peer(options);
  peer.send(hello);
  return peer;
}

/** Lets time pass, as the pump does; returns what the server sent. */
function wait(peer: Peer, ms: number): SentFrame[] {
  for (let left = ms; left > 0; left -= step) peer.connection.tick(Math.min(left, step));
  return peer.take();
}

function pings(frames: readonly SentFrame[]): Uint8Array[] {
  return frames.filter(({ type, flags }) => type === FrameType.ping && flags === 0).map((
    { payload },
  ) => payload);
}

Deno.test("a client that is silent for a minute gets a PING, and is closed if it does not answer", () => {
  const peer = greeted();
  peer.send(headers(1));
  // The first tick hears what came before it.
  assertEquals(wait(peer, step + keepaliveMs - step).length, 0);
  assertEquals(pings(wait(peer, step)).length, 1);
  assertEquals(wait(peer, keepaliveTimeoutMs), []);
  assert(!peer.connection.isClosed);
  wait(peer, step);
  assert(peer.connection.isClosed);
  assertEquals(peer.goAwayCode, ErrorCode.noError);
  assertEquals(peer.seen[0]?.resetWith, ErrorCode.cancel);
});

Deno.test("a client that answers every PING keeps its connection and its stream for hours", () => {
  const peer = greeted();
  peer.send(headers(1));
  let count = 0;
  for (let ms = 0; ms < 5 * 3_600_000; ms += step) {
    for (const payload of pings(wait(peer, step))) {
      count++;
      peer.send(frame(FrameType.ping, 1, 0, payload));
    }
  }
  assert(!peer.connection.isClosed);
  // One PING a minute and a tick.
  const expected = 5 * 3_600_000 / (keepaliveMs + step);
  assert(Math.abs(count - expected) <= 1, `${count} for ${expected}`);
});

Deno.test("any bytes answer a PING, and a client that is heard gets none", () => {
  const peer = greeted();
  peer.send(headers(1));
  wait(peer, keepaliveMs + step);
  wait(peer, keepaliveTimeoutMs - step);
  peer.send(frame(FrameType.data, 0, 1, "00"));
  assertEquals(wait(peer, keepaliveTimeoutMs + step), []);
  assert(!peer.connection.isClosed);
  const busy = greeted();
  busy.send(headers(1));
  for (let k = 0; k < 20; k++) {
    busy.send(frame(FrameType.windowUpdate, 0, 0, word(1)));
    assertEquals(pings(wait(busy, keepaliveMs / 2)), []);
  }
});

Deno.test("a client that the server itself does not read from is not asked", () => {
  const long = encodeHeaders([[":status", "200"], ["x", "y".repeat(1000)]]);
  const peer = greeted({
    limits: { outputMax: 1000 },
    serve: ({ stream }) => void stream.respond(long),
  });
  peer.connection.receive(headers(1));
  assert(peer.connection.isCongested);
  for (let k = 0; k < 300; k++) peer.connection.tick(step);
  assert(!peer.connection.isClosed);
  assertEquals(pings(peer.take()), []);
});

Deno.test("a connection without a stream for 10 minutes gets the two GOAWAYs of a graceful end", () => {
  const peer = greeted({ limits: { idleMs, firstStreamMs: idleMs } });
  const away = (frames: readonly SentFrame[]): SentFrame[] =>
    frames.filter(({ type }) => type === FrameType.goAway);
  for (let ms = 0; ms < idleMs - 2 * step; ms += step) {
    const sent = wait(peer, step);
    assertEquals(away(sent), []);
    for (const payload of pings(sent)) peer.send(frame(FrameType.ping, 1, 0, payload));
  }
  const sent = wait(peer, 3 * step);
  assertEquals([...away(sent)[0]?.payload ?? []].slice(0, 4), [...word(windowMax)]);
  // A call that was on its way is served.
  peer.send(headers(1, true));
  assertEquals(peer.seen.length, 1);
  peer.send(frame(FrameType.ping, 1, 0, pings(sent)[0]));
  assertEquals([...peer.frames.at(-1)?.payload ?? []].slice(0, 4), [...word(1)]);
  assert(!peer.connection.isClosed);
  peer.seen[0]?.stream.respond(answer, true);
  peer.take();
  assert(peer.connection.isClosed);
  assertEquals(peer.goAwayCode, ErrorCode.noError);
});

Deno.test("a client that does not answer the PING of a graceful end is not waited for", () => {
  const peer = greeted();
  peer.connection.shutDown();
  peer.take();
  // It answers every other PING.
  for (let ms = 0; ms <= keepaliveTimeoutMs; ms += step) {
    wait(peer, step);
    peer.send(frame(FrameType.ping, 1, 0, "0000000000000000"));
  }
  assert(peer.connection.isClosed);
});

Deno.test("calls that are shorter than a tick keep a connection from being idle", () => {
  const peer = greeted({
    limits: { idleMs },
    serve: ({ stream }) => void stream.respond(answer, true),
  });
  for (let k = 0; k < 3 * idleMs / step; k++) {
    peer.send(headers(2 * k + 1, true));
    wait(peer, step);
  }
  assertEquals(peer.goAwayCode, undefined);
});

Deno.test("a process that stands still for an hour blames no client for it", () => {
  const clock = { ms: 0 };
  const peer = greeted({ now: () => clock.ms });
  peer.send(headers(1));
  wait(peer, keepaliveMs + step); // a PING is on its way
  clock.ms += 3_600_000;
  wait(peer, step);
  assert(!peer.connection.isClosed);
});

Deno.test("a connection without any stream for a minute is ended gracefully, also if it answers PINGs", () => {
  const greedy = greeted();
  const other = greeted();
  other.send(headers(1), frame(FrameType.rstStream, 0, 1, word(8)));
  for (let ms = 0; ms < http2Limits.firstStreamMs + 5 * step; ms += step) {
    for (const peer of [greedy, other]) {
      for (const { type, flags, payload } of wait(peer, step)) {
        if (type === FrameType.ping && flags === 0) peer.send(frame(FrameType.ping, 1, 0, payload));
      }
    }
  }
  assert(greedy.connection.isClosed);
  assertEquals([greedy.goAwayCode, other.goAwayCode], [ErrorCode.noError, undefined]);
});
