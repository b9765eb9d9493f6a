// ByteLimit: how many records there may be, by number and by their bytes.
//
// It counts the bytes of columns: those of each record, those of each row that a column keeps for every nth record only, and those of the
// state's leaves once more for each ended episode's final state.
//
// Thread safety: none of its own.
// Invariants:
//   1. recordMax() is the smaller of the capacity and of what the limit leaves beside final states and kept columns that are stored.
//   2. No more records than that are stored.
// Cost: O(kept columns) a record; an addition for an episode that ends or goes, and a division where there is a limit in bytes. It does
// not evict, and does not look at slots: memory in use is more, by the slots of blocks that are not full.
#pragma once

#include <cstdint>

#include "kernel/store/episode_listener.hpp"

namespace exrp {

class ByteLimit final : public EpisodeListener {
 public:
  /// Bytes of one episode of `count` records with its final state.
  static double episodeBytes(const Column* columns, uint32_t columnCount, uint32_t leafCount, uint32_t count) {
    double bytes = 0;
    for (uint32_t leaf = 0; leaf < leafCount; ++leaf) bytes += columns[leaf].bytes;
    for (uint32_t index = 0; index < columnCount; ++index) {
      bytes += double{1} * columns[index].bytes * keptRows(0, count, columns[index].every);
    }
    return bytes;
  }

  /// `bytesMax` 0 is no limit; else there is room for an episode of `capacity` records and its final state.
  void create(const Column* columns, uint32_t columnCount, uint32_t leafCount, uint32_t capacity, uint64_t bytesMax) {
    capacity_ = capacity;
    for (uint32_t leaf = 0; leaf < leafCount; ++leaf) stateBytes_ += columns[leaf].bytes;
    bytesMax_ = bytesMax;
    recordMax_ = capacity;
    for (uint32_t index = 0; index < columnCount; ++index) {
      if (columns[index].every > 1) kept_[keptCount_++] = Kept{columns[index].bytes, columns[index].every};
      else recordBytes_ += columns[index].bytes;
    }
  }

  /// Other limits. There may be more records than they allow, which then have to go.
  void change(uint32_t capacity, uint64_t bytesMax) {
    capacity_ = capacity;
    bytesMax_ = bytesMax;
    recordMax_ = recordMaxBeside(besideBytes_);
  }

  /// How many records there may be now.
  uint32_t recordMax() const { return recordMax_; }
  /// How many there may be with `bytes` more of final states and kept columns.
  uint32_t recordMaxWith(uint64_t bytes) const { return bytes == 0 ? recordMax_ : recordMaxBeside(besideBytes_ + bytes); }
  /// The bytes that a record at `position` of its episode keeps beside the columns of every record.
  uint64_t keptBytes(uint32_t position) const {
    uint64_t bytes = 0;
    for (uint32_t index = 0; index < keptCount_; ++index) {
      if (position % kept_[index].every == 0) bytes += kept_[index].bytes;
    }
    return bytes;
  }
  uint64_t stateBytes() const { return stateBytes_; }

  void recordAdded(uint32_t position) {
    if (keptCount_ > 0) [[unlikely]] keptAdded(position);
  }
  /// What an episode has beside the columns of every record, if it holds those from `first` to `count`, and has ended or not.
  void add(uint32_t first, uint32_t count, bool ended) { setBeside(besideBytes_ + bytesOf(first, count, ended)); }
  void remove(uint32_t first, uint32_t count, bool ended) { setBeside(besideBytes_ - bytesOf(first, count, ended)); }

  double storedBytes(uint64_t recordCount) const { return static_cast<double>(recordCount * recordBytes_ + besideBytes_); }

  // ---- what it hears ----

  /// Where columns are kept for some records only, records come one by one.
  void appended(const StoredEpisodes&, uint32_t, uint32_t from, const uint8_t*) { recordAdded(from); }
  void shortening(const StoredEpisodes& stored, uint32_t episode) {
    remove(stored.episodes().first(episode), stored.episodes()[episode].count, false);
    add(stored.episodes().first(episode), stored.episodes()[episode].count - 1, false);
  }
  void ended(const StoredEpisodes&, uint32_t, uint32_t) { add(0, 0, true); }
  void trimmed(const StoredEpisodes& stored, uint32_t episode, uint32_t from) {
    const uint32_t to = stored.episodes().first(episode);
    remove(from, to, false);
    add(to, to, false);
  }
  void removing(const StoredEpisodes& stored, uint32_t episode, bool) {
    remove(stored.episodes().first(episode), stored.episodes()[episode].count, stored.episodes()[episode].ended());
  }
  void restored(const StoredEpisodes& stored, uint32_t episode) {
    add(stored.episodes().first(episode), stored.episodes()[episode].count, stored.episodes()[episode].ended());
  }
  int32_t check(const StoredEpisodes& stored) const { return stored.recordCount() > recordMax_ ? 2 : 0; }

 private:
  struct Kept {
    uint32_t bytes;
    uint32_t every;
  };

  /// The rows for records `first`..count - 1, that of `first` among them even where it was kept before; and no less for the record after them.
  static uint32_t keptRows(uint32_t first, uint32_t count, uint32_t every) {
    return count / every + (count % every != 0 ? 1 : 0) - first / every;
  }

  uint64_t bytesOf(uint32_t first, uint32_t count, bool ended) const {
    uint64_t bytes = ended ? stateBytes_ : 0;
    for (uint32_t index = 0; index < keptCount_; ++index) {
      bytes += uint64_t{kept_[index].bytes} * keptRows(first, count, kept_[index].every);
    }
    return bytes;
  }

  [[gnu::noinline]] void keptAdded(uint32_t position) { setBeside(besideBytes_ + keptBytes(position)); }

  void setBeside(uint64_t bytes) {
    besideBytes_ = bytes;
    if (bytesMax_ != 0) recordMax_ = recordMaxBeside(bytes);
  }

  uint32_t recordMaxBeside(uint64_t bytes) const {
    if (bytesMax_ == 0) return capacity_;
    const uint64_t left = bytes < bytesMax_ ? (bytesMax_ - bytes) / recordBytes_ : 0;
    return left < capacity_ ? static_cast<uint32_t>(left) : capacity_;
  }

  uint32_t capacity_ = 0;
  uint32_t recordMax_ = 0;
  uint64_t recordBytes_ = 0;  // of the columns of every record
  uint64_t stateBytes_ = 0;
  uint64_t besideBytes_ = 0;  // stored: final states, and columns that not every record keeps
  uint64_t bytesMax_ = 0;
  Kept kept_[EXRP_LIMIT_KEPT] = {};
  uint32_t keptCount_ = 0;
};

}  // namespace exrp
