/**
 * gRPC's health service: `Check` says how the server is, and `Watch` says it again when that changes.
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
import { CallError, type CallOwner, parseMessage } from "./method_call.ts";
import { UnaryCall } from "./unary_call.ts";

/** How a server is. */
export interface Health {
  /** Whether it serves, and does not stop. */
  readonly isServing: boolean;
}

/** The answer to a message of `Check`, or of `Watch`: a service that is not known is an error for the first one only. */
export function healthAnswer(
  message: Uint8Array,
  { isServing }: Health,
  isWatch: boolean,
): Uint8Array {
  const { service } = parseMessage(HealthCheckRequestSchema, message);
  let status = isServing ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  if (service !== "" && service !== ReverbService.typeName) {
    if (!isWatch) throw new CallError(Status.notFound, `there is no service ${service}`);
    status = ServingStatus.SERVICE_UNKNOWN;
  }
  return toBinary(HealthCheckResponseSchema, create(HealthCheckResponseSchema, { status }));
}

/** One Watch. */
export class HealthWatch extends UnaryCall {
  #again: (() => void) | undefined;

  constructor(call: GrpcCall, owner: CallOwner, health: Health) {
    super("Watch", call, owner, (message) => {
      const kept = message.slice();
      this.#again = () => call.send(healthAnswer(kept, health, true));
      return healthAnswer(message, health, true);
    });
  }

  /** The client goes on listening. */
  protected override answered(status: Uint8Array): void {
    this.call.send(status);
  }

  override stop(): void {
    this.#again?.();
    this.finish(Status.ok);
  }
}
