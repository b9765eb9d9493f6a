/** The schema that a thread expects when it attaches: what differs is said, and how to write it. */
import { assert, assertRejects, assertStrictEquals } from "../../_assert.ts";
import { ExperienceReplay, float32, int32 } from "@exrp/replay";
import { assertReplayRejects } from "../_helpers.ts";
import { native } from "../../_native.ts";

native.test("attach() refuses another schema, and says all differences", async () => {
  using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
  const ticket = structuredClone(replay.share());
  const wrong = ExperienceReplay.attach(ticket, {
    state: float32(3),
    action: float32(),
    extras: { goal: int32() },
    pick: { nStep: 3 },
  });
  const error = await assertReplayRejects(wrong, "ticket-mismatch");
  assertStrictEquals(
    error.message,
    "ExperienceReplay.attach(): the replay of the ticket has another schema: " +
      "state is float32(2) in the replay, and float32(3) in the schema that you gave; " +
      "action is int32() in the replay, and float32() in the schema that you gave; " +
      "extras.goal is not there in the replay, and int32() in the schema that you gave; " +
      "pick.nStep is [] in the replay, and [3] in the schema that you gave; leave out pick",
  );
  const bad: unknown = { state: "float32" };
  await assertRejects(
    () => ExperienceReplay.attach(ticket, bad as never),
    TypeError,
    "state must be a column",
  );
  const misspelt: unknown = { state: float32(2), extra: {} };
  await assertRejects(
    () => ExperienceReplay.attach(ticket, misspelt as never),
    TypeError,
    "did you mean extras",
  );
  assertStrictEquals(replay.describe().seatCount, 1);
});

native.test("attach() takes the leaves of a state in any order", async () => {
  const [image, speed] = [float32(2), float32()];
  const pick = { stack: { image: 4 } } as const;
  using replay = await ExperienceReplay.create({ capacity: 9, state: { image, speed }, pick });
  const ticket = structuredClone(replay.share());
  using other = await ExperienceReplay.attach(ticket, { state: { speed, image }, pick });
  const finalState = { speed: 0, image: [0, 0] };
  other.record(other.newEpisode(), { speed: 3, image: [1, 2] }, 0, 0, { finalState });
  const { image: [first], speed: [second] } = replay.episodeRecords(0).state;
  assertStrictEquals(`${first} ${second}`, "1 3");
});

native.test("attach() without the options of pick that the replay has shows how to write them", async () => {
  const options = { capacity: 10, state: float32(2) };
  using one = await ExperienceReplay.create({ ...options, pick: { nStep: 3 } });
  using two = await ExperienceReplay.create({ ...options, pick: { stack: 4, nStep: [1, 3] } });
  for (
    const [ticket, text] of [
      [one.share(), "pick: { nStep: 3 }"],
      [two.share(), "pick: { stack: 4, nStep: [1, 3] }"],
    ] as const
  ) {
    const untyped: unknown = ticket;
    const wrong = ExperienceReplay.attach(untyped, { state: float32(2) });
    const { message } = await assertReplayRejects(wrong, "ticket-mismatch");
    assert(message.endsWith(`in the schema that you gave; write ${text} in the schema`), message);
  }
});
