/**
 * The pump: sockets in, sockets out. It listens, reads into one buffer of each connection that is used again, and writes whole outputs.
 *
 * Deno's own sockets are used where there is Deno, and those of `node:net` elsewhere (`node_sockets.ts`). Both are behind `Socket`.
 *
 * A connection that begins with the preface of HTTP/2 is served by `accept`. Any other gets one answer from `answerOther`. So one port serves
 * clients, browsers and Prometheus.
 *
 * While more than `outputMax` bytes wait for a socket, nothing is read from it. So a client that does not read its answers holds up itself
 * only, and costs a bounded amount of memory. One that reads nothing for long is closed.
 *
 * One timer ticks for all connections, and its ticks are their clock: no connection has a timer of its own.
 *
 * When all places are taken, or the system has no socket left, a connection gives way to a new one, see `#giveWay()`. One that has a call never
 * does.
 *
 * @module
 */
import { joinBytes } from "../../base/bytes.ts";
import { deno } from "../../base/platform.ts";
import type { ServerConnection } from "../http2/connection.ts";
import { preface } from "../http2/protocol.ts";
import { BusyPoll } from "./busy_poll.ts";
import type { Listen, Socket, SocketServer, SocketTaker } from "./socket.ts";
import { isLeaving, isOutOfFiles, listenError } from "./socket_errors.ts";

/** The limits of a pump, with their defaults. */
export const pumpLimits = {
  /** Connections that are open at once. For one more, another one gives way; if none can, the new one is closed at once. */
  connectionsMax: 1024,
  /** A connection that had a call within so many milliseconds does not give way: its client is at work, and calls again soon. */
  idleMinMs: 5000,
  /** Milliseconds until the first bytes of a connection must say what it speaks, and a request other than HTTP/2 must be whole. */
  handshakeMs: 10_000,
  /** Milliseconds that a client may read nothing while output waits for its socket; then the connection is closed at once. */
  stallMs: 80_000,
  /** Milliseconds from tick to tick: how exact all times are. */
  tickMs: 2000,
  /** Milliseconds for which the event loop goes on to turn after an input, see {@linkcode BusyPoll}. 0: never. */
  busyPollMs: 0,
};

/** The options of a pump: limits that differ from `pumpLimits`, and what it serves. */
export interface PumpOptions extends Partial<Readonly<typeof pumpLimits>> {
  /** The address to listen at. */
  readonly hostname: string;
  /** The port; 0 for any free one. */
  readonly port: number;
  /** Makes the connection of an HTTP/2 client. It calls `onOutput` when it has output by itself. */
  readonly accept: (onOutput: () => void) => ServerConnection;
  /**
   * Answers a client by its first bytes, which are not those of HTTP/2; undefined while too few of them came. The answer ends the connection.
   * Without it, such a client is sent away.
   */
  readonly answerOther?: (first: Uint8Array) => Uint8Array<ArrayBuffer> | undefined;
  /**
   * Called after each read of a socket was taken in, and before its output is written: what many messages changed can be told at once. And
   * after each output was taken, because what a client's reading made ready is sent at once.
   */
  readonly afterRead?: () => void;
  /** The poll in place of one for `busyPollMs`: tests give one on a clock of theirs. */
  readonly poll?: BusyPoll;
  /** Called with an error that ended a connection, and that is not the client's leaving. */
  readonly onError?: (error: unknown) => void;
}

/** Bytes of a connection's first buffer, and of its largest. */
const bufferMin = 1 << 14;
const bufferMax = 1 << 18;

/** How long a connection that has ended goes on to read, so that the client gets the last frames. */
const lingerMs = 500;

/**
 * The same for one that gave way. A client of gRPC that has no call looks at its socket every five seconds only. One that calls before it does must find
 * the GOAWAY, by which it knows that the call was not served and sends it again. On a socket that is closed, it would find an error.
 */
const leaveMs = 10_000;

/** No bytes. */
const none = new Uint8Array(0);

/** Connections that never had a call keep such a part of the places. Above it they push out each other, and nobody else. */
const uncalledPart = 2;

/** How long it waits where the system gives no socket, and how often it says so, at most. */
const acceptPauseMs = 100;
const acceptReportMs = 60_000;

