// packSixteens, unpackSixteens: sixteens.hpp says what they do.
#include "kernel/packing/sixteens.hpp"

#include <cstring>

#include "kernel/packing/packed_rows.hpp"

namespace exrp {
namespace {

constexpr uint32_t together = 16;

}  // namespace

size_t packSixteens(const uint8_t* rows, size_t rowBytes, uint32_t count, uint8_t* packed, size_t room) {
  size_t at = 0;
  for (uint32_t first = 0; first < count; first += together) {
    const uint32_t n = count - first < together ? count - first : together;
    const uint8_t* const from = rows + size_t{first} * rowBytes;
    const uint64_t most = packedBytesMax(rowBytes, n);
    if (room - at < sizeof(uint32_t) || room - at - sizeof(uint32_t) < most) return 0;
    uint8_t* const to = packed + at + sizeof(uint32_t);
    const size_t bytes = packRows(from, rowBytes, n, PackedKey::lz4, to);
    const auto said = static_cast<uint32_t>(bytes);
    memcpy(packed + at, &said, sizeof said);
    if (bytes == 0) memcpy(to, from, n * rowBytes);
    at += sizeof(uint32_t) + (bytes == 0 ? n * rowBytes : bytes);
  }
  return at;
}

bool unpackSixteens(const uint8_t* packed, size_t bytes, size_t rowBytes, uint32_t count, uint8_t* rows, uint32_t* bad) {
  size_t at = 0;
  for (uint32_t first = 0; first < count; first += together) {
    *bad = first / together;
    const uint32_t n = count - first < together ? count - first : together;
    uint32_t said = 0;
    if (bytes - at < sizeof said) return false;
    memcpy(&said, packed + at, sizeof said);
    at += sizeof said;
    const size_t size = said == 0 ? n * rowBytes : said;
    if (bytes - at < size || size > n * rowBytes) return false;
    const PackedRows block = {packed + at, size, rowBytes, n};
    uint8_t* const to = rows + size_t{first} * rowBytes;
    if (arePlain(block)) memcpy(to, block.data, size);
    else if (!checkPacked(block) || !unpackRows(block, 0, n, to, rowBytes)) return false;
    at += size;
  }
  return at == bytes;
}

}  // namespace exrp
