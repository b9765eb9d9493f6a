// ByteLimit: how many records there may be, by number and by their bytes.
//
// What counts are the bytes of columns: those of each record, and the state's once more for each ended episode's final state.
//
// Thread safety: none of its own.
// Invariants:
//   1. recordMax() is the smaller of the capacity and of what the limit leaves beside the final states that are stored.
// Cost: an addition for an episode that ends or goes, with a limit in bytes a division. It does not evict, nor look at slots:
// memory in use is more, by the slots of blocks that are not filled.
#pragma once

#include <cstdint>

namespace exrp {

class ByteLimit {
 public:
  /// `bytesMax` 0 is no limit; else there is room for `capacity` records and a final state.
  void create(uint32_t capacity, uint32_t recordBytes, uint32_t stateBytes, uint64_t bytesMax) {
    capacity_ = capacity;
    recordBytes_ = recordBytes;
    stateBytes_ = stateBytes;
    bytesMax_ = bytesMax;
    recordMax_ = capacity;
  }

  /// The most records that there may be now.
  uint32_t recordMax() const { return recordMax_; }
  /// The most with `count` further final states.
  uint32_t recordMaxWith(uint32_t count) const { return count == 0 ? recordMax_ : recordMaxOf(finalStateCount_ + count); }

  void finalStateAdded() {
    ++finalStateCount_;
    if (bytesMax_ != 0) recordMax_ = recordMaxOf(finalStateCount_);
  }
  void finalStateRemoved() {
    --finalStateCount_;
    if (bytesMax_ != 0) recordMax_ = recordMaxOf(finalStateCount_);
  }

  double storedBytes(uint64_t recordCount) const {
    return static_cast<double>(recordCount * recordBytes_ + finalStateCount_ * stateBytes_);
  }

 private:
  uint32_t recordMaxOf(uint64_t finalStateCount) const {
    if (bytesMax_ == 0) return capacity_;
    const uint64_t taken = finalStateCount * stateBytes_;
    const uint64_t left = taken < bytesMax_ ? (bytesMax_ - taken) / recordBytes_ : 0;
    return left < capacity_ ? static_cast<uint32_t>(left) : capacity_;
  }

  uint32_t capacity_ = 0;
  uint32_t recordBytes_ = 0;
  uint32_t stateBytes_ = 0;
  uint32_t recordMax_ = 0;
  uint64_t finalStateCount_ = 0;
  uint64_t bytesMax_ = 0;
};

}  // namespace exrp
