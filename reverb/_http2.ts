/**
 * `node:http2`, where a platform has it. It is not imported, because bundlers for browsers would look for it.
 *
 * @module
 */

/** The headers of a request or an answer. */
export type Headers = Readonly<Record<string, string | number | undefined>>;

/** What is used of a stream of `node:http2`. The library has its own types for it, so that its users need not have those of Node. */
export interface Http2Stream {
  on(event: "response" | "trailers", listener: (headers: Headers) => void): void;
  on(event: "data", listener: (bytes: Uint8Array) => void): void;
  on(event: "error", listener: (error: Error) => void): void;
  on(event: "close" | "drain", listener: () => void): void;
  write(bytes: Uint8Array): boolean;
  end(): void;
  close(code: number): void;
}

/** What is used of a session of `node:http2`. */
export interface Http2Session {
  on(event: "error" | "goaway", listener: (error: unknown) => void): void;
  on(event: "close" | "connect", listener: () => void): void;
  request(headers: Headers): Http2Stream;
  setLocalWindowSize?(bytes: number): void;
  destroy(): void;
  readonly closed: boolean;
  readonly destroyed: boolean;
}

/** What is used of `node:http2`. */
export interface Http2 {
  connect(
    url: string,
    options: { readonly settings: Readonly<Record<string, unknown>> },
  ): Http2Session;
}
