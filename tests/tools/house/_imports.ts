/** What a file imports, read from its text; `import type` is an import like any other, and so is a C++ include. */

/** An import, as it is written and where it leads. */
export interface Import {
  /** What is written: a path or the name of a package. */
  readonly specifier: string;
  /** The file that it leads to, from the root and with `/`; undefined for a package from elsewhere. */
  readonly target: string | undefined;
}

/** A text of TypeScript or C++ without its comments. */
export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|(^|\s)\/\/[^\n]*/g, "");
}

/** What a module imports and re-exports. `doors` has the files of the public face, by the names that users import them by. */
export function listImports(
  file: string,
  code: string,
  doors: ReadonlyMap<string, string>,
): Import[] {
  const pattern = /\b(?:from|import)\s*\(?\s*(["'])([^"'\n]+)\1/g;
  return [...code.matchAll(pattern)].map(([, , specifier = ""]) => ({
    specifier,
    target: specifier.startsWith(".")
      ? new URL(specifier, `file:///${file}`).pathname.slice(1)
      : doors.get(specifier),
  }));
}

/** What a C++ file includes by a path, which begins at the root. */
export function listIncludes(code: string): Import[] {
  const includes = code.matchAll(/^\s*#\s*include\s+"([^"]+)"/gm);
  return [...includes].map(([, path = ""]) => ({ specifier: path, target: path }));
}

/** A circle of imports, from a file back to itself; undefined where no way from `starts` leads to one. */
export function findCircle(
  starts: Iterable<string>,
  targetsOf: (file: string) => readonly string[],
): readonly string[] | undefined {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): readonly string[] | undefined => {
    if (done.has(file)) return undefined;
    const first = path.indexOf(file);
    if (first >= 0) return [...path.slice(first), file];
    path.push(file);
    for (const target of targetsOf(file)) {
      const circle = visit(target);
      if (circle !== undefined) return circle;
    }
    path.pop();
    done.add(file);
    return undefined;
  };
  for (const file of starts) {
    const circle = visit(file);
    if (circle !== undefined) return circle;
  }
  return undefined;
}
