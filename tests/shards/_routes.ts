/**
 * Which subscriptions a message goes to, by its subject, as NATS decides it: `*` stands for one part of a subject, and `>` at the end for one
 * or more. Of the subscriptions of one queue, one gets it.
 *
 * @module
 */

/** What subscribed. */
interface Route<T> {
  readonly subject: string;
  readonly queue: string | undefined;
  readonly target: T;
}

/** The subscriptions of all connections. */
export class Routes<T> {
  readonly #choose: (count: number) => number;
  /** By subject, those without a wildcard. */
  readonly #exact = new Map<string, Set<Route<T>>>();
  readonly #wild = new Set<Route<T>>();

  /** @param choose Which of so many members of a queue gets a message. */
  constructor(choose: (count: number) => number) {
    this.#choose = choose;
  }

  /** Adds one. The function that it returns takes it out. */
  add(subject: string, queue: string | undefined, target: T): () => void {
    const route = { subject, queue, target };
    if (isWild(subject)) {
      this.#wild.add(route);
      return () => this.#wild.delete(route);
    }
    const others = this.#exact.get(subject) ?? new Set();
    others.add(route);
    this.#exact.set(subject, others);
    return () => {
      others.delete(route);
      if (others.size === 0 && this.#exact.get(subject) === others) this.#exact.delete(subject);
    };
  }

  /** The targets of a message, in the order in which they subscribed; those with a wildcard after the others. */
  of(subject: string): readonly T[] {
    const found: Route<T>[] = [...this.#exact.get(subject) ?? []];
    for (const route of this.#wild) if (fits(route.subject, subject)) found.push(route);
    if (found.every(({ queue }) => queue === undefined)) return found.map(({ target }) => target);
    const queues = new Map<string | undefined, Route<T>[]>();
    for (const route of found) {
      const { queue } = route;
      queues.set(queue, [...queues.get(queue) ?? [], route]);
    }
    return [...queues].flatMap(([queue, routes]) => {
      const chosen = queue === undefined
        ? routes
        : [routes[this.#choose(routes.length)] ?? routes[0]];
      return chosen.flatMap((route) => route === undefined ? [] : [route.target]);
    });
  }
}

function isWild(subject: string): boolean {
  return subject.includes("*") || subject.endsWith(">");
}

function fits(pattern: string, subject: string): boolean {
  const wanted = pattern.split(".");
  const parts = subject.split(".");
  const isOpen = wanted.at(-1) === ">";
  const count = isOpen ? wanted.length - 1 : wanted.length;
  if (isOpen ? parts.length <= count : parts.length !== count) return false;
  return wanted.slice(0, count).every((part, k) => part === "*" || part === parts[k]);
}
