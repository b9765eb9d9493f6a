/** Every public symbol has an example, or leads to one: a function, class or constant has its own, and a type has one or links. */

import { assert, assertEquals } from "../_assert.ts";
import { inRepository } from "../../tools/_repository.ts";

interface JsDoc {
  readonly doc?: string;
  readonly tags?: readonly { readonly kind: string; readonly doc?: string }[];
}
interface Member {
  readonly name: string;
  readonly jsDoc?: JsDoc;
}
interface Declaration {
  readonly kind: string;
  readonly declarationKind?: string;
  readonly jsDoc?: JsDoc;
  readonly def?: {
    readonly methods?: readonly Member[];
    readonly properties?: readonly Member[];
    readonly tsType?: { readonly kind: string; readonly value?: { readonly operator?: string } };
  };
}
interface Symbols {
  readonly name: string;
  readonly declarations: readonly Declaration[];
}

/** The types that users write by hand, beside those whose names end in `Options`. */
const BY_HAND = new Set([
  ...["ActorBatch", "ActorStep", "BatchSteps", "FlatSteps", "ManySteps", "Step", "RecordMeta"],
  ...["EvictionRule", "SelectorRule", "MixturePart", "MixtureRule", "MixtureSelector"],
  ...["EvictionCase", "SelectorCase", "PickWhere", "Columns", "Schema", "AttachSchema"],
  ...["GoalColumn", "HindsightStrategy", "RelabelledRewards", "StateSlice", "OwnArrays"],
  ...["SerializeTarget", "UnserializeSource", "BroadcastArrays"],
]);

function examplesOf(jsDoc: JsDoc | undefined): string[] {
  return (jsDoc?.tags ?? []).filter(({ kind }) => kind === "example").map(({ doc }) => doc ?? "");
}

function membersOf({ def }: Declaration): readonly Member[] {
  return [...def?.methods ?? [], ...def?.properties ?? []];
}

/** What `{@linkcode …}` may name: the symbols and their members, each with its examples. */
function targetsOf(symbols: readonly Symbols[]): Map<string, string[]> {
  const targets = new Map<string, string[]>();
  const add = (name: string, jsDoc: JsDoc | undefined): void => {
    targets.set(name, [...targets.get(name) ?? [], ...examplesOf(jsDoc)]);
  };
  for (const { name, declarations } of symbols) {
    for (const declaration of declarations) {
      add(name, declaration.jsDoc);
      for (const member of membersOf(declaration)) add(`${name}.${member.name}`, member.jsDoc);
    }
  }
  return targets;
}

/** The key of a type is `declare const … : unique symbol`: no value, so no example can name it. */
function isTypeKey({ def }: Declaration): boolean {
  return def?.tsType?.kind === "typeOperator" && def.tsType.value?.operator === "unique";
}

/** What a declaration lacks; nothing where it has all. */
function faultOf(name: string, declaration: Declaration, targets: Map<string, string[]>): string[] {
  const { kind, jsDoc } = declaration;
  if (examplesOf(jsDoc).length > 0) return [];
  const isValue = ["class", "function", "variable"].includes(kind) && !isTypeKey(declaration);
  if (isValue) return [`${name}: no example`];
  const links = [...(jsDoc?.doc ?? "").matchAll(/\{@linkcode ([\w.]+)/g)].map(([, to]) => to ?? "");
  const dead = links.filter((to) => !targets.has(to)).map((to) => `${name}: no ${to} to link to`);
  if (dead.length > 0) return dead;
  const others = links.filter((to) => to !== name);
  if (!name.endsWith("Options") && !BY_HAND.has(name)) {
    return others.length > 0 ? [] : [`${name}: no link`];
  }
  const examples = others.flatMap((to) => targets.get(to) ?? []);
  if (examples.length === 0) return [`${name}: neither an example nor a link to one`];
  const members = kind === "interface" ? membersOf(declaration) : [];
  const isUsed = members.length === 0 ||
    members.some((member) =>
      examples.some((code) => new RegExp(`\\b${member.name}\\b`).test(code))
    );
  return isUsed ? [] : [`${name}: no example that it links to has one of its members`];
}

function faultsOf(symbols: readonly Symbols[]): string[] {
  const targets = targetsOf(symbols);
  return symbols.flatMap(({ name, declarations }) =>
    declarations.filter(({ declarationKind }) => (declarationKind ?? "export") === "export")
      .flatMap((declaration) => faultOf(name, declaration, targets))
  );
}

Deno.test("every public symbol has an example, or leads to one", async () => {
  const { exports } = JSON.parse(await Deno.readTextFile(inRepository("deno.json")));
  const paths = Object.values<string>(exports).map((path) => inRepository(path));
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", ...paths],
  }).output();
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout));
  const files = Object.values<{ symbols: Symbols[] }>(nodes);
  assertEquals(files.length, paths.length);
  const symbols = files.flatMap((file) => file.symbols);
  assert(symbols.some(({ name }) => name === "ExperienceReplay"), "deno doc named none");
  const names = new Set(symbols.map(({ name }) => name));
  assertEquals([...BY_HAND].filter((name) => !names.has(name)), [], "names that are no more");
  assertEquals(faultsOf(symbols), []);
});

Deno.test("what has no example, a dead link, no link, or a link to an example without it is found", () => {
  const example = { kind: "example", doc: "pack({ depth: 2 })" };
  const of = (
    name: string,
    kind: string,
    doc: string,
    more: Partial<Declaration> = {},
  ): Symbols => ({
    name,
    declarations: [{ kind, jsDoc: { doc }, ...more }],
  });
  const members = (name: string): Partial<Declaration> => ({ def: { properties: [{ name }] } });
  assertEquals(
    faultsOf([
      { name: "pack", declarations: [{ kind: "function", jsDoc: { tags: [example] } }] },
      of("unpack", "function", "See {@linkcode pack}."),
      of("PackOptions", "interface", "Of {@linkcode pack}.", members("depth")),
      of("BadOptions", "interface", "Of {@linkcode pack}.", members("dept")),
      of("LostOptions", "typeAlias", "Of {@linkcode unpack}."),
      of("Packed", "typeAlias", "What {@linkcode pack} gives."),
      of("Unlinked", "typeAlias", "What `pack` gives."),
      of("Itself", "interface", "An {@linkcode Itself}."),
      of("Dead", "interface", "What {@linkcode pack.gone} gives."),
    ]),
    [
      "unpack: no example",
      "BadOptions: no example that it links to has one of its members",
      "LostOptions: neither an example nor a link to one",
      "Unlinked: no link",
      "Itself: no link",
      "Dead: no pack.gone to link to",
    ],
  );
});
