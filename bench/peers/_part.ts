/**
 * Groups of figures that were measured again, put into the results of a whole run.
 *
 * Every figure of a group comes from one run, except those of systems that the later run could not measure: they stay, and the page
 * names them. The page gives the date, the commit and the machine of each part.
 *
 * @module
 */

import type { Part, PeersResults } from "./_results.ts";

/**
 * The results of `whole` with the groups that `part` measured.
 *
 * @throws {Error} If `part` was a quick run or has no figures, or if a system has another version than in `whole`: figures of two
 * versions don't belong into one table.
 */
export function withPart(whole: PeersResults, part: PeersResults): PeersResults {
  if (part.quick) throw new Error("figures of a quick run can't replace those of a whole run");
  const groups = [...new Set(part.rows.map(({ group }) => group))];
  if (groups.length === 0) throw new Error("the later run has no figures");
  for (const system of part.systems) {
    const before = whole.systems.find(({ name }) => name === system.name);
    const [now, then] = [system, before].map((one) =>
      JSON.stringify([one?.version, one?.packages])
    );
    if (now !== then) {
      throw new Error(
        `${system.name} is ${now} in the later run and ${then} in the whole run: measure all groups again`,
      );
    }
  }
  const measured = part.systems.map(({ name }) => name);
  const stays = ({ group, system }: { readonly group: string; readonly system: string }) =>
    !groups.includes(group) || !measured.includes(system);
  const { date, cpu, cores, memoryBytes, os, deno, commit = "" } = part;
  const added: Part = { groups, measured, date, cpu, cores, memoryBytes, os, deno, commit };
  const earlier = (whole.parts ?? []).flatMap((one): Part[] => {
    const left = one.groups.filter((group) => !groups.includes(group));
    return left.length === 0 ? [] : [{ ...one, groups: left }];
  });
  return {
    ...whole,
    notes: [...whole.notes.filter(stays), ...part.notes],
    rows: [...whole.rows.filter(stays), ...part.rows],
    parts: [...earlier, added],
  };
}
