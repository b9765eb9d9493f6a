/** Columns from the descriptions of Gymnasium's spaces. The texts are those that gymnasium 1.4.0 and NumPy 2.4 print. */
import { assertEquals, assertMatch, assertThrows } from "../_assert.ts";
import { Column, spaceColumns } from "@exrp/replay";
import type { StateColumns } from "@exrp/replay/types";
import { RandomStream } from "@exrp/replay/selectors";

/** Columns as plain data: each as you write it in code. */
function texts(columns: StateColumns): unknown {
  if (columns instanceof Column) return String(columns);
  if (Array.isArray(columns)) return columns.map(texts);
  return Object.fromEntries(Object.entries(columns).map(([name, each]) => [name, texts(each)]));
}

const PRINTED: readonly (readonly [string, unknown])[] = [
  ["Box(0, 255, (84, 84, 3), uint8)", "uint8(84, 84, 3)"],
  ["Box(-1.0, 1.0, (3,), float32)", "float32(3)"],
  ["Box(-inf, inf, (), float64)", "float64()"],
  ["Box([-1.  -2.5], [1.  2.5], (2,), float32)", "float32(2)"],
  ["Box([[-1. -2.]\n [-3. -4.]], 1.0, (2, 2), float32)", "float32(2, 2)"],
  ["Box([-4.8   -inf -0.41  -inf], [4.8   inf 0.41  inf], (4,), float32)", "float32(4)"],
  [
    "Box([-0.000e+00 -1.000e+00 -2.000e+00 ... -1.997e+03 -1.998e+03 -1.999e+03], [0.000e+00 1.000e+00 2.000e+00 ... 1.997e+03 1.998e+03 1.999e+03], (2000,), float32)",
    "float32(2000)",
  ],
  ["Box(0, 1, (2,), int64)", "int32(2)"],
  ["Box(0, 1, (2,), uint16)", "int32(2)"],
  ["Box(0, 1, (2,), int8)", "int8(2)"],
  ["Box(0.0, 1.0, (2,), float16)", "float16(2)"],
  ["Box(0.0, 1.0, (2,), >f4)", "float32(2)"],
  ["Box(False, True, (2, 3), bool)", "bool(2, 3)"],
  ["Box([ True False], True, (2,), bool)", "bool(2)"],
  ["Discrete(4)", "int32()"],
  ["Discrete(4, start=-1)", "int32()"],
  ["Discrete(4, dtype=uint8)", "int32()"],
  ["Discrete(4, start=2, dtype=int32)", "int32()"],
  ["Discrete(3, start=2147483645)", "int32()"],
  ["MultiBinary(5)", "bool(5)"],
  ["MultiBinary((2, 3))", "bool(2, 3)"],
  ["MultiDiscrete([3 4])", "int32(2)"],
  ["MultiDiscrete([[3 4]\n [5 6]])", "int32(2, 2)"],
  ["MultiDiscrete([3 4], start=[1 2])", "int32(2)"],
  ["MultiDiscrete([[3 4]\n [5 6]], start=[[ 1  2]\n [-3 -4]])", "int32(2, 2)"],
  ["MultiDiscrete(5)", "int32()"],
  ["MultiDiscrete([2147483648          5])", "int32(2)"],
  [
    "Dict('image': Box(0, 255, (84, 84, 3), uint8), 'speed': Box(-1.0, 1.0, (3,), float32))",
    { image: "uint8(84, 84, 3)", speed: "float32(3)" },
  ],
  [
    `Dict('a "b"': Discrete(3), 'a, b: (': Discrete(2), "it's": Discrete(2))`,
    { 'a "b"': "int32()", "a, b: (": "int32()", "it's": "int32()" },
  ],
  [
    "Dict('a': Dict('b': Tuple(Discrete(2), Box(0.0, 1.0, (1,), float32))), 'c': Tuple(Discrete(3)))",
    { a: { b: ["int32()", "float32(1)"] }, c: ["int32()"] },
  ],
  [String.raw`Dict('a\x00b': Discrete(2), '\u200b': Discrete(2), '\U0001f600': Discrete(2))`, {
    "a\0b": "int32()",
    "\u200b": "int32()",
    "\u{1f600}": "int32()",
  }],
  [
    "Box([[0. 0. ... 0. 0.]\n [0. 0. ... 0. 0.]\n ...\n [0. 0. ... 0. 0.]], 1.0, (200, 200), float32)",
    "float32(200, 200)",
  ],
  ["Tuple()", []],
  ["Dict()", {}],
];

for (const [text, columns] of PRINTED) {
  Deno.test(`${text.slice(0, 80)} becomes its columns`, () => {
    assertEquals(texts(spaceColumns(text)), columns);
  });
}

