/** Items are compared with what the server says of its tables, before they are sent. */
import { assertEquals, assertRejects } from "../_assert.ts";
import {
  type ColumnHistory,
  ReverbError,
  type StepData,
  tensor,
  type TrajectoryWriter,
} from "../../reverb/mod.ts";
import { flatSignature } from "../../reverb/check_item.ts";
import { newTrajectoryWriter } from "../../reverb/trajectory_writer.ts";
import { doorTo, FakeChannel } from "./_fake_channel.ts";

interface Step {
  readonly state: Float32Array;
  readonly reward: number;
}

const step = (k: number): Step => ({ state: Float32Array.of(k, -k), reward: k });

Deno.test("items are compared with the table's signature", async () => {
  const channel = new FakeChannel();
  const signatures = new Map([
    ["t", flatSignature([{ dtype: "float32", shape: [null, 2] }, { dtype: "float64", shape: [] }])],
    ["free", undefined],
  ]);
  const writer = newTrajectoryWriter<Step>(doorTo(channel, signatures), { numKeepAliveRefs: 4 });
  writer.append(step(1));
  writer.append(step(2));
  const { state, reward } = writer.history;
  await writer.createItem("t", 1, [state.slice(-2), reward.at(-1)]);
  await writer.createItem("free", 1, [reward.at(-1)]);
  const refused: [Parameters<typeof writer.createItem>[2], string][] = [
    [[state.slice(-2)], 'items of table "t" have 2 columns (0, 1), got 1 (0)'],
    [
      [state.slice(-2), reward.slice(-1)],
      'column 1 of table "t" is float64 of shape [], got float64 of shape [1]',
    ],
    [[reward.slice(-2), reward.at(-1)], "column 0"],
  ];
  for (const [columns, words] of refused) {
    await assertRejects(() => writer.createItem("t", 1, columns), TypeError, words);
  }
  await assertRejects(
    () => writer.createItem("x", 1, [reward.at(-1)]),
    ReverbError,
    'no table "x"; it has "free", "t"',
  );
  await writer.flush();
  assertEquals(channel.items.length, 2);
  await writer.close();
});

Deno.test("an item that does not fit names the column, and both ways to another dtype work", async () => {
  const channel = new FakeChannel();
  const signature = flatSignature({
    obs: { dtype: "float32", shape: [null, 2] },
    act: { dtype: "int32", shape: [null] },
  });
  const door = doorTo(channel, new Map([["t", signature]]));
  const make = (): TrajectoryWriter<StepData> =>
    newTrajectoryWriter<StepData>(door, { numKeepAliveRefs: 4 });
  const item = (writer: TrajectoryWriter<StepData>, names: readonly string[]): Promise<void> => {
    const history = writer.history as unknown as Record<string, ColumnHistory>;
    const parts = names.map((name) => [name, history[name]?.slice(-1)]);
    return writer.createItem("t", 1, Object.fromEntries(parts));
  };
  const obs = Float32Array.of(1, 2);
  const writer = make();
  writer.append({ obs, act: 3, extra: 4 });
  await assertRejects(
    () => item(writer, ["obs", "act"]),
    TypeError,
    'createItem(): column "act" of table "t" is int32 of shape [any], got float64 of shape [1]; give tensor(x, { dtype: "int32" }), or call writer.configure([…], { dtype: "int32" }) before',
  );
  await assertRejects(
    () => item(writer, ["obs", "act", "extra"]),
    TypeError,
    'items of table "t" have 2 columns (act, obs), got 3 (act, extra, obs)',
  );
  const [one, other] = [make(), make()];
  one.append({ obs, act: tensor(3, { dtype: "int32" }) });
  await item(one, ["obs", "act"]);
  other.configure(["act"], { dtype: "int32" });
  other.append({ obs, act: 3 });
  await item(other, ["obs", "act"]);
  await other.flush();
  assertEquals(channel.items.map((sent) => channel.values(sent)[0]), [[3], [3]]);
});
