/**
 * Makes the virtual environment with Reverb and TensorFlow, 2 GB in `.cache/peers/reverb`, if it is missing: `deno task reverb:install`.
 *
 * Reverb needs Linux on x86-64 and Python 3.11. The tests and benches beside Reverb find the environment by themselves.
 *
 * @module
 */
import { installEnvironment } from "../peers/_environments.ts";

const found = await installEnvironment("reverb", (text) => console.log(text));
if ("why" in found) {
  console.error(`reverb: ${found.why}`);
  Deno.exit(1);
}
console.log(`Reverb is ready: ${found.python}`);
