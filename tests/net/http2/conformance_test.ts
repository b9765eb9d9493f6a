/**
 * What RFC 9113 asks of a server, one line a rule. Each case sends frames after the preface and the first SETTINGS. The server must end the
 * connection by GOAWAY with a code, or a stream by RST_STREAM with a code, or do neither. The file is long because it is one table.
 */
import { assert, assertEquals } from "../../_assert.ts";
import { encodeHeaders } from "../../../net/http2/hpack.ts";
import { ErrorCode, preface, Setting } from "../../../net/http2/protocol.ts";
import {
  data,
  frame,
  fromHex,
  headers,
  hello,
  join,
  Peer,
  requestFields,
  settings,
  word,
} from "./_peer.ts";

const code = ErrorCode;

interface Case {
  readonly section: string;
  readonly name: string;
  /** The bytes; with `bare`, they are all that is sent. */
  readonly sends: readonly Uint8Array[];
  readonly bare?: true;
  /** The code of the GOAWAY that ends the connection. */
  readonly connection?: number;
  /** The code of the RST_STREAM of stream 1. */
  readonly stream?: number;
  /** What stream 1 received; by default nothing is asked. */
  readonly body?: string;
  /** Whether stream 1 has ended. */
  readonly ended?: boolean;
  /** How the server serves stream 1: it answers at the end of the request, at once, or never. */
  readonly answers?: "at end" | "at once" | "never";
}

/** A request with fields changed: undefined takes one away. */
function request(
  changes: Readonly<Record<string, string | undefined>>,
  id = 1,
  isEnd = false,
): Uint8Array {
  const fields = requestFields.filter(([name]) => !(name in changes));
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) continue;
    if (name.startsWith(":")) fields.unshift([name, value]);
    else fields.push([name, value]);
  }
  return headers(id, isEnd, fields);
}

const trailers = encodeHeaders([["x", "y"]]);
const block = encodeHeaders(requestFields);
const half = block.length >> 1;
const ping = "0102030405060708";

/** HEADERS without END_HEADERS, and the rest of their block. */
const begun = frame(1, 0, 1, block.slice(0, half));
const rest = frame(9, 4, 1, block.slice(half));

/** A window of 2^31 - 1. */
const all = 0x7fff_ffff;

