#include "kernel/wire/sample_reader.hpp"

#include <algorithm>

namespace exrp {

using Entry = reverb::SampleEntry;
using Info = reverb::SampleInfo;
using Fields = reverb::ChunkData;

/// Reads entries up to the last of a sample.
template <typename Use>
bool SampleReader::forEntries(Use use) {
  if (damage_ != 0) return false;
  while (message_.next()) {
    if (!message_.is(reverb::SampleStreamResponse::entries, Wire::bytes)) {
      message_.skip();
      continue;
    }
    bool isLast = false;
    if (!use(message_.bytes(), &isLast)) return false;
    if (!isLast) continue;
    wholeEnd_ = message_.at();
    return true;
  }
  return message_.isGood() ? false : fails(EXRP_DAMAGE_PROTOBUF);
}

bool SampleReader::next() {
  chunkCount_ = 0;
  chunkNext_ = 0;
  isSorted_ = false;
  tensorCount_ = 0;
  hasInfo_ = false;
  if (!forEntries([&](ByteSpan entry, bool* isLast) { return readEntry(entry, isLast); })) return false;
  return hasInfo_ || fails(EXRP_DAMAGE_ITEM);
}

bool SampleReader::pass() {
  return forEntries([&](ByteSpan entry, bool* isLast) { return passEntry(entry, isLast); });
}

bool SampleReader::passEntry(ByteSpan message, bool* isLast) {
  ProtoReader entry(message);
  while (entry.next()) {
    if (entry.is(Entry::endOfSequence, Wire::varint)) *isLast = entry.varint() != 0;
    else entry.skip();
  }
  return entry.isGood() || fails(EXRP_DAMAGE_PROTOBUF);
}

bool SampleReader::readEntry(ByteSpan message, bool* isLast) {
  ProtoReader entry(message);
  while (entry.next()) {
    if (entry.is(Entry::data, Wire::bytes)) {
      if (!addChunk(entry.bytes())) return false;
    } else if (entry.is(Entry::info, Wire::bytes)) {
      // Reverb sends it with the first entry of a sample only.
      const Damage damage = readInfo(entry.bytes());
      if (damage != 0) return fails(damage);
    } else if (entry.is(Entry::endOfSequence, Wire::varint)) {
      *isLast = entry.varint() != 0;
    } else {
      entry.skip();
    }
  }
  return entry.isGood() || fails(EXRP_DAMAGE_PROTOBUF);
}

Damage SampleReader::readInfo(ByteSpan message) {
  hasInfo_ = true;
  probability_ = tableSize_ = 0;
  item_ = {};
  ProtoReader info(message);
  while (info.next()) {
    if (info.is(Info::item, Wire::bytes)) {
      if (!item_.read(info.bytes())) return EXRP_DAMAGE_PROTOBUF;
    } else if (info.is(Info::probability, Wire::fixed64)) {
      probability_ = info.real();
    } else if (info.is(Info::tableSize, Wire::varint)) {
      tableSize_ = static_cast<double>(info.int64());
    } else {
      info.skip();
    }
  }
  return info.isGood() ? 0 : EXRP_DAMAGE_PROTOBUF;
}

bool SampleReader::addChunk(ByteSpan message) {
  if (!chunks_.commit(chunkCount_ + 1)) return fails(damageMemory);
  Chunk chunk = {};
  ProtoReader fields(message);
  while (fields.next()) {
    if (fields.is(Fields::chunkKey, Wire::varint)) chunk.key = fields.varint();
    else if (fields.is(Fields::deltaEncoded, Wire::varint)) chunk.isDelta = fields.varint() != 0;
    else if (fields.is(Fields::data, Wire::bytes)) chunk.tensors = fields.bytes();
    else fields.skip();
  }
  if (!fields.isGood()) return fails(EXRP_DAMAGE_PROTOBUF);
  chunks_[chunkCount_++] = chunk;
  return true;
}

Damage SampleReader::readColumn(ByteSpan message, ItemColumn* column) {
  *column = {message, false, 0, 0};
  ProtoReader fields(message);
  while (fields.next()) {
    if (fields.is(reverb::Column::chunkSlices, Wire::bytes)) {
      Slice slice;
      if (!slice.read(fields.bytes()) || !slice.isPossible) return EXRP_DAMAGE_SLICE;
      ++column->sliceCount;
      column->rows += slice.length;
    } else if (fields.is(reverb::Column::squeeze, Wire::varint)) {
      column->isSqueezed = fields.varint() != 0;
    } else {
      fields.skip();
    }
  }
  if (!fields.isGood()) return EXRP_DAMAGE_PROTOBUF;
  if (column->sliceCount == 0) return EXRP_DAMAGE_SLICE;
  return column->isSqueezed && column->rows != 1 ? EXRP_DAMAGE_SQUEEZE : 0;
}

bool SampleReader::findChunk(uint64_t key, uint32_t* place) {
  constexpr uint32_t triedMax = 8;
  uint32_t at = chunkNext_ < chunkCount_ ? chunkNext_ : 0;
  for (uint32_t tried = 0; tried < chunkCount_ && tried < triedMax; ++tried) {
    if (chunks_[at].key == key) {
      *place = at;
      return true;
    }
    at = at + 1 < chunkCount_ ? at + 1 : 0;
  }
  *place = none;
  if (chunkCount_ <= triedMax) return true;
  if (!isSorted_ && !sortKeys()) return false;
  const KeyPlace* const first = sorted_.data();
  const KeyPlace* const end = first + chunkCount_;
  const KeyPlace* const found = std::lower_bound(first, end, key, [](const KeyPlace& a, uint64_t b) { return a.key < b; });
  if (found != end && found->key == key) *place = found->place;
  return true;
}

bool SampleReader::sortKeys() {
  if (!sorted_.commit(chunkCount_)) return false;
  for (uint32_t k = 0; k < chunkCount_; ++k) sorted_[k] = {chunks_[k].key, k};
  // Of chunks with one key, the first is found.
  std::sort(sorted_.data(), sorted_.data() + chunkCount_, [](const KeyPlace& a, const KeyPlace& b) {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  });
  isSorted_ = true;
  return true;
}

/// Notes where each of the chunk's tensors is.
Damage SampleReader::indexTensors(Chunk& chunk) {
  chunk.firstTensor = tensorCount_;
  ProtoReader tensors(chunk.tensors);
  while (tensors.next()) {
    if (!tensors.is(reverb::Data::tensors, Wire::bytes)) {
      tensors.skip();
      continue;
    }
    if (!tensors_.commit(tensorCount_ + 1)) return damageMemory;
    tensors_[tensorCount_++] = tensors.bytes();
  }
  chunk.tensorCount = tensorCount_ - chunk.firstTensor;
  chunk.isIndexed = true;
  return tensors.isGood() ? 0 : EXRP_DAMAGE_PROTOBUF;
}

Damage SampleReader::readSlicedTensor(const Slice& slice, Tensor* tensor, bool* isDelta) {
  uint32_t place = none;
  if (!findChunk(slice.chunk, &place)) return damageMemory;
  if (place == none) return EXRP_DAMAGE_CHUNK;
  chunkNext_ = place + 1;
  Chunk& chunk = chunks_[place];
  if (!chunk.isIndexed) {
    const Damage damage = indexTensors(chunk);
    if (damage != 0) return damage;
  }
  if (slice.tensor >= chunk.tensorCount) return EXRP_DAMAGE_TENSOR;
  *isDelta = chunk.isDelta;
  const Damage damage = readTensor(tensors_[chunk.firstTensor + slice.tensor], tensor);
  if (damage != 0) return damage;
  // A chunk's tensors have a row for each step.
  if (tensor->rank == 0) return EXRP_DAMAGE_SHAPE;
  return uint64_t{slice.offset} + slice.length <= tensor->dims[0] ? 0 : EXRP_DAMAGE_SLICE;
}

}  // namespace exrp
