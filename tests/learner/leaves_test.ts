/** A state of several leaves goes through every reader and writer: of a replay, of a table, and of a server's table. */
import { ExperienceReplay, float32, uint8, uniform } from "../../mod.ts";
import {
  type ReplayReader,
  replayReader,
  type ReplayWriter,
  replayWriter,
  tableReader,
  tableWriter,
} from "../../learner/mod.ts";
import { ReverbClient } from "../../reverb/mod.ts";
import { serve } from "../../server/mod.ts";
import { Tables } from "../../tables/mod.ts";
import { assertEquals, assertRejects, assertThrows } from "../_assert.ts";

const columns = { state: { view: [uint8(2), float32()], speed: float32(3) } } as const;
type Steps = { state: typeof columns.state };

function stateAt(time: number): { view: [number[], number]; speed: number[] } {
  return { view: [[time, time + 1], time / 2], speed: [time, 0, -time] };
}

async function goThrough(
  reader: ReplayReader<Steps>,
  writer: ReplayWriter<Steps>,
): Promise<void> {
  for (let time = 0; time < 5; time++) {
    await writer.append({
      state: stateAt(time),
      action: time,
      reward: 1,
      nextState: stateAt(time + 1),
      terminated: time === 4,
    });
  }
  await assertRejects(
    () =>
      writer.append({
        state: { view: stateAt(0).view, speed: [1] },
        action: 0,
        reward: 0,
        nextState: stateAt(0),
        terminated: false,
      }),
    RangeError,
    "state.speed is float32(3) and takes 3 values, got 1",
  );
  await writer.flush();
  const batch = await reader.getBatch(16);
  const bytes: Uint8Array<ArrayBuffer> = batch.state.view[0];
  const speed: Float32Array<ArrayBuffer> = batch.nextState.speed;
  assertEquals(batch.shape.state, { view: [[16, 2], [16]], speed: [16, 3] });
  assertEquals(batch.shape.nextState, batch.shape.state);
  for (const [k, time] of batch.action.entries()) {
    const later = Math.min(5, time + 2);
    assertEquals([...bytes.subarray(2 * k, 2 * k + 2)], [time, time + 1]);
    assertEquals([...batch.state.speed.subarray(3 * k, 3 * k + 3)], [time, 0, -time]);
    assertEquals([...speed.subarray(3 * k, 3 * k + 3)], [later, 0, -later]);
    assertEquals(batch.nextState.view[1][k], later / 2);
  }
  await writer.close();
  await reader.close();
}

Deno.test("leaves of a state: a replay", async () => {
  using replay = await ExperienceReplay.create({ ...columns, capacity: 9, pick: { nStep: 2 } });
  const selector = replay.newPickSelector(uniform());
  await goThrough(replayReader(replay, selector), replayWriter(replay, { flushSteps: 2 }));
  const without = { nStep: 2, nextState: { speed: false } } as const;
  const view = replay.newPickView(without).newPickSelector(uniform());
  assertThrows(
    () => replayReader(replay, view),
    TypeError,
    "the selector's pick view must have next states of all leaves",
  );
});

Deno.test("leaves of a state: a table", async () => {
  using tables = await Tables.create({ tables: { steps: { maxSize: 99 } } });
  await goThrough(
    tableReader(tables, "steps", columns),
    tableWriter(tables, "steps", columns, { nStep: 2 }),
  );
  const plain = tableReader(tables, "steps", { state: float32(3) });
  await assertRejects(
    () => plain.getBatch(1),
    TypeError,
    "the table's items must have the columns action, discount, nextState, reward, state; got",
  );
});

Deno.test("leaves of a state: a server", async () => {
  using tables = await Tables.create({ tables: { steps: { maxSize: 99 } } });
  await using server = await serve({ tables });
  await using client = await ReverbClient.connect(server.address);
  await goThrough(
    tableReader(client, "steps", columns),
    tableWriter(client, "steps", columns, { nStep: 2 }),
  );
});
