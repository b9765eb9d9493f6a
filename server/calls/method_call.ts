/**
 * What all calls have in common: how they begin, and how an error becomes a status of gRPC.
 *
 * @module
 */
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { ReplayError, type ReplayErrorCode } from "../../base/errors.ts";
import type { CallHandler, GrpcCall } from "../../net/grpc/calls.ts";
import { Status } from "../../net/grpc/status.ts";

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

/** The error for a table that is not there, in Reverb's words. */
export function tableNotFound(name: string): CallError {
  return new CallError(Status.notFound, `Priority table ${name} was not found`);
}

/** Runs `act` on a message. Where it fails for a table that is not there, the error is in Reverb's words, with the name from the message. */
export function namingTable(act: () => void, nameOf: (item: number) => string | undefined): void {
  try {
    act();
  } catch (error) {
    if (!(error instanceof ReplayError) || error.code !== "table-unknown") throw error;
    throw tableNotFound(nameOf(error.detail[0] ?? 0) ?? "");
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
    throw new CallError(
      Status.internal,
      `the ${message.length} bytes are no message ${schema.typeName}`,
    );
  }
}

/** Who is told how calls end, and of errors that nobody expects. */
export interface CallLog {
  /** A call of this method ended. */
  ended(method: string, status: number): void;
  /** An error of the server's own. */
  failed(method: string, error: unknown): void;
}

/**
 * One call. What a method throws ends it: by its own status, or by INTERNAL without words for an error of the server's own.
 *
 * Invariant: `closed()` is called once, when the call is over, however it ends.
 */
export abstract class MethodCall implements CallHandler {
  /** The call as HTTP/2 has it. */
  protected readonly call: GrpcCall;
  readonly #method: string;
  readonly #log: CallLog;
  #isClosed = false;

  constructor(method: string, call: GrpcCall, log: CallLog) {
    this.#method = method;
    this.call = call;
    this.#log = log;
  }

  /** A message came. */
  protected abstract received(message: Uint8Array): void;
  /** The client sends no more. */
  protected abstract halfClosed(): void;
  /** Sends what is ready. */
  protected pumped(): void {}
  /** The call is over: lets go of what it holds. */
  protected closed(): void {}

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
    if (status !== undefined) return this.finish(status, (error as Error).message);
    this.#log.failed(this.#method, error);
    this.finish(Status.internal, "the server failed by a fault of its own; its log says more");
  }

  #close(status: number): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#log.ended(this.#method, status);
    this.closed();
  }
}