/** Listens, and serves connections until it is stopped. */
export class Pump implements SocketTaker {
  /** Its limits and what it serves; for its links, as all that follows. */
  readonly options: typeof pumpLimits & PumpOptions;
  readonly poll: BusyPoll;
  /** Milliseconds as the ticks count them. */
  ms = 0;
  isStopping = false;
  /** Bytes that came and were sent so far. */
  received = 0;
  sent = 0;
  #server: SocketServer | undefined;
  readonly #links = new Set<Link>();
  /** Connections that gave way, and whose sockets are still open. They have no place. */
  readonly #leaving = new Set<Link>();
  /** The only timer of all connections. */
  readonly #timer: ReturnType<typeof setInterval>;
  /** When it last told of an error of the system's. */
  #toldAt = -Infinity;
  /** Resolves when the port is closed. */
  #closed: Promise<void> | undefined;

  private constructor(options: PumpOptions) {
    this.options = { ...pumpLimits, ...options };
    const { tickMs, busyPollMs } = this.options;
    this.poll = options.poll ?? new BusyPoll(busyPollMs);
    this.#timer = setInterval(() => this.tick(tickMs), tickMs);
  }

  /** Lets so many milliseconds pass for all connections: its timer calls it, and so do tests. */
  tick(ms: number): void {
    this.ms += ms;
    for (const link of this.#links) link.tick(ms);
  }

  /** Whether it looks for input without a pause now, see {@linkcode BusyPoll}. */
  get isPolling(): boolean {
    return this.poll.isTurning;
  }

  /** Begins to listen, by the sockets of this platform or others. */
  static async listen(options: PumpOptions, listen?: Listen): Promise<Pump> {
    const { hostname, port } = options;
    const open = listen ??
      (deno === undefined
        ? (await import("./node_sockets.ts")).listenByNode
        : (await import("./deno_sockets.ts")).listenByDeno);
    const pump = new Pump(options);
    try {
      pump.#server = await open(hostname, port, pump);
    } catch (error) {
      await pump.stop(0);
      throw listenError(error, hostname, port);
    }
    return pump;
  }

  /** The port that it listens at. */
  get port(): number {
    return this.#server?.port ?? 0;
  }

  /** Connections that have a place. */
  get connectionCount(): number {
    return this.#links.size;
  }

  /** Listens no more, lets open calls finish for so long, and then ends what is left. */
  async stop(graceMs = 5000): Promise<void> {
    if (!this.isStopping) {
      this.isStopping = true;
      this.#closed = this.#server?.close();
      for (const link of this.#links) link.shutDown();
    }
    const done = Promise.all([...this.#links, ...this.#leaving].map((link) => link.done));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, graceMs));
    await Promise.race([done, late]);
    clearTimeout(timer);
    for (const link of [...this.#links, ...this.#leaving]) link.close();
    await done;
    await this.#closed;
    clearInterval(this.#timer);
    this.poll.stop();
  }

  /** @inheritDoc */
  refuse(error: unknown): number {
    if (this.isStopping) return 0;
    // Some systems tell of a client that left while it waited. The next one need not wait for it.
    if (isLeaving(error)) return 0;
    if (performance.now() - this.#toldAt >= acceptReportMs) {
      this.#toldAt = performance.now();
      this.options.onError?.(error);
    }
    // Each that gives way keeps its socket for a while. The one before it needs it no more.
    if (isOutOfFiles(error) && !this.#closeLeaving()) this.#giveWay();
    return acceptPauseMs;
  }

  /** @inheritDoc */
  take(socket: Socket): void {
    if (this.isStopping || !this.#makePlace()) return socket.close();
    const link = new Link(socket, this);
    this.#links.add(link);
    link.done.then(() => {
      this.#links.delete(link);
      this.#leaving.delete(link);
    });
  }

  /**
   * Whether there is a place for one more connection. If all are taken, one that does nothing gives its place away.
   *
   * No more than twice as many sockets as places are open: of those that gave way, the oldest is closed at once where there are as many as places.
   *
   * Cost: a walk over all connections if all places are taken.
   */
  #makePlace(): boolean {
    const { connectionsMax } = this.options;
    if (this.#links.size < connectionsMax) return true;
    if (this.#leaving.size >= connectionsMax) this.#closeLeaving();
    return this.#giveWay();
  }

  /**
   * Lets a connection give way; false if none can. That is the first that there is of these:
   *
   * 1. The oldest that never had a call, if it has had the time for one, or if more than `1 / uncalledPart` of all never had one.
   * 2. The one that is idle for longest.
   *
   * So a burst of clients that come and call pushes out clients that pause, and not each other. Sockets that never call push out few.
   */
  #giveWay(): boolean {
    const { idleMinMs } = this.options;
    let uncalled: Link | undefined;
    let uncalledCount = 0;
    let idle: Link | undefined;
    // In the order in which they came.
    for (const link of this.#links) {
      const { idleMs } = link;
      if (idleMs >= idleMinMs && idleMs > (idle?.idleMs ?? 0)) idle = link;
      if (link.wasCalled) continue;
      uncalled ??= link;
      uncalledCount++;
    }
    const allowed = Math.max(1, this.#links.size / uncalledPart);
    const isUncalled = uncalled !== undefined &&
      (uncalledCount > allowed || uncalled.idleMs >= idleMinMs);
    const found = isUncalled ? uncalled : idle;
    if (found === undefined) return false;
    this.#links.delete(found);
    this.#leaving.add(found);
    found.giveWay();
    return true;
  }

  /** Closes the socket of the connection that gave way first; false if there is none. */
  #closeLeaving(): boolean {
    const [first] = this.#leaving;
    if (first === undefined) return false;
    this.#leaving.delete(first);
    first.close();
    return true;
  }
}

/** One socket with its connection. */
class Link {
  /** Resolves when the socket is closed. It never rejects. */
  readonly done: Promise<void>;
  readonly #socket: Socket;
  readonly #pump: Pump;
  /** See `BusyPoll.note()`. */
  #pollPeriod = -1;
  /** When the socket opened, and when it last took bytes, in the milliseconds of the pump. */
  readonly #openedAt: number;
  #writtenAt = 0;
  /** The bytes that came, while they do not say what the client speaks; undefined once it was answered by `answerOther`. */
  #first: Uint8Array | undefined = none;
  #answer: Uint8Array<ArrayBuffer> | undefined;
  #connection: ServerConnection | undefined;
  /** Whether output is being written, or will be in this turn; and whether that has not begun yet. */
  #isWriting = false;
  #isPlanned = false;
  #isClosed = false;
  /** Resolves what waits until the output in progress is written. */
  #onWritten: (() => void) | undefined;
  /** Runs once the client was told that nothing more comes. */
  #lingerTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(socket: Socket, pump: Pump) {
    this.#socket = socket;
    this.#pump = pump;
    this.#openedAt = pump.ms;
    this.done = this.#serve();
  }

  /** Whether nothing more is taken from the client. */
  get #isOver(): boolean {
    return this.#first === undefined || (this.#connection?.isClosed ?? false);
  }

  /** For how many milliseconds it has been open. */
  get #openMs(): number {
    return this.#pump.ms - this.#openedAt;
  }

  /** For how many milliseconds there was no call, and nothing to write. */
  get idleMs(): number {
    if (this.#isWriting) return 0;
    return this.#connection?.wasCalled ? this.#connection.idleMs : this.#openMs;
  }

  /** Whether a call ever came. */
  get wasCalled(): boolean {
    return this.#connection?.wasCalled ?? false;
  }

  shutDown(): void {
    if (this.#connection !== undefined) this.#connection.shutDown();
    else if (!this.#isOver) this.close();
  }

  /**
   * Ends a connection without calls: its client gets a GOAWAY, which says that calls that are on their way were not served. A client of gRPC
   * sends those again, over a new connection. The socket is closed `leaveMs` later, also if the client reads nothing. A client that is so new
   * that its first bytes are on their way gets its GOAWAY when they come.
   */
  giveWay(): void {
    if (this.#connection === undefined && this.#openMs >= this.#pump.options.idleMinMs) {
      return this.close();
    }
    this.#lingerTimer ??= setTimeout(() => this.close(), leaveMs);
    this.#connection?.close();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#lingerTimer);
    // The socket is first: a connection may have no memory for its last words.
    this.#socket.close();
    try {
      this.#connection?.close();
    } catch (error) {
      this.#pump.options.onError?.(error);
    }
    this.#onWritten?.();
  }

  /** Lets time pass. An error ends this connection only. */
  tick(ms: number): void {
    const { handshakeMs, stallMs } = this.#pump.options;
    try {
      this.#connection?.tick(ms);
    } catch (error) {
      this.#fail(error);
    }
    const isNew = this.#connection === undefined && !this.#isOver;
    if (isNew && this.#openMs > handshakeMs) this.close();
    // A client that is gone, or that never reads, would let the last words wait for ever.
    const patienceMs = this.#isOver ? Math.min(handshakeMs, stallMs) : stallMs;
    if (this.#isWriting && this.#pump.ms - this.#writtenAt > patienceMs) this.close();
  }

  async #serve(): Promise<void> {
    try {
      await this.#read();
      // The client has ended. It may still read.
      this.#connection?.close();
      while (this.#isWriting && !this.#isClosed) await this.#written();
    } catch (error) {
      this.#fail(error);
    }
    this.close();
  }

  /** Reads until the client ends. */
  async #read(): Promise<void> {
    const pump = this.#pump;
    let buffer = new Uint8Array(bufferMin);
    for (;;) {
      const count = await this.#socket.read(buffer);
      if (count === null || this.#isClosed) return;
      if (this.#isOver) continue;
      const bytes = buffer.subarray(0, count);
      pump.received += count;
      if (this.#connection === undefined) this.#begin(bytes);
      else this.#connection.receive(bytes);
      pump.options.afterRead?.();
      if (this.#isOver) this.#flush();
      // The client waits for its answer: it goes before all else.
      this.#beginWrite();
      // A PING of an idle connection is followed by no call.
      if (this.#connection?.idleMs === 0) this.#pollPeriod = pump.poll.note(this.#pollPeriod);
      // While the client does not read, nothing is read from it.
      while (this.#connection?.isCongested && !this.#isClosed) await this.#written();
      if (count === buffer.length && count < bufferMax) buffer = new Uint8Array(2 * count);
    }
  }

  /** Takes first bytes, until they say what the client speaks. */
  #begin(bytes: Uint8Array): void {
    const { accept, answerOther } = this.#pump.options;
    const first = joinBytes([this.#first ?? none, bytes]);
    this.#first = first;
    if (preface.some((byte, k) => byte !== (first[k] ?? byte))) {
      if (answerOther === undefined) return this.close();
      this.#answer = answerOther(first);
      if (this.#answer !== undefined) this.#first = undefined;
      return;
    }
    if (first.length < preface.length) return;
    this.#first = none;
    this.#connection = accept(() => this.#flush());
    if (this.#lingerTimer !== undefined) return this.#connection.close(); // it gave way
    this.#connection.receive(first);
    if (this.#pump.isStopping) this.#connection.shutDown();
  }

  /** Waits until the output in progress is written. */
  async #written(): Promise<void> {
    if (this.#isWriting) await new Promise<void>((resolve) => this.#onWritten = resolve);
  }

  /** Writes all there is once what came was taken in, so that many messages make one output. That is at the end of this turn at the latest. */
  #flush(): void {
    if (this.#isWriting || this.#isClosed) return;
    this.#isWriting = true;
    this.#isPlanned = true;
    this.#writtenAt = this.#pump.ms;
    queueMicrotask(() => this.#beginWrite());
  }

  #beginWrite(): void {
    if (!this.#isPlanned) return;
    this.#isPlanned = false;
    this.#write().catch((error) => this.#fail(error));
  }

  async #write(): Promise<void> {
    const pump = this.#pump;
    for (;;) {
      const output = this.#connection?.takeOutput() ?? this.#answer;
      if (output === undefined || this.#isClosed) break;
      this.#answer = undefined;
      pump.sent += output.length;
      pump.options.afterRead?.();
      for (let at = 0; at < output.length && !this.#isClosed;) {
        at += await this.#socket.write(at === 0 ? output : output.subarray(at));
        this.#writtenAt = pump.ms;
      }
    }
    this.#isWriting = false;
    this.#onWritten?.();
    if (this.#isOver) this.#linger();
  }

  /**
   * The connection has ended, and all is written. The client is told so, and what it still sends is read for a while: a socket that is closed
   * with unread bytes loses what was written.
   */
  #linger(): void {
    if (this.#isClosed) return;
    this.#socket.closeWrite().catch(() => {});
    this.#lingerTimer ??= setTimeout(() => this.close(), lingerMs);
  }

  /** Ends the connection by an error, and tells of it unless the client has left. */
  #fail(error: unknown): void {
    if (!this.#isClosed && !isLeaving(error)) this.#pump.options.onError?.(error);
    this.close();
  }
}
