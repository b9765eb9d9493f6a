/**
 * gRPC calls: messages, statuses, deadlines, cancelling, back-pressure. The file is long because all cases are calls of one client, which
 * records what it sees.
 */
import { assert, assertEquals, assertMatch, assertThrows } from "../../_assert.ts";
import {
  type CallHandler,
  type GrpcCall,
  GrpcConnection,
  type GrpcOptions,
} from "../../../net/grpc/calls.ts";
import { HeldBytes } from "../../../net/grpc/held_bytes.ts";
import { encodeMessage, parseTimeout, Status } from "../../../net/grpc/status.ts";
import { RandomStream } from "../../../selectors/random_stream.ts";
import { HpackDecoder, HpackFault } from "../../../net/http2/hpack.ts";
import { ErrorCode, FrameType, read32 } from "../../../net/http2/protocol.ts";
import {
  cutFrames,
  data,
  frame,
  headers,
  hello,
  join,
  requestFields,
  type SentFrame,
  word,
} from "../http2/_peer.ts";
import { until } from "../../_wait.ts";

/** A message with its prefix. */
function message(bytes: Uint8Array | readonly number[], flag = 0): Uint8Array<ArrayBuffer> {
  return join(new Uint8Array([flag]), word(bytes.length), Uint8Array.from(bytes));
}

/** What a client of the test sees of one call. */
interface Answer {
  readonly headers: ReadonlyMap<string, string>[];
  readonly messages: number[][];
  resetWith: number | undefined;
}

class Client {
  readonly connection: GrpcConnection;
  readonly log: string[] = [];
  readonly calls: GrpcCall[] = [];
  readonly errors: unknown[] = [];
  readonly frames: SentFrame[] = [];
  readonly #decoder = new HpackDecoder(1 << 16);

  constructor(
    serve: (call: GrpcCall, log: string[]) => Partial<CallHandler> = () => ({}),
    options: Partial<GrpcOptions> = {},
  ) {
    this.connection = new GrpcConnection({
      onError: (error) => this.errors.push(error),
      handler: (path) => {
        if (path !== "/a.B/C") return undefined;
        return (call) => {
          this.calls.push(call);
          const { log } = this;
          return {
            onMessage: (bytes) => log.push(`message ${[...bytes]}`),
            onHalfClose: () => log.push("half"),
            onCancel: () => log.push("cancel"),
            ...serve(call, log),
          };
        };
      },
      ...options,
    });
    this.send(hello);
  }

  send(...parts: readonly Uint8Array[]): void {
    this.connection.receive(join(...parts));
    this.take();
  }

  take(): void {
    for (;;) {
      const output = this.connection.takeOutput();
      if (output === undefined) return;
      this.frames.push(...cutFrames(output));
    }
  }

  answer(id = 1): Answer {
    const answer: Answer = { headers: [], messages: [], resetWith: undefined };
    let bytes: Uint8Array = new Uint8Array(0);
    for (const sent of this.frames) {
      if (sent.id !== id) continue;
      if (sent.type === FrameType.headers) {
        const list = this.#decoder.decode(sent.payload, 0, sent.payload.length);
        assert(!(list instanceof HpackFault));
        answer.headers.push(list.fields);
      } else if (sent.type === FrameType.data) bytes = join(bytes, sent.payload);
      else if (sent.type === FrameType.rstStream) answer.resetWith = read32(sent.payload, 0);
    }
    for (let at = 0; at < bytes.length;) {
      const length = read32(bytes, at + 1);
      assertEquals(bytes[at], 0);
      answer.messages.push([...bytes.subarray(at + 5, at + 5 + length)]);
      at += 5 + length;
    }
    return answer;
  }

  /** The status and the words that ended a call. */
  status(id = 1): [string | undefined, string | undefined] {
    const last = this.answer(id).headers.at(-1);
    return [last?.get("grpc-status"), last?.get("grpc-message")];
  }
}

/** A handler that sends each message back, and ends well. */
function echo(call: GrpcCall): Partial<CallHandler> {
  return { onMessage: (bytes) => call.send(bytes), onHalfClose: () => call.finish(Status.ok) };
}

