// HeldChunks: the chunks that an inserter holds for items to come, by key.
//
// A client says with each message of items which chunks it keeps; all others go. So the keys that a message keeps, and the chunks that one item
// names, are marked by a number of their own: what has the mark was met already.
//
// Thread safety: none of its own.
// Invariants: each key is there once; the holder has one reference to each chunk.
// Cost: a cache miss or two a key. sweep() looks at each chunk once: those that stay were named by the client's message, and those that go came
// before. It never shrinks below what it once held.
// A failure of prepare() changes nothing.
#pragma once

#include <cstdint>

#include "kernel/base/queue.hpp"
#include "kernel/base/scratch.hpp"
#include "kernel/tables/chunk_store.hpp"
#include "kernel/tables/key_map.hpp"
#include "kernel/wire/slice.hpp"

namespace exrp {

/// What is read of a ChunkData.
struct ChunkHead {
  uint64_t key = 0;
  uint64_t episode = 0;
  int32_t start = 0;
  int32_t end = -1;  // before the start where it says nothing of its steps
  int32_t tensors = 0;

  /// False where it is damaged.
  bool read(ByteSpan chunk) {
    using Fields = reverb::ChunkData;
    using Range = reverb::SequenceRange;
    *this = {};
    const auto range = [this](ByteSpan message) {
      end = 0;
      return readFields(message, Field{Range::episodeId, episode}, Field{Range::start, start}, Field{Range::end, end});
    };
    const bool isGood = readFields(chunk, Field{Fields::chunkKey, key}, Field{Fields::sequenceRange, range}, Field{Fields::dataTensorsLen, tensors});
    return isGood && chunk.size <= UINT32_MAX;
  }

  /// Whether a slice can be of the chunk, as that says how many steps and tensors it has. What it does not say is not checked: whoever decodes
  /// the tensor looks at its own shape.
  bool canHold(const Slice& slice) const {
    if (!slice.isPossible() || (tensors > 0 && int64_t{slice.tensor} >= tensors)) return false;
    return end < start || int64_t{slice.offset} + slice.length <= int64_t{end} - start + 1;
  }
};

class HeldChunks {
 public:
  struct Held {
    uint64_t key;
    uint64_t mark;
    Chunk* chunk;
  };

  explicit HeldChunks(uint64_t secret) : numberOf_(secret) {}

  /// Makes room for `more` chunks beside those that are there.
  bool prepare(uint32_t more) { return held_.commit(size_t{count_} + more) && numberOf_.prepare(uint64_t{count_} + more); }

  /// Null where there is no such chunk.
  Held* find(uint64_t key) {
    const uint32_t number = numberOf_.find(key, [this](uint32_t each) { return held_[each].key; });
    return number == KeyMap::none ? nullptr : &held_[number];
  }
  /// Adds a chunk that is not there; prepare() has made room.
  void add(uint64_t key, Chunk* chunk) {
    numberOf_.add(key, count_);
    held_[count_++] = {key, 0, chunk};
  }
  /// A number that no chunk has for its mark.
  uint64_t newMark() { return ++mark_; }

  /// Collects the chunks that a FlatTrajectory names, each once, in the order in which it names them. Status::message where it is damaged,
  /// chunkUnknown for a chunk that is not here, itemSlice for a slice that reaches beyond its chunk, whose key `wrong` gets, or memory.
  Status collect(ByteSpan trajectory, Queue<Chunk*>& chunks, uint64_t* wrong) {
    chunks.clear();
    const uint64_t mark = newMark();
    Status status = Status::ok;
    const auto takeSlice = [&](ByteSpan message) {
      Slice slice;
      if (!slice.read(message)) return false;
      *wrong = slice.chunk;
      Held* const held = find(slice.chunk);
      if (held == nullptr) return status = Status::chunkUnknown, false;
      ChunkHead head;
      head.read({held->chunk->data(), held->chunk->bytes});
      if (!head.canHold(slice)) return status = Status::itemSlice, false;
      if (held->mark == mark) return true;
      held->mark = mark;
      if (!chunks.prepare(1)) return status = Status::memory, false;
      chunks.push(held->chunk);
      return true;
    };
    const auto takeColumn = [&](ByteSpan column) { return readFields(column, Field{reverb::Column::chunkSlices, takeSlice}); };
    const bool isGood = readFields(trajectory, Field{reverb::FlatTrajectory::columns, takeColumn});
    return isGood || status != Status::ok ? status : Status::message;
  }

  /// Takes out what `goes(held)` says, and tells `gone(chunk)` of it.
  template <typename Goes, typename Gone>
  void sweep(Goes goes, Gone gone) {
    for (uint32_t number = count_; number-- > 0;) {
      if (!goes(held_[number])) continue;
      gone(held_[number].chunk);
      takeOut(number);  // the last one, which stays, takes its number
    }
  }
  /// Takes out what was added since there were `count` chunks, if nothing went since then, and tells `gone(chunk)` of it.
  template <typename Gone>
  void cut(uint32_t count, Gone gone) {
    while (count_ > count) {
      gone(held_[count_ - 1].chunk);
      takeOut(count_ - 1);
    }
  }

  uint32_t count() const { return count_; }
  double memoryBytes() const { return held_.memoryBytes() + numberOf_.memoryBytes(); }

 private:
  void takeOut(uint32_t number) {
    const uint32_t last = --count_;
    numberOf_.remove(held_[number].key, number);
    if (number == last) return;
    held_[number] = held_[last];
    numberOf_.renumber(held_[number].key, last, number);
  }

  Scratch<Held> held_;
  KeyMap numberOf_;
  uint32_t count_ = 0;
  uint64_t mark_ = 0;
};

}  // namespace exrp
