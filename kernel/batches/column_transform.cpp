#include "kernel/batches/column_transform.hpp"

#include <bit>
#include <cstring>
#include <type_traits>

#include "kernel/base/typed_number.hpp"
#include "kernel/base/whole_number.hpp"

namespace exrp {
namespace {

/// The float of a half: what a loop over many can do in vectors, so without branches.
float floatOfHalf(uint16_t bits) {
  const uint32_t shifted = (bits & 0x7fffu) << 13;
  const uint32_t exponent = shifted & 0x0f800000u;
  const uint32_t normal = shifted + 0x38000000u;
  const uint32_t special = shifted + 0x70000000u;  // infinity and NaN
  // 2^-14 is the value of the bits put in the place of the exponent's lowest one; then it is taken off again.
  const float small = std::bit_cast<float>(shifted + 0x38800000u) - 0x1p-14f;
  const uint32_t large = exponent == 0x0f800000u ? special : normal;
  const uint32_t value = exponent == 0 ? std::bit_cast<uint32_t>(small) : large;
  return std::bit_cast<float>(value | (bits & 0x8000u) << 16);
}

/// The half nearest to a float, ties to even. Every NaN becomes 0x7e00.
uint16_t halfOf(float number) {
  const auto bits = std::bit_cast<uint32_t>(number);
  const uint32_t sign = bits & 0x80000000u;
  const uint32_t size = bits ^ sign;
  // The float 0.5 has so large a unit in its last place that the sum is rounded to a multiple of the smallest half.
  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
  const uint32_t special = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint32_t finite = size < 0x38800000u ? small : normal;
  const uint32_t value = size >= 0x47800000u ? special : finite;
  return static_cast<uint16_t>(value | (size > 0x7f800000u ? 0u : sign >> 16));
}

struct Half {
  uint16_t bits;
};

template <typename T>
float floatAt(const uint8_t* from) {
  T value;
  memcpy(&value, from, sizeof value);
  if constexpr (std::is_same_v<T, Half>) return floatOfHalf(value.bits);
  else return static_cast<float>(value);
}

/// Elements of one type as floats, times `scale`; where `adds` is true, with `offset` added.
template <typename T, bool adds>
void load(const uint8_t* __restrict from, size_t count, float scale, float offset, float* __restrict to) {
  for (size_t at = 0; at < count; ++at) {
    const float product = floatAt<T>(from + at * sizeof(T)) * scale;
    to[at] = adds ? product + offset : product;
  }
}

template <typename T>
void loadAs(const uint8_t* from, size_t count, float scale, float offset, float* to) {
  offset == 0.0f ? load<T, false>(from, count, scale, offset, to) : load<T, true>(from, count, scale, offset, to);
}

void linear(float* numbers, size_t count, float scale, float offset) {
  for (size_t at = 0; at < count; ++at) {
    const float product = numbers[at] * scale;
    numbers[at] = offset == 0.0f ? product : product + offset;
  }
}

/// A NaN stays one.
void clip(float* numbers, size_t count, float least, float largest) {
  for (size_t at = 0; at < count; ++at) {
    const float number = numbers[at] < least ? least : numbers[at];
    numbers[at] = number > largest ? largest : number;
  }
}

int32_t clamped(int32_t value, int32_t least, int32_t largest) { return value < least ? least : value > largest ? largest : value; }

constexpr size_t pieceCount = 512;  // floats that wait for another operation

}  // namespace

// ---- reading ----

Status ColumnTransform::parse(const Column& column, bool isReward, const double* numbers, uint32_t count, uint32_t argument) {
  if (count > EXRP_LIMIT_TRANSFORMS) return fail(Status::argument, argument, count);
  const auto wrong = [&](double value) { return fail(Status::argument, argument, value); };
  // A finite number that is one as a float, too.
  const auto isFloat = [](double value) { return value >= -0x1.fffffep127 && value <= 0x1.fffffep127; };
  const auto isBound = [&](double value) { return isFloat(value) || value - value != 0; };  // or infinite
  const double type = numbers[EXRP_TRANSFORM_TYPE];
  if (!isWhole(type, EXRP_TYPE_FLOAT32, EXRP_TYPE_INT32)) return wrong(type);
  type_ = static_cast<uint32_t>(type);
  if (!isTypeOf(type_, column.itemBytes)) return wrong(type);
  itemBytes_ = column.itemBytes;
  itemCount_ = shownCount_ = column.itemCount;
  for (uint32_t at = 0; at < count; ++at, numbers += EXRP_TRANSFORM_COUNT) {
    const double* const given = numbers + EXRP_TRANSFORM_NUMBER;
    if (numbers[EXRP_TRANSFORM_TYPE] != type) return wrong(numbers[EXRP_TRANSFORM_TYPE]);
    const double kind = numbers[EXRP_TRANSFORM_KIND];
    if (!isWhole(kind, EXRP_TRANSFORM_LINEAR, EXRP_TRANSFORM_FLOAT16) || isHalf_) return wrong(kind);
    switch (static_cast<uint32_t>(kind)) {
      case EXRP_TRANSFORM_NORMALIZE:
        if (at > 0 || column.every > 1 || !(given[0] > 0 && given[0] <= 0x1p53) || !(given[1] > 0 && isBound(given[1]))) return wrong(given[0]);
        normalizes_ = true;
        epsilon_ = given[0];
        limit_ = static_cast<float>(given[1]);
        continue;
      case EXRP_TRANSFORM_CROP: {
        if (isReward) return wrong(kind);
        const Status status = parseCrop(given, argument);
        if (status != Status::ok) return status;
        continue;
      }
      case EXRP_TRANSFORM_FLOAT16: isHalf_ = true; continue;
      default: break;
    }
    const bool isClip = kind == EXRP_TRANSFORM_CLIP;
    const bool fits = isClip ? given[0] <= given[1] && isBound(given[0]) && isBound(given[1]) : isFloat(given[0]) && isFloat(given[1]);
    if (!fits) return wrong(given[0]);
    steps_[stepCount_++] = {static_cast<uint32_t>(kind), static_cast<float>(given[0]), static_cast<float>(given[1])};
  }
  const bool changes = normalizes_ || stepCount_ > 0;
  shownItemBytes_ = isHalf_ ? 2 : changes ? 4 : itemBytes_;
  return Status::ok;
}

Status ColumnTransform::parseCrop(const double* numbers, uint32_t argument) {
  const double height = numbers[0], width = numbers[1], channels = numbers[2], pad = numbers[3];
  const double outHeight = numbers[4], outWidth = numbers[5], random = numbers[6];
  constexpr double sizeMax = 0x1p24;  // so that sums of places fit into 32 bits
  const auto wrong = [&](double value) { return fail(Status::argument, argument, value); };
  for (const double size : {height, width, channels, outHeight, outWidth}) {
    if (!isWhole(size, 1, sizeMax)) return wrong(size);
  }
  if (!isWhole(pad, 0, sizeMax) || !isWhole(random, 0, 1)) return wrong(pad);
  if (outHeight > height + 2 * pad || outWidth > width + 2 * pad) return wrong(outHeight);
  const double picture = height * width * channels;
  const double pictures = shownCount_ / picture;
  if (!isWhole(pictures, 1, sizeMax) || pictures * outHeight * outWidth * channels > EXRP_LIMIT_CAPACITY) return wrong(picture);
  const Crop crop = {static_cast<uint32_t>(height), static_cast<uint32_t>(width), static_cast<uint32_t>(pad), static_cast<uint32_t>(outHeight),
                     static_cast<uint32_t>(outWidth), random == 1};
  if (cropCount_ == 0) {
    pictures_ = static_cast<uint32_t>(pictures);
    channels_ = static_cast<uint32_t>(channels);
  } else {
    const Crop& last = crops_[cropCount_ - 1];
    if (channels != channels_ || pictures != pictures_ || crop.height != last.outHeight || crop.width != last.outWidth) return wrong(height);
  }
  crops_[cropCount_++] = crop;
  shownCount_ = pictures_ * crop.outHeight * crop.outWidth * channels_;
  return Status::ok;
}

// ---- before a row ----

size_t ColumnTransform::scratchBytes() const {
  if (!crops()) return 0;
  return normalizes_ ? size_t{itemCount_} * shownItemBytes_ : size_t{shownCount_} * itemBytes_;
}

void ColumnTransform::scalesOf(const ColumnStatistics::Of& statistics, float* scales) const {
  float* const rests = scales + itemCount_;
  float* const factors = rests + itemCount_;
  for (uint32_t item = 0; item < itemCount_; ++item) {
    scales[item] = static_cast<float>(statistics.mean(item));
    rests[item] = static_cast<float>(statistics.mean(item) - double{scales[item]});
    factors[item] = static_cast<float>(1.0 / __builtin_sqrt(statistics.variance(item) + epsilon_));
  }
}

CropPlace ColumnTransform::placeOf(uint64_t seed) const {
  CropPlace place = {};
  for (uint32_t at = 0; at < cropCount_; ++at) {
    const Crop& crop = crops_[at];
    const uint64_t downs = uint64_t{crop.height} + 2 * uint64_t{crop.pad} - crop.outHeight;
    const uint64_t rights = uint64_t{crop.width} + 2 * uint64_t{crop.pad} - crop.outWidth;
    seed = transformBits(seed);
    // Each of the places is as likely as the others, to one part in 2^32 divided by how many there are.
    const uint64_t down = crop.isRandom ? (seed >> 32) * (downs + 1) >> 32 : downs / 2;
    const uint64_t right = crop.isRandom ? (seed & 0xffffffffu) * (rights + 1) >> 32 : rights / 2;
    const auto dy = static_cast<int32_t>(static_cast<int64_t>(down) - crop.pad);
    const auto dx = static_cast<int32_t>(static_cast<int64_t>(right) - crop.pad);
    const auto yEnd = static_cast<int32_t>(crop.height) - 1;
    const auto xEnd = static_cast<int32_t>(crop.width) - 1;
    if (at == 0) {
      place = {dy, 0, yEnd, dx, 0, xEnd};
      continue;
    }
    place = {place.dy + dy, clamped(place.dy, place.yFirst, place.yLast), clamped(yEnd + place.dy, place.yFirst, place.yLast),
             place.dx + dx, clamped(place.dx, place.xFirst, place.xLast), clamped(xEnd + place.dx, place.xFirst, place.xLast)};
  }
  return place;
}

// ---- a row ----

void ColumnTransform::run(const uint8_t* from, uint8_t* to, const CropPlace& place, const float* scales, uint8_t* scratch) const {
  const bool changes = normalizes_ || stepCount_ > 0 || isHalf_;
  if (!crops()) return changeNumbers(from, itemCount_, scales, to);
  if (!changes) return move(from, to, itemBytes_, place);
  if (normalizes_) {
    changeNumbers(from, itemCount_, scales, scratch);
    return move(scratch, to, shownItemBytes_, place);
  }
  move(from, scratch, itemBytes_, place);
  changeNumbers(scratch, shownCount_, scales, to);
}

float ColumnTransform::numberOf(const uint8_t* from, uint32_t item, const float* scales) const {
  float number = 0;
  makeFloats(from, 1, normalizes_ ? scales + item : nullptr, &number);
  return number;
}

void ColumnTransform::changeNumbers(const uint8_t* from, size_t count, const float* scales, uint8_t* to) const {
  float piece[pieceCount];
  // What is loaded and done needs no pieces.
  const size_t step = isHalf_ || normalizes_ || stepCount_ > 1 ? pieceCount : count;
  for (size_t at = 0; at < count; at += step) {
    const size_t some = count - at < step ? count - at : step;
    float* const floats = isHalf_ ? piece : reinterpret_cast<float*>(to) + at;
    makeFloats(from + at * itemBytes_, some, normalizes_ ? scales + at : nullptr, floats);
    if (!isHalf_) continue;
    auto* const halves = reinterpret_cast<uint16_t*>(to) + at;
    for (size_t k = 0; k < some; ++k) halves[k] = halfOf(piece[k]);
  }
}

/// Elements as floats, after all operations but FLOAT16. `scales` begin with that of the first of them, and are read only with NORMALIZE.
void ColumnTransform::makeFloats(const uint8_t* from, size_t count, const float* scales, float* to) const {
  // The first LINEAR is done while they are loaded.
  const bool isLoaded = !normalizes_ && stepCount_ > 0 && steps_[0].kind == EXRP_TRANSFORM_LINEAR;
  const float scale = isLoaded ? steps_[0].a : 1.0f;
  const float offset = isLoaded ? steps_[0].b : 0.0f;
  switch (type_) {
    case EXRP_TYPE_FLOAT32: loadAs<float>(from, count, scale, offset, to); break;
    case EXRP_TYPE_FLOAT64: loadAs<double>(from, count, scale, offset, to); break;
    case EXRP_TYPE_FLOAT16: loadAs<Half>(from, count, scale, offset, to); break;
    case EXRP_TYPE_UINT8: loadAs<uint8_t>(from, count, scale, offset, to); break;
    case EXRP_TYPE_INT8: loadAs<int8_t>(from, count, scale, offset, to); break;
    case EXRP_TYPE_INT16: loadAs<int16_t>(from, count, scale, offset, to); break;
    default: loadAs<int32_t>(from, count, scale, offset, to);
  }
  if (normalizes_) {
    const float* const rests = scales + itemCount_;
    const float* const factors = rests + itemCount_;
    for (size_t at = 0; at < count; ++at) to[at] = (to[at] - scales[at] - rests[at]) * factors[at];
    clip(to, count, -limit_, limit_);
  }
  for (uint32_t index = isLoaded ? 1 : 0; index < stepCount_; ++index) {
    const Step& step = steps_[index];
    if (step.kind == EXRP_TRANSFORM_LINEAR) linear(to, count, step.a, step.b);
    else clip(to, count, step.a, step.b);
  }
}

/// Crops the pictures of a row.
void ColumnTransform::move(const uint8_t* from, uint8_t* to, size_t itemBytes, const CropPlace& place) const {
  const auto height = static_cast<int32_t>(crops_[0].height);
  const auto outHeight = static_cast<int32_t>(crops_[cropCount_ - 1].outHeight);
  const auto outWidth = static_cast<int32_t>(crops_[cropCount_ - 1].outWidth);
  const size_t pixel = channels_ * itemBytes;
  // Pixels of a line that repeat its first one, and those that repeat its last one.
  const int32_t left = clamped(place.xFirst - place.dx, 0, outWidth);
  const int32_t right = clamped(outWidth - 1 - (place.xLast - place.dx), 0, outWidth - left);
  const auto middle = static_cast<size_t>(outWidth - left - right) * pixel;
  const auto repeat = [&](uint8_t* line, const uint8_t* source, int32_t count) {
    if (pixel == 1) memset(line, *source, static_cast<size_t>(count));
    else for (int32_t k = 0; k < count; ++k) memcpy(line + static_cast<size_t>(k) * pixel, source, pixel);
    return line + static_cast<size_t>(count) * pixel;
  };
  for (uint32_t picture = 0; picture < pictures_; ++picture) {
    for (int32_t y = 0; y < outHeight; ++y) {
      const int32_t row = clamped(y + place.dy, place.yFirst, place.yLast);
      const auto line = static_cast<size_t>(picture) * static_cast<size_t>(height) + static_cast<size_t>(row);
      const uint8_t* const source = from + line * crops_[0].width * pixel;
      if (left > 0) to = repeat(to, source + static_cast<size_t>(place.xFirst) * pixel, left);
      if (middle > 0) memcpy(to, source + static_cast<size_t>(left + place.dx) * pixel, middle);
      to += middle;
      if (right > 0) to = repeat(to, source + static_cast<size_t>(place.xLast) * pixel, right);
    }
  }
}

}  // namespace exrp
