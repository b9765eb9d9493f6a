/** Who has the reserve for one message: each connection that waits for it in its turn, whatever the others do. */
import { assert, assertEquals } from "@std/assert";
import { RandomStream } from "../../../selectors/random_stream.ts";
import { type GrpcCall, GrpcConnection } from "../../../server/grpc/calls.ts";
import { HeldBytes } from "../../../server/grpc/held_bytes.ts";
import { data, headers, hello, join, word } from "../http2/_peer.ts";

const messageStallMs = 30_000;

/** A client that sends messages of one size in parts, and begins again where the server sends it back. */
class Sender {
  readonly connection: GrpcConnection;
  /** Messages that came in, and calls that the server ended. */
  count = 0;
  ended = 0;
  readonly #bytes: number;
  #id = -1;
  #sent = Infinity;
  #call: GrpcCall | undefined;

  constructor(held: HeldBytes, bytes: number) {
    this.#bytes = bytes;
    this.connection = new GrpcConnection({
      held,
      limits: { messageStallMs },
      handler: () => (call) => {
        this.#call = call;
        return {
          onMessage: () => this.#sent = Infinity,
          onHalfClose: () => {},
          onCancel: () => this.ended++,
        };
      },
    });
    this.connection.receive(hello);
  }

  /** Whether it has to begin a message. */
  get isOut(): boolean {
    return this.#call === undefined || this.#call.isOver || this.#sent === Infinity;
  }

  /** Sends more of a message, or begins one. */
  send(count: number): void {
    const { connection } = this;
    if (this.#call === undefined || this.#call.isOver) {
      connection.receive(headers(this.#id += 2));
      this.#sent = Infinity;
    }
    const isBegin = this.#sent === Infinity;
    const part = Math.min(count, this.#bytes - (isBegin ? 0 : this.#sent));
    this.#sent = (isBegin ? 0 : this.#sent) + part;
    const isWhole = this.#sent === this.#bytes;
    const prefix = isBegin ? [new Uint8Array(1), word(this.#bytes)] : [];
    connection.receive(data(this.#id, join(...prefix, new Uint8Array(part))));
    if (isWhole && this.#call?.isOver === false) this.count++;
    while (connection.takeOutput() !== undefined);
  }

  /** Time passes. */
  tick(ms: number): void {
    this.connection.tick(ms);
    while (this.connection.takeOutput() !== undefined);
  }
}

/** Three connections: the first one has its turn, and the third one was sent back for want of it. */
function crowd(): { held: HeldBytes; first: Sender; second: Sender; third: Sender } {
  const held = new HeldBytes(2000, 1000);
  const [first, second, third] = [0, 1, 2].map(() => new Sender(held, 900)) as [
    Sender,
    Sender,
    Sender,
  ];
  first.send(800);
  second.send(600);
  assertEquals([held.first?.heldBytes, held.line.size], [805, 0]);
  third.send(700); // and gives way
  return { held, first, second, third };
}

Deno.test("clients that stall within the largest messages, and come again at once, take one turn each before a client that waits", () => {
  const seed = 261123;
  const random = new RandomStream(seed);
  for (let round = 0; round < 30; round++) {
    const held = new HeldBytes(2000, 1000);
    const honest = new Sender(held, 900);
    // Some hold more than the honest one ever does, others fill the rest.
    const greedy = Array.from({ length: 2 + random.below(4) }, (_, k) => ({
      sender: new Sender(held, 950),
      part: k === 0 ? 940 : 200 + random.below(700),
    }));
    const secondsMax = 3 * (greedy.length + 1) * (messageStallMs / 1000 + 10);
    let second = 0;
    let pause = 0;
    for (; honest.count < 3 && second < secondsMax; second++) {
      for (const { sender, part } of greedy) if (sender.isOut) sender.send(part);
      // It comes back within three seconds.
      if (pause > 0) pause--;
      else {
        honest.send(50);
        if (honest.isOut) pause = random.below(4);
      }
      for (const sender of [...greedy.map((each) => each.sender), honest]) {
        sender.tick(1000);
        // Who was sent back comes again before anybody else has a word.
        for (const each of greedy) if (each.sender.isOut) each.sender.send(each.part);
      }
    }
    assertEquals(honest.count, 3, `round ${round}: ${second} s, sent back ${honest.ended} times`);
    for (const { sender } of greedy) sender.connection.close();
    honest.connection.close();
    assertEquals([held.count, held.line.size, held.first], [0, 0, undefined]);
  }
});

Deno.test("who was sent back has the next turn, and who does not use it for five seconds loses it", () => {
  const { held, first, second, third } = crowd();
  assertEquals([third.ended, held.line.size, held.count], [1, 1, 1410]);
  first.send(100); // its message is whole
  assertEquals([first.count, held.first, held.count], [1, undefined, 605]);
  // Without the line, the larger one of the two would go first.
  first.send(850);
  assertEquals([first.ended, held.first, held.line.size], [1, undefined, 2]);
  third.send(10);
  assertEquals([held.first?.heldBytes, held.line.size], [15, 1]);
  third.connection.close();
  assertEquals([held.first, held.count], [undefined, 605]);
  // Now it is the turn of the first again. It does not come.
  for (let k = 0; k < 2; k++) first.tick(2000);
  second.send(100);
  assertEquals([second.ended, held.line.size], [0, 1]);
  first.tick(2000);
  assertEquals(held.line.size, 0);
  third.connection.close();
  const fourth = new Sender(held, 900);
  fourth.send(400);
  assertEquals([second.ended, fourth.ended, held.first?.heldBytes], [0, 0, 705]);
  for (const { connection } of [first, second, fourth]) connection.close();
});

Deno.test("a connection that ends leaves the line", () => {
  const { held, first, second, third } = crowd();
  assertEquals(held.line.size, 1);
  third.connection.close();
  assertEquals(held.line.size, 0);
  for (const { connection } of [first, second]) connection.close();
});

Deno.test("a call that the server holds back is not sent back where a smaller one makes room by going first", () => {
  const held = new HeldBytes(2000, 1000);
  const connection = new GrpcConnection({
    held,
    handler: () => (call) => ({
      onMessage: () => call.pause(),
      onHalfClose: () => {},
      onCancel: (status) => assertEquals(status, 1, "the paused call was sent back"),
    }),
  });
  connection.receive(hello);
  const small = join(new Uint8Array(1), word(1), new Uint8Array(1));
  const large = join(new Uint8Array(1), word(700), new Uint8Array(700));
  connection.receive(join(headers(1), data(1, join(small, large))));
  assertEquals(held.count, 705);
  const other = new Sender(held, 900);
  other.send(290);
  assertEquals([held.first, held.count], [undefined, 1000]);
  other.send(100);
  assertEquals([held.first?.heldBytes, held.count], [395, 1100]);
  other.send(510);
  assertEquals([other.count, held.count], [1, 705]);
  for (const each of [connection, other.connection]) each.close();
  assert(held.count === 0);
});
