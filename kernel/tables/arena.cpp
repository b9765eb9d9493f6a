#include "kernel/tables/arena.hpp"

#include <bit>
#include <cstring>

namespace exrp {
namespace {

/// In WebAssembly all bytes of a slab take memory at once, so slabs are smaller there.
#if defined(__wasm__)
constexpr size_t smallSlabBytes = size_t{64} << 10;
constexpr size_t largeSlabBytes = size_t{512} << 10;
#else
constexpr size_t smallSlabBytes = size_t{256} << 10;
constexpr size_t largeSlabBytes = size_t{2} << 20;
#endif
constexpr size_t smallBlockMax = size_t{8} << 10;

}  // namespace

Arena::Arena() {
  for (uint32_t& slab : first_) slab = none;
}

Arena::~Arena() {
  for (uint32_t number = 0; number < slabCount_; ++number) {
    if (slabs_[number].base != nullptr) releaseMemory(slabs_[number].base, slabs_[number].reservation);
  }
}

uint32_t Arena::sizeOf(size_t bytes) {
  if (bytes <= size_t{8} * fineCount) return static_cast<uint32_t>((bytes + 7) / 8 - 1);
  const auto exponent = static_cast<uint32_t>(std::bit_width(bytes - 1)) - 1;
  const auto eighth = static_cast<uint32_t>((bytes - 1) >> (exponent - 3)) & 7;
  return fineCount + (exponent - 10) * 8 + eighth;
}

size_t Arena::bytesOf(uint32_t size) {
  if (size < fineCount) return size_t{8} * (size + 1);
  const uint32_t exponent = 10 + (size - fineCount) / 8;
  return size_t{9 + (size - fineCount) % 8} << (exponent - 3);
}

bool Arena::take(size_t bytes, Block* block) {
  const uint32_t size = bytes <= blockMax ? sizeOf(bytes) : largeSize;
  uint32_t number = size == largeSize ? none : first_[size];
  if (number == none) number = addSlab(size, size == largeSize ? bytes : bytesOf(size));
  if (number == none) return false;
  Slab& slab = slabs_[number];
  uint32_t index = slab.free;
  if (index != none) {
    memcpy(&slab.free, slab.base + index * slab.blockBytes, sizeof slab.free);
  } else {
    index = slab.brink++;
    bytesUsed_ += slab.blockBytes;
  }
  ++slab.used;
  if (size != largeSize && !hasFree(slab)) unlist(number);
  *block = {slab.base + index * slab.blockBytes, number};
  return true;
}

void Arena::give(const Block& block) {
  Slab& slab = slabs_[block.slab];
  if (slab.size == largeSize) return removeSlab(block.slab);
  if (!hasFree(slab)) list(block.slab);
  memcpy(block.at, &slab.free, sizeof slab.free);
  slab.free = static_cast<uint32_t>(static_cast<size_t>(block.at - slab.base) / slab.blockBytes);
  // The last slab of its size with a free block stays, for the next one.
  if (--slab.used == 0 && (slab.before != none || slab.after != none)) {
    unlist(block.slab);
    removeSlab(block.slab);
  }
}

uint32_t Arena::addSlab(uint32_t size, size_t blockBytes) {
  if (freeNumber_ == none && !slabs_.commit(size_t{slabCount_} + 1)) return none;
  const size_t slabBytes = size == largeSize ? blockBytes : blockBytes <= smallBlockMax ? smallSlabBytes : largeSlabBytes;
  Slab slab = {};
  slab.reservation = {slabBytes, slabBytes, slabBytes >= largeSlabBytes ? Pages::huge : Pages::small, true, 0};
  void* const base = reserveMemory(&slab.reservation);
  if (base == nullptr) return none;
  void* const usable = commitMemory(base, 0, slabBytes, &slab.reservation);
  if (usable == nullptr) {
    releaseMemory(base, slab.reservation);
    return none;
  }
  slab.base = static_cast<uint8_t*>(usable);
  slab.blockBytes = blockBytes;
  slab.size = size;
  slab.blockMax = static_cast<uint32_t>(slabBytes / blockBytes);
  slab.free = none;
  uint32_t number = freeNumber_;
  if (number == none) number = slabCount_++;
  else freeNumber_ = slabs_[number].after;
  slabs_[number] = slab;
  if (size != largeSize) list(number);
  return number;
}

void Arena::removeSlab(uint32_t number) {
  Slab& slab = slabs_[number];
  bytesUsed_ -= slab.brink * slab.blockBytes;
  releaseMemory(slab.base, slab.reservation);
  slab.base = nullptr;
  slab.after = freeNumber_;
  freeNumber_ = number;
}

void Arena::list(uint32_t number) {
  Slab& slab = slabs_[number];
  slab.before = none;
  slab.after = first_[slab.size];
  if (slab.after != none) slabs_[slab.after].before = number;
  first_[slab.size] = number;
}

void Arena::unlist(uint32_t number) {
  const Slab& slab = slabs_[number];
  if (slab.before != none) slabs_[slab.before].after = slab.after;
  else first_[slab.size] = slab.after;
  if (slab.after != none) slabs_[slab.after].before = slab.before;
}

int32_t Arena::check() const {
  for (uint32_t number = 0; number < slabCount_; ++number) {
    const Slab& slab = slabs_[number];
    if (slab.base == nullptr || slab.size == largeSize) continue;
    uint32_t freeCount = 0;
    for (uint32_t index = slab.free; index != none; ++freeCount) {
      if (index >= slab.brink || freeCount > slab.brink) return 1;
      memcpy(&index, slab.base + index * slab.blockBytes, sizeof index);
    }
    if (slab.used + freeCount != slab.brink) return 1;
    bool isListed = false;
    for (uint32_t at = first_[slab.size]; at != none && !isListed; at = slabs_[at].after) isListed = at == number;
    if (isListed != hasFree(slab)) return 2;
  }
  return 0;
}

}  // namespace exrp
