/** The environments besides CartPole: their steps, their ends, their seeds and what they refuse. */
import { BitFlip, BlindCliffwalk, CartPole, GridMaze, RandomWalk, TMaze } from "@exrp/replay/envs";
import { assert, assertEquals, assertStrictEquals, assertThrows } from "../_assert.ts";

Deno.test("BlindCliffwalk has one rewarded step among all of its walks", () => {
  const walk = new BlindCliffwalk(4);
  let rewards = 0;
  let records = 0;
  for (let actions = 0; actions < 2 ** 4; actions++) {
    let state = walk.reset();
    for (let isOver = false; !isOver; records++) {
      const result = walk.step((actions >> state) & 1);
      rewards += result.reward;
      state = result.state;
      isOver = result.terminated;
      assertStrictEquals(result.truncated, false);
    }
  }
  assertStrictEquals(rewards, 1);
  assertStrictEquals(records, 2 ** 5 - 2);
});

Deno.test("BitFlip is truncated after as many steps as there are bits, and terminates where the bits match", () => {
  const environment = new BitFlip({ bitCount: 3, seed: 1 });
  for (let episode = 0; episode < 50; episode++) {
    const first = environment.reset();
    assert(!environment.isReached(first));
    const wrong = first.findIndex((bit, k) => bit !== environment.goal[k]);
    const right = (wrong + 1) % 3;
    // Flips a bit there and back, so that after three steps it is as wrong as at first.
    const results = [right, right, wrong].map((bit, k) =>
      k < 2 || !environment.isReached(first) ? environment.step(bit) : undefined
    );
    assertEquals(results[1]?.state, first);
    assertStrictEquals(results[1]?.reward, -1);
    const last = results[2];
    assertStrictEquals(last?.terminated, environment.isReached(last?.state ?? []));
    assertStrictEquals(last?.truncated, !last?.terminated);
    assertStrictEquals(last?.reward, last?.terminated ? 0 : -1);
    assertThrows(() => environment.step(0), Error, "reset()");
  }
});

Deno.test("BitFlip's goal and states are arrays of their own", () => {
  const environment = new BitFlip({ bitCount: 6 });
  const first = environment.reset();
  const [copy, goal] = [first.slice(), environment.goal];
  const kept = goal.slice();
  environment.step(0);
  assertEquals(first, copy);
  environment.reset();
  assertEquals(goal, kept);
  first.fill(9);
  assert(environment.step(0).state.every((bit) => bit < 2));
});

Deno.test("GridMaze keeps an agent on its free cells and truncates at its limit", () => {
  const maze = new GridMaze(["S.#", ".#G"], { stepLimit: 4 });
  assertEquals([maze.width, maze.stateCount, maze.start, maze.goal], [3, 6, 0, 5]);
  for (const [state, action, next] of [[0, 0, 0], [0, 3, 0], [1, 1, 1], [1, 2, 1], [0, 2, 3]]) {
    assertStrictEquals(maze.nextState(state ?? NaN, action ?? NaN), next, `${state} by ${action}`);
  }
  // The end of a row is not beside the beginning of the next one.
  assertStrictEquals(new GridMaze(["S.", ".G"]).nextState(1, 1), 1);
  assertStrictEquals(new GridMaze(["S.", ".G"]).nextState(2, 3), 2);
  maze.reset();
  const results = [1, 3, 2, 0].map((action) => maze.step(action));
  assertEquals(results.map(({ state }) => state), [1, 0, 3, 0]);
  assertEquals(results.map(({ truncated }) => truncated), [false, false, false, true]);
  assertThrows(() => maze.step(0), Error, "reset()");
});

Deno.test("GridMaze refuses what is no maze", () => {
  const wrong: [string[], string][] = [
    [["S.", "G"], "row 1 has 1"],
    [["Sx", ".G"], 'got "x"'],
    [["S.", ".."], "needs one G, got 0"],
    [["SS", ".G"], "needs one S, got 2"],
    [[], "needs one S, got 0"],
  ];
  for (const [rows, message] of wrong) assertThrows(() => new GridMaze(rows), RangeError, message);
  assertThrows(() => Reflect.construct(GridMaze, ["S.G"]), TypeError, "array of texts");
});

Deno.test("RandomWalk goes to neighbours, and is cut off after its limit", () => {
  const walk = new RandomWalk({ placeCount: 3, stepLimit: 2, seed: 4 });
  let ended = 0;
  for (let episode = 0; episode < 100; episode++) {
    let place = walk.reset();
    assertStrictEquals(place, 2);
    for (let step = 1;; step++) {
      const { state, reward, terminated, truncated } = walk.step();
      assertStrictEquals(Math.abs(state - place), 1);
      assertStrictEquals(terminated, state === 0 || state === 4);
      assertStrictEquals(truncated, !terminated && step === 2);
      assertStrictEquals(reward, state === 4 ? 1 : 0);
      place = state;
      if (terminated) ended++;
      if (terminated || truncated) break;
    }
  }
  assert(ended > 20 && ended < 80, `${ended} of 100 walks of two steps ended; half should`);
});

