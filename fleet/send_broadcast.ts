/**
 * Sends what a `Broadcast` has to other machines.
 *
 * The sender reads each new version into memory of its own, sends it in chunks to all receivers at once, and then says which version it was. It says that
 * again a few times a second, so that who missed something notices. Who misses a chunk asks for it. If versions come faster than they can be sent, it
 * leaves out those in between.
 *
 * Invariant: all bytes are those of one version, whose checksum they have. Both change in one turn, and each message has a copy.
 *
 * @module
 */

import { Broadcast, type BroadcastArrays } from "../actors/broadcast.ts";
import { checkNumber, show } from "../base/checks.ts";
import { ReplayError } from "../base/errors.ts";
import { numberOf, showAs } from "../base/inspect.ts";
import { checkOptions } from "../base/option_names.ts";
import { unref } from "../base/platform.ts";
import { TIMER_MAX_MS, waitUntil } from "../base/waits.ts";
import { openKernel } from "../ffi/library.ts";
import { type Connection, type ConnectionMessage, payloadMax } from "../shards/connection.ts";
import { checksum } from "../storage/frames.ts";
import { checkName, randomWord } from "./_names.ts";
import {
  arraysIn,
  ASK,
  bytesOfArrays,
  CHUNK_BYTES,
  chunkCount,
  encodeDescription,
  encodeWeights,
  layoutText,
  WEIGHTS_BYTES_MAX,
  type WeightsHead,
} from "./_weights_message.ts";

/**
 * The options of {@linkcode sendBroadcast}.
 *
 * @example
 * ```ts
 * import { Broadcast } from "@exrp/replay/actors";
 * import { sendBroadcast } from "@exrp/replay/fleet";
 * import { localConnection } from "@exrp/replay/shards";
 *
 * const weights = Broadcast.create({ w: new Float32Array(3) });
 * await using sender = await sendBroadcast(localConnection(), "weights", weights, { heartbeatMs: 1000 });
 * console.log(sender.version); // 1
 * ```
 */
export interface SendBroadcastOptions {
  /** After how many ms it says again which version is the newest; 250 by default. */
  readonly heartbeatMs?: number;
}

/** The bytes before a chunk, with room to spare. */
const HEAD_ROOM = 96;
const NOTHING = new Uint8Array(0);

/**
 * Sends each version of a `Broadcast` to whoever receives it by {@linkcode receiveBroadcast}, on any machine. A learner publishes to its broadcast as
 * it does for Workers, and nothing waits for a slow receiver.
 *
 * @param connection A connection of NATS, or any other {@linkcode Connection}.
 * @param name What receivers call it: words with dots between them.
 * @param broadcast What to send. It stays yours.
 * @throws {TypeError} For arguments of another kind.
 * @throws {RangeError} If the arrays have above 2 GiB.
 * @example
 * ```ts
 * import { Broadcast } from "@exrp/replay/actors";
 * import { receiveBroadcast, sendBroadcast } from "@exrp/replay/fleet";
 * import { localConnection } from "@exrp/replay/shards";
 *
 * const connection = localConnection(); // or one of NATS, in each process
 * const weights = Broadcast.create({ w: Float32Array.of(1, 2) });
 * await using sender = await sendBroadcast(connection, "weights", weights);
 *
 * await using receiver = await receiveBroadcast<{ w: Float32Array<ArrayBuffer> }>(connection, "weights");
 * weights.publish({ w: Float32Array.of(3, 4) });
 * await receiver.broadcast.waitFor(2);
 * console.log([...receiver.broadcast.read().arrays.w]); // [3, 4]
 * console.log(sender.version); // 2
 * ```
 */
export async function sendBroadcast<A extends BroadcastArrays>(
  connection: Connection,
  name: string,
  broadcast: Broadcast<A>,
  options: SendBroadcastOptions = {},
): Promise<BroadcastSender> {
  const where = "sendBroadcast()";
  checkName(where, name);
  checkOptions(where, options, ["heartbeatMs"]);
  const { heartbeatMs = 250 } = options;
  checkNumber(`${where}: heartbeatMs`, heartbeatMs, 1, TIMER_MAX_MS);
  const arrays = Object(broadcast).ticket?.arrays;
  if (!Array.isArray(arrays)) {
    throw new TypeError(`${where}: broadcast must be a Broadcast, got ${show(broadcast)}`);
  }
  const bytes = bytesOfArrays(arrays);
  if (bytes > WEIGHTS_BYTES_MAX) {
    throw new RangeError(
      `${where}: the arrays of a version may have ${WEIGHTS_BYTES_MAX} bytes, got ${bytes}`,
    );
  }
  const described = encodeDescription({ sender: 0, began: 0, arrays }).length + HEAD_ROOM;
  if (described > payloadMax(connection)) {
    throw new RangeError(
      `${where}: the names of the arrays take ${described} bytes, and the connection takes ${
        payloadMax(connection)
      } at once`,
    );
  }
  const kernel = await openKernel();
  // An object of its own, because one remembers which version was read last.
  return new BroadcastSender(connection, name, Broadcast.attach(broadcast.ticket), {
    heartbeatMs,
    checksum: (of) => checksum(kernel, of),
  });
}

/** What a sender needs besides. */
interface SenderNeeds {
  readonly heartbeatMs: number;
  readonly checksum: (bytes: Uint8Array<ArrayBuffer>) => number;
}

/**
 * What sends the versions of a `Broadcast`. {@linkcode sendBroadcast} makes it.
 *
 * @example
 * ```ts
 * import { Broadcast } from "@exrp/replay/actors";
 * import { type BroadcastSender, sendBroadcast } from "@exrp/replay/fleet";
 * import { localConnection } from "@exrp/replay/shards";
 *
 * const weights = Broadcast.create({ w: new Float32Array(3) });
 * const sender: BroadcastSender = await sendBroadcast(localConnection(), "weights", weights);
 * console.log(sender.version, sender.askedCount); // 1 0
 * await sender.close();
 * ```
 */
