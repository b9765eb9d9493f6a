// Makes SampleStreamResponse messages, and says what their columns must decode to.
#pragma once

#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/exrp.h"
#include "kernel/wire/proto_writer.hpp"
#include "kernel/wire/tensor.hpp"
#include "tests/kernel/check.hpp"

namespace exrp::test {

using Data = std::vector<uint8_t>;

inline void append(Data& to, const Data& from) { to.insert(to.end(), from.begin(), from.end()); }

inline void putVarint(Data& to, uint32_t field, uint64_t value) {
  Data bytes(sizeOfFields([&](auto& out) { out.varintField(field, value); }));
  ProtoWriter(bytes.data()).varintField(field, value);
  append(to, bytes);
}
inline void putReal(Data& to, uint32_t field, double value) {
  Data bytes(sizeOfFields([&](auto& out) { out.realField(field, value); }));
  ProtoWriter(bytes.data()).realField(field, value);
  append(to, bytes);
}
inline void putBytes(Data& to, uint32_t field, const Data& value) {
  Data bytes(bytesFieldBytes(field, value.size()));
  ProtoWriter(bytes.data()).bytesField(field, value.data(), value.size());
  append(to, bytes);
}

/// What the rows of a column are.
struct ColumnKind {
  uint32_t dtype;
  uint32_t elementBytes;
  std::vector<double> shape;

  size_t rowBytes() const {
    double bytes = elementBytes;
    for (const double size : shape) bytes *= size;
    return static_cast<size_t>(bytes);
  }
};

/// A tensor of rows, as a TensorProto.
inline Data encodeRows(const ColumnKind& kind, uint32_t rows, const Data& data, bool isDelta) {
  std::vector<double> shape = {static_cast<double>(rows)};
  shape.insert(shape.end(), kind.shape.begin(), kind.shape.end());
  const auto rank = static_cast<uint32_t>(shape.size());
  Data out(tensorCapacity(data.size(), rank, isDelta));
  out.resize(encodeTensor(kind.dtype, shape.data(), rank, data.data(), data.size(), isDelta, out.data()));
  return out;
}

/// A column of an item: the rows that it must decode to, and its message.
struct MadeColumn {
  Data message;
  Data rows;
  uint32_t length = 0;
};

/// Makes samples by chance. `columns` says what their columns are; `lengths` how many rows each has, 0 for a number of its own.
class SampleMaker {
 public:
  explicit SampleMaker(uint64_t seed) : random_(seed, 3) {}

  uint32_t below(uint32_t count) { return random_.below(count); }

  /// One sample, in one entry or several. `decoded` gets its rows, and `lengths` how many: for each column.
  Data sample(const std::vector<ColumnKind>& kinds, uint32_t length, bool isSqueezed, std::vector<Data>& decoded,
              std::vector<uint32_t>& lengths) {
    std::vector<Data> chunks;
    Data trajectory;
    for (size_t k = 0; k < kinds.size(); ++k) {
      const MadeColumn made = column(kinds[k], length == 0 ? 1 + below(7) : length, isSqueezed, chunks);
      putBytes(trajectory, 1, made.message);
      append(decoded[k], made.rows);
      lengths.push_back(made.length);
    }
    Data item;
    putVarint(item, 1, 0xFEDCBA9876543210u + below(1000));
    putBytes(item, 2, {'t'});
    putReal(item, 5, 0.5);
    putVarint(item, 6, 3);
    putBytes(item, 8, trajectory);
    Data info;
    putBytes(info, 1, item);
    putReal(info, 2, 0.125);
    putVarint(info, 3, 1000);
    Data entry;
    putBytes(entry, 1, info);
    Data message;
    for (const Data& chunk : chunks) {
      putBytes(entry, 2, chunk);
      if (below(4) == 0) {
        putBytes(message, 1, entry);
        entry.clear();
      }
    }
    putVarint(entry, 3, 1);
    putBytes(message, 1, entry);
    return message;
  }

 private:
  /// Rows out of one to three chunks, each with tensors beside and rows around those wanted.
  MadeColumn column(const ColumnKind& kind, uint32_t length, bool isSqueezed, std::vector<Data>& chunks) {
    MadeColumn made;
    made.length = length;
    const size_t rowBytes = kind.rowBytes();
    for (uint32_t left = length; left > 0;) {
      const uint32_t taken = 1 + below(left);
      left -= taken;
      const uint32_t before = below(3) == 0 ? below(4) : 0;
      const uint32_t after = below(3) == 0 ? below(4) : 0;
      const uint32_t rows = before + taken + after;
      Data data(rows * rowBytes);
      const uint32_t spread = below(2) == 0 ? 256 : 3;
      for (uint8_t& byte : data) byte = static_cast<uint8_t>(below(spread));
      const uint32_t index = below(3) == 0 ? 1 + below(2) : 0;
      const bool isDelta = below(3) == 0;
      Data tensors;
      for (uint32_t k = 0; k < index; ++k) putBytes(tensors, 1, encodeRows({EXRP_TENSOR_BOOL, 1, {}}, 1, {1}, false));
      putBytes(tensors, 1, encodeRows(kind, rows, data, isDelta));
      const uint64_t key = uint64_t{0xF000000000000000u} + chunks.size();
      Data chunk;
      putVarint(chunk, 1, key);
      if (isDelta) putVarint(chunk, 4, 1);
      putBytes(chunk, 5, tensors);
      chunks.push_back(chunk);
      Data slice;
      putVarint(slice, 1, key);
      if (before > 0) putVarint(slice, 2, before);
      putVarint(slice, 3, taken);
      if (index > 0) putVarint(slice, 4, index);
      putBytes(made.message, 1, slice);
      made.rows.insert(made.rows.end(), data.begin() + static_cast<int64_t>(before * rowBytes),
                       data.begin() + static_cast<int64_t>((before + taken) * rowBytes));
    }
    if (isSqueezed) putVarint(made.message, 2, 1);
    return made;
  }

  Random random_;
};

}  // namespace exrp::test
