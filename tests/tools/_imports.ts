/** The imports of the repository's TypeScript files, read from their text; `import type` is an import like any other. */
import { exists, inRepository, listTree } from "../../tools/_repository.ts";

const manifest: {
  readonly exports: Readonly<Record<string, string>>;
  readonly publish: { readonly include: readonly string[] };
} = JSON.parse(await Deno.readTextFile(inRepository("deno.json")));

/** The public doors of the library: the files behind the exports of deno.json, by the names that users import them by. */
const doors: ReadonlyMap<string, string> = new Map(
  Object.entries(manifest.exports).map((
    [name, path],
  ) => [name.replace(".", "@exrp/replay"), path.replace("./", "")]),
);

/** The files of the public doors. */
export const doorFiles: readonly string[] = [...doors.values()];

/** The parts of the repository that deno.json publishes, but for the kernels. */
export const publishedParts: readonly string[] = manifest.publish.include.filter((part) =>
  part !== "prebuilt" && (part.endsWith(".ts") || !/[A-Z.]/.test(part))
);

/** A part of the repository: its files, or the one file that it names. */
export async function listPart(part: string, ...extensions: string[]): Promise<string[]> {
  if (!(await exists(inRepository(part)))) return [];
  return part.endsWith(".ts") ? [part] : await listTree(part, ...extensions);
}

/** A text of TypeScript or C++ without its comments. */
export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|(^|\s)\/\/[^\n]*/g, "");
}

/** The specifiers of a module's imports and re-exports. */
export function listImports(text: string): string[] {
  const pattern = /\b(?:from|import)\s*\(?\s*(["'])([^"'\n]+)\1/g;
  return [...withoutComments(text).matchAll(pattern)].map((match) => match[2] ?? "");
}

/** The file that a specifier in `file` leads to; undefined for a package from elsewhere. Paths are from the root, with `/`. */
export function resolveImport(file: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return doors.get(specifier);
  return new URL(specifier, `file:///${file}`).pathname.slice(1);
}

/** For each file of these parts, the files that it imports. */
export async function importGraph(
  parts: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const graph = new Map<string, readonly string[]>();
  for (const part of parts) {
    for (const file of await listPart(part, ".ts")) {
      const specifiers = listImports(await Deno.readTextFile(inRepository(file)));
      const targets = specifiers.map((specifier) => resolveImport(file, specifier));
      graph.set(file, targets.filter((target) => target !== undefined));
    }
  }
  return graph;
}

/** A circle of imports, from a file back to itself; undefined where there is none. */
export function findCircle(
  graph: ReadonlyMap<string, readonly string[]>,
): readonly string[] | undefined {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): readonly string[] | undefined => {
    if (done.has(file)) return undefined;
    const first = path.indexOf(file);
    if (first >= 0) return [...path.slice(first), file];
    path.push(file);
    for (const target of graph.get(file) ?? []) {
      const circle = visit(target);
      if (circle !== undefined) return circle;
    }
    path.pop();
    done.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const circle = visit(file);
    if (circle !== undefined) return circle;
  }
  return undefined;
}
