/**
 * A module of TypeScript or JavaScript without what only its authors need: comments, indentation, and spaces between tokens.
 *
 * The tokens themselves stay, so names, types and messages are those of the source, and each statement has a line of its own, which a
 * stack trace can name. The documentation of public declarations stays too, because JSR and editors show it. The result is parsed
 * again: unless it has the same syntax tree, {@linkcode leanModule} throws.
 *
 * What goes, beside blanks: a comma before a closing bracket, a semicolon before a closing brace, and the stars of documentation, where
 * its text is not indented.
 *
 * Invariants: the same text gives the same result; a lean module stays as it is.
 *
 * @module
 */
import ts from "npm:typescript@6.0.3";

/** What of a module's documentation stays. */
export interface KeptDocs {
  /** Where public declarations are: a line and a column each, counted from 0. The whole statement around one keeps its documentation. */
  readonly declarations: readonly (readonly [line: number, column: number])[] | "all";
  /** Whether the description of the module stays, which is the comment with `@module`. */
  readonly ofModule: boolean;
}

const noDocs: KeptDocs = { declarations: [], ofModule: false };

/** Comments that compilers and bundlers read, and notices of a licence. */
const WITH_FUNCTION =
  /@ts-|@jsx|[@#]__(?:PURE|NO_SIDE_EFFECTS)__|^\/\/\/\s*<|@license|@preserve|copyright|webpack|@vite-/i;

/** What a name or a number is made of: two of them need a space between. */
const WORD = /[\w$\u0080-\uffff]/;

/** What operators are made of: two of them keep the space that they had. */
const OPERATOR = /[-+*/<>=!&|?.:^%~@#]/;

function parse(name: string, text: string): ts.SourceFile {
  return ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
}

function isToken(node: ts.Node): boolean {
  return node.kind <= ts.SyntaxKind.LastToken;
}

function isDoc(node: ts.Node): boolean {
  return node.kind >= ts.SyntaxKind.FirstJSDocNode && node.kind <= ts.SyntaxKind.LastJSDocNode;
}

/** Whether a token may go: the node that it belongs to ends without it, too. */
function isDispensable(token: ts.Node, next: ts.Node | undefined): boolean {
  if (next === undefined) return false;
  if (token.kind === ts.SyntaxKind.SemicolonToken) {
    return next.kind === ts.SyntaxKind.CloseBraceToken && !ts.isEmptyStatement(token.parent);
  }
  // Where an element is left out, its comma counts.
  const closing = [
    ts.SyntaxKind.CloseBraceToken,
    ts.SyntaxKind.CloseParenToken,
    ts.SyntaxKind.CloseBracketToken,
  ];
  return token.kind === ts.SyntaxKind.CommaToken && closing.includes(next.kind) &&
    !ts.isArrayLiteralExpression(token.parent) && !ts.isArrayBindingPattern(token.parent);
}

/** The syntax tree as text: kinds of nodes, and tokens without those that are dispensable. */
function shapeOf(file: ts.SourceFile): readonly string[] {
  const parts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (isDoc(node) || node.kind === ts.SyntaxKind.SyntaxList && node.getChildCount() === 0) return;
    if (isToken(node)) {
      if (![ts.SyntaxKind.CommaToken, ts.SyntaxKind.SemicolonToken].includes(node.kind)) {
        parts.push(node.getText(file));
      }
      return;
    }
    parts.push(`<${node.kind}`);
    for (const child of node.getChildren(file)) visit(child);
    parts.push(">");
  };
  visit(file);
  return parts;
}

/**
 * Checks that two texts are the same program, but for blanks, comments, and signs that are dispensable.
 *
 * @throws {Error} When they have different syntax trees, with where they differ.
 */
export function requireSameProgram(name: string, one: string, other: string): void {
  const [was, is] = [shapeOf(parse(name, one)), shapeOf(parse(name, other))];
  if (was.length === is.length && was.every((each, index) => each === is[index])) return;
  const at = was.findIndex((each, index) => each !== is[index]);
  const near = (parts: readonly string[]): string =>
    parts.slice(Math.max(0, at - 5), at + 3).join(" ");
  throw new Error(`${name} would become another program: ${near(was)} would be ${near(is)}`);
}

/** The places before which documentation stays. */
function placesOfDocs(file: ts.SourceFile, { declarations }: KeptDocs): Set<number> {
  const starts = declarations === "all"
    ? file.statements.map((statement) => statement.getStart(file))
    : declarations.map(([line, column]) => file.getPositionOfLineAndCharacter(line, column));
  const places = new Set<number>();
  const visit = (node: ts.Node): void => {
    const isPrivate = (ts.canHaveModifiers(node) ? ts.getModifiers(node) ?? [] : []).some((each) =>
      each.kind === ts.SyntaxKind.PrivateKeyword
    );
    const isHidden = ts.isClassElement(node) && node.name !== undefined &&
      ts.isPrivateIdentifier(node.name);
    if (isPrivate || isHidden || ts.isBlock(node)) return;
    if (ts.getJSDocCommentsAndTags(node).some((each) => each.parent === node)) {
      places.add(node.getStart(file));
    }
    ts.forEachChild(node, visit);
  };
  for (const statement of file.statements) {
    const [start, end] = [statement.getStart(file), statement.end];
    if (starts.some((each) => each >= start && each < end)) visit(statement);
  }
  return places;
}

/**
 * Documentation without indentation. Its stars go, too, unless a line of its text begins with a star or a blank: editors take that blank
 * for indentation of the comment, where no star comes before it.
 */
function leanDoc(comment: string): string {
  const lines = comment.slice(3, -2).trimEnd().split("\n").map((line, index) =>
    index === 0 ? line.trim() : line.replace(/^\s*\* ?/, "").trimEnd()
  );
  if (lines[0] === "") lines.shift();
  const needsStars = lines.some((line) => /^[\s*]/.test(line));
  if (lines.length === 1 && !needsStars) return `/** ${lines[0]} */`;
  const text = needsStars ? lines.map((line) => line === "" ? "*" : `* ${line}`) : lines;
  return `/**\n${text.join("\n")}\n*/`;
}

/** What stands between two tokens: the comments that stay, and what separates them. */
function leanGap(
  gap: string,
  [before, after]: readonly [string, string],
  keeps: (comment: string, isLastDoc: boolean) => boolean,
): string {
  const comments = gap.match(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g) ?? [];
  let text = "";
  let isLineEnded = before === "";
  for (const [index, comment] of comments.entries()) {
    const isLastDoc = index === comments.findLastIndex((each) => each.startsWith("/**"));
    if (!keeps(comment, isLastDoc)) continue;
    if (/^\/\*[^*]|^\/\*\*\//.test(comment)) {
      text += comment;
      isLineEnded = false;
    } else {
      text += `${isLineEnded ? "" : "\n"}${
        comment.startsWith("/**") ? leanDoc(comment) : comment
      }\n`;
      isLineEnded = true;
    }
  }
  if (text !== "" || gap === "") return text;
  if (gap.includes("\n") && /[;}]$/.test(before) && !after.startsWith("}")) return "\n";
  const [left, right] = [before.at(-1) ?? "", after[0] ?? ""];
  const isNeeded = WORD.test(left) && (WORD.test(right) || right === ".") ||
    OPERATOR.test(left) && OPERATOR.test(right);
  return isNeeded ? " " : "";
}

