/**
 * A virtual environment of Python with the libraries whose files are compared with ours, in a folder that git ignores.
 *
 * @module
 */

import { exists, inRepository, run } from "../../tools/_repository.ts";
import { findPython } from "../../tools/_zig.ts";

/** What is installed. */
const PACKAGES = [
  ...["numpy==2.4.6", "h5py==3.16.0", "pyarrow==26.0.1", "minari==0.5.4", "gymnasium==1.4.0"],
  ...["pillow==13.0.0", "tfrecord==1.14.6", "protobuf==7.36.2", "crc32c==2.9.post0"],
];

/** The Python that has them; or in words why it can't be had. */
export async function findLibraries(): Promise<{ readonly python: string } | string> {
  const python = await findPython();
  if (python === undefined) return "there is no Python";
  const folder = inRepository(".cache", "interchange", PACKAGES.join("+"));
  const own = Deno.build.os === "windows" ? `${folder}/Scripts/python.exe` : `${folder}/bin/python`;
  if (await exists(`${folder}/installed`)) return { python: own };
  for (
    const command of [
      [python, "-m", "venv", "--clear", folder],
      [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...PACKAGES],
    ]
  ) {
    const { success, stderr } = await run(command);
    if (!success) {
      return `pip can't install ${PACKAGES.join(" ")}: ${stderr.trim().split("\n").at(-1)}`;
    }
  }
  await Deno.writeTextFile(`${folder}/installed`, "");
  return { python: own };
}
