/** What calls hold is counted rightly, whatever their clients and handlers do in whatever order. */
import { assert, assertEquals } from "../../_assert.ts";
import { RandomStream } from "../../../selectors/random_stream.ts";
import { type GrpcCall, GrpcConnection } from "../../../net/grpc/calls.ts";
import { HeldBytes } from "../../../net/grpc/held_bytes.ts";
import { data, frame, headers, hello, join, word } from "../http2/_peer.ts";

/** A client that sends messages in parts, and the handlers of its calls, which do anything. */
class Side {
  readonly connection: GrpcConnection;
  readonly paused = new Set<GrpcCall>();
  readonly #calls = new Set<GrpcCall>();
  /** For each stream, the bytes that its message still lacks. */
  readonly #streams = new Map<number, number>();
  readonly #random: RandomStream;
  #nextId = 1;

  constructor(held: HeldBytes, random: RandomStream) {
    this.#random = random;
    this.connection = new GrpcConnection({
      held,
      limits: { messageMax: 1000 + random.below(1000), messageStallMs: 3000, outputMax: 2000 },
      handler: () => (call) => {
        this.#calls.add(call);
        return {
          onMessage: () => this.#take(call),
          onHalfClose: () => call.finish(0),
          onCancel: () => this.#calls.delete(call),
          onDrain: () => {
            if (random.below(4) === 0) throw new Error("a fault");
          },
        };
      },
      onError: () => {},
    });
    this.connection.receive(hello);
  }

  #take(call: GrpcCall): void {
    switch (this.#random.below(9)) {
      case 0:
        call.pause();
        this.paused.add(call);
        break;
      case 1:
        call.pause();
        call.resume();
        break;
      case 2:
        return call.finish(0);
      case 3:
        return call.send(new Uint8Array(this.#random.below(50_000)));
      case 4:
        if (this.#random.below(4) === 0) throw new Error("a fault");
    }
  }

  /** Does something. */
  step(): void {
    const { connection } = this;
    const [first] = this.#streams.keys();
    const [call] = this.#calls;
    const [paused] = this.paused;
    const act = this.#random.below(20);
    if (act < 4) this.#open();
    else if (act < 13) this.#send();
    else if (act < 15 && paused !== undefined) {
      this.paused.delete(paused);
      paused.resume();
    } else if (act === 15 && first !== undefined) {
      this.#streams.delete(first);
      connection.receive(frame(3, 0, first, word(8)));
    } else if (act === 16) connection.tick(500);
    else if (act === 17 && call !== undefined) {
      if (this.#random.below(2) === 0) return call.finish(3, "no");
      call.pause();
      this.paused.add(call);
    } else if (act === 18 && this.#random.below(4) === 0) connection.close();
    else if (act === 19) {
      if (this.#random.below(6) === 0) connection.shutDown();
      else if (first !== undefined) connection.receive(frame(8, 0, first, word(40_000)));
    }
    if (this.#random.below(3) > 0) { while (connection.takeOutput() !== undefined); }
  }

  #open(): void {
    this.#streams.set(this.#nextId, 0);
    this.connection.receive(headers(this.#nextId));
    this.#nextId += 2;
  }

  #send(): void {
    const random = this.#random;
    const ids = [...this.#streams.keys()];
    const id = ids[random.below(Math.max(1, ids.length))];
    if (id === undefined) return;
    let lacks = this.#streams.get(id) ?? 0;
    const parts: Uint8Array[] = [];
    for (let room = random.below(900); room >= 5;) {
      if (lacks === 0) {
        lacks = random.below(random.below(4) === 0 ? 1500 : 60);
        parts.push(new Uint8Array(1), word(lacks));
        room -= 5;
      }
      const count = Math.min(lacks, room);
      parts.push(new Uint8Array(count));
      lacks -= count;
      room -= count;
    }
    this.#streams.set(id, lacks);
    const isEnd = random.below(15) === 0;
    if (isEnd) this.#streams.delete(id);
    this.connection.receive(data(id, join(...parts), isEnd));
  }
}

/** Checks the invariants of the count. */
function check(held: HeldBytes): void {
  let sum = 0;
  for (const holder of held.holders) {
    assert(holder.heldBytes > 0, "a call that holds nothing is left");
    sum += holder.heldBytes;
  }
  assertEquals(held.count, sum);
  assert(held.count <= held.max, `${held.count} bytes`);
}

Deno.test("what calls hold is counted rightly, and all of it is given back", () => {
  const seed = 261123;
  const random = new RandomStream(seed);
  let crowded = 0;
  for (let round = 0; round < 300; round++) {
    const held = new HeldBytes(2000 + random.below(1000));
    const sides = Array.from({ length: 3 }, () => new Side(held, random));
    for (let step = 0; step < 150; step++) {
      const at = random.below(3);
      sides[at]?.step();
      check(held);
      if (held.isCrowded) crowded++;
      if (sides[at]?.connection.isClosed) sides[at] = new Side(held, random);
    }
    for (const { connection } of sides) connection.close();
    assertEquals([held.count, held.holders.size], [0, 0], `round ${round}`);
  }
  assert(crowded > 1000, `room was short after ${crowded} steps`);
});