const cases: readonly Case[] = [
  // 3.4 The preface
  { section: "3.4", name: "the preface and empty SETTINGS begin", sends: [] },
  {
    section: "3.4",
    name: "another preface",
    bare: true,
    sends: [fromHex("505249202a20485454502f322e310d0a")],
    connection: code.protocolError,
  },
  {
    section: "3.4",
    name: "a first frame other than SETTINGS",
    bare: true,
    sends: [preface, frame(6, 0, 0, ping)],
    connection: code.protocolError,
  },
  {
    section: "3.4",
    name: "a first frame that is an ACK",
    bare: true,
    sends: [preface, frame(4, 1, 0)],
    connection: code.protocolError,
  },
  // 4.1 Frames
  { section: "4.1", name: "a frame of unknown type", sends: [frame(0x16, 0, 0, "00")] },
  {
    section: "4.1",
    name: "a frame of unknown type on a stream, longer than a block of headers may be",
    sends: [frame(0xff, 255, 1, new Uint8Array(100_000)), headers(1)],
  },
  { section: "4.1", name: "flags that PING has not", sends: [frame(6, 0x16, 0, ping)] },
  {
    section: "4.1",
    name: "the reserved bit of a stream's number",
    sends: [headers(1), frame(0, 1, 0x8000_0001, "6162")],
    body: "ab",
    ended: true,
  },
  // 4.2 Sizes
  {
    section: "4.2",
    name: "DATA of the largest size",
    sends: [headers(1), data(1, new Uint8Array(1 << 20))],
  },
  {
    section: "4.2",
    name: "DATA above the largest size",
    sends: [headers(1), data(1, new Uint8Array((1 << 20) + 1))],
    connection: code.frameSizeError,
  },
  {
    section: "4.2",
    name: "a frame of unknown type above the largest size",
    sends: [frame(0x20, 0, 0, "", 0xff_ffff)],
    connection: code.frameSizeError,
  },
  // 4.3 Blocks of headers
  {
    section: "4.3",
    name: "a block that can't be decoded",
    sends: [frame(1, 5, 1, "ff80808080808080")],
    connection: code.compressionError,
  },
  {
    section: "4.3",
    name: "a block of trailers that can't be decoded",
    sends: [headers(1), frame(1, 5, 1, "c6")],
    connection: code.compressionError,
  },
  {
    section: "4.3",
    name: "PING within a block",
    sends: [begun, frame(6, 0, 0, ping), rest],
    connection: code.protocolError,
  },
  {
    section: "4.3",
    name: "DATA within a block",
    sends: [begun, data(1, "00"), rest],
    connection: code.protocolError,
  },
  {
    section: "4.3",
    name: "HEADERS of another stream within a block",
    sends: [begun, headers(3)],
    connection: code.protocolError,
  },
  {
    section: "4.3",
    name: "a frame of unknown type within a block",
    sends: [begun, frame(0x16, 0, 1, "00"), rest],
    connection: code.protocolError,
  },
  // 5.1 States of streams
  { section: "5.1", name: "DATA on an idle stream", sends: [data(1, "00")], connection: 1 },
  {
    section: "5.1",
    name: "RST_STREAM on an idle stream",
    sends: [frame(3, 0, 1, word(8))],
    connection: code.protocolError,
  },
  {
    section: "5.1",
    name: "WINDOW_UPDATE on an idle stream",
    sends: [frame(8, 0, 1, word(1))],
    connection: code.protocolError,
  },
  {
    section: "5.1",
    name: "CONTINUATION on an idle stream",
    sends: [frame(9, 4, 1, trailers)],
    connection: code.protocolError,
  },
  { section: "5.1", name: "PRIORITY on an idle stream", sends: [frame(2, 0, 9, "0000000010")] },
  {
    section: "5.1",
    name: "DATA on a half-closed stream",
    sends: [headers(1, true), data(1, "00")],
    answers: "never",
    stream: code.streamClosed,
  },
  {
    section: "5.1",
    name: "HEADERS on a half-closed stream",
    sends: [headers(1, true), frame(1, 5, 1, trailers)],
    answers: "never",
    stream: code.streamClosed,
  },
  {
    section: "5.1",
    name: "WINDOW_UPDATE, PRIORITY and RST_STREAM on a half-closed stream",
    sends: [
      headers(1, true),
      frame(8, 0, 1, word(9)),
      frame(2, 0, 1, "0000000010"),
      frame(3, 0, 1, word(8)),
    ],
    answers: "never",
  },
  {
    section: "5.1",
    name: "DATA after RST_STREAM",
    sends: [headers(1), frame(3, 0, 1, word(8)), data(1, "00")],
    stream: code.streamClosed,
  },
  {
    section: "5.1",
    name: "HEADERS after RST_STREAM",
    sends: [headers(1), frame(3, 0, 1, word(8)), frame(1, 5, 1, trailers)],
    connection: code.streamClosed,
  },
  {
    section: "5.1",
    name: "DATA on a stream that has ended",
    sends: [headers(1, true), data(1, "00")],
    connection: code.streamClosed,
  },
  {
    section: "5.1",
    name: "HEADERS on a stream that has ended",
    sends: [headers(1, true), frame(1, 5, 1, trailers)],
    connection: code.streamClosed,
  },
  {
    section: "5.1",
    name: "WINDOW_UPDATE and RST_STREAM on a stream that has ended",
    sends: [headers(1, true), frame(8, 0, 1, word(9)), frame(3, 0, 1, word(0))],
  },
  {
    section: "5.1",
    name: "DATA and trailers on their way to a stream that the server ended early",
    sends: [headers(1), data(1, "00"), data(1, "00"), frame(1, 5, 1, trailers)],
    answers: "at once",
    stream: code.noError,
  },
  // 5.1.1 Numbers of streams
  { section: "5.1.1", name: "HEADERS on an even stream", sends: [headers(2)], connection: 1 },
  {
    section: "5.1.1",
    name: "HEADERS on a stream below an open one",
    sends: [headers(5), headers(3)],
    connection: code.protocolError,
  },
  { section: "5.1.1", name: "numbers may be left out", sends: [headers(1), headers(7)] },
  {
    section: "5.1.1",
    name: "the largest number of a stream",
    sends: [headers(all)],
  },
  // 5.4 The first error counts
  {
    section: "5.4.1",
    name: "nothing is read after a connection error",
    sends: [frame(6, 0, 1, ping), headers(1), data(1, "00")],
    connection: code.protocolError,
  },
  // 6.1 DATA
  { section: "6.1", name: "DATA on stream 0", sends: [data(0, "00")], connection: 1 },
  {
    section: "6.1",
    name: "DATA with padding",
    sends: [headers(1), frame(0, 9, 1, "03616263000000")],
    body: "abc",
    ended: true,
  },
  {
    section: "6.1",
    name: "DATA of padding only",
    sends: [headers(1), frame(0, 9, 1, "03000000")],
    body: "",
    ended: true,
  },
  {
    section: "6.1",
    name: "padding as long as its frame",
    sends: [headers(1), frame(0, 8, 1, "04616263")],
    connection: code.protocolError,
  },
  {
    section: "6.1",
    name: "padded DATA without a byte",
    sends: [headers(1), frame(0, 8, 1)],
    connection: code.frameSizeError,
  },
  {
    section: "6.1",
    name: "an empty DATA that ends a request",
    sends: [headers(1), data(1, "61"), data(1, "", true)],
    body: "a",
    ended: true,
  },
  // 6.2 HEADERS
  { section: "6.2", name: "HEADERS on stream 0", sends: [headers(0)], connection: 1 },
  {
    section: "6.2",
    name: "HEADERS with padding and priority",
    sends: [frame(1, 0x2d, 1, join(fromHex("02 8000000910"), block, fromHex("0000")))],
    ended: true,
  },
  {
    section: "6.2",
    name: "padding of HEADERS that is longer than the frame",
    sends: [frame(1, 0x0c, 1, join(fromHex("ff"), block))],
    connection: code.protocolError,
  },
  {
    section: "6.2",
    name: "padded HEADERS without a byte",
    sends: [frame(1, 0x0c, 1)],
    connection: code.frameSizeError,
  },
  {
    section: "6.2",
    name: "HEADERS shorter than their priority",
    sends: [frame(1, 0x24, 1, "80000009")],
    connection: code.protocolError,
  },
  {
    section: "6.2",
    name: "HEADERS without END_HEADERS, then their CONTINUATION",
    sends: [begun, rest, data(1, "6162", true)],
    body: "ab",
    ended: true,
  },
  // 6.3 PRIORITY
  {
    section: "6.3",
    name: "PRIORITY on stream 0",
    sends: [frame(2, 0, 0, "0000000010")],
    connection: code.protocolError,
  },
  {
    section: "6.3",
    name: "PRIORITY of 4 bytes",
    sends: [headers(1), frame(2, 0, 1, "00000000")],
    stream: code.frameSizeError,
  },
  // 6.4 RST_STREAM
  {
    section: "6.4",
    name: "RST_STREAM on stream 0",
    sends: [frame(3, 0, 0, word(8))],
    connection: code.protocolError,
  },
  {
    section: "6.4",
    name: "RST_STREAM of 3 bytes",
    sends: [headers(1), frame(3, 0, 1, "000008")],
    connection: code.frameSizeError,
  },
  {
    section: "6.4",
    name: "RST_STREAM of an unknown code",
    sends: [headers(1), frame(3, 0, 1, word(99))],
  },
  // 6.5 SETTINGS
  {
    section: "6.5",
    name: "SETTINGS on a stream",
    sends: [frame(4, 0, 1, "000300000064")],
    connection: code.protocolError,
  },
  {
    section: "6.5",
    name: "SETTINGS of 5 bytes",
    sends: [frame(4, 0, 0, "0003000000")],
    connection: code.frameSizeError,
  },
  {
    section: "6.5",
    name: "an ACK with settings",
    sends: [frame(4, 1, 0, "000300000064")],
    connection: code.frameSizeError,
  },
  { section: "6.5.2", name: "ENABLE_PUSH of 0", sends: [settings([Setting.enablePush, 0])] },
  {
    section: "6.5.2",
    name: "ENABLE_PUSH of 2",
    sends: [settings([Setting.enablePush, 2])],
    connection: code.protocolError,
  },
  {
    section: "6.5.2",
    name: "INITIAL_WINDOW_SIZE of 2^31",
    sends: [settings([Setting.initialWindowSize, 0x8000_0000])],
    connection: code.flowControlError,
  },
  {
    section: "6.5.2",
    name: "INITIAL_WINDOW_SIZE of 2^31 - 1",
    sends: [settings([Setting.initialWindowSize, all])],
  },
  {
    section: "6.5.2",
    name: "MAX_FRAME_SIZE below 16,384",
    sends: [settings([Setting.maxFrameSize, 16_383])],
    connection: code.protocolError,
  },
  {
    section: "6.5.2",
    name: "MAX_FRAME_SIZE above 2^24 - 1",
    sends: [settings([Setting.maxFrameSize, 0x100_0000])],
    connection: code.protocolError,
  },
  { section: "6.5.2", name: "an unknown setting", sends: [settings([0xff, 7])] },
  {
    section: "6.5.2",
    name: "one setting twice, where the last one counts",
    sends: [settings([Setting.maxFrameSize, 16_384], [Setting.maxFrameSize, 70_000])],
  },
  // 6.6 PUSH_PROMISE
  {
    section: "6.6",
    name: "PUSH_PROMISE from a client",
    sends: [headers(1), frame(5, 4, 1, join(word(2), block))],
    connection: code.protocolError,
  },
  // 6.7 PING
  {
    section: "6.7",
    name: "PING on a stream",
    sends: [frame(6, 0, 1, ping)],
    connection: code.protocolError,
  },
  {
    section: "6.7",
    name: "PING of 7 bytes",
    sends: [frame(6, 0, 0, "01020304050607")],
    connection: code.frameSizeError,
  },
  { section: "6.7", name: "an ACK that nobody asked for", sends: [frame(6, 1, 0, ping)] },
  // 6.8 GOAWAY
  {
    section: "6.8",
    name: "GOAWAY on a stream",
    sends: [frame(7, 0, 1, join(word(0), word(0)))],
    connection: code.protocolError,
  },
  {
    section: "6.8",
    name: "GOAWAY of 7 bytes",
    sends: [frame(7, 0, 0, "00000000000000")],
    connection: code.frameSizeError,
  },
  {
    section: "6.8",
    name: "a request goes on after the client's GOAWAY",
    sends: [headers(1), frame(7, 0, 0, join(word(0), word(0))), data(1, "61", true)],
    body: "a",
    ended: true,
  },
  // 6.9 WINDOW_UPDATE
  {
    section: "6.9",
    name: "WINDOW_UPDATE of 0 on the connection",
    sends: [frame(8, 0, 0, word(0))],
    connection: code.protocolError,
  },
  {
    section: "6.9",
    name: "WINDOW_UPDATE of 0 on a stream",
    sends: [headers(1), frame(8, 0, 1, word(0))],
    stream: code.protocolError,
  },
  {
    section: "6.9",
    name: "WINDOW_UPDATE of 3 bytes",
    sends: [frame(8, 0, 0, "000001")],
    connection: code.frameSizeError,
  },
  {
    section: "6.9",
    name: "the reserved bit of an increment",
    sends: [headers(1), frame(8, 0, 1, word(0x8000_0001)), frame(8, 0, 0, word(0x8000_0001))],
  },
  {
    section: "6.9.1",
    name: "a window of the connection above 2^31 - 1",
    sends: [frame(8, 0, 0, word(all))],
    connection: code.flowControlError,
  },
  {
    section: "6.9.1",
    name: "a window of a stream above 2^31 - 1",
    sends: [headers(1), frame(8, 0, 1, word(all))],
    stream: code.flowControlError,
  },
  {
    section: "6.9.1",
    name: "both windows at 2^31 - 1",
    sends: [headers(1), frame(8, 0, 0, word(all - 65_535)), frame(8, 0, 1, word(all - 65_535))],
  },
  {
    section: "6.9.2",
    name: "a setting that makes a stream's window larger than 2^31 - 1",
    sends: [
      headers(1),
      frame(8, 0, 1, word(all - 65_535)),
      settings([Setting.initialWindowSize, 65_536]),
    ],
    connection: code.flowControlError,
  },
  // 6.10 CONTINUATION
  {
    section: "6.10",
    name: "CONTINUATION on stream 0",
    sends: [begun, frame(9, 4, 0, block.slice(half))],
    connection: code.protocolError,
  },
  {
    section: "6.10",
    name: "CONTINUATION after a whole block",
    sends: [headers(1), frame(9, 4, 1, trailers)],
    connection: code.protocolError,
  },
  {
    section: "6.10",
    name: "CONTINUATION after DATA",
    sends: [headers(1), data(1, "00"), frame(9, 4, 1, trailers)],
    connection: code.protocolError,
  },
  {
    section: "6.10",
    name: "several CONTINUATION, one of them empty",
    sends: [
      frame(1, 1, 1, block.slice(0, 3)),
      frame(9, 0, 1, block.slice(3, half)),
      frame(9, 0, 1),
      rest,
    ],
    ended: true,
  },
  // 8.1 Requests
  {
    section: "8.1",
    name: "a body and trailers",
    sends: [headers(1), data(1, "6162"), frame(1, 5, 1, trailers)],
    body: "ab",
    ended: true,
  },
  {
    section: "8.1",
    name: "a second HEADERS without END_STREAM",
    sends: [headers(1), frame(1, 4, 1, trailers)],
    stream: code.protocolError,
  },
  {
    section: "8.1",
    name: "a pseudo-header in trailers",
    sends: [headers(1), frame(1, 5, 1, encodeHeaders([[":path", "/"]]))],
    stream: code.protocolError,
  },
  // 8.1.1 content-length
  {
    section: "8.1.1",
    name: "a content-length that is right",
    sends: [request({ "content-length": "3" }), data(1, "6162"), data(1, "63", true)],
    body: "abc",
    ended: true,
  },
  {
    section: "8.1.1",
    name: "a body longer than content-length",
    sends: [request({ "content-length": "3" }), data(1, "61626364", true)],
    stream: code.protocolError,
  },
  {
    section: "8.1.1",
    name: "a body shorter than content-length",
    sends: [request({ "content-length": "3" }), data(1, "6162", true)],
    stream: code.protocolError,
  },
  {
    section: "8.1.1",
    name: "no body where content-length asks for one",
    sends: [request({ "content-length": "3" }, 1, true)],
    stream: code.protocolError,
  },
  {
    section: "8.1.1",
    name: "two content-length that differ",
    sends: [headers(1, true, [...requestFields, ["content-length", "0"], ["content-length", "1"]])],
    stream: code.protocolError,
  },
  {
    section: "8.1.1",
    name: "a content-length that is no number",
    sends: [request({ "content-length": "+3" })],
    stream: code.protocolError,
  },
  // 8.2 Fields
  ...[
    ["a name in upper case", { "X-A": "b" }],
    ["a name with a space", { "x a": "b" }],
    ["a name with a colon", { "x:a": "b" }],
    ["a name without letters", { "": "b" }],
    ["a name above 127", { "x\xe4": "b" }],
    ["a value with NUL", { x: "a\0b" }],
    ["a value with a line feed", { x: "a\nb" }],
    ["a value with a carriage return", { x: "a\rb" }],
    ["a value that begins with a space", { x: " a" }],
    ["a value that ends with a tab", { x: "a\t" }],
    ["the field connection", { connection: "close" }],
    ["the field keep-alive", { "keep-alive": "1" }],
    ["the field proxy-connection", { "proxy-connection": "close" }],
    ["the field transfer-encoding", { "transfer-encoding": "chunked" }],
    ["the field upgrade", { upgrade: "h2c" }],
    ["te of another value than trailers", { te: "gzip" }],
    ["an unknown pseudo-header", { ":what": "a" }],
    ["the pseudo-header of an answer", { ":status": "200" }],
    ["no :method", { ":method": undefined }],
    ["no :scheme", { ":scheme": undefined }],
    ["no :path", { ":path": undefined }],
    ["an empty :path", { ":path": "" }],
  ].map(([name, changes]) => ({
    section: "8.2, 8.3",
    name: name as string,
    sends: [request(changes as Record<string, string | undefined>)],
    stream: code.protocolError,
  })),
  {
    section: "8.2.1",
    name: "a value with letters above 127 and spaces within",
    sends: [request({ x: "a b\xe4\xff" }, 1, true)],
    ended: true,
  },
  {
    section: "8.2.3",
    name: "two cookies",
    sends: [request({ cookie: "a=b" }, 1, true)],
    ended: true,
  },
  {
    section: "8.3",
    name: "a pseudo-header after a plain field",
    sends: [headers(1, true, [...requestFields.slice(1), [":method", "POST"]])],
    stream: code.protocolError,
  },
  {
    section: "8.3",
    name: "a pseudo-header twice",
    sends: [headers(1, true, [[":path", "/"], ...requestFields])],
    stream: code.protocolError,
  },
  {
    section: "8.3.1",
    name: "a request without :authority",
    sends: [request({ ":authority": undefined }, 1, true)],
    ended: true,
  },
];

