// CRC-32C (Castagnoli), for the frames of a snapshot and for sealed chunks.
//
// Where the processor has instructions for it, they are used. Elsewhere eight tables do the same: the first call makes them, in about 1 us,
// because in the library they would be 8 KiB that can't be compressed.
//
// Thread safety: any thread.
// Cost: 61 ns for 1 KB by the instructions of x86-64, 490 ns by the tables; 18 ns for each KB of a long piece where vectors of 512 bits can be multiplied (one
// thread of an AMD EPYC).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/base/cpu.hpp"
#if defined(EXRP_CRC32) && defined(__aarch64__)
#include <arm_acle.h>
#endif

namespace exrp {

/// The polynomial without its highest term, x^0 in the highest bit, as in the checksum.
constexpr uint32_t checksumPolynomial = 0x82F63B78u;
/// The remainder of x times this one.
constexpr uint32_t timesX(uint32_t remainder) { return (remainder >> 1) ^ ((remainder & 1) != 0 ? checksumPolynomial : 0u); }

/// The remainder of x^power.
constexpr long long powerOfX(size_t power) {
  uint32_t remainder = 1u << 31;
  for (size_t k = 0; k < power; ++k) remainder = timesX(remainder);
  return remainder;
}

#if defined(EXRP_CRC32)

#if defined(__x86_64__)
EXRP_CRC32 inline uint32_t checksumWord(uint32_t crc, uint64_t word) { return static_cast<uint32_t>(__builtin_ia32_crc32di(crc, word)); }
EXRP_CRC32 inline uint32_t checksumByte(uint32_t crc, uint8_t byte) { return __builtin_ia32_crc32qi(crc, byte); }
#else
EXRP_CRC32 inline uint32_t checksumWord(uint32_t crc, uint64_t word) { return __crc32cd(crc, word); }
EXRP_CRC32 inline uint32_t checksumByte(uint32_t crc, uint8_t byte) { return __crc32cb(crc, byte); }
#endif

inline uint64_t wordAt(const uint8_t* bytes) {
  uint64_t word = 0;
  __builtin_memcpy(&word, bytes, 8);
  return word;
}

/// checksum() by the processor's instructions: for hasCrc32() only.
EXRP_CRC32 inline uint32_t checksumFast(uint32_t seed, const uint8_t* bytes, size_t size) {
  uint32_t crc = ~seed;
#if defined(__x86_64__)
  // An instruction waits three cycles for the one before it. So three lanes go side by side. Then the first two are multiplied by the power of x
  // that stands for the bytes behind them, without carries; the instruction itself multiplies by x^33.
  constexpr size_t lane = 64;
  using Pair = long long __attribute__((vector_size(16)));
  constexpr Pair powers = {powerOfX(16 * lane - 33), powerOfX(8 * lane - 33)};
  for (; size >= 3 * lane; size -= 3 * lane, bytes += 3 * lane) {
    uint32_t second = 0;
    uint32_t third = 0;
    for (size_t at = 0; at < lane; at += 8) {
      crc = checksumWord(crc, wordAt(bytes + at));
      second = checksumWord(second, wordAt(bytes + lane + at));
      third = checksumWord(third, wordAt(bytes + 2 * lane + at));
    }
    const Pair moved = __builtin_ia32_pclmulqdq128(Pair{crc, 0}, powers, 0x00) ^ __builtin_ia32_pclmulqdq128(Pair{second, 0}, powers, 0x10);
    crc = checksumWord(0, static_cast<uint64_t>(moved[0])) ^ third;
  }
#endif
  for (; size >= 8; size -= 8, bytes += 8) crc = checksumWord(crc, wordAt(bytes));
  for (; size > 0; --size, ++bytes) crc = checksumByte(crc, *bytes);
  return ~crc;
}

#if defined(EXRP_WIDE_PRODUCTS)

/// Less is checksumFast()'s.
constexpr size_t wideBytesMin = 1024;

/// checksum() of at least 256 bytes, for hasWideProducts() only. Four vectors go over the bytes. With each step, their 16 lanes of 128 bits are multiplied by the power of x
/// that stands for the bytes that they pass, without carries. In the end they stand for all bytes before, so the instructions go on from them.
EXRP_WIDE_PRODUCTS inline uint32_t checksumWide(uint32_t seed, const uint8_t* bytes, size_t size) {
  using Vector = long long __attribute__((vector_size(64)));
  constexpr size_t step = 4 * sizeof(Vector);
  // The lower half of a lane comes before the higher one. A product stands for x times as much, and a remainder lies in the lower half of its own.
  constexpr long long first = powerOfX(8 * step + 31);
  constexpr long long second = powerOfX(8 * step - 33);
  constexpr Vector powers = {first, second, first, second, first, second, first, second};
  Vector sums[4];
  __builtin_memcpy(sums, bytes, step);
  sums[0] ^= Vector{static_cast<long long>(uint64_t{static_cast<uint32_t>(~seed)})};
  for (bytes += step, size -= step; size >= step; size -= step, bytes += step) {
    for (size_t k = 0; k < 4; ++k) {
      Vector next;
      __builtin_memcpy(&next, bytes + k * sizeof next, sizeof next);
#if defined(__clang__)
      sums[k] = __builtin_ia32_pclmulqdq512(sums[k], powers, 0x00) ^ __builtin_ia32_pclmulqdq512(sums[k], powers, 0x11) ^ next;
#else
      sums[k] = __builtin_ia32_vpclmulqdq_v8di(sums[k], powers, 0x00) ^ __builtin_ia32_vpclmulqdq_v8di(sums[k], powers, 0x11) ^ next;
#endif
    }
  }
  uint8_t lanes[step];
  __builtin_memcpy(lanes, sums, step);
  uint32_t crc = 0;
  for (size_t at = 0; at < step; at += 8) crc = checksumWord(crc, wordAt(lanes + at));
  return checksumFast(~crc, bytes, size);
}

#endif

#endif

struct ChecksumTables {
  uint32_t table[8][256];
};

inline ChecksumTables makeChecksumTables() {
  ChecksumTables made = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = timesX(crc);
    made.table[0][byte] = crc;
  }
  for (uint32_t byte = 0; byte < 256; ++byte) {
    for (int table = 1; table < 8; ++table) {
      const uint32_t before = made.table[table - 1][byte];
      made.table[table][byte] = (before >> 8) ^ made.table[0][before & 0xFF];
    }
  }
  return made;
}

