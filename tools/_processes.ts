/**
 * Programs and those that they started, as Linux tells them in /proc.
 *
 * @module
 */

/** A program with all that it started. */
export interface Tree {
  /** Their numbers, the program's own first; none where it has ended. */
  readonly pids: readonly number[];
  /** The processor time that they took, in seconds, with that of those that have ended. */
  readonly seconds: number;
}

/** Linux counts processor time in hundredths of a second, whatever the machine. */
const ticksPerSecond = 100;

/** A program's parent and processor time, out of /proc/PID/stat; undefined where it has ended. */
function readStat(pid: number): { parent: number; ticks: number } | undefined {
  try {
    const text = Deno.readTextFileSync(`/proc/${pid}/stat`);
    // The name, in parentheses, may have spaces and parentheses of its own.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ").map(Number);
    const [, parent = 0] = fields;
    // Its own time in user mode and in the system, and that of its programs that ended.
    const ticks = fields.slice(11, 15).reduce((sum, each) => sum + each, 0);
    return { parent, ticks };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    // Linux says that a program has ended while it was read by an error of its own (ESRCH).
    if (error instanceof Error && /os error 3/.test(error.message)) return undefined;
    throw error;
  }
}

/** A program with all that it started; undefined where this system is not Linux. */
export function readTree(root: number): Tree | undefined {
  if (Deno.build.os !== "linux") return undefined;
  const children = new Map<number, number[]>();
  const ticksOf = new Map<number, number>();
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const pid = Number(name);
    const stat = readStat(pid);
    if (stat === undefined) continue;
    ticksOf.set(pid, stat.ticks);
    const siblings = children.get(stat.parent);
    if (siblings === undefined) children.set(stat.parent, [pid]);
    else siblings.push(pid);
  }
  const pids = ticksOf.has(root) ? [root] : [];
  let ticks = 0;
  // The list grows while it is read.
  for (const pid of pids) {
    ticks += ticksOf.get(pid) ?? 0;
    pids.push(...children.get(pid) ?? []);
  }
  return { pids, seconds: ticks / ticksPerSecond };
}