export class BroadcastSender implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #name: string;
  readonly #broadcast: Broadcast;
  readonly #checksum: SenderNeeds["checksum"];
  readonly #end = new AbortController();
  readonly #running: Promise<void>;
  readonly #leave: () => void;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #head: WeightsHead;
  #failure: unknown;
  #sentCount = 0;
  #askedCount = 0;

  /** Users call {@linkcode sendBroadcast}. */
  constructor(
    connection: Connection,
    name: string,
    broadcast: Broadcast,
    { heartbeatMs, checksum }: SenderNeeds,
  ) {
    this.#connection = connection;
    this.#name = name;
    this.#broadcast = broadcast;
    this.#checksum = checksum;
    const { arrays } = broadcast.ticket;
    this.#head = {
      sender: randomWord(),
      began: performance.timeOrigin + performance.now(),
      version: 0,
      bytes: bytesOfArrays(arrays),
      chunkBytes: Math.max(1, Math.min(CHUNK_BYTES, payloadMax(connection)) - HEAD_ROOM),
      checksum: 0,
      layout: checksum(layoutText(arrays)),
      chunk: undefined,
    };
    this.#bytes = new Uint8Array(this.#head.bytes);
    this.#load();
    const asked = connection.subscribe(`${name}.ask`, {
      callback: (error, message) => {
        if (error === null) this.#answer(message);
        else this.#failure = error;
      },
    });
    const timer = setInterval(() => this.#announce(), heartbeatMs);
    unref(timer);
    this.#leave = () => {
      clearInterval(timer);
      asked.unsubscribe();
    };
    this.#running = this.#run();
  }

  /** The number of the newest version that was sent, or is being sent. */
  get version(): number {
    return this.#head.version;
  }

  /** How many versions were sent. */
  get sentCount(): number {
    return this.#sentCount;
  }

  /** How many chunks receivers asked for, because they came late or lost some. */
  get askedCount(): number {
    return this.#askedCount;
  }

  /** Why nothing is sent any more, or nobody can ask, if that is so: the connection has ended, or its server refused a subject. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Ends sending. A second call does nothing. */
  async close(): Promise<void> {
    this.#end.abort(new ReplayError("disposed", "the sender is closed"));
    this.#leave();
    await this.#running;
  }

  /** The same as {@linkcode BroadcastSender.close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Sends one version after another. */
  async #run(): Promise<void> {
    const { signal } = this.#end;
    try {
      for (;;) {
        this.#push();
        await this.#flush(signal);
        this.#announce();
        await this.#broadcast.waitFor(this.version + 1, { signal });
        this.#load();
      }
    } catch (error) {
      // Closed, or the connection has ended: then nothing can be sent any more.
      if (!signal.aborted) this.#failure = error;
    }
  }

  /** Waits until all is out. A connection that is lost meanwhile may come back, and receivers ask for what they lack. */
  async #flush(signal: AbortSignal): Promise<void> {
    try {
      await waitUntil<void>({ signal }, (done, fail) => {
        this.#connection.flush().then(done, fail);
        return () => {};
      });
    } catch (error) {
      if (signal.aborted || this.#connection.isClosed()) throw error;
    }
  }

  /** Takes the newest version. */
  #load(): void {
    const into = arraysIn(this.#bytes.buffer, this.#broadcast.ticket.arrays);
    const { version } = this.#broadcast.read(into);
    this.#head = { ...this.#head, version, checksum: this.#checksum(this.#bytes) };
  }

  #push(): void {
    const chunks = chunkCount(this.#head);
    for (let chunk = 0; chunk < chunks; chunk++) {
      this.#connection.publish(this.#name, this.#chunk(chunk));
    }
    this.#sentCount++;
  }

  #announce(): void {
    if (!this.#end.signal.aborted) this.#say(this.#name, encodeWeights(this.#head, NOTHING));
  }

  /** Sends what may be lost: the next heartbeat, or the next question, makes up for it. */
  #say(subject: string, message: Uint8Array): void {
    try {
      this.#connection.publish(subject, message);
    } catch {
      return; // the connection is closed, or about to be
    }
  }

  /** The message with a chunk. */
  #chunk(chunk: number): Uint8Array {
    const { chunkBytes } = this.#head;
    const bytes = this.#bytes.subarray(chunk * chunkBytes, (chunk + 1) * chunkBytes);
    return encodeWeights({ ...this.#head, chunk }, bytes);
  }

  /** Gives the description, or a chunk; where another version was asked for, it says which one is the newest. */
  #answer({ reply, data }: ConnectionMessage): void {
    if (reply === undefined) return;
    if (data.length === 0) {
      const { sender, began } = this.#head;
      const { arrays } = this.#broadcast.ticket;
      this.#say(reply, encodeDescription({ sender, began, arrays }));
      return;
    }
    const asked = ASK.read(data);
    if (asked === undefined || asked.sender !== this.#head.sender) return;
    const { version, chunk } = asked;
    const isHere = version === this.version && chunk < chunkCount(this.#head);
    if (isHere) {
      this.#askedCount++;
      this.#say(reply, this.#chunk(chunk));
    } else this.#say(reply, encodeWeights(this.#head, NOTHING));
  }
}

showAs(
  BroadcastSender,
  (sender) =>
    `BroadcastSender { version ${sender.version}, ${numberOf(sender.sentCount, "version")} sent, ${
      numberOf(sender.askedCount, "chunk")
    } asked for }`,
);
