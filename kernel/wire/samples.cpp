#include "kernel/wire/samples.hpp"

#include <cmath>

#include "kernel/base/error.hpp"
#include "kernel/base/scratch.hpp"
#include "kernel/base/whole_number.hpp"
#include "kernel/wire/sample_reader.hpp"

namespace exrp {

namespace {

/// Columns of the buffer begin at multiples of this.
constexpr double alignment = 16;

Status damaged(Damage damage, uint32_t sample, uint32_t column) {
  if (damage == damageMemory) return fail(Status::memory, 0);
  return fail(Status::damaged, damage, sample, column);
}

/// What a column of the layout says.
double* columnOf(double* layout, uint32_t column) { return layout + EXRP_SAMPLES_HEAD + uint64_t{column} * EXRP_SAMPLES_COLUMN; }
const double* columnOf(const double* layout, uint32_t column) {
  return layout + EXRP_SAMPLES_HEAD + uint64_t{column} * EXRP_SAMPLES_COLUMN;
}

/// Goes through the columns of a sample: use(column's number, column's message).
template <typename Use>
Damage forColumns(ByteSpan trajectory, Use use) {
  uint32_t number = 0;
  Damage damage = 0;
  const auto takeColumn = [&](ByteSpan column) { return (damage = use(number++, column)) == 0; };
  const bool isGood = readFields(trajectory, Field{reverb::FlatTrajectory::columns, takeColumn});
  return isGood || damage != 0 ? damage : EXRP_DAMAGE_PROTOBUF;
}

/// A column of one sample: what its rows are, and how many.
struct Shape {
  Tensor tensor;
  ItemColumn column;
};

bool sameRows(const Tensor& a, const Tensor& b) {
  return a.dtype == b.dtype && a.rank == b.rank && memcmp(a.dims + 1, b.dims + 1, (a.rank - 1) * sizeof(uint64_t)) == 0;
}

Damage readShape(SampleReader& sample, ByteSpan message, Shape* shape) {
  bool isFirst = true;
  return SampleReader::readColumn(message, &shape->column, [&](const Slice& slice) -> Damage {
    bool isDelta = false;
    Tensor other;
    Tensor* const read = isFirst ? &shape->tensor : &other;
    const Damage found = sample.readSlicedTensor(slice, read, &isDelta);
    if (found != 0) return found;
    if (!isFirst && !sameRows(shape->tensor, other)) return EXRP_DAMAGE_MIXED;
    isFirst = false;
    return 0;
  });
}

/// Notes a column of the first sample.
void describe(const Shape& shape, double* out) {
  const Tensor& tensor = shape.tensor;
  out[EXRP_SAMPLES_DTYPE] = tensor.dtype;
  out[EXRP_SAMPLES_RANK] = tensor.rank - 1;
  out[EXRP_SAMPLES_ROWS] = static_cast<double>(shape.column.rows);
  out[EXRP_SAMPLES_LENGTH] = static_cast<double>(shape.column.rows);
  out[EXRP_SAMPLES_SQUEEZED] = shape.column.isSqueezed ? 1 : 0;
  out[EXRP_SAMPLES_AGREES] = 1;
  out[EXRP_SAMPLES_ROW_BYTES] = static_cast<double>(tensor.rowBytes);
  for (uint32_t k = 1; k < tensor.rank; ++k) out[EXRP_SAMPLES_DIMS + k - 1] = static_cast<double>(tensor.dims[k]);
}

/// Whether a tensor has rows as a column of the layout says.
bool hasRowsOf(const double* column, const Tensor& tensor) {
  bool agrees = column[EXRP_SAMPLES_DTYPE] == tensor.dtype && column[EXRP_SAMPLES_RANK] == tensor.rank - 1;
  for (uint32_t k = 1; agrees && k < tensor.rank; ++k) agrees = column[EXRP_SAMPLES_DIMS + k - 1] == static_cast<double>(tensor.dims[k]);
  return agrees;
}

/// Adds a column of a later sample.
void add(const Shape& shape, double* out) {
  const Tensor& tensor = shape.tensor;
  const auto rows = static_cast<double>(shape.column.rows);
  const bool agrees = hasRowsOf(out, tensor) && (out[EXRP_SAMPLES_SQUEEZED] != 0) == shape.column.isSqueezed;
  if (!agrees) out[EXRP_SAMPLES_AGREES] = 0;
  if (out[EXRP_SAMPLES_LENGTH] != rows) out[EXRP_SAMPLES_LENGTH] = EXRP_SAMPLES_RAGGED;
  out[EXRP_SAMPLES_ROWS] += rows;
}

/// Gives each part of the buffer its place.
void place(double* layout) {
  double end = 0;
  const auto take = [&](double bytes) {
    const double begin = end;
    end = (begin + bytes + (alignment - 1));
    end -= static_cast<double>(static_cast<uint64_t>(end) % static_cast<uint64_t>(alignment));
    return begin;
  };
  const double samples = layout[EXRP_SAMPLES_COUNT];
  for (uint32_t k = EXRP_SAMPLES_KEYS; k <= EXRP_SAMPLES_TIMES_SAMPLED; ++k) layout[k] = take(8 * samples);
  const auto columns = static_cast<uint32_t>(layout[EXRP_SAMPLES_COLUMNS]);
  for (uint32_t k = 0; k < columns; ++k) {
    double* const column = columnOf(layout, k);
    if (column[EXRP_SAMPLES_AGREES] == 0) layout[EXRP_SAMPLES_ALL_AGREE] = 0;
    column[EXRP_SAMPLES_BYTES] = column[EXRP_SAMPLES_ROWS] * column[EXRP_SAMPLES_ROW_BYTES];
    column[EXRP_SAMPLES_OFFSET] = take(column[EXRP_SAMPLES_BYTES]);
    column[EXRP_SAMPLES_LENGTHS] = column[EXRP_SAMPLES_LENGTH] == EXRP_SAMPLES_RAGGED ? take(4 * samples) : -1;
    // Beyond this, sums of doubles are not exact, and no memory is that large.
    if (end > 0x1p52) return void(layout[EXRP_SAMPLES_OUT_BYTES] = INFINITY);
  }
  layout[EXRP_SAMPLES_OUT_BYTES] = end;
}

}  // namespace

Status scanSamples(ByteSpan message, uint32_t samplesMax, uint32_t flags, double* layout, uint32_t layoutCount) {
  if (layoutCount < EXRP_SAMPLES_HEAD) return fail(Status::bufferSize, layoutCount, EXRP_SAMPLES_HEAD);
  Scratch<double> made;
  if (!made.commit(layoutCount)) return fail(Status::memory, 8.0 * layoutCount);
  double* const out = made.data();
  const uint32_t room = (layoutCount - EXRP_SAMPLES_HEAD) / EXRP_SAMPLES_COLUMN;
  out[EXRP_SAMPLES_ALL_AGREE] = 1;
  uint32_t columns = 0;
  uint32_t samples = 0;
  SampleReader sample(message);
  while (samples < samplesMax && sample.next()) {
    uint32_t seen = 0;
    const Damage damage = forColumns(sample.trajectory(), [&](uint32_t number, ByteSpan column) -> Damage {
      seen = number + 1;
      if (number >= room || (samples > 0 && number >= columns)) return 0;
      Shape shape;
      const Damage found = readShape(sample, column, &shape);
      if (found != 0) return found;
      if (samples == 0) describe(shape, columnOf(out, number));
      else add(shape, columnOf(out, number));
      return 0;
    });
    if (damage != 0) return damaged(damage, samples, seen == 0 ? 0 : seen - 1);
    if (samples == 0) {
      if (seen > room) return fail(Status::bufferSize, layoutCount, EXRP_SAMPLES_HEAD + double{EXRP_SAMPLES_COLUMN} * seen);
      columns = seen;
    } else if (seen != columns) {
      out[EXRP_SAMPLES_ALL_AGREE] = 0;
    }
    ++samples;
    if (flags == EXRP_SCAN_ALIKE) break;
  }
  if (flags == EXRP_SCAN_ALIKE && samples > 0) {
    while (samples < samplesMax && sample.pass()) ++samples;
    for (uint32_t k = 0; k < columns; ++k) columnOf(out, k)[EXRP_SAMPLES_ROWS] *= samples;
  }
  if (sample.damage() != 0) return damaged(sample.damage(), samples, 0);
  out[EXRP_SAMPLES_COUNT] = samples;
  out[EXRP_SAMPLES_MESSAGE_BYTES] = static_cast<double>(sample.wholeEnd() - message.data);
  out[EXRP_SAMPLES_COLUMNS] = columns;
  place(out);
  memcpy(layout, out, (EXRP_SAMPLES_HEAD + size_t{columns} * EXRP_SAMPLES_COLUMN) * sizeof(double));
  return Status::ok;
}

namespace {

/// Puts rows into the buffer, column by column.
class Decoder {
 public:
  Decoder(const double* layout, uint8_t* out, uint64_t outBytes) : layout_(layout), out_(out), outBytes_(outBytes) {}

