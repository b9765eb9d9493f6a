// How PipelinedCopier looks picks up, but for WebAssembly, which has a file of its own: pipelined_copier_wasm.cpp.
#include "kernel/batches/pipelined_copier.hpp"

#if !defined(__wasm__)

#include <cstring>

#include "kernel/base/cpu.hpp"

namespace exrp {

/// Processors of Intel have few buffers for lines that are on their way, so short flights through the first cache take less there. Measured
/// for single records.
PipelinedCopier::Tuning PipelinedCopier::tuningFor(const PickPolicy& policy) {
  const bool isSingle = policy.length == 1 && policy.nStepCount == 0;
  return isSingle && isIntel() ? Tuning{16, true} : Tuning{32, false};
}

void PipelinedCopier::ask(const PickIndex& view, const uint32_t* indices, uint32_t count) const {
  const uint32_t* const slots = view.slots();
  if (tuning_.isNear) {
    for (uint32_t k = 0; k < count; ++k) prefetchLine(slots + indices[k]);
  } else {
    for (uint32_t k = 0; k < count; ++k) prefetchLineFar(slots + indices[k]);
  }
}

struct PipelinedCopier::Stages {
  typedef uint32_t Lanes __attribute__((vector_size(4 * laneCount), may_alias));

  static Lanes* lanes(uint32_t* numbers) { return static_cast<Lanes*>(static_cast<void*>(numbers)); }
  /// Whether any bit is set.
  static bool anyOf(const Lanes& lanes) {
    uint64_t words[sizeof(Lanes) / sizeof(uint64_t)];
    __builtin_memcpy(words, &lanes, sizeof words);
    uint64_t any = 0;
    for (const uint64_t word : words) any |= word;
    return any != 0;
  }

  /// Asks for the rows of a torn pick beyond its first block.
  static void prefetchTorn(const PipelinedCopier& copier, uint32_t slot) {
    const Store& store = *copier.store_;
    uint32_t next = store.block(store.blockOf(slot)).next;
    uint32_t run = store.blockLength() - store.within(slot);
    while (run <= copier.reach_ && next != blockNone) {
      const uint32_t left = copier.reach_ + 1 - run;
      const uint32_t rowCount = smaller(left, store.blockLength());
      prefetchSpan<prefetchLineFar>(store.groupRow(0, store.firstSlot(next)), rowCount * copier.stride_);
      run += rowCount;
      if (run <= copier.reach_) next = store.block(next).next;
    }
  }

  /// `lines`: of each pick's rows; 0 where that isn't known before. `prefetch`: for what look-ups read.
  template <uint32_t lines, void (*prefetch)(const void*)>
  static void find(const PipelinedCopier& copier, const GatherJob& job, uint32_t number, Flight* flight) {
    const Store& store = *copier.store_;
    const uint32_t* const slots = job.picks.slots();
    const uint32_t* const indices = job.indices + number * copier.tuning_.flightCount;
    const BlockHead* const heads = store.heads();
    const uint8_t* const rows = store.groupRow(0, 0);
    const uint32_t blockShift = store.blockShift();
    const size_t stride = copier.stride_;
    const size_t lastByte = copier.lastByte_;
    const uint32_t lineCount = lines == 0 ? copier.lines_ : lines;
    const uint32_t count = copier.sizeOf(job, number);
    uint32_t k = 0;
    for (; k < count; ++k) {
      const uint32_t slot = slots[indices[k]];
      prefetch(heads + (slot >> blockShift));
      const uint8_t* row = rows + size_t{slot} * stride;
      for (uint32_t line = 0; line < lineCount; ++line) prefetchLineFar(row + size_t{line} * lineBytes);
      prefetchLineFar(row + lastByte);
      flight->slots[k] = slot;
      flight->rows[k] = row;
    }
    for (; k % laneCount != 0; ++k) flight->slots[k] = flight->slots[0];
  }

