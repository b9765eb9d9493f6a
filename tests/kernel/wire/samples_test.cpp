// Samples: what a message holds is decoded, whichever way its rows stand in chunks; and a damaged message is refused, or decodes to something,
// but nothing outside the buffers is touched.
//
// EXRP_FUZZ_COUNT sets how many damaged messages are tried, and EXRP_FUZZ_SEED which ones: `deno task fuzz:messages`.
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "tests/kernel/wire/sample_maker.hpp"

using namespace exrp::test;

namespace {

constexpr uint32_t layoutCount = EXRP_SAMPLES_HEAD + 16 * EXRP_SAMPLES_COLUMN;

const std::vector<ColumnKind> kinds = {
    {EXRP_TENSOR_FLOAT32, 4, {4}},     {EXRP_TENSOR_INT32, 4, {}},       {EXRP_TENSOR_FLOAT64, 8, {2, 3}}, {EXRP_TENSOR_BOOL, 1, {}},
    {EXRP_TENSOR_UINT8, 1, {5, 1, 3}}, {EXRP_TENSOR_INT64, 8, {2}},      {EXRP_TENSOR_INT16, 2, {3}},      {EXRP_TENSOR_FLOAT16, 2, {0}},
    {EXRP_TENSOR_UINT64, 8, {1}},      {EXRP_TENSOR_COMPLEX128, 16, {2}}};

const double* column(const std::vector<double>& layout, size_t k) { return layout.data() + EXRP_SAMPLES_HEAD + k * EXRP_SAMPLES_COLUMN; }

int32_t scan(const Data& message, std::vector<double>& layout, uint32_t samplesMax = UINT32_MAX, uint32_t flags = EXRP_SCAN_ALL) {
  layout.assign(layoutCount, -7);
  return exrp_samples_scan(message.data(), static_cast<uint32_t>(message.size()), samplesMax, flags, layout.data(), layoutCount);
}

int32_t decode(const Data& message, const std::vector<double>& layout, Data& out) {
  return exrp_samples_decode(message.data(), static_cast<uint32_t>(message.size()), layout.data(), static_cast<uint32_t>(layout.size()),
                             out.data(), static_cast<double>(out.size()));
}

struct Batch {
  Data message;
  std::vector<Data> columns;
  std::vector<uint32_t> lengths;
};

Batch make(SampleMaker& maker, uint32_t samples, uint32_t length, bool isSqueezed) {
  Batch batch;
  batch.columns.resize(kinds.size());
  for (uint32_t k = 0; k < samples; ++k) append(batch.message, maker.sample(kinds, length, isSqueezed, batch.columns, batch.lengths));
  return batch;
}

void decodes(SampleMaker& maker, uint32_t samples, uint32_t length, bool isSqueezed) {
  const Batch batch = make(maker, samples, length, isSqueezed);
  std::vector<double> layout;
  CHECK_EQUAL(scan(batch.message, layout), 0);
  CHECK_EQUAL(layout[EXRP_SAMPLES_COUNT], double(samples));
  CHECK_EQUAL(layout[EXRP_SAMPLES_MESSAGE_BYTES], static_cast<double>(batch.message.size()));
  CHECK_EQUAL(layout[EXRP_SAMPLES_ALL_AGREE], 1.0);
  CHECK_EQUAL(layout[EXRP_SAMPLES_COLUMNS], samples == 0 ? 0.0 : static_cast<double>(kinds.size()));
  Data out(static_cast<size_t>(layout[EXRP_SAMPLES_OUT_BYTES]));
  CHECK_EQUAL(decode(batch.message, layout, out), 0);
  bool isAlike = true;
  for (size_t k = kinds.size(); k < batch.lengths.size(); ++k) isAlike = isAlike && batch.lengths[k] == batch.lengths[k - kinds.size()];
  std::vector<double> quick;
  CHECK_EQUAL(scan(batch.message, quick, UINT32_MAX, EXRP_SCAN_ALIKE), 0);
  if (isAlike) {
    CHECK(quick == layout);
  } else {
    Data quickOut(static_cast<size_t>(quick[EXRP_SAMPLES_OUT_BYTES]));
    CHECK_EQUAL(decode(batch.message, quick, quickOut), EXRP_STATUS_DAMAGED);
    double detail[1] = {};
    CHECK_EQUAL(exrp_error_detail(detail, 1), 0);
    CHECK_EQUAL(detail[0], double(EXRP_DAMAGE_LAYOUT));
  }
  if (samples == 0) return;
  for (size_t k = 0; k < kinds.size(); ++k) {
    const double* const at = column(layout, k);
    CHECK_EQUAL(at[EXRP_SAMPLES_DTYPE], kinds[k].dtype);
    CHECK_EQUAL(at[EXRP_SAMPLES_RANK], static_cast<double>(kinds[k].shape.size()));
    for (size_t d = 0; d < kinds[k].shape.size(); ++d) CHECK_EQUAL(at[EXRP_SAMPLES_DIMS + d], kinds[k].shape[d]);
    CHECK_EQUAL(at[EXRP_SAMPLES_SQUEEZED], isSqueezed ? 1.0 : 0.0);
    CHECK_EQUAL(at[EXRP_SAMPLES_BYTES], static_cast<double>(batch.columns[k].size()));
    const Data rows(out.begin() + static_cast<int64_t>(at[EXRP_SAMPLES_OFFSET]),
                    out.begin() + static_cast<int64_t>(at[EXRP_SAMPLES_OFFSET] + at[EXRP_SAMPLES_BYTES]));
    CHECK(rows == batch.columns[k]);
    for (uint32_t s = 0; s < samples; ++s) {
      auto rowCount = static_cast<uint32_t>(at[EXRP_SAMPLES_LENGTH]);
      if (at[EXRP_SAMPLES_LENGTH] == EXRP_SAMPLES_RAGGED) {
        memcpy(&rowCount, out.data() + static_cast<size_t>(at[EXRP_SAMPLES_LENGTHS]) + 4 * s, 4);
      }
      CHECK_EQUAL(rowCount, batch.lengths[s * kinds.size() + k]);
    }
  }
  double number = 0;
  memcpy(&number, out.data() + static_cast<size_t>(layout[EXRP_SAMPLES_PROBABILITIES]), 8);
  CHECK_EQUAL(number, 0.125);
  memcpy(&number, out.data() + static_cast<size_t>(layout[EXRP_SAMPLES_PRIORITIES]), 8);
  CHECK_EQUAL(number, 0.5);
  memcpy(&number, out.data() + static_cast<size_t>(layout[EXRP_SAMPLES_TABLE_SIZES]), 8);
  CHECK_EQUAL(number, 1000.0);
  memcpy(&number, out.data() + static_cast<size_t>(layout[EXRP_SAMPLES_TIMES_SAMPLED]), 8);
  CHECK_EQUAL(number, 3.0);
  uint64_t key = 0;
  memcpy(&key, out.data() + static_cast<size_t>(layout[EXRP_SAMPLES_KEYS]), 8);
  CHECK_EQUAL(key >> 12, uint64_t{0xFEDCBA9876543210u} >> 12);
}

void countsWholeSamplesOnly(SampleMaker& maker) {
  const Batch first = make(maker, 2, 1, false);
  Batch both = first;
  append(both.message, make(maker, 1, 1, false).message);
  std::vector<double> layout;
  CHECK_EQUAL(scan(both.message, layout, 2), 0);
  CHECK_EQUAL(layout[EXRP_SAMPLES_COUNT], 2.0);
  CHECK_EQUAL(layout[EXRP_SAMPLES_MESSAGE_BYTES], static_cast<double>(first.message.size()));
  // An entry that does not end its sample.
  Data entry;
  putVarint(entry, 3, 0);
  Data open = first.message;
  putBytes(open, 1, entry);
  CHECK_EQUAL(scan(open, layout), 0);
  CHECK_EQUAL(layout[EXRP_SAMPLES_COUNT], 2.0);
  CHECK_EQUAL(layout[EXRP_SAMPLES_MESSAGE_BYTES], static_cast<double>(first.message.size()));
}

void saysWhatDiffers(SampleMaker& maker) {
  std::vector<Data> decoded(1);
  std::vector<uint32_t> lengths;
  const auto one = [&](const ColumnKind& kind, bool isSqueezed) { return maker.sample({kind}, 1, isSqueezed, decoded, lengths); };
  const Data base = one({EXRP_TENSOR_FLOAT32, 4, {4}}, false);
  const Data others[] = {one({EXRP_TENSOR_INT32, 4, {4}}, false), one({EXRP_TENSOR_FLOAT32, 4, {2, 2}}, false),
                         one({EXRP_TENSOR_FLOAT32, 4, {5}}, false), one({EXRP_TENSOR_FLOAT32, 4, {4}}, true)};
  for (const Data& other : others) {
    Data message = base;
    append(message, other);
    std::vector<double> layout;
    CHECK_EQUAL(scan(message, layout), 0);
    CHECK_EQUAL(layout[EXRP_SAMPLES_ALL_AGREE], 0.0);
    CHECK_EQUAL(column(layout, 0)[EXRP_SAMPLES_AGREES], 0.0);
    Data out(4096);
    CHECK_EQUAL(decode(message, layout, out), EXRP_STATUS_DAMAGED);
    // A quick look does not see it, but decoding does.
    CHECK_EQUAL(scan(message, layout, UINT32_MAX, EXRP_SCAN_ALIKE), 0);
    CHECK_EQUAL(decode(message, layout, out), EXRP_STATUS_DAMAGED);
    double detail[1] = {};
    CHECK_EQUAL(exrp_error_detail(detail, 1), 0);
    CHECK_EQUAL(detail[0], double(EXRP_DAMAGE_LAYOUT));
    // Alone, each decodes.
    CHECK_EQUAL(scan(other, layout), 0);
    CHECK_EQUAL(layout[EXRP_SAMPLES_ALL_AGREE], 1.0);
    CHECK_EQUAL(decode(other, layout, out), 0);
  }
}

void refusesAnotherMessage(SampleMaker& maker) {
  const Batch a = make(maker, 3, 2, false);
  const Batch shorter = make(maker, 2, 2, false);
  const Batch longer = make(maker, 3, 3, false);
  std::vector<double> layout;
  CHECK_EQUAL(scan(a.message, layout), 0);
  Data out(static_cast<size_t>(layout[EXRP_SAMPLES_OUT_BYTES]));
  CHECK_EQUAL(decode(shorter.message, layout, out), EXRP_STATUS_DAMAGED);
  CHECK_EQUAL(decode(longer.message, layout, out), EXRP_STATUS_DAMAGED);
  Data less(out.size() - 1);
  CHECK_EQUAL(decode(a.message, layout, less), EXRP_STATUS_BUFFER_SIZE);
  std::vector<double> wrong = layout;
  wrong[EXRP_SAMPLES_HEAD + EXRP_SAMPLES_OFFSET] = 1e9;
  CHECK_EQUAL(decode(a.message, wrong, out), EXRP_STATUS_DAMAGED);
  wrong[EXRP_SAMPLES_HEAD + EXRP_SAMPLES_OFFSET] = NAN;
  CHECK_EQUAL(decode(a.message, wrong, out), EXRP_STATUS_DAMAGED);
  double small[EXRP_SAMPLES_HEAD] = {};
  CHECK_EQUAL(exrp_samples_scan(a.message.data(), static_cast<uint32_t>(a.message.size()), 9, 0, small, EXRP_SAMPLES_HEAD),
              EXRP_STATUS_BUFFER_SIZE);
  double detail[2] = {};
  CHECK_EQUAL(exrp_error_detail(detail, 2), 0);
  CHECK_EQUAL(detail[1], EXRP_SAMPLES_HEAD + double(EXRP_SAMPLES_COLUMN) * static_cast<double>(kinds.size()));
}

/// A message of one column, whose samples have these numbers of rows of one byte.
Data messageOf(const std::vector<uint32_t>& lengths) {
  Data message;
  for (const uint32_t length : lengths) {
    Data tensors;
    putBytes(tensors, 1, encodeRows({EXRP_TENSOR_UINT8, 1, {}}, length, Data(length, 7), 0));
    Data chunk;
    putVarint(chunk, 1, 5);
    putBytes(chunk, 5, tensors);
    Data slice;
    putVarint(slice, 1, 5);
    putVarint(slice, 3, length);
    Data parts;
    putBytes(parts, 1, slice);
    Data trajectory;
    putBytes(trajectory, 1, parts);
    Data item;
    putBytes(item, 8, trajectory);
    Data info;
    putBytes(info, 1, item);
    Data entry;
    putBytes(entry, 1, info);
    putBytes(entry, 2, chunk);
    putVarint(entry, 3, 1);
    putBytes(message, 1, entry);
  }
  return message;
}

/// Under a sanitizer, a write beyond the buffer is found.
void staysInsideTheColumns() {
  std::vector<double> layout;
  CHECK_EQUAL(scan(messageOf({1, 2}), layout), 0);
  CHECK_EQUAL(column(layout, 0)[EXRP_SAMPLES_LENGTH], double(EXRP_SAMPLES_RAGGED));
  Data out(static_cast<size_t>(layout[EXRP_SAMPLES_OUT_BYTES]));
  CHECK_EQUAL(decode(messageOf({2, 1}), layout, out), 0);
  CHECK_EQUAL(decode(messageOf({1, 200}), layout, out), EXRP_STATUS_DAMAGED);
  CHECK_EQUAL(decode(messageOf({1, 1}), layout, out), EXRP_STATUS_DAMAGED);
}

/// A message with one sample of one column, of these slices.
Data messageOf(const Data& slices, const std::vector<Data>& chunks) {
  Data trajectory;
  putBytes(trajectory, 1, slices);
  Data item;
  putBytes(item, 8, trajectory);
  Data info;
  putBytes(info, 1, item);
  Data entry;
  putBytes(entry, 1, info);
  for (const Data& chunk : chunks) putBytes(entry, 2, chunk);
  putVarint(entry, 3, 1);
  Data message;
  putBytes(message, 1, entry);
  return message;
}

/// Rows out of the middle of one chunk, several times, forwards and backwards.
void slicesOfOneChunk() {
  Data rows(10);
  for (uint8_t k = 0; k < 10; ++k) rows[k] = k;
  Data tensors;
  putBytes(tensors, 1, encodeRows({EXRP_TENSOR_UINT8, 1, {}}, 10, rows, 0));
  Data chunk;
  putVarint(chunk, 1, 5);
  putBytes(chunk, 5, tensors);
  Data parts;
  const uint32_t slices[][2] = {{2, 1}, {7, 3}, {1, 2}, {0, 4}, {8, 2}};
  for (const auto& [offset, length] : slices) {
    Data slice;
    putVarint(slice, 1, 5);
    putVarint(slice, 2, offset);
    putVarint(slice, 3, length);
    putBytes(parts, 1, slice);
  }
  const Data message = messageOf(parts, {chunk});
  std::vector<double> layout;
  CHECK_EQUAL(scan(message, layout), 0);
  Data out(static_cast<size_t>(layout[EXRP_SAMPLES_OUT_BYTES]));
  CHECK_EQUAL(decode(message, layout, out), 0);
  const uint8_t wanted[] = {2, 7, 8, 9, 1, 2, 0, 1, 2, 3, 8, 9};
  CHECK_EQUAL(column(layout, 0)[EXRP_SAMPLES_BYTES], 12.0);
  CHECK_EQUAL(memcmp(out.data() + static_cast<size_t>(column(layout, 0)[EXRP_SAMPLES_OFFSET]), wanted, 12), 0);
}

/// Once, each slice walked through all chunks, or through all tensors of its chunk, where they come in another order than the slices: the
/// time grew with the square of their number. These would have taken many minutes.
void slicesInReverseTakeNoLonger() {
  constexpr uint32_t count = 200'000;
  const ColumnKind kind = {EXRP_TENSOR_UINT8, 1, {}};
  for (const bool isOneChunk : {false, true}) {
    Data slices;
    Data allTensors;
    std::vector<Data> chunks;
    for (uint32_t k = 0; k < count; ++k) {
      Data tensors;
      putBytes(tensors, 1, encodeRows(kind, 1, {static_cast<uint8_t>(k)}, false));
      append(allTensors, tensors);
      Data slice;
      putVarint(slice, 1, isOneChunk ? 1 : count - k);
      putVarint(slice, 3, 1);
      if (isOneChunk) putVarint(slice, 4, count - 1 - k);
      putBytes(slices, 1, slice);
      if (isOneChunk) continue;
      Data chunk;
      putVarint(chunk, 1, k + 1);
      putBytes(chunk, 5, tensors);
      chunks.push_back(chunk);
    }
    if (isOneChunk) {
      Data chunk;
      putVarint(chunk, 1, 1);
      putBytes(chunk, 5, allTensors);
      chunks.push_back(chunk);
    }
    const Data message = messageOf(slices, chunks);
    std::vector<double> layout;
    CHECK_EQUAL(scan(message, layout), 0);
    Data out(static_cast<size_t>(layout[EXRP_SAMPLES_OUT_BYTES]));
    CHECK_EQUAL(decode(message, layout, out), 0);
    CHECK_EQUAL(column(layout, 0)[EXRP_SAMPLES_BYTES], double{count});
    const uint8_t* const rows = out.data() + static_cast<size_t>(column(layout, 0)[EXRP_SAMPLES_OFFSET]);
    bool isRight = true;
    for (uint32_t k = 0; k < count; ++k) isRight = isRight && rows[k] == static_cast<uint8_t>(count - 1 - k);
    CHECK(isRight);
  }
}

/// Each call may fail or not; under a sanitizer it shows that it touches nothing else.
void survivesDamage(SampleMaker& maker, uint32_t count) {
  std::vector<double> layout;
  std::vector<double> goodLayout;
  uint32_t decodedCount = 0;
  Batch batch;
  for (uint32_t k = 0; k < count; ++k) {
    if (k % 16 == 0) {
      const bool isSqueezed = maker.below(4) == 0;
      batch = make(maker, 1 + maker.below(2), isSqueezed ? 1 : maker.below(3), isSqueezed);
      CHECK_EQUAL(scan(batch.message, goodLayout), 0);
    }
    Data message = batch.message;
    const uint32_t changes = 1 + maker.below(3);
    for (uint32_t c = 0; c < changes && !message.empty(); ++c) {
      const uint32_t at = maker.below(static_cast<uint32_t>(message.size()));
      switch (maker.below(8)) {
        case 0: message.resize(at); break;
        case 1: message[at] = 0xFF; break;
        case 2: message.insert(message.begin() + at, static_cast<uint8_t>(maker.below(256))); break;
        case 3: message.erase(message.begin() + at); break;
        case 4: message[at] = static_cast<uint8_t>(message[at] ^ (1u << maker.below(8))); break;
        default: message[at] = static_cast<uint8_t>(maker.below(256)); break;
      }
    }
    message.shrink_to_fit();
    // Also under the layout of the message as it was.
    if (goodLayout[EXRP_SAMPLES_OUT_BYTES] < 1e6) {
      Data out(static_cast<size_t>(goodLayout[EXRP_SAMPLES_OUT_BYTES]));
      decode(message, goodLayout, out);
    }
    if (scan(message, layout, UINT32_MAX, maker.below(2)) != 0) continue;
    if (layout[EXRP_SAMPLES_ALL_AGREE] != 1 || layout[EXRP_SAMPLES_OUT_BYTES] > 1e6) continue;
    Data out(static_cast<size_t>(layout[EXRP_SAMPLES_OUT_BYTES]));
    if (decode(message, layout, out) == 0) ++decodedCount;
  }
  CHECK(decodedCount > 0 && decodedCount < count);
}

}  // namespace

int main() {
  const uint64_t seed = fromEnvironment("EXRP_FUZZ_SEED", 20261122);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  SampleMaker maker(seed);
  for (uint32_t k = 0; k < 100; ++k) {
    decodes(maker, maker.below(6), 1, false);
    decodes(maker, maker.below(6), 1, true);
    decodes(maker, maker.below(6), 5, false);
    decodes(maker, 2 + maker.below(6), 0, false);
  }
  countsWholeSamplesOnly(maker);
  saysWhatDiffers(maker);
  refusesAnotherMessage(maker);
  staysInsideTheColumns();
  slicesOfOneChunk();
  slicesInReverseTakeNoLonger();
  survivesDamage(maker, static_cast<uint32_t>(fromEnvironment("EXRP_FUZZ_COUNT", 30000)));
  return checkResult("samples");
}
