#include "kernel/batches/copy_runs.hpp"

#include "kernel/base/copy_row.hpp"
#include "kernel/base/cpu.hpp"

namespace exrp {
namespace {

template <typename Unit, uint32_t units, bool single>
EXRP_INLINE void copyRunsBody(const Runs& runs, size_t offset, uint32_t bytes, uint8_t* to) {
  using Value = RowValue<Unit, units>;
  const size_t last = Value::lastOf(bytes);
  const size_t width = units == 1 ? Value::unitBytes : bytes;
  const uint8_t* const* const rows = runs.rows;
  const uint32_t count = runs.count;
  const uint32_t length = single ? 1 : runs.length;
  const size_t stride = runs.stride;
  Value value;
  for (uint32_t pick = 0; pick < count; ++pick) {
    const uint8_t* from = rows[pick] + offset;
    for (uint32_t row = 0; row < length; ++row, from += stride, to += width) {
      value.read(from, last);
      value.write(to, last);
    }
  }
}

template <typename Unit, uint32_t units, bool single>
EXRP_INLINE void copyBothBody(const Runs& runs, size_t offset, uint32_t bytes, uint8_t* to, uint8_t* next) {
  using Value = RowValue<Unit, units>;
  const size_t last = Value::lastOf(bytes);
  const size_t width = units == 1 ? Value::unitBytes : bytes;
  const uint8_t* const* const rows = runs.rows;
  const uint32_t count = runs.count;
  const uint32_t length = single ? 1 : runs.length;
  const size_t stride = runs.stride;
  Value value;
  for (uint32_t pick = 0; pick < count; ++pick) {
    const uint8_t* from = rows[pick] + offset;
    value.read(from, last);
    value.write(to, last);
    to += width;
    // A row within the run is read once for both.
    for (uint32_t row = 1; row < length; ++row, to += width, next += width) {
      from += stride;
      value.read(from, last);
      value.write(to, last);
      value.write(next, last);
    }
    value.read(from + stride, last);
    value.write(next, last);
    next += width;
  }
}

template <typename Unit, uint32_t units, bool single>
struct Plain {
  static void runs(const Runs& runs, size_t offset, uint32_t bytes, uint8_t* to) {
    copyRunsBody<Unit, units, single>(runs, offset, bytes, to);
  }
  static void both(const Runs& runs, size_t offset, uint32_t bytes, uint8_t* to, uint8_t* next) {
    copyBothBody<Unit, units, single>(runs, offset, bytes, to, next);
  }
};

template <typename Unit, uint32_t units, bool single>
struct Avx2 {
  EXRP_AVX2 static void runs(const Runs& runs, size_t offset, uint32_t bytes, uint8_t* to) {
    copyRunsBody<Unit, units, single>(runs, offset, bytes, to);
  }
  EXRP_AVX2 static void both(const Runs& runs, size_t offset, uint32_t bytes, uint8_t* to, uint8_t* next) {
    copyBothBody<Unit, units, single>(runs, offset, bytes, to, next);
  }
};

/// Both ways to copy a column of some width.
struct Ways {
  CopyRuns runs = nullptr;
  CopyBoth both = nullptr;
};

template <template <typename, uint32_t, bool> class Of, typename Unit, uint32_t units>
Ways waysOf(bool single) {
  if (single) return {Of<Unit, units, true>::runs, Of<Unit, units, true>::both};
  return {Of<Unit, units, false>::runs, Of<Unit, units, false>::both};
}

Ways avx2WaysOf(uint32_t bytes, bool single) {
  switch ((bytes + 31) / 32) {
    case 1: return waysOf<Avx2, RowUnit32, 1>(single);
    case 2: return waysOf<Avx2, RowUnit32, 2>(single);
    case 3: return waysOf<Avx2, RowUnit32, 3>(single);
    case 4: return waysOf<Avx2, RowUnit32, 4>(single);
    default: return {};
  }
}

Ways waysFor(uint32_t bytes, bool single, bool avx2) {
  if (bytes >= 32 && avx2) return avx2WaysOf(bytes, single);
  if (bytes > 16) {
    switch ((bytes + 15) / 16) {
      case 2: return waysOf<Plain, RowUnit16, 2>(single);
      case 3: return waysOf<Plain, RowUnit16, 3>(single);
      case 4: return waysOf<Plain, RowUnit16, 4>(single);
      case 5: return waysOf<Plain, RowUnit16, 5>(single);
      case 6: return waysOf<Plain, RowUnit16, 6>(single);
      case 7: return waysOf<Plain, RowUnit16, 7>(single);
      case 8: return waysOf<Plain, RowUnit16, 8>(single);
      default: return {};
    }
  }
  if (bytes == 0) return {};
  return visitRowValue(bytes, [&]<typename Unit, uint32_t units>(RowValue<Unit, units>) { return waysOf<Plain, Unit, units>(single); });
}

}  // namespace

CopyRuns copyRunsOf(uint32_t bytes, bool single, bool avx2) { return waysFor(bytes, single, avx2).runs; }
CopyBoth copyBothOf(uint32_t bytes, bool single, bool avx2) { return waysFor(bytes, single, avx2).both; }

}  // namespace exrp
