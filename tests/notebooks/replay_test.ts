/**
 * The notebook runs from start to end in Deno's Jupyter kernel, and gives the outputs that it is kept with.
 *
 * After a change, `EXRP_WRITE_NOTEBOOK=1 deno test -A tests/notebooks` runs it and writes the new outputs into it.
 */
import { assert, assertEquals } from "../_assert.ts";
import { join } from "node:path";
import { exists, inRepository, repository, run } from "../../tools/_repository.ts";
import { findPython } from "../../tools/_zig.ts";

const PACKAGES = ["jupyter_client==8.9.1", "nbformat==5.10.4"];
const notebook = inRepository("docs", "notebooks", "replay.ipynb");

/**
 * Runs a notebook in its folder and prints it with its outputs. An error in a cell ends it.
 *
 * Deno's kernel may say that it is idle before it sends a cell's output. A notebook's page shows such an output all the same, but nbclient
 * loses it. So this waits until nothing has come for a moment.
 */
const RUN = `
import queue, sys, nbformat
from jupyter_client.manager import start_new_kernel

path, folder = sys.argv[1:]
notebook = nbformat.read(path, 4)
manager, client = start_new_kernel(kernel_name="deno", cwd=folder)
try:
    for count, cell in enumerate((it for it in notebook.cells if it.cell_type == "code"), 1):
        asked = client.execute(cell.source, allow_stdin=False)
        cell.execution_count, cell.outputs, idle = count, [], False
        while True:
            try:
                message = client.get_iopub_msg(timeout=0.4 if idle else 60)
            except queue.Empty:
                if not idle:
                    raise
                break
            kind = message["msg_type"]
            if message["parent_header"].get("msg_id") != asked:
                continue
            if kind == "status":
                idle = message["content"]["execution_state"] == "idle"
            elif kind == "error":
                sys.exit(cell.source + "\\n" + "\\n".join(message["content"]["traceback"]))
            elif kind in ("execute_result", "display_data", "stream"):
                cell.outputs.append(nbformat.v4.output_from_msg(message))
    print(nbformat.writes(notebook))
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
`;

interface Cell {
  readonly cell_type: string;
  readonly source: string | readonly string[];
  readonly outputs?: readonly { readonly data?: Readonly<Record<string, string | string[]>> }[];
}

interface Notebook {
  readonly cells: readonly Cell[];
  readonly metadata: unknown;
}

/** The Python that has what talks to kernels, installed into a folder that git ignores; or in words why it can't be had. */
async function findJupyter(): Promise<{ python: string; folder: string } | string> {
  if (Deno.build.os === "windows") {
    return "the test installs Deno's kernel where Linux and macOS look for it";
  }
  const python = await findPython();
  if (python === undefined) return "there is no Python to install Jupyter with";
  const folder = inRepository(".cache", "jupyter", PACKAGES.join("+"));
  if (!await exists(folder)) {
    const partial = `${folder}.partial-${Deno.pid}`;
    const { success, stderr } = await run([
      ...[python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"],
      ...["--target", partial, ...PACKAGES],
    ]);
    if (!success) {
      return `pip can't install ${PACKAGES.join(" and ")} here: ${
        stderr.trim().split("\n").at(-1)
      }`;
    }
    await Deno.rename(partial, folder);
  }
  return { python, folder };
}

/** A notebook's text without the path of this clone, which is nobody else's. */
function withoutPath(text: string): string {
  return text.replaceAll(repository, "/path/to/clone/");
}

/**
 * What the cells show, as text; each output's richest form that does not depend on the front end. The lines that name the kernel and its memory differ
 * from system to system.
 */
function outputsOf({ cells }: Notebook): string[] {
  const text = (value: string | readonly string[] = ""): string =>
    typeof value === "string" ? value : value.join("");
  return cells.flatMap(({ outputs = [] }) =>
    outputs.map(({ data = {} }) =>
      text(data["image/svg+xml"] ?? data["text/plain"]).replace(
        /^ +(kernel|backend|memory) .*\n?/gm,
        "",
      )
        .trimEnd()
    )
  );
}

const jupyter = await findJupyter();

Deno.test({
  name: `docs/notebooks/replay.ipynb runs, and shows what it is kept with${
    typeof jupyter === "string" ? ` (skipped: ${jupyter})` : ""
  }`,
  ignore: typeof jupyter === "string",
  fn: async () => {
    assert(typeof jupyter === "object");
    const home = await Deno.makeTempDir({ prefix: "exrp_jupyter_" });
    try {
      // Both look for kernels in a home of our own.
      const env = {
        HOME: home,
        XDG_DATA_HOME: home,
        JUPYTER_DATA_DIR: join(home, "jupyter"),
        NO_COLOR: "1",
      };
      const installed = await run([Deno.execPath(), "jupyter", "--install"], { env });
      assert(installed.success, installed.stderr);
      const paths = { PYTHONPATH: jupyter.folder, JUPYTER_PATH: join(home, "jupyter", "jupyter") };
      const ran = await run(
        [jupyter.python, "-c", RUN, notebook, inRepository("docs", "notebooks")],
        { env: { ...env, ...paths }, timeoutMs: 600_000 },
      );
      assert(ran.success, ran.stderr);
      const kept: Notebook = JSON.parse(await Deno.readTextFile(notebook));
      const now: Notebook = JSON.parse(withoutPath(ran.stdout));
      if (Deno.env.get("EXRP_WRITE_NOTEBOOK") === "1") {
        const { metadata } = kept;
        const cells = now.cells.map((cell) => ({ ...cell, metadata: {} }));
        const text = JSON.stringify({ ...now, metadata, cells }, undefined, 1);
        await Deno.writeTextFile(notebook, `${text}\n`);
        return;
      }
      const outputs = outputsOf(now);
      assert(outputs.filter((text) => text.startsWith("<svg")).length === 3, `${outputs}`);
      assertEquals(outputs, outputsOf(kept));
      const text = await Deno.readTextFile(notebook);
      assert(
        !/(?<!\/path\/to\/clone)\/zig-out\//.test(text),
        "the notebook names a path of a machine",
      );
    } finally {
      await Deno.remove(home, { recursive: true });
    }
  },
});
