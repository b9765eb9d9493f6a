/**
 * What actors in threads of their own need.
 *
 * | name | what it does |
 * |---|---|
 * | {@linkcode ActorWriter} | records an actor's steps in chunks, with first priorities |
 * | {@linkcode Broadcast} | takes weights from the learner to the actors |
 * | {@linkcode endActor} | ends an actor, also one that never awaits |
 *
 * The guide `docs/actors.md` says which to use when.
 *
 * @example A learner publishes weights, and an actor reads them
 * ```ts
 * import { Broadcast } from "@exrp/replay/actors";
 *
 * const broadcast = Broadcast.create({ weights: new Float32Array(2) });
 * const reader = Broadcast.attach(broadcast.ticket); // in a Worker, which gets the ticket as a message
 * broadcast.publish({ weights: Float32Array.of(1, 2) });
 * console.log([...reader.read().arrays.weights]); // [1, 2]
 * ```
 *
 * @module
 */

export { absoluteTdError } from "./actor_steps.ts";
export type { ActorNStep, ActorSteps } from "./actor_steps.ts";
export { ActorWriter } from "./actor_writer.ts";
export type { ActorBatch, ActorStep, ActorWriterOptions } from "./actor_options.ts";
export { Broadcast } from "./broadcast.ts";
export type {
  BroadcastArray,
  BroadcastArrays,
  BroadcastRead,
  BroadcastTicket,
} from "./broadcast.ts";
export { endActor } from "./end_actor.ts";