Deno.test("a unary call: headers, a message, trailers, and nothing else", () => {
  const client = new Client(echo);
  client.frames.length = 0;
  client.send(headers(1), data(1, message([1, 2, 3]), true));
  assertEquals(client.frames.map(({ type, flags }) => [type, flags]), [[1, 4], [0, 0], [1, 5]]);
  const { headers: lists, messages } = client.answer();
  assertEquals([...lists[0] ?? []], [[":status", "200"], ["content-type", "application/grpc"]]);
  assertEquals([...lists[1] ?? []], [["grpc-status", "0"]]);
  assertEquals(messages, [[1, 2, 3]]);
  const [call] = client.calls;
  assertEquals([call?.metadata.get(":path"), call?.isOver], ["/a.B/C", true]);
});

Deno.test("an answer without a message has headers and trailers", () => {
  const client = new Client((call) => ({ onHalfClose: () => call.finish(0) }));
  client.send(headers(1, true));
  assertEquals(client.answer().headers.length, 2);
});

Deno.test("messages come whole, however DATA cuts them", () => {
  const bytes = join(message([]), message([1]), message(Array(300).fill(7)), message([2, 3]));
  for (const size of [1, 2, 4, 5, 6, 100, 311, 1000]) {
    const client = new Client();
    client.send(headers(1));
    for (let at = 0; at < bytes.length; at += size) {
      client.send(data(1, bytes.slice(at, at + size)));
    }
    client.send(data(1, "", true));
    assertEquals(client.log, [
      ...["message ", "message 1", `message ${Array(300).fill(7)}`, "message 2,3", "half"],
    ]);
  }
});

Deno.test("a message of several frames of the largest size comes whole", () => {
  const body = Uint8Array.from({ length: 3_000_000 }, (_, k) => k * 31 >> 3);
  let seen: Uint8Array | undefined;
  const client = new Client(() => ({ onMessage: (bytes) => seen = bytes.slice() }));
  client.send(headers(1));
  const bytes = message(body);
  for (let at = 0; at < bytes.length; at += 500_000) {
    client.send(data(1, bytes.slice(at, at + 500_000)));
  }
  assertEquals(seen, body);
  const sum = client.frames.filter(({ type, id }) => type === 8 && id === 1)
    .reduce((total, { payload }) => total + read32(payload, 0), 0);
  assert(sum >= 2_000_000, "the window was given back while the message came");
});

Deno.test("sendInto() sends what was written in place, or nothing", () => {
  const fail = (): never => {
    throw new Error("no message");
  };
  const client = new Client((call) => ({
    onMessage: () => {
      const count = call.sendInto(100, (target) => {
        assertEquals(target.length, 100);
        target.set([1, 2, 3]);
        return 3;
      });
      assertEquals([count, call.sendInto(100, () => undefined)], [3, undefined]);
      call.sendInto(100, () => 0);
      assertThrows(() => call.sendInto(100, () => fail()), Error, "no message");
      call.sendInto(100_000, (target) => target.fill(9, 0, 50_000) && 50_000);
    },
    onHalfClose: () => call.finish(0),
  }));
  client.send(headers(1), data(1, message([1]), true));
  assertEquals(client.answer().messages, [[1, 2, 3], [], Array(50_000).fill(9)]);
});

Deno.test("an error before any message is one block of headers", () => {
  const client = new Client((call) => ({
    onHalfClose: () => call.finish(Status.notFound, "there is no table 'µ'\n50 %"),
  }));
  client.send(headers(1, true));
  const [only, ...others] = client.answer().headers;
  assertEquals([...only ?? []], [
    [":status", "200"],
    ["content-type", "application/grpc"],
    ["grpc-status", "5"],
    ["grpc-message", "there is no table '%C2%B5'%0A50 %25"],
  ]);
  assertEquals(others, []);
});

Deno.test("an error after a message is in the trailers", () => {
  const client = new Client((call) => ({
    onMessage: (bytes) => {
      call.send(bytes);
      call.finish(Status.aborted, "enough");
      call.finish(Status.ok);
      call.send(bytes);
    },
  }));
  client.send(headers(1), data(1, message([1])), data(1, message([2])));
  const { headers: lists, messages, resetWith } = client.answer();
  assertEquals([lists.length, messages], [2, [[1]]]);
  assertEquals(client.status(), ["10", "enough"]);
  assertEquals(resetWith, ErrorCode.noError, "the client need not send the rest");
  assertEquals(client.log, []);
});

