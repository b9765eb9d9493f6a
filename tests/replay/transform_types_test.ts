/** The static types of batches follow the transforms. */
import {
  type Batch,
  type Column,
  every,
  ExperienceReplay,
  float32,
  int32,
  uint8,
  uniform,
} from "@exrp/replay";
import {
  centerCrop,
  normalize,
  type PickTransforms,
  randomCrop,
  randomShift,
  scale,
  toFloat16,
  toFloat32,
} from "@exrp/replay/transforms";
import { assertEquals, assertInstanceOf } from "../_assert.ts";

Deno.test("a batch has the typed arrays and the shapes that the last transform gives", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: uint8(8, 8, 3),
    reward: int32(),
    extras: { depth: uint8(8, 8), other: uint8(1), kept: every(2, uint8(3)) },
    pick: {
      stack: 2,
      nStep: [1, 3],
      transform: {
        state: [
          randomShift(1, { channels: "last" }),
          randomCrop(6, 5, { channels: "last" }),
          toFloat32(),
        ],
        reward: [scale(0.1)],
        extras: { depth: [centerCrop(4, 4)], kept: [toFloat16()] },
      },
    },
  });
  const extras = { depth: new Uint8Array(64), other: [7], kept: [1, 2, 3] };
  const finalState = new Uint8Array(192);
  replay.record(replay.newEpisode(), new Uint8Array(192), 0, 5, { finalState, extras });
  const batch = replay.getBatch(2, replay.newPickSelector(uniform()));
  const state: Float32Array<ArrayBuffer> = batch.state;
  const reward: Float32Array<ArrayBuffer> = batch.reward;
  const next: Float32Array<ArrayBuffer> = batch.nStep[1].nextState;
  const depth: Uint8Array<ArrayBuffer> = batch.extras.depth;
  const other: Uint8Array<ArrayBuffer> = batch.extras.other;
  const kept: Float16Array<ArrayBuffer> = batch.extras.kept;
  const shape: readonly [number, number, 2, 6, 5, 3] = batch.shape.state;
  const nextShape: readonly [number, number, 2, 6, 5, 3] = batch.nStep[0].shape.nextState;
  const depthShape: readonly [number, number, 4, 4] = batch.shape.extras.depth;
  const keptShape: readonly [number, 3] = batch.shape.extras.kept;
  // @ts-expect-error: the state is no longer what was stored.
  const stored: Uint8Array<ArrayBuffer> = batch.state;
  assertInstanceOf(stored, Float32Array);
  for (const floats of [state, reward, next]) assertInstanceOf(floats, Float32Array);
  assertEquals([...shape, ...nextShape], [2, 1, 2, 6, 5, 3, 2, 1, 2, 6, 5, 3]);
  assertEquals([...depthShape, ...keptShape], [2, 1, 4, 4, 2, 3]);
  assertEquals([depth.length, other.length, kept.length, next.length], [32, 2, 6, 360]);
});

Deno.test("views have transforms of their own, and what records take stays", async () => {
  using replay = await ExperienceReplay.create({ capacity: 10, state: uint8(2) });
  const view = replay.newPickView({ transform: { state: [normalize()], action: [toFloat16()] } });
  const plain = replay.newPickSelector(uniform());
  const selector = view.newPickSelector(uniform());
  replay.record(replay.newEpisode(), [1, 2], 3, 0, { finalState: [3, 4] });
  const bytes: Uint8Array<ArrayBuffer> = replay.getBatch(1, plain).state;
  const batch = replay.getBatch(1, selector);
  const floats: Float32Array<ArrayBuffer> = batch.state;
  const halves: Float16Array<ArrayBuffer> = batch.action;
  assertEquals([bytes.length, floats.length, [...halves]], [2, 2, [3]]);
  const any: Batch = batch;
  assertEquals(any.size, 1);
  // @ts-expect-error: a batch of one view has no room for that of another.
  const wrong = () => replay.getBatch(1, plain, { into: batch });
  assertEquals(typeof wrong, "function");
});

Deno.test("what TypeScript does not know of transforms makes a column any column", async () => {
  const transform: PickTransforms = { state: [scale(2)] };
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: float32(2),
    pick: { transform },
  });
  replay.record(replay.newEpisode(), [1, 2], 3, 0, { finalState: [3, 4] });
  const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
  const state: ArrayLike<number> = batch.state;
  // @ts-expect-error: it may be any typed array.
  const floats: Float32Array = batch.state;
  assertEquals([...floats], Array.from(state));
});

Deno.test("a function may ask for a batch by what it shows", async () => {
  type Wanted = { state: Column; pick: { shown: { state: Column<"float32", [4, 4]> } } };
  const sum = (batch: Batch<Wanted>): number => batch.state.reduce((a, b) => a + b, 0);
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: uint8(4, 4),
    pick: { transform: { state: [toFloat32({ scale: 0.5 })] } },
  });
  const frame = new Uint8Array(16).fill(3);
  replay.record(replay.newEpisode(), frame, 0, 0, { finalState: frame });
  const batch: unknown = replay.getBatch(1, replay.newPickSelector(uniform()));
  assertEquals(sum(batch as Batch<Wanted>), 24);
});
