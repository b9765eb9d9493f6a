/**
 * The names that tables of one set may have.
 *
 * @module
 */

import { checkInteger } from "../base/checks.ts";
import { EXRP_LIMIT_TABLES, EXRP_LIMIT_TABLES_NAME } from "../ffi/symbols.ts";

/**
 * Throws unless tables of one set may have these names: 1 to 64 of them, each well-formed text of 1 to 65,536 bytes in UTF-8.
 *
 * @param where How the error calls them.
 */
export function checkTableNames(where: string, names: readonly string[]): void {
  checkInteger(`the number of ${where}`, names.length, 1, EXRP_LIMIT_TABLES);
  for (const name of names) {
    const bytes = new TextEncoder().encode(name).length;
    if (bytes < 1 || bytes > EXRP_LIMIT_TABLES_NAME) {
      throw new RangeError(
        `a name of ${where} must have 1 to ${EXRP_LIMIT_TABLES_NAME} bytes in UTF-8, got ${bytes}`,
      );
    }
    // Half a pair has no bytes of its own, so two such names would be one.
    if (!name.isWellFormed()) {
      throw new RangeError(
        `a name of ${where} must be well-formed text, got ${JSON.stringify(name)}`,
      );
    }
  }
}
