/**
 * Actors that are processes, and a learner that has the replay. Each actor writes its steps in chunks to its standard output. The learner
 * records them, and writes new weights to the actors' standard input.
 *
 * ```sh
 * deno run --allow-ffi --allow-read --allow-run examples/actor_processes.ts
 * ```
 *
 * A socket in the place of a pipe works the same way, also between machines. Actors in threads are simpler and faster: see
 * `docs/actors.md`.
 *
 * @module
 */
import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
import { CartPole } from "@exrp/replay/envs";
import { RandomStream } from "@exrp/replay/selectors";

const ACTORS = 2;
const STEPS = 4_000; // of all actors together
const CHUNK = 50; // steps
const SIZE = CartPole.stateSize;
/** A step as numbers: the state, action, reward, terminated, truncated, and the next state. */
const ROW = 2 * SIZE + 4;

/** A message: its length in bytes, and float32 numbers. */
async function send(
  stream: WritableStreamDefaultWriter<Uint8Array>,
  numbers: Float32Array<ArrayBuffer>,
): Promise<void> {
  await stream.write(new Uint8Array(Uint32Array.of(numbers.byteLength).buffer));
  await stream.write(new Uint8Array(numbers.buffer));
}

/** The messages of a stream. Pieces of a stream are cut anywhere, so they are put together first. */
async function* messages(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<Float32Array<ArrayBuffer>> {
  let bytes = new Uint8Array();
  for await (const piece of stream) {
    const joined = new Uint8Array(bytes.length + piece.length);
    joined.set(bytes);
    joined.set(piece, bytes.length);
    bytes = joined;
    for (;;) {
      const size = bytes.length < 4 ? Infinity : new DataView(bytes.buffer).getUint32(0, true);
      if (bytes.length < 4 + size) break;
      yield new Float32Array(bytes.slice(4, 4 + size).buffer);
      bytes = bytes.slice(4 + size);
    }
  }
}

/** An actor: it follows the newest weights that came, and now and then does something else. */
async function act(seed: number): Promise<void> {
  let weights = new Float32Array(SIZE);
  let isOver = false;
  const listening = (async () => {
    for await (const message of messages(Deno.stdin.readable)) weights = message;
    isOver = true; // the learner closed its end
  })();
  const output = Deno.stdout.writable.getWriter();
  const random = new RandomStream(seed);
  const environment = new CartPole(seed);
  let state = environment.reset();
  while (!isOver) {
    const chunk = new Float32Array(CHUNK * ROW);
    for (let k = 0; k < CHUNK; k++) {
      const lean = state.reduce((sum, each, j) => sum + each * (weights[j] ?? 0), 0);
      const action = random.uniform() < 0.1 || lean === 0 ? random.below(2) : Number(lean > 0);
      const { state: nextState, reward, terminated, truncated } = environment.step(action);
      const flags = [Number(terminated), Number(truncated)];
      chunk.set([...state, action, reward, ...flags, ...nextState], k * ROW);
      state = terminated || truncated ? environment.reset() : nextState;
    }
    await send(output, chunk);
  }
  await listening;
}

/** Columns `from` to `to` of all rows of a chunk. */
function columns(
  chunk: Float32Array<ArrayBuffer>,
  from: number,
  to = from + 1,
): Float32Array<ArrayBuffer> {
  const values = new Float32Array(chunk.length / ROW * (to - from));
  for (let row = 0; row < chunk.length / ROW; row++) {
    values.set(chunk.subarray(row * ROW + from, row * ROW + to), row * (to - from));
  }
  return values;
}

/** The learner. */
async function learn(): Promise<void> {
  using replay = await ExperienceReplay.create({ capacity: 10_000, state: float32(SIZE), seed: 1 });
  const selector = replay.newPickSelector(prioritized());
  const actors = Array.from({ length: ACTORS }, (_, k) =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", import.meta.filename ?? "", "actor", String(k + 1)],
      stdin: "piped",
      stdout: "piped",
    }).spawn());
  let recorded = 0;
  await Promise.all(actors.map(async (actor) => {
    const input = actor.stdin.getWriter();
    let isOpen = true;
    let episode = replay.newEpisode(); // one handle for each actor
    for await (const chunk of messages(actor.stdout)) {
      const result = replay.recordFlat(episode, {
        state: columns(chunk, 0, SIZE),
        action: columns(chunk, SIZE),
        reward: columns(chunk, SIZE + 1),
        terminated: columns(chunk, SIZE + 2),
        truncated: columns(chunk, SIZE + 3),
        nextState: columns(chunk, SIZE + 4, ROW),
      });
      episode = result.episode;
      recorded += result.recordCount;
      // Yours learns from batches. This one only sends the weights of a good rule.
      replay.getBatch(32, selector);
      if (!isOpen) continue;
      isOpen = recorded < STEPS;
      if (isOpen) await send(input, Float32Array.of(0.1, 0.3, 3, 1));
      else await input.close(); // the actor sends what it has, and ends
    }
    await actor.status;
  }));
  const lengths = [...replay.episodes().handle].map((handle) => replay.episode(handle).recordCount);
  console.log(
    `${recorded} steps came from ${ACTORS} processes, in ${lengths.length} episodes of up to ${
      Math.max(...lengths)
    }`,
  );
}

if (Deno.args[0] === "actor") await act(Number(Deno.args[1]));
else await learn();
