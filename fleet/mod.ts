/**
 * What actors on many machines need of a learner: its weights, or its actions.
 *
 * | name | what it does |
 * |---|---|
 * | {@linkcode sendBroadcast}, {@linkcode receiveBroadcast} | bring each version of a `Broadcast` to other machines |
 * | {@linkcode serveInference}, {@linkcode inferenceClient} | one policy acts for the environments of all actors, and records their steps |
 *
 * Messages go over the `Connection` of `@exrp/replay/shards`, which that of NATS is. The guide `docs/fleet.md` shows both.
 *
 * @module
 */

export { type InferenceClient, inferenceClient } from "./inference_client.ts";
export { BroadcastReceiver, receiveBroadcast } from "./receive_broadcast.ts";
export { BroadcastSender, sendBroadcast, type SendBroadcastOptions } from "./send_broadcast.ts";
export { InferenceServer, serveInference } from "./serve_inference.ts";
export type {
  InferenceActions,
  InferenceBatch,
  InferenceClientOptions,
  InferenceStep,
  ServeInferenceOptions,
} from "./types.ts";