  /// Checks that the layout's places are inside the buffer.
  Status begin() {
    const double samples = layout_[EXRP_SAMPLES_COUNT];
    const auto columns = static_cast<uint32_t>(layout_[EXRP_SAMPLES_COLUMNS]);
    if (!places_.commit(columns)) return fail(Status::memory, 8.0 * columns);
    bool isRight = true;
    for (uint32_t k = EXRP_SAMPLES_KEYS; k <= EXRP_SAMPLES_TIMES_SAMPLED; ++k) isRight = isRight && isInside(layout_[k], 8 * samples);
    for (uint32_t k = 0; k < columns && isRight; ++k) {
      const double* const column = columnOf(layout_, k);
      const bool isRagged = column[EXRP_SAMPLES_LENGTH] == EXRP_SAMPLES_RAGGED;
      isRight = isInside(column[EXRP_SAMPLES_OFFSET], column[EXRP_SAMPLES_BYTES]) && (!isRagged || isInside(column[EXRP_SAMPLES_LENGTHS], 4 * samples));
      if (isRight) places_[k] = static_cast<uint64_t>(column[EXRP_SAMPLES_OFFSET]);
    }
    return isRight ? Status::ok : damaged(EXRP_DAMAGE_LAYOUT, 0, 0);
  }

  void putInfo(uint32_t index, const SampleReader& sample) {
    const uint64_t key = sample.key();
    put(layout_[EXRP_SAMPLES_KEYS], index, &key, sizeof key);
    putNumber(EXRP_SAMPLES_PROBABILITIES, index, sample.probability());
    putNumber(EXRP_SAMPLES_PRIORITIES, index, sample.priority());
    putNumber(EXRP_SAMPLES_TABLE_SIZES, index, sample.tableSize());
    putNumber(EXRP_SAMPLES_TIMES_SAMPLED, index, sample.timesSampled());
  }

