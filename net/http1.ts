/**
 * The little of HTTP/1.1 that browsers and probes need: one GET, one answer, and the connection ends. Bytes in, bytes out; who has the socket
 * says how long a request may take.
 *
 * Invariants: 1. A request's head has at most `headBytesMax` bytes; more is answered by 431. 2. An answer ends the connection, so nothing
 * of a second request is read. 3. What can't become a request, such as the greeting of TLS, is answered by its first bytes.
 *
 * @module
 */

/** What is answered to a GET. */
export interface Page {
  /** 200, 404 and so on. */
  readonly status: number;
  /** The media type. */
  readonly type: string;
  /** The text. */
  readonly text: string;
}

const headBytesMax = 8192;

/** A method, or the beginning of one. */
const methodStart = /^[A-Z-]{1,20}(?: |$)/;

const reasons: Readonly<Record<number, string>> = {
  200: "OK",
  400: "Bad Request",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  431: "Request Header Fields Too Large",
  503: "Service Unavailable",
};

/** An answer in plain text. */
export function plain(status: number, text: string): Page {
  return { status, type: "text/plain; charset=utf-8", text: `${text}\n` };
}

/** What is said of a server. */
export interface Site {
  /** Makes the page of a path. */
  readonly answer: (path: string) => Page;
  /**
   * Whether the server may be called by this name, for this path. A page of another site could else read it by a name of its own that leads
   * here. The name is empty where the request has none.
   */
  readonly isKnownHost: (name: string, path: string) => boolean;
}

/** The answer to a request, which begins with the first byte of its connection; undefined while it is not whole. */
export function answerHttp1(bytes: Uint8Array, site: Site): Uint8Array<ArrayBuffer> | undefined {
  const text = new TextDecoder("latin1").decode(bytes.subarray(0, headBytesMax + 1));
  const end = text.indexOf("\r\n\r\n");
  const isRequest = methodStart.test(text);
  if (isRequest && end < 0 && text.length <= headBytesMax) return undefined;
  if (isRequest && (end < 0 || end > headBytesMax)) {
    return encode(plain(431, `a request has at most ${headBytesMax} bytes`), true);
  }
  const [line = "", ...fields] = isRequest ? text.slice(0, end).split("\r\n") : [];
  const [, method = "", target = ""] = /^([A-Z]+) (\/\S*) HTTP\/1\.[01]$/.exec(line) ?? [];
  const [path = ""] = target.split("?");
  return encode(pageOf(site, method, path, fields), method !== "HEAD");
}

function pageOf(site: Site, method: string, path: string, fields: readonly string[]): Page {
  if (method === "") return plain(400, "this is no request of HTTP/1.1, and no HTTP/2 either");
  if (method !== "GET" && method !== "HEAD") {
    return plain(405, `${method} is not known here; GET is`);
  }
  const hosts = fields.filter((field) => /^host:/i.test(field));
  const host = hosts[0]?.slice(5).trim() ?? "";
  if (hosts.length > 1 || !site.isKnownHost(nameOf(host), path)) {
    return plain(403, `this server is not called ${JSON.stringify(host)}`);
  }
  return site.answer(path);
}

/** A host without its port and the brackets of IPv6. */
function nameOf(host: string): string {
  return host.replace(/:\d+$/, "").replace(/^\[|\]$/g, "").toLowerCase();
}

/** An answer as bytes. */
function encode({ status, type, text }: Page, hasBody: boolean): Uint8Array<ArrayBuffer> {
  const head = [
    `HTTP/1.1 ${status} ${reasons[status] ?? "Status"}`,
    `content-type: ${type}`,
    `content-length: ${new TextEncoder().encode(text).length}`,
    ...status === 405 ? ["allow: GET, HEAD"] : [],
    "cache-control: no-store",
    "x-content-type-options: nosniff",
    "content-security-policy: default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    "connection: close",
  ];
  return new TextEncoder().encode(`${head.join("\r\n")}\r\n\r\n${hasBody ? text : ""}`);
}
