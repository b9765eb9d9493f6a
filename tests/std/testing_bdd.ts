/**
 * A thin stand-in for `@std/testing/bdd` over `Deno.test`, for machines that cannot reach JSR.
 *
 * Like the real package, the outermost `describe` becomes one test, and everything within it is a step of that test. An
 * `it` outside any `describe` is a test of its own. Hooks must stand inside a `describe`.
 *
 * @module
 */

/** The body of a test or a hook. */
export type TestBody = () => void | Promise<void>;

interface Hooks {
  readonly beforeAll: TestBody[];
  readonly beforeEach: TestBody[];
  readonly afterEach: TestBody[];
  readonly afterAll: TestBody[];
}

interface Case {
  readonly kind: "case";
  readonly name: string;
  readonly ignore: boolean;
  readonly body: TestBody;
}

interface Suite {
  readonly kind: "suite";
  readonly name: string;
  readonly ignore: boolean;
  readonly hooks: Hooks;
  readonly children: (Case | Suite)[];
}

let open: Suite | undefined;

async function runAll(bodies: readonly TestBody[]): Promise<void> {
  for (const body of bodies) await body();
}

/** Runs a suite's children as steps; `outer` are the suites around it, outermost first. */
async function runSuite(
  suite: Suite,
  outer: readonly Suite[],
  test: Deno.TestContext,
): Promise<void> {
  const chain = [...outer, suite];
  await runAll(suite.hooks.beforeAll);
  try {
    for (const child of suite.children) {
      await test.step({
        name: child.name,
        ignore: child.ignore,
        sanitizeOps: false,
        sanitizeResources: false,
        sanitizeExit: false,
        fn: (step) => child.kind === "suite" ? runSuite(child, chain, step) : runCase(child, chain),
      });
    }
  } finally {
    await runAll(suite.hooks.afterAll);
  }
}

async function runCase(test: Case, chain: readonly Suite[]): Promise<void> {
  try {
    for (const suite of chain) await runAll(suite.hooks.beforeEach);
    await test.body();
  } finally {
    for (const suite of chain.toReversed()) await runAll(suite.hooks.afterEach);
  }
}

function addSuite(name: string, body: () => void, ignore: boolean): void {
  const outer = open;
  const suite: Suite = {
    kind: "suite",
    name,
    ignore,
    hooks: { beforeAll: [], beforeEach: [], afterEach: [], afterAll: [] },
    children: [],
  };
  open = suite;
  try {
    body();
  } finally {
    open = outer;
  }
  if (outer) outer.children.push(suite);
  else Deno.test({ name, ignore, fn: (test) => runSuite(suite, [], test) });
}

function addCase(name: string, body: TestBody, ignore: boolean): void {
  if (open) open.children.push({ kind: "case", name, ignore, body });
  else Deno.test({ name, ignore, fn: body });
}

function addHook(kind: keyof Hooks, body: TestBody): void {
  if (!open) throw new Error(`${kind}() was called outside describe(): move it into one`);
  open.hooks[kind].push(body);
}

/** A function that registers something under a name, with a twin that registers it as ignored. */
export interface Register<Body> {
  /** Registers it. */
  (name: string, body: Body): void;
  /** Registers it as ignored. */
  ignore(name: string, body: Body): void;
  /** Registers it as ignored. */
  skip(name: string, body: Body): void;
}

/** Groups tests. */
export const describe: Register<() => void> = Object.assign(
  (name: string, body: () => void): void => addSuite(name, body, false),
  {
    ignore: (name: string, body: () => void): void => addSuite(name, body, true),
    skip: (name: string, body: () => void): void => addSuite(name, body, true),
  },
);

/** A test. */
export const it: Register<TestBody> = Object.assign(
  (name: string, body: TestBody): void => addCase(name, body, false),
  {
    ignore: (name: string, body: TestBody): void => addCase(name, body, true),
    skip: (name: string, body: TestBody): void => addCase(name, body, true),
  },
);

/** Another name for `it`. */
export const test: Register<TestBody> = it;

/** Runs once before the first test of the suite. */
export function beforeAll(body: TestBody): void {
  addHook("beforeAll", body);
}

/** Runs before each test of the suite and of the suites within it. */
export function beforeEach(body: TestBody): void {
  addHook("beforeEach", body);
}

/** Runs after each test of the suite and of the suites within it, whether it passed or not. */
export function afterEach(body: TestBody): void {
  addHook("afterEach", body);
}

/** Runs once after the last test of the suite. */
export function afterAll(body: TestBody): void {
  addHook("afterAll", body);
}
