/**
 * Calls with one message and one answer: MutatePriorities, Reset, ServerInfo, Checkpoint and the health check. InitializeConnection is
 * served alike, because its answer is the same to every message.
 *
 * @module
 */
import type { GrpcCall } from "../../net/grpc/calls.ts";
import { Status } from "../../net/grpc/status.ts";
import { CallError, type CallOwner, MethodCall } from "./method_call.ts";

/** Makes the answer to a message. */
export type Answer = (message: Uint8Array) => Uint8Array | Promise<Uint8Array>;

/** One such call. */
export class UnaryCall extends MethodCall {
  readonly #answer: Answer;
  #isAnswered = false;

  constructor(method: string, call: GrpcCall, owner: CallOwner, answer: Answer) {
    super(method, call, owner);
    this.#answer = answer;
  }

  protected override received(message: Uint8Array): void {
    if (this.#isAnswered) throw new CallError(Status.internal, "the call takes one message only");
    this.#isAnswered = true;
    const answer = this.#answer(message);
    if (answer instanceof Uint8Array) this.answered(answer);
    else {
      answer.then(
        (late) => this.guard(() => this.answered(late)),
        (error) => this.guard(() => this.fail(error)),
      );
    }
  }

  protected override halfClosed(): void {
    if (!this.#isAnswered) throw new CallError(Status.internal, "the call came without a message");
  }

  /** Sends the answer. */
  protected answered(answer: Uint8Array): void {
    this.call.send(answer);
    this.finish(Status.ok);
  }
}