/** What an environment does in its first episodes, as text. */
const behaviours: Readonly<Record<string, (seed: number) => string>> = {
  CartPole: (seed) => {
    const environment = new CartPole(seed);
    return Array.from({ length: 9 }, () => environment.reset()).join();
  },
  BitFlip: (seed) => {
    const environment = new BitFlip({ seed });
    return Array.from({ length: 9 }, () => [environment.reset(), environment.goal]).join();
  },
  RandomWalk: (seed) => {
    const environment = new RandomWalk({ seed, placeCount: 99 });
    environment.reset();
    return Array.from({ length: 40 }, () => environment.step().state).join();
  },
  TMaze: (seed) => {
    const environment = new TMaze({ seed });
    return Array.from({ length: 40 }, () => environment.reset()).join();
  },
};

for (const [name, behave] of Object.entries(behaviours)) {
  Deno.test(`${name} does the same for the same seed, and something else for another`, () => {
    assertStrictEquals(behave(7), behave(7));
    const seeds = [0, 7, 8, 2 ** 32 + 7, Number.MAX_SAFE_INTEGER];
    assertStrictEquals(new Set(seeds.map(behave)).size, seeds.length);
  });

  Deno.test(`${name} refuses what is no seed`, () => {
    for (const seed of [-1, 0.5, NaN, 2 ** 53]) {
      assertThrows(() => behave(seed), RangeError, "seed");
    }
    assertThrows(() => Reflect.apply(behave, undefined, ["7"]), TypeError, "seed");
  });
}

Deno.test("the random numbers of a seed stay the same from version to version", () => {
  assertEquals(
    Array.from(new CartPole(7).reset()),
    [0.0063928356394171715, -0.03670930862426758, 0.04273490607738495, 0.00372151262126863],
  );
  const environment = new BitFlip({ bitCount: 12, seed: 7 });
  assertStrictEquals(environment.reset().join(""), "111101110010");
  assertStrictEquals(environment.goal.join(""), "101100010111");
});

Deno.test("environments refuse unknown options, actions that do not exist, and a step before reset()", () => {
  const maze = ["SG"];
  assertThrows(() => Reflect.construct(BitFlip, [{ bits: 4 }]), TypeError, "bitCount");
  assertThrows(() => Reflect.construct(RandomWalk, [{ places: 4 }]), TypeError, "placeCount");
  assertThrows(() => Reflect.construct(GridMaze, [maze, { limit: 4 }]), TypeError, "stepLimit");
  assertThrows(() => new BitFlip({ bitCount: 0 }), RangeError, "bitCount");
  assertThrows(() => new RandomWalk({ placeCount: 4 }), RangeError, "odd");
  assertThrows(() => new BlindCliffwalk(0), RangeError, "stateCount");
  for (
    const environment of [new BlindCliffwalk(), new BitFlip(), new GridMaze(maze), new CartPole()]
  ) {
    assertThrows(() => environment.step(0), Error, "reset()");
    environment.reset();
    for (const action of [-1, 15, 0.5, NaN]) {
      assertThrows(() => environment.step(action), RangeError, "the action");
    }
  }
  assertThrows(() => new RandomWalk().step(), Error, "reset()");
});

Deno.test("TMaze shows its sign in the first cell only, and the same turn is right at every junction", () => {
  const maze = new TMaze({ corridorLength: 2, junctionCount: 3, seed: 5 });
  const signs = new Set<string>();
  for (let episode = 0; episode < 20; episode++) {
    const sign = maze.reset();
    signs.add(sign.join());
    const turn = sign[0] === 1 ? 0 : 2;
    for (let junction = 1; junction <= 3; junction++) {
      assertEquals([...maze.step(1).state], [0, 0, 0]);
      assertEquals([...maze.step(1).state], [0, 0, 1]);
      const { state, reward, terminated, truncated } = maze.step(turn);
      assertEquals([reward, terminated, truncated], [1, junction === 3, false]);
      if (!terminated) assertEquals([...state], [0, 0, 0]);
    }
    assertThrows(() => maze.step(1), Error, "reset()");
  }
  assertEquals([...signs].sort(), ["0,1,0", "1,0,0"]);
});

Deno.test("TMaze ends with a wrong turn, has walls and a limit, and shows the sign again to who goes back", () => {
  const maze = new TMaze({ corridorLength: 1, junctionCount: 2, stepLimit: 6, seed: 1 });
  assertStrictEquals(new TMaze({ corridorLength: 4, junctionCount: 2 }).stepLimit, 40);
  const sign = maze.reset();
  for (const action of [0, 2, 3]) {
    const result = maze.step(action); // against walls
    assertEquals([[...result.state], result.reward], [[...sign], -0.1]);
  }
  maze.step(1);
  const back = maze.step(3);
  assertEquals([[...back.state], back.reward], [[...sign], 0]);
  assertEquals(maze.step(1).truncated, true);

  const again = maze.reset()[0] === 1 ? 0 : 2;
  maze.step(1);
  assertEquals(maze.step(1).reward, -0.1); // the junction's wall
  const { reward, terminated } = maze.step(2 - again);
  assertEquals([reward, terminated], [-0.1, true]);
});

Deno.test("TMaze refuses what it does not know", () => {
  assertThrows(() => new TMaze({ corridorLength: 0 }), RangeError, "corridorLength");
  assertThrows(() => new TMaze({ junctionCount: 1.5 }), RangeError, "junctionCount");
  assertThrows(() => new TMaze({ lenght: 3 } as object), TypeError, "lenght");
  const maze = new TMaze();
  assertThrows(() => maze.step(0), Error, "reset()");
  maze.reset();
  assertThrows(() => maze.step(4), RangeError, "action");
});
