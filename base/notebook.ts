/**
 * Shows the library's objects in notebooks: Deno's Jupyter kernel asks an object for its representations by MIME type.
 *
 * @module
 */

import { showOneAs } from "./inspect.ts";

/** The method that Deno's Jupyter kernel calls. */
const DISPLAY = Symbol.for("Jupyter.display");

/** What a notebook shows: one text for each MIME type. It chooses the richest that it knows. */
export interface MediaBundle {
  /** For terminals and consoles. */
  readonly "text/plain": string;
  /** For notebooks. */
  readonly "text/html": string;
}

/** Makes notebooks show `target`, an object or a prototype, as `html`. It never throws: where `html` throws, the text alone is shown. */
export function displayAs<T extends object>(target: T, html: (value: T) => string): void {
  function display(this: T): MediaBundle {
    const plain = plainText(this);
    try {
      return { "text/plain": plain, "text/html": html(this) };
    } catch {
      return { "text/plain": plain, "text/html": `<pre>${escapeText(plain)}</pre>` };
    }
  }
  Object.defineProperty(target, DISPLAY, { value: display, configurable: true });
}

/** What `console.log` shows. */
function plainText(value: object): string {
  const inspect: unknown = Reflect.get(value, Symbol.for("Deno.customInspect"));
  return typeof inspect === "function" ? String(inspect.call(value)) : String(value);
}

/** A small table. The texts are escaped. `header` names the columns. */
export function htmlTable(
  caption: string,
  rows: readonly (readonly string[])[],
  header: readonly string[] = [],
): string {
  const cell = (tag: string, text: string): string =>
    `<${tag} style="text-align:left;vertical-align:top">${escapeText(text)}</${tag}>`;
  const row = ([name = "", ...others]: readonly string[]): string =>
    `<tr>${cell("th", name)}${others.map((text) => cell("td", text)).join("")}</tr>`;
  const head = header.length === 0
    ? ""
    : `<thead><tr>${header.map((text) => cell("th", text)).join("")}</tr></thead>`;
  return `<table><caption style="text-align:left">${escapeText(caption)}</caption>${head}<tbody>${
    rows.map(row).join("")
  }</tbody></table>`;
}

/** A name and a text: a row of a table. */
export type TextRow = [string, string];

/**
 * Makes `console.log` show a plain object as lines and notebooks as a table, and freezes it. Loops, JSON and comparisons don't see that.
 */
export function showAsTable<T extends object>(
  value: T,
  title: string,
  rowsOf: (value: T) => readonly TextRow[],
): T {
  showOneAs(value, () => {
    const rows = rowsOf(value);
    const width = Math.max(...rows.map(([name]) => name.length));
    return [title, ...rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`)].join("\n");
  });
  displayAs(value, () => htmlTable(title, rowsOf(value)));
  return Object.freeze(value);
}

/** Text for HTML and SVG. What no XML may hold is left out. */
export function escapeText(text: string): string {
  return text
    // deno-lint-ignore no-control-regex
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