for (
  const [name, sends, status] of [
    ["a method that nobody serves", [headers(1, true, change(":path", "/a.B/D"))], "12"],
    ["a compressed message", [headers(1), data(1, message([1], 1))], "12"],
    ["a prefix that is no flag", [headers(1), data(1, message([1], 2))], "13"],
    ["a message above the limit", [headers(1), data(1, message(Array(101).fill(1)))], "8"],
    ["a length above the limit", [headers(1), data(1, "00ffffffff")], "8"],
    ["an end within a message", [headers(1), data(1, "0000000005aabb", true)], "13"],
    ["an end within a prefix", [headers(1), data(1, "0000", true)], "13"],
    ["a grpc-timeout that is no time", [headers(1, true, change("grpc-timeout", "soon"))], "13"],
  ] as const
) {
  Deno.test(`${name} ends the call by status ${status}`, () => {
    const client = new Client(undefined, { limits: { messageMax: 100 } });
    client.send(...sends);
    assertEquals(client.status()[0], status);
    assertEquals(client.errors, []);
    client.send(headers(3), data(3, message([9])));
    assertEquals(client.log.at(-1), "message 9", "the connection goes on");
  });
}

/** The fields of a request with one of them changed or added. */
function change(name: string, value: string): (readonly [string, string])[] {
  const fields = requestFields.filter(([other]) => other !== name);
  return name.startsWith(":") ? [[name, value], ...fields] : [...fields, [name, value]];
}

for (
  const [name, fields, status] of [
    ["GET", change(":method", "GET"), "405"],
    ["another content-type", change("content-type", "text/plain"), "415"],
    ["a content-type that only begins so", change("content-type", "application/grpcx"), "415"],
    ["no content-type", requestFields.filter(([other]) => other !== "content-type"), "415"],
  ] as const
) {
  Deno.test(`${name} is answered by HTTP ${status}`, () => {
    const client = new Client();
    client.send(headers(1, true, fields));
    assertEquals(client.answer().headers.map((list) => list.get(":status")), [status]);
    assertEquals(client.calls.length, 0);
  });
}

Deno.test("content types with a message format are served", () => {
  for (const type of ["application/grpc+proto", "application/grpc;charset=utf-8"]) {
    const client = new Client(echo);
    client.send(headers(1, true, change("content-type", type)));
    assertEquals(client.status(), ["0", undefined]);
  }
});

Deno.test("metadata of a request come with its call", () => {
  const client = new Client();
  client.send(headers(1, true, [...requestFields, ["x-a", "b"], ["x-a", "c"]]));
  assertEquals(client.calls[0]?.metadata.get("x-a"), "b, c");
});

Deno.test("RST_STREAM of the client cancels a call once, and nothing is sent after it", () => {
  const client = new Client();
  client.send(headers(1), data(1, message([1])));
  client.send(frame(3, 0, 1, word(8)));
  client.frames.length = 0;
  const call = client.calls[0];
  call?.send(new Uint8Array(3));
  call?.finish(0);
  call?.resume();
  client.take();
  assertEquals([client.log, call?.isOver, client.frames], [["message 1", "cancel"], true, []]);
});

Deno.test("the end of the connection cancels all calls", () => {
  const client = new Client();
  client.send(headers(1), headers(3), data(3, "0000"));
  client.connection.close();
  assertEquals(client.log, ["cancel", "cancel"]);
});

Deno.test("a handler that throws ends its call by INTERNAL, and says nothing of why", () => {
  for (const where of ["start", "onMessage", "onHalfClose"]) {
    const client = new Client(() => {
      const fail = (): never => {
        throw new Error("secret");
      };
      if (where === "start") fail();
      return where === "onMessage" ? { onMessage: fail } : { onHalfClose: fail };
    });
    client.send(headers(1), data(1, message([1]), true));
    assertEquals(client.status(), ["13", "the server could not serve this call"]);
    assertEquals(client.errors.length, 1);
  }
});

Deno.test("a deadline ends the call by DEADLINE_EXCEEDED, and tells the handler", async () => {
  const client = new Client();
  client.send(headers(1, false, change("grpc-timeout", "30m")), data(1, message([1])));
  assertEquals(client.log, ["message 1"]);
  await until("the deadline has passed", () => client.log.length > 1);
  client.take();
  assertEquals(client.log, ["message 1", "cancel"]);
  assertEquals(client.status()[0], "4");
});

