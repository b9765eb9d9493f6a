/** console.log shows each public object as one line. */
import { assertStrictEquals } from "../_assert.ts";
import { inspect } from "node:util";
import { every, ExperienceReplay, float32, mixture, uint8, uniform } from "@exrp/replay";

/** Deno's text, when Node's is the same. */
function seen(value: unknown): string {
  const text = Deno.inspect(value);
  assertStrictEquals(inspect(value), text);
  return text;
}

Deno.test("columns, selectors, pick views, batches and what is drained show as one line", async () => {
  const replay = await ExperienceReplay.create({
    capacity: 100,
    state: uint8(8, 8),
    extras: { logProb: float32(), memory: every(4, float32(2)) },
    pick: { length: 2, allowShort: true },
  });
  const selector = replay.newPickSelector(uniform());
  const table = replay.newPickView({ length: 3, stride: 2 });
  const mixed = table.newPickSelector(mixture([{ rule: uniform(), share: 1 }]));
  const extras = { logProb: 0, memory: [1, 2] };
  const end = { extras, finalState: new Uint8Array(64) };
  replay.record(replay.newEpisode(), new Uint8Array(64), 1, 1, end);
  const batch = replay.getBatch(5, selector);
  const columns = "state: uint8[5,2,8,8], action: int32[5,2], reward: float32[5,2], " +
    "logProb: float32[5,2], memory: float32[5,2]";

  assertStrictEquals(seen(uint8(8, 8)), "uint8(8, 8)");
  assertStrictEquals(seen(every(4, float32(2))), "every(4, float32(2))");
  assertStrictEquals(seen({ state: uint8(3) }), "{ state: uint8(3) }");
  assertStrictEquals(seen(selector), "Selector 0: uniform on pick view 0");
  assertStrictEquals(seen(mixed), "Selector 2: mixture of selectors 1 on pick view 1");
  assertStrictEquals(seen(table), "PickView 1: 0 picks of length 3, stride 2");
  assertStrictEquals(seen(batch), `Batch 5×2 { ${columns} }`);
  const drained = replay.drain();
  for (const minibatch of drained.minibatches(4, { own: { advantage: new Float32Array(1) } })) {
    assertStrictEquals(
      seen(minibatch),
      "Minibatch 1 step of epoch 0 { state: uint8[1,8,8], action: int32[1], reward: float32[1], " +
        "logProb: float32[1], memory: float32[1,2] } own { advantage: float32[1] }",
    );
  }
  assertStrictEquals(
    seen(drained),
    "Drained 1 step in 1 segment { state: uint8[1,8,8], action: int32[1], reward: float32[1], " +
      "logProb: float32[1], memory: float32[1,2] }",
  );

  // Looking never throws: of what is gone, or is no such object at all.
  batch[Symbol.dispose]();
  assertStrictEquals(seen(batch), `Batch 5×2 (handed back) { ${columns} }`);
  replay[Symbol.dispose]();
  assertStrictEquals(seen(table), "PickView 1: picks of length 3, stride 2");
  for (const value of [batch, table, selector, uint8(1)]) {
    const impostor = Object.create(Object.getPrototypeOf(value));
    assertStrictEquals(typeof seen(impostor), "string");
  }
});

Deno.test("hindsight shows as one line", async () => {
  const extras = { achieved: float32(), desired: float32() };
  using replay = await ExperienceReplay.create({ capacity: 10, state: float32(), extras });
  const hindsight = replay.newHindsight({
    achieved: "achieved",
    desired: "desired",
    share: 0.5,
    reward: (achieved) => achieved,
  });
  assertStrictEquals(seen(hindsight), "Hindsight: strategy future, share 0.5");
  assertStrictEquals(typeof seen(Object.create(Object.getPrototypeOf(hindsight))), "string");
});
