// ReservedArray<T>: an array whose address space is taken at creation and whose memory comes as it is used.
//
// Thread safety: none of its own; the owner's lock covers it.
// Invariants:
//   1. data() never moves between create() and destroy().
//   2. Elements below committed() may be read and written; they start as zero bytes.
//   3. T is trivially copyable, so zero bytes are a valid T.
// Cost: create() is one system call whatever the size; a page costs memory only once it is touched.
// It does not run constructors or destructors, and never throws: failure is `false`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace exrp {

enum class Pages { huge, small };

/// Address space of `bytes`, which becomes how many they are; null on failure. With Pages::huge what is not small is aligned to 2 MiB
/// and rounded up to as much, and huge pages are asked for where the platform has them (measured in docs/performance.md); small is for
/// what is reserved large and used little.
void* reserveMemory(size_t* bytes, Pages pages);
/// Makes the first `bytes` of a reservation usable. Does nothing where memory comes by touching it.
bool commitMemory(void* base, size_t bytes);
/// Gives back a reservation of as many `bytes` as reserveMemory made of them.
void releaseMemory(void* base, size_t bytes);

/// Bytes of memory the machine has, swap aside; 0 where that can't be told.
double physicalMemoryBytes();

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
    size_t grown = committed_ + committed_ / 2;
    if (grown < count) grown = count;
    if (grown > countMax_) grown = countMax_;
    if (!commitMemory(data_, grown * sizeof(T))) return false;
    committed_ = grown;
    return true;
  }

  void swap(ReservedArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(countMax_, other.countMax_);
    std::swap(reservedBytes_, other.reservedBytes_);
    std::swap(committed_, other.committed_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t index) { return data_[index]; }
  const T& operator[](size_t index) const { return data_[index]; }
  size_t countMax() const { return countMax_; }
  size_t committed() const { return committed_; }

 private:
  T* data_ = nullptr;
  size_t countMax_ = 0;
  size_t reservedBytes_ = 0;
  size_t committed_ = 0;
};

}  // namespace exrp