Deno.test(`${cases.length} rules of RFC 9113 are in the table`, () => assert(cases.length >= 80));

const answer = encodeHeaders([[":status", "200"]]);

for (const { section, name, sends, bare, connection, stream, body, ended, answers } of cases) {
  Deno.test(`RFC 9113, ${section}: ${name}`, () => {
    const peer = new Peer({
      serve: (seen) => {
        if (answers === "at once") seen.stream.respond(answer, true);
        if (answers !== undefined) return;
        return {
          onEnd: () => {
            seen.hasEnded = true;
            seen.stream.respond(answer, true);
          },
        };
      },
    });
    if (bare === undefined) peer.send(hello);
    for (const bytes of sends) peer.send(bytes);
    assertEquals(peer.goAwayCode, connection);
    assertEquals(peer.connection.isClosed, connection !== undefined);
    if (connection === undefined) assertEquals(peer.resetCode(1), stream);
    const seen = peer.seen.find((one) => one.stream.id === 1);
    if (body !== undefined) {
      assertEquals(seen?.body.map((byte) => String.fromCharCode(byte)).join(""), body);
    }
    if (ended !== undefined) assertEquals(seen?.hasEnded, ended);
    // A stream that ended by a fault is told so, once it was told of at all.
    if (stream !== undefined && stream !== code.noError && seen !== undefined) {
      if (seen.resetWith < 0) assert(seen.hasEnded || sends.length > 2);
    }
    if (connection !== undefined && seen?.stream.isClosed === false) {
      assert(false, "a stream is open");
    }
    assertEquals(peer.connection.check(), 0);
    assertEquals(peer.errors, []);
    // A connection without a fault still answers.
    if (connection === undefined) {
      const [pong] = peer.send(frame(6, 0, 0, "ff00ff00ff00ff00"));
      assertEquals([pong?.type, pong?.flags, pong?.payload[0]], [6, 1, 255]);
    }
  });
}
