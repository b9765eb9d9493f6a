/** Transforms on a device make the numbers that those of the replay make, to the bit. */
import { assertEquals } from "../_assert.ts";
import { ExperienceReplay, float32, float64, uniform } from "@exrp/replay";
import { onDevice } from "@exrp/replay/gpu";
import { toFloat16, toFloat32 } from "@exrp/replay/transforms";
import { RandomStream } from "../../selectors/random_stream.ts";
import { newDevice, onGpu } from "./_device.ts";

onGpu.test("a device makes the nearest floats of doubles, as the replay does", async () => {
  using device = await newDevice();
  const random = new RandomStream(64, 1);
  const view = new DataView(new ArrayBuffer(8));
  const numbers = [
    0,
    -0,
    5e-324,
    2 ** -150,
    -(2 ** -149),
    1.5 * 2 ** -149,
    2 ** -126,
    1e39,
    Infinity,
  ];
  while (numbers.length < 4000) {
    // Of all exponents that floats have, and some more. The last bits of most say that two floats are nearly as near.
    const exponent = 860 + random.below(310);
    view.setUint32(0, random.below(2) << 31 | exponent << 20 | random.next() & 0xfffff);
    const ends = [0, 0x10000000, 0x10000001, 0xfffffff];
    view.setUint32(4, random.next() & 0xe0000000 | (ends[random.below(5)] ?? random.next() >>> 3));
    numbers.push(view.getFloat64(0));
  }
  const doubles = Float64Array.from([...numbers, ...Array(6).fill(0)]);
  // What is no number keeps its first bits, and becomes a quiet one.
  new Uint32Array(doubles.buffer, 8 * numbers.length).set([
    ...[0x20000000, 0x7ff80001, 1, 0xfff00000, 0, 0x7ff80000],
    ...[0, 0xfff80000, 0xffffffff, 0x7fffffff, 0x40000000, 0xfff40000],
  ]);
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: float64(doubles.length),
    pick: { transform: { state: [toFloat32()] } },
  });
  replay.record(replay.newEpisode(), doubles, 0, 0, { finalState: doubles });
  const selector = replay.newPickSelector(uniform());
  using gpu = onDevice(replay, device, { columns: ["state"] });
  using batch = await gpu.getBatch(1, selector);
  const state = await batch.state.read() as Float32Array;
  const bits = (of: Float32Array): Uint32Array =>
    new Uint32Array(of.buffer, of.byteOffset, of.length);
  assertEquals(bits(state).subarray(0, numbers.length), bits(Float32Array.from(numbers)));
  assertEquals(bits(replay.getBatch(1, selector).state as unknown as Float32Array), bits(state));
});

onGpu.test("what is no number is one half on a device, as in the replay", async () => {
  using device = await newDevice();
  const numbers = new Float32Array(4);
  new Uint32Array(numbers.buffer).set([0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff]);
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: float32(4),
    pick: { transform: { state: [toFloat16()] } },
  });
  replay.record(replay.newEpisode(), numbers, 0, 0, { finalState: numbers });
  const selector = replay.newPickSelector(uniform());
  using gpu = onDevice(replay, device, { columns: ["state"] });
  using batch = await gpu.getBatch(1, selector);
  const bits = (of: ArrayBufferView): Uint16Array => new Uint16Array(of.buffer, of.byteOffset, 4);
  assertEquals(bits(await batch.state.read()), new Uint16Array(4).fill(0x7e00));
  assertEquals(bits(replay.getBatch(1, selector).state), new Uint16Array(4).fill(0x7e00));
});
