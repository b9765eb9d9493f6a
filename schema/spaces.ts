/**
 * Columns from the description of a Gymnasium space.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { bool, Column, type DType, DTYPES } from "./columns.ts";
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
 * Makes columns from the description of a Gymnasium space: what Python's `str(space)` gives, or the JSON of RLlib's `gym_space_to_dict`.
 * The result can be the `state` of {@linkcode ExperienceReplay.create}; that of a Box or of a space of whole numbers also its `action`.
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
      json = JSON.parse(space);
    } catch (cause) {
      throw new TypeError(`${WHERE}: the text begins as JSON, and is none`, { cause });
    }
    return columnsOfJson(json, "space");
  }
  return new Reader(space).whole();
}

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
  const own = dtype as DType;
  if (DTYPES.includes(own)) return new Column(own, shape);
  if (!Object.values(CODES).includes(dtype)) {
    fail(`there is no dtype ${show(dtype)}; needed is one of NumPy's numbers`, TypeError);
  }
  if (least < -(2 ** 31) || most > 2 ** 31 - 1) {
    fail(
      `no column is ${dtype}, and its bounds, ${least} to ${most}, are not within those of int32; take float64(${
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
        const bounds: Bounds = { least: 0, most: this.#count() - 1 };
        const start = this.#option("start");
        if (start !== undefined) bounds.most += bounds.least = start[0] ?? 0;
        return this.#integers([], bounds);
      }
      case "MultiDiscrete": {
        const bounds: Bounds = { least: 0, most: 0 };
        const shape = this.#list(bounds, false);
        const start = this.#option("start");
        if (start !== undefined) {
          bounds.least = Math.min(...start);
          bounds.most += Math.max(...start);
        }
        return this.#integers(shape, bounds);
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
      if (Number.isNaN(each[0]) || each.join() === shape.join()) continue;
      this.#fail(`the bounds have the shape (${each.join(", ")}), not this one`, TypeError);
    }
    this.#take(",");
    this.#peek();
    const begin = this.#at;
    return this.#column(this.#word("a dtype"), shape, bounds, begin);
  }

  #integers(shape: readonly number[], bounds: Bounds): Column {
    return this.#column("int64", shape, bounds);
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
    if (shape.includes(0)) fail("a column needs an element at least", RangeError);
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

  /** The numbers of an option such as `, start=[1 2]`, if it is there. */
  #option(name: string): number[] | undefined {
    if (this.#peek() !== ",") return undefined;
    this.#at++;
    this.#peek();
    if (!this.#text.startsWith(`${name}=`, this.#at)) this.#fail(`${name}= is needed`, TypeError);
    this.#at += name.length + 1;
    if (this.#peek() !== "[") return [this.#number()];
    const bounds: Bounds = { least: Infinity, most: -Infinity };
    this.#list(bounds, false);
    return [bounds.least, bounds.most];
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

  /** A whole number. */
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
      /[-+]?(?:inf\b|nan\b|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)/y,
      "a number",
    );
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

/** The fields that the JSON of a space may have. */
interface SpaceJson {
  readonly space?: unknown;
  readonly shape?: unknown;
  readonly dtype?: unknown;
  readonly low?: unknown;
  readonly high?: unknown;
  readonly n?: unknown;
  readonly start?: unknown;
  readonly nvec?: unknown;
  readonly spaces?: unknown;
}

/** Columns from the JSON of a space that stands at `place`. */
function columnsOfJson(json: unknown, place: string): StateColumns {
  const fail = (words: string, Kind: ErrorConstructor = TypeError): never => {
    throw new Kind(`${WHERE}: ${place}: ${words}`);
  };
  if (typeof json !== "object" || json === null) {
    return fail(`an object with "space" is needed, got ${show(json)}`);
  }
  const { space, shape, dtype, low, high, n, start = 0, nvec, spaces } = json as SpaceJson;
  const integers = (value: unknown, name: string): number[] => {
    const list = [value].flat(Infinity);
    return list.every(Number.isInteger)
      ? list as number[]
      : fail(`${name} must be whole numbers, got ${show(value)}`);
  };
  switch (space) {
    case "box": {
      const type = String(dtype).replace(/^[<>|=]/, "");
      const bounds: Bounds = { least: Infinity, most: -Infinity };
      // RLlib packs the bounds, so these are not known.
      const given = [low, high].map((side) => [side].flat(Infinity));
      const areKnown = given.every((side) => side.every((value) => typeof value === "number"));
      for (const value of areKnown ? given.flat() : [-Infinity, Infinity]) {
        widen(bounds, value as number);
      }
      return columnOf(CODES[type] ?? type, integers(shape, "shape"), bounds, fail);
    }
    case "discrete": {
      const [[count = 0], [first = 0]] = [integers(n, "n"), integers(start, "start")];
      return columnOf("int64", [], { least: first, most: first + count - 1 }, fail);
    }
    case "multi-binary":
      return bool(...integers(n, "n"));
    case "multi-discrete":
      if (!Array.isArray(nvec)) {
        fail("nvec is packed, so its shape is not known; give the text that str(space) has");
      }
      integers(nvec, "nvec");
      return columnOf("int64", shapeOf(nvec), { least: 0, most: 0 }, fail);
    case "dict":
      if (typeof spaces !== "object" || spaces === null) fail("spaces must be an object");
      return Object.freeze(Object.fromEntries(
        Object.entries(spaces as object).map((
          [key, each],
        ) => [key, columnsOfJson(each, `${place}.${key}`)]),
      ));
    case "tuple":
      if (!Array.isArray(spaces)) return fail("spaces must be an array");
      return Object.freeze(spaces.map((each, k) => columnsOfJson(each, `${place}[${k}]`)));
    default:
      return fail(
        `space must be one of box, discrete, multi-binary, multi-discrete, dict and tuple, got ${
          show(space)
        }`,
      );
  }
}

/** The shape of a list of lists. */
function shapeOf(list: unknown): number[] {
  return Array.isArray(list) ? [list.length, ...shapeOf(list[0])] : [];
}
