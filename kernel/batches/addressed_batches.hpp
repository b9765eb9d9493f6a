// AddressedBatches: the Gatherer (kernel/batches/gatherer.hpp) of batches some of whose columns are on a device, as in a GPU's memory.
//
// Such a batch is like any other of its view, but that it has an address in place of each row of these columns (EXRP_ADDRESS_*). Whoever has the rows at
// these addresses can make of it what the other gatherers make. Kept columns are always gathered here.
//
// Thread safety: after create() it never changes, so many threads may share it. What a call changes is in its BatchScratch.
#pragma once

#include <memory>

#include "kernel/batches/transformed_batches.hpp"

namespace exrp {

class AddressedBatches final : public Gatherer {
 public:
  /// For a view of this number, with `policy.transforms`. No episode has more than `recordCountMax` records.
  Status create(const Store& store, const PickPolicy& policy, uint32_t recordCountMax, uint64_t seed, uint32_t view, uint64_t columns);
  void useStatistics(const ColumnStatistics& statistics) {
    if (transformed_ != nullptr) transformed_->useStatistics(statistics);
  }
  const uint32_t* shownBytes() const { return shownBytes_; }
  /// Whether no row is read that may be on a disk only.
  bool needsNoSource() const { return needsNoSource_; }
  /// False where the column is not normalized, or no batch was gathered with this scratch.
  bool copyScales(const BatchScratch& scratch, uint32_t column, float* scales) const {
    return transformed_ != nullptr && transformed_->copyScales(scratch, column, scales);
  }
  double memoryBytes() const { return double{sizeof(*this)} + (transformed_ == nullptr ? 0.0 : transformed_->memoryBytes()); }

  Status createScratch(uint32_t count, BatchScratch* scratch) const override { return gatherer().createScratch(count, scratch); }
  void gather(const GatherJob& job) const override { gatherer().gather(job); }

 private:
  const Gatherer& gatherer() const { return transformed_ == nullptr ? static_cast<const Gatherer&>(maker_) : *transformed_; }

  BatchMaker maker_;
  std::unique_ptr<TransformedBatches> transformed_;  // null in a view without transforms
  uint32_t shownBytes_[columnMax] = {};
  bool needsNoSource_ = true;
};

}  // namespace exrp
