/**
 * Where the modules of this folder were loaded from.
 *
 * @module
 */

/**
 * The address of this module, beside which the library's other folders lie. It is undefined where there is none: in a bundle that is a
 * classic script or CommonJS, or a `blob:` or `data:` module.
 *
 * Bundlers look for the files that `new URL()` has beside `import.meta.url`. So give `new URL()` what this function returns.
 */
export function ownAddress(): string | undefined {
  const here: string | undefined = import.meta.url;
  return here === undefined || /^(blob|data):/.test(here) ? undefined : here;
}