  Damage putColumn(uint32_t index, SampleReader& sample, uint32_t number, ByteSpan message) {
    const double* const column = columnOf(layout_, number);
    uint64_t& place = places_[number];
    const auto end = static_cast<uint64_t>(column[EXRP_SAMPLES_OFFSET] + column[EXRP_SAMPLES_BYTES]);
    ItemColumn read;
    const Damage damage = SampleReader::readColumn(message, &read, [&](const Slice& slice) -> Damage {
      Tensor tensor;
      bool isDelta = false;
      const Damage found = sample.readSlicedTensor(slice, &tensor, &isDelta);
      if (found != 0) return found;
      if (!hasRowsOf(column, tensor)) return EXRP_DAMAGE_LAYOUT;
      const uint64_t bytes = slice.length * tensor.rowBytes;
      if (bytes == 0) return 0;
      if (bytes > end - place) return EXRP_DAMAGE_LAYOUT;
      uint8_t* const to = out_ + place;
      place += bytes;
      return putRows(slice, tensor, isDelta, to);
    });
    if (damage != 0) return damage;
    if ((column[EXRP_SAMPLES_SQUEEZED] != 0) != read.isSqueezed) return EXRP_DAMAGE_LAYOUT;
    if (column[EXRP_SAMPLES_LENGTH] == EXRP_SAMPLES_RAGGED) {
      const auto rows = static_cast<uint32_t>(read.rows);
      put(column[EXRP_SAMPLES_LENGTHS], index, &rows, sizeof rows);
    } else if (column[EXRP_SAMPLES_LENGTH] != static_cast<double>(read.rows)) {
      return EXRP_DAMAGE_LAYOUT;
    }
    return 0;
  }

  /// Whether every column is full.
  bool isFull() const {
    const auto columns = static_cast<uint32_t>(layout_[EXRP_SAMPLES_COLUMNS]);
    for (uint32_t k = 0; k < columns; ++k) {
      const double* const column = columnOf(layout_, k);
      if (places_[k] != static_cast<uint64_t>(column[EXRP_SAMPLES_OFFSET] + column[EXRP_SAMPLES_BYTES])) return false;
    }
    return true;
  }

