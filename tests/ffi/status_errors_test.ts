/** The words of errors that come from statuses of the kernel. */
import { assertEquals, assertThrows } from "../_assert.ts";
import { errorOfStatus } from "../../ffi/status_errors.ts";
import {
  EXRP_STATUS_EPISODE_UNKNOWN,
  EXRP_STATUS_LIMIT,
  EXRP_STATUS_MEMORY,
} from "../../ffi/symbols.ts";
import { ExperienceReplay, float32, mixture, prioritized, uniform } from "../../mod.ts";

function messageOf(status: number, detail: readonly number[], operation = "record()"): string {
  return errorOfStatus(operation, status, detail).message;
}

Deno.test("a handle that was given out is never called unknown", () => {
  const status = EXRP_STATUS_EPISODE_UNKNOWN;
  assertEquals(
    messageOf(status, [10, 32]),
    "record(): the episode with handle 10 has gone: it was evicted",
  );
  for (const handle of [32, -1, 0.5, NaN]) {
    assertEquals(
      messageOf(status, [handle, 32]),
      `record(): no episode has handle ${handle}: handles given out so far are 0 to 31`,
    );
  }
});

Deno.test("a limit says of what there are too many", async () => {
  using replay = await ExperienceReplay.create({ capacity: 10, state: float32() });
  const makeAll = (): void => {
    for (;;) replay.newPickView({});
  };
  assertThrows(makeAll, Error, "newPickView(): too many pick views: the limit is 16");
  assertEquals(messageOf(EXRP_STATUS_LIMIT, [9], "other()"), "other(): too many: the limit is 9");
});

Deno.test("a number that must be above 0 is not said to be at least 5e-324", () => {
  assertThrows(
    () => mixture([{ rule: uniform(), share: -1 }, { rule: uniform(), share: 1 }]),
    RangeError,
    "mixture(): the share of part 0 must be a finite number above 0, got -1",
  );
  assertThrows(() => prioritized({ initialPriority: 0 }), RangeError, "above 0, got 0");
});

Deno.test("a few bytes are not said to be 0.00 KiB", () => {
  assertEquals(
    messageOf(EXRP_STATUS_MEMORY, [4, 0], "Tables.create()"),
    "Tables.create(): no memory for 4 bytes more; nothing has changed",
  );
});
