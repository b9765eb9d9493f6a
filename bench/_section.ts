/**
 * The form of a section of the pages of benchmarks, and of its numbers.
 *
 * @module
 */

/** One section, made from one file of results. */
export interface Section {
  /** The file in `bench/results`. `limit.*.json` stands for all files of this form, one for each kind of processor, in order. */
  readonly file: string;
  /** Another file there that the section shows too, if it exists. */
  readonly also?: string;
  /**
   * Makes the section from the parsed file, or from the array of the parsed files. `also` is what the other file holds. It throws a
   * `TypeError` that says what is wrong with a file.
   */
  readonly render: (results: unknown, also?: unknown) => Promise<Rendered>;
}

/** A section as text, with its pictures. */
export interface Rendered {
  /** All figures, for `docs/internals/benchmarks_raw.md`. */
  readonly markdown: string;
  /** What belongs on the short page, `docs/benchmarks.md`, if anything does. */
  readonly summary?: string;
  /** SVG by file name, in `docs/images`. */
  readonly images: ReadonlyMap<string, string>;
}

/** Writes three significant digits, with commas between thousands. */
export function digits(value: number): string {
  if (value >= 999.5) return Math.round(Number(value.toPrecision(3))).toLocaleString("en-US");
  if (value >= 99.95) return value.toFixed(0);
  if (value >= 9.995) return value.toFixed(1);
  return value.toFixed(2);
}

/** Writes a factor. */
export function factor(value: number): string {
  return `${value >= 9.95 ? Math.round(value).toLocaleString("en-US") : value.toFixed(1)}×`;
}

/** Writes a table. The first column is aligned to the left, and the others to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = `|---|${head.slice(1).map(() => "---:|").join("")}`;
  return [line(head), rule, ...rows.map(line)].join("\n");
}
