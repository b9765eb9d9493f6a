/// <reference lib="dom" />
/**
 * The page that trains an agent on the browser's device of WebGPU, by the same file as `examples/gpu_pixels/main.ts`. Most of the time it waits for the
 * device, so it needs no worker. The address may name a seed and steps: `gpu.html?seed=2&steps=400`.
 *
 * @module
 */
import { type Seen, train } from "../gpu_pixels/_agent.ts";
import { startOnDevice } from "../gpu_pixels/_jax.ts";
import { SIDE } from "../drq_pixels/_picture_room.ts";
import { ShareChart } from "./_charts.ts";

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element ${id}`);
  return found;
}

/** A whole number from the address, or what is usual. */
function numberOf(name: string, usual: number, max: number): number {
  const text = new URLSearchParams(location.search).get(name) ?? "";
  return /^\d+$/.test(text) && Number(text) <= max ? Number(text) : usual;
}

const state = document.documentElement.dataset;
const seed = numberOf("seed", 1, 1_000_000);
const steps = Math.max(1, numberOf("steps", 1000, 1_000_000));
const chart = new ShareChart(element("curve"), steps);
const context = (element("room") as HTMLCanvasElement).getContext("2d");

/** Draws what the agent sees. */
function draw(picture: Uint8Array): void {
  const pixels = new ImageData(SIDE, SIDE);
  picture.forEach((grey, k) => pixels.data.set([grey, grey, grey, 255], 4 * k));
  context?.putImageData(pixels, 0, 0);
}

function show({ step, picture, loss, evaluations, batchBytes, uploadedBytes }: Seen): void {
  draw(picture);
  const text = (id: string, value: string): void => void (element(id).textContent = value);
  const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
  text("n-step", `${step} of ${steps}`);
  text("n-loss", Number.isNaN(loss) ? "–" : loss.toPrecision(2));
  text("n-batches", mb(batchBytes));
  text("n-uploaded", mb(uploadedBytes));
  const latest = evaluations.at(-1);
  if (latest === undefined || latest.step !== step) return;
  text("n-share", latest.return.toFixed(2));
  const curve = element("curve");
  curve.dataset["evaluations"] = evaluations.map((point) => point.return.toFixed(2)).join(" ");
  curve.ariaLabel = `Learning curve: ${latest.return.toFixed(2)} at step ${latest.step}`;
  chart.draw(evaluations);
}

async function run(): Promise<void> {
  const status = element("status");
  const device = await startOnDevice();
  if (device === undefined) {
    element("problem").hidden = false;
    element("problem").textContent =
      "This browser gives no device of WebGPU. Chrome and Edge have it from version 113 on, Safari from 26 on, and it needs a driver for the GPU.";
    state["state"] = "failed";
    return;
  }
  state["state"] = "training";
  status.textContent =
    `Training, seed ${seed}. The device first compiles its programs, which takes some seconds.`;
  chart.draw([]);
  await train({ device, seed, steps }, show);
  status.textContent = `Done, seed ${seed}.`;
  state["state"] = "done";
}

run().catch((error) => {
  state["state"] = "failed";
  element("problem").hidden = false;
  element("problem").textContent = `Training failed: ${
    error instanceof Error ? error.message : error
  }`;
});
