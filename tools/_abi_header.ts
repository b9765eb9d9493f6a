/**
 * Reads kernel/exrp.h: its functions and its pinned constants, and refuses what the rules of the ABI forbid.
 *
 * It understands the C of that header and no more: `#define EXRP_… number`, enums whose every number is written
 * out, and prototypes that begin with `EXRP_API`, or `EXRP_SLOW` where a call is made from another
 * thread. Everything else is an error with its line, so that nothing can
 * stand in the header and be missing in the binding.
 *
 * @module
 */

/** A type as `Deno.dlopen` names it, of the few that the ABI allows. */
export type SymbolType = "u32" | "i32" | "f32" | "f64" | "buffer";

/** What a call does with a buffer: it reads it, writes it, or both. */
export type BufferUse = "in" | "out" | "inout";

/** The elements of a buffer. */
export type BufferItem = "u8" | "i32" | "u32" | "f32" | "f64";

/** A parameter of a function of the header. */
export interface AbiParameter {
  /** Its name in the header. */
  readonly name: string;
  /** Its type in the binding; every pointer is a buffer. */
  readonly type: SymbolType;
  /** Of a buffer: what the call does with it. */
  readonly use?: BufferUse;
  /** Of a buffer: its elements. */
  readonly item?: BufferItem;
}

/** A function of the header. */
export interface AbiFunction {
  /** Its name, `exrp_…`. */
  readonly name: string;
  /** Its parameters in order. */
  readonly parameters: readonly AbiParameter[];
  /** Its result. */
  readonly result: Exclude<SymbolType, "buffer"> | "void";
  /** True when it is called from another thread, and its result is a promise. */
  readonly isSlow?: true;
}

/** A constant of the header. */
export interface AbiConstant {
  /** Its name, `EXRP_…`. */
  readonly name: string;
  /** Its number. */
  readonly value: number;
}

/** What the header declares, in its order. */
export interface AbiHeader {
  /** The functions. */
  readonly functions: readonly AbiFunction[];
  /** The constants. */
  readonly constants: readonly AbiConstant[];
}

/** The header says what the ABI forbids, or what the reader does not understand. */
export class AbiHeaderError extends Error {
  /** An error at a line of the header. */
  constructor(line: number, problem: string) {
    super(`kernel/exrp.h:${line}: ${problem}`);
    this.name = "AbiHeaderError";
  }
}

const scalars: ReadonlyMap<string, Exclude<SymbolType, "buffer">> = new Map([
  ["uint32_t", "u32"],
  ["int32_t", "i32"],
  ["float", "f32"],
  ["double", "f64"],
]);

const pointedTo: ReadonlyMap<string, BufferItem> = new Map([
  ...scalars,
  ["uint8_t", "u8"],
]);

function scalarProblem(type: string): string {
  if (/64_t$|^size_t$|^ptrdiff_t$|^u?intptr_t$|^(unsigned )?long/.test(type)) {
    return `a 64-bit scalar (${type}) costs a BigInt a call; pass a double where it counts things, else an array`;
  }
  if (/^(struct|union) /.test(type)) {
    return `${type} by value; pass a pointer to numbers and their count`;
  }
  return `the type ${type}; scalars are uint32_t, int32_t, float and double`;
}

/** Blanks comments out, keeping every newline, so that offsets still tell lines. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, (comment) => comment.replace(/[^\n]/g, " "));
}

/** Reads the text of the header. */
export function parseAbiHeader(text: string): AbiHeader {
  const functions: AbiFunction[] = [];
  const constants: AbiConstant[] = [];
  const seen = new Map<string, number>();
  let rest = withoutComments(text.replaceAll("\r\n", "\n"));

  const lineAt = (offset: number): number => rest.slice(0, offset).split("\n").length;
  const declare = (name: string, line: number): void => {
    const before = seen.get(name);
    if (before !== undefined) {
      throw new AbiHeaderError(line, `${name} was declared before, in line ${before}`);
    }
    seen.set(name, line);
  };
  /** Handles every match of a pattern and blanks it out. */
  const take = (
    pattern: RegExp,
    handle: (groups: readonly string[], line: number) => void,
  ): void => {
    rest = rest.replace(pattern, (...match) => {
      const groups = match.slice(0, -2).map((group) => group === undefined ? "" : String(group));
      handle(groups, lineAt(Number(match[match.length - 2])));
      return (groups[0] ?? "").replace(/[^\n]/g, " ");
    });
  };
  const addConstant = (name: string, number: string, line: number): void => {
    const digits = number.trim().replace(/^\((.*)\)$/, "$1").replace(/[uUlL]+$/, "");
    const value = /^-?(0[xX][0-9a-fA-F]+|(0|[1-9][0-9]*)(\.[0-9]+)?)$/.test(digits)
      ? digits.startsWith("-") ? -Number(digits.slice(1)) : Number(digits)
      : NaN;
    if (!Number.isFinite(value)) {
      throw new AbiHeaderError(
        line,
        `${name} is "${number.trim()}"; a constant needs its number written out`,
      );
    }
    declare(name, line);
    constants.push({ name, value });
  };

  // What only C++ sees holds no declaration of ours.
  take(
    /^[ \t]*#[ \t]*ifdef[ \t]+__cplusplus\b[\s\S]*?^[ \t]*#[ \t]*endif\b[^\n]*/gm,
    ([block], line) => {
      if (/EXRP_API|#[ \t]*(else|elif)/.test(block ?? "")) {
        throw new AbiHeaderError(
          line,
          "a declaration or #else under #ifdef __cplusplus; the header is C99",
        );
      }
    },
  );
  take(/^[ \t]*#(?:[^\n]*\\\n)*[^\n]*/gm, ([directive], line) => {
    const define = /^\s*#\s*define\s+(\w+)(\(?)(.*)$/s.exec(directive ?? "");
    if (!define) return;
    const [, name = "", parenthesis, value = ""] = define;
    if (/^EXRP_(API|SLOW|INOUT)$/.test(name) || value.trim() === "" && parenthesis === "") {
      return;
    }
    if (!name.startsWith("EXRP_")) {
      throw new AbiHeaderError(line, `the macro ${name}; constants are named EXRP_<GROUP>_<NAME>`);
    }
    addConstant(name, `${parenthesis}${value}`, line);
  });
  take(/(?:typedef\s+)?enum\b[^{;]*\{([^}]*)\}[^;]*;/g, ([block = "", body = ""], line) => {
    const first = line + block.slice(0, block.indexOf("{")).split("\n").length - 1;
    let offset = 0;
    for (const item of body.split(",")) {
      const itemLine = first +
        body.slice(0, offset + item.length - item.trimStart().length).split("\n").length - 1;
      offset += item.length + 1;
      if (item.trim() === "") continue;
      const [, name = "", value] = /^\s*(\w+)\s*(?:=\s*(.*\S)\s*)?$/s.exec(item) ?? [];
      if (!name.startsWith("EXRP_")) {
        throw new AbiHeaderError(
          itemLine,
          `the enumerator "${item.trim()}"; constants are EXRP_<GROUP>_<NAME>`,
        );
      }
      if (value === undefined) {
        throw new AbiHeaderError(itemLine, `${name} has no number; numbers are pinned`);
      }
      addConstant(name, value, itemLine);
    }
  });
  take(/\bEXRP_(API|SLOW)\b([^;]*);/g, ([, kind, prototype = ""], line) => {
    const made = parsePrototype(prototype, line);
    declare(made.name, line);
    functions.push(kind === "SLOW" ? { ...made, isSlow: true } : made);
  });

  const left = /\S/.exec(rest);
  if (left) {
    const line = lineAt(left.index);
    const what = (rest.split("\n")[line - 1] ?? "").trim();
    throw new AbiHeaderError(
      line,
      `"${what}" is neither a constant, an enum nor a prototype that begins with EXRP_API`,
    );
  }
  return { functions, constants };
}

