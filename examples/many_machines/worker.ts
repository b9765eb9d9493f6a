/**
 * The Worker of an actor.
 *
 * @module
 */
import { act, type ActorJob } from "./actor.ts";
import { threadConnection } from "./_thread_connection.ts";

const scope = self as unknown as { onmessage: (message: MessageEvent<Job>) => Promise<void> };

/** What the Worker gets as its first message. */
export type Job = ActorJob & { readonly channel: string };

scope.onmessage = async ({ data: { channel, ...job } }) => {
  await act(threadConnection(channel), job, new AbortController().signal);
  self.close();
};
