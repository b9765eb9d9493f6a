/** The rules of the C++ in `kernel/`, `selectors/` and `eviction/`, and breaches of them. */
import type { House, Rule, Source } from "./_house.ts";

const FLAGS = "kernel/flags.txt";
const COMPILER = "tools/_compiler.ts";

/** What of a file's code, without comments and texts, a pattern finds. */
function* found(sources: readonly Source[], house: House, pattern: RegExp): Generator<string> {
  for (const { path, code, isCpp } of sources) {
    if (!isCpp || !house.isLibrary(path)) continue;
    const bare = code.replace(/"(?:[^"\\\n]|\\.)*"/g, '""');
    for (const [, at] of bare.matchAll(pattern)) yield `${path}: ${at}`;
  }
}

/** The classes of a file that another file could define, too: those of no unnamed namespace. */
function classesOf({ code }: Source): string[] {
  const shared = code.replace(/^namespace \{$[\s\S]*?^\}(?=\s*(?:^|$))/gm, "");
  const defined = /^(?:class|struct|enum class|union) (\w+)(?: final)?(?: :[^:;{][^;{]*)? \{/gm;
  const inner = /^namespace exrp(::\w+) \{/m.exec(code)?.[1] ?? "";
  return [
    ...new Set(
      [...shared.matchAll(defined)].map(([, name = ""]) => `${name}${inner && ` in ${inner}`}`),
    ),
  ];
}

/** Functions of a class that needs no other one beside it. */
const FUNCTIONS_MAX = 50;

/** The classes of a file, each with how many functions it declares. Constructors, destructors and operators do not count. */
function* functionCounts({ code }: Source): Generator<readonly [name: string, count: number]> {
  const classes = /^(?:class|struct) (\w+)(?: final)?(?: :[^:;{][^;{]*)? \{\n([\s\S]*?)^\};/gm;
  // The members of a class stand two spaces from the left.
  const member =
    /^ {2}(?! |using|friend|static_assert|struct|class|enum|#)[^;={(]*?(~?\w+|operator\S+)\((?!\*)/gm;
  for (const [, name = "", body = ""] of code.matchAll(classes)) {
    const names = [...body.matchAll(member)].map(([, called = ""]) => called);
    yield [name, names.filter((it) => !/^~|^operator/.test(it) && it !== name).length];
  }
}

/** What a list of flags lacks, and what it must not have. */
function flagFaults(house: House, needed: readonly string[], wrong = /(?!)/): string[] {
  const flags = house.text(FLAGS).split(/\s+/);
  return [
    ...needed.filter((flag) => !flags.includes(flag)).map((flag) => `${FLAGS} lacks ${flag}`),
    ...flags.filter((flag) => wrong.test(flag)).map((flag) => `${FLAGS} has ${flag}`),
  ];
}

/** What <cmath> leaves to each platform: it need not round them as others do. `sqrt`, `floor` and their like are exact. */
const INEXACT = [
  ...["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "cbrt", "hypot"],
  ...["sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"],
  ...["asinh", "acosh", "atanh", "erf", "erfc", "tgamma", "lgamma"],
].join("|");
const LIBM = new RegExp(String.raw`(?<![\w.>:])((?:std)?(?:::)?(?:${INEXACT})[fl]?)\s*\(`, "g");

/** Flags that let a compiler change what is computed, or for which processor. */
const LOOSE =
  /^-(?:Ofast|ffast-math|funsafe-|fassociative-math|freciprocal-math|ffp-contract=(?!off)|march=)/;

/** As many functions of a class as the number says, half of them with a body. */
function functions(count: number): string {
  const all = Array.from(
    { length: count },
    (_, k) => k % 2 === 0 ? `void f${k}();` : `int g${k}() const {\n    return h(${k});\n  }`,
  );
  return all.map((each) => `  ${each}\n`).join("");
}

export const rules: readonly Rule[] = [
  {
    name: "The kernel has no exceptions and no RTTI.",
    find: (sources, house) => [
      ...found(sources, house, /\b(throw|try|catch|dynamic_cast|typeid)\b/g),
      ...flagFaults(house, ["-fno-exceptions", "-fno-rtti"]),
    ],
    planted: [
      [{ "kernel/a.cpp": "throw 1;" }, "kernel/a.cpp: throw"],
      [{ "selectors/a.hpp": "try {\n  f();\n}" }, "selectors/a.hpp: try"],
      [{ "eviction/a.hpp": "return dynamic_cast<A*>(b);" }, "eviction/a.hpp: dynamic_cast"],
      [{ "kernel/a.cpp": "typeid(a).name();" }, "kernel/a.cpp: typeid"],
      [{ [FLAGS]: "-std=c++20 -fno-rtti" }, `${FLAGS} lacks -fno-exceptions`],
      [{ "kernel/a.cpp": 'f("try"); // does not throw', "tests/kernel/a.cpp": "throw 1;" }],
    ],
  },
  {
    name: "A class of the kernel has at most 50 functions.",
    find: (sources, house) =>
      sources.filter(({ path, isCpp }) => isCpp && house.isLibrary(path)).flatMap((source) =>
        [...functionCounts(source)].filter(([, count]) => count > FUNCTIONS_MAX).map((
          [name, count],
        ) => `${source.path}: ${name} has ${count} functions`)
      ),
    planted: [
      [
        { "kernel/a.hpp": `class A final : public B {\n${functions(51)}};` },
        "kernel/a.hpp: A has 51 functions",
      ],
      [
        { "selectors/a.hpp": `struct A {\n  template <typename T>\n${functions(52)}};` },
        "selectors/a.hpp: A has 52 functions",
      ],
      [{
        "kernel/a.hpp": `class A {\n  A() = default;\n  ~A();\n  A& operator=(const A&);\n${
          functions(50)
        }  uint32_t a_ = f(1);\n};\nclass B {\n${functions(50)}};`,
        "tests/kernel/a.hpp": `class A {\n${functions(51)}};`,
      }],
    ],
  },
  {
    name: "The kernel has no static object with a destructor.",
    // Clang sees them all. The kernel's warnings are errors, and so its build fails.
    find: (_, house) => [
      ...flagFaults(house, ["-Werror"]),
      ...house.text(COMPILER).includes('"-Wexit-time-destructors"')
        ? []
        : [`${COMPILER} lacks -Wexit-time-destructors`],
    ],
    planted: [
      [{ [COMPILER]: 'const flags = ["-fPIC"];' }, `${COMPILER} lacks -Wexit-time-destructors`],
      [{ [FLAGS]: "-std=c++20 -Wall" }, `${FLAGS} lacks -Werror`],
    ],
  },
  {
    name: "Nothing that decides a draw uses libm, contraction or fast-math.",
    find: (sources, house) => [
      ...found(sources, house, LIBM),
      ...flagFaults(house, ["-ffp-contract=off"], LOOSE),
    ],
    planted: [
      [{ "selectors/a.hpp": "return std::pow(x, alpha);" }, "selectors/a.hpp: std::pow"],
      [{ "kernel/a.cpp": "const float y = logf (x);" }, "kernel/a.cpp: logf"],
      [{ "kernel/a.cpp": "y = ::exp(x);" }, "kernel/a.cpp: ::exp"],
      [{ [FLAGS]: "-O3" }, `${FLAGS} lacks -ffp-contract=off`],
      [{ [FLAGS]: "-O3 -ffp-contract=off -ffast-math" }, `${FLAGS} has -ffast-math`],
      [{ [FLAGS]: "-march=native -ffp-contract=off" }, `${FLAGS} has -march=native`],
      [{
        "selectors/a.hpp": "portablePow(x, 2); std::sqrt(x); std::floor(x); a.log(x); b->pow(x);",
        "kernel/a.cpp": "Log::log(x); // std::exp(x)",
        "tests/kernel/a.cpp": "std::exp(x);",
      }],
    ],
  },
  {
    name: "`check()` returns the number of the broken invariant.",
    find: (sources, house) =>
      [
        ...found(
          sources,
          house,
          /^\s*((?:virtual )?(?!return\b|u?int32_t\b)[\w:]+ (?:\w+::)?check\([^()]*\)[^;{=]*[;{=])/gm,
        ),
      ].map((fault) => fault.replace(/\s+/g, " ").replace(/ ?[;{=]$/, "")),
    planted: [
      [
        { "kernel/a.hpp": "struct A {\n  bool check() const;\n};" },
        "kernel/a.hpp: bool check() const",
      ],
      [{ "kernel/a.cpp": "Status A::check() {" }, "kernel/a.cpp: Status A::check()"],
      [
        { "selectors/a.hpp": "  virtual void check() const = 0;" },
        "selectors/a.hpp: virtual void check() const",
      ],
      [{ "kernel/a.hpp": "  int32_t check() const override { return tree_.check(); }" }],
    ],
  },
  {
    // Nearly all are in the namespace `exrp`. A linker keeps one of two, and then each user of the other calls wrong code, without a word.
    name: "No two files of the kernel define a class of one name.",
    find: (sources, house) => {
      const planted = new Set(sources);
      const all = Map.groupBy(
        house.sources.filter(({ path, isCpp }) => isCpp && house.isLibrary(path))
          .flatMap((source) => classesOf(source).map((name) => ({ name, source }))),
        ({ name }) => name,
      );
      return [...all].filter(([, at]) =>
        at.length > 1 && at.some(({ source }) => planted.has(source))
      )
        .map(([name, at]) => `${name}: ${at.map(({ source }) => source.path).join(", ")}`);
    },
    planted: [
      [
        { "kernel/a.hpp": "class A {\n};", "eviction/b.hpp": "struct A final : B<C> {\n};" },
        "A: kernel/a.hpp, eviction/b.hpp",
      ],
      [
        {
          "kernel/a.cpp": "namespace {\nstruct B {\n};\n}\nclass A {\n};",
          "kernel/b.cpp": "class A : C {\n};",
        },
        "A: kernel/a.cpp, kernel/b.cpp",
      ],
      [{
        "kernel/a.cpp": "namespace {\nstruct A {\n};\n}  // namespace",
        "kernel/b.cpp": "class A;\nstruct A::B {\n};\nclass C {\n};",
        "kernel/c.hpp": "class A {\n};\n#else\nclass A {\n};",
        "kernel/wire/e.hpp": "namespace exrp::reverb {\nclass A {\n};\n}",
        "tests/kernel/d.hpp": "class A {\n};",
      }],
    ],
  },
];
