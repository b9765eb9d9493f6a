/** The sending side: windows, turns, large and many messages, trailers, and what waits. */
import { assert, assertEquals } from "../../_assert.ts";
import { encodeHeaders } from "../../../net/http2/hpack.ts";
import { FrameType, Setting } from "../../../net/http2/protocol.ts";
import type { Http2Stream } from "../../../net/http2/stream.ts";
import {
  frame,
  fromHex,
  headers,
  hello,
  Peer,
  type SentFrame,
  settings,
  word,
  write,
} from "./_peer.ts";

const answer = encodeHeaders([[":status", "200"]]);
const trailers = encodeHeaders([["grpc-status", "0"]]);

/** A peer with one stream, whose answer has begun. */
function begun(...sends: Uint8Array[]): { peer: Peer; stream: Peer["seen"][number]["stream"] } {
  const peer = new Peer();
  peer.send(hello, ...sends, headers(1));
  const stream = peer.seen[0]?.stream;
  assert(stream !== undefined);
  stream.respond(answer);
  peer.take();
  return { peer, stream };
}

/** The DATA of a stream among frames, put together. */
function bodyOf(frames: readonly SentFrame[], id = 1): number[] {
  return frames.filter((sent) => sent.type === FrameType.data && sent.id === id)
    .flatMap(({ payload }) => [...payload]);
}

function counted(length: number, from = 0): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, k) => (k + from) % 251);
}

Deno.test("many small messages become one DATA frame, and one output", () => {
  const { peer, stream } = begun();
  for (let k = 0; k < 100; k++) write(stream, counted(10, 10 * k));
  stream.end(trailers);
  const frames = peer.take();
  // The request is not complete, so RST_STREAM follows.
  assertEquals(frames.map(({ type }) => type), [0, 1, 3]);
  assertEquals(bodyOf(frames), [...counted(1000)]);
  assertEquals(frames[1]?.flags, 5);
});

Deno.test("messages of two streams do not run together", () => {
  const { peer, stream } = begun();
  peer.send(headers(3));
  const other = peer.seen[1]?.stream;
  other?.respond(answer);
  write(stream, fromHex("01"));
  write(other, fromHex("02"));
  write(stream, fromHex("03"));
  const frames = peer.take();
  assertEquals([bodyOf(frames, 1), bodyOf(frames, 3)], [[1, 3], [2]]);
});

Deno.test("a frame is never larger than the peer allows, and DATA above its windows waits", () => {
  const { peer, stream } = begun();
  const bytes = counted(100_000);
  write(stream, bytes);
  let frames = peer.take();
  assertEquals(frames.map(({ payload }) => payload.length), [16384, 16384, 16384, 16383]);
  assertEquals(stream.buffered, 100_000 - 65_535);
  assertEquals(peer.connection.takeOutput(), undefined);
  // The window of one of both is not enough.
  frames = [...frames, ...peer.send(frame(8, 0, 1, word(1000)))];
  assertEquals(bodyOf(frames).length, 65_535);
  frames = [...frames, ...peer.send(frame(8, 0, 0, word(50_000)))];
  assertEquals(bodyOf(frames).length, 66_535);
  assertEquals(peer.seen[0]?.drains, 0);
  frames = [...frames, ...peer.send(frame(8, 0, 1, word(50_000)))];
  assertEquals(bodyOf(frames), [...bytes]);
  assertEquals([stream.buffered, peer.seen[0]?.drains], [0, 1]);
  assertEquals(peer.connection.check(), 0);
});

Deno.test("a change of INITIAL_WINDOW_SIZE changes open streams too, below 0 as well", () => {
  const { peer, stream } = begun(settings([Setting.initialWindowSize, 100]));
  const bytes = counted(400);
  write(stream, bytes);
  let frames = peer.take();
  assertEquals(bodyOf(frames).length, 100);
  frames = [...frames, ...peer.send(settings([Setting.initialWindowSize, 30]))];
  assertEquals(stream.sendWindow, -70);
  frames = [...frames, ...peer.send(frame(8, 0, 1, word(70)))];
  assertEquals(bodyOf(frames).length, 100);
  frames = [...frames, ...peer.send(frame(8, 0, 1, word(1)))];
  assertEquals(bodyOf(frames).length, 101);
  frames = [...frames, ...peer.send(settings([Setting.initialWindowSize, 1000]))];
  assertEquals(bodyOf(frames), [...bytes]);
});

