#include "kernel/batches/large_copy.hpp"

#include "kernel/base/copy_row.hpp"
#include "kernel/base/cpu.hpp"
#include "kernel/base/prefetch.hpp"
#include "kernel/base/second_thread.hpp"

namespace exrp {
namespace {

constexpr size_t pageBytes = 4096;
constexpr uint32_t pagesMax = 16;
/// A piece takes some microseconds, so that neither of two threads waits long for the other.
constexpr size_t pieceBytes = size_t{128} << 10;

// A unit at a time, to one place and the other in turn. With a line each in turn, a batch of 256 stacks took a tenth longer.
// The last unit overlaps the one before it, so that there is no loop over single bytes.
template <typename Unit>
EXRP_INLINE void copyUnits(uint8_t* to, uint8_t* also, const uint8_t* from, size_t bytes) {
  using Value = RowValue<Unit, 1>;
  const size_t last = bytes - Value::unitBytes;
  Value value;
  if (also == nullptr) {
    for (size_t at = 0; at < last; at += Value::unitBytes) Value::copy(to + at, from + at, Value::unitBytes);
    return Value::copy(to + last, from + last, Value::unitBytes);
  }
  for (size_t at = 0; at < last; at += Value::unitBytes) {
    value.read(from + at, 0);
    value.write(to + at, 0);
    value.write(also + at, 0);
  }
  value.read(from + last, 0);
  value.write(to + last, 0);
  value.write(also + last, 0);
}

void copyPlain(uint8_t* to, uint8_t* also, const uint8_t* from, size_t bytes) { copyUnits<RowUnit16>(to, also, from, bytes); }
EXRP_AVX2 void copyVectors(uint8_t* to, uint8_t* also, const uint8_t* from, size_t bytes) { copyUnits<RowUnit32>(to, also, from, bytes); }

}  // namespace

LargeCopier::LargeCopier(bool vectors) : copy_(vectors ? copyVectors : copyPlain) {}

// The copies of a queue are numbered from 0 on, and then those of packed rows.
void LargeCopier::run(const CopyQueue& queue) const {
  const uint32_t all = queue.count() + queue.unpackingCount();
  if (queue.writtenBytes() < sharedFromBytes) return runPart(queue, 0, all);
  struct Parts {
    const LargeCopier& copier;
    const CopyQueue& queue;
    uint32_t length;  // copies of a piece
  };
  const size_t pieces = queue.writtenBytes() / pieceBytes;
  const Parts parts = {*this, queue, static_cast<uint32_t>(all / pieces + 1)};
  const auto work = [](const void* context, uint32_t piece, uint32_t) {
    const auto& [copier, copies, length] = *static_cast<const Parts*>(context);
    const uint32_t end = copies.count() + copies.unpackingCount();
    const uint32_t first = piece * length;
    copier.runPart(copies, first, end - first < length ? end : first + length);
  };
  SecondThread::share((all + parts.length - 1) / parts.length, work, &parts);
}

/// Does the copies from `first` to before `end`.
void LargeCopier::runPart(const CopyQueue& queue, uint32_t first, uint32_t end) const {
  constexpr uint32_t ahead = 2;
  const auto ask = [&](uint32_t k) {
    if (k < queue.count()) prefetchPages(queue[k].from, queue[k].bytes);
  };
  for (uint32_t k = first; k < first + ahead; ++k) ask(k);
  for (uint32_t k = first; k < end && k < queue.count(); ++k) {
    ask(k + ahead);
    const CopyQueue::Copy& copy = queue[k];
    copy_(copy.to, copy.also, copy.from, copy.bytes);
  }
  if (end > queue.count()) [[unlikely]] unpackPart(queue, first < queue.count() ? 0 : first - queue.count(), end - queue.count());
}

// ---- packed rows ----

/// Does the copies of packed rows from `first` to before `end`.
void LargeCopier::unpackPart(const CopyQueue& queue, uint32_t first, uint32_t end) const {
  const auto askHead = [&](uint32_t k) {
    if (k < queue.unpackingCount()) prefetchPackedHead(queue.unpacking(k).rows);
  };
  const auto ask = [&](uint32_t k) {
    if (k < queue.unpackingCount()) prefetchPacked(queue.unpacking(k).rows, queue.unpacking(k).first, queue.unpacking(k).count);
  };
  askHead(first);
  askHead(first + 1);
  ask(first);
  for (uint32_t k = first; k < end; ++k) {
    askHead(k + 2);
    ask(k + 1);
    unpack(queue.unpacking(k));
  }
}

void LargeCopier::copy(const CopyQueue::Unpacking& unpacking, CopyQueue& own) const {
  CopyQueue* const queue = place_ == nullptr ? nullptr : *place_;
  prefetchPackedHead(unpacking.rows);
  if (queue != nullptr && queue->add(unpacking)) return;
  if (!own.add(unpacking)) return unpack(unpacking);
  if (own.unpackingCount() == waitingMax) finishWaiting(own);
}

void LargeCopier::finishWaiting(CopyQueue& own) const {
  unpackPart(own, 0, own.unpackingCount());
  own.clear();
}

void LargeCopier::unpack(const CopyQueue::Unpacking& unpacking) const {
  const auto& [rows, first, count, to, toCount, skipped, also] = unpacking;
  const size_t bytes = rows.rowBytes;
  if (!arePlain(rows)) {
    unpackRows(rows, first, count, {to, bytes, toCount, also, also == nullptr ? UINT32_MAX : skipped});
    return;
  }
  const uint8_t* const from = rows.data + first * bytes;
  const uint32_t both = also == nullptr ? 0 : toCount - skipped;
  const uint32_t alone = toCount - both;
  if (alone > 0) copy_(to, nullptr, from, alone * bytes);
  if (both > 0) copy_(to + alone * bytes, also, from + alone * bytes, both * bytes);
  if (count > toCount) copy_(also + both * bytes, nullptr, from + toCount * bytes, (count - toCount) * bytes);
}

bool LargeCopier::hasVectors() { return hasAvx2(); }

void prefetchPages(const uint8_t* from, size_t bytes) {
  prefetchLineFar(from);
  const auto end = reinterpret_cast<uintptr_t>(from) + bytes;
  auto page = (reinterpret_cast<uintptr_t>(from) & ~uintptr_t{pageBytes - 1}) + pageBytes;
  for (uint32_t count = 1; page < end && count < pagesMax; page += pageBytes, ++count) {
    prefetchLineFar(reinterpret_cast<const void*>(page));
  }
}

}  // namespace exrp