 private:
  bool isInside(double offset, double bytes) const {
    return offset >= 0 && bytes >= 0 && offset + bytes <= static_cast<double>(outBytes_);
  }

  void put(double offset, uint32_t index, const void* value, size_t bytes) {
    memcpy(out_ + static_cast<uint64_t>(offset) + index * bytes, value, bytes);
  }
  void putNumber(uint32_t part, uint32_t index, double value) { put(layout_[part], index, &value, sizeof value); }

  Damage putRows(const Slice& slice, const Tensor& tensor, bool isDelta, uint8_t* to) {
    if (slice.offset == 0) return decodeRows(tensor, slice.length, isDelta, to);
    // The rows before the wanted ones are decoded too, elsewhere. Slices of one chunk often follow each other.
    const uint64_t rows = uint64_t{slice.offset} + slice.length;
    if (unpacked_ != tensor.content.data || unpackedRows_ < rows) {
      unpacked_ = nullptr;
      if (!scratch_.commit(static_cast<size_t>(rows * tensor.rowBytes))) return damageMemory;
      const Damage damage = decodeRows(tensor, rows, isDelta, scratch_.data());
      if (damage != 0) return damage;
      unpacked_ = tensor.content.data;
      unpackedRows_ = rows;
    }
    memcpy(to, scratch_.data() + slice.offset * tensor.rowBytes, static_cast<size_t>(slice.length * tensor.rowBytes));
    return 0;
  }

  const double* const layout_;
  uint8_t* const out_;
  const uint64_t outBytes_;
  Scratch<uint64_t> places_;  // where each column goes on
  Scratch<uint8_t> scratch_;
  const uint8_t* unpacked_ = nullptr;
  uint64_t unpackedRows_ = 0;
};

}  // namespace

Status decodeSamples(ByteSpan message, const double* layout, uint32_t layoutCount, uint8_t* out, double outBytes) {
  if (layoutCount < EXRP_SAMPLES_HEAD) return fail(Status::bufferSize, layoutCount, EXRP_SAMPLES_HEAD);
  const bool hasCounts = isWhole(layout[EXRP_SAMPLES_COUNT], 0, UINT32_MAX) && isWhole(layout[EXRP_SAMPLES_COLUMNS], 0, UINT32_MAX);
  if (!hasCounts || layout[EXRP_SAMPLES_ALL_AGREE] != 1) return damaged(EXRP_DAMAGE_LAYOUT, 0, 0);
  const double needed = EXRP_SAMPLES_HEAD + layout[EXRP_SAMPLES_COLUMNS] * EXRP_SAMPLES_COLUMN;
  if (layoutCount < needed) return fail(Status::bufferSize, layoutCount, needed);
  if (!(outBytes >= layout[EXRP_SAMPLES_OUT_BYTES])) return fail(Status::bufferSize, outBytes, layout[EXRP_SAMPLES_OUT_BYTES]);
  const auto samples = static_cast<uint32_t>(layout[EXRP_SAMPLES_COUNT]);
  const auto columns = static_cast<uint32_t>(layout[EXRP_SAMPLES_COLUMNS]);
  Decoder decoder(layout, out, static_cast<uint64_t>(outBytes));
  if (const Status status = decoder.begin(); status != Status::ok) return status;
  SampleReader sample(message);
  for (uint32_t index = 0; index < samples; ++index) {
    if (!sample.next()) return damaged(sample.damage() == 0 ? EXRP_DAMAGE_LAYOUT : sample.damage(), index, 0);
    decoder.putInfo(index, sample);
    uint32_t seen = 0;
    const Damage damage = forColumns(sample.trajectory(), [&](uint32_t number, ByteSpan column) -> Damage {
      seen = number + 1;
      return number < columns ? decoder.putColumn(index, sample, number, column) : EXRP_DAMAGE_LAYOUT;
    });
    if (damage != 0) return damaged(damage, index, seen == 0 ? 0 : seen - 1);
    if (seen != columns) return damaged(EXRP_DAMAGE_LAYOUT, index, seen);
  }
  return decoder.isFull() ? Status::ok : damaged(EXRP_DAMAGE_LAYOUT, samples, 0);
}

}  // namespace exrp
