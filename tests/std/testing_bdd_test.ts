/** describe, it and the hooks run in their order; so do the real package's. */
import { assertEquals } from "@std/assert";
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from "@std/testing/bdd";

const order: string[] = [];

describe("a suite", () => {
  beforeAll(() => void order.push("before all"));
  beforeEach(() => void order.push("before each"));
  afterEach(() => void order.push("after each"));
  afterAll(() => void order.push("after all"));

  it("runs a test", () => void order.push("test"));
  it.ignore("leaves an ignored test out", () => void order.push("ignored"));
  describe("with a suite within", () => {
    beforeEach(async () => {
      await Promise.resolve();
      order.push("inner before each");
    });
    afterEach(() => void order.push("inner after each"));
    it("runs its test too", () => void order.push("inner test"));
  });
});

it("the hooks ran in their order", () => {
  assertEquals(order, [
    ...["before all", "before each", "test", "after each"],
    ...[
      "before each",
      "inner before each",
      "inner test",
      "inner after each",
      "after each",
      "after all",
    ],
  ]);
});