Deno.test({
  name: "a call that ends before its deadline leaves no timer",
  sanitizeOps: true,
  fn: () => {
    const client = new Client(echo);
    client.send(headers(1, false, change("grpc-timeout", "9H")), data(1, message([1]), true));
    client.send(headers(3, false, change("grpc-timeout", "9H")), frame(3, 0, 3, word(8)));
    client.send(headers(5, false, change("grpc-timeout", "99999999H")));
    assertEquals(client.calls.map(({ isOver }) => isOver), [true, true, false]);
  },
});

Deno.test("grpc-timeout has six units and at most eight digits", () => {
  const texts = [
    "1H",
    "2M",
    "3S",
    "4m",
    "5u",
    "6n",
    "00000001S",
    "000000001S",
    "1",
    "S",
    "1s",
    "-1S",
  ];
  assertEquals(texts.map(parseTimeout), [
    ...[3_600_000, 120_000, 3000, 4, 0.005, 0.000006, 1000],
    ...Array(5).fill(undefined),
  ]);
});

Deno.test("pause() withholds messages and the window, and resume() gives both", () => {
  const client = new Client((call, log) => ({
    onMessage: ([first]) => {
      log.push(`message ${first}`);
      if (first === 1) call.pause();
    },
  }));
  const half = message(Array(600_000).fill(5));
  client.send(headers(1), data(1, join(message([1]), message([2]))), data(1, half, true));
  const updates = (): number =>
    client.frames.filter(({ type, id }) => type === 8 && id === 1).length;
  assertEquals([client.log, updates()], [["message 1"], 0]);
  client.calls[0]?.resume();
  client.take();
  assertEquals(client.log, ["message 1", "message 2", "message 5", "half"]);
  assertEquals(updates(), 0, "the request is complete, so no window is given");
});

Deno.test("a paused call's client sends a window's worth and no more", () => {
  const client = new Client((call) => ({ onMessage: () => call.pause() }));
  client.send(headers(1), data(1, message([1])));
  const bytes = message(Array(2_000_000).fill(3));
  const window = (1 << 20) - 6;
  client.send(data(1, bytes.slice(0, 600_000)), data(1, bytes.slice(600_000, window)));
  assertEquals(client.answer().resetWith, undefined);
  client.calls[0]?.resume();
  client.take();
  const update = client.frames.find(({ type, id }) => type === 8 && id === 1);
  assertEquals(update && read32(update.payload, 0), 1 << 20);
  for (let at = window; at < bytes.length; at += 500_000) {
    client.send(data(1, bytes.slice(at, at + 500_000)));
  }
  assertEquals(client.log, []);
  client.calls[0]?.resume();
  client.send(data(1, "", true));
  assertEquals(client.log, ["half"]);
});

Deno.test("what came in one piece with the message that paused is withheld too", () => {
  const client = new Client((call) => ({ onMessage: ([first]) => first === 1 && call.pause() }));
  client.send(headers(1), data(1, join(message([1]), message(Array(900_000).fill(5)))));
  const updates = (): number[] =>
    client.frames.filter(({ type, id }) => type === 8 && id === 1)
      .map(({ payload }) => read32(payload, 0));
  assertEquals(updates(), []);
  client.calls[0]?.resume();
  client.take();
  assertEquals(updates(), [900_011]);
});

Deno.test("pause() and resume() within a message change nothing", () => {
  const client = new Client((call, log) => ({
    onMessage: ([first]) => {
      log.push(`message ${first}`);
      call.pause();
      call.resume();
    },
  }));
  client.send(headers(1), data(1, join(message([1]), message([2])), true));
  assertEquals(client.log, ["message 1", "message 2", "half"]);
});

/** The first bytes of a message of so many. */
function begun(count: number, of = 1 << 20): Uint8Array<ArrayBuffer> {
  return join(new Uint8Array(1), word(of), new Uint8Array(count - 5));
}

Deno.test("what unfinished and paused messages hold is bounded: the call that holds most gives way", () => {
  const held = new HeldBytes(1000);
  const one = new Client(undefined, { held });
  const other = new Client(undefined, { held });
  one.send(headers(1), data(1, begun(200)), headers(3), data(3, begun(300)), headers(5));
  one.send(data(5, begun(250)));
  assertEquals([held.count, held.isCrowded], [750, true]);
  // The first connection holds most, and of its calls the second one.
  other.send(headers(1), data(1, begun(300)));
  one.take();
  assertEquals([one.status(3)[0], one.log, held.count], ["14", ["cancel"], 750]);
  for (const [client, id] of [[one, 1], [one, 5], [other, 1]] as const) {
    assertEquals(client.status(id)[0], undefined);
  }
  // What alone is too much gives way itself.
  one.send(headers(7), data(7, begun(990)));
  assertEquals([one.status(7)[0], held.count], ["14", 750]);
  for (const id of [1, 5]) one.send(frame(3, 0, id, word(8)));
  other.send(frame(3, 0, 1, word(8)));
  assertEquals([held.count, held.holders.size], [0, 0]);
});

