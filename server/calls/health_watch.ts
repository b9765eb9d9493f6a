/**
 * `Watch` of gRPC's health service: says how the server is, and again whenever that changes.
 *
 * @module
 */
import { create, toBinary } from "@bufbuild/protobuf";
import {
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthCheckResponseSchema,
} from "../../reverb/messages/health_pb.ts";
import { ReverbService } from "../../reverb/messages/reverb_pb.ts";
import type { GrpcCall } from "../../net/grpc/calls.ts";
import { Status } from "../../net/grpc/status.ts";
import { CallError, type CallLog, MethodCall, parseMessage } from "./method_call.ts";

/** How the server is, and who wants to know. */
export class Health {
  /** The calls that watch. */
  readonly watchers: Set<HealthWatch> = new Set();
  #isServing = true;

  /** Whether it serves. */
  get isServing(): boolean {
    return this.#isServing;
  }

  /** The server stops: whoever watches is told. */
  stop(): void {
    if (!this.#isServing) return;
    this.#isServing = false;
    for (const watcher of this.watchers) watcher.tell();
  }

  /** The status of a service; undefined where there is no such service. */
  statusOf(service: string): ServingStatus | undefined {
    if (service !== "" && service !== ReverbService.typeName) return undefined;
    return this.#isServing ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }

  /** The answer to a Check. */
  check(message: Uint8Array): Uint8Array {
    const { service } = parseMessage(HealthCheckRequestSchema, message);
    const status = this.statusOf(service);
    if (status === undefined) {
      throw new CallError(Status.notFound, `there is no service ${service}`);
    }
    return encode(status);
  }
}

/** One Watch. */
export class HealthWatch extends MethodCall {
  readonly #health: Health;
  #service: string | undefined;

  constructor(call: GrpcCall, log: CallLog, health: Health) {
    super("Watch", call, log);
    this.#health = health;
  }

  /** Sends the status as it is now. */
  tell(): void {
    if (this.#service === undefined) return;
    this.call.send(encode(this.#health.statusOf(this.#service) ?? ServingStatus.SERVICE_UNKNOWN));
  }

  protected override received(message: Uint8Array): void {
    if (this.#service !== undefined) {
      throw new CallError(Status.internal, "the call takes one message only");
    }
    this.#service = parseMessage(HealthCheckRequestSchema, message).service;
    this.#health.watchers.add(this);
    this.tell();
  }

  /** The client goes on listening. */
  protected override halfClosed(): void {
    if (this.#service === undefined) {
      throw new CallError(Status.internal, "the call came without a message");
    }
  }

  protected override closed(): void {
    this.#health.watchers.delete(this);
  }
}

function encode(status: ServingStatus): Uint8Array {
  return toBinary(HealthCheckResponseSchema, create(HealthCheckResponseSchema, { status }));
}
