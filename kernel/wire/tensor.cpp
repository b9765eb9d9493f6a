#include "kernel/wire/tensor.hpp"

#include "kernel/wire/delta.hpp"
#include "kernel/wire/proto_writer.hpp"
#include "kernel/wire/reverb_fields.hpp"
#include "kernel/wire/snappy.hpp"

namespace exrp {

namespace {

using Fields = reverb::TensorProto;
using ShapeFields = reverb::TensorShapeProto;

constexpr uint64_t bytesMax = uint64_t{1} << 53;

constexpr uint8_t elementSizes[] = {
    0, 4, 8, 4, 1, 2, 1, 0,   // float, double, int32, uint8, int16, int8, string
    8, 8, 1, 1, 1, 4, 2, 2,   // complex64, int64, bool, qint8, quint8, qint32, bfloat16, qint16
    2, 2, 16, 2, 0, 0, 4, 8,  // quint16, uint16, complex128, half, resource, variant, uint32, uint64
    1, 1, 0, 0, 0, 1, 1,      // float8_e5m2, float8_e4m3fn, -, -, -, int4, uint4
};

Damage readShape(ByteSpan message, Tensor* tensor) {
  bool isPossible = true;
  bool isUnknown = false;
  const auto takeDim = [&](ByteSpan dim) {
    uint64_t size = 0;
    if (!readFields(dim, Field{reverb::Dim::size, size})) return false;
    isPossible = size <= bytesMax && tensor->rank < EXRP_LIMIT_RANK;
    if (isPossible) tensor->dims[tensor->rank++] = size;
    return isPossible;
  };
  const bool isGood = readFields(message, Field{ShapeFields::dim, takeDim}, Field{ShapeFields::unknownRank, isUnknown});
  if (!isPossible || (isGood && isUnknown)) return EXRP_DAMAGE_SHAPE;
  return isGood ? 0 : EXRP_DAMAGE_PROTOBUF;
}

/// The bytes of `count` dimensions of elements; false where they are more than can be.
bool multiply(uint64_t bytes, const uint64_t* dims, uint32_t count, uint64_t* product) {
  for (uint32_t k = 0; k < count; ++k) {
    if (dims[k] != 0 && bytes > bytesMax / dims[k]) return false;
    bytes *= dims[k];
  }
  *product = bytes;
  return true;
}

}  // namespace

uint32_t elementBytes(uint32_t dtype) { return dtype < sizeof elementSizes ? elementSizes[dtype] : 0; }

bool takesDelta(uint32_t dtype, uint32_t rank) {
  switch (dtype) {
    case EXRP_TENSOR_INT8:
    case EXRP_TENSOR_INT16:
    case EXRP_TENSOR_INT32:
    case EXRP_TENSOR_INT64:
    case EXRP_TENSOR_UINT8:
    case EXRP_TENSOR_UINT16:
    case EXRP_TENSOR_UINT32:
    case EXRP_TENSOR_UINT64: return rank >= 2;
    default: return false;
  }
}

Damage readTensor(ByteSpan message, Tensor* tensor) {
  tensor->rank = 0;
  tensor->content = {};
  tensor->bytes = 0;
  tensor->rowBytes = 0;
  uint64_t dtype = 0;
  Damage damage = 0;
  const auto takeShape = [&](ByteSpan shape) { return (damage = readShape(shape, tensor)) == 0; };
  const bool isGood = readFields(message, Field{Fields::dtype, dtype}, Field{Fields::tensorShape, takeShape}, Field{Fields::tensorContent, tensor->content});
  if (damage != 0) return damage;
  if (!isGood) return EXRP_DAMAGE_PROTOBUF;
  tensor->dtype = dtype > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(dtype);
  if (tensor->dtype == EXRP_TENSOR_STRING) return 0;
  const uint32_t element = elementBytes(tensor->dtype);
  if (element == 0) return EXRP_DAMAGE_DTYPE;
  const uint32_t rank = tensor->rank;
  const bool fits = rank == 0 || multiply(element, tensor->dims + 1, rank - 1, &tensor->rowBytes);
  if (!fits || !multiply(element, tensor->dims, rank, &tensor->bytes)) return EXRP_DAMAGE_SHAPE;
  uint64_t unpacked = 0;
  if (!snappyLength(tensor->content.data, tensor->content.size, &unpacked)) return EXRP_DAMAGE_CONTENT;
  return unpacked == tensor->bytes ? 0 : EXRP_DAMAGE_CONTENT;
}

Damage decodeRows(const Tensor& tensor, uint64_t rows, bool isDelta, uint8_t* out) {
  if (!snappyDecode(tensor.content.data, tensor.content.size, out, rows * tensor.rowBytes)) return EXRP_DAMAGE_CONTENT;
  if (isDelta && takesDelta(tensor.dtype, tensor.rank)) deltaCode(out, elementBytes(tensor.dtype), tensor.rowBytes, rows, false);
  return 0;
}

uint64_t tensorCapacity(uint64_t bytes, uint32_t rank, bool isDelta) {
  // Each dimension takes at most 13 bytes, and the fields around them less than 64. The differences stand behind the message at first. Of strings,
  // the head of each takes at most two bytes more than its length does among the rows.
  return snappyCapacity(bytes) + bytes / 2 + uint64_t{13} * rank + 64 + (isDelta ? bytes : 0);
}

uint64_t encodeTensor(uint32_t dtype, const double* dims, uint32_t rank, const uint8_t* data, uint64_t bytes, bool isDelta, uint8_t* out) {
  ProtoWriter writer(out);
  writer.varintField(Fields::dtype, dtype);
  writer.message(Fields::tensorShape, [&](auto& shape) {
    for (uint32_t k = 0; k < rank; ++k) {
      shape.message(ShapeFields::dim, [&](auto& dim) { dim.presentField(reverb::Dim::size, static_cast<uint64_t>(dims[k])); });
    }
  });
  if (dtype == EXRP_TENSOR_STRING) {
    double count = 1;
    for (uint32_t k = 0; k < rank; ++k) count *= dims[k];
    const auto strings = static_cast<uint64_t>(count);
    const uint8_t* text = data + strings * sizeof(uint32_t);
    for (uint64_t k = 0; k < strings; ++k) {
      uint32_t length;
      memcpy(&length, data + k * sizeof length, sizeof length);
      writer.bytesField(Fields::stringVal, text, length);
      text += length;
    }
    return static_cast<uint64_t>(writer.at() - out);
  }

  const uint8_t* elements = data;
  if (isDelta && bytes > 0 && takesDelta(dtype, rank)) {
    const auto rows = static_cast<uint64_t>(dims[0]);
    uint8_t* const differences = out + tensorCapacity(bytes, rank, isDelta) - bytes;
    memcpy(differences, data, static_cast<size_t>(bytes));
    deltaCode(differences, elementBytes(dtype), bytes / rows, rows, true);
    elements = differences;
  }
  writer.bytesLater(Fields::tensorContent, snappyCapacity(bytes), [&](uint8_t* to) { return snappyEncode(elements, bytes, to); });
  return static_cast<uint64_t>(writer.at() - out);
}

}  // namespace exrp
