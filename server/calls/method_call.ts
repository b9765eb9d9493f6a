/**
 * What all calls have in common: how they begin, and how an error becomes a status of gRPC.
 *
 * @module
 */
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { ReplayError, type ReplayErrorCode } from "../../base/errors.ts";
import type { CallHandler, GrpcCall } from "../../net/grpc/calls.ts";
import { Status } from "../../net/grpc/status.ts";
import type { KernelTables } from "../../tables/kernel_tables.ts";

/** Why a call ends, as a status of gRPC and its words. */
export class CallError extends Error {
  /** The status. */
  readonly status: number;

  /** Makes an error. */
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Runs `act` on a message. Where it fails for a table that is not there, the error is in Reverb's words, with the name from the message. */
export function namingTable<T>(act: () => T, nameOf: (item: number) => string | undefined): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof ReplayError) || error.code !== "table-unknown") throw error;
    const name = nameOf(error.detail[0] ?? 0) ?? "";
    throw new CallError(Status.notFound, `Priority table ${name} was not found`);
  }
}

/** The status of gRPC for each error that a client can cause. */
const statuses: Readonly<Partial<Record<ReplayErrorCode, number>>> = {
  "table-unknown": Status.notFound,
  "message-damaged": Status.internal,
  "message-empty": Status.invalidArgument,
  "chunk-unknown": Status.internal,
  "chunks-kept": Status.failedPrecondition,
  "invalid-priority": Status.invalidArgument,
  "item-bytes": Status.invalidArgument,
  "item-empty": Status.invalidArgument,
  "item-slice": Status.invalidArgument,
  "memory": Status.resourceExhausted,
  "limit": Status.resourceExhausted,
  "disposed": Status.failedPrecondition,
  "disk": Status.internal,
};

/**
 * Reads a message of the client's.
 *
 * @throws {CallError} If it is none of this kind.
 */
export function parseMessage<T extends DescMessage>(
  schema: T,
  message: Uint8Array,
): MessageShape<T> {
  try {
    return fromBinary(schema, message);
  } catch {
    throw damaged(schema.typeName, message);
  }
}

/** The error for bytes that are no message of a type. */
export function damaged(type: string, { length }: Uint8Array): CallError {
  return new CallError(Status.internal, `the ${length} bytes are no message ${type}`);
}

/** Calls a function after so many milliseconds. What it returns stops that. */
export type StartTimer = (then: () => void, ms: number) => () => void;

/** What calls need of the server. */
export interface CallOwner {
  /** The tables. */
  readonly kernelTables: KernelTables;
  /** Its timers: those of the platform, or of a test. */
  readonly startTimer: StartTimer;
  /** Bytes of chunks that a stream of inserts may hold for items to come. */
  readonly heldChunkBytes: number;
  /** Lets a call be pumped: once all that came with the same read of a socket was taken in, or soon. */
  touch(call: MethodCall): void;
  /** A call ended. */
  ended(call: MethodCall, status: number): void;
  /** An error of the server's own, which nobody expects. */
  failed(call: MethodCall, error: unknown): void;
}

/** Why a call that would go on ends with its server. */
export const stoppingWords = "the server is stopping";

/**
 * One call. What a method throws ends it: by its own status, or by INTERNAL without words for an error of the server's own.
 *
 * Invariant: `closed()` is called once, when the call is over, however it ends.
 */
export abstract class MethodCall implements CallHandler {
  /** The method's name. */
  readonly method: string;
  /** The call as HTTP/2 has it. */
  protected readonly call: GrpcCall;
  /** The server. */
  protected readonly owner: CallOwner;
  #isClosed = false;

  constructor(method: string, call: GrpcCall, owner: CallOwner) {
    this.method = method;
    this.call = call;
    this.owner = owner;
  }

  /** A message came. */
  protected abstract received(message: Uint8Array): void;
  /** The client sends no more. */
  protected abstract halfClosed(): void;
  /** Sends what is ready. */
  protected pumped(): void {}
  /** The call is over: lets go of what it holds. */
  protected closed(): void {}

  /** The server stops: a call ends that would never end by itself. */
  stop(): void {}

  /** @inheritDoc */
  onMessage(message: Uint8Array): void {
    this.guard(() => this.received(message));
  }

  /** @inheritDoc */
  onHalfClose(): void {
    this.guard(() => this.halfClosed());
  }

  /** @inheritDoc */
  onDrain(): void {
    this.pump();
  }

  /** @inheritDoc */
  onCancel(status: number): void {
    this.#close(status);
  }

  /** Sends what is ready, if the call is not over. */
  pump(): void {
    this.guard(() => this.pumped());
  }

  /** Ends the call. */
  finish(status: number, message?: string): void {
    if (this.#isClosed) return;
    this.call.finish(status, message);
    this.#close(status);
  }

  /** Runs `act`, and ends the call where it throws. */
  protected guard(act: () => void): void {
    if (this.#isClosed) return;
    try {
      act();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Ends the call by an error. */
  protected fail(error: unknown): void {
    let status: number | undefined;
    if (error instanceof CallError) status = error.status;
    else if (error instanceof ReplayError) status = statuses[error.code];
    // No client can help it: whoever runs the server is told, too.
    if (error instanceof ReplayError && error.code === "disk") this.owner.failed(this, error);
    if (status !== undefined) return this.finish(status, (error as Error).message);
    this.owner.failed(this, error);
    this.finish(Status.internal, "the server failed by a fault of its own; its log says more");
  }

  #close(status: number): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.owner.ended(this, status);
    this.closed();
  }
}
