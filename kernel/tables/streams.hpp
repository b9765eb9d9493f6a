// Streams: the streams of a set of tables, by which clients write and sample: their ids, and which of them somebody should look at.
//
// Thread safety: none of its own.
// Invariants:
//   1. An open stream is either an inserter or a sampler.
//   2. A stream that is awake is in the list once.
// Cost: O(1). An id comes again once 2^15 streams had its place.
#pragma once

#include <memory>

#include "kernel/base/queue.hpp"
#include "kernel/tables/held_chunks.hpp"
#include "kernel/tables/item_table.hpp"

namespace exrp {

/// One InsertStream.
struct Inserter {
  explicit Inserter(uint64_t secret) : held(secret) {}

  HeldChunks held;
  Queue<uint64_t> confirmed;   // keys that were inserted, and not yet read
  uint64_t waiting = 0;        // items that wait
  uint64_t waitingBytes = 0;
  uint64_t tables = 0;         // a bit for each table that it wrote to
  uint64_t heldBytes = 0;      // of the chunks that it holds
};

/// One SampleStream.
struct Sampler {
  explicit Sampler(uint32_t tableNumber) : table(tableNumber) {}

  const uint32_t table;
  uint64_t wanted = 0;  // samples asked for that were not drawn
  uint64_t batch = 0;   // number of the batch that they are for
  uint64_t drawnBytes = 0;
  Queue<DrawnSample> drawn;
  bool isInLine = false;
  bool isWhole = false;    // nothing is read before all is drawn
  bool isLimited = false;  // the rate limiter made it wait since it asked
};

class Streams {
 public:
  static constexpr uint32_t none = 0xffffffffu;  // no stream has this id
  static_assert(none == WaitingItem::gone);

  /// Gives a stream an id: an inserter or a sampler, and null for the other.
  Status add(std::unique_ptr<Inserter> inserter, std::unique_ptr<Sampler> sampler, uint32_t* id);
  /// Takes a stream out. Both are null where there is none.
  void take(uint32_t id, std::unique_ptr<Inserter>* inserter, std::unique_ptr<Sampler>* sampler);
  Inserter* inserter(uint32_t id) const {
    const Stream* const stream = find(id);
    return stream == nullptr ? nullptr : stream->inserter;
  }
  Sampler* sampler(uint32_t id) const {
    const Stream* const stream = find(id);
    return stream == nullptr ? nullptr : stream->sampler;
  }
  uint32_t inserterCount() const { return inserterCount_; }
  uint32_t samplerCount() const { return samplerCount_; }
  /// Calls use(id, inserter, sampler) for each, where one of them is null.
  template <typename Use>
  void forEach(Use use) const {
    for (uint32_t place = 0; place < count_; ++place) {
      const Stream& stream = streams_[place];
      if (stream.inserter != nullptr || stream.sampler != nullptr) use(uint32_t{stream.generation} << 16 | place, stream.inserter, stream.sampler);
    }
  }

  /// Something is ready for this stream. One that makes a call itself, between beginCall() and endCall(), is not listed.
  void wake(uint32_t id);
  void beginCall(uint32_t id) { caller_ = id; }
  void endCall() { caller_ = none; }
  /// Lists streams that were woken since they were listed last, and returns how many.
  uint32_t takeAwake(uint32_t* streams, uint32_t count);

  double memoryBytes() const;

 private:
  struct Stream {
    Inserter* inserter;
    Sampler* sampler;
    uint16_t generation;
    bool isAwake;  // listed
    uint32_t nextFree;
  };

  const Stream* find(uint32_t id) const {
    const uint32_t place = id & 0xffff;
    return place < count_ && streams_[place].generation == id >> 16 ? &streams_[place] : nullptr;
  }

  Scratch<Stream> streams_;
  uint32_t count_ = 0;  // places ever used
  uint32_t free_ = none;
  uint32_t inserterCount_ = 0;
  uint32_t samplerCount_ = 0;
  uint32_t caller_ = none;
  Queue<uint32_t> awake_;
};

}  // namespace exrp
