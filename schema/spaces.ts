/**
 * Columns from the description of a Gymnasium space.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { Column, type DType, DTYPES } from "./columns.ts";
import type { StateColumns } from "./state.ts";

const WHERE = "spaceColumns()";

/** Kinds of space whose values have no shape of their own. */
const SHAPELESS = ["Text", "Sequence", "Graph", "OneOf", "Simplex", "Repeated"];

/** Of NumPy's codes, such as `<f4`: the type without its byte order. */
const CODES: Readonly<Record<string, string>> = {
  ...{ b1: "bool", u1: "uint8", u2: "uint16", u4: "uint32", u8: "uint64" },
  ...{ i1: "int8", i2: "int16", i4: "int32", i8: "int64" },
  ...{ f2: "float16", f4: "float32", f8: "float64" },
};

/**
 * Makes columns from the description of a Gymnasium space: what Python's `str(space)` gives, or the JSON of RLlib's `gym_space_to_dict` or of Minari's
 * `serialize_space`. The result can be the `state` of {@linkcode ExperienceReplay.create}; that of a Box or of a space of whole numbers also its `action`.
 *
 * | space | columns |
 * |---|---|
 * | `Box` | its dtype and shape |
 * | `Discrete` | `int32()` |
 * | `MultiDiscrete` | `int32(n)`, or of its shape |
 * | `MultiBinary` | `bool(n)`, or of its shape |
 * | `Dict` | an object with the same keys |
 * | `Tuple` | an array |
 *
 * JavaScript puts keys that are whole numbers before all others.
 *
 * No column has the dtypes uint16, uint32, int64 and uint64. A Box of one becomes `int32`, if its bounds are within those of int32.
 *
 * @param space The text, or the object that JSON's text stands for.
 * @throws {TypeError} If it is not such a description. The text has the place, counted in characters.
 * @throws {RangeError} If no column can have the values: an int64 without bounds, or a space of no fixed shape, such as `Text`.
 * @example
 * ```ts
 * import { ExperienceReplay, spaceColumns } from "@exrp/replay";
 *
 * const action = spaceColumns("Discrete(2)"); // str(env.action_space)
 * console.log(String(action)); // int32()
 *
 * const observation = spaceColumns(
 *   "Dict('image': Box(0, 255, (84, 84, 3), uint8), 'speed': Box(-1.0, 1.0, (3,), float32))",
 * );
 * console.log(Object.keys(observation)); // ["image", "speed"]
 * ```
 */
export function spaceColumns(space: string | object): StateColumns {
  if (typeof space === "object" && space !== null) return columnsOfJson(space, "space");
  if (typeof space !== "string") {
    throw new TypeError(
      `${WHERE}: space must be the text of a space, such as "Box(-1.0, 1.0, (3,), float32)", or its JSON as an object; got ${
        show(space)
      }`,
    );
  }
  if (space.trimStart().startsWith("{")) {
    let json: unknown;
    try {
      json = JSON.parse(plainJson(space));
    } catch (cause) {
      throw new TypeError(`${WHERE}: the text begins as JSON, and is none`, { cause });
    }
    return columnsOfJson(json, "space");
  }
  return new Reader(space).whole();
}

/** What may stand before the type in NumPy's codes. */
const BYTE_ORDER = /^[<>|=]/;

/** What is known of the numbers of a Box. */
interface Bounds {
  least: number;
  most: number;
}

/** A column of a dtype of NumPy. */
function columnOf(
  dtype: string,
  shape: readonly number[],
  { least, most }: Bounds,
  fail: (words: string, Kind: ErrorConstructor) => never,
): Column {
  if (shape.includes(0)) fail("a column needs an element at least", RangeError);
  const code = dtype.replace(BYTE_ORDER, "");
  const name = CODES[code] ?? code;
  const own = name as DType;
  if (DTYPES.includes(own)) return new Column(own, shape);
  if (!Object.values(CODES).includes(name)) {
    fail(`there is no dtype ${show(dtype)}; needed is one of NumPy's numbers`, TypeError);
  }
  if (least < -(2 ** 31) || most > 2 ** 31 - 1) {
    fail(
      `no column is ${name}, and its bounds, ${least} to ${most}, are not within those of int32; take float64(${
        shape.join(", ")
      }), which has whole numbers up to 2^53`,
      RangeError,
    );
  }
  return new Column("int32", shape);
}

// ---- text ----

