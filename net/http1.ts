/**
 * The little of HTTP/1.1 that browsers and probes need: one GET, one answer, and the connection ends. Bytes in, bytes out.
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

/** Milliseconds that a request may take to arrive. */
const requestMs = 10_000;

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

/** A connection of HTTP/1.1: one request as its bytes arrive, and its answer. */
export class Http1Connection {
  #head = "";
  #output: Uint8Array<ArrayBuffer> | undefined;
  readonly #answer: (path: string) => Page;
  readonly #isKnownHost: (name: string, path: string) => boolean;
  readonly #onOutput: () => void;
  #openMs = 0;
  /** Whether the request was answered, or nobody waits for an answer. */
  isClosed = false;
  /** Never: an answer is small. */
  readonly isCongested = false;

  /**
   * @param answer Makes the page of a path.
   * @param isKnownHost Whether the server may be called by this name, for this path. A page of another site could else read it by a name of its own
   *   that leads here. The name is empty where the request has none.
   * @param onOutput Is called when the connection ends by itself.
   */
  constructor(
    answer: (path: string) => Page,
    isKnownHost: (name: string, path: string) => boolean,
    onOutput: () => void,
  ) {
    this.#answer = answer;
    this.#isKnownHost = isKnownHost;
    this.#onOutput = onOutput;
  }

  /** For how many milliseconds no whole request came: it is answered as it comes, so it is never open. */
  get idleMs(): number {
    return this.#openMs;
  }

  /** Whether a whole request came. */
  get wasCalled(): boolean {
    return this.isClosed;
  }

  /** Takes some bytes. The answer is in the output once the head is whole. */
  receive(bytes: Uint8Array): void {
    if (this.isClosed) return;
    this.#head += new TextDecoder("latin1").decode(bytes.subarray(0, headBytesMax + 1));
    const end = this.#head.indexOf("\r\n\r\n");
    const isRequest = methodStart.test(this.#head);
    if (isRequest && end < 0 && this.#head.length <= headBytesMax) return;
    this.isClosed = true;
    if (isRequest && (end < 0 || end > headBytesMax)) {
      this.#output = encode(plain(431, `a request has at most ${headBytesMax} bytes`), true);
      return;
    }
    const [line = "", ...fields] = isRequest ? this.#head.slice(0, end).split("\r\n") : [];
    const [, method = "", target = ""] = /^([A-Z]+) (\/\S*) HTTP\/1\.[01]$/.exec(line) ?? [];
    const [path = ""] = target.split("?");
    this.#output = encode(this.#page(method, path, fields), method !== "HEAD");
  }

  /** The answer, once. */
  takeOutput(): Uint8Array<ArrayBuffer> | undefined {
    const output = this.#output;
    this.#output = undefined;
    return output;
  }

  /** Waits for no more bytes. */
  shutDown(): void {
    this.isClosed = true;
  }

  /** The same. */
  close(): void {
    this.isClosed = true;
  }

  /** Ends a request that does not become whole. */
  tick(ms: number): void {
    this.#openMs += ms;
    if (this.isClosed || this.#openMs <= requestMs) return;
    this.isClosed = true;
    this.#onOutput();
  }

  #page(method: string, path: string, fields: readonly string[]): Page {
    if (method === "") return plain(400, "this is no request of HTTP/1.1, and no HTTP/2 either");
    if (method !== "GET" && method !== "HEAD") {
      return plain(405, `${method} is not known here; GET is`);
    }
    const hosts = fields.filter((field) => /^host:/i.test(field));
    const host = hosts[0]?.slice(5).trim() ?? "";
    if (hosts.length > 1 || !this.#isKnownHost(nameOf(host), path)) {
      return plain(403, `this server is not called ${JSON.stringify(host)}`);
    }
    return this.#answer(path);
  }
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
