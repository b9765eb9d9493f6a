/**
 * How much of a test runs: `deno task test --all` runs more of what is repeated. It sets `EXRP_ALL=1`, and so may you.
 *
 * @module
 */

/** Whether `deno task test --all` runs this. */
export const isAll: boolean = Deno.env.get("EXRP_ALL") === "1";

/** `few` every day, and `many` with `--all`. */
export function amount(few: number, many: number): number {
  return isAll ? many : few;
}
