#include "kernel/wire/new_chunk.hpp"

#include "kernel/base/error.hpp"
#include "kernel/base/whole_number.hpp"
#include "kernel/wire/proto_writer.hpp"
#include "kernel/wire/reverb_fields.hpp"
#include "kernel/wire/snappy.hpp"
#include "kernel/wire/tensor.hpp"

namespace exrp {
namespace {

/// Room for what stands before and behind the tensors.
constexpr uint64_t headRoom = 96;
constexpr uint64_t tailRoom = 32;

/// Whether rows of strings have so many: their lengths come first, and add up to the rest.
bool hasStrings(const uint8_t* rows, uint64_t bytes, double count) {
  if (count * sizeof(uint32_t) > static_cast<double>(bytes)) return false;
  const auto lengths = static_cast<uint64_t>(count) * sizeof(uint32_t);
  uint64_t total = lengths;
  for (uint64_t at = 0; at < lengths; at += sizeof(uint32_t)) {
    uint32_t length;
    memcpy(&length, rows + at, sizeof length);
    total += length;
  }
  return total == bytes;
}

}  // namespace

Status NewChunk::read(Numbers& numbers, ByteSpan& rows, uint32_t which) {
  const auto wrong = [which](double number) { return fail(Status::argument, which, number); };
  if (!numbers.has(EXRP_CHUNK_HEAD)) return wrong(numbers.left);
  head_ = numbers.take(EXRP_CHUNK_HEAD);
  for (uint32_t k = 0; k < EXRP_CHUNK_HEAD; ++k) {
    if (!isWhole(head_[k], k == EXRP_CHUNK_COLUMNS ? 1 : 0, UINT32_MAX)) return wrong(head_[k]);
  }
  columns_ = numbers.at;
  rows_ = rows.data;
  capacity_ = headRoom + tailRoom;
  plainBytes_ = 0;
  for (uint32_t left = columnCount(); left > 0; --left) {
    if (!numbers.has(EXRP_COLUMN_HEAD)) return wrong(numbers.left);
    const double* const column = numbers.take(EXRP_COLUMN_HEAD);
    if (!isWhole(column[EXRP_COLUMN_DTYPE], 0, UINT32_MAX)) return wrong(column[EXRP_COLUMN_DTYPE]);
    const auto dtype = static_cast<uint32_t>(column[EXRP_COLUMN_DTYPE]);
    const bool isString = dtype == EXRP_TENSOR_STRING;
    if (!isString && elementBytes(dtype) == 0) return wrong(dtype);
    if (!isWhole(column[EXRP_COLUMN_RANK], 1, EXRP_LIMIT_RANK) || !numbers.has(column[EXRP_COLUMN_RANK])) return wrong(column[EXRP_COLUMN_RANK]);
    const auto rank = static_cast<uint32_t>(column[EXRP_COLUMN_RANK]);
    const double* const shape = numbers.take(rank);
    double count = 1;
    for (uint32_t k = 0; k < rank; ++k) {
      if (!isWhole(shape[k], 0, k == 0 ? INT32_MAX : 0x1p53)) return wrong(shape[k]);
      count *= shape[k];
    }
    if (shape[0] != columns_[EXRP_COLUMN_HEAD]) return wrong(shape[0]);
    if (!isWhole(column[EXRP_COLUMN_BYTES], 0, snappyBytesMax) || column[EXRP_COLUMN_BYTES] > static_cast<double>(rows.size)) {
      return wrong(column[EXRP_COLUMN_BYTES]);
    }
    const auto bytes = static_cast<uint64_t>(column[EXRP_COLUMN_BYTES]);
    const bool fits = isString ? hasStrings(rows.data, bytes, count) : count * elementBytes(dtype) == column[EXRP_COLUMN_BYTES];
    if (!fits) return wrong(column[EXRP_COLUMN_BYTES]);
    rows = {rows.data + bytes, static_cast<size_t>(rows.size - bytes)};
    capacity_ += tensorCapacity(bytes, rank, isDelta()) + 16;
    plainBytes_ += isString ? bytes - static_cast<uint64_t>(count) * sizeof(uint32_t) : bytes;
  }
  return Status::ok;
}

ByteSpan NewChunk::write(uint8_t* out) const {
  using Fields = reverb::ChunkData;
  using Range = reverb::SequenceRange;
  uint8_t* const data = out + headRoom;
  ProtoWriter tensors(data);
  const uint8_t* rows = rows_;
  const double* column = columns_;
  for (uint32_t left = columnCount(); left > 0; --left) {
    const auto rank = static_cast<uint32_t>(column[EXRP_COLUMN_RANK]);
    const auto bytes = static_cast<uint64_t>(column[EXRP_COLUMN_BYTES]);
    tensors.bytesLater(reverb::Data::tensors, tensorCapacity(bytes, rank, isDelta()), [&](uint8_t* to) {
      return encodeTensor(static_cast<uint32_t>(column[EXRP_COLUMN_DTYPE]), column + EXRP_COLUMN_HEAD, rank, rows, bytes, isDelta(), to);
    });
    rows += bytes;
    column += EXRP_COLUMN_HEAD + rank;
  }
  const auto dataBytes = static_cast<size_t>(tensors.at() - data);
  tensors.varintField(Fields::dataTensorsLen, columnCount());
  tensors.presentField(Fields::dataUncompressedSize, plainBytes_ < INT32_MAX ? plainBytes_ : INT32_MAX);

  // What stands before the tensors has their size in it, so it is written last.
  const auto first = static_cast<uint64_t>(head_[EXRP_CHUNK_FIRST]);
  const auto last = static_cast<uint64_t>(head_[EXRP_CHUNK_LAST]);
  const uint64_t sparse = (static_cast<uint32_t>(head_[EXRP_CHUNK_FLAGS]) & EXRP_ROWS_SPARSE) != 0 ? 1 : 0;
  const auto fillHead = [&](auto& head) {
    head.varintField(Fields::chunkKey, key());
    head.message(Fields::sequenceRange, [&](auto& range) {
      range.varintField(Range::episodeId, episode());
      range.presentField(Range::start, first);
      range.presentField(Range::end, last);
      range.presentField(Range::sparse, sparse);
    });
    head.presentField(Fields::deltaEncoded, isDelta() ? 1 : 0);
    head.bytesBegin(Fields::data, dataBytes);
  };
  const size_t head = sizeOfFields(fillHead);
  ProtoWriter begin(data - head);
  fillHead(begin);
  return {data - head, head + static_cast<size_t>(tensors.at() - data)};
}

}  // namespace exrp
