/**
 * An actor of `soak.ts`, in a Worker: it plays a picture in which things move, and records each step with a first priority.
 *
 * @module
 */
import { ExperienceReplay, float32, ReplayError, uint8 } from "@exrp/replay";
import { absoluteTdError, ActorWriter, Broadcast, type BroadcastTicket } from "@exrp/replay/actors";
import { RandomStream } from "@exrp/replay/selectors";
import type { ShareTicket } from "@exrp/replay/types";

/** How fast an actor plays: the load, and so the memory, does not follow what else the machine does. */
const STEPS_PER_SECOND = 1000;

/** The side of a picture. */
export const SIDE = 84;

/** The columns and the picks of the pool. */
export const SCHEMA = {
  state: { image: uint8(SIDE, SIDE), body: float32(8) },
  pick: { nStep: 3, stack: { image: 4 } },
} as const;

/** What an actor reads of its learner: whether it should stop. */
export type Published = { stop: Uint8Array<ArrayBuffer> };

/** What an actor gets as its first message. */
export interface Job {
  readonly replay: ShareTicket<typeof SCHEMA>;
  readonly broadcast: BroadcastTicket<Published>;
  readonly seed: number;
}

// The types of a Worker's global scope are not those of the main thread's.
const worker = globalThis as unknown as {
  onmessage: (message: MessageEvent<Job>) => Promise<void>;
  postMessage(message: unknown): void;
};

worker.onmessage = async ({ data }): Promise<void> => {
  try {
    await act(data);
    worker.postMessage("done");
  } catch (error) {
    // The learner has ended this actor.
    if (!(error instanceof ReplayError && error.code === "revoked")) throw error;
  }
};

async function act({ replay: ticket, broadcast, seed }: Job): Promise<void> {
  using replay = await ExperienceReplay.attach(ticket, SCHEMA);
  const writer = new ActorWriter(replay, {
    flushSteps: 32,
    priority: absoluteTdError,
    tag: seed % 5,
  });
  const learner = Broadcast.attach(broadcast);
  const random = new RandomStream(seed, 1);
  const background = new Uint8Array(SIDE * SIDE);
  /** Three things, each a square of 6 pixels. */
  const at = new Float64Array(6);
  const speed = new Float64Array(6);

  const begin = (): void => {
    const [tile, shade] = [4 + random.below(12), random.below(200)];
    for (let k = 0; k < background.length; k++) {
      const [row, column] = [Math.floor(k / SIDE), k % SIDE];
      background[k] = shade + 5 * ((Math.floor(row / tile) + Math.floor(column / tile)) % 8);
    }
    for (let k = 0; k < 6; k++) {
      at[k] = random.uniform() * (SIDE - 6);
      speed[k] = 4 * random.uniform() - 2;
    }
  };
  const newState = (): { image: Uint8Array<ArrayBuffer>; body: Float32Array<ArrayBuffer> } => ({
    image: new Uint8Array(SIDE * SIDE),
    body: new Float32Array(8),
  });
  // A state and the next one take turns: new arrays would soon be most of the memory that is watched.
  let [other, moved] = [newState(), newState()];
  const move = (): ReturnType<typeof newState> => {
    [other, moved] = [moved, other];
    const { image, body } = moved;
    image.set(background);
    for (let k = 0; k < 6; k++) {
      at[k] = (at[k] ?? 0) + (speed[k] ?? 0);
      if ((at[k] ?? 0) < 0 || (at[k] ?? 0) > SIDE - 6) {
        speed[k] = -(speed[k] ?? 0);
        at[k] = Math.min(SIDE - 6, Math.max(0, at[k] ?? 0));
      }
    }
    for (let thing = 0; thing < 6; thing += 2) {
      const [row, column] = [Math.floor(at[thing] ?? 0), Math.floor(at[thing + 1] ?? 0)];
      for (let y = 0; y < 6; y++) {
        image.fill(250 - thing, (row + y) * SIDE + column, (row + y) * SIDE + column + 6);
      }
    }
    body.set(at);
    body[6] = random.uniform();
    body[7] = random.uniform();
    return moved;
  };

  begin();
  let state = move();
  let left = 1 + random.below(1000);
  const begun = performance.now();
  let steps = 0;
  while (learner.read().arrays.stop[0] === 0) {
    const nextState = move();
    if (writer.isFull) await writer.flushWhenReady();
    if (++steps % 32 === 0) {
      const ahead = begun + 1000 * steps / STEPS_PER_SECOND - performance.now();
      if (ahead > 0) await new Promise((resolve) => setTimeout(resolve, ahead));
    }
    left--;
    const isTruncated = left === 0 && random.below(4) === 0;
    writer.step({
      ...{ state, nextState, action: random.below(6), reward: random.uniform() },
      terminated: left === 0 && !isTruncated,
      truncated: isTruncated,
      value: random.uniform(),
      stateValue: random.uniform(),
      nextStateValue: isTruncated ? random.uniform() : undefined,
    });
    state = nextState;
    if (left > 0) continue;
    begin();
    state = move();
    // Many short episodes, and some long ones.
    left = 1 + random.below(random.below(3) === 0 ? 1000 : 30);
  }
  await writer.close();
}