Deno.test("the JSON of RLlib becomes the same columns, as an object and as text", () => {
  const packed = "eJyb7BfqGxDJyFDGUK2eklqcXKRupaBuk2ahrqOgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+Rq";
  const box = { space: "box", low: packed, high: packed, shape: [84, 84], dtype: "|u1" };
  const json = {
    space: "dict",
    spaces: {
      image: box,
      pair: {
        space: "tuple",
        spaces: [{ ...box, shape: [], dtype: "<f4" }, { space: "discrete", n: 4, start: 0 }],
      },
      flags: { space: "multi-binary", n: 5 },
      moves: { space: "multi-discrete", nvec: [[3, 4], [5, 6], [7, 8]], dtype: "<i8" },
      count: { space: "box", low: [0, 0], high: 9, shape: [2], dtype: "<i8" },
    },
  };
  const columns = {
    image: "uint8(84, 84)",
    pair: ["float32()", "int32()"],
    flags: "bool(5)",
    moves: "int32(3, 2)",
    count: "int32(2)",
  };
  assertEquals(texts(spaceColumns(json)), columns);
  assertEquals(texts(spaceColumns(JSON.stringify(json))), columns);
});

Deno.test("the JSON of Minari becomes the same columns, with Python's words for numbers that are not finite", () => {
  // minari.serialization.serialize_space of Minari 0.5.4
  const text = `{"type": "Dict", "subspaces": {
    "Infinity": {"type": "Box", "dtype": "float32", "shape": [2], "low": [-Infinity, 0.0], "high": [Infinity, 1.0]},
    "one": {"type": "Box", "dtype": "float64", "shape": [], "low": -1.0, "high": 1.0},
    "pair": {"type": "Tuple", "subspaces": [{"type": "Discrete", "dtype": "int64", "start": -1, "n": 4}, {"type": "MultiBinary", "n": [2, 3]}]},
    "moves": {"type": "MultiDiscrete", "dtype": "int64", "nvec": [[3, 4], [5, 6]], "start": [[0, 0], [0, 0]]}}}`;
  const columns = {
    Infinity: "float32(2)",
    one: "float64()",
    pair: ["int32()", "bool(2, 3)"],
    moves: "int32(2, 2)",
  };
  assertEquals(texts(spaceColumns(text)), columns);
});

/** A random space as Gymnasium prints it, with its columns. */
function randomSpace(random: RandomStream, depth: number): [string, unknown] {
  const pick = <T>(from: readonly T[]): T => from[random.below(from.length)] as T;
  const shape = Array.from({ length: random.below(4) }, () => 1 + random.below(9));
  const printed = shape.length === 1 ? `(${shape}, )`.replace(" ", "") : `(${shape.join(", ")})`;
  const inner = (): [string, unknown][] =>
    Array.from({ length: random.below(4) }, () => randomSpace(random, depth + 1));
  switch (random.below(depth < 3 ? 6 : 4)) {
    case 0: {
      const dtype = pick(["uint8", "int8", "int16", "int32", "float32", "float64"]);
      const [width] = shape;
      const listed = shape.length === 1 ? [`[${new Array(width).fill("1.").join(" ")}]`] : [];
      const low = pick(["0", "-1.0", "-inf", ...listed]);
      return [`Box(${low}, 1e+02, ${printed}, ${dtype})`, `${dtype}(${shape.join(", ")})`];
    }
    case 1:
      return [`Discrete(${1 + random.below(100)})`, "int32()"];
    case 2:
      return [
        `MultiDiscrete([${shape.concat(2).join(pick([" ", "  ", "\n "]))}])`,
        `int32(${shape.length + 1})`,
      ];
    case 3:
      return [
        `MultiBinary(${shape.length === 0 ? 3 : printed})`,
        `bool(${shape.length === 0 ? 3 : shape.join(", ")})`,
      ];
    case 4: {
      const each = inner();
      return [
        `Tuple(${each.map(([text]) => text).join(", ")})`,
        each.map(([, columns]) => columns),
      ];
    }
    default: {
      const each = inner().map(([text, columns], k) => [`key ${k}`, text, columns] as const);
      return [
        `Dict(${each.map(([key, text]) => `'${key}': ${text}`).join(", ")})`,
        Object.fromEntries(each.map(([key, , columns]) => [key, columns])),
      ];
    }
  }
}

const SEED = Number(Deno.env.get("EXRP_SPACES_SEED") ?? 1);

Deno.test(`random spaces become the columns that they were printed from (seed ${SEED})`, () => {
  const random = new RandomStream(SEED, 0);
  for (let k = 0; k < 2000; k++) {
    const [text, columns] = randomSpace(random, 0);
    assertEquals(texts(spaceColumns(text)), columns, text);
    // A text that ends too early is an error, and never the columns of a part.
    const part = text.slice(0, random.below(text.length));
    assertThrows(() => spaceColumns(part), TypeError, undefined, part);
  }
});

