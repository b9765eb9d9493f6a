/**
 * Fields of HTTP headers: what may stand in them (RFC 9113, section 8.2), and the list of a request.
 *
 * A field is checked once, when it is read. Fields of the tables of HPACK carry the result with them.
 *
 * @module
 */

/** What a field is for a request. */
export const FieldKind = {
  plain: 0,
  method: 1,
  scheme: 2,
  path: 3,
  authority: 4,
  contentLength: 5,
  cookie: 6,
  /** A name or value that HTTP/2 does not allow, or a pseudo-header that no request has. */
  malformed: 7,
} as const;

/** A field of a header list. */
export interface HeaderField {
  readonly name: string;
  readonly value: string;
  /** Its size as RFC 7541, section 4.1 counts it. */
  readonly size: number;
  /** One of `FieldKind`. */
  readonly kind: number;
}

/** The letters of a token (RFC 9110, section 5.6.2), without upper case. */
const nameLetters = /^[-!#$%&'*+.^_`|~0-9a-z]+$/;
/** NUL, line feed and carriage return must not come; nor a space or tab at either end. */
const badValue = /[\0\n\r]|^[ \t]|[ \t]$/;

const pseudoKinds: ReadonlyMap<string, number> = new Map([
  [":method", FieldKind.method],
  [":scheme", FieldKind.scheme],
  [":path", FieldKind.path],
  [":authority", FieldKind.authority],
]);
/** Fields that speak of an HTTP/1.1 connection (section 8.2.2). */
const connectionFields: ReadonlySet<string> = new Set(
  ["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"],
);

function kindOf(name: string, value: string): number {
  if (badValue.test(value)) return FieldKind.malformed;
  if (name.startsWith(":")) return pseudoKinds.get(name) ?? FieldKind.malformed;
  if (!nameLetters.test(name) || connectionFields.has(name)) return FieldKind.malformed;
  if (name === "content-length") {
    return /^\d{1,15}$/.test(value) ? FieldKind.contentLength : FieldKind.malformed;
  }
  if (name === "te") return value === "trailers" ? FieldKind.plain : FieldKind.malformed;
  return name === "cookie" ? FieldKind.cookie : FieldKind.plain;
}

/** Makes a field, and checks it. Each letter of the texts is one byte. */
export function makeField(name: string, value: string): HeaderField {
  return { name, value, size: name.length + value.length + 32, kind: kindOf(name, value) };
}

/** The headers of a request, or the trailers after it. They may be shared by requests, so nobody changes them. */
export interface HeaderList {
  /** All fields by name, pseudo-headers too. Values of one name are joined by ", ", cookies by "; ". */
  readonly fields: ReadonlyMap<string, string>;
  readonly method: string;
  readonly path: string;
  /** The number of `content-length`; -1 if there is none. */
  readonly contentLength: number;
  /** Whether it has pseudo-headers. */
  readonly hasPseudo: boolean;
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
  #fields = new Map<string, string>();
  #size = 0;
  #fault = "";
  #pseudo = 0;
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
    const { name, value, kind } = field;
    if (kind === FieldKind.plain) {
      this.#hasPlain = true;
    } else if (kind <= FieldKind.authority) {
      if (this.#hasPlain) this.#fault ||= `${name} stands after a plain field`;
      if ((this.#pseudo & (1 << kind)) !== 0) this.#fault ||= `${name} stands twice`;
      this.#pseudo |= 1 << kind;
    } else {
      this.#hasPlain = true;
      if (kind === FieldKind.malformed) {
        this.#fault ||= `a field that HTTP/2 forbids: ${name.slice(0, 40)}`;
      } else if (kind === FieldKind.contentLength) {
        const length = Number(value);
        if (this.#contentLength >= 0 && this.#contentLength !== length) {
          this.#fault ||= "two content-length that differ";
        }
        this.#contentLength = length;
      }
    }
    const before = this.#fields.get(name);
    const between = kind === FieldKind.cookie ? "; " : ", ";
    this.#fields.set(name, before === undefined ? value : before + between + value);
  }

  /** The list. The builder is ready for the next one. */
  finish(): HeaderList {
    const isTooLarge = this.#size > this.#sizeMax;
    const fields = this.#fields;
    const list: HeaderList = {
      fields,
      method: fields.get(":method") ?? "",
      path: fields.get(":path") ?? "",
      contentLength: this.#contentLength,
      hasPseudo: this.#pseudo !== 0,
      requestFault: isTooLarge ? "" : this.#fault || this.#missing(),
      trailerFault: this.#fault || (this.#pseudo === 0 ? "" : "a pseudo-header in trailers"),
      isTooLarge,
    };
    this.#fields = new Map();
    this.#size = 0;
    this.#fault = "";
    this.#pseudo = 0;
    this.#hasPlain = false;
    this.#contentLength = -1;
    return list;
  }

  /** What a request lacks; "" if nothing. CONNECT is no method of this server. */
  #missing(): string {
    for (const name of [":method", ":scheme", ":path"]) {
      if (!this.#fields.get(name)) return `a request needs ${name}`;
    }
    return "";
  }
}
