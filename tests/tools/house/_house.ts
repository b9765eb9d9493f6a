/** The house: all files of the repository that the rules of CONTRIBUTING are for, and their texts. */
import { exists, inRepository, listTree } from "../../../tools/_repository.ts";
import { type Import, listImports, listIncludes, withoutComments } from "./_imports.ts";

/** A file and its text. What is read from the text is read once. */
export class Source {
  readonly path: string;
  readonly text: string;
  #code: string | undefined;
  #imports: readonly Import[] | undefined;

  constructor(path: string, text: string) {
    this.path = path;
    this.text = text;
  }

  /** The text without comments. */
  get code(): string {
    return this.#code ??= withoutComments(this.text);
  }

  /** Whether it is TypeScript. */
  get isTypeScript(): boolean {
    return this.path.endsWith(".ts");
  }

  /** Whether it is C++, or the C header of the kernel. */
  get isCpp(): boolean {
    return /\.(?:[ch]pp|[ch])$/.test(this.path);
  }

  /** The folder in the root that it is in, or its own name where it is in the root. */
  get part(): string {
    return this.path.split("/")[0] ?? "";
  }

  /** What stands before the code: the comment that says what the file is. */
  get head(): string {
    const comment = /^(?:\/\*[\s\S]*?\*\/|(?:\/\/[^\n]*\n)+)/.exec(this.text)?.[0] ?? "";
    return comment.replace(/^ *(?:\/\*+|\*\/|\*|\/\/)/gm, "").replace(/\s+/g, " ").trim();
  }

  /** What it imports. */
  importsFrom(doors: ReadonlyMap<string, string>): readonly Import[] {
    if (this.#imports !== undefined) return this.#imports;
    if (this.isTypeScript) this.#imports = listImports(this.path, this.code, doors);
    else this.#imports = this.isCpp ? listIncludes(this.code) : [];
    return this.#imports;
  }
}

interface Manifest {
  readonly exports: Readonly<Record<string, string>>;
  readonly publish: { readonly include: readonly string[] };
}

/** All files, by their paths from the root. */
export class House {
  readonly #sources: ReadonlyMap<string, Source>;
  /** The public doors of the library: the files behind the exports of deno.json, by the names that users import them by. */
  readonly doors: ReadonlyMap<string, string>;
  /** The parts of the library: what deno.json publishes, but for pages and the kernels. */
  readonly parts: readonly string[];

  constructor(sources: ReadonlyMap<string, Source>) {
    this.#sources = sources;
    const { exports, publish }: Manifest = JSON.parse(this.text("deno.json"));
    this.doors = new Map(
      Object.entries(exports).map((
        [name, path],
      ) => [name.replace(".", "@exrp/replay"), path.replace("./", "")]),
    );
    this.parts = publish.include.filter((part) =>
      part !== "prebuilt" && (part.endsWith(".ts") || !/[A-Z.]/.test(part))
    );
  }

  /** All files. */
  get sources(): Source[] {
    return [...this.#sources.values()];
  }

  /** Whether a file is there. */
  has(path: string): boolean {
    return this.#sources.has(path);
  }

  /** Whether a file, or one in this folder, is there. */
  hasPart(part: string): boolean {
    return this.has(part) || this.sources.some(({ path }) => path.startsWith(`${part}/`));
  }

  /** The text of a file; "" where there is none. */
  text(path: string): string {
    return this.#sources.get(path)?.text ?? "";
  }

  /** What a file imports. */
  importsOf(source: Source): readonly Import[] {
    return source.importsFrom(this.doors);
  }

  /** The files that a file imports. */
  targetsOf(path: string): string[] {
    const source = this.#sources.get(path);
    if (source === undefined) return [];
    return this.importsOf(source).map(({ target }) => target).filter((to) => to !== undefined);
  }

  /** Whether a file is of the library: of a part that is published, or of the kernel. */
  isLibrary(path: string): boolean {
    const [part = ""] = path.split("/");
    return part === "kernel" || this.parts.includes(part);
  }

  /** The same house with some files changed or added. */
  with(changed: readonly Source[]): House {
    return new House(
      new Map([...this.#sources, ...changed.map((one) => [one.path, one] as const)]),
    );
  }
}

/** A part of the repository: its files, or the one file that it names. */
async function listPart(part: string, ...extensions: string[]): Promise<string[]> {
  if (!(await exists(inRepository(part)))) return [];
  return part.endsWith(".ts") ? [part] : await listTree(part, ...extensions);
}

/** What is beside the library, and the texts that rules read. */
const others = ["kernel", "examples", "bench", "tools", "tests"];
const read = ["deno.json", "kernel/flags.txt", "CONTRIBUTING.md"];

async function load(): Promise<House> {
  const at = async (path: string): Promise<[string, Source]> => [
    path,
    new Source(path, await Deno.readTextFile(inRepository(path))),
  ];
  const files = await Promise.all(read.map(at));
  for (const part of [...new House(new Map(files)).parts, ...others]) {
    const paths = await listPart(part, ".ts", ".cpp", ".hpp", ".c", ".h", ".py");
    files.push(...await Promise.all(paths.map(at)));
  }
  return new House(new Map(files));
}

/** This repository. */
export const house: House = await load();

/** A rule of CONTRIBUTING. */
export interface Rule {
  /** Its sentence there, word for word. */
  readonly name: string;
  /** What of these files breaks it, a line each. They are files of `house`. */
  readonly find: (sources: readonly Source[], house: House) => string[];
  /** What breaks it, or only seems to: files that are put into the house, and what is then found. */
  readonly planted: readonly Planted[];
}

/** Texts of files, by their paths, and what is found wrong with them. */
export type Planted = readonly [texts: Readonly<Record<string, string>>, ...found: string[]];
