// HeldChunks: the chunks that an inserter holds for items to come, by key.
//
// A client says with each message of items which chunks it keeps; all others go. So the keys that a message keeps, and the chunks that one item
// names, are marked by a number of their own: what has the mark was met already.
//
// Thread safety: none of its own.
// Invariants: each key is there once; the holder has one reference to each chunk.
// Cost: a cache miss or two a key; sweep() walks through all places. It never shrinks below what it once held.
// A failure of prepare() changes nothing.
#pragma once

#include <bit>
#include <cstdint>

#include "kernel/base/queue.hpp"
#include "kernel/base/scratch.hpp"
#include "kernel/tables/chunk_store.hpp"
#include "kernel/wire/reverb_fields.hpp"

namespace exrp {

/// Reads what is needed of a ChunkData. False where it is damaged.
inline bool readChunkHead(ByteSpan chunk, uint64_t* key, uint64_t* episode) {
  *key = *episode = 0;
  ProtoReader from(chunk);
  while (from.next()) {
    if (from.is(reverb::ChunkData::chunkKey, Wire::varint)) {
      *key = from.varint();
    } else if (from.is(reverb::ChunkData::sequenceRange, Wire::bytes)) {
      ProtoReader range(from.bytes());
      while (range.next()) {
        if (range.is(reverb::SequenceRange::episodeId, Wire::varint)) *episode = range.varint();
        else range.skip();
      }
      if (!range.isGood()) return false;
    } else {
      from.skip();
    }
  }
  return from.isGood() && chunk.size <= UINT32_MAX;
}

class HeldChunks {
 public:
  struct Held {
    uint64_t key;
    uint64_t mark;
    uint64_t born;  // the message with which it came, by a number of the caller's
    Chunk* chunk;  // null: no chunk here
  };

  explicit HeldChunks(uint64_t secret) : secret_(secret) {}

  /// Makes room for `more` chunks beside those that are there.
  bool prepare(uint64_t more) {
    if (count_ + more <= room_) return true;
    const uint64_t wanted = std::bit_ceil((count_ + more) * 2 + 4);
    Scratch<Held> old;
    if (wanted >> 32 != 0 || !old.commit(static_cast<size_t>(wanted))) return false;
    old.swap(places_);
    const size_t before = mask_;
    const bool wasEmpty = room_ == 0;
    mask_ = static_cast<size_t>(wanted) - 1;
    room_ = wanted / 2;
    count_ = 0;
    for (size_t at = 0; !wasEmpty && at <= before; ++at) {
      if (old[at].chunk != nullptr) put(old[at]);
    }
    return true;
  }

  /// Null where there is no such chunk.
  Held* find(uint64_t key) {
    if (count_ == 0) return nullptr;
    for (size_t at = placeOf(key); places_[at].chunk != nullptr; at = (at + 1) & mask_) {
      if (places_[at].key == key) return &places_[at];
    }
    return nullptr;
  }
  /// Adds a chunk that is not there; prepare() has made room.
  void add(uint64_t key, uint64_t born, Chunk* chunk) { put({key, 0, born, chunk}); }
  /// A number that no chunk has for its mark or its birth.
  uint64_t newMark() { return ++mark_; }

  /// Collects the chunks that a FlatTrajectory names, each once, in the order in which it names them. Status::message where it is damaged,
  /// chunkUnknown for a chunk that is not here, whose key `lacking` gets, or memory.
  Status collect(ByteSpan trajectory, Queue<Chunk*>& chunks, uint64_t* lacking) {
    chunks.clear();
    const uint64_t mark = newMark();
    ProtoReader columns(trajectory);
    while (columns.next()) {
      if (!columns.is(reverb::FlatTrajectory::columns, Wire::bytes)) {
        columns.skip();
        continue;
      }
      ProtoReader slices(columns.bytes());
      while (slices.next()) {
        if (!slices.is(reverb::Column::chunkSlices, Wire::bytes)) {
          slices.skip();
          continue;
        }
        uint64_t key = 0;
        ProtoReader slice(slices.bytes());
        while (slice.next()) {
          if (slice.is(reverb::ChunkSlice::chunkKey, Wire::varint)) key = slice.varint();
          else slice.skip();
        }
        if (!slice.isGood()) return Status::message;
        Held* const held = find(key);
        if (held == nullptr) return *lacking = key, Status::chunkUnknown;
        if (held->mark == mark) continue;
        held->mark = mark;
        if (!chunks.prepare(1)) return Status::memory;
        chunks.push(held->chunk);
      }
      if (!slices.isGood()) return Status::message;
    }
    return columns.isGood() ? Status::ok : Status::message;
  }

  /// Takes out what `goes(held)` says, and tells `gone(chunk)` of it.
  template <typename Goes, typename Gone>
  void sweep(Goes goes, Gone gone) {
    if (count_ == 0) return;
    size_t free = 0;  // before anything goes: no chunk's way from its own place leads over it
    while (places_[free].chunk != nullptr) ++free;
    bool isAny = false;
    for (size_t at = 0; at <= mask_; ++at) {
      if (places_[at].chunk == nullptr || !goes(places_[at])) continue;
      gone(places_[at].chunk);
      places_[at].chunk = nullptr;
      --count_;
      isAny = true;
    }
    if (isAny) close(free);
  }

  uint64_t count() const { return count_; }
  double memoryBytes() const { return places_.memoryBytes(); }

 private:
  size_t placeOf(uint64_t key) const {
    uint64_t z = key ^ secret_;
    z = (z ^ (z >> 32)) * 0xD6E8FEB86659FD93u;
    return static_cast<size_t>(z ^ (z >> 32)) & mask_;
  }
  void put(const Held& held) {
    size_t at = placeOf(held.key);
    while (places_[at].chunk != nullptr) at = (at + 1) & mask_;
    places_[at] = held;
    ++count_;
  }
  /// Moves every chunk to the first free place from its own on, as gaps have come. It begins behind a place that was free all the time: so
  /// whatever a chunk's way leads over has been moved before it.
  void close(size_t free) {
    for (size_t step = 1; step <= mask_; ++step) {
      Held& from = places_[(free + step) & mask_];
      if (from.chunk == nullptr) continue;
      const Held moved = from;
      from.chunk = nullptr;
      --count_;
      put(moved);
    }
  }

  Scratch<Held> places_;
  const uint64_t secret_;
  size_t mask_ = 0;
  uint64_t room_ = 0;
  uint64_t count_ = 0;
  uint64_t mark_ = 0;
};

}  // namespace exrp
