/**
 * The page of durable_test.ts: it hands calls on to its Worker, and tries to open a folder by itself.
 *
 * @module
 */

import { ExperienceReplay, float32 } from "@exrp/replay";

const worker = new Worker(new URL("_durable_worker.js", location.href), { type: "module" });
const waiting: ((answer: object) => void)[] = [];
const said: number[] = [];
worker.onmessage = ({ data }: MessageEvent) => {
  if (data.id === undefined) said.push(data.said);
  else waiting[data.id]?.(data);
};
worker.onerror = ({ message }) => {
  for (const answer of waiting) answer({ error: `the Worker failed: ${message}` });
};

Object.assign(globalThis, {
  said,
  ask: (...values: unknown[]) =>
    new Promise((resolve) => {
      worker.postMessage([waiting.push(resolve) - 1, ...values]);
    }),
  openHere: () =>
    ExperienceReplay.open("here", { capacity: 10, state: float32(1) }).then(
      () => "it was opened",
      (error) => `${error.code}: ${error.message}`,
    ),
});
