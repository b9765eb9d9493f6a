/**
 * The library's version, as deno.json has it; a test compares the two.
 *
 * @module
 */

/** The version. */
export const VERSION = "0.1.0";
