// copyRunsOf: every width, runs of one row and of several, with and without AVX2. They are compared with memcpy, and must
// write no byte outside the column.
#include <cstring>
#include <vector>

#include "kernel/batches/copy_runs.hpp"
#include "kernel/base/cpu.hpp"
#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

namespace {

constexpr uint32_t pickCount = 9;
constexpr uint32_t widthMax = 128;
constexpr uint32_t guardBytes = 64;
constexpr uint8_t guard = 0xa5;

/// Rows at random places, each with some bytes before and after the column.
struct Rows {
  Rows(uint32_t bytes, uint32_t length, uint64_t seed) : stride(bytes + 7), offset(3) {
    exrp::Random random(seed, bytes);
    memory.resize(stride * (400 + length + 2));
    for (uint8_t& byte : memory) byte = static_cast<uint8_t>(random.next());
    for (const uint8_t*& row : first) row = memory.data() + stride * random.below(400);
  }
  exrp::Runs runs(uint32_t length) const { return {first, pickCount, length, stride}; }

  size_t stride;
  size_t offset;
  std::vector<uint8_t> memory;
  const uint8_t* first[pickCount] = {};
};

std::vector<uint8_t> target(size_t bytes) { return std::vector<uint8_t>(bytes + 2 * guardBytes, guard); }

/// The rows from `skipped` on, copied by memcpy.
std::vector<uint8_t> expected(const Rows& rows, uint32_t bytes, uint32_t length, uint32_t skipped) {
  std::vector<uint8_t> to = target(size_t{pickCount} * length * bytes);
  uint8_t* at = to.data() + guardBytes;
  for (const uint8_t* row : rows.first) {
    for (uint32_t k = 0; k < length; ++k, at += bytes) memcpy(at, row + (k + skipped) * rows.stride + rows.offset, bytes);
  }
  return to;
}

void checkWidth(uint32_t bytes, uint32_t length, bool avx2, uint64_t seed) {
  const Rows rows(bytes, length, seed);
  const bool single = length == 1;
  const exrp::CopyRuns copyRuns = exrp::copyRunsOf(bytes, single, avx2);
  CHECK(copyRuns != nullptr);
  const std::vector<uint8_t> states = expected(rows, bytes, length, 0);
  std::vector<uint8_t> to = target(size_t{pickCount} * length * bytes);
  std::vector<uint8_t> next = to;
  copyRuns(rows.runs(length), rows.offset, bytes, to.data() + guardBytes, nullptr);
  CHECK(to == states);
  to.assign(to.size(), guard);
  copyRuns(rows.runs(length), rows.offset, bytes, to.data() + guardBytes, next.data() + guardBytes);
  CHECK(to == states);
  CHECK(next == expected(rows, bytes, length, 1));
}

}  // namespace

int main() {
  for (const bool avx2 : {false, true}) {
    if (avx2 && !exrp::hasAvx2()) continue;
    for (uint32_t bytes = 1; bytes <= widthMax; ++bytes) {
      for (const uint32_t length : {1u, 2u, 3u, 8u}) checkWidth(bytes, length, avx2, 7);
    }
  }
  CHECK(exrp::copyRunsOf(0, true, false) == nullptr);
  CHECK(exrp::copyRunsOf(widthMax + 1, true, false) == nullptr);
  CHECK(exrp::copyRunsOf(widthMax + 1, false, true) == nullptr);
  return exrp::test::checkResult("copy_runs");
}
