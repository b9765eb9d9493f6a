/** The configuration file of `deno task shard`. */
import { assertEquals, assertThrows } from "../_assert.ts";
import { readShardConfig } from "../../shards/config.ts";
import { checkCreateOptions } from "../../schema/create_options.ts";

Deno.test("a file says what the replay is, with columns as texts", () => {
  const { replay, selectors, nats, ...others } = readShardConfig(`{
    "name": "a", "directory": "r", "flushIntervalMs": 20, "nats": { "servers": "x:1", "user": "u" },
    "replay": {
      "capacity": 10, "state": { "image": "uint8(84, 84)", "speed": "float32( )" }, "action": "float32(6)",
      "extras": { "logProb": "float32()", "hidden": "every( 4 ,float32(8))" }, "pick": { "nStep": 3 }
    },
    "selectors": ["uniform", { "prioritized": { "alpha": 0.5 } }]
  }`);
  assertEquals(others, { name: "a", prefix: "exrp", directory: "r", flushIntervalMs: 20 });
  assertEquals(nats, { servers: "x:1", user: "u" });
  assertEquals(selectors.map(({ kind }) => kind), ["uniform", "prioritized"]);
  const { columns, pick } = checkCreateOptions(replay);
  assertEquals(
    columns.map(({ name, column }) => `${name} ${column}`),
    [
      "state.image uint8(84, 84)",
      "state.speed float32()",
      "action float32(6)",
      "reward float32()",
      "extras.logProb float32()",
      "extras.hidden every(4, float32(8))",
    ],
  );
  assertEquals(pick.nStep, [3]);
});

Deno.test("each wrong field is an error that names it", () => {
  const base = { name: "a", directory: "r", replay: { capacity: 1, state: "float32()" } };
  for (
    const [change, words] of [
      [{ name: "a.b" }, "name must be"],
      [{ prefix: "" }, "prefix must be"],
      [{ directory: 3 }, "directory must be"],
      [{ replays: {} }, "replays"],
      [{ nats: "x" }, "nats must be an object"],
      [{ selectors: [] }, "selectors must be a list"],
      [{ selectors: ["best"] }, "selectors[0] must be one of"],
      [{ replay: { capacity: 1, state: "float33(2)" } }, "replay.state must be a column"],
      [{ replay: { capacity: 1, state: { a: ["x"] } } }, "replay.state.a[0] must be a column"],
      [{ replay: { capacity: 1, state: "every(4, x)" } }, "replay.state must be a column"],
      [
        { replay: { capacity: 1, state: "every(4, every(4, float32()))" } },
        "state must be a column",
      ],
    ] as const
  ) {
    assertThrows(() => readShardConfig(JSON.stringify({ ...base, ...change })), TypeError, words);
  }
  assertThrows(() => readShardConfig("{"), TypeError, "not valid JSON");
});