function parsePrototype(prototype: string, line: number): AbiFunction {
  const shown = prototype.replace(/\s+/g, " ").trim();
  const refuse = (problem: string): never => {
    throw new AbiHeaderError(line, `${shown}: ${problem}`);
  };
  if (/\(\s*\*/.test(prototype)) return refuse("a pointer to a function; the ABI has no callbacks");
  const match = /^([\w\s*]*?[\s*])(\w+)\s*\(([^()]*)\)$/.exec(prototype.trim());
  if (!match) return refuse("not a plain prototype: result name(parameters)");
  const [, resultText = "", name = "", list = ""] = match;

  if (!/^exrp(_[a-z0-9]+)+$/.test(name)) return refuse("functions are named exrp_<noun>_<verb>");
  if (resultText.includes("*")) return refuse("a pointer as result; the caller owns every buffer");
  const resultName = resultText.replace(/\s+/g, " ").trim();
  const result = resultName === "void" ? "void" : scalars.get(resultName);
  if (result === undefined) return refuse(`result: ${scalarProblem(resultName)}`);

  if (list.trim() === "") {
    return refuse("an empty parameter list is not a prototype in C99; write (void)");
  }
  const parameters: AbiParameter[] = [];
  if (list.trim() !== "void") {
    for (const text of list.split(",")) parameters.push(parseParameter(text.trim(), refuse));
  }
  return { name, parameters, result };
}

function parseParameter(text: string, refuse: (problem: string) => never): AbiParameter {
  if (text === "...") return refuse("variable arguments");
  if (text.includes("[")) return refuse(`the array parameter "${text}"; write a pointer`);
  const match = /^((?:[A-Za-z_]\w*\s+|[A-Za-z_]\w*\s*(?=\*))+)(\**(?:\s*const\s+)?)\s*(\w+)$/.exec(
    text,
  );
  if (!match) {
    if (/\*.*\*/.test(text)) return refuse(`the parameter "${text}": a pointer to a pointer`);
    return refuse(`the parameter "${text}" is not "type name"`);
  }
  const [, typeText = "", stars = "", name = ""] = match;
  const type = typeText.replace(/\b(const|EXRP_INOUT)\b/g, " ").replace(/\s+/g, " ").trim();
  const isConst = /\bconst\b/.test(typeText);
  const isInOut = /\bEXRP_INOUT\b/.test(typeText);
  if (type === "" || scalars.has(name) || name === "const") {
    return refuse(`the parameter "${text}" has no name`);
  }
  const depth = stars.split("*").length - 1;
  if (depth > 1) return refuse(`the parameter "${text}": a pointer to a pointer`);
  if (depth === 1) {
    const item = pointedTo.get(type);
    if (item === undefined) {
      return refuse(
        `the parameter "${text}": a pointer to ${type}; buffers hold uint8_t, uint32_t, int32_t, float or double`,
      );
    }
    if (isConst && isInOut) return refuse(`the parameter "${text}": EXRP_INOUT, and const`);
    return { name, type: "buffer", use: isConst ? "in" : isInOut ? "inout" : "out", item };
  }
  if (isInOut) return refuse(`the parameter "${text}": EXRP_INOUT, and no pointer`);
  const scalar = scalars.get(type);
  if (scalar === undefined) return refuse(`the parameter "${text}": ${scalarProblem(type)}`);
  return { name, type: scalar };
}
