/**
 * What a section of `docs/benchmarks.md` is, and how its numbers are written.
 *
 * @module
 */

/** One section, made from one file of results. */
export interface Section {
  /** The file in `bench/results`. */
  readonly file: string;
  /** Makes it of the parsed file; throws a `TypeError` that says what is wrong with that. */
  readonly render: (results: unknown) => Promise<Rendered>;
}

/** A section as text, with the pictures that it shows. */
export interface Rendered {
  readonly markdown: string;
  /** What stands at the page's top, if anything. */
  readonly summary?: string;
  /** SVG by file name, in `docs/images`. */
  readonly images: ReadonlyMap<string, string>;
}

/** Three significant digits, thousands apart. */
export function digits(value: number): string {
  if (value >= 999.5) return Math.round(Number(value.toPrecision(3))).toLocaleString("en-US");
  if (value >= 99.95) return value.toFixed(0);
  if (value >= 9.995) return value.toFixed(1);
  return value.toFixed(2);
}

/** A factor. */
export function factor(value: number): string {
  return `${value >= 9.95 ? value.toFixed(0) : value.toFixed(1)}×`;
}

/** A table: the first column to the left, the others to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = `|---|${head.slice(1).map(() => "---:|").join("")}`;
  return [line(head), rule, ...rows.map(line)].join("\n");
}
