/** The reader of kernel/exrp.h takes what the ABI allows and refuses the rest with the line. */
import { assertEquals, assertThrows } from "../_assert.ts";
import { AbiHeaderError, parseAbiHeader } from "../../tools/_abi_header.ts";

Deno.test("parseAbiHeader() reads constants, enums and prototypes over several lines", () => {
  const header = parseAbiHeader(`
/* EXRP_API int32_t exrp_comment_only(void); */
#ifndef EXRP_H
#define EXRP_H
#include <stdint.h>
#define EXRP_API __attribute__((visibility("default")))
#define EXRP_LIMIT_BATCH 16777216u /* a comment */
#define EXRP_LIMIT_LOW (-3)
#ifdef __cplusplus
extern "C" {
#endif
enum exrp_status { EXRP_STATUS_OK = 0, EXRP_STATUS_ARGUMENT = 0x0A, };
EXRP_API uint32_t exrp_abi_version(void);
EXRP_API int32_t exrp_priority_set(uint32_t replay, const double* episodes, const int32_t *positions,
                                   uint8_t * const items, float beta, double size);
EXRP_API void exrp_replay_forget(int32_t replay);
#ifdef __cplusplus
}
#endif
#endif
`);
  assertEquals(header.constants, [
    { name: "EXRP_LIMIT_BATCH", value: 16777216 },
    { name: "EXRP_LIMIT_LOW", value: -3 },
    { name: "EXRP_STATUS_OK", value: 0 },
    { name: "EXRP_STATUS_ARGUMENT", value: 10 },
  ]);
  assertEquals(header.functions, [
    { name: "exrp_abi_version", parameters: [], result: "u32" },
    {
      name: "exrp_priority_set",
      parameters: [
        { name: "replay", type: "u32" },
        { name: "episodes", type: "buffer", use: "in", item: "f64" },
        { name: "positions", type: "buffer", use: "in", item: "i32" },
        { name: "items", type: "buffer", use: "out", item: "u8" },
        { name: "beta", type: "f32" },
        { name: "size", type: "f64" },
      ],
      result: "i32",
    },
    { name: "exrp_replay_forget", parameters: [{ name: "replay", type: "i32" }], result: "void" },
  ]);
});

const refused: [string, string, string][] = [
  ["a 64-bit scalar", "EXRP_API int32_t exrp_a_b(uint64_t count);", "64-bit scalar"],
  ["a 64-bit result", "EXRP_API int64_t exrp_a_b(void);", "64-bit scalar"],
  ["size_t", "EXRP_API int32_t exrp_a_b(size_t count);", "64-bit scalar"],
  ["int", "EXRP_API int exrp_a_b(void);", "scalars are uint32_t"],
  ["bool", "EXRP_API int32_t exrp_a_b(bool on);", "scalars are uint32_t"],
  ["a struct by value", "EXRP_API int32_t exrp_a_b(struct options options);", "by value"],
  [
    "a pointer to a struct",
    "EXRP_API int32_t exrp_a_b(struct options* options);",
    "buffers hold uint8_t",
  ],
  ["a pointer to a pointer", "EXRP_API int32_t exrp_a_b(double** rows);", "pointer to a pointer"],
  [
    "a buffer that is const and written",
    "EXRP_API int32_t exrp_a_b(EXRP_INOUT const double* rows);",
    "EXRP_INOUT, and const",
  ],
  ["a number that is written", "EXRP_API int32_t exrp_a_b(EXRP_INOUT double row);", "no pointer"],
  ["an array parameter", "EXRP_API int32_t exrp_a_b(double rows[4]);", "write a pointer"],
  ["a callback", "EXRP_API int32_t exrp_a_b(int32_t (*each)(int32_t));", "callbacks"],
  ["variable arguments", "EXRP_API int32_t exrp_a_b(uint32_t count, ...);", "variable arguments"],
  [
    "a text as result",
    "EXRP_API const char* exrp_status_text(int32_t status);",
    "pointer as result",
  ],
  ["a parameter without a name", "EXRP_API int32_t exrp_a_b(uint32_t);", "no"],
  ["an empty parameter list", "EXRP_API int32_t exrp_a_b();", "write (void)"],
  ["a foreign name", "EXRP_API int32_t replay_create(void);", "exrp_<noun>_<verb>"],
  ["a prototype without EXRP_API", "int32_t exrp_a_b(void);", "begins with EXRP_API"],
  ["a struct", "struct options { int32_t a; };", "neither a constant"],
  ["an enumerator without a number", "enum { EXRP_STATUS_OK };", "pinned"],
  ["a computed constant", "#define EXRP_LIMIT_A (1 << 24)", "written out"],
  ["an octal constant", "#define EXRP_LIMIT_A 010", "written out"],
  ["a foreign macro", "#define LIMIT 3", "EXRP_<GROUP>_<NAME>"],
  ["a second declaration", "#define EXRP_A_B 1\n#define EXRP_A_B 1", "declared before"],
];
for (const [what, declaration, words] of refused) {
  Deno.test(`parseAbiHeader() refuses ${what}, with its line`, () => {
    const error = assertThrows(
      () => parseAbiHeader(`/* two\n lines */\n${declaration}\n`),
      AbiHeaderError,
      words,
    );
    const line = what === "a second declaration" ? 4 : 3;
    assertEquals(error.message.split(": ")[0], `kernel/exrp.h:${line}`);
  });
}
