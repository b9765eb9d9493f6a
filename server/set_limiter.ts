/**
 * Gives a table the rate limiter that a client asks for.
 *
 * @module
 */
import { limiterOf } from "../pace/limiter.ts";
import type { PaceNumbers } from "../pace/pace_rule.ts";
import type { SetLimiterRequest } from "../reverb/messages/limiter_pb.ts";
import { changeLimiter } from "../tables/table.ts";
import type { Tables } from "../tables/tables.ts";
import { CallError } from "./calls/method_call.ts";
import { Status } from "../net/grpc/status.ts";

/**
 * Sets it, by the rules of the configuration file. Where it is refused, the table keeps the one that it has.
 *
 * @param request Of a table that is there.
 * @throws {CallError} INVALID_ARGUMENT.
 */
export function setLimiter(tables: Tables, request: SetLimiterRequest): void {
  const table = tables.table(request.table);
  const where = `SetLimiter: the limiter of table ${JSON.stringify(request.table)}`;
  try {
    changeLimiter(table, where, limiterOf(numbersOf(where, request)));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new CallError(Status.invalidArgument, error.message);
  }
}

/** The numbers of a request, which a client may have made up. */
function numbersOf(where: string, request: SetLimiterRequest): PaceNumbers {
  const { samplesPerInsert: ratio, minDiff, maxDiff } = request;
  const need = (isSo: boolean, what: string, got: number | bigint): void => {
    if (!isSo) throw new RangeError(`${where} must have ${what}, got ${got}`);
  };
  const most = Number.MAX_SAFE_INTEGER;
  need(ratio > 0 && ratio <= most, `a ratio above 0 and of at most ${most}`, ratio);
  const size = request.minSize;
  need(size >= 1n && size <= BigInt(most), `a minSize from 1 to ${most}`, size);
  need(minDiff <= most, `a least difference of at most ${most}`, minDiff);
  need(maxDiff >= -most, `a largest difference of at least ${-most}`, maxDiff);
  need(minDiff <= maxDiff, `a largest difference of at least ${minDiff}`, maxDiff);
  return { ratio, minSize: Number(size), differenceMin: minDiff, differenceMax: maxDiff };
}