Deno.test("trailers wait for the body, and a stream is closed after them", () => {
  const { peer, stream } = begun(settings([Setting.initialWindowSize, 10]));
  write(stream, counted(15));
  stream.end(trailers);
  write(stream, counted(5)); // after the end: nothing
  assertEquals(peer.take().map(({ type }) => type), [0]);
  assert(!stream.isClosed);
  const frames = peer.send(frame(8, 0, 1, word(10)));
  assertEquals(frames.map(({ type }) => type), [0, 1, 3]);
  assert(stream.isClosed);
  assertEquals(peer.connection.streamCount, 0);
});

Deno.test("an end without trailers marks the last DATA, or sends an empty one", () => {
  const { peer, stream } = begun();
  write(stream, counted(5));
  stream.end();
  assertEquals(peer.take().map(({ type, flags }) => [type, flags]), [[0, 1], [3, 0]]);
  const second = begun();
  write(second.stream, counted(5));
  second.peer.take();
  second.stream.end();
  const [last] = second.peer.take();
  assertEquals([last?.type, last?.flags, last?.payload.length], [0, 1, 0]);
});

Deno.test("a block of headers above the peer's largest frame goes on in CONTINUATION", () => {
  const peer = new Peer();
  peer.send(hello, headers(1, true));
  const long = encodeHeaders([[":status", "200"], ["x", "y".repeat(40_000)]]);
  peer.seen[0]?.stream.respond(long, true);
  const frames = peer.take();
  assertEquals(frames.map(({ type, flags }) => [type, flags]), [[1, 1], [9, 0], [9, 4]]);
  assertEquals(frames.flatMap(({ payload }) => [...payload]), [...long]);
});

Deno.test("a peer whose HPACK table is smaller is told that none is used, once", () => {
  const { peer, stream } = begun();
  peer.send(settings([Setting.headerTableSize, 0]));
  stream.end(trailers);
  const [block] = peer.take();
  assertEquals([...block?.payload ?? []], [0x20, ...trailers]);
  peer.send(headers(3, true));
  peer.seen[1]?.stream.respond(answer, true);
  assertEquals([...peer.take()[0]?.payload ?? []], [...answer]);
});

for (const reserved of [50, 20_000, 300_000]) {
  Deno.test(`a message written in place, with room for ${reserved} bytes, is the same as one with room for itself`, () => {
    for (
      const [count, window] of [[40, 65_535], [40, 10], [0, 65_535], [17_000, 65_535]] as const
    ) {
      if (count > reserved) continue;
      const { peer, stream } = begun(settings([Setting.initialWindowSize, window]));
      const whole: number[] = [];
      for (let round = 0; round < 3; round++) {
        const at = stream.reserve(reserved);
        const bytes = counted(count, 7 * round);
        stream.target.set(bytes, at);
        stream.commit(count);
        whole.push(...bytes);
        write(stream, fromHex("ff"));
        whole.push(255);
      }
      assertEquals(peer.connection.check(), 0);
      const frames = peer.take();
      frames.push(...peer.send(frame(8, 0, 1, word(1 << 20)), frame(8, 0, 0, word(1 << 20))));
      assertEquals(bodyOf(frames), whole);
    }
  });
}

Deno.test("a message written in place that is not sent leaves nothing", () => {
  const { peer, stream } = begun();
  stream.reserve(1000);
  stream.commit(0);
  write(stream, fromHex("0102"));
  assertEquals(peer.take().map(({ payload }) => [...payload]), [[1, 2]]);
});

