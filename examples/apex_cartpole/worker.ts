/**
 * The Worker of an actor: its first message is the job, and it tells the learner of each turn.
 *
 * @module
 */
import { act, type ActorJob, type Turn } from "./actor.ts";

/** What this file uses of a Worker's global scope, which has other types than the main thread's. */
interface Scope {
  onmessage: (message: MessageEvent<ActorJob>) => Promise<void>;
  postMessage(turn: Turn): void;
}

const scope = self as unknown as Scope;
scope.onmessage = ({ data }) => act(data, (turn) => scope.postMessage(turn));
