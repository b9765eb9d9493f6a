/**
 * Fields of HTTP headers: what may stand in them (RFC 9113, section 8.2), and the list of a request.
 *
 * A field is checked once, when it is read. Fields of the tables of HPACK carry the result with them.
 *
 * @module
 */

/** A field of a header list. */
export interface HeaderField {
  readonly name: string;
  readonly value: string;
  /** Its size as RFC 7541, section 4.1 counts it. */
  readonly size: number;
  /** Whether its name or value is none that HTTP/2 allows in a request. */
  readonly isMalformed: boolean;
}

/** The letters of a token (RFC 9110, section 5.6.2), without upper case. */
const nameLetters = /^[-!#$%&'*+.^_`|~0-9a-z]+$/;
/** NUL, line feed and carriage return must not come; nor a space or tab at either end. */
const badValue = /[\0\n\r]|^[ \t]|[ \t]$/;

const pseudoFields: ReadonlySet<string> = new Set([":method", ":scheme", ":path", ":authority"]);
/** Fields that speak of an HTTP/1.1 connection (section 8.2.2). */
const connectionFields: ReadonlySet<string> = new Set(
  ["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"],
);

function isAllowed(name: string, value: string): boolean {
  if (badValue.test(value)) return false;
  if (name.startsWith(":")) return pseudoFields.has(name);
  if (!nameLetters.test(name) || connectionFields.has(name)) return false;
  if (name === "content-length") return /^\d{1,15}$/.test(value);
  return name !== "te" || value === "trailers";
}

/** Makes a field, and checks it. Each letter of the texts is one byte. */
export function makeField(name: string, value: string): HeaderField {
  const size = name.length + value.length + 32;
  return { name, value, size, isMalformed: !isAllowed(name, value) };
}

/** The headers of a request, or the trailers after it. */
export class HeaderList {
  /**
   * All fields by name, pseudo-headers too. Values of one name are joined by ", ", cookies by "; ". A list that is too large lacks the
   * rest.
   */
  readonly fields: Map<string, string> = new Map();
  /** The number of `content-length`; -1 if there is none. */
  contentLength = -1;
  readonly #sizeMax: number;
  #size = 0;
  #isMalformed = false;
  #hasPseudo = false;
  #hasPlain = false;

  /** A list of no fields, for those up to a size. */
  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  /** Adds a field. */
  add({ name, value, size, isMalformed }: HeaderField): void {
    this.#size += size;
    if (this.isTooLarge) return;
    const before = this.fields.get(name);
    const isPseudo = name.startsWith(":");
    const isTwice = before !== undefined && (isPseudo || name === "content-length");
    this.#isMalformed ||= isMalformed || isTwice || (isPseudo && this.#hasPlain);
    this.#hasPseudo ||= isPseudo;
    this.#hasPlain ||= !isPseudo;
    if (name === "content-length") this.contentLength = Number(value);
    const between = name === "cookie" ? "; " : ", ";
    this.fields.set(name, before === undefined ? value : before + between + value);
  }

  /** `:method`; "" if there is none. */
  get method(): string {
    return this.fields.get(":method") ?? "";
  }

  /** `:path`; "" if there is none. */
  get path(): string {
    return this.fields.get(":path") ?? "";
  }

  /** Whether it was larger than the limit. */
  get isTooLarge(): boolean {
    return this.#size > this.#sizeMax;
  }

  /** Whether it is a request, as far as it was kept. CONNECT is no method of this server, so all of them have a path. */
  get isRequest(): boolean {
    const isWhole = [":method", ":scheme", ":path"].every((name) => this.fields.get(name));
    return this.isTooLarge || (isWhole && !this.#isMalformed);
  }

  /** Whether it may be trailers. */
  get isTrailers(): boolean {
    return !this.#isMalformed && !this.#hasPseudo;
  }
}