/// checksum() by tables, on any processor.
inline uint32_t checksumByTables(uint32_t seed, const uint8_t* bytes, size_t size) {
  static const ChecksumTables tables = makeChecksumTables();
  const auto& table = tables.table;
  uint32_t crc = ~seed;
  for (; size >= 8; size -= 8, bytes += 8) {
    uint32_t low = 0;
    uint32_t high = 0;
    __builtin_memcpy(&low, bytes, 4);
    __builtin_memcpy(&high, bytes + 4, 4);
    low ^= crc;
    crc = table[7][low & 0xFF] ^ table[6][low >> 8 & 0xFF] ^ table[5][low >> 16 & 0xFF] ^ table[4][low >> 24] ^
          table[3][high & 0xFF] ^ table[2][high >> 8 & 0xFF] ^ table[1][high >> 16 & 0xFF] ^ table[0][high >> 24];
  }
  for (; size > 0; --size, ++bytes) crc = (crc >> 8) ^ table[0][(crc ^ *bytes) & 0xFF];
  return ~crc;
}

/// Continues from `seed`, which is 0 for the first piece.
inline uint32_t checksum(uint32_t seed, const uint8_t* bytes, size_t size) {
#if defined(EXRP_WIDE_PRODUCTS)
  if (size >= wideBytesMin) {
    static const bool isWide = hasWideProducts();
    if (isWide) return checksumWide(seed, bytes, size);
  }
#endif
#if defined(EXRP_CRC32)
  static const bool isFast = hasCrc32();
  if (isFast) return checksumFast(seed, bytes, size);
#endif
  return checksumByTables(seed, bytes, size);
}

}  // namespace exrp
