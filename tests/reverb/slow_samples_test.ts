/** A client gives up a server that is silent, and never samples that are on their way. */
import { assertEquals, assertRejects, assertStrictEquals } from "../_assert.ts";
import http2 from "node:http2";
import { type Call, type CallEvents, Channel } from "../../reverb/channel.ts";
import { ReverbError } from "../../reverb/errors.ts";
import type { SampleBatch } from "../../reverb/samples.ts";
import { type ClientGetBatchOptions, Samplers } from "../../reverb/sampling.ts";
import { inTime } from "../_wait.ts";

/** A sample without data: an entry that says that it is the last one. */
const sample = (): Uint8Array<ArrayBuffer> => Uint8Array.of(0x0a, 2, 0x18, 1);

/** Timers that end when a test says so. */
class Timers {
  readonly #real = globalThis.setTimeout;
  readonly #realClear = globalThis.clearTimeout;
  readonly #open = new Map<number, { end: () => void; at: number }>();
  #now = 0;
  #last = 0;

  constructor() {
    globalThis.setTimeout = ((end: () => void, ms: number) => {
      this.#open.set(++this.#last, { end, at: this.#now + ms });
      return this.#last;
    }) as unknown as typeof setTimeout;
    globalThis.clearTimeout = (id) => void this.#open.delete(id as number);
  }

  get count(): number {
    return this.#open.size;
  }

  pass(ms: number): void {
    this.#now += ms;
    for (const [id, { end, at }] of this.#open) {
      if (at > this.#now) continue;
      this.#open.delete(id);
      end();
    }
  }

  [Symbol.dispose](): void {
    globalThis.setTimeout = this.#real;
    globalThis.clearTimeout = this.#realClear;
  }
}

/** A call of `getBatch()` to a server that the test plays. */
function ask(count: number, options: ClientGetBatchOptions): {
  events: CallEvents;
  batch: Promise<SampleBatch>;
} {
  let events: CallEvents | undefined;
  const channel = {
    isClosed: false,
    open(_: string, given: CallEvents): Call {
      events = given;
      return { write: () => true, halfClose: () => {}, cancel: () => {} };
    },
  };
  const samplers = new Samplers(
    channel as unknown as Channel,
    (_, message) => ({ size: message.length / sample().length }) as SampleBatch,
    () => Promise.resolve({}),
  );
  const batch = samplers.sample("t", count, options);
  if (events === undefined) throw new Error("getBatch() opened no call");
  return { events, batch };
}

Deno.test("samples that are on their way when timeoutMs is over are not given up", async () => {
  using timers = new Timers();
  const { events, batch } = ask(3, { timeoutMs: 0 });
  timers.pass(9000); // the server is busy with a large answer
  for (let k = 0; k < 50; k++) {
    events.onBytes?.();
    timers.pass(9000);
    if (k % 20 === 0) events.onMessage(sample());
  }
  assertStrictEquals((await batch).size, 3);
  assertStrictEquals(timers.count, 0);
});

Deno.test("a server that falls silent ends getBatch(), whose words say so", async () => {
  for (const isPartialAllowed of [false, true]) {
    using timers = new Timers();
    const { events, batch } = ask(3, { timeoutMs: 500, isPartialAllowed });
    timers.pass(10_000);
    events.onBytes?.();
    events.onMessage(sample());
    timers.pass(10_500);
    if (isPartialAllowed) assertStrictEquals((await batch).size, 1);
    else {
      const error = await assertRejects(() => batch, ReverbError);
      assertEquals(
        [error.code, error.message],
        [
          "deadline-exceeded",
          'getBatch() of 3 items from table "t": the server sent nothing for 10500 ms; 1 came before',
        ],
      );
    }
    assertStrictEquals(timers.count, 0);
  }
});

Deno.test("a signal ends getBatch() at once: it gives the part that came, where a part is allowed", async () => {
  for (const isPartialAllowed of [false, true]) {
    const controller = new AbortController();
    const { events, batch } = ask(3, { signal: controller.signal, isPartialAllowed });
    events.onMessage(sample());
    controller.abort();
    if (isPartialAllowed) assertStrictEquals((await batch).size, 1);
    else await assertRejects(() => batch, DOMException);
  }
});

Deno.test("a call tells of bytes, also before a message is whole", async () => {
  const server = http2.createServer();
  server.on("stream", (stream: http2.ServerHttp2Stream) => {
    stream.on("error", () => {});
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    stream.write(Uint8Array.of(0, 0, 0, 0, 9, 1));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as { port: number };
  const channel = new Channel(`127.0.0.1:${port}`);
  await inTime(
    "bytes came",
    new Promise<void>((resolve, reject) => {
      const call = channel.open("SampleStream", {
        onMessage: () => reject(new Error("no message is whole")),
        onBytes: resolve,
        onEnd: reject,
      });
      call.write(Uint8Array.of(0, 0, 0, 0, 0));
    }),
  );
  channel.close();
  await new Promise<void>((done) => server.close(() => done()));
});
