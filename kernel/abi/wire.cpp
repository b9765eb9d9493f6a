// The C ABI of Reverb's data: tensors and samples. Each function checks sizes, and calls kernel/wire. exrp.h has the contract.
#define EXRP_BUILD 1

#include "kernel/base/error.hpp"
#include "kernel/wire/samples.hpp"
#include "kernel/wire/snappy.hpp"
#include "kernel/wire/tensor.hpp"

using exrp::fail;
using exrp::Status;

namespace {

int32_t number(Status status) { return static_cast<int32_t>(status); }

/// The status of what a function on one tensor found.
Status statusOf(exrp::Damage damage) { return damage == 0 ? Status::ok : fail(Status::damaged, damage, 0, 0); }

/// Whether elements of a shape have so many bytes. False also for what is no shape.
bool hasBytes(uint32_t element, const double* shape, uint32_t rank, double bytes) {
  double count = element;
  for (uint32_t k = 0; k < rank; ++k) {
    if (!(shape[k] >= 0 && shape[k] <= 0x1p53 && shape[k] == static_cast<double>(static_cast<uint64_t>(shape[k])))) return false;
    count *= shape[k];
  }
  return count == bytes;
}

}  // namespace

extern "C" {

int32_t exrp_tensor_capacity(uint32_t rank, double data_size, uint32_t flags, double* capacity) {
  if (rank > EXRP_LIMIT_RANK) return number(fail(Status::argument, 1, rank));
  if (!(data_size >= 0 && data_size <= static_cast<double>(exrp::snappyBytesMax))) return number(fail(Status::argument, 2, data_size));
  if (flags > EXRP_PACK_FLAGS_ALL) return number(fail(Status::argument, 3, flags));
  *capacity = static_cast<double>(exrp::tensorCapacity(static_cast<uint64_t>(data_size), rank, flags));
  return EXRP_STATUS_OK;
}

int32_t exrp_tensor_encode(uint32_t dtype, const double* shape, uint32_t rank, const uint8_t* data, double data_size, uint32_t flags,
                           uint8_t* tensor, double tensor_size, double* written) {
  double capacity = 0;
  const uint32_t element = exrp::elementBytes(dtype);
  if (element == 0) return number(fail(Status::argument, 1, dtype));
  if (rank > EXRP_LIMIT_RANK) return number(fail(Status::argument, 3, rank));
  if (!hasBytes(element, shape, rank, data_size)) return number(fail(Status::argument, 5, data_size));
  const int32_t status = exrp_tensor_capacity(rank, data_size, flags, &capacity);
  if (status != EXRP_STATUS_OK) return status;
  if (!(tensor_size >= capacity)) return number(fail(Status::bufferSize, tensor_size, capacity));
  *written = static_cast<double>(exrp::encodeTensor(dtype, shape, rank, data, static_cast<uint64_t>(data_size), flags, tensor));
  return EXRP_STATUS_OK;
}

int32_t exrp_tensor_info(const uint8_t* tensor, uint32_t tensor_size, double* info, uint32_t info_count) {
  if (info_count < EXRP_TENSOR_INFO_COUNT) return number(fail(Status::bufferSize, info_count, EXRP_TENSOR_INFO_COUNT));
  exrp::Tensor read;
  const exrp::Damage damage = exrp::readTensor({tensor, tensor_size}, &read);
  if (damage != 0) return number(statusOf(damage));
  info[EXRP_TENSOR_INFO_DTYPE] = read.dtype;
  info[EXRP_TENSOR_INFO_RANK] = read.rank;
  info[EXRP_TENSOR_INFO_BYTES] = static_cast<double>(read.bytes);
  for (uint32_t k = 0; k < EXRP_LIMIT_RANK; ++k) info[EXRP_TENSOR_INFO_DIMS + k] = k < read.rank ? static_cast<double>(read.dims[k]) : 0;
  return EXRP_STATUS_OK;
}

int32_t exrp_tensor_decode(const uint8_t* tensor, uint32_t tensor_size, uint32_t flags, uint8_t* data, double data_size) {
  if ((flags & ~uint32_t{EXRP_PACK_DELTA}) != 0) return number(fail(Status::argument, 3, flags));
  exrp::Tensor read;
  const exrp::Damage damage = exrp::readTensor({tensor, tensor_size}, &read);
  if (damage != 0) return number(statusOf(damage));
  if (read.dtype == EXRP_TENSOR_STRING) return number(statusOf(EXRP_DAMAGE_DTYPE));
  if (!(data_size >= static_cast<double>(read.bytes))) return number(fail(Status::bufferSize, data_size, static_cast<double>(read.bytes)));
  return number(statusOf(exrp::decodeTensor(read, flags != 0, data)));
}

int32_t exrp_samples_scan(const uint8_t* message, uint32_t message_size, uint32_t samples_max, uint32_t flags, double* layout,
                          uint32_t layout_count) {
  if (flags > EXRP_SCAN_ALIKE) return number(fail(Status::argument, 4, flags));
  return number(exrp::scanSamples({message, message_size}, samples_max, flags, layout, layout_count));
}

int32_t exrp_samples_decode(const uint8_t* message, uint32_t message_size, const double* layout, uint32_t layout_count, uint8_t* out,
                            double out_size) {
  return number(exrp::decodeSamples({message, message_size}, layout, layout_count, out, out_size));
}

}  // extern "C"
