#include "kernel/batches/addressed_batches.hpp"

#include <cstring>
#include <new>

namespace exrp {

Status AddressedBatches::create(const Store& store, const PickPolicy& policy, uint32_t recordCountMax, uint64_t seed, uint32_t view, uint64_t columns) {
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    const bool isAddressed = (columns >> column & 1) != 0;
    shownBytes_[column] = isAddressed ? uint32_t{sizeof(uint32_t)} : store.column(column).bytes;
    needsNoSource_ = needsNoSource_ && (isAddressed || !store.isPacked(column));
  }
  if (policy.transformCount == 0) {
    maker_.create(store, policy, recordCountMax, PipelinedCopier::tuningFor(policy), nullptr, true, {columns, shownBytes_});
    return Status::ok;
  }
  transformed_.reset(new (std::nothrow) TransformedBatches);
  if (transformed_ == nullptr) return fail(Status::memory, sizeof(TransformedBatches));
  const Status status = transformed_->create(store, policy, 2, recordCountMax, seed, view, columns);
  memcpy(shownBytes_, transformed_->shownBytes(), sizeof shownBytes_);
  return status;
}

}  // namespace exrp