Deno.test("the oldest message that waits for its client alone never gives way, unless it has no room at all", () => {
  const held = new HeldBytes(1000);
  const old = new Client(undefined, { held });
  const young = new Client(undefined, { held });
  old.send(headers(1), data(1, begun(800, 950)));
  young.send(headers(1), data(1, begun(150)));
  assertEquals([young.status()[0], held.count], [undefined, 950]);
  old.send(data(1, new Uint8Array(100)));
  young.take();
  assertEquals([old.status()[0], young.status()[0], held.count], [undefined, "14", 900]);
  old.send(data(1, new Uint8Array(55)), data(1, begun(10)));
  assertEquals([old.log.length, held.count], [1, 10]);
  // Its second message began after those of others.
  young.send(headers(3), data(3, begun(400)));
  old.send(data(1, new Uint8Array(300)));
  young.send(data(3, new Uint8Array(300)));
  old.take();
  assertEquals([old.status()[0], young.status(3)[0], held.count], [undefined, "14", 310]);
  old.send(data(1, new Uint8Array(700)));
  assertEquals([old.status()[0], held.count], ["14", 0]);
});

Deno.test("a call that the server itself holds back gives way by UNAVAILABLE, so that its client sends again", () => {
  const held = new HeldBytes(1000);
  const client = new Client((call) => ({ onMessage: () => call.pause() }), { held });
  client.send(headers(1), data(1, join(message([1]), message(Array(900).fill(5)))));
  assertEquals([client.status()[0], held.count], [undefined, 905]);
  const other = new Client(undefined, { held });
  other.send(headers(1), data(1, begun(90)));
  assertEquals(held.count, 995);
  // It is older, but does not wait for its client.
  other.send(data(1, new Uint8Array(10)));
  client.take();
  const [code, words] = client.status();
  assertEquals([code, held.count], ["14", 100]);
  assertMatch(words ?? "", /^the server holds this call back, and has no room/);
});

Deno.test("where there is room for one message and a bit, all messages of many clients come in", () => {
  for (const [room, clientCount] of [[1000, 2], [1000, 6], [2000, 6], [2000, 12]] as const) {
    const held = new HeldBytes(room);
    const whole = message(Array(900).fill(7));
    const states = Array.from({ length: clientCount }, () => ({
      client: new Client(undefined, { held }),
      id: -1,
      at: whole.length,
      count: 0,
    }));
    let steps = 0;
    // All go on at the same pace, and each begins again where it was sent back.
    for (; steps < 10_000 && states.some(({ count }) => count < 3); steps++) {
      for (const state of states) {
        const { client } = state;
        const end = client.log.splice(0).at(0);
        if (end !== undefined) state.at = whole.length;
        if (end?.startsWith("message")) state.count++;
        if (state.count === 3) continue;
        if (state.at === whole.length) {
          state.id += 2;
          state.at = 0;
          client.send(headers(state.id));
        }
        client.send(data(state.id, whole.subarray(state.at, state.at + 10)));
        state.at = Math.min(whole.length, state.at + 10);
        assert(held.count <= held.max, `${held.count} bytes`);
      }
    }
    assertEquals(
      states.map(({ count }) => count),
      Array(clientCount).fill(3),
      `${clientCount} clients, room for ${room} bytes, ${steps} steps`,
    );
    for (const { client } of states) client.connection.close();
    assertEquals([held.count, held.holders.size], [0, 0]);
  }
});

Deno.test("where room is short, an eighth of each message must come in 30 seconds, so that none holds others up for long", () => {
  for (
    const [room, bytes, status] of [
      [200_000, 16_500, "14"],
      [200_000, 20_100, undefined],
      [1_000_000, 16_500, undefined],
    ] as const
  ) {
    const held = new HeldBytes(room);
    const client = new Client(undefined, { held });
    client.send(headers(1), data(1, begun(101_000, 160_000)));
    assertEquals(held.isCrowded, room === 200_000);
    client.connection.tick(1);
    for (let part = 0; part < 2; part++) {
      if (client.status(1)[0] === undefined) client.send(data(1, new Uint8Array(bytes)));
      client.connection.tick(15_000);
      client.connection.tick(15_001);
      client.take();
    }
    assertEquals(client.status(1)[0], status, `${room}, ${bytes}`);
    if (status !== undefined) assertMatch(client.status(1)[1] ?? "", /20001 are needed/);
  }
});

