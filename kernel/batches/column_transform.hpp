// ColumnTransform: what becomes of the rows of one column on their way into a batch (EXRP_TRANSFORM_* of exrp.h).
//
// The transforms of a list are of two kinds. Crops move elements; all others change each element by itself. The two commute, but for NORMALIZE, which has
// numbers of its own for each element. So a row is cropped first, as its stored elements are the smaller ones, and then its numbers change. After
// NORMALIZE it is the other way round. Where pictures stay as wide as they are, both are done in one pass.
//
// A crop takes the element at clamp(y + dy, yFirst, yLast), and x likewise. Crops of crops are such crops again. (Yarats et al., "Image Augmentation Is All
// You Need", 2021: pad by repeating the edges, and cut out at a random place.)
//
// Thread safety: after parse() it never changes.
// Invariants:
//   1. Numbers are floats, and each operation on one is rounded once. So the same input gives the same bits on every platform, those of a NaN aside.
// Cost: one pass over the elements for a load with LINEAR or NORMALIZE, and one in the cache for each other operation. Numbers of NORMALIZE are read once
// for many rows: for long rows piece by piece, and for short ones they stand there several times, so that rows are one run.
#pragma once

#include "kernel/base/cpu.hpp"
#include "kernel/base/error.hpp"
#include "kernel/batches/change_runs.hpp"
#include "kernel/exrp.h"
#include "kernel/store/column_statistics.hpp"

namespace exrp {

/// Random bits that follow from a number: one step of splitmix64.
inline uint64_t transformBits(uint64_t number) {
  uint64_t z = number + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// Where a crop takes its elements from.
struct CropPlace {
  int32_t dy, yFirst, yLast;
  int32_t dx, xFirst, xLast;
};

class ColumnTransform {
 public:
  /// With the vectors of this processor, or without.
  explicit ColumnTransform(bool vectors = hasAvx2()) : avx2_(vectors) {}
  /// Reads the transforms of one column: `count` times EXRP_TRANSFORM_COUNT numbers. A failure is one of argument `argument` of the call.
  Status parse(const Column& column, bool isReward, const double* numbers, uint32_t count, uint32_t argument);

  /// Of a row as a batch shows it.
  uint32_t shownBytes() const { return shownCount_ * shownItemBytes_; }
  /// What runs of a row need: a row of either width.
  size_t scratchBytes() const;
  uint32_t storedType() const { return type_; }
  bool normalizes() const { return normalizes_; }
  bool crops() const { return cropCount_ > 0; }

  /// What is needed of the statistics, as floats. For an element these are three; the mean is two of them, as one is too coarse where it is large.
  size_t scaleCount() const { return normalizes_ ? 3 * scaleStride() : 0; }
  void scalesOf(const ColumnStatistics::Of& statistics, float* scales) const;
  /// The place of the crops, by random bits.
  CropPlace placeOf(uint64_t seed) const;
  /// Whether rows may stand where they are shown before they are transformed.
  bool isInPlace() const { return type_ == EXRP_TYPE_FLOAT32 && changes() && !isHalf_ && !crops(); }
  /// Makes what a batch shows of a stored row.
  void run(const uint8_t* from, uint8_t* to, const CropPlace& place, const float* scales, uint8_t* scratch) const;
  /// The same for `count` rows that stand one after another, without CROP.
  void runMany(const uint8_t* from, uint8_t* to, size_t count, const float* scales) const { runTwice(from, to, nullptr, count, scales); }
  /// The same, where `also` is not null to two places.
  void runTwice(const uint8_t* from, uint8_t* to, uint8_t* also, size_t count, const float* scales) const;
  /// Whether rows can be changed while they are gathered.
  bool takesRuns() const { return changeRuns_ != nullptr; }
  /// Gathers them, as CopyRuns does.
  void gatherRuns(const Runs& runs, size_t offset, const float* scales, uint8_t* to, uint8_t* next) const {
    const size_t stride = normalizes_ ? scaleStride() : 0;
    changeRuns_(runs, offset, itemCount_, {scales, scales + stride, scales + 2 * stride, limit_, steps_[0].a, steps_[0].b}, to, next);
  }
  /// One element as a float, without FLOAT16; for sums of rewards.
  float numberOf(const uint8_t* from, uint32_t item, const float* scales) const;

 private:
  struct Crop {
    uint32_t height, width, pad, outHeight, outWidth;
    bool isRandom;
  };
  struct Step {
    uint32_t kind;
    float a, b;
  };

  /// Elements that are changed at a time, so that they stay in the first cache.
  static constexpr size_t pieceCount = 512;

  ChangeRuns runsChanger() const;
  bool changes() const { return normalizes_ || stepCount_ > 0 || isHalf_; }
  /// Floats from a number of NORMALIZE to the next one of the same element.
  size_t scaleStride() const { return size_t{itemCount_} * scaleRepeats_; }
  uint32_t scalesInVectors(const ColumnStatistics::Of& statistics, float* scales) const;
  Status parseCrop(const double* numbers, uint32_t argument);
  void makeHalves();
  void change(const uint8_t* from, size_t count, const float* scales, uint8_t* to) const {
    avx2_ ? changeVectors(from, count, scales, to) : changePlain(from, count, scales, to);
  }
  size_t changeEights(const uint8_t* from, size_t count, const float* scales, uint8_t* to) const;
  void changeInPieces(const uint8_t* from, size_t count, const float* scales, uint8_t* to) const;
  void changePlain(const uint8_t* from, size_t count, const float* scales, uint8_t* to) const;
  void changeVectors(const uint8_t* from, size_t count, const float* scales, uint8_t* to) const;
  void makeFloats(const uint8_t* from, size_t count, const float* scales, float* to) const;
  void show(const uint8_t* from, size_t first, size_t count, const float* scales, uint8_t* to) const;
  bool runShifted(const uint8_t* from, uint8_t* to, const CropPlace& place, const float* scales) const;
  void move(const uint8_t* from, uint8_t* to, size_t itemBytes, const CropPlace& place) const;

  bool avx2_;
  uint32_t type_ = EXRP_TYPE_OTHER;
  uint32_t itemBytes_ = 0;  // stored
  uint32_t itemCount_ = 0;
  uint32_t shownItemBytes_ = 0;
  uint32_t shownCount_ = 0;
  bool normalizes_ = false;
  bool isHalf_ = false;
  uint32_t scaleRepeats_ = 1;
  double epsilon_ = 0;
  float limit_ = 0;
  Crop crops_[EXRP_LIMIT_TRANSFORMS] = {};
  uint32_t cropCount_ = 0;
  uint32_t pictures_ = 0;  // of a row that is cropped
  uint32_t channels_ = 0;
  Step steps_[EXRP_LIMIT_TRANSFORMS] = {{EXRP_TRANSFORM_LINEAR, 1.0f, 0.0f}};
  uint32_t stepCount_ = 0;
  ChangeRuns changeRuns_ = nullptr;
  bool hasHalves_ = false;
  uint16_t halves_[256] = {};  // what becomes of each byte, where no vectors make halves of bytes
};

}  // namespace exrp