Deno.test("streams that wait take turns, so that a large one does not hold up a small one", () => {
  const { peer, stream } = begun(
    settings([Setting.initialWindowSize, 1 << 24]),
    frame(8, 0, 0, word(1 << 25)),
  );
  peer.send(headers(3));
  const small = peer.seen[1]?.stream;
  small?.respond(answer);
  peer.take();
  write(stream, new Uint8Array(8 << 20));
  write(small, counted(30_000)); // more than a frame
  assertEquals([stream.buffered, small?.buffered], [8 << 20, 30_000]);
  // One output has about a million bytes; what is more waits in its stream.
  const first = peer.connection.takeOutput();
  assert((first?.length ?? 0) < (1 << 20) + 1000);
  assertEquals(small?.buffered, 0);
  assert(stream.buffered >= 7 << 20);
  peer.connection.takeOutput();
  assert(stream.buffered > 5 << 20);
  peer.take();
  assertEquals(stream.buffered, 0);
});

Deno.test("streams that wait for the socket take turns, and what they send is never copied by way of a queue", () => {
  const left = [40, 40];
  const sent: number[] = [];
  const fill = (index: number, stream: Http2Stream): void => {
    for (; (left[index] ?? 0) > 0 && !stream.isFull(); left[index] = (left[index] ?? 0) - 1) {
      write(stream, counted(30_000));
      sent.push(index);
      assertEquals(stream.buffered, 0);
    }
  };
  const peer: Peer = new Peer({
    serve: ({ stream }) => ({ onDrain: () => fill(stream.id >> 1, stream) }),
  });
  peer.send(
    hello,
    settings([Setting.initialWindowSize, 1 << 24], [Setting.maxFrameSize, 1 << 20]),
    frame(8, 0, 0, word(1 << 25)),
    headers(1),
    headers(3),
  );
  for (const [index, { stream }] of peer.seen.entries()) {
    stream.respond(answer);
    fill(index, stream);
  }
  assert(sent.length < 8, `${sent.length} were sent before the socket took any`);
  const before = sent.length;
  peer.connection.takeOutput();
  assertEquals(new Set(sent.slice(before)), new Set([0]), "the first one has its turn");
  const between = sent.length;
  peer.connection.takeOutput();
  assertEquals(new Set(sent.slice(between)), new Set([1]), "and then the second one");
  peer.take();
  assertEquals([left, peer.connection.check()], [[0, 0], 0]);
});

Deno.test("onDrain may send more, and each output is whole", () => {
  let rounds = 0;
  const peer = new Peer({
    serve: (seen) => ({
      onDrain: () => {
        if (++rounds < 5) write(seen.stream, counted(70_000));
        else seen.stream.end(trailers);
      },
    }),
  });
  peer.send(
    hello,
    settings([Setting.initialWindowSize, 1 << 20], [Setting.maxFrameSize, 1 << 20]),
    frame(8, 0, 0, word(1 << 24)),
    headers(1, true),
  );
  const stream = peer.seen[0]?.stream;
  stream?.respond(answer);
  write(stream, new Uint8Array(2 << 20)); // above the stream's window, so it waits
  let frames = peer.take();
  assertEquals(rounds, 0);
  frames = [...frames, ...peer.send(frame(8, 0, 1, word(1 << 24)))];
  assertEquals(rounds, 1, "70,000 bytes go at once, and do not drain");
  assertEquals(bodyOf(frames).length, (2 << 20) + 70_000);
});

Deno.test("output where there was none is announced, and waits to be taken", () => {
  const { peer, stream } = begun();
  const announced = (act: () => void): number => {
    const before = peer.outputCalls;
    act();
    return peer.outputCalls - before;
  };
  assertEquals(announced(() => write(stream, fromHex("01"))), 1);
  assertEquals(announced(() => write(stream, fromHex("02"))), 0, "the first is not taken yet");
  peer.take();
  // More than the window, so the rest waits for it.
  assertEquals(announced(() => write(stream, new Uint8Array(70_000))), 1);
  peer.take();
  assertEquals(announced(() => peer.connection.shutDown()), 1);
  peer.take();
  assertEquals(announced(() => stream.reset()), 1);
  peer.take();
  assertEquals(announced(() => peer.connection.close()), 1);
});

Deno.test("an output stays as it was until the next one is taken", () => {
  const { peer, stream } = begun();
  write(stream, counted(1000));
  const taken = peer.connection.takeOutput();
  const copy = taken?.slice();
  for (let k = 0; k < 50; k++) write(stream, counted(1000, k));
  assertEquals(taken, copy);
});
