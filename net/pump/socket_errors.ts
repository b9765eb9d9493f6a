/**
 * What the errors of sockets mean, be they those of Deno or of `node:net`.
 *
 * @module
 */

/** Why nothing listens at an address, in words that say which and what to do. */
export function listenError(error: unknown, hostname: string, port: number): unknown {
  const { name, code, message } = error as Error & { readonly code?: string };
  // Deno's own words say which permission is missing.
  if (name === "NotCapable") return error;
  const at = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
  let words = `can't listen on ${at}: ${message}`;
  if (code === "EADDRINUSE") {
    words = `another program listens on ${at}; choose another port, or 0 for a free one`;
  } else if (code === "EACCES" && port < 1024) {
    words += "; systems keep ports below 1024 for their administrator, so choose another one";
  } else if (code === "EADDRNOTAVAIL" || /lookup|getaddrinfo|invalid host/.test(message)) {
    words += "; choose an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them";
  }
  return new Error(words, { cause: error });
}

/** Whether an error says that the program, or the system, has as many files and sockets as it may. */
export function isOutOfFiles(error: unknown): boolean {
  const { code } = error as { readonly code?: string };
  return code === "EMFILE" || code === "ENFILE";
}

const leavings = new Set([
  ...["ConnectionReset", "BrokenPipe", "ConnectionAborted", "NotConnected", "BadResource"],
  ...["Interrupted", "UnexpectedEof"],
]);
const leavingCodes = new Set([
  ...["ECONNRESET", "EPIPE", "ECONNABORTED", "ENOTCONN", "ERR_STREAM_PREMATURE_CLOSE"],
]);

/** Whether an error is that of a client that is gone, which is no news. */
export function isLeaving(error: unknown): boolean {
  const { name, code } = error as { readonly name?: string; readonly code?: string };
  return leavings.has(name ?? "") || leavingCodes.has(code ?? "");
}
