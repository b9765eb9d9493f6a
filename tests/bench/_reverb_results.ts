/** Results of `bench:reverb`, as a file of results has them. */
import type { ReverbResults } from "../../bench/report/reverb.ts";

/** Results with these rows. */
export function reverbResults(rows: ReverbResults["rows"]): ReverbResults {
  return {
    bench: "reverb",
    date: "2026-11-22T18:00Z",
    commit: "abc",
    versions: {},
    machine: { os: "linux x64", cpu: "this", cores: 2, memoryGiB: 24 },
    rounds: 7,
    seconds: 1,
    worstRounds: 7,
    worstSeconds: 2,
    items: 100_000,
    rows,
  };
}
