/**
 * The form of `bench/results/peers.json`.
 *
 * @module
 */

/** One system, measured or missing. */
export interface System {
  readonly name: string;
  readonly version: string;
  /** How many threads it uses. */
  readonly threads: string;
  /** The versions of the packages that it needs. */
  readonly packages: Readonly<Record<string, string>>;
}

/** One figure, or the reason why there is none. */
export interface Row {
  readonly group: string;
  readonly capacity: number;
  readonly call: string;
  readonly system: string;
  /** The minimum of the repeats: seconds of one call, or bytes for `bytes a record`; undefined if there is none. */
  readonly value?: number;
  /** The reason why there is no figure. */
  readonly why?: string;
}

/** A note for readers of one system's figures in one group. */
export interface Note {
  readonly group: string;
  readonly system: string;
  readonly text: string;
}

/** When, where and from which sources a run was made. */
export interface RunOrigin {
  /** The date of its end, `YYYY-MM-DD`. */
  readonly date: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly os: string;
  readonly deno: string;
  /** The commit of the sources; empty outside of a repository. A `+` means that they had uncommitted changes. */
  readonly commit?: string;
}

/** One line for a page: when, where and from which sources a run was made. */
export function originOf(
  { date, cpu, cores, memoryBytes, os, deno, commit = "" }: RunOrigin,
): string {
  return `${date}, ${cpu}, ${cores} cores, ${
    (memoryBytes / 2 ** 30).toFixed(0)
  } GiB, ${os}, Deno ${deno}` +
    (commit === "" ? "" : `, commit ${commit}`);
}

/** Groups of figures that a later run measured again (`_part.ts`). */
export interface Part extends RunOrigin {
  readonly groups: readonly string[];
  /** The systems that the later run measured. Figures of other systems in these groups are those of the whole run. */
  readonly measured: readonly string[];
}

/** One run. */
export interface PeersResults extends RunOrigin {
  readonly format: "exrp-bench-peers";
  readonly version: 1;
  /** Whether buffers were small and windows short, to see that everything works. Such figures are not quoted. */
  readonly quick: boolean;
  readonly windowMs: number;
  readonly repeats: number;
  readonly systems: readonly System[];
  /** The peers that were not measured, and why. */
  readonly missing: readonly { readonly name: string; readonly why: string }[];
  readonly notes: readonly Note[];
  readonly rows: readonly Row[];
  /** Later runs whose figures replaced some of these; none without it. */
  readonly parts?: readonly Part[];
}

/** The name of memory among the calls. */
export const MEMORY_CALL = "bytes a record";

type Kind = "string" | "number" | "boolean" | "object";

const ORIGIN: Readonly<Record<string, Kind>> = {
  date: "string",
  cpu: "string",
  cores: "number",
  memoryBytes: "number",
  os: "string",
  deno: "string",
  "commit?": "string",
};

function demand(where: string, value: unknown, kinds: Readonly<Record<string, Kind>>): void {
  if (typeof value !== "object" || value === null) {
    throw new TypeError(`${where} must be an object, got ${JSON.stringify(value)}`);
  }
  for (const [key, kind] of Object.entries(kinds)) {
    const isOptional = key.endsWith("?");
    const name = key.replace("?", "");
    const found: unknown = Object.getOwnPropertyDescriptor(value, name)?.value;
    if (isOptional && found === undefined) continue;
    if (typeof found !== kind || found === null) {
      throw new TypeError(`${where}.${name} must be a ${kind}, got ${JSON.stringify(found)}`);
    }
  }
  const known = Object.keys(kinds).map((key) => key.replace("?", ""));
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new TypeError(`${where} has an unknown member ${unknown}`);
}

function demandAll(where: string, values: unknown, kinds: Readonly<Record<string, Kind>>): void {
  if (!Array.isArray(values)) throw new TypeError(`${where} must be an array`);
  for (const [k, value] of values.entries()) demand(`${where}[${k}]`, value, kinds);
}

/** Takes the results from a parsed file. It throws a `TypeError` that says what is wrong with the file. */
export function checkPeersResults(value: unknown): PeersResults {
  demand("peers.json", value, {
    format: "string",
    version: "number",
    ...ORIGIN,
    quick: "boolean",
    windowMs: "number",
    repeats: "number",
    systems: "object",
    missing: "object",
    notes: "object",
    rows: "object",
    "parts?": "object",
  });
  const results = value as PeersResults;
  if (results.format !== "exrp-bench-peers" || results.version !== 1) {
    throw new TypeError(
      `peers.json must be exrp-bench-peers, version 1, got ${results.format}, version ${results.version}`,
    );
  }
  demandAll("systems", results.systems, {
    name: "string",
    version: "string",
    threads: "string",
    packages: "object",
  });
  demandAll("missing", results.missing, { name: "string", why: "string" });
  demandAll("notes", results.notes, { group: "string", system: "string", text: "string" });
  demandAll("parts", results.parts ?? [], { ...ORIGIN, groups: "object", measured: "object" });
  demandAll("rows", results.rows, {
    group: "string",
    capacity: "number",
    call: "string",
    system: "string",
    "value?": "number",
    "why?": "string",
  });
  const known = new Set(results.systems.map(({ name }) => name));
  for (const [k, { system, value, why }] of results.rows.entries()) {
    if (!known.has(system)) throw new TypeError(`rows[${k}] is of an unknown system ${system}`);
    if ((value === undefined) === (why === undefined)) {
      throw new TypeError(`rows[${k}] must have a value, or say why there is none`);
    }
    if (value !== undefined && !(value > 0)) {
      throw new TypeError(`rows[${k}].value must be positive, got ${value}`);
    }
  }
  return results;
}
