/**
 * InsertStream: a client brings chunks and items, and hears the keys of items that are in their tables.
 *
 * Items that a rate limiter refuses wait. Their keys are withheld, and once many wait the client's messages are withheld too: that is all the
 * back-pressure that Reverb's clients know. Items that wait when a client goes away still go in, because the client may have written its
 * last; but no more than `exrp.h` allows for each table.
 *
 * @module
 */
import { InsertStreamRequestSchema } from "../../reverb/messages/reverb_pb.ts";
import type { GrpcCall } from "../../net/grpc/calls.ts";
import { Status } from "../../net/grpc/status.ts";
import { dispose } from "../../base/platform.ts";
import type { Inserter } from "../../tables/kernel_tables.ts";
import { CallError, type CallOwner, MethodCall, namingTable, parseMessage } from "./method_call.ts";

/** The most bytes of one message of keys: a key takes at most ten. */
const messageBytesMax = 40_000;

/** One InsertStream. */
export class InsertCall extends MethodCall {
  readonly #inserter: Inserter;
  #isHalfClosed = false;
  #isPaused = false;

  constructor(call: GrpcCall, owner: CallOwner) {
    super("InsertStream", call, owner);
    this.#inserter = owner.kernelTables.inserter(() => owner.touch(this));
  }

  /** Whether everything that came is confirmed. */
  get isQuiet(): boolean {
    return this.#inserter.waiting === 0 && this.#inserter.confirmed === 0;
  }

  protected override received(message: Uint8Array): void {
    namingTable(
      () => this.#inserter.feed(message),
      (item) => parseMessage(InsertStreamRequestSchema, message).items[item]?.table,
    );
    const { chunks, chunkBytes } = this.#inserter;
    const { heldChunkBytes } = this.owner;
    if (chunkBytes > heldChunkBytes) {
      throw new CallError(
        Status.resourceExhausted,
        `a stream held ${chunks} chunks for items to come, of ${chunkBytes} bytes, where ${heldChunkBytes} may be held (limits.heldChunkBytes)`,
      );
    }
    this.#hold();
    this.owner.touch(this);
  }

  protected override halfClosed(): void {
    this.#isHalfClosed = true;
    this.owner.touch(this);
  }

  protected override pumped(): void {
    this.#inserter.refresh();
    this.#confirm();
    this.#hold();
    if (this.#isHalfClosed && this.#inserter.waiting === 0) this.finish(Status.ok);
  }

  /** What was inserted before the fault is confirmed first. */
  protected override fail(error: unknown): void {
    this.#confirm();
    super.fail(error);
  }

  protected override closed(): void {
    this.#inserter[dispose]();
  }

  #confirm(): void {
    const inserter = this.#inserter;
    while (inserter.confirmed > 0 && !this.call.isOver) {
      const room = Math.min(messageBytesMax, 16 + 10 * inserter.confirmed);
      const written = this.call.sendInto(
        room,
        (target) => inserter.readConfirmations(target) || undefined,
      );
      if (written === undefined) break;
    }
  }

  #hold(): void {
    const { isFull } = this.#inserter;
    if (isFull === this.#isPaused) return;
    this.#isPaused = isFull;
    if (isFull) this.call.pause();
    else this.call.resume();
  }
}
