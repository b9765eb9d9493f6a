/**
 * SampleStream: a client asks for so many samples, gets them, and asks again.
 *
 * Samples are written by the kernel straight into the connection's output. Where the client does not read, nothing more is drawn.
 *
 * @module
 */
import { TIMER_MAX_MS } from "../../base/waits.ts";
import { dispose } from "../../base/platform.ts";
import { EXRP_ASK_FLOWING, EXRP_ASK_NOW, EXRP_ASK_WHOLE } from "../../ffi/symbols.ts";
import type { Sampler } from "../../tables/kernel_tables.ts";
import type { GrpcCall } from "../../net/grpc/calls.ts";
import { Status } from "../../net/grpc/status.ts";
import {
  CallError,
  type CallOwner,
  damaged,
  MethodCall,
  namingTable,
  stoppingWords,
} from "./method_call.ts";
import { readSampleRequest } from "../../reverb/sample_request.ts";

/** The words by which Reverb's clients know that a rate limiter, and nothing worse, let a sampler wait too long. */
export const timeoutWords =
  "Rate Limiter: Timeout exceeded before the right to insert was acquired.";

/** Room for a message of samples. One sample that is larger gets as much as it needs. */
const messageBytes = 1 << 17;
/** The same for a message of one sample, until one needs more. */
const firstBytesOfOne = 1 << 14;
/** The kernel counts samples in 32 bits; more are asked for in parts. */
const askMax = 1 << 30;
/** A request for all samples or none may have so many at most: the kernel holds them until all are drawn. A larger one is served as any other. */
const wholeMax = 8192;
/** Requests that wait for the one before. Reverb's clients send the next one after the last sample only; `batches` sends one for each batch ahead. */
const requestsMax = 1000;

interface Request {
  readonly table: string;
  /** Samples that the kernel was not asked for yet. */
  left: number;
  /** Milliseconds that the rate limiter may let it wait; undefined for ever. */
  readonly timeoutMs: number | undefined;
  /** How the kernel is asked: an `EXRP_ASK_` constant. */
  readonly how: number;
}

/** One SampleStream. */
export class SampleCall extends MethodCall {
  readonly #requests: Request[] = [];
  #table = "";
  #sampler: Sampler | undefined;
  /** Samples of the first request that the sampler was asked for and did not give yet. */
  #wanted = 0;
  #room = 0;
  #roomOfOne = firstBytesOfOne;
  #isHalfClosed = false;
  /** Stops the timer, where one runs. */
  #stop: (() => void) | undefined;

  constructor(call: GrpcCall, owner: CallOwner) {
    super("SampleStream", call, owner);
  }

  override stop(): void {
    this.finish(Status.unavailable, stoppingWords);
  }

  protected override received(message: Uint8Array): void {
    this.#requests.push(parseRequest(message));
    const waiting = this.#requests.length - 1;
    if (waiting > requestsMax) {
      throw new CallError(
        Status.resourceExhausted,
        `${waiting} requests wait on one stream, where ${requestsMax} may`,
      );
    }
    this.owner.touch(this);
  }

  protected override halfClosed(): void {
    this.#isHalfClosed = true;
    this.owner.touch(this);
  }

  protected override pumped(): void {
    for (;;) {
      const request = this.#requests[0];
      if (request === undefined) break;
      if (!this.#serve(request)) return;
      this.#requests.shift();
    }
    if (this.#isHalfClosed) this.finish(Status.ok);
  }

  protected override closed(): void {
    this.#stopTimer();
    this.#sampler?.[dispose]();
    this.#sampler = undefined;
  }

  /** Sends samples of a request. Returns whether it is complete. */
  #serve(request: Request): boolean {
    const sampler = this.#open(request.table);
    for (;;) {
      if (this.#wanted === 0) {
        if (request.left === 0) return true;
        const count = Math.min(request.left, askMax);
        sampler.ask(count, request.how);
        request.left -= count;
        this.#wanted = count;
        this.#room = count === 1 ? this.#roomOfOne : messageBytes;
      }
      // The client or the socket is behind. It goes on when the stream drains.
      if (this.call.isFull()) {
        this.#stopTimer();
        return false;
      }
      if (!this.#send(sampler)) {
        this.#startTimer(request);
        return false;
      }
      this.#stopTimer();
    }
  }

  /** Sends one message of samples, and returns false where the rate limiter allows none. */
  #send(sampler: Sampler): boolean {
    for (;;) {
      const read = (target: Uint8Array): number | undefined => sampler.read(target) || undefined;
      if (this.call.sendInto(this.#room, read) !== undefined) {
        this.#wanted = sampler.wanted;
        return true;
      }
      if (sampler.needed <= this.#room) return false;
      this.#room = sampler.needed;
      this.#roomOfOne = Math.min(sampler.needed, messageBytes);
    }
  }

  #open(table: string): Sampler {
    if (this.#sampler !== undefined && this.#table === table) return this.#sampler;
    this.#sampler?.[dispose]();
    this.#sampler = undefined;
    const { kernelTables } = this.owner;
    const open = (): Sampler =>
      kernelTables.sampler(kernelTables.numberOf(table), () => this.owner.touch(this));
    this.#table = table;
    return this.#sampler = namingTable(open, () => table);
  }

  /** The timeout counts from when the rate limiter began to hold the request back. One that is too long for a timer never comes. */
  #startTimer({ timeoutMs }: Request): void {
    if (timeoutMs === undefined || timeoutMs > TIMER_MAX_MS || this.#stop !== undefined) return;
    const expire = (): void => {
      this.#stop = undefined;
      this.finish(Status.deadlineExceeded, timeoutWords);
    };
    if (timeoutMs === 0) expire();
    else this.#stop = this.owner.startTimer(expire, timeoutMs);
  }

  #stopTimer(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}

function parseRequest(message: Uint8Array): Request {
  const request = readSampleRequest(message);
  if (request === undefined) throw damaged("deepmind.reverb.SampleStreamRequest", message);
  const { table, sampleCount, timeoutMs, isWhole } = request;
  if (sampleCount <= 0) {
    const words = `\`num_samples\` must be > 0 (got ${sampleCount}).`;
    throw new CallError(Status.invalidArgument, words);
  }
  const whole = timeoutMs === 0 ? EXRP_ASK_NOW : EXRP_ASK_WHOLE;
  return {
    table,
    left: sampleCount,
    timeoutMs: timeoutMs < 0 ? undefined : timeoutMs,
    how: isWhole && sampleCount <= wholeMax ? whole : EXRP_ASK_FLOWING,
  };
}
