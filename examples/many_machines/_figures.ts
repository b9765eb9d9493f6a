/**
 * What a part says of itself once a second, for the page of `deno task cluster`.
 *
 * @module
 */
import type { Connection } from "@exrp/replay/shards";
import { FIGURES } from "./names.ts";

/** Says so until it is disposed. */
export function sayFigures(
  connection: Connection,
  name: string,
  figures: () => Readonly<Record<string, number>>,
): Disposable {
  const say = (): void => {
    if (connection.isClosed()) return;
    const text = JSON.stringify({ name, ...figures() });
    connection.publish(`${FIGURES}.${name}`, new TextEncoder().encode(text));
  };
  const timer = setInterval(say, 1000);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
