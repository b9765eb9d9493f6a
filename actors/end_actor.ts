/**
 * Ends an actor in a Worker, whatever the Worker is doing.
 *
 * `worker.terminate()` alone does not do it: Deno ends a Worker only where the Worker awaits something. One that never does goes on
 * recording, and keeps its seat. Revoking its ticket stops it at its next call into the library.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import type { ExperienceReplay } from "../replay/experience_replay.ts";
import type { ShareTicket } from "../replay/share/share_ticket.ts";

/**
 * Ends an actor: revokes its ticket, and terminates its Worker. Call it for an actor that hangs, that failed, or that you replace.
 *
 * When it returns, the actor can do nothing to the replay any more, even if it never awaits. Its open episodes have ended as truncated, as
 * {@linkcode ExperienceReplay.attach} says. Its seat is free once its thread has ended: within moments if it awaits, else at its next call
 * into the library, which throws `revoked` there. No `error` event comes of that. A second call does nothing.
 *
 * Give each actor a ticket of its own: the call ends the access of all Workers that attached by `ticket`. A replay makes at most 4,096.
 *
 * What it does not do:
 *
 * - Steps that wait in the actor's {@linkcode ActorWriter} are lost. To keep them, ask the actor to stop, as `docs/actors.md` shows.
 * - A thread that neither awaits nor calls the library burns its processor core until the program ends, and keeps its seat. So does one
 *   that catches `revoked` and goes on. Only Deno could end such a thread.
 *
 * @param replay The replay that made the ticket, in the thread that started the Worker.
 * @param worker The Worker of the actor.
 * @param ticket The ticket that this actor got, and no other one.
 * @throws {TypeError} If `worker` has no `terminate()`, or `ticket` is not a ticket.
 * @throws {ReplayError} `ticket` if it is another replay's. `disposed` or `busy`. The Worker goes on then.
 * @example A supervisor that replaces an actor
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import { endActor } from "@exrp/replay/actors";
 *
 * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32() });
 * if (replay.describe().backend.startsWith("native")) {
 *   // Yours: new Worker(new URL("./actor.ts", import.meta.url), { type: "module" })
 *   const start = () => {
 *     const worker = new Worker("data:text/javascript,", { type: "module" });
 *     const ticket = replay.share(); // one for each actor
 *     worker.postMessage(ticket);
 *     return { worker, ticket };
 *   };
 *   let { worker, ticket } = start();
 *   using actor = await ExperienceReplay.attach(ticket); // what the Worker does
 *   let episode = actor.newEpisode();
 *   for (let state = 0; state < 5; state++) episode = actor.record(episode, state, 0, 0);
 *
 *   endActor(replay, worker, ticket);
 *   console.log(replay.episode(episode).ending); // truncated
 *   ({ worker, ticket } = start());
 *   endActor(replay, worker, ticket);
 * }
 * ```
 */
export function endActor(
  replay: ExperienceReplay,
  worker: { terminate(): unknown },
  ticket: ShareTicket,
): void {
  if (typeof worker?.terminate !== "function") {
    throw new TypeError(
      `endActor() takes the replay, the Worker and its ticket; the Worker must have terminate(), got ${
        show(worker)
      }`,
    );
  }
  // A ticket that is refused leaves the Worker as it was.
  replay.revoke(ticket);
  worker.terminate();
}
