/**
 * Writes the numbers of a module where they are used, as a compiler of C does with those of a header: a package needs neither their names
 * nor the imports of them.
 *
 * @module
 */
import ts from "npm:typescript@6.0.3";

function parse(name: string, text: string): ts.SourceFile {
  return ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
}

/** The names and numbers of `export const NAME = number;`, if the statement is one. */
function numbersOf(statement: ts.Statement): (readonly [name: string, number: string])[] {
  if (!ts.isVariableStatement(statement)) return [];
  const isExported = statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
  const [declaration, ...more] = statement.declarationList.declarations;
  if (!isExported || declaration?.initializer === undefined || more.length > 0) return [];
  const value = declaration.initializer.getText();
  return /^-?\d[\w.]*$/.test(value) ? [[declaration.name.getText(), value]] : [];
}

/** A text with other words in some places, which are in order. */
function replaced(
  text: string,
  edits: readonly (readonly [start: number, end: number, words: string])[],
): string {
  let [result, at] = ["", 0];
  for (const [start, end, words] of edits) {
    result += text.slice(at, start) + words;
    at = end;
  }
  return result + text.slice(at);
}

/** The numbers that a module exports by name, and the module without them. */
export function takeNumbers(
  name: string,
  text: string,
): { numbers: ReadonlyMap<string, string>; rest: string } {
  const statements = parse(name, text).statements.filter((each) => numbersOf(each).length > 0);
  return {
    numbers: new Map(statements.flatMap(numbersOf)),
    rest: replaced(text, statements.map((each) => [each.pos, each.end, ""])),
  };
}

/**
 * A module with the numbers themselves where it imports them.
 *
 * @param from Whether an import comes from the module of the numbers, by what the import names.
 * @throws {Error} When the module uses a number's name in a way that needs the name, such as an export of it.
 */
export function inlineNumbers(
  name: string,
  text: string,
  numbers: ReadonlyMap<string, string>,
  from: (specifier: string) => boolean,
): string {
  const file = parse(name, text);
  const imports = file.statements.filter(ts.isImportDeclaration).filter(({ moduleSpecifier }) =>
    ts.isStringLiteral(moduleSpecifier) && from(moduleSpecifier.text)
  );
  const edits: [start: number, end: number, words: string][] = [];
  const edit = (node: ts.Node, words: string): unknown =>
    edits.push([node.getStart(file), node.end, words]);
  const inlined = new Map<string, string>();
  const namespaces = new Set<string>();
  for (const statement of imports) {
    const bindings = statement.importClause?.namedBindings;
    if (bindings !== undefined && ts.isNamespaceImport(bindings)) {
      namespaces.add(bindings.name.text);
    }
    if (bindings === undefined || !ts.isNamedImports(bindings)) continue;
    const kept = bindings.elements.filter((each) => {
      const number = numbers.get((each.propertyName ?? each.name).text);
      if (number !== undefined) inlined.set(each.name.text, number);
      return number === undefined;
    });
    if (kept.length === bindings.elements.length) continue;
    if (kept.length > 0) edit(bindings, `{${kept.map((each) => each.getText(file)).join(",")}}`);
    else edits.push([statement.pos, statement.end, ""]);
  }
  const lookUp = (key: string, found: ReadonlyMap<string, string>): string | undefined => {
    const number = found.get(key);
    return number?.startsWith("-") ? `(${number})` : number;
  };
  const stays = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) return;
    if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)) {
      const { expression: { text: space }, name: { text: key } } = node;
      const number = namespaces.has(space) ? lookUp(key, numbers) : undefined;
      if (number !== undefined) return void edit(node, number);
      return visit(node.expression);
    }
    if (ts.isPropertyAccessExpression(node)) return visit(node.expression);
    if (ts.isPropertyAssignment(node) && ts.isIdentifier(node.name)) return visit(node.initializer);
    if (!ts.isIdentifier(node)) return ts.forEachChild(node, visit);
    if (namespaces.has(node.text)) stays.add(node.text);
    const number = lookUp(node.text, inlined);
    if (number === undefined) return;
    const { parent } = node;
    if (ts.isShorthandPropertyAssignment(parent)) edit(node, `${node.text}:${number}`);
    else if (ts.isExpression(parent) || ts.isStatement(parent) || isValueOf(parent, node)) {
      edit(node, number);
    } else throw new Error(`${name} needs the name of ${node.text}: ${parent.getText(file)}`);
  };
  visit(file);
  for (const statement of imports) {
    const bindings = statement.importClause?.namedBindings;
    if (bindings === undefined || !ts.isNamespaceImport(bindings)) continue;
    if (!stays.has(bindings.name.text)) edits.push([statement.pos, statement.end, ""]);
  }
  return replaced(text, edits.sort(([one], [other]) => one - other));
}

/** Whether a node is a value in another that is neither an expression nor a statement. */
function isValueOf(parent: ts.Node, node: ts.Node): boolean {
  if (ts.isComputedPropertyName(parent) || ts.isCaseClause(parent)) return true;
  if (ts.isTemplateSpan(parent) || ts.isSpreadAssignment(parent)) return true;
  return "initializer" in parent && parent.initializer === node;
}
