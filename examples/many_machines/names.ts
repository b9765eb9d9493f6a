/**
 * What the parts call each other.
 *
 * @module
 */

/** What the subjects of the weights and the policy begin with. */
export const NAME = "many-machines";

/** What the subjects of the shards begin with. So other programs may use the same server of NATS. */
export const PREFIX = "many-machines-shards";

/** Where parts say what they do: `deno task cluster` shows it. */
export const FIGURES = "many-machines-figures";
