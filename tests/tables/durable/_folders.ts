/** Folders of durable tables, for tests. */

/** Runs a test with a folder of its own. */
export function test(name: string, fn: (folder: string) => Promise<void>): void {
  Deno.test({
    name,
    fn: async () => {
      const folder = await Deno.makeTempDir();
      try {
        await fn(folder);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

/** Copies a folder as a crash of the process would leave it. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) {
    if (name !== "lock.exrp") await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

/** The files of a log, in order. */
export async function logsOf(folder: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(folder)) if (name.startsWith("log-")) names.push(name);
  return names.sort().map((name) => `${folder}/${name}`);
}
