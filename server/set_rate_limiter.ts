/**
 * Gives a table the rate limiter that a client asks for.
 *
 * @module
 */
import { rateLimiterOf } from "../rate_limiters/of_numbers.ts";
import { samplesPerInsert } from "../rate_limiters/samples_per_insert.ts";
import type { SetLimiterRequest } from "../reverb/messages/limiter_pb.ts";
import type { Tables } from "../tables/tables.ts";
import { CallError } from "./calls/method_call.ts";
import { Status } from "../net/grpc/status.ts";

/**
 * Sets it, by the rules of the configuration file. Where it is refused, the table keeps the one that it has.
 *
 * @param request Of a table that is there. A client may have made up its numbers.
 * @throws {CallError} INVALID_ARGUMENT.
 */
export function setRateLimiter(
  tables: Tables,
  { table, samplesPerInsert: ratio, minSize, minDiff, maxDiff }: SetLimiterRequest,
): void {
  try {
    const error = [minDiff, maxDiff] as const;
    const { numbers } = samplesPerInsert(ratio, { minSize: Number(minSize), error });
    tables.table(table).setRateLimiter(rateLimiterOf(numbers));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const why = error.message.replace(
      /^(setRateLimiter\(\): rateLimiter|samplesPerInsert\(\))/,
      "",
    );
    throw new CallError(
      Status.invalidArgument,
      `SetLimiter: the rate limiter of table ${JSON.stringify(table)}${why}`,
    );
  }
}
