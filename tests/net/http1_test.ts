/** The little of HTTP/1.1 that the pages need. */
import { assert, assertEquals } from "../_assert.ts";
import { answerHttp1, plain } from "../../net/http1.ts";

/** Sends the parts of a request, and returns the answer's status and body; undefined while there is none. */
function ask(
  ...parts: readonly string[]
): { status: number; body: string; head: string } | undefined {
  const site = {
    answer: (path: string) => path === "/known" ? plain(200, "héllo") : plain(404, path),
    isKnownHost: (name: string, path: string) =>
      name === "localhost" || name === "::1" || (name === "" && path === "/known"),
  };
  let bytes: Uint8Array | undefined;
  for (let count = 1; count <= parts.length && bytes === undefined; count++) {
    bytes = answerHttp1(new TextEncoder().encode(parts.slice(0, count).join("")), site);
  }
  if (bytes === undefined) return undefined;
  const [head = "", body = ""] = new TextDecoder().decode(bytes).split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), body, head };
}

const host = "host: localhost:8000\r\n";

Deno.test("a request is answered once its head is whole, however it is cut", () => {
  const text = `GET /known?x=1 HTTP/1.1\r\n${host}\r\n`;
  for (let cut = 1; cut < text.length; cut++) {
    assertEquals(ask(text.slice(0, cut)), undefined);
    assertEquals(ask(text.slice(0, cut), text.slice(cut))?.body, "héllo\n");
  }
});

Deno.test("the length is that of the bytes, and HEAD has no body", () => {
  assert(ask(`GET /known HTTP/1.1\r\n${host}\r\n`)?.head.includes("content-length: 7\r\n"));
  const head = ask(`HEAD /known HTTP/1.1\r\n${host}\r\n`);
  assertEquals([head?.body, head?.head.includes("content-length: 7\r\n")], ["", true]);
});

for (
  const [what, request, status] of [
    ["an unknown path", `GET /x HTTP/1.1\r\n${host}\r\n`, 404],
    ["a POST", `POST /known HTTP/1.1\r\n${host}\r\n`, 405],
    ["no request at all", "\u0016\u0003\u0001 tls\r\n\r\n", 400],
    ["another name for the server", "GET /known HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403],
    ["two names for the server", `GET /known HTTP/1.1\r\n${host}Host: evil.example\r\n\r\n`, 403],
    ["no name for the server", "GET /x HTTP/1.0\r\n\r\n", 403],
    ["no name, where the path needs none", "GET /known HTTP/1.0\r\n\r\n", 200],
    ["an empty name, where the path needs none", "GET /known HTTP/1.1\r\nHost:\r\n\r\n", 200],
    ["the greeting of TLS", "\u0016\u0003\u0001", 400],
    ["a zero", "\u0000", 400],
    ["a small letter", "g", 400],
    ["a method without an end", "A".repeat(21), 400],
    ["a preface that goes wrong", "PRI * HTTP/2.0\r\n\r\nno", 400],
    ["an address of IPv6", "GET /known HTTP/1.1\r\nhost: [::1]:80\r\n\r\n", 200],
    ["a head without end", `GET /known HTTP/1.1\r\n${"x: y\r\n".repeat(2000)}`, 431],
  ] as const
) {
  Deno.test(`${what} is answered by ${status}`, () => assertEquals(ask(request)?.status, status));
}
