/**
 * The statuses of gRPC, and how they travel.
 *
 * @module
 */
import { encodeHeaders } from "../http2/hpack.ts";

/** The statuses of gRPC that are used here. */
export const Status = {
  ok: 0,
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;

/** Bytes of a message of a status that are sent; clients refuse trailers of more than 8 KiB. */
const messageMax = 4096;

/** The headers that begin an answer. */
export const answerBlock: Uint8Array<ArrayBuffer> = encodeHeaders([
  [":status", "200"],
  ["content-type", "application/grpc"],
]);

const okTrailers = encodeHeaders([["grpc-status", "0"]]);

/** Letters that `grpc-message` carries as they are; all others are percent-encoded bytes of UTF-8. */
const plain = /^[ !"#$&'()*+,\-./0-9:;<=>?@A-Z[\\\]^_`a-z{|}~]*$/;

/** Encodes the words of a status as `grpc-message` has them, cut to a length that clients take. */
export function encodeMessage(message: string): string {
  if (message.length <= messageMax && plain.test(message)) return message;
  const parts: string[] = [];
  let length = 0;
  for (const letter of message) {
    let part = letter;
    if (!plain.test(letter)) {
      part = "";
      for (const byte of new TextEncoder().encode(letter)) {
        part += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
      }
    }
    length += part.length;
    if (length > messageMax) break;
    parts.push(part);
  }
  return parts.join("");
}

/** The block of headers that ends a call: trailers, or with `isAlone` the whole answer. */
export function statusBlock(status: number, message: string, isAlone: boolean): Uint8Array {
  if (status === Status.ok && message === "" && !isAlone) return okTrailers;
  const fields: [string, string][] = [["grpc-status", String(status)]];
  if (message !== "") fields.push(["grpc-message", encodeMessage(message)]);
  if (isAlone) fields.unshift([":status", "200"], ["content-type", "application/grpc"]);
  return encodeHeaders(fields);
}

/** Milliseconds of a `grpc-timeout`; undefined if it is not one. */
export function parseTimeout(text: string): number | undefined {
  const [, digits = "", unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  const scale = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 }[unit];
  return scale === undefined ? undefined : Number(digits) * scale;
}