/**
 * The module without what only its authors need.
 *
 * @param name The name of its file, which says the language.
 * @param text Its text.
 * @param docs The documentation that stays; none by default.
 * @throws {Error} When the result has another syntax tree, with the first token that differs.
 */
export function leanModule(name: string, text: string, docs: KeptDocs = noDocs): string {
  const file = parse(name, text);
  const places = placesOfDocs(file, docs);
  const tokens: ts.Node[] = [];
  const collect = (node: ts.Node): void => {
    if (isToken(node)) tokens.push(node);
    else if (!isDoc(node)) node.getChildren(file).forEach(collect);
  };
  file.statements.forEach(collect);
  let [lean, before, end] = ["", "", 0];
  for (const [index, token] of tokens.entries()) {
    const start = token.getStart(file);
    if (isDispensable(token, tokens[index + 1]) && !text.slice(end, start).includes("/")) {
      continue;
    }
    const after = token.getText(file);
    lean += leanGap(
      text.slice(end, start),
      [before, after],
      (comment, isLastDoc) =>
        WITH_FUNCTION.test(comment) || comment.startsWith("/**") && (
            isLastDoc && places.has(start) ||
            docs.ofModule && end === 0 && /^\s*\*\s*@module\b/m.test(comment)
          ),
    );
    lean += after;
    [before, end] = [after, token.end];
  }
  lean += "\n";
  requireSameProgram(name, text, lean);
  return lean;
}