  /// In two loops: all episodes are asked for before the first is read.
  template <void (*prefetch)(const void*)>
  static uint32_t lookUp(const PipelinedCopier& copier, const GatherJob& job, uint32_t number, Flight* flight) {
    const BlockHead* const heads = copier.store_->heads();
    const Episode* const episodes = &job.episodes[0];
    const uint32_t blockShift = copier.store_->blockShift();
    const uint32_t blockLength = 1u << blockShift;
    const uint32_t reach = copier.reach_;
    const uint32_t begin = number * copier.tuning_.flightCount;
    const uint32_t count = copier.sizeOf(job, number);
    alignas(sizeof(Lanes)) uint32_t owners[flightMax];
    alignas(sizeof(Lanes)) uint32_t positions[flightMax];
    alignas(sizeof(Lanes)) uint32_t cut[flightMax];
    Lanes anyTorn = {};
    for (uint32_t first = 0; first < count; first += laneCount) {
      alignas(sizeof(Lanes)) uint32_t links[laneCount];
      for (uint32_t k = 0; k < laneCount; ++k) {
        const BlockHead& head = heads[flight->slots[first + k] >> blockShift];
        prefetch(episodes + head.episode);
        links[k] = head.link;
        owners[first + k] = head.episode;
      }
      const Lanes link = *lanes(links);
      const Lanes within = *lanes(flight->slots + first) & (blockLength - 1);
      *lanes(positions + first) = (link >> 1 << blockShift) + within;
      // Where the next block is the one behind, the rows run on to its end.
      const Lanes torn = blockLength - within + ((link & 1) << blockShift) <= reach;
      *lanes(cut + first) = torn;
      anyTorn |= torn;
    }
    memcpy(job.target.pickPosition + job.range.first + begin, positions, count * sizeof *positions);
    memcpy(job.pickedEpisodes + begin, owners, count * sizeof *owners);
    if (anyOf(anyTorn)) {
      for (uint32_t k = 0; k < count; ++k) {
        if (cut[k] != 0) prefetchTorn(copier, flight->slots[k]);
      }
    }
    double* const pickEpisode = job.target.pickEpisode + job.range.first + begin;
    Lanes anyCut = {};
    for (uint32_t first = 0; first < count; first += laneCount) {
      alignas(sizeof(Lanes)) uint32_t counts[laneCount];
      double handles[laneCount];
      for (uint32_t k = 0; k < laneCount; ++k) {
        const Episode& episode = episodes[owners[first + k]];
        counts[k] = episode.count;
        handles[k] = static_cast<double>(static_cast<int64_t>(episode.handle));
      }
      *lanes(cut + first) |= *lanes(counts) - *lanes(positions + first) <= reach;
      anyCut |= *lanes(cut + first);
      if (first + laneCount <= count) __builtin_memcpy(pickEpisode + first, handles, sizeof handles);
      else memcpy(pickEpisode + first, handles, (count - first) * sizeof *handles);
    }
    if (!anyOf(anyCut)) return 0;
    uint32_t cutCount = 0;
    for (uint32_t k = 0; k < count; ++k) {
      flight->cuts[cutCount] = k;
      cutCount += cut[k] & 1;
    }
    return cutCount;
  }

  template <void (*prefetch)(const void*)>
  static void choose(PipelinedCopier* copier) {
    constexpr decltype(find_) ofLines[] = {find<0, prefetch>, find<1, prefetch>, find<2, prefetch>, find<3, prefetch>,
                                           find<4, prefetch>, find<5, prefetch>, find<6, prefetch>};
    copier->find_ = ofLines[copier->lines_ < sizeof ofLines / sizeof *ofLines ? copier->lines_ : 0];
    copier->lookUp_ = lookUp<prefetch>;
  }
};

void PipelinedCopier::chooseStages() {
  if (tuning_.isNear) Stages::choose<prefetchLine>(this);
  else Stages::choose<prefetchLineFar>(this);
}

}  // namespace exrp

#endif
