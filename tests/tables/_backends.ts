/** Tests of tables on both kernels. */
import { Tables, type TablesOptions } from "../../tables/mod.ts";
import { pause } from "../_wait.ts";

/** Makes tables on the kernel of a test. */
export type Create = (options: Omit<TablesOptions, "backend">) => Promise<Tables>;

/** Registers a test for each kernel. */
export function onBoth(name: string, fn: (create: Create) => Promise<void>): void {
  for (const backend of ["native", "wasm"] as const) {
    Deno.test(`${name} (${backend})`, () =>
      fn((options) => Tables.create({ ...options, backend })));
  }
}

/** Whether a promise is settled once everything else that is ready has had its turn. */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const note = (): void => void (settled = true);
  promise.then(note, note);
  await pause(0);
  return settled;
}
