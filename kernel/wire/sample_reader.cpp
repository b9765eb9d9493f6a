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
  return forEntries([this](ByteSpan entry, bool* isLast) {
    return readFields(entry, Field{Entry::endOfSequence, *isLast}) || fails(EXRP_DAMAGE_PROTOBUF);
  });
}

bool SampleReader::readEntry(ByteSpan message, bool* isLast) {
  Damage damage = 0;
  const auto takeChunk = [&](ByteSpan chunk) { return (damage = addChunk(chunk)) == 0; };
  // Reverb sends it with the first entry of a sample only.
  const auto takeInfo = [&](ByteSpan info) { return (damage = readInfo(info)) == 0; };
  const bool isGood = readFields(message, Field{Entry::data, takeChunk}, Field{Entry::info, takeInfo}, Field{Entry::endOfSequence, *isLast});
  if (damage != 0) return fails(damage);
  return isGood || fails(EXRP_DAMAGE_PROTOBUF);
}

Damage SampleReader::readInfo(ByteSpan message) {
  hasInfo_ = true;
  probability_ = 0;
  item_ = {};
  int64_t tableSize = 0;
  const auto takeItem = [this](ByteSpan item) { return item_.read(item); };
  const bool isGood = readFields(message, Field{Info::item, takeItem}, Field{Info::probability, probability_}, Field{Info::tableSize, tableSize});
  tableSize_ = static_cast<double>(tableSize);
  return isGood ? 0 : EXRP_DAMAGE_PROTOBUF;
}

Damage SampleReader::addChunk(ByteSpan message) {
  if (!chunks_.commit(chunkCount_ + 1)) return damageMemory;
  Chunk chunk = {};
  const bool isGood = readFields(message, Field{Fields::chunkKey, chunk.key}, Field{Fields::deltaEncoded, chunk.isDelta}, Field{Fields::data, chunk.tensors});
  if (!isGood) return EXRP_DAMAGE_PROTOBUF;
  chunks_[chunkCount_++] = chunk;
  return 0;
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
  bool hasMemory = true;
  const auto takeTensor = [&](ByteSpan tensor) {
    hasMemory = tensors_.commit(tensorCount_ + 1);
    if (hasMemory) tensors_[tensorCount_++] = tensor;
    return hasMemory;
  };
  const bool isGood = readFields(chunk.tensors, Field{reverb::Data::tensors, takeTensor});
  chunk.tensorCount = tensorCount_ - chunk.firstTensor;
  chunk.isIndexed = true;
  return isGood ? 0 : hasMemory ? EXRP_DAMAGE_PROTOBUF : damageMemory;
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
