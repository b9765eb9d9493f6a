// changeRunsOf: rows of every width that are changed while they are gathered have the bits of those that ColumnTransform changes where they stand
// one after another. Numbers are any bits, so some are infinite, tiny or NaNs. No byte outside the column is written.
#include "kernel/batches/change_runs.hpp"

#include <cstring>
#include <limits>
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/batches/column_transform.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

constexpr uint32_t pickCount = 9;
constexpr uint32_t rowCount = 400;
constexpr uint32_t guardBytes = 64;
constexpr uint8_t guard = 0xa5;

using Bytes = std::vector<uint8_t>;
using Numbers = std::vector<double>;

void add(Numbers& list, double kind, double a, double b) {
  Numbers one(EXRP_TRANSFORM_COUNT);
  one[EXRP_TRANSFORM_KIND] = kind;
  one[EXRP_TRANSFORM_TYPE] = EXRP_TYPE_FLOAT32;
  one[EXRP_TRANSFORM_NUMBER] = a;
  one[EXRP_TRANSFORM_NUMBER + 1] = b;
  list.insert(list.end(), one.begin(), one.end());
}

/// The rows from `skipped` on, changed one after another.
Bytes expected(const ColumnTransform& transform, const Runs& runs, size_t offset, uint32_t bytes, uint32_t skipped, const float* scales) {
  Bytes stored;
  for (uint32_t pick = 0; pick < pickCount; ++pick) {
    const uint8_t* from = runs.rows[pick] + offset + skipped * runs.stride;
    for (uint32_t row = 0; row < runs.length; ++row, from += runs.stride) stored.insert(stored.end(), from, from + bytes);
  }
  Bytes shown(size_t{pickCount} * runs.length * transform.shownBytes() + 2 * guardBytes, guard);
  transform.runMany(stored.data(), shown.data() + guardBytes, size_t{pickCount} * runs.length, scales);
  return shown;
}

void checkWidth(uint32_t width, uint32_t length, const Numbers& list, Random& random) {
  Column column = {};
  column.itemBytes = 4;
  column.itemCount = width;
  column.bytes = 4 * width;
  ColumnTransform transform;
  CHECK(transform.parse(column, false, list.data(), static_cast<uint32_t>(list.size() / EXRP_TRANSFORM_COUNT), 2) == Status::ok);
  CHECK_EQUAL(transform.takesRuns(), hasAvx2() && width >= 4 && width <= 32);
  if (!transform.takesRuns()) return;
  const size_t stride = column.bytes + 7;
  constexpr size_t offset = 3;
  Bytes memory(stride * (rowCount + length + 2));
  for (uint8_t& byte : memory) byte = static_cast<uint8_t>(random.next());
  constexpr float special[] = {-0.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e-40f, 65519.9f, 0.5f};
  for (uint32_t row = 0; row < rowCount; row += 2) {
    for (uint32_t item = row % 3; item < width; item += 3) memcpy(&memory[row * stride + offset + 4 * item], &special[random.below(6)], sizeof(float));
  }
  const uint8_t* rows[pickCount];
  for (const uint8_t*& row : rows) row = memory.data() + stride * random.below(rowCount);
  const Runs runs = {rows, pickCount, length, stride};
  std::vector<float> scales(transform.scaleCount());
  if (transform.normalizes()) {
    ColumnStatistics::Of statistics;
    CHECK(statistics.numbers.commit(2 * size_t{width}));
    statistics.count = width;
    statistics.records = 10;
    for (uint32_t item = 0; item < 2 * width; ++item) statistics.numbers.data()[item] = random.below(1000) / 7.0;
    transform.scalesOf(statistics, scales.data());
  }
  const Bytes states = expected(transform, runs, offset, column.bytes, 0, scales.data());
  Bytes to(states.size(), guard), next(states.size(), guard);
  transform.gatherRuns(runs, offset, scales.data(), to.data() + guardBytes, nullptr);
  CHECK(to == states);
  to.assign(to.size(), guard);
  transform.gatherRuns(runs, offset, scales.data(), to.data() + guardBytes, next.data() + guardBytes);
  CHECK(to == states);
  CHECK(next == expected(transform, runs, offset, column.bytes, 1, scales.data()));
}

}  // namespace

int main() {
  Numbers scaled, moved, halves, normal;
  add(scaled, EXRP_TRANSFORM_LINEAR, 0.25, 0);
  add(moved, EXRP_TRANSFORM_LINEAR, 0.25, -1.5);
  add(halves, EXRP_TRANSFORM_FLOAT16, 0, 0);
  add(normal, EXRP_TRANSFORM_NORMALIZE, 1e-8, 10);
  Numbers scaledHalves = scaled, movedHalves = moved, normalHalves = normal;
  for (Numbers* const list : {&scaledHalves, &movedHalves, &normalHalves}) add(*list, EXRP_TRANSFORM_FLOAT16, 0, 0);
  Random random(17, 0);
  for (uint32_t width = 1; width <= 34; ++width) {
    for (const uint32_t length : {1u, 2u, 7u}) {
      for (const Numbers& list : {scaled, moved, halves, normal, scaledHalves, movedHalves, normalHalves}) checkWidth(width, length, list, random);
    }
  }
  // Rows with other operations wait until they are gathered.
  Numbers clipped = normal;
  add(clipped, EXRP_TRANSFORM_CLIP, -1, 1);
  Column column = {};
  column.itemBytes = 4;
  column.itemCount = 8;
  ColumnTransform transform;
  CHECK(transform.parse(column, false, clipped.data(), 2, 2) == Status::ok);
  CHECK(!transform.takesRuns());
  return checkResult("change_runs");
}
