// ReservedArray<T>: an array that reserves its address space at creation and takes memory as it is used.
//
// Thread safety: none. The owner makes calls one at a time.
// Invariants:
//   1. data() never moves between create() and destroy().
//   2. Elements below committed() may be read and written; they start as zero bytes. The others may be out of reach.
//   3. T is trivially copyable, so zero bytes are a valid T.
// Cost: create() is one system call whatever the size; a page costs memory only once it is touched. commit() grows
// an array by half of its committed size, so that growth in small steps takes few calls.
// It does not run constructors or destructors, or throw. Failure is `false` and changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace exrp {

/// Pages::huge uses huge pages for a large array, where the platform has them (measured in docs/performance.md). Pages::small is for an
/// array that reserves much and uses little.
enum class Pages { huge, small };

/// An array takes huge pages from this many committed bytes on. In a smaller one, most of a 2 MiB page would stay empty.
constexpr size_t hugeFromBytes = size_t{1} << 20;

/// Reserves address space of `bytes` and writes the reserved size back to `bytes`; null on failure. Do not touch the memory before
/// commitMemory().
void* reserveMemory(size_t* bytes, Pages pages);
/// Makes the first `to` bytes of a reservation usable. The first `from` bytes are usable already.
bool commitMemory(void* base, size_t from, size_t to, size_t reservedBytes, Pages pages);
/// Gives back a reservation. `bytes` is the size that reserveMemory wrote back.
void releaseMemory(void* base, size_t bytes);
/// Makes the memory at `old` (null: none) `bytes` long and keeps what it held, as far as that fits. The memory may move. On failure it
/// returns null, and `old` is unchanged. std::free() gives the memory back.
void* resizeMemory(void* old, size_t bytes);
#if defined(EXRP_TEST_MEMORY)
/// For tests: this thread's next `count` requests for memory go to the system, and all later ones are refused. UINT64_MAX ends that.
void grantMemory(uint64_t count);
#endif
/// The bytes of the pages that hold the first `used` of `committed` bytes, once these were touched.
double pagesBytes(size_t used, size_t committed, Pages pages);

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

  /// Reserves room for `countMax` elements, all zero; none is committed yet.
  bool create(size_t countMax, Pages pages = Pages::huge) {
    destroy();
    if (countMax == 0) countMax = 1;
    if (countMax > SIZE_MAX / sizeof(T)) return false;
    reservedBytes_ = countMax * sizeof(T);
    pages_ = pages;
    data_ = static_cast<T*>(reserveMemory(&reservedBytes_, pages));
    if (data_ == nullptr) return false;
    countMax_ = countMax;
    return true;
  }

  void destroy() {
    if (data_ != nullptr) releaseMemory(data_, reservedBytes_);
    data_ = nullptr;
    countMax_ = 0;
    committed_ = 0;
  }

  /// Makes elements 0..count-1 usable. Cheap to call again with a count already committed.
  bool commit(size_t count) {
    if (count <= committed_) return true;
    if (count > countMax_) return false;
    size_t ample = committed_ + committed_ / 2;
    if (ample > countMax_) ample = countMax_;
    return (ample > count && commitTo(ample)) || commitTo(count);
  }

  /// Bytes of memory that the array takes when elements 0..count-1 were touched.
  double takenBytes(size_t count) const {
    return pagesBytes((count < committed_ ? count : committed_) * sizeof(T), committed_ * sizeof(T), pages_);
  }

  void swap(ReservedArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(countMax_, other.countMax_);
    std::swap(reservedBytes_, other.reservedBytes_);
    std::swap(committed_, other.committed_);
    std::swap(pages_, other.pages_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t index) { return data_[index]; }
  const T& operator[](size_t index) const { return data_[index]; }
  size_t countMax() const { return countMax_; }
  size_t committed() const { return committed_; }

 private:
  bool commitTo(size_t count) {
    if (!commitMemory(data_, committed_ * sizeof(T), count * sizeof(T), reservedBytes_, pages_)) return false;
    committed_ = count;
    return true;
  }

  T* data_ = nullptr;
  size_t countMax_ = 0;
  size_t reservedBytes_ = 0;
  size_t committed_ = 0;
  Pages pages_ = Pages::huge;
};

}  // namespace exrp