Deno.test("a client that reads no answers can't hold up others for ever", () => {
  for (const [room, left] of [[120_000, 0], [1_000_000, 90_000]] as const) {
    const held = new HeldBytes(room);
    const client = new Client(undefined, { held, limits: { outputMax: 500 } });
    client.send(headers(1), data(1, begun(90_000, 110_000)));
    const ping = frame(FrameType.ping, 0, 0, "0000000000000000");
    client.connection.receive(join(...Array(40).fill(ping)));
    assert(client.connection.isCongested);
    for (let second = 0; second <= 40; second++) client.connection.tick(1000);
    assertEquals(held.count, left);
    client.take();
    assertEquals(client.status(1)[0], left === 0 ? "14" : undefined);
  }
});

Deno.test("a stream that ends by a fault of the server's own gives back what its call holds", () => {
  const held = new HeldBytes(1000);
  const client = new Client((call) => ({
    onMessage: () => call.send(new Uint8Array(100_000)),
    onDrain: () => {
      throw new Error("out of memory");
    },
  }), { held });
  client.send(headers(1), data(1, join(message([1]), begun(400, 450))));
  client.send(headers(3), data(3, begun(200, 450)));
  assertEquals(held.count, 600);
  client.send(frame(8, 0, 1, word(1 << 20)), frame(8, 0, 0, word(1 << 20)));
  assertEquals(client.answer(1).resetWith, ErrorCode.internalError);
  assertEquals([held.count, client.log], [200, ["cancel"]]);
  assertEquals(client.errors.length, 1);
});

Deno.test("of n connections, one that holds no more than the n-th part of what the oldest message leaves never gives way", () => {
  const seed = 261123;
  const random = new RandomStream(seed);
  let ended = 0;
  for (let round = 0; round < 40; round++) {
    const held = new HeldBytes(20_000);
    const count = 2 + random.below(6);
    const sizeMax = 9000;
    const fair = Math.floor((held.max - sizeMax) / count);
    const modest = new Client(undefined, { held });
    const greedy = Array.from({ length: count - 1 }, () => new Client(undefined, { held }));
    greedy[0]?.send(headers(99), data(99, begun(6, sizeMax)));
    modest.send(headers(1), headers(3));
    for (const [k, client] of greedy.entries()) {
      for (let id = 101; id < 140; id += 2) {
        const part = 5 + random.below(Math.min(sizeMax, fair * (k % 2 + 1)) - 5);
        client.send(headers(id), data(id, begun(part, sizeMax)));
      }
      const half = Math.floor(fair / count / 2);
      if (half > 5) modest.send(data(1, begun(half)), data(3, begun(half)));
      ended += client.frames.filter(({ type }) => type === FrameType.rstStream).length;
      assert(held.count <= held.max, `${held.count} bytes`);
    }
    assertEquals([modest.status(1)[0], modest.status(3)[0]], [undefined, undefined]);
    for (const client of [modest, ...greedy]) client.connection.close();
    assertEquals([held.count, held.holders.size], [0, 0]);
  }
  assert(ended > 50, `${ended} calls gave way`);
});

Deno.test("a message that makes no progress for 30 seconds ends its call by UNAVAILABLE", () => {
  const held = new HeldBytes();
  const client = new Client(undefined, { held });
  client.send(headers(1), data(1, begun(1000)));
  client.connection.tick(1000);
  client.connection.tick(29_000);
  client.take();
  assertEquals(client.status()[0], undefined);
  client.connection.tick(1);
  client.take();
  assertEquals(client.status()[0], "14");
  assertEquals([client.log, held.count], [["cancel"], 0]);
});

Deno.test("a message that trickles ends, and one that comes at half a KiB a second does not", () => {
  for (const [bytes, status] of [[500, "14"], [600, undefined]] as const) {
    const client = new Client();
    client.send(headers(1), data(1, begun(5, 1 << 20)));
    for (let second = 0; second < 300; second++) {
      if (client.status()[0] === undefined) client.send(data(1, new Uint8Array(bytes)));
      client.connection.tick(1000);
      client.take();
    }
    assertEquals(client.status()[0], status, `${bytes} bytes a second`);
  }
});

