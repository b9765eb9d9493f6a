/** A Worker that shares a bell and words with the test: it answers each step that the test makes. */
import { SharedBell } from "../../base/bell.ts";
import { pause } from "../_wait.ts";

interface Task {
  readonly memory: SharedArrayBuffer;
  readonly words: SharedArrayBuffer;
  /** How many steps to answer. */
  readonly steps: number;
  /** How long to wait for a ring before the next look, in ms. */
  readonly netMs: number;
  /** Whether to end between the last change and its ring. */
  readonly endsEarly: boolean;
}

// The types of a Worker's global scope are not those of the main thread's.
const worker = globalThis as unknown as {
  onmessage: (message: MessageEvent<Task>) => Promise<void>;
  close(): void;
};

worker.onmessage = async ({ data }) => {
  SharedBell.netMs = data.netMs;
  const bell = new SharedBell(data.memory);
  const words = new Int32Array(data.words);
  const ear = bell.listen();
  for (let step = 1; step <= data.steps; step++) {
    for (;;) {
      ear.ready();
      if (Atomics.load(words, 0) >= step) break;
      const heard = ear.heard();
      // It waits for this step now.
      Atomics.store(words, 2, step);
      await heard;
    }
    const endsNow = data.endsEarly && step === data.steps;
    // So that the other thread waits by then.
    if (endsNow) await pause(20);
    Atomics.store(words, 1, step);
    if (endsNow) break;
    if (bell.isHeard) bell.ring();
  }
  ear.close();
  worker.close();
};
