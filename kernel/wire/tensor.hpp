// A tensor as Reverb's chunks have it: a TensorProto whose tensor_content is the elements, little-endian and row by row, packed by Snappy.
//
// Elements have the numbers of TensorFlow's DataType (EXRP_TENSOR_*). Strings are not packed; this file finds them and leaves their bytes alone.
//
// Thread safety: pure functions. Cost: reading about 20 ns, and what Snappy takes. No memory is allocated.
// Invariants:
//   1. A tensor that readTensor() accepts has at most EXRP_LIMIT_RANK dimensions and at most 2^53 bytes, and its content is as long as its
//      shape says, once it is decoded.
// What it does not do: elements in the fields for single numbers (float_val and the like), which Reverb never writes, count as damage.
#pragma once

#include <cstdint>

#include "kernel/exrp.h"
#include "kernel/wire/proto_reader.hpp"

namespace exrp {

/// What is wrong with a message: 0 for nothing, or EXRP_DAMAGE_*.
using Damage = uint32_t;
/// For a function that finds damage and needs memory: there was none.
constexpr Damage damageMemory = 255;

/// The bytes of an element; 0 for a string, and for what has no fixed size or is not known.
uint32_t elementBytes(uint32_t dtype);

/// Whether delta encoding changes a tensor: integers of rank 2 or more.
bool takesDelta(uint32_t dtype, uint32_t rank);

struct Tensor {
  uint32_t dtype = 0;
  uint32_t rank = 0;
  uint64_t dims[EXRP_LIMIT_RANK];
  ByteSpan content;       // as it stands in the message
  uint64_t bytes = 0;     // of all elements; 0 for strings
  uint64_t rowBytes = 0;  // of what one index of the first dimension leads to
};

/// Reads a TensorProto, and checks that its parts fit together. Its elements stay packed.
Damage readTensor(ByteSpan message, Tensor* tensor);

/// Decodes the first `rows` rows of a tensor of numbers into `out`, which has rows x rowBytes.
Damage decodeRows(const Tensor& tensor, uint64_t rows, bool isDelta, uint8_t* out);

/// Room for encodeTensor(). `bytes` are those of the elements.
uint64_t tensorCapacity(uint64_t bytes, uint32_t rank, bool isDelta);

/// Writes a TensorProto into `out`, which has tensorCapacity(). Returns its bytes. Of strings, `data` has their lengths, and then their bytes.
uint64_t encodeTensor(uint32_t dtype, const double* dims, uint32_t rank, const uint8_t* data, uint64_t bytes, bool isDelta, uint8_t* out);

}  // namespace exrp
