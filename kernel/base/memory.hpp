// ReservedArray<T>: an array that reserves its address space at creation and takes memory as it is used.
//
// Thread safety: none. The owner makes calls one at a time. While commit() grows the array, no other thread may read or write elements: also
// where data() stays, the elements may be copied to other pages meanwhile.
// Invariants:
//   1. data() moves in commit() only, and only where the system has no address space to spare: in WebAssembly (memory_wasm.cpp).
//   2. Elements below committed() may be read and written; they start as zero bytes. The others may be out of reach.
//   3. T is trivially copyable, so zero bytes are a valid T.
// Cost: create() is one system call whatever the size; a page costs memory only once it is touched. commit() takes somewhat more than
// it is asked for (growthBytes), so that growth in small steps takes few calls.
// It does not run constructors or destructors, or throw. Failure is `false` and changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace exrp {

/// Pages::huge uses huge pages for a large array, where the platform has them (measured in docs/internals/performance.md). Pages::small is for an
/// array whose elements are not used from the first one on.
enum class Pages { huge, small };

/// An array takes huge pages from this many committed bytes on. In a smaller one, most of a 2 MiB page would stay empty.
constexpr size_t hugeFromBytes = size_t{1} << 20;

/// Where more is used than was expected, pages are huge at once only from some byte on, and never before this one.
constexpr size_t hugeAgainMin = size_t{16} << 20;

/// Address space of an array. The pages below `expectedBytes` will be full one day, so they may be huge pages from the start. Those behind
/// are small until they are full, up to a byte from which on they are huge again. `isExpected` says that the expectation is more than the largest size there may be.
struct Reservation {
  size_t reservedBytes;
  size_t expectedBytes;
  Pages pages;
  bool isExpected;
  size_t roomBytes;  // in WebAssembly: of the run of pages that the array has now
};

/// Reserves address space and writes the reserved size back; null on failure. Do not touch the memory before commitMemory().
void* reserveMemory(Reservation* reservation);
/// Makes the first `to` bytes of a reservation usable. The first `from` bytes are usable already. Returns where the memory is now; null
/// on failure, when nothing has changed.
void* commitMemory(void* base, size_t from, size_t to, Reservation* reservation);
/// Whether pages of Pages::huge that nobody has touched yet are huge ones, of which `committed` bytes are committed. Advice, as huge pages are.
void allowHugePages(void* base, size_t committed, const Reservation& reservation, bool allows);
/// Gives back a reservation.
void releaseMemory(void* base, const Reservation& reservation);
/// Makes the memory at `old` (null: none) `bytes` long and keeps what it held, as far as that fits. The memory may move. On failure it
/// returns null, and `old` is unchanged. std::free() gives the memory back.
void* resizeMemory(void* old, size_t bytes);
#if defined(EXRP_TEST_MEMORY)
/// For tests: this thread's next `count` requests for memory go to the system, and all later ones are refused. UINT64_MAX ends that.
void grantMemory(uint64_t count);
/// For tests: from now on, each commit of this thread moves the array, and nothing may touch the place where it was.
void moveMemory(bool isMoving);
#endif
/// The bytes of the pages that hold the first `used` of `committed` bytes, once these were touched.
double pagesBytes(size_t used, size_t committed, const Reservation& reservation);
/// How many bytes an array of `committed` bytes grows by when a byte more is needed: half as many, and a sixteenth once it is large. So
/// what is committed, and counted where the system promises no more memory than there is, stays close to what is used.
constexpr size_t growthBytes(size_t committed) {
  constexpr size_t most = size_t{256} << 10;
  const size_t least = committed / 2 < most ? committed / 2 : most;
  return committed / 16 > least ? committed / 16 : least;
}

/// The bytes of memory that this process may have, without swap: the machine's memory, or the limit of its control group. 0 where the
/// system does not say.
double physicalMemoryBytes();
/// The smallest memory limit of this process's control group and of the groups around it; 0 where there is none. It reads the files
/// below `root`; an empty `root` is the machine's own.
double groupMemoryBytes(const char* root);

template <typename T>
class ReservedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  ReservedArray() = default;
  ReservedArray(const ReservedArray&) = delete;
  ReservedArray& operator=(const ReservedArray&) = delete;
  ~ReservedArray() { destroy(); }

  /// Reserves room for `countMax` elements, all zero; none is committed yet. `countExpected` of them will be used one day. Where an
  /// address has 32 bits, there may be fewer than `countMax`, but room for those that are expected.
  bool create(uint64_t countMax, Pages pages = Pages::huge, uint64_t countExpected = UINT64_MAX) {
    destroy();
    constexpr uint64_t countLargest = SIZE_MAX / sizeof(T);
    if (countMax == 0) countMax = 1;
    const bool isExpected = countExpected < countMax;
    if (countExpected > countMax) countExpected = countMax;
    if (countMax > countLargest) {
      if (sizeof(size_t) >= sizeof(uint64_t) || (isExpected && countExpected > countLargest)) return false;
      countMax = countLargest;
      if (countExpected > countLargest) countExpected = countLargest;
    }
    reservation_ = {static_cast<size_t>(countMax) * sizeof(T), static_cast<size_t>(countExpected) * sizeof(T), pages, isExpected, 0};
    data_ = static_cast<T*>(reserveMemory(&reservation_));
    if (data_ == nullptr) return false;
    countMax_ = static_cast<size_t>(countMax);
    return true;
  }

  void destroy() {
    if (data_ != nullptr) releaseMemory(data_, reservation_);
    data_ = nullptr;
    countMax_ = 0;
    committed_ = 0;
  }

  /// Makes elements 0..count-1 usable. Cheap to call again with a count already committed.
  bool commit(uint64_t wanted) {
    return wanted <= committed_ || grow(wanted);
  }

  /// Whether a page that nobody has touched yet is a huge one. A huge page is slow to come by: who touches few elements of many pages wants small ones.
  void allowHuge(bool allows) {
    if (committed_ > 0) allowHugePages(data_, committed_ * sizeof(T), reservation_, allows);
  }

  /// Bytes of memory that the array takes when elements 0..count-1 were touched.
  double takenBytes(uint64_t count) const {
    const size_t used = count < committed_ ? static_cast<size_t>(count) : committed_;
    return pagesBytes(used * sizeof(T), committed_ * sizeof(T), reservation_);
  }

  void swap(ReservedArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(countMax_, other.countMax_);
    std::swap(reservation_, other.reservation_);
    std::swap(committed_, other.committed_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](uint64_t index) { return data_[index]; }
  const T& operator[](uint64_t index) const { return data_[index]; }
  size_t countMax() const { return countMax_; }
  size_t committed() const { return committed_; }

 private:
  [[gnu::cold, gnu::noinline]] bool grow(uint64_t wanted) {
    if (wanted > countMax_) return false;
    const auto count = static_cast<size_t>(wanted);
    size_t ample = committed_ + growthBytes(committed_ * sizeof(T)) / sizeof(T);
    if (ample > countMax_) ample = countMax_;
    return (ample > count && commitTo(ample)) || commitTo(count);
  }

  bool commitTo(size_t count) {
    void* const at = commitMemory(data_, committed_ * sizeof(T), count * sizeof(T), &reservation_);
    if (at == nullptr) return false;
    data_ = static_cast<T*>(at);
    committed_ = count;
    return true;
  }

  T* data_ = nullptr;
  size_t countMax_ = 0;
  size_t committed_ = 0;
  Reservation reservation_ = {};
};

}  // namespace exrp
