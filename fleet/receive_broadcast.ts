/**
 * Receives what `sendBroadcast` sends, into a `Broadcast` of this process.
 *
 * A version is put together from its chunks, and is published only if it is whole and has the checksum that the sender computed. Who comes late, or lost
 * some chunks, asks for those that it lacks, a few at a time.
 *
 * Invariants:
 * 1. All bytes that are put together are those of one version of one sender.
 * 2. The numbers of versions only grow, also where a new sender begins to count anew.
 * 3. Of two senders, the one that began later counts. The other counts once nothing has come of that one for `SILENT_MS`, as clocks of machines may differ.
 *
 * @module
 */

import { Broadcast, type BroadcastArray, type BroadcastArrays } from "../actors/broadcast.ts";
import { reasonOf, ReplayError } from "../base/errors.ts";
import { numberOf, showAs } from "../base/inspect.ts";
import { checkOptions } from "../base/option_names.ts";
import { checkWait, pause, waitUntil } from "../base/waits.ts";
import { openKernel } from "../ffi/library.ts";
import type { WaitOptions } from "../mod.ts";
import type { Connection } from "../shards/connection.ts";
import { checksum } from "../storage/frames.ts";
import { checkName } from "./_names.ts";
import {
  arraysIn,
  ASK,
  bytesOfArrays,
  chunkCount,
  decodeDescription,
  decodeWeights,
  layoutText,
  type WeightsHead,
} from "./_weights_message.ts";

/** How long the answer may take that says what the arrays are. */
const ANSWER_MS = 1000;
/** How long chunks may take, over a slow link. */
const CHUNKS_MS = 10_000;
/** After how long without a new chunk those that are missing are asked for anew, as some were lost. */
const STUCK_MS = 2000;
/** After how long a sender that was not there is looked for again. */
const FIND_MS = 100;
/** How many chunks are asked for at once. */
const WINDOW = 8;
/** After how long without a word of its sender a receiver turns to one that began before that. */
const SILENT_MS = 2000;

type Checksum = (bytes: Uint8Array<ArrayBuffer>) => number;

/**
 * Receives the versions that {@linkcode sendBroadcast} sends. It waits until the newest version is here, and returns it as a `Broadcast` of this process.
 *
 * Make one receiver for each process, and give `receiver.broadcast.ticket` to its Workers. So the weights come over the network once, however many actors
 * a machine has.
 *
 * @param connection A connection of NATS, or any other {@linkcode Connection}.
 * @param name What the sender calls it.
 * @param options `signal` ends the wait, and `timeoutMs` limits it; 10,000 by default.
 * @throws {TypeError} For arguments of another kind.
 * @throws {ReplayError} `timeout` if no version came in time.
 * @example
 * ```ts
 * import { Broadcast } from "@exrp/replay/actors";
 * import { receiveBroadcast, sendBroadcast } from "@exrp/replay/fleet";
 * import { localConnection } from "@exrp/replay/shards";
 *
 * const connection = localConnection(); // or one of NATS, in each process
 * await using _sender = await sendBroadcast(connection, "weights", Broadcast.create({ w: Float32Array.of(5) }));
 *
 * type Weights = { w: Float32Array<ArrayBuffer> };
 * await using receiver = await receiveBroadcast<Weights>(connection, "weights", { timeoutMs: 5000 });
 * const actor = Broadcast.attach(receiver.broadcast.ticket); // in a Worker, which gets the ticket as a message
 * console.log([...actor.read().arrays.w]); // [5]
 * ```
 */
export async function receiveBroadcast<A extends BroadcastArrays = BroadcastArrays>(
  connection: Connection,
  name: string,
  options: WaitOptions = {},
): Promise<BroadcastReceiver<A>> {
  const where = "receiveBroadcast()";
  checkName(where, name);
  checkOptions(where, options, ["signal", "timeoutMs"]);
  checkWait(where, options);
  const { timeoutMs = 10_000, signal } = options;
  const kernel = await openKernel();
  const receiver = new Receiving<A>(connection, name, (of) => checksum(kernel, of));
  try {
    await waitUntil<void>({ timeoutMs, signal }, (done, fail) => {
      receiver.begin(done, fail);
      return () => {};
    }, () =>
      new ReplayError(
        "timeout",
        `${where}: no version of ${name} came within ${timeoutMs} ms: ${receiver.reached}${
          receiver.lastError === undefined ? "" : ` (${reasonOf(receiver.lastError)})`
        }`,
        { cause: receiver.lastError },
      ));
  } catch (error) {
    receiver.close();
    throw error;
  }
  return new BroadcastReceiver(receiver);
}

/**
 * What receives the versions of a `Broadcast`. {@linkcode receiveBroadcast} makes it.
 *
 * @example
 * ```ts
 * import { Broadcast } from "@exrp/replay/actors";
 * import { type BroadcastReceiver, receiveBroadcast, sendBroadcast } from "@exrp/replay/fleet";
 * import { localConnection } from "@exrp/replay/shards";
 *
 * const connection = localConnection();
 * await using _sender = await sendBroadcast(connection, "weights", Broadcast.create({ w: Int8Array.of(1) }));
 * await using receiver: BroadcastReceiver = await receiveBroadcast(connection, "weights");
 * console.log(receiver.broadcast.version, receiver.refusedCount); // 1 0
 * ```
 */