Deno.test("whole messages are progress, however small they are and wherever they are cut", () => {
  const client = new Client();
  const stream = join(...Array.from({ length: 200 }, () => message([1, 2, 3])));
  client.send(headers(1));
  for (let second = 0; second < 190; second++) {
    client.send(data(1, stream.subarray(8 * second + (second && 3), 8 * second + 11)));
    client.connection.tick(1000);
  }
  client.take();
  assertEquals([client.status()[0], client.log.length], [undefined, 190]);
});

Deno.test("a call that is paused may hold its messages for hours", () => {
  const client = new Client((call) => ({ onMessage: () => call.pause() }));
  client.send(headers(1), data(1, join(message([1]), message([2]), begun(100))));
  for (let minute = 0; minute < 300; minute++) {
    client.connection.tick(60_000);
    client.send(frame(FrameType.ping, 1, 0, "0000000000000000"));
  }
  assertEquals(client.status()[0], undefined);
});

for (
  const [what, bytes, isEnd] of [
    ["that is too large", join(new Uint8Array(1), word(2000)), false],
    ["that is compressed", message([1], 1), false],
    ["that ends too early", begun(20), true],
  ] as const
) {
  Deno.test(`a handler is told of a message ${what}, so that it lets go of what it holds`, () => {
    const client = new Client(undefined, { limits: { messageMax: 1000 } });
    client.send(headers(1), data(1, message([7])), data(1, bytes, isEnd));
    assertEquals(client.log, ["message 7", "cancel"]);
  });
}

Deno.test("a call's buffered bytes are those that the client does not take, and onDrain says when they are gone", () => {
  const client = new Client((call, log) => ({
    onMessage: () => call.send(new Uint8Array(100_000)),
    onDrain: () => log.push(`drain ${call.buffered}`),
  }));
  client.send(headers(1), data(1, message([1])));
  const call = client.calls[0];
  assertEquals(call?.buffered, 100_005 - 65_535);
  client.send(frame(8, 0, 1, word(1 << 20)), frame(8, 0, 0, word(1 << 20)));
  assertEquals([call?.buffered, client.log], [0, ["drain 0"]]);
});

Deno.test("what comes after the rest of a message is handed on without a copy", () => {
  const buffers: ArrayBufferLike[] = [];
  const client = new Client((_, log) => ({
    onMessage: (bytes) => {
      log.push(`message ${[...bytes]}`);
      buffers.push(bytes.buffer);
    },
  }));
  const cut = message([1, 2, 3]);
  client.send(headers(1), data(1, cut.subarray(0, 6)));
  const bytes = data(1, join(cut.subarray(6), message([4]), message([5, 6]), cut.subarray(0, 7)));
  client.connection.receive(bytes);
  assertEquals(client.log, ["message 1,2,3", "message 4", "message 5,6"]);
  assertEquals(buffers.map((buffer) => buffer === bytes.buffer), [false, true, true]);
  client.send(data(1, cut.subarray(7)));
  assertEquals(client.log.at(-1), "message 1,2,3");
});

Deno.test("words of a status are percent-encoded, never cut within a letter, and at most 4,096 bytes", () => {
  assertEquals(encodeMessage("plain ~ !"), "plain ~ !");
  assertEquals(encodeMessage("a%\u{1f600}\u0000"), "a%25%F0%9F%98%80%00");
  assertEquals(encodeMessage("x".repeat(5000)).length, 4096);
  const long = encodeMessage("\u00e4".repeat(5000));
  assert(long.length <= 4096 && long.length > 4090);
  assertEquals(decodeURIComponent(long), "\u00e4".repeat(682));
  assertEquals(encodeMessage("\ud800"), "%EF%BF%BD");
});

Deno.test("shutDown() lets a call finish", () => {
  const client = new Client(echo);
  client.send(headers(1), data(1, message([1])));
  client.connection.shutDown();
  client.take();
  const ping = client.frames.find(({ type, flags }) => type === 6 && flags === 0);
  client.send(frame(6, 1, 0, ping?.payload ?? ""), data(1, message([2]), true));
  assertEquals(client.answer().messages, [[1], [2]]);
  assertEquals([client.status()[0], client.connection.isClosed], ["0", true]);
});
