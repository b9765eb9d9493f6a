// LateCopies: bytes of frames that are still to be copied into the log's buffers. So who appends a large frame writes down where its bytes are, and the thread
// that writes the buffer copies them. It has them in its caches then for the checksum and the write.
//
// Until a copy was made, the memory that it reads must stay as it is. Who is about to change it, or to give it back, makes the copy first: whoever
// comes first makes it.
//
// Thread safety: begin, add, publish, drop and makeOwn belong to the caller that appends. Any thread may call make and clear.
// Invariants:
//   1. Copies are made in the order of their frames, each once.
//   2. Once make(frame) has returned, the bytes of all frames up to that one are in their buffers, as far as they were published.
// Cost: 32 bytes a copy, of which countMax may wait. Where there are more, add() says no, and its caller copies.
#pragma once

#include <atomic>
#include <cstring>

#include "kernel/base/scratch.hpp"
#include "kernel/base/sync.hpp"

namespace exrp {

class LateCopies {
 public:
  static constexpr uint32_t countMax = 4096;
  /// Less is copied at once.
#if defined(EXRP_TEST_MEMORY)
  static constexpr size_t bytesMin = 16;  // so that tests with small rows have late copies
#else
  static constexpr size_t bytesMin = 1024;
#endif

  /// Copies of a frame follow, which will be at this place (LogPosition::packed). Those that were not published are forgotten.
  void begin(uint64_t frame) {
    frame_ = frame;
    drop();
  }
  /// False: the caller copies.
  bool add(uint8_t* to, const uint8_t* from, size_t bytes) {
    if (bytes < bytesMin || added_ - made_.load(std::memory_order_acquire) >= countMax || !copies_.commit(countMax)) return false;
    copies_[placeOf(added_++)] = {to, from, bytes, frame_};
    return true;
  }
  void drop() { added_ = published_.load(std::memory_order_relaxed); }
  /// Release: who sees the number sees the copies.
  void publish() { published_.store(added_, std::memory_order_release); }

  /// Makes those of all frames up to the one at this place.
  void make(uint64_t frame) {
    // Acquire: who sees that a copy was made sees its bytes.
    if (made_.load(std::memory_order_acquire) == published_.load(std::memory_order_acquire)) return;
    Lock lock(mutex_);
    while (true) {
      const uint64_t next = made_.load(std::memory_order_relaxed);
      if (next == published_.load(std::memory_order_acquire)) return;
      const Copy copy = copies_[placeOf(next)];
      if (copy.frame > frame) return;
      if (isCopying_) {
        lock.wait(copied_);
        continue;
      }
      // Outside of the mutex: one who makes later copies holds up nobody whose own ones are made.
      isCopying_ = true;
      lock.unlock();
      memcpy(copy.to, copy.from, copy.bytes);
      lock.lock();
      isCopying_ = false;
      made_.store(next + 1, std::memory_order_release);
      copied_.notify_all();
    }
  }
  /// The same, for the caller that appends: it does not wait where a later one is being made.
  void makeOwn(uint64_t frame) {
    const uint64_t next = made_.load(std::memory_order_acquire);
    if (next < published_.load(std::memory_order_relaxed) && copies_[placeOf(next)].frame <= frame) [[unlikely]] make(frame);
  }
  /// Forgets all of them: the buffers go.
  void clear() {
    Lock lock(mutex_);
    while (isCopying_) lock.wait(copied_);
    added_ = published_.load(std::memory_order_relaxed);
    made_.store(added_, std::memory_order_relaxed);
  }

 private:
  struct Copy {
    uint8_t* to;
    const uint8_t* from;
    size_t bytes;
    uint64_t frame;
  };

  static constexpr size_t placeOf(uint64_t number) { return static_cast<size_t>(number % countMax); }

  // Of the caller alone.
  uint64_t frame_ = 0;
  uint64_t added_ = 0;

  std::atomic<uint64_t> published_ = 0;
  std::atomic<uint64_t> made_ = 0;  // under the mutex
  Mutex mutex_;
  Condition copied_;
  bool isCopying_ = false;  // somebody makes the next one, outside of the mutex
  Scratch<Copy> copies_;  // a ring
};

}  // namespace exrp
