// The C ABI of Reverb's data: chunks and samples. Each function checks sizes, and calls kernel/wire. exrp.h has the contract.
#define EXRP_BUILD 1

#include "kernel/base/error.hpp"
#include "kernel/wire/new_chunk.hpp"
#include "kernel/wire/samples.hpp"

using namespace exrp;

static int32_t number(Status status) { return static_cast<int32_t>(status); }

extern "C" {

int32_t exrp_chunk_encode(const double* numbers, uint32_t numbers_count, const uint8_t* rows, double rows_size, uint8_t* chunk,
                          double chunk_size, double* place, uint32_t place_count) {
  if (place_count < 2) return number(fail(Status::bufferSize, place_count, 2));
  if (!(rows_size >= 0 && rows_size < 0x1p53)) return number(fail(Status::argument, 3, rows_size));
  Numbers from = {numbers, numbers_count};
  ByteSpan data = {rows, static_cast<size_t>(rows_size)};
  NewChunk made;
  const Status status = made.read(from, data, 0);
  if (status != Status::ok) return number(status);
  const auto capacity = static_cast<double>(made.capacity());
  if (!(chunk_size >= capacity)) return number(fail(Status::bufferSize, chunk_size, capacity));
  const ByteSpan message = made.write(chunk);
  place[0] = static_cast<double>(message.data - chunk);
  place[1] = static_cast<double>(message.size);
  return EXRP_STATUS_OK;
}

int32_t exrp_samples_scan(const uint8_t* message, uint32_t message_size, uint32_t samples_max, uint32_t flags, double* layout,
                          uint32_t layout_count) {
  if (flags > EXRP_SCAN_ALIKE) return number(fail(Status::argument, 4, flags));
  return number(scanSamples({message, message_size}, samples_max, flags, layout, layout_count));
}

int32_t exrp_samples_decode(const uint8_t* message, uint32_t message_size, const double* layout, uint32_t layout_count, uint8_t* out,
                            double out_size) {
  return number(decodeSamples({message, message_size}, layout, layout_count, out, out_size));
}

}  // extern "C"