/** Reads the text of a space. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text as a whole. */
  whole(): StateColumns {
    const columns = this.#space();
    if (this.#peek() !== "") this.#fail("the end of the text is needed", TypeError);
    return columns;
  }

  #space(): StateColumns {
    this.#peek();
    const begin = this.#at;
    const name = this.#word("the name of a space");
    if (SHAPELESS.includes(name)) {
      this.#at = begin;
      this.#fail(`${name} has no fixed shape, so no column can have its values`, RangeError);
    }
    this.#take("(");
    const columns = this.#inside(name, begin);
    this.#take(")");
    return columns;
  }

  /** What stands in the brackets. */
  #inside(name: string, begin: number): StateColumns {
    switch (name) {
      case "Box":
        return this.#box();
      case "Discrete": {
        const counts: Bounds = { least: 1, most: this.#count() };
        return this.#integers([], counts, this.#options());
      }
      case "MultiDiscrete": {
        const counts: Bounds = { least: 1, most: 1 };
        // One without dimensions is a single number.
        const isList = this.#peek() === "[";
        if (!isList) counts.most = this.#count();
        const shape = isList ? this.#list(counts, false) : [];
        return this.#integers(shape, counts, this.#options());
      }
      case "MultiBinary":
        return this.#column("bool", this.#peek() === "(" ? this.#shape() : [this.#count()]);
      case "Dict": {
        const columns: [string, StateColumns][] = [];
        while (this.#peek() !== ")") {
          const at = this.#at;
          const key = this.#key();
          if (columns.some(([name]) => name === key)) {
            this.#at = at;
            this.#fail("this key was there before", TypeError);
          }
          this.#take(":");
          columns.push([key, this.#space()]);
          if (this.#peek() !== ")") this.#take(",");
        }
        return Object.freeze(Object.fromEntries(columns));
      }
      case "Tuple": {
        const columns: StateColumns[] = [];
        while (this.#peek() !== ")") {
          columns.push(this.#space());
          if (this.#peek() !== ")") this.#take(",");
        }
        return Object.freeze(columns);
      }
      default:
        this.#at = begin;
        return this.#fail(
          `${name} is no space that has columns: Box, Discrete, MultiBinary, MultiDiscrete, Dict and Tuple have`,
          TypeError,
        );
    }
  }

  #box(): Column {
    const bounds: Bounds = { least: Infinity, most: -Infinity };
    const listed: (readonly number[])[] = [];
    for (let side = 0; side < 2; side++) {
      if (this.#peek() === "[") listed.push(this.#list(bounds, true));
      else widen(bounds, this.#number());
      this.#take(",");
    }
    const shape = this.#shape();
    for (const each of listed) {
      // Of an array without elements, NumPy prints no inner lists.
      if (Number.isNaN(each[0]) || shape.includes(0) || each.join() === shape.join()) continue;
      this.#fail(`the bounds have the shape (${each.join(", ")}), not this one`, TypeError);
    }
    this.#take(",");
    this.#peek();
    const begin = this.#at;
    const [dtype = ""] = this.#match(/[<>|=]?[A-Za-z]\w*/y, "a dtype");
    return this.#column(dtype, shape, bounds, begin);
  }

  /** Whole numbers, of which there are so many, from `start` on. */
  #integers(shape: readonly number[], counts: Bounds, start: Bounds): Column {
    const most = start.most + counts.most - 1;
    return this.#column("int64", shape, { least: start.least, most });
  }

  /** A column; errors are at this place of the text. */
  #column(
    dtype: string,
    shape: readonly number[],
    bounds: Bounds = { least: 0, most: 1 },
    at = this.#at,
  ): Column {
    const fail = (words: string, Kind: ErrorConstructor): never => {
      this.#at = at;
      return this.#fail(words, Kind);
    };
    return columnOf(dtype, shape, bounds, fail);
  }

  /**
   * A list of numbers in square brackets, which may have lists in it; returns its shape. `bounds` get all numbers. NumPy leaves numbers of
   * long lists out. Then the shape is not known, and NaN stands for it, if it `mayLack` numbers.
   */
  #list(bounds: Bounds, mayLack: boolean): number[] {
    this.#take("[");
    let [count, inner]: [number, readonly number[] | undefined] = [0, undefined];
    for (; this.#peek() !== "]"; count++) {
      const begin = this.#at;
      let own: readonly number[] = [];
      if (mayLack && this.#text.startsWith("...", this.#at)) {
        this.#at += 3;
        bounds.least = -Infinity;
        bounds.most = Infinity;
        own = inner ?? [];
        count = NaN;
      } else if (this.#text.startsWith("...", this.#at)) {
        this.#fail(
          "Python left numbers of this list out, so their count is not known; call np.set_printoptions(threshold=sys.maxsize) before str(space)",
          TypeError,
        );
      } else if (this.#peek() === "[") own = this.#list(bounds, mayLack);
      else widen(bounds, this.#number());
      if (Number.isNaN(own[0])) count = NaN;
      else if (inner !== undefined && inner.join() !== own.join()) {
        this.#at = begin;
        this.#fail("the lists differ in their lengths", TypeError);
      } else inner = own;
      if (this.#peek() === ",") this.#at++;
    }
    this.#at++;
    return [count, ...inner ?? []];
  }

  /** The numbers of the option `, start=[1 2]`, if it is there; 0 without. There may be a dtype, which all bounds are within. */
  #options(): Bounds {
    const start: Bounds = { least: 0, most: 0 };
    while (this.#peek() === ",") {
      this.#at++;
      this.#peek();
      const [, name] = this.#match(/(start|dtype)=/y, "start= or dtype=");
      if (name === "dtype") {
        this.#word("a dtype");
        continue;
      }
      start.least = Infinity;
      start.most = -Infinity;
      if (this.#peek() === "[") this.#list(start, false);
      else widen(start, this.#number());
    }
    return start;
  }

  /** A shape such as `(84, 84)`, `(3,)` or `()`. */
  #shape(): number[] {
    this.#take("(");
    const shape: number[] = [];
    while (this.#peek() !== ")") {
      shape.push(this.#count(0));
      if (this.#peek() !== ")") this.#take(",");
    }
    this.#at++;
    return shape;
  }

  /** A text in Python's quotes. */
  #key(): string {
    const quote = this.#peek();
    if (quote !== "'" && quote !== '"') {
      this.#fail("a text in quotes is needed as a key", TypeError);
    }
    const [, text = ""] = this.#match(
      quote === "'" ? /'((?:[^'\\]|\\.)*)'/y : /"((?:[^"\\]|\\.)*)"/y,
      "the end of the key",
    );
    // Python's ways to write a character.
    return text.replace(
      /\\(?:x(..)|u(....)|U(.{8})|(.))/gs,
      (_, two, four, eight, one) =>
        one === undefined
          ? String.fromCodePoint(parseInt(two ?? four ?? eight, 16))
          : { n: "\n", t: "\t", r: "\r" }[one as string] ?? one,
    );
  }

  /** A whole number of at least `least`. */
  #count(least = 1): number {
    const begin = this.#at;
    const number = this.#number();
    if (Number.isInteger(number) && number >= least) return number;
    this.#at = begin;
    return this.#fail(`a whole number from ${least} is needed`, TypeError);
  }

  #number(): number {
    this.#peek();
    const [text] = this.#match(
      /True\b|False\b|[-+]?(?:inf\b|nan\b|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)/y,
      "a number",
    );
    // The bounds of a Box of bool.
    if (text === "True" || text === "False") return Number(text === "True");
    return Number(text?.replace("inf", "Infinity"));
  }

  #word(needed: string): string {
    return this.#match(/[A-Za-z]\w*/y, needed)[0] ?? "";
  }

  #match(pattern: RegExp, needed: string): RegExpExecArray {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) return this.#fail(`${needed} is needed`, TypeError);
    this.#at = pattern.lastIndex;
    return found;
  }

  #take(sign: string): void {
    if (this.#peek() !== sign) this.#fail(`${show(sign)} is needed`, TypeError);
    this.#at++;
  }

  /** The next sign behind white space; empty at the end. */
  #peek(): string {
    while (/\s/.test(this.#text[this.#at] ?? "")) this.#at++;
    return this.#text[this.#at] ?? "";
  }

  #fail(words: string, Kind: ErrorConstructor): never {
    const rest = this.#text.slice(this.#at, this.#at + 24);
    const place = rest === "" ? "the end" : `character ${this.#at}, ${show(rest)}`;
    throw new Kind(`${WHERE}: at ${place}: ${words}`);
  }
}

