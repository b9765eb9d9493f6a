// ColumnStatistics: the running mean and variance of each element of a column, which normalize() of a pick view asks for.
//
// They begin with the records that are stored when the first view asks, the oldest episode first, and take each record that comes. No change takes one
// out: neither eviction nor an update. Welford (1962), "Note on a method for calculating corrected sums of squares and products": of the nth value,
//   mean += (x - mean) / n;  squares += (x - mean before) * (x - mean after);  variance = squares / n.
// A value that is not finite counts as the mean, so it moves nothing.
//
// Thread safety: none of its own.
// Invariants:
//   1. Means are finite, and squares are finite and not negative.
// Cost: a record pays about 2 ns an element of the columns that have statistics, and one branch where none has any.
#pragma once

#include <bit>

#include "kernel/base/scratch.hpp"
#include "kernel/base/typed_number.hpp"
#include "kernel/store/episode_listener.hpp"

namespace exrp {

class ColumnStatistics final : public EpisodeListener {
 public:
  /// Of one column.
  struct Of {
    uint32_t type = 0;   // EXRP_TYPE_* of its elements
    uint32_t count = 0;  // elements of a row
    uint64_t records = 0;
    Scratch<double> numbers = {};  // the means, then the squares

    double mean(uint32_t item) const { return numbers[item]; }
    /// 1 where there is no record yet.
    double variance(uint32_t item) const { return records == 0 ? 1.0 : numbers[count + item] / static_cast<double>(records); }
  };

  /// Takes the memory for the statistics of a column. They are not there before begin().
  Status reserve(const Store& store, uint32_t column, uint32_t type) {
    if (find(column) != nullptr) return Status::ok;
    Of& of = all_[column];
    of.type = type;
    of.count = store.column(column).itemCount;
    if (!row_.commit(store.column(column).bytes)) return fail(Status::memory, store.column(column).bytes);
    return of.numbers.commit(size_t{2} * of.count) ? Status::ok : fail(Status::memory, 16.0 * of.count);
  }
  /// Begins those of a column, with the records that are stored. Where they have begun, does nothing.
  void begin(const StoredEpisodes& stored, uint32_t column) {
    if (find(column) != nullptr) return;
    columns_ |= uint64_t{1} << column;
    const Store& store = stored.store();
    for (uint32_t at = stored.episodes().oldest(); at != episodeNone; at = stored.episodes()[at].newer) {
      const Episode& episode = stored.episodes()[at];
      uint32_t block = blockNone;
      for (uint32_t position = stored.episodes().first(at); position < episode.count; ++position) {
        if (block == blockNone) block = stored.blockAt(episode, position);
        else if (store.within(position) == 0) block = store.block(block).next;
        store.readRows(column, store.slotAt(block, position), 1, row_.data(), 0);
        add(store, column, row_.data());
      }
    }
  }

  /// Null where a column has none.
  const Of* find(uint32_t column) const { return (columns_ >> column & 1) == 0 ? nullptr : &all_[column]; }
  Of* find(uint32_t column) { return (columns_ >> column & 1) == 0 ? nullptr : &all_[column]; }
  /// Calls `use` with each column that has some, in order.
  template <typename Use>
  void forEach(Use use) const {
    for (uint64_t left = columns_; left != 0; left &= left - 1) use(static_cast<uint32_t>(std::countr_zero(left)));
  }

  // ---- what it hears ----

  void appended(const StoredEpisodes& stored, uint32_t episode, uint32_t from, const uint8_t*) {
    if (columns_ == 0) [[likely]] return;
    const Episode& entry = stored.episodes()[episode];
    const uint32_t slot = stored.store().slotAt(entry.lastBlock, from);
    forEach([&](uint32_t column) {
      for (uint32_t k = 0; k < entry.count - from; ++k) add(stored.store(), column, stored.store().rowAt(column, slot + k));
    });
  }
  double memoryBytes() const {
    double bytes = row_.memoryBytes();
    for (const Of& of : all_) bytes += of.numbers.memoryBytes();
    return bytes;
  }
  int32_t check(const StoredEpisodes&) const {
    int32_t broken = 0;
    forEach([&](uint32_t column) {
      const Of& of = all_[column];
      for (uint32_t item = 0; item < of.count; ++item) {
        const double squares = of.numbers[of.count + item];
        if (!isFinite(of.mean(item)) || !isFinite(squares) || squares < 0) broken = 1;
      }
    });
    return broken;
  }

 private:
  static bool isFinite(double value) { return value - value == 0; }

  void add(const Store& store, uint32_t column, const uint8_t* row) {
    Of& of = all_[column];
    const uint32_t bytes = store.column(column).itemBytes;
    const double rate = 1.0 / static_cast<double>(++of.records);
    double* const means = of.numbers.data();
    double* const squares = means + of.count;
    withNumbers(of.type, [&](auto read) {
      for (uint32_t item = 0; item < of.count; ++item) {
        const double value = read(row + size_t{item} * bytes);
        const double before = value - means[item];
        const double mean = means[item] + before * rate;
        const double product = before * (value - mean);
        const double more = product < 0 ? 0.0 : product;  // by rounding only
        // Neither a value that is not finite, nor one whose square is not.
        const bool counts = isFinite(squares[item] + more);
        means[item] = counts ? mean : means[item];
        squares[item] = counts ? squares[item] + more : squares[item];
      }
    });
  }

  Of all_[EXRP_LIMIT_COLUMNS] = {};
  Scratch<uint8_t> row_;
  uint64_t columns_ = 0;  // those that have some, as bits
};

}  // namespace exrp
