/**
 * Agents on many machines: weights for actors, and central inference, over connections of NATS or within one process.
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