export class BroadcastReceiver<A extends BroadcastArrays = BroadcastArrays>
  implements Disposable, AsyncDisposable {
  /** What was received: read it, and give its ticket to Workers. Its versions have the sender's numbers, or higher ones where a new sender counts anew. */
  readonly broadcast: Broadcast<A>;
  readonly #receiving: Receiving<A>;

  /** Users call {@linkcode receiveBroadcast}. */
  constructor(receiving: Receiving<A>) {
    this.broadcast = receiving.broadcast as Broadcast<A>;
    this.#receiving = receiving;
  }

  /** For how many ms nothing was heard of the sender. A sender says something four times a second, unless you chose otherwise. */
  get silentMs(): number {
    return performance.now() - this.#receiving.heardAt;
  }

  /** How many versions came whole. */
  get receivedCount(): number {
    return this.#receiving.receivedCount;
  }

  /** How many messages were none, or versions had another checksum than their sender computed. Such a version is never given to anybody. */
  get refusedCount(): number {
    return this.#receiving.refusedCount;
  }

  /** Why nothing comes any more, if that is so: the connection has ended, its server refused the subject, or a version could not be published. */
  get failure(): unknown {
    return this.#receiving.failure;
  }

  /** Ends receiving. The broadcast keeps its last version. */
  [Symbol.dispose](): void {
    this.#receiving.close();
  }

  /** The same. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#receiving.close();
    return Promise.resolve();
  }
}

/** Says when a connection has ended, until what it returns is called. After that, the connection remembers nothing of `ended`, however long it lasts. */
function watchEnd(connection: Connection, ended: (error: unknown) => void): () => void {
  let call: typeof ended | undefined = ended;
  connection.closed().then((error) =>
    call?.(error ?? new ReplayError("disposed", "the connection is closed"))
  );
  return () => call = undefined;
}

/** What a receiver does. */
class Receiving<A extends BroadcastArrays> {
  /** What was received; undefined before the first version. */
  broadcast: Broadcast<A> | undefined;
  heardAt: number = performance.now();
  receivedCount = 0;
  refusedCount = 0;
  /** Why nothing comes any more. */
  failure: unknown;
  /** How far it came, for who waited in vain. */
  reached = "no sender was found";
  /** Why the last question had no answer. */
  lastError: unknown;
  readonly #connection: Connection;
  readonly #name: string;
  readonly #checksum: Checksum;
  readonly #end = new AbortController();
  readonly #leave: () => void;
  #began = (): void => {};
  #failed = (_error: unknown): void => {};
  #arrays: readonly BroadcastArray[] = [];
  #layout = 0;
  /** The version that is put together, or the last one that was. */
  #head: WeightsHead | undefined;
  #bytes = new Uint8Array(0);
  #has = new Uint8Array(0);
  #missing = 0;
  #isWhole = false;
  #sender: Pick<WeightsHead, "sender" | "began"> | undefined;
  /** What is added to the sender's numbers. */
  #shift = 0;
  #isAsking = false;
  /** How often it began to ask for chunks, and when the last new one came. */
  #round = 0;
  #gotAt = 0;

  constructor(connection: Connection, name: string, checksum: Checksum) {
    this.#connection = connection;
    this.#name = name;
    this.#checksum = checksum;
    const all = connection.subscribe(name, {
      callback: (error, message) => {
        if (error !== null) this.#fail(error);
        else this.#take(message.data);
      },
    });
    const forget = watchEnd(connection, (error) => this.#fail(error));
    this.#leave = () => {
      all.unsubscribe();
      forget();
    };
  }

  #fail(error: unknown): void {
    this.failure ??= error;
    this.#failed(error);
  }

  /** Looks for the sender, and calls `done` with the first version. */
  begin(done: () => void, fail: (error: unknown) => void): void {
    this.#began = done;
    this.#failed = fail;
    if (this.failure === undefined) this.#find().catch(fail);
    else fail(this.failure);
  }

  close(): void {
    this.#end.abort();
    this.#leave();
  }

  /** Asks what the arrays are, until somebody says it. */
  async #find(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      const description = await this.#describe();
      if (signal.aborted) return;
      if (description !== undefined) {
        this.#arrays = description.arrays;
        this.#layout = this.#checksum(layoutText(description.arrays));
        this.#bytes = new Uint8Array(bytesOfArrays(description.arrays));
        this.reached = "no whole version came from the sender";
        this.#meet(description);
        await this.#askForNewest(description.sender);
        return;
      }
      await pause(FIND_MS, signal);
    }
  }

  async #describe(): Promise<ReturnType<typeof decodeDescription>> {
    try {
      const options = { timeout: ANSWER_MS };
      const { data } = await this.#connection.request(`${this.#name}.ask`, undefined, options);
      return decodeDescription(data);
    } catch (error) {
      this.lastError = error; // nobody is there yet, or the subject is refused
      return undefined;
    }
  }

  /** Takes a message. */
  #take(message: Uint8Array): void {
    if (this.#end.signal.aborted || this.#arrays.length === 0) return;
    const decoded = decodeWeights(message);
    if (decoded === undefined) {
      this.refusedCount++;
      return;
    }
    const { head, chunk } = decoded;
    if (head.layout !== this.#layout || head.bytes !== this.#bytes.length) {
      // Another network's weights, or a sender whose arrays are others.
      this.refusedCount++;
      return;
    }
    if (!this.#meet(head)) return;
    this.heardAt = performance.now();
    if (!this.#turnTo(head)) return;
    if (head.chunk === undefined) {
      if (this.#missing > 0) this.#ask();
    } else if (this.#has[head.chunk] === 0) {
      this.#bytes.set(chunk, head.chunk * head.chunkBytes);
      this.#has[head.chunk] = 1;
      this.#missing--;
      this.#gotAt = performance.now();
    }
    if (this.#missing === 0) this.#finish(head);
  }

  /** Turns to a sender that began later, or to any if the one before is silent. Returns whether it is the one that counts. */
  #meet({ sender, began }: Pick<WeightsHead, "sender" | "began">): boolean {
    const before = this.#sender;
    if (sender === before?.sender) return true;
    const isSilent = performance.now() - this.heardAt > SILENT_MS;
    if (before !== undefined && began <= before.began && !isSilent) return false;
    this.#sender = { sender, began };
    this.#head = undefined;
    return true;
  }

  /** Turns to the version of a message if it is newer. Returns whether that version is wanted. */
  #turnTo(head: WeightsHead): boolean {
    const known = this.#head;
    if (known !== undefined && head.version <= known.version) {
      const isSame = head.version === known.version && head.checksum === known.checksum &&
        head.chunkBytes === known.chunkBytes;
      return isSame && !this.#isWhole;
    }
    if (known === undefined) {
      this.#shift = Math.max(0, (this.broadcast?.version ?? 0) + 1 - head.version);
    }
    this.#head = head;
    this.#begin(head);
    return true;
  }

  /** Begins to put a version together. */
  #begin(head: WeightsHead): void {
    this.#missing = chunkCount(head);
    this.#has = new Uint8Array(this.#missing);
    this.#isWhole = false;
  }

  /** Publishes a version of which nothing is missing. */
  #finish(head: WeightsHead): void {
    if (this.#checksum(this.#bytes) !== head.checksum) {
      this.refusedCount++;
      this.#begin(head); // the next heartbeat makes it ask for all of it
      return;
    }
    this.#isWhole = true;
    this.receivedCount++;
    const arrays = arraysIn(this.#bytes.buffer, this.#arrays) as A;
    const version = head.version + this.#shift;
    try {
      if (this.broadcast !== undefined) this.broadcast.publish(arrays, version);
      else {
        this.broadcast = Broadcast.create(arrays, version);
        this.#began();
      }
    } catch (error) {
      this.#fail(error); // no memory, or somebody else publishes to it, too
    }
  }

  /** Asks which version is the newest. The answer is a heartbeat. */
  async #askForNewest(sender: number): Promise<void> {
    await this.#request(ASK.write({ sender, version: 0, chunk: 0 })).catch(() => {}); // the next heartbeat says it, too
  }

  /** Asks for the chunks that are missing. If no answer comes, a later heartbeat begins anew. */
  async #ask(): Promise<void> {
    const now = performance.now();
    if (this.#isAsking && now - this.#gotAt < STUCK_MS) return;
    const round = ++this.#round;
    this.#isAsking = true;
    this.#gotAt = now;
    try {
      for (let before = Infinity; this.#missing > 0 && this.#missing < before;) {
        before = this.#missing;
        const head = this.#head;
        if (head === undefined || this.#end.signal.aborted || round !== this.#round) return;
        const wanted = [...this.#has.keys()].filter((chunk) => this.#has[chunk] === 0);
        const some = wanted.slice(0, WINDOW);
        await Promise.all(some.map((chunk) => this.#request(ASK.write({ ...head, chunk }))));
        if (this.#head !== head) before = Infinity;
      }
    } catch {
      return;
    } finally {
      if (round === this.#round) this.#isAsking = false;
    }
  }

  async #request(ask: Uint8Array): Promise<void> {
    const options = { timeout: CHUNKS_MS };
    const { data } = await this.#connection.request(`${this.#name}.ask`, ask, options);
    this.#take(data);
  }
}

showAs(
  BroadcastReceiver,
  (receiver) =>
    `BroadcastReceiver { version ${receiver.broadcast.version}, ${
      numberOf(receiver.receivedCount, "version")
    } received, silent for ${Math.round(receiver.silentMs)} ms }`,
);
