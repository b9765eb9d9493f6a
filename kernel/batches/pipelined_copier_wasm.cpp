// How PipelinedCopier looks picks up in WebAssembly: pick by pick, as vectors cost more there than they save. A flight is long: the processor
// reads ahead by itself, but hardly beyond the end of a loop.
#include "kernel/batches/pipelined_copier.hpp"

#if defined(__wasm__)

#include <bit>

namespace exrp {

PipelinedCopier::Tuning PipelinedCopier::tuningFor(const PickPolicy&) { return {flightMax, false}; }

void PipelinedCopier::ask(const PickIndex&, const uint32_t*, uint32_t) const {}

struct PipelinedCopier::Stages {
  static void find(const PipelinedCopier& copier, const GatherJob& job, uint32_t number, Flight* flight) {
    const uint32_t* const slots = job.picks.slots();
    const uint32_t* const indices = job.indices + number * copier.tuning_.flightCount;
    const uint8_t* const rows = copier.store_->groupRow(0, 0);
    const size_t stride = copier.stride_;
    const uint32_t count = copier.sizeOf(job, number);
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t slot = slots[indices[k]];
      flight->slots[k] = slot;
      flight->rows[k] = rows + size_t{slot} * stride;
    }
  }

  /// `shift`: of the store's blocks; 0 where that isn't known before.
  template <uint32_t shift>
  static uint32_t lookUp(const PipelinedCopier& copier, const GatherJob& job, uint32_t number, Flight* flight) {
    const BlockHead* const heads = copier.store_->heads();
    const Episode* const episodes = &job.episodes[0];
    const uint32_t blockShift = shift == 0 ? copier.store_->blockShift() : shift;
    const uint32_t blockLength = 1u << blockShift;
    // A pick is cut where fewer records than this are left, in its episode or before a tear. Then one of two differences is below zero.
    const uint32_t needed = copier.reach_ + 1;
    const uint32_t runMin = blockLength - needed;
    const uint32_t first = number * copier.tuning_.flightCount;
    double* const handles = job.target.pickEpisode + job.range.first + first;
    int32_t* const positions = job.target.pickPosition + job.range.first + first;
    uint32_t* const picked = job.pickedEpisodes + first;
    const uint32_t count = copier.sizeOf(job, number);
    uint32_t cutCount = 0;
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t slot = flight->slots[k];
      const auto head = std::bit_cast<uint64_t>(heads[slot >> blockShift]);  // by one access
      const auto owner = static_cast<uint32_t>(head);
      const auto link = static_cast<uint32_t>(head >> 32);
      const uint32_t within = slot & (blockLength - 1);
      const uint32_t position = (link >> 1 << blockShift) + within;
      const Episode& episode = episodes[owner];
      picked[k] = owner;
      positions[k] = static_cast<int32_t>(position);
      handles[k] = static_cast<double>(static_cast<int64_t>(episode.handle));
      const auto left = static_cast<int32_t>(episode.count - position - needed);
      const auto run = static_cast<int32_t>(runMin - within + ((link & 1) << blockShift));
      if ((left | run) < 0) flight->cuts[cutCount++] = k;
    }
    return cutCount;
  }
};

void PipelinedCopier::chooseStages() {
  constexpr uint32_t commonShift = 4;
  find_ = Stages::find;
  lookUp_ = store_->blockShift() == commonShift ? Stages::lookUp<commonShift> : Stages::lookUp<0>;
}

}  // namespace exrp

#endif
