/**
 * The packages that know other formats, and the one that reads a command line. Each is fetched when it is first used, so nobody pays for a format
 * that is not used, and nobody who does not import this part pays at all.
 *
 * @module
 */

import { deno } from "../base/platform.ts";
import { reasonOf } from "../base/errors.ts";

/** Their versions, which Deno fetches. Elsewhere, they are what is installed. */
export const versions = {
  "@zip.js/zip.js": "2.24.0",
  "apache-arrow": "21.2.0",
  commander: "15.1.0",
  h5wasm: "0.10.3",
  hyparquet: "1.31.5",
  "hyparquet-writer": "0.17.0",
} as const;

/** Imports a package, or a file of it. `T` has what is used of it, and tests hold the package to that. */
export async function load<T>(name: keyof typeof versions, file = ""): Promise<T> {
  // No literal: else Deno fetches all of them at the start, and bundlers take them along.
  const specifier = deno === undefined ? `${name}${file}` : `npm:${name}@${versions[name]}${file}`;
  try {
    return await import(specifier);
  } catch (cause) {
    throw new Error(
      `the package ${name} can't be imported: ${reasonOf(cause)}. ${
        deno === undefined
          ? `Install it: npm install ${name}@${versions[name]}`
          : "Deno fetches it once, which needs the network"
      }`,
      { cause },
    );
  }
}
