import { withoutReplacement } from "@exrp/replay";
import { assertEquals, assertStrictEquals } from "../_assert.ts";
import { assertReplayError, recordEpisode, smallReplay } from "../replay/_helpers.ts";
import { conforms } from "./conforms.ts";

conforms({ name: "withoutReplacement()", make: withoutReplacement, distinct: true });

Deno.test("withoutReplacement(): no pick twice in a batch; more than there are is an error that changes nothing", async () => {
  using replay = await smallReplay({ capacity: 4096 });
  using twin = await smallReplay({ capacity: 4096 });
  const selector = replay.newPickSelector(withoutReplacement());
  const twinSelector = twin.newPickSelector(withoutReplacement());
  for (const each of [replay, twin]) recordEpisode(each, 300);
  for (const size of [1, 2, 150, 299, 300]) {
    const error = assertReplayError(() => replay.getBatch(301, selector), "batch-size");
    assertEquals(error.detail.slice(0, 2), [301, 300]);
    const batch = replay.getBatch(size, selector);
    assertStrictEquals(new Set(batch.state).size, size);
    assertStrictEquals(batch.probability[size - 1], Math.fround(1 / 300));
    assertStrictEquals(batch.importanceWeight[0], 1);
    assertEquals(batch.bytes, twin.getBatch(size, twinSelector).bytes);
  }
});
