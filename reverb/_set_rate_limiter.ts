/**
 * The call by which a client of our server changes a table's rate limiter. Reverb's protocol has none.
 *
 * @module
 */
import { create, toBinary } from "@bufbuild/protobuf";
import type { RateLimiter } from "../rate_limiters/rate_limiter.ts";
import type { Channel, WaitOptions } from "./channel.ts";
import { ReverbError } from "./errors.ts";
import { Limiters, SetLimiterRequestSchema } from "./messages/limiter_pb.ts";

/** Sends it, and waits for the answer. */
export async function callSetRateLimiter(
  channel: Channel,
  table: string,
  { numbers }: RateLimiter,
  options: WaitOptions,
): Promise<void> {
  const request = create(SetLimiterRequestSchema, {
    table,
    samplesPerInsert: numbers.ratio,
    minSize: BigInt(numbers.minSize),
    minDiff: numbers.differenceMin,
    maxDiff: numbers.differenceMax,
  });
  const message = toBinary(SetLimiterRequestSchema, request);
  try {
    await channel.unary("SetLimiter", message, options, Limiters.typeName);
  } catch (error) {
    if (!(error instanceof ReverbError) || error.code !== "unimplemented") throw error;
    throw new ReverbError(
      error.code,
      `setRateLimiter(): the server can't change a rate limiter while it runs; only a server of @exrp/replay can (${error.message})`,
      { cause: error },
    );
  }
}
