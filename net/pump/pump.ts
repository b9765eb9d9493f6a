/**
 * The pump: sockets in, sockets out. It listens, reads into one buffer of each connection that is used again, and writes whole outputs.
 *
 * Deno's own sockets are used where there is Deno, and those of `node:net` elsewhere (`node_sockets.ts`). Both are behind `Socket`.
 *
 * A connection that begins with the preface of HTTP/2 is served by `accept`, any other by `acceptOther`: so one port serves clients,
 * browsers and Prometheus.
 *
 * While more than `outputMax` bytes wait for a socket, nothing is read from it. So a client that does not read its answers holds up itself
 * only, and costs a bounded amount of memory. One that reads nothing for long is closed.
 *
 * One timer ticks for all connections, and they count its ticks: no connection has a timer of its own, and none asks a clock.
 *
 * When all places are taken, or the system has no socket left, a connection gives way to a new one, see `#giveWay()`. One that has a call never
 * does.
 *
 * @module
 */
import { deno } from "../../base/platform.ts";
import { preface } from "../http2/protocol.ts";
import { BusyPoll } from "./busy_poll.ts";
import type { Listen, Socket, SocketServer, SocketTaker } from "./socket.ts";
import { isLeaving, isOutOfFiles, listenError } from "./socket_errors.ts";

/** A connection without input or output of its own, such as `GrpcConnection`. */
export interface PumpedConnection {
  readonly isClosed: boolean;
  readonly isCongested: boolean;
  /** For how many milliseconds no call was open, as the ticks count them; 0 while one is. */
  readonly idleMs: number;
  /** Whether a call, or a whole request, ever came. */
  readonly wasCalled: boolean;
  receive(bytes: Uint8Array): void;
  takeOutput(): Uint8Array<ArrayBuffer> | undefined;
  shutDown(): void;
  close(): void;
  /** Called every so many milliseconds. */
  tick(ms: number): void;
}

/** The options of a pump. */
export interface PumpOptions {
  /** The address to listen at. */
  readonly hostname: string;
  /** The port; 0 for any free one. */
  readonly port: number;
  /** Makes the connection of an HTTP/2 client. It calls `onOutput` when it has output by itself. */
  readonly accept: (onOutput: () => void) => PumpedConnection;
  /** Makes the connection of a client whose first bytes are not those of HTTP/2. Without it, such a client is sent away. */
  readonly acceptOther?: (onOutput: () => void) => PumpedConnection;
  /**
   * Called after each read of a socket was taken in, and before its output is written: what many messages changed can be told at once. And
   * after each output was taken, because what a client's reading made ready is sent at once.
   */
  readonly settle?: () => void;
  /**
   * Connections that are open at once. For one more, another one gives way; if none can, the new one is closed at once. Default 1,024.
   */
  readonly connectionsMax?: number;
  /** Milliseconds without a call after which a connection is idle. Default `idleMinMs`. */
  readonly idleMinMs?: number;
  /** Milliseconds until the first bytes of a connection must say what it speaks. Default 10,000. */
  readonly handshakeMs?: number;
  /**
   * Milliseconds that a client may read nothing while output waits for its socket; then the connection is closed at once. Default 80,000.
   */
  readonly stallMs?: number;
  /** Milliseconds from tick to tick: how exact all times are. Default 2,000. */
  readonly tickMs?: number;
  /** Milliseconds for which the event loop goes on to turn after an input, see {@linkcode BusyPoll}. Default 0: never. */
  readonly busyPollMs?: number;
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

/**
 * A connection that had a call within so many milliseconds does not give way: its client is at work, and calls again soon.
 */
const idleMinMs = 5000;

/** Connections that never had a call keep such a part of the places. Above it they push out each other, and nobody else. */
const uncalledPart = 2;

/** How long it waits where the system gives no socket, and how often it says so, at most. */
const acceptPauseMs = 100;
const acceptReportMs = 60_000;

/** Listens, and serves connections until it is stopped. */
export class Pump implements SocketTaker {
  #server: SocketServer | undefined;
  readonly #options: PumpOptions;
  readonly #links = new Set<Link>();
  /** Connections that gave way, and whose sockets are still open. They have no place. */
  readonly #leaving = new Set<Link>();
  /** The only timer of all connections. */
  readonly #timer: ReturnType<typeof setInterval>;
  /** When it last told of an error of the system's. */
  #toldAt = -Infinity;
  readonly #poll: BusyPoll;
  #isStopping = false;
  /** Resolves when the port is closed. */
  #closed: Promise<void> | undefined;
  /** Bytes that came and were sent so far. */
  received = 0;
  sent = 0;

