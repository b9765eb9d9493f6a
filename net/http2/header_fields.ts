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
export interface HeaderList {
  /** All fields by name, pseudo-headers too. Values of one name are joined by ", ", cookies by "; ". */
  readonly fields: ReadonlyMap<string, string>;
  readonly method: string;
  readonly path: string;
  /** The number of `content-length`; -1 if there is none. */
  readonly contentLength: number;
  /** Why the list is no request; "" if it is one. */
  readonly requestFault: string;
  /** Why it can't be trailers; "" if it can. */
  readonly trailerFault: string;
  /** Whether it was larger than the limit. Then `fields` lacks the rest. */
  readonly isTooLarge: boolean;
}

/** Collects the fields of one list. */
export class ListBuilder {
  readonly #sizeMax: number;
  readonly #fields = new Map<string, string>();
  #size = 0;
  #fault = "";
  #hasPseudo = false;
  #hasPlain = false;
  #contentLength = -1;

  /** A builder of lists up to a size. */
  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  /** Adds a field. */
  add(field: HeaderField): void {
    this.#size += field.size;
    if (this.#size > this.#sizeMax) return;
    const { name, value } = field;
    const before = this.#fields.get(name);
    if (field.isMalformed) {
      this.#fault ||= `a field that HTTP/2 forbids: ${name.slice(0, 40)}`;
    } else if (name.startsWith(":")) {
      if (this.#hasPlain) this.#fault ||= `${name} stands after a plain field`;
      if (before !== undefined) this.#fault ||= `${name} stands twice`;
      this.#hasPseudo = true;
    } else {
      this.#hasPlain = true;
    }
    if (name === "content-length") {
      const length = Number(value);
      if (before !== undefined && this.#contentLength !== length) {
        this.#fault ||= "two content-length that differ";
      }
      this.#contentLength = length;
    }
    const between = name === "cookie" ? "; " : ", ";
    this.#fields.set(name, before === undefined ? value : before + between + value);
  }

  /** The list. */
  finish(): HeaderList {
    const isTooLarge = this.#size > this.#sizeMax;
    const fields = this.#fields;
    return {
      fields,
      method: fields.get(":method") ?? "",
      path: fields.get(":path") ?? "",
      contentLength: this.#contentLength,
      requestFault: isTooLarge ? "" : this.#fault || this.#missing(),
      trailerFault: this.#fault || (this.#hasPseudo ? "a pseudo-header in trailers" : ""),
      isTooLarge,
    };
  }

  /** What a request lacks; "" if nothing. CONNECT is no method of this server. */
  #missing(): string {
    for (const name of [":method", ":scheme", ":path"]) {
      if (!this.#fields.get(name)) return `a request needs ${name}`;
    }
    return "";
  }
}
