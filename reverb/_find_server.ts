/**
 * Finds a server that has not started yet, or whose places are all taken.
 *
 * @module
 */
import { waitFor } from "./channel.ts";
import { ReverbError } from "./errors.ts";
import type { WaitLimits } from "./writer_options.ts";

/** The first pause between two tries to connect, and the longest. Each is twice as long as the one before, or half the time that is left. */
const FIRST_PAUSE_MS = 20;
const LAST_PAUSE_MS = 500;

/** What asks a server for its tables. */
export interface Asking {
  readonly address: string;
  serverInfo(options: WaitLimits): Promise<unknown>;
}

/** Asks for the tables until a server answers. */
export async function findServer(
  where: string,
  client: Asking,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<void> {
  const start = performance.now();
  const left = (): number => timeoutMs - (performance.now() - start);
  let lost: ReverbError | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  for (let tries = 1;; tries++) {
    const tryMs = Math.max(left(), 0);
    try {
      await client.serverInfo({ timeoutMs: tryMs, ...(signal === undefined ? {} : { signal }) });
      return;
    } catch (error) {
      if (!(error instanceof ReverbError)) throw error;
      const isLate = error.code === "deadline-exceeded";
      if (!isLate && error.code !== "unavailable") throw error;
      if (!isLate) lost = error;
      // A short try says nothing of the server.
      else if (tryMs > LAST_PAUSE_MS) lost = undefined;
      if (isLate || left() <= FIRST_PAUSE_MS) {
        if (lost === undefined) {
          const words =
            `${where} took longer than ${timeoutMs} ms: ${client.address} neither answers nor refuses`;
          throw new ReverbError("deadline-exceeded", words);
        }
        const times = tries === 1 ? "once" : `${tries} times`;
        const words = `${where} tried ${times} within ${timeoutMs} ms; ${lost.message}`;
        throw new ReverbError("unavailable", words, { cause: lost });
      }
    }
    await delay(Math.min(pauseMs, left() / 2), signal);
    pauseMs = Math.min(2 * pauseMs, LAST_PAUSE_MS);
  }
}

function delay(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return waitFor<void>("", { signal }, (resolve) => {
    const timer = setTimeout(resolve, ms);
    return () => clearTimeout(timer);
  });
}