function widen(bounds: Bounds, value: number): void {
  bounds.least = Math.min(bounds.least, value);
  bounds.most = Math.max(bounds.most, value);
}

// ---- JSON ----

/** JSON of Python's as JSON: Python has words for numbers that are not finite. */
function plainJson(text: string): string {
  return text.replace(
    /("(?:[^"\\]|\\.)*")|Infinity|NaN/g,
    (word, quoted) => quoted ?? (word === "NaN" ? "null" : "1e999"),
  );
}

/** The fields that the JSON of a space may have: RLlib's `space` is Minari's `type`, and its `spaces` are `subspaces`. */
interface SpaceJson {
  readonly space?: unknown;
  readonly type?: unknown;
  readonly shape?: unknown;
  readonly dtype?: unknown;
  readonly low?: unknown;
  readonly high?: unknown;
  readonly n?: unknown;
  readonly start?: unknown;
  readonly nvec?: unknown;
  readonly spaces?: unknown;
  readonly subspaces?: unknown;
}

/** Columns from the JSON of a space that stands at `place`. */
function columnsOfJson(json: unknown, place: string): StateColumns {
  const fail = (words: string, Kind: ErrorConstructor = TypeError): never => {
    throw new Kind(`${WHERE}: ${place}: ${words}`);
  };
  if (typeof json !== "object" || json === null) {
    return fail(`an object with "space" or "type" is needed, got ${show(json)}`);
  }
  const given = json as SpaceJson;
  const { type, space = type, shape, dtype, low, high, n, start = 0, nvec } = given;
  const { subspaces, spaces = subspaces } = given;
  const integers = (value: unknown, name: string): number[] => {
    const list = [value].flat(Infinity);
    return list.every(Number.isInteger)
      ? list as number[]
      : fail(`${name} must be whole numbers, got ${show(value)}`);
  };
  const boundsOf = (...sides: readonly (readonly number[])[]): Bounds => {
    const bounds: Bounds = { least: Infinity, most: -Infinity };
    for (const value of sides.flat()) widen(bounds, value);
    return bounds;
  };
  /** Whole numbers, of which there are so many, from `start` on. */
  const wholeNumbers = (counts: unknown, name: string): Column => {
    const { least, most } = boundsOf(integers(start, "start"));
    const many = boundsOf(integers(counts, name));
    if (many.least < 1) return fail(`${name} must be from 1 on, got ${show(counts)}`);
    const last = most + many.most - 1;
    const sizes = shapeOf(counts);
    if (sizes === undefined) return fail(`the lists of ${name} differ in their lengths`);
    return columnOf("int64", sizes, { least, most: last }, fail);
  };
  const name = String(space);
  // RLlib writes multi-discrete, and Minari MultiDiscrete.
  const kind = name.toLowerCase().replaceAll("-", "");
  if (SHAPELESS.some((each) => each.toLowerCase() === kind)) {
    return fail(`${name} has no fixed shape, so no column can have its values`, RangeError);
  }
  switch (kind) {
    case "box": {
      // RLlib packs the bounds, so these are not known.
      const sides = [low, high].map((side) => [side].flat(Infinity));
      const areKnown = sides.every((side) => side.every((value) => typeof value === "number"));
      const bounds = areKnown ? boundsOf(...sides as number[][]) : boundsOf([-Infinity, Infinity]);
      return columnOf(String(dtype), integers(shape, "shape"), bounds, fail);
    }
    case "discrete":
      return wholeNumbers(integers(n, "n")[0], "n");
    case "multibinary":
      return columnOf("bool", integers(n, "n"), { least: 0, most: 1 }, fail);
    case "multidiscrete":
      if (typeof nvec === "string") {
        return fail("nvec is packed, so its shape is not known; give the text that str(space) has");
      }
      return wholeNumbers(nvec, "nvec");
    case "dict":
      if (typeof spaces !== "object" || spaces === null) {
        return fail("its spaces must be an object");
      }
      return Object.freeze(Object.fromEntries(
        Object.entries(spaces).map(([key, each]) => [key, columnsOfJson(each, `${place}.${key}`)]),
      ));
    case "tuple":
      if (!Array.isArray(spaces)) return fail("its spaces must be an array");
      return Object.freeze(spaces.map((each, k) => columnsOfJson(each, `${place}[${k}]`)));
    default:
      return fail(
        `space must be one of box, discrete, multi-binary, multi-discrete, dict and tuple, got ${
          show(space)
        }`,
      );
  }
}

/** The shape of a list of lists; undefined where these differ in their lengths. */
function shapeOf(list: unknown): number[] | undefined {
  if (!Array.isArray(list)) return [];
  const [first, ...others] = list.map(shapeOf);
  const differ = others.some((each) => each?.join() !== first?.join());
  return differ || (list.length > 0 && first === undefined)
    ? undefined
    : [list.length, ...first ?? []];
}
