/** What a program did that ran in a process of its own. */
export interface Ran {
  /** Its exit status. */
  readonly status: number;
  /** What it printed, without the last end of line. */
  readonly out: string;
  /** What it wrote to standard error. */
  readonly error: string;
}

const ROOT = new URL("../../", import.meta.url).pathname;

/** Runs a program in a process of its own, with these flags of `deno run` and without prompts. */
export async function runProgram(
  code: string,
  flags: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--no-check", "--ext=ts", ...flags, "-"],
    cwd: ROOT,
    env: { EXRP_KERNEL: "", EXRP_BACKEND: "", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = process.stdin.getWriter();
  await writer.write(new TextEncoder().encode(code));
  await writer.close();
  const { code: status, stdout, stderr } = await process.output();
  const decoder = new TextDecoder();
  return { status, out: decoder.decode(stdout).trim(), error: decoder.decode(stderr) };
}