  private constructor(options: PumpOptions) {
    this.#options = options;
    const { tickMs = 2000, busyPollMs = 0 } = options;
    this.#poll = options.poll ?? new BusyPoll(busyPollMs);
    this.#timer = setInterval(() => this.tick(tickMs), tickMs);
  }

  /** Lets so many milliseconds pass for all connections: its timer calls it, and so do tests. */
  tick(ms: number): void {
    for (const link of this.#links) link.tick(ms);
  }

  /** Whether it looks for input without a pause now, see {@linkcode BusyPoll}. */
  get isPolling(): boolean {
    return this.#poll.isTurning;
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
    if (!this.#isStopping) {
      this.#isStopping = true;
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
    this.#poll.stop();
  }

  /** @inheritDoc */
  refuse(error: unknown): number {
    if (this.#isStopping) return 0;
    // Some systems tell of a client that left while it waited. The next one need not wait for it.
    if (isLeaving(error)) return 0;
    if (performance.now() - this.#toldAt >= acceptReportMs) {
      this.#toldAt = performance.now();
      this.#options.onError?.(error);
    }
    // Each that gives way keeps its socket for a while. The one before it needs it no more.
    if (isOutOfFiles(error) && !this.#closeLeaving()) this.#giveWay();
    return acceptPauseMs;
  }

  /** @inheritDoc */
  take(socket: Socket): void {
    if (this.#isStopping || !this.#makePlace()) return socket.close();
    const link = new Link(socket, this, this.#options, this.#poll);
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
    const { connectionsMax = 1024 } = this.#options;
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
    const { idleMinMs: min = idleMinMs } = this.#options;
    let uncalled: Link | undefined;
    let uncalledCount = 0;
    let idle: Link | undefined;
    // In the order in which they came.
    for (const link of this.#links) {
      const { idleMs } = link;
      if (idleMs >= min && idleMs > (idle?.idleMs ?? 0)) idle = link;
      if (link.wasCalled) continue;
      uncalled ??= link;
      uncalledCount++;
    }
    const allowed = Math.max(1, this.#links.size / uncalledPart);
    const isUncalled = uncalled !== undefined &&
      (uncalledCount > allowed || uncalled.idleMs >= min);
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
  readonly #options: PumpOptions;
  readonly #poll: BusyPoll;
  /** See `BusyPoll.note()`. */
  #pollPeriod = -1;
  /** Milliseconds, as the ticks count them: since the socket opened, and without any byte that could be written. */
  #openMs = 0;
  #stalledMs = 0;
  #connection: PumpedConnection | undefined;
  #isWriting = false;
  /** Whether bytes were written since the last tick. */
  #hasWritten = false;
  #isFlushPlanned = false;
  #isClosed = false;
  #isShuttingDown = false;
  #hasGivenWay = false;
  /** Resolves what waits until the output in progress is written. */
  #onWritten: (() => void) | undefined;
  /** Whether the client was told that nothing more is written. */
  #hasEnded = false;
  #lingerTimer: ReturnType<typeof setTimeout> | undefined;
  /** What the preface has been compared with so far. */
  #prefaceAt = 0;

  constructor(socket: Socket, pump: Pump, options: PumpOptions, poll: BusyPoll) {
    this.#socket = socket;
    this.#pump = pump;
    this.#options = options;
    this.#poll = poll;
    this.done = this.#serve();
  }

  shutDown(): void {
    this.#isShuttingDown = true;
    if (this.#connection === undefined) this.close();
    else this.#connection.shutDown();
    this.#plan();
  }

  /** For how many milliseconds there was no call, and nothing to write. */
  get idleMs(): number {
    if (this.#isWriting) return 0;
    return this.#connection?.wasCalled ? this.#connection.idleMs : this.#openMs;
  }

  /** Whether a call, or a whole request, ever came. */
  get wasCalled(): boolean {
    return this.#connection?.wasCalled ?? false;
  }

  /**
   * Ends a connection without calls: its client gets a GOAWAY, which says that calls that are on their way were not served. A client of gRPC
   * sends those again, over a new connection. The socket is closed `leaveMs` later, also if the client reads nothing. A client that is so new
   * that its first bytes are on their way gets its GOAWAY when they come.
   */
  giveWay(): void {
    const { idleMinMs: min = idleMinMs } = this.#options;
    if (this.#connection === undefined && this.#openMs >= min) return this.close();
    this.#hasGivenWay = true;
    this.#lingerTimer ??= setTimeout(() => this.close(), leaveMs);
    this.#connection?.close();
    this.#flush();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#lingerTimer);
    // The socket is first: a connection may have no memory for its last words.
    this.#socket.close();
    try {
      this.#connection?.close();
    } catch (error) {
      this.#options.onError?.(error);
    }
    this.#onWritten?.();
  }

  /** Counts the time. An error ends this connection only. */
  tick(ms: number): void {
    const { handshakeMs = 10_000, stallMs = 80_000 } = this.#options;
    this.#openMs += ms;
    try {
      if (this.#connection !== undefined) this.#connection.tick(ms);
      else if (this.#openMs > handshakeMs) this.close();
    } catch (error) {
      this.#report(error);
      this.close();
    }
    // A client that is gone, or that never reads, would let the last words wait for ever.
    this.#stalledMs = this.#isWriting && !this.#hasWritten ? this.#stalledMs + ms : 0;
    this.#hasWritten = false;
    const isOver = this.#connection?.isClosed ?? false;
    if (this.#stalledMs > (isOver ? Math.min(handshakeMs, stallMs) : stallMs)) this.close();
  }

  async #serve(): Promise<void> {
    try {
      await this.#read();
      // The client has ended. It may still read.
      this.#connection?.close();
      this.#flush();
      while (this.#isWriting && !this.#isClosed) await this.#written();
    } catch (error) {
      this.#report(error);
    }
    this.close();
  }

  /** Reads until the client ends. */
  async #read(): Promise<void> {
    let buffer = new Uint8Array(bufferMin);
    for (;;) {
      const count = await this.#socket.read(buffer);
      if (count === null || this.#isClosed) return;
      if (this.#connection?.isClosed) continue;
      const bytes = buffer.subarray(0, count);
      this.#pump.received += count;
      if (this.#connection === undefined) this.#begin(bytes);
      else this.#connection.receive(bytes);
      this.#options.settle?.();
      this.#flush();
      // A page, or a PING of an idle connection, is followed by no call.
      if (this.#prefaceAt === preface.length && this.#connection?.idleMs === 0) {
        this.#pollPeriod = this.#poll.note(this.#pollPeriod);
      }
      // While the client does not read, nothing is read from it.
      while (this.#connection?.isCongested && !this.#isClosed) await this.#written();
      if (count === buffer.length && count < bufferMax) buffer = new Uint8Array(2 * count);
    }
  }

  /** Compares the first bytes with the preface, and makes the connection that they ask for. */
  #begin(bytes: Uint8Array): void {
    let same = 0;
    while (
      same < bytes.length && this.#prefaceAt + same < preface.length &&
      bytes[same] === preface[this.#prefaceAt + same]
    ) same++;
    const before = preface.subarray(0, this.#prefaceAt);
    this.#prefaceAt += same;
    const isWhole = this.#prefaceAt === preface.length;
    if (!isWhole && same === bytes.length) return;
    const onOutput = (): void => this.#plan();
    const accept = isWhole ? this.#options.accept : this.#options.acceptOther;
    if (accept === undefined) return this.close();
    this.#connection = accept(onOutput);
    if (this.#hasGivenWay) return this.#connection.close();
    if (before.length > 0) this.#connection.receive(before);
    this.#connection.receive(bytes);
    if (this.#isShuttingDown) this.#connection.shutDown();
  }

  /** Waits until the output in progress is written. */
  async #written(): Promise<void> {
    if (this.#isWriting) await new Promise<void>((resolve) => this.#onWritten = resolve);
  }

  /** Writes at the end of this turn, so that many messages make one output. */
  #plan(): void {
    if (this.#isFlushPlanned || this.#isWriting) return;
    this.#isFlushPlanned = true;
    queueMicrotask(() => {
      this.#isFlushPlanned = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#isWriting || this.#isClosed) return;
    this.#isWriting = true;
    this.#write().catch((error) => {
      this.#report(error);
      this.close();
    });
  }

  async #write(): Promise<void> {
    for (;;) {
      const output = this.#connection?.takeOutput();
      if (output === undefined || this.#isClosed) break;
      this.#pump.sent += output.length;
      this.#options.settle?.();
      for (let at = 0; at < output.length;) {
        at += await this.#socket.write(at === 0 ? output : output.subarray(at));
        this.#hasWritten = true;
      }
    }
    this.#isWriting = false;
    this.#onWritten?.();
    if (this.#connection?.isClosed) this.#linger();
  }

  /**
   * The connection has ended, and all is written. The client is told so, and what it still sends is read for a while: a socket that is closed
   * with unread bytes loses what was written.
   */
  #linger(): void {
    if (this.#isClosed || this.#hasEnded) return;
    this.#hasEnded = true;
    this.#socket.endWriting();
    this.#lingerTimer ??= setTimeout(() => this.close(), lingerMs);
  }

  #report(error: unknown): void {
    if (!this.#isClosed && !isLeaving(error)) this.#options.onError?.(error);
  }
}
