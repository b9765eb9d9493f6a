/**
 * A program that draws large batches, keeps what shows them in several ways, and lets the engine free the others: what it kept must stay as it
 * was, whoever draws meanwhile. `deno run --v8-flags=--expose-gc … _batch_memory.ts`. In a Worker it draws one batch and gives it away.
 *
 * @module
 */

import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
import { openKernel, takeBuffer } from "../../../ffi/library.ts";
import { pause, until } from "../../_wait.ts";

const scope = globalThis as unknown as {
  readonly name: string;
  gc(): void;
  postMessage(said: unknown, transfer: ArrayBuffer[]): void;
};

const replay = await ExperienceReplay.create({ capacity: 300, state: uint8(84, 84) });
for (let k = 0; k < 200; k++) {
  const state = new Uint8Array(84 * 84).fill(k + 1);
  replay.record(replay.newEpisode(), state, 0, 0, { finalState: state });
}
const selector = replay.newPickSelector(uniform());
let drawn = 0;
/** A batch of 2.8 MB, and then one of 0.4 MB. */
const draw = () => replay.getBatch(drawn++ % 2 === 0 ? 200 : 30, selector);
if (scope.name === "giver") {
  for (let k = 0; k < 20; k++) draw();
  const { buffer } = draw().bytes;
  scope.postMessage(buffer, [buffer as ArrayBuffer]);
} else {
  const kept: Uint8Array[] = [];
  const notes: string[] = [];
  const note = (view: Uint8Array): void => {
    kept.push(view);
    notes.push(sumOf(view));
  };
  for (let turn = 0; turn < 6; turn++) {
    for (let k = 0; k < 12; k++) draw();
    note(draw().state.subarray(1000, 2_000_000));
    note(new Uint8Array(draw().bytes.buffer, 7));
    note(new Uint8Array(structuredClone(draw().bytes.buffer)));
    const { buffer } = draw().bytes;
    note(new Uint8Array(structuredClone(buffer, { transfer: [buffer as ArrayBuffer] })));
    note(new Uint8Array((draw().bytes.buffer as ArrayBuffer).transfer()));
    {
      using batch = draw();
      void batch;
    }
    const worker = new Worker(import.meta.url, { type: "module", name: "giver" });
    const { promise, resolve, reject } = Promise.withResolvers<ArrayBuffer>();
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
    note(new Uint8Array(await promise));
    worker.terminate();
    scope.gc();
    await pause(1);
  }
  if (kept.some((view, k) => sumOf(view) !== notes[k])) throw new Error("a kept batch changed");
  // Once nobody has them, new batches lie where the kept ones were.
  kept.length = 0;
  const kernel = await openKernel();
  await until("the kernel gives memory that was used before", () => {
    scope.gc();
    const buffer = takeBuffer(kernel, draw().bytes.length);
    return buffer !== undefined && new Uint8Array(buffer).some((value) => value !== 0);
  });
  // What was there before shows in no byte of a batch, also between its parts.
  for (let turn = 0; turn < 20; turn++) {
    const batch = draw();
    for (const part of Object.values(batch)) {
      if (part instanceof Uint8Array ? part !== batch.bytes : ArrayBuffer.isView(part)) {
        (part as Uint8Array).fill(0);
      }
    }
    const { length } = batch.bytes;
    const at = batch.bytes.findIndex((value) => value !== 0);
    if (at >= 0) throw new Error(`byte ${at} of ${length} is in no part, and is not zero`);
    batch.bytes.fill(255);
    scope.gc();
    await pause(1);
  }
  console.log(`${notes.length} kept`);
}

/** A sum in which the order counts. */
function sumOf(view: Uint8Array): string {
  let sum = 0;
  for (let at = 0; at < view.length; at += 101) sum = (Math.imul(sum, 31) + (view[at] ?? 0)) | 0;
  return `${view.length} ${sum}`;
}
