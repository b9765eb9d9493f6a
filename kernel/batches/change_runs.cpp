#include "kernel/batches/change_runs.hpp"

#include "kernel/base/cpu.hpp"

#if defined(__x86_64__)
#include "kernel/base/copy_row.hpp"
#include "kernel/base/float16.hpp"

#define EXRP_UNIT EXRP_AVX2 EXRP_INLINE

namespace exrp {
namespace {

struct Eight {
  using Floats = __m256;
  static constexpr uint32_t count = 8;
  EXRP_UNIT static Floats load(const float* from) { return _mm256_loadu_ps(from); }
  EXRP_UNIT static Floats all(float number) { return _mm256_set1_ps(number); }
  EXRP_UNIT static Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
  EXRP_UNIT static Floats subtract(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
  EXRP_UNIT static Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
  EXRP_UNIT static Floats larger(Floats a, Floats b) { return _mm256_max_ps(a, b); }
  EXRP_UNIT static Floats smaller(Floats a, Floats b) { return _mm256_min_ps(a, b); }
  EXRP_UNIT static void store(Floats numbers, uint8_t* to) { _mm256_storeu_ps(reinterpret_cast<float*>(to), numbers); }
  EXRP_UNIT static void storeHalves(Floats numbers, uint8_t* to) { storeEightHalves<true>(numbers, to); }
};

struct Four {
  using Floats = __m128;
  static constexpr uint32_t count = 4;
  EXRP_UNIT static Floats load(const float* from) { return _mm_loadu_ps(from); }
  EXRP_UNIT static Floats all(float number) { return _mm_set1_ps(number); }
  EXRP_UNIT static Floats add(Floats a, Floats b) { return _mm_add_ps(a, b); }
  EXRP_UNIT static Floats subtract(Floats a, Floats b) { return _mm_sub_ps(a, b); }
  EXRP_UNIT static Floats multiply(Floats a, Floats b) { return _mm_mul_ps(a, b); }
  EXRP_UNIT static Floats larger(Floats a, Floats b) { return _mm_max_ps(a, b); }
  EXRP_UNIT static Floats smaller(Floats a, Floats b) { return _mm_min_ps(a, b); }
  EXRP_UNIT static void store(Floats numbers, uint8_t* to) { _mm_storeu_ps(reinterpret_cast<float*>(to), numbers); }
  EXRP_UNIT static void storeHalves(Floats numbers, uint8_t* to) { storeFourHalves(numbers, to); }
};

/// A row as it becomes, between reading and writing, after RowValue.
template <typename Unit, uint32_t units, Change change, bool isHalf>
struct ChangedValue {
  using Floats = typename Unit::Floats;
  static constexpr size_t shownBytes = isHalf ? 2 : 4;
  Floats parts[units];
  Floats first[change == Change::normalized ? units : 1];  // means, or the scale
  Floats second[change == Change::normalized ? units : 1];  // rests, or the offset
  Floats factors[change == Change::normalized ? units : 1];
  Floats least, largest;

  EXRP_UNIT ChangedValue(const ChangeNumbers& numbers, size_t last) {
    if constexpr (change == Change::normalized) {
      for (uint32_t unit = 0; unit < units; ++unit) {
        const size_t at = unit + 1 < units ? unit * Unit::count : last;
        first[unit] = Unit::load(numbers.means + at);
        second[unit] = Unit::load(numbers.rests + at);
        factors[unit] = Unit::load(numbers.factors + at);
      }
      least = Unit::all(-numbers.limit);
      largest = Unit::all(numbers.limit);
    } else {
      first[0] = Unit::all(numbers.scale);
      second[0] = Unit::all(numbers.offset);
    }
  }
  EXRP_UNIT Floats changed(Floats numbers, uint32_t unit) const {
    if constexpr (change == Change::normalized) {
      const Floats centred = Unit::subtract(Unit::subtract(numbers, first[unit]), second[unit]);
      // The second operand stays where one is a NaN.
      return Unit::smaller(largest, Unit::larger(least, Unit::multiply(centred, factors[unit])));
    }
    const Floats product = Unit::multiply(numbers, first[0]);
    return change == Change::moved ? Unit::add(product, second[0]) : product;
  }
  EXRP_UNIT void read(const uint8_t* from, size_t last) {
    for (uint32_t unit = 0; unit < units; ++unit) {
      parts[unit] = changed(Unit::load(reinterpret_cast<const float*>(from) + (unit + 1 < units ? unit * Unit::count : last)), unit);
    }
  }
  EXRP_UNIT void write(uint8_t* to, size_t last) const {
    for (uint32_t unit = 0; unit < units; ++unit) {
      uint8_t* const at = to + shownBytes * (unit + 1 < units ? unit * Unit::count : last);
      isHalf ? Unit::storeHalves(parts[unit], at) : Unit::store(parts[unit], at);
    }
  }
};

template <typename Unit, uint32_t units, Change change, bool isHalf>
EXRP_AVX2 void changeRuns(const Runs& runs, size_t offset, uint32_t count, const ChangeNumbers& numbers, uint8_t* to, uint8_t* next) {
  using Value = ChangedValue<Unit, units, change, isHalf>;
  const size_t last = count - Unit::count;
  const size_t width = count * Value::shownBytes;
  // Next rows reach one row beyond the run. A row within it is changed once for both.
  const uint32_t length = next == nullptr ? runs.length : runs.length + 1;
  Value value(numbers, last);
  for (uint32_t pick = 0; pick < runs.count; ++pick) {
    const uint8_t* from = runs.rows[pick] + offset;
    for (uint32_t row = 0; row < length; ++row, from += runs.stride) {
      value.read(from, last);
      if (row < runs.length) {
        value.write(to, last);
        to += width;
      }
      if (next != nullptr && row > 0) {
        value.write(next, last);
        next += width;
      }
    }
  }
}

template <typename Unit, uint32_t units>
ChangeRuns ofUnits(Change change, bool isHalf) {
  switch (change) {
    case Change::normalized: return isHalf ? changeRuns<Unit, units, Change::normalized, true> : changeRuns<Unit, units, Change::normalized, false>;
    case Change::scaled: return isHalf ? changeRuns<Unit, units, Change::scaled, true> : changeRuns<Unit, units, Change::scaled, false>;
    default: return isHalf ? changeRuns<Unit, units, Change::moved, true> : changeRuns<Unit, units, Change::moved, false>;
  }
}

}  // namespace

ChangeRuns changeRunsOf(uint32_t count, Change change, bool isHalf) {
  if (count < 4 || count > 32 || !hasAvx2()) return nullptr;
  if (count < 8) return count == 4 ? ofUnits<Four, 1>(change, isHalf) : ofUnits<Four, 2>(change, isHalf);
  switch ((count + 7) / 8) {
    case 1: return ofUnits<Eight, 1>(change, isHalf);
    case 2: return ofUnits<Eight, 2>(change, isHalf);
    case 3: return ofUnits<Eight, 3>(change, isHalf);
    default: return ofUnits<Eight, 4>(change, isHalf);
  }
}

}  // namespace exrp

#else

namespace exrp {

ChangeRuns changeRunsOf(uint32_t, Change, bool) { return nullptr; }

}  // namespace exrp
#endif
