// SampleReader: one sample after another of a message, with its chunks and the columns of its item.
//
// Thread safety: none of its own. Invariants: it reads no byte outside of the message; a slice that it hands out lies inside its tensor.
// Cost: about 5 ns a field. Where slices name chunks in another order than the message has them, the chunks of the sample are sorted once.
// Memory only for the chunks of one sample: about 50 bytes each, 16 for each tensor that is looked for, and 12 where they are sorted.
#pragma once

#include <cstdint>

#include "kernel/base/scratch.hpp"
#include "kernel/wire/proto_reader.hpp"
#include "kernel/wire/item_message.hpp"
#include "kernel/wire/slice.hpp"
#include "kernel/wire/tensor.hpp"

namespace exrp {

/// One column of an item: its slices, and whether its only row stands for itself.
struct ItemColumn {
  bool isSqueezed = false;
  uint32_t sliceCount = 0;
  uint64_t rows = 0;
};

class SampleReader {
 public:
  explicit SampleReader(ByteSpan message) : message_(message), wholeEnd_(message.data) {}

  /// Goes on to the next sample. False where no whole one is left, and where something is wrong: see damage().
  bool next();
  /// The same, but looks only for the sample's end.
  bool pass();
  /// EXRP_DAMAGE_*, or 0. damageMemory stands for no memory.
  Damage damage() const { return damage_; }
  /// Where the last whole sample ended.
  const uint8_t* wholeEnd() const { return wholeEnd_; }

  // What the sample says of its item.
  uint64_t key() const { return item_.key; }
  double probability() const { return probability_; }
  double priority() const { return item_.priority; }
  double tableSize() const { return tableSize_; }
  double timesSampled() const { return static_cast<int32_t>(item_.timesSampled); }
  ByteSpan trajectory() const { return item_.trajectory; }

  /// Reads a column of the trajectory, and calls use(slice) for each of its slices, until that returns damage.
  template <typename Use>
  static Damage readColumn(ByteSpan message, ItemColumn* column, Use use) {
    *column = {};
    Damage damage = 0;
    const auto takeSlice = [&](ByteSpan part) {
      Slice slice;
      if (!slice.read(part) || !slice.isPossible()) return damage = EXRP_DAMAGE_SLICE, false;
      ++column->sliceCount;
      column->rows += slice.length;
      return (damage = use(slice)) == 0;
    };
    const bool isGood = readFields(message, Field{reverb::Column::chunkSlices, takeSlice}, Field{reverb::Column::squeeze, column->isSqueezed});
    if (damage != 0) return damage;
    if (!isGood) return EXRP_DAMAGE_PROTOBUF;
    if (column->sliceCount == 0) return EXRP_DAMAGE_SLICE;
    return column->isSqueezed && column->rows != 1 ? EXRP_DAMAGE_SQUEEZE : 0;
  }

  /// Reads the tensor that a slice is of, and checks that it has those rows.
  Damage readSlicedTensor(const Slice& slice, Tensor* tensor, bool* isDelta);

 private:
  struct Chunk {
    uint64_t key;
    ByteSpan tensors;
    bool isDelta;
    bool isIndexed;  // its tensors are in tensors_, from the first on
    size_t firstTensor;
    size_t tensorCount;
  };
  struct KeyPlace {
    uint64_t key;
    uint32_t place;
  };
  static constexpr uint32_t none = 0xffffffffu;

  template <typename Use>
  bool forEntries(Use use);
  bool readEntry(ByteSpan message, bool* isLast);
  Damage readInfo(ByteSpan message);
  Damage addChunk(ByteSpan message);
  /// The place of a chunk of this sample, or `none`. False for want of memory.
  bool findChunk(uint64_t key, uint32_t* place);
  bool sortKeys();
  Damage indexTensors(Chunk& chunk);
  bool fails(Damage damage) {
    damage_ = damage;
    return false;
  }

  ProtoReader message_;
  const uint8_t* wholeEnd_;
  Scratch<Chunk> chunks_;
  uint32_t chunkCount_ = 0;
  uint32_t chunkNext_ = 0;  // a search begins here: chunks mostly come in the order of the columns
  Scratch<KeyPlace> sorted_;
  bool isSorted_ = false;  // `sorted_` is that of this sample
  Scratch<ByteSpan> tensors_;
  size_t tensorCount_ = 0;
  Damage damage_ = 0;
  bool hasInfo_ = false;
  double probability_ = 0;
  double tableSize_ = 0;
  ItemMessage item_;
};

}  // namespace exrp
