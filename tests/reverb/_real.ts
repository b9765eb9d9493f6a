/**
 * Reverb itself for tests: its server as a process, and its client as a script of Python.
 *
 * Without Python's environment the tests are skipped, and their names say what installs it.
 */
import { fileURLToPath } from "node:url";
import { findReverbPython } from "../../bench/reverb/_python.ts";
import { RealServer, type RealTable } from "../../bench/reverb/_real_server.ts";
import { PATIENCE_MS } from "../_wait.ts";

export {
  plainTable,
  type RealRateLimiter,
  type RealSelector,
  RealServer,
  type RealSignature,
  type RealTable,
} from "../../bench/reverb/_real_server.ts";

const found = await findReverbPython();

/** The interpreter that has Reverb; undefined where there is none. */
export const reverbPython: string | undefined = "python" in found ? found.python : undefined;

/** A test that needs Reverb. Where it is not installed, the test is skipped, and its name says why. */
export function besideReverb(what: string, fn: () => Promise<void>): void {
  if ("python" in found) return Deno.test(what, fn);
  Deno.test({ name: `${what} (skipped: ${found.why})`, ignore: true, fn: () => {} });
}

function interpreter(): string {
  if ("why" in found) throw new Error(found.why);
  return found.python;
}

const flags = ["-E", "-s", "-B"];
const env = { TF_CPP_MIN_LOG_LEVEL: "3" };

/**
 * Runs a script of Python, which is given as its text or as the URL of its file, and returns what it printed.
 * A script that fails, or that takes longer than `timeoutMs`, is an error with the end of what it said.
 */
export async function runPython(
  script: string | URL,
  args: readonly (string | number)[] = [],
  timeoutMs = PATIENCE_MS,
): Promise<string> {
  const code = script instanceof URL ? [fileURLToPath(script)] : ["-c", script];
  const child = new Deno.Command(interpreter(), {
    args: [...flags, ...code, ...args.map(String)],
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
  }, timeoutMs);
  const { success, stdout, stderr } = await child.output();
  clearTimeout(timer);
  const decoder = new TextDecoder();
  if (success) return decoder.decode(stdout);
  const said = decoder.decode(stderr).slice(-2000);
  throw new Error(
    `the script of Python ${isLate ? `took longer than ${timeoutMs} ms` : "failed"}: ${said}`,
  );
}

/** Starts a real server, which takes about five seconds. Its checkpoints are in `checkpoints`, or in a folder that goes with it. */
export function startReal(
  tables: readonly RealTable[],
  checkpoints?: string,
  port?: number,
): Promise<RealServer> {
  return RealServer.start(interpreter(), tables, checkpoints, port);
}
