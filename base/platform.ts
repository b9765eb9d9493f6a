/**
 * What is asked of the platform: of Deno where there is one. Elsewhere (Node, Bun, browsers) the answers are those of a system that says
 * nothing.
 *
 * @module
 */

/** Deno, or undefined on other platforms. */
export const deno: typeof Deno | undefined = globalThis.Deno;

// Some browsers still lack these symbols, Safari among them. There they are added, so that `using` of a compiler finds them too. The names
// are those that esbuild's code for `using` takes where there are none, so that both mean the same.
for (const name of ["dispose", "asyncDispose"]) {
  if (name in Symbol) continue;
  Object.defineProperty(Symbol, name, { value: Symbol.for(`Symbol.${name}`) });
}

/** `Symbol.dispose`, on every platform. What defines a method of this name imports it from here, so that this file comes first. */
export const dispose: typeof Symbol.dispose = Symbol.dispose;

/** Lets a program end although this timer goes on. */
export function unref(timer: ReturnType<typeof setInterval>): void {
  if (deno !== undefined && typeof timer === "number") deno.unrefTimer(timer);
  else if (typeof timer === "object") (timer as { unref?(): void }).unref?.();
}

/** Reads an environment variable where that was granted. Else Deno would prompt the user. */
export function environmentVariable(name: string): string | undefined {
  if (deno === undefined) return undefined;
  try {
    const { state } = deno.permissions.querySync({ name: "env", variable: name });
    return state === "granted" ? deno.env.get(name) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a file is known not to be there. Where it may not be looked at, that is not known. */
export function isMissing(path: string): boolean {
  if (deno === undefined) return false;
  try {
    if (deno.permissions.querySync({ name: "read", path }).state !== "granted") return false;
    deno.statSync(path);
    return false;
  } catch (error) {
    return error instanceof deno.errors.NotFound;
  }
}

/** A module of Node's, in Deno, Node and Bun; undefined elsewhere. It is no import: bundlers for browsers would look for the module. */
export function builtinModule<M>(name: string): M | undefined {
  const { process } = globalThis as {
    readonly process?: { getBuiltinModule?(name: string): unknown };
  };
  return process?.getBuiltinModule?.(name) as M | undefined;
}
