/**
 * The connections that clients of this program hold. A server in the same program leaves the event loop to them.
 *
 * @module
 */

/** One object for each connection. */
export const ownConnections: Set<object> = new Set();
