#include "kernel/batches/copy_runs.hpp"

#include "kernel/base/copy_row.hpp"
#include "kernel/base/cpu.hpp"

namespace exrp {
namespace {

template <typename Unit, uint32_t units, bool single>
EXRP_INLINE void copyBody(const Runs& runs, size_t offset, uint32_t bytes, uint8_t* to, uint8_t* next) {
  using Value = RowValue<Unit, units>;
  const size_t last = Value::lastOf(bytes);
  const size_t width = units == 1 ? Value::unitBytes : bytes;
  const uint8_t* const* const rows = runs.rows;
  const uint32_t count = runs.count;
  const uint32_t length = single ? 1 : runs.length;
  const size_t stride = runs.stride;
  Value value;
  for (uint32_t pick = 0; next == nullptr && pick < count; ++pick) {
    const uint8_t* from = rows[pick] + offset;
    for (uint32_t row = 0; row < length; ++row, from += stride, to += width) {
      value.read(from, last);
      value.write(to, last);
    }
  }
  for (uint32_t pick = 0; next != nullptr && pick < count; ++pick) {
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
void copyPlain(const Runs& runs, size_t offset, uint32_t bytes, uint8_t* to, uint8_t* next) {
  copyBody<Unit, units, single>(runs, offset, bytes, to, next);
}
template <typename Unit, uint32_t units, bool single>
EXRP_AVX2 void copyAvx2(const Runs& runs, size_t offset, uint32_t bytes, uint8_t* to, uint8_t* next) {
  copyBody<Unit, units, single>(runs, offset, bytes, to, next);
}

template <typename Unit, uint32_t units>
CopyRuns plainOf(bool single) {
  return single ? copyPlain<Unit, units, true> : copyPlain<Unit, units, false>;
}

/// For a column that `count` units cover, at least `units` and at most smallRowBytesMax.
template <typename Unit, uint32_t units>
CopyRuns ofUnits(uint32_t count, bool single) {
  if (count > units) {
    if constexpr ((units + 1) * sizeof(typename Unit::Bits) <= smallRowBytesMax) return ofUnits<Unit, units + 1>(count, single);
    else return nullptr;
  }
  if constexpr (sizeof(typename Unit::Bits) == 16) return plainOf<Unit, units>(single);
  else return single ? copyAvx2<Unit, units, true> : copyAvx2<Unit, units, false>;
}

}  // namespace

CopyRuns copyRunsOf(uint32_t bytes, bool single, bool avx2) {
  if (bytes == 0) return nullptr;
  if (bytes <= 16) {
    return visitRowValue(bytes, [&]<typename Unit, uint32_t units>(RowValue<Unit, units>) { return plainOf<Unit, units>(single); });
  }
  return bytes >= 32 && avx2 ? ofUnits<RowUnit32, 1>((bytes + 31) / 32, single) : ofUnits<RowUnit16, 2>((bytes + 15) / 16, single);
}

}  // namespace exrp