Deno.test("what is no space, or has no columns, is an error that says where and why", () => {
  const wrong: readonly (readonly [unknown, ErrorConstructor, RegExp])[] = [
    [7, TypeError, /space must be the text of a space, .* got 7/],
    ["", TypeError, /at the end: the name of a space is needed/],
    ["{", TypeError, /begins as JSON, and is none/],
    ["Box(-1.0, 1.0, (3,))", TypeError, /at character 19, "\)": "," is needed/],
    ["Box(-1.0, 1.0, (3,), complex64)", TypeError, /character 21, .* no dtype "complex64"/],
    ["Box(-1.0, 1.0, (x,), float32)", TypeError, /character 16, .* a number is needed/],
    ["Box([], [], (0,), float32)", RangeError, /character 18, .* a column needs an element/],
    ["Box([], [], (2, 0), float32)", RangeError, /character 20, .* a column needs an element/],
    ["Dict('a': Discrete(2), 'a': Discrete(3))", TypeError, /character 2[23], .* key was there/],
    ["MultiDiscrete([[1 2] [3]])", TypeError, /character 21, .* lists differ in their lengths/],
    ["Box([0 0], [1 1 1], (2,), float32)", TypeError, /bounds have the shape \(3\)/],
    ["Discrete(2.5)", TypeError, /character 9, .* a whole number from 1 is needed/],
    ["Discrete(-2)", TypeError, /a whole number from 1 is needed/],
    ["Dict(1: Discrete(2))", TypeError, /character 5, .* a text in quotes is needed as a key/],
    ["Discrete(3) 4", TypeError, /the end of the text is needed/],
    ["Dict(a: Discrete(3))", TypeError, /character 5, .* a text in quotes is needed as a key/],
    ["Dict('a: Discrete(3))", TypeError, /the end of the key is needed/],
    ["Cone(3)", TypeError, /Cone is no space that has columns: Box, .* have/],
    ["MultiDiscrete([   1    2 ...  7])", TypeError, /Python left numbers of this list out/],
    ["Discrete(3, begin=1)", TypeError, /start= or dtype= is needed/],
    ["Discrete(3, start=2147483646)", RangeError, /no column is int64/],
    ["MultiDiscrete([2147483649 5])", RangeError, /no column is int64/],

    ["Box(-inf, inf, (3,), int64)", RangeError, /no column is int64, .* take float64\(3\)/],
    ["Box([0 ... 9], 9, (3,), uint32)", RangeError, /no column is uint32/],
    ["Discrete(9000000000)", RangeError, /no column is int64/],
    [
      "Tuple(Discrete(2), Text(1, 5, charset=01))",
      RangeError,
      /character 19, .* Text has no fixed/,
    ],
    [{ space: "cone" }, TypeError, /space: space must be one of box, .* got "cone"/],
    [
      { space: "tuple", spaces: [{ space: "dict", spaces: { a: 1 } }] },
      TypeError,
      /space\[0\]\.a:/,
    ],
    [{ space: "box", shape: "3", dtype: "<f4" }, TypeError, /shape must be whole numbers/],
    [{ space: "multi-discrete", nvec: "eJy" }, TypeError, /nvec is packed/],
    [{ type: "MultiDiscrete", nvec: [[1, 2], [3]] }, TypeError, /lists of nvec differ/],
    [
      { type: "MultiDiscrete", nvec: [2 ** 31, 3], start: [1, 0] },
      RangeError,
      /no column is int64/,
    ],
    [{ type: "Discrete", n: 0 }, TypeError, /space: n must be from 1 on, got 0/],
    [{ type: "MultiDiscrete", nvec: [2, 0] }, TypeError, /nvec must be from 1 on/],
    [{ type: "MultiBinary", n: 0 }, RangeError, /space: a column needs an element/],
    [{ type: "MultiDiscrete", nvec: [] }, RangeError, /space: a column needs an element/],
    [{ type: "MultiDiscrete" }, TypeError, /nvec must be whole numbers, got undefined/],
    [{ type: "Text", max_length: 5 }, RangeError, /Text has no fixed shape/],
    [{ space: "graph" }, RangeError, /graph has no fixed shape/],
    [{ space: "box", low: "x", high: "y", shape: [2], dtype: "<i8" }, RangeError, /-Infinity/],
  ];
  for (const [space, Kind, words] of wrong) {
    const error = assertThrows(() => spaceColumns(space as string), Kind);
    assertMatch(error.message, words);
    assertMatch(error.message, /^(spaceColumns\(\)|float32\(\))/);
  }
});
