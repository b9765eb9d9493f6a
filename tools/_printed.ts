/**
 * What an example of the documentation prints, beside what its comments say.
 *
 * The copies of pages that {@linkcode file://./_doc_examples.ts} makes import this module. It keeps what `console.log`
 * prints, and prints nothing.
 *
 * @module
 */
let lines: string[] = [];

console.log = (...values: unknown[]): void => {
  const texts = values.map((value) => typeof value === "string" ? value : Deno.inspect(value));
  lines.push(texts.join(" "));
};

/** Without blanks, because a comment has one line where `console.log` may print several. */
function squeeze(text: string): string {
  return text.replace(/\s/g, "");
}

/** Whether a comment says what was printed; after a colon it may say more, and `such as` holds for any value. */
export function says(comment: string, text: string): boolean {
  const wanted = squeeze(comment);
  const came = squeeze(text);
  return wanted === came || wanted.startsWith(`${came}:`) || comment.startsWith("such as ");
}

/** Forgets what was printed: a statement that prints begins. */
export function begin(): void {
  lines = [];
}

/** Throws unless the comment behind a statement says what the statement printed. */
export function check(comment: string): void {
  const text = lines.join("\n");
  if (lines.length > 0 && says(comment, text)) return;
  const came = lines.length > 0 ? text : "nothing";
  throw new Error(`an example prints\n  ${came}\nbut its comment says\n  ${comment}`);
}
