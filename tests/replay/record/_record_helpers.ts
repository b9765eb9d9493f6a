/** Helpers for the tests of recording. */
import type { EvictionPolicy } from "@exrp/replay/eviction";

/** A user's policy: the youngest but one goes. */
export function youngestButOne(): EvictionPolicy {
  let handles: number[] = [];
  return {
    name: "youngestButOne",
    created: (handle) => void handles.push(handle),
    removed: (handle) => void (handles = handles.filter((other) => other !== handle)),
    victim: () => handles.at(-2) ?? handles.at(-1) ?? -1,
    save: () => Uint8Array.from(handles.map((handle) => handle % 251)),
    load: () => {},
  };
}

/** A method whose arguments the compiler doesn't check. */
export type Loose = (...args: unknown[]) => unknown;

/** A method of a replay that takes wrong arguments, too. */
export function loose(replay: object, method: string): Loose {
  const target = replay as Record<string, Loose>;
  return (...args) => (target[method] as Loose).apply(replay, args);
}
