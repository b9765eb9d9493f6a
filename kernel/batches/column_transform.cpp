#include "kernel/batches/column_transform.hpp"

#include <cstring>
#include <type_traits>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernel/base/copy_row.hpp"
#include "kernel/base/float16.hpp"
#include "kernel/base/portable_math.hpp"
#include "kernel/base/typed_number.hpp"
#include "kernel/base/whole_number.hpp"

namespace exrp {
namespace {

struct Half {
  uint16_t bits;
};

template <typename T>
EXRP_IN_LOOPS float floatAt(const uint8_t* from) {
  T value;
  memcpy(&value, from, sizeof value);
  if constexpr (std::is_same_v<T, Half>) return floatOfHalf(value.bits);
  else return static_cast<float>(value);
}

/// Makes each number what `change` makes of it and its place.
template <typename Change>
EXRP_IN_LOOPS void changeEach(float* numbers, size_t count, Change change) {
  for (size_t at = 0; at < count; ++at) numbers[at] = change(numbers[at], at);
}

/// Elements as floats, of each what `change` makes of its float and its number.
template <typename T, typename Change>
EXRP_IN_LOOPS void loadAs(const uint8_t* __restrict from, size_t count, float* __restrict to, Change change) {
  if constexpr (std::is_same_v<T, float>) {
    if (from == reinterpret_cast<const uint8_t*>(to)) return changeEach(to, count, change);
  }
  for (size_t at = 0; at < count; ++at) to[at] = change(floatAt<T>(from + at * sizeof(T)), at);
}

template <typename Change>
EXRP_IN_LOOPS void loadNumbers(uint32_t type, const uint8_t* from, size_t count, float* to, Change change) {
  switch (type) {
    case EXRP_TYPE_FLOAT32: return loadAs<float>(from, count, to, change);
    case EXRP_TYPE_FLOAT64: return loadAs<double>(from, count, to, change);
    case EXRP_TYPE_FLOAT16: return loadAs<Half>(from, count, to, change);
    case EXRP_TYPE_UINT8: return loadAs<uint8_t>(from, count, to, change);
    case EXRP_TYPE_INT8: return loadAs<int8_t>(from, count, to, change);
    case EXRP_TYPE_INT16: return loadAs<int16_t>(from, count, to, change);
    default: return loadAs<int32_t>(from, count, to, change);
  }
}

/// A NaN stays one.
EXRP_IN_LOOPS float clipped(float number, float least, float largest) {
  const float above = number < least ? least : number;
  return above > largest ? largest : above;
}

/// Elements times `scale`, with `offset` added.
EXRP_IN_LOOPS void loadScaled(uint32_t type, const uint8_t* from, size_t count, float scale, float offset, float* to) {
  if (offset == 0.0f) loadNumbers(type, from, count, to, [=](float number, size_t) __attribute__((always_inline)) { return number * scale; });
  else loadNumbers(type, from, count, to, [=](float number, size_t) __attribute__((always_inline)) { return number * scale + offset; });
}

/// Elements that are normalized. The mean is `means` and `rests` together.
EXRP_IN_LOOPS void loadNormalized(uint32_t type, const uint8_t* from, size_t count, const float* __restrict means, const float* __restrict rests,
                                  const float* __restrict factors, float limit, float* to) {
  loadNumbers(type, from, count, to, [=](float number, size_t at) __attribute__((always_inline)) {
    return clipped((number - means[at] - rests[at]) * factors[at], -limit, limit);
  });
}

/// Short lines by units, as calls of memcpy would take longer than the copies.
void copyLine(uint8_t* to, const uint8_t* from, size_t bytes) {
  using Value = RowValue<RowUnit16, 1>;
  if (bytes < sizeof(RowUnit16::Bits) || bytes > 1024) {
    memcpy(to, from, bytes);
    return;
  }
  const size_t last = bytes - sizeof(RowUnit16::Bits);
  for (size_t at = 0; at < last; at += sizeof(RowUnit16::Bits)) Value::copy(to + at, from + at, sizeof(RowUnit16::Bits));
  Value::copy(to + last, from + last, sizeof(RowUnit16::Bits));
}

/// In each line of `width` pixels, makes `fill` of them from `to` on the pixel at `source` from there.
template <typename Unit, size_t fixed>
void fillLines(uint8_t* to, size_t lines, size_t width, size_t fill, ptrdiff_t source) {
  using Bits = typename Unit::Bits;
  auto* line = reinterpret_cast<Bits*>(to);
  for (; lines > 0; --lines, line += width) {
    const Bits pixel = line[source];
    for (size_t x = 0; x < (fixed > 0 ? fixed : fill); ++x) line[x] = pixel;
  }
}
template <typename Unit>
void fillUnits(uint8_t* to, size_t lines, size_t width, size_t fill, ptrdiff_t source) {
  switch (fill) {
    case 0: return;
    case 1: return fillLines<Unit, 1>(to, lines, width, fill, source);
    case 2: return fillLines<Unit, 2>(to, lines, width, fill, source);
    case 3: return fillLines<Unit, 3>(to, lines, width, fill, source);
    case 4: return fillLines<Unit, 4>(to, lines, width, fill, source);
    default: return fillLines<Unit, 0>(to, lines, width, fill, source);
  }
}
void fillPixels(uint8_t* to, size_t lines, size_t width, size_t fill, ptrdiff_t source, size_t bytes) {
  if (bytes == 1) return fillUnits<RowUnit1>(to, lines, width, fill, source);
  if (bytes == 2) return fillUnits<RowUnit2>(to, lines, width, fill, source);
  if (bytes == 4) return fillUnits<RowUnit4>(to, lines, width, fill, source);
  for (; lines > 0; --lines, to += width * bytes) {
    for (size_t x = 0; x < fill; ++x) memcpy(to + x * bytes, to + source * static_cast<ptrdiff_t>(bytes), bytes);
  }
}

int32_t clamped(int32_t value, int32_t least, int32_t largest) { return value < least ? least : value > largest ? largest : value; }

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
  shownItemBytes_ = isHalf_ ? 2 : changes() ? 4 : itemBytes_;
  if (normalizes_ && itemCount_ < pieceCount) scaleRepeats_ = static_cast<uint32_t>(pieceCount / itemCount_);
  if (isHalf_ && itemBytes_ == 1 && !normalizes_ && !avx2_) makeHalves();
  changeRuns_ = runsChanger();
  return Status::ok;
}

/// What changes rows while they are gathered, where it knows all of these operations.
ChangeRuns ColumnTransform::runsChanger() const {
  const uint32_t countMax = normalizes_ ? 0 : 1;
  const bool isLinear = stepCount_ == 1 && steps_[0].kind == EXRP_TRANSFORM_LINEAR;
  if (!avx2_ || type_ != EXRP_TYPE_FLOAT32 || crops() || stepCount_ > countMax || (stepCount_ == 1 && !isLinear) || !changes()) return nullptr;
  return changeRunsOf(itemCount_, normalizes_ ? Change::normalized : steps_[0].b == 0.0f ? Change::scaled : Change::moved, isHalf_);
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

/// A table takes the place of conversions where these have no vectors, or short ones.
void ColumnTransform::makeHalves() {
  uint8_t bytes[256];
  for (uint32_t value = 0; value < 256; ++value) bytes[value] = static_cast<uint8_t>(value);
  changePlain(bytes, 256, nullptr, reinterpret_cast<uint8_t*>(halves_));
  hasHalves_ = true;
}

// ---- before a row ----

size_t ColumnTransform::scratchBytes() const {
  if (!crops()) return 0;
  return normalizes_ ? size_t{itemCount_} * shownItemBytes_ : size_t{shownCount_} * itemBytes_;
}

void ColumnTransform::scalesOf(const ColumnStatistics::Of& statistics, float* scales) const {
  float* const rests = scales + scaleStride();
  float* const factors = rests + scaleStride();
  for (uint32_t item = avx2_ && statistics.records > 0 ? scalesInVectors(statistics, scales) : 0; item < itemCount_; ++item) {
    scales[item] = static_cast<float>(statistics.mean(item));
    rests[item] = static_cast<float>(statistics.mean(item) - double{scales[item]});
    factors[item] = static_cast<float>(1.0 / __builtin_sqrt(statistics.variance(item) + epsilon_));
  }
  for (float* const numbers : {scales, rests, factors}) {
    for (size_t there = itemCount_; there < scaleStride(); there *= 2) {
      const size_t left = scaleStride() - there;
      memcpy(numbers + there, numbers, (left < there ? left : there) * sizeof(float));
    }
  }
}

#if defined(__x86_64__)
/// Those of most elements, four at a time: a division and a root of one number take as long. Returns of how many.
EXRP_AVX2 uint32_t ColumnTransform::scalesInVectors(const ColumnStatistics::Of& statistics, float* scales) const {
  const double* const means = statistics.numbers.data();
  const double* const squares = means + statistics.count;
  const __m256d records = _mm256_set1_pd(static_cast<double>(statistics.records));
  const __m256d epsilon = _mm256_set1_pd(epsilon_);
  uint32_t item = 0;
  for (; item + 4 <= itemCount_; item += 4) {
    const __m256d mean = _mm256_loadu_pd(means + item);
    const __m128 coarse = _mm256_cvtpd_ps(mean);
    const __m256d variance = _mm256_div_pd(_mm256_loadu_pd(squares + item), records);
    const __m256d deviation = _mm256_sqrt_pd(_mm256_add_pd(variance, epsilon));
    _mm_storeu_ps(scales + item, coarse);
    _mm_storeu_ps(scales + scaleStride() + item, _mm256_cvtpd_ps(_mm256_sub_pd(mean, _mm256_cvtps_pd(coarse))));
    _mm_storeu_ps(scales + 2 * scaleStride() + item, _mm256_cvtpd_ps(_mm256_div_pd(_mm256_set1_pd(1.0), deviation)));
  }
  return item;
}
#else
uint32_t ColumnTransform::scalesInVectors(const ColumnStatistics::Of&, float*) const { return 0; }
#endif

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

// ---- rows ----

void ColumnTransform::runTwice(const uint8_t* from, uint8_t* to, uint8_t* also, size_t count, const float* scales) const {
  const auto changeSome = [&](size_t at, size_t some, size_t item) {
    change(from + at * itemBytes_, some, normalizes_ ? scales + item : nullptr, to + at * shownItemBytes_);
    if (also != nullptr) memcpy(also + at * shownItemBytes_, to + at * shownItemBytes_, some * shownItemBytes_);
  };
  if (!normalizes_ || scaleRepeats_ > 1) {
    const size_t all = count * itemCount_;
    const size_t most = normalizes_ ? scaleStride() : also == nullptr ? all : pieceCount;
    for (size_t at = 0; at < all; at += most) changeSome(at, all - at < most ? all - at : most, 0);
    return;
  }
  // A piece of each row, then the next piece of each.
  for (size_t item = 0; item < itemCount_; item += pieceCount) {
    const size_t some = itemCount_ - item < pieceCount ? itemCount_ - item : pieceCount;
    for (size_t row = 0; row < count; ++row) changeSome(row * itemCount_ + item, some, item);
  }
}

void ColumnTransform::run(const uint8_t* from, uint8_t* to, const CropPlace& place, const float* scales, uint8_t* scratch) const {
  if (!crops()) return change(from, itemCount_, scales, to);
  if (runShifted(from, to, place, scales)) return;
  if (!changes()) return move(from, to, itemBytes_, place);
  if (normalizes_) {
    change(from, itemCount_, scales, scratch);
    return move(scratch, to, shownItemBytes_, place);
  }
  move(from, scratch, itemBytes_, place);
  change(scratch, shownCount_, scales, to);
}

/// Makes what a batch shows of elements that stand one after another; `first` is the number of the first of them in its row.
void ColumnTransform::show(const uint8_t* from, size_t first, size_t count, const float* scales, uint8_t* to) const {
  if (!changes()) memcpy(to, from + first * itemBytes_, count * itemBytes_);
  else change(from + first * itemBytes_, count, normalizes_ ? scales + first : nullptr, to);
}

/// Crops pictures that stay as wide as they are. The lines of one that are in the picture are one run of elements, `dx` off the line; only then
/// are the pixels at the edges written, which the run took from neighbouring lines. False where there is no such run, with nothing done.
bool ColumnTransform::runShifted(const uint8_t* from, uint8_t* to, const CropPlace& place, const float* scales) const {
  const auto width = static_cast<int32_t>(crops_[0].width);
  const Crop& last = crops_[cropCount_ - 1];
  const auto outHeight = static_cast<int32_t>(last.outHeight);
  const int32_t left = clamped(place.xFirst - place.dx, 0, width);
  const int32_t right = clamped(width - 1 - (place.xLast - place.dx), 0, width);
  const int32_t top = clamped(place.yFirst - place.dy, 0, outHeight);
  const int32_t end = clamped(place.yLast - place.dy + 1, 0, outHeight);
  if (last.outWidth != crops_[0].width || left + right >= width || top >= end) return false;
  const auto pictureCount = static_cast<int64_t>(crops_[0].height) * width * channels_;
  const size_t rowBytes = size_t{last.outWidth} * channels_ * shownItemBytes_;
  for (uint32_t picture = 0; picture < pictures_; ++picture) {
    int64_t begin = (static_cast<int64_t>(top + place.dy) * width + place.dx) * channels_;
    int64_t count = static_cast<int64_t>(end - top) * width * channels_;
    const int64_t before = begin < 0 ? -begin : 0;  // these are at the edge
    const int64_t behind = begin + count > pictureCount ? begin + count - pictureCount : 0;
    begin += before;
    count -= before + behind;
    uint8_t* const first = to + static_cast<size_t>(top) * rowBytes;
    show(from, picture * static_cast<size_t>(pictureCount) + static_cast<size_t>(begin), static_cast<size_t>(count), scales,
         first + static_cast<size_t>(before) * shownItemBytes_);
    const auto lines = static_cast<size_t>(end - top);
    const size_t pixelBytes = channels_ * shownItemBytes_;
    fillPixels(first, lines, last.outWidth, static_cast<size_t>(left), left, pixelBytes);
    fillPixels(first + static_cast<size_t>(width - right) * pixelBytes, lines, last.outWidth, static_cast<size_t>(right), -1, pixelBytes);
    for (int32_t y = 0; y < top; ++y) memcpy(to + static_cast<size_t>(y) * rowBytes, first, rowBytes);
    uint8_t* const behindLast = to + static_cast<size_t>(end) * rowBytes;
    for (int32_t y = 0; y < outHeight - end; ++y) memcpy(behindLast + static_cast<size_t>(y) * rowBytes, behindLast - rowBytes, rowBytes);
    to += static_cast<size_t>(outHeight) * rowBytes;
  }
  return true;
}

/// Elements as floats, after all operations but FLOAT16. `scales` begin with that of the first of them, and are read only with NORMALIZE.
EXRP_IN_LOOPS void ColumnTransform::makeFloats(const uint8_t* from, size_t count, const float* scales, float* to) const {
  // The first LINEAR is done while they are loaded.
  const bool isLoaded = !normalizes_ && stepCount_ > 0 && steps_[0].kind == EXRP_TRANSFORM_LINEAR;
  if (normalizes_) loadNormalized(type_, from, count, scales, scales + scaleStride(), scales + 2 * scaleStride(), limit_, to);
  else loadScaled(type_, from, count, isLoaded ? steps_[0].a : 1.0f, isLoaded ? steps_[0].b : 0.0f, to);
  for (uint32_t index = isLoaded ? 1 : 0; index < stepCount_; ++index) {
    const Step& step = steps_[index];
    const bool adds = step.b != 0.0f;
    if (step.kind == EXRP_TRANSFORM_CLIP) {
      for (size_t at = 0; at < count; ++at) to[at] = clipped(to[at], step.a, step.b);
    } else if (adds) {
      for (size_t at = 0; at < count; ++at) to[at] = to[at] * step.a + step.b;
    } else {
      for (size_t at = 0; at < count; ++at) to[at] *= step.a;
    }
  }
}

float ColumnTransform::numberOf(const uint8_t* from, uint32_t item, const float* scales) const {
  float number = 0;
  makeFloats(from, 1, normalizes_ ? scales + item : nullptr, &number);
  return number;
}

/// Makes elements what a batch shows, in pieces that stay in the first cache. `scales` are read only with NORMALIZE.
EXRP_IN_LOOPS void ColumnTransform::changeInPieces(const uint8_t* from, size_t count, const float* scales, uint8_t* to) const {
  float piece[pieceCount];
  for (size_t at = 0; at < count; at += pieceCount) {
    const size_t some = count - at < pieceCount ? count - at : pieceCount;
    float* const floats = isHalf_ ? piece : reinterpret_cast<float*>(to) + at;
    makeFloats(from + at * itemBytes_, some, normalizes_ ? scales + at : nullptr, floats);
    if (isHalf_) storeHalves(piece, some, to + at * sizeof(uint16_t));
  }
}
void ColumnTransform::changePlain(const uint8_t* from, size_t count, const float* scales, uint8_t* to) const {
  if (!hasHalves_) return changeInPieces(from, count, scales, to);
  for (size_t at = 0; at < count; ++at) memcpy(to + at * sizeof(uint16_t), halves_ + from[at], sizeof(uint16_t));
}
EXRP_AVX2 void ColumnTransform::changeVectors(const uint8_t* from, size_t count, const float* scales, uint8_t* to) const {
  const size_t done = isHalf_ ? changeEights(from, count, scales, to) : 0;
  if (done < count) changeInPieces(from + done * itemBytes_, count - done, normalizes_ ? scales + done : nullptr, to + done * shownItemBytes_);
}

#if defined(__x86_64__)
/// Makes halves of most elements where it can, in one pass; returns of how many.
size_t ColumnTransform::changeEights(const uint8_t* from, size_t count, const float* scales, uint8_t* to) const {
  const size_t whole = count & ~size_t{7};
  const auto floats = reinterpret_cast<const float*>(from);
  const bool isByte = type_ == EXRP_TYPE_UINT8;
  if (!isByte && type_ != EXRP_TYPE_FLOAT32) return 0;
  if (normalizes_) {
    if (stepCount_ > 0) return 0;
    const float* const rests = scales + scaleStride();
    const float* const factors = rests + scaleStride();
    // Factors of a smaller epsilon may be infinite.
    if (!isByte || epsilon_ < 0x1p-200) isByte ? normalHalves<true>(from, whole, scales, rests, factors, limit_, to)
                                               : normalHalves<true>(floats, whole, scales, rests, factors, limit_, to);
    else normalHalves<false>(from, whole, scales, rests, factors, limit_, to);
    return whole;
  }
  if (stepCount_ > 1 || (stepCount_ == 1 && steps_[0].kind != EXRP_TRANSFORM_LINEAR)) return 0;
  const Step& step = stepCount_ == 1 ? steps_[0] : Step{EXRP_TRANSFORM_LINEAR, 1.0f, 0.0f};
  isByte ? scaledHalves<false>(from, whole, step.a, step.b, to) : scaledHalves<true>(floats, whole, step.a, step.b, to);
  return whole;
}
#else
size_t ColumnTransform::changeEights(const uint8_t*, size_t, const float*, uint8_t*) const { return 0; }
#endif

/// Crops the pictures of a row, line by line.
void ColumnTransform::move(const uint8_t* from, uint8_t* to, size_t itemBytes, const CropPlace& place) const {
  const auto outHeight = static_cast<int32_t>(crops_[cropCount_ - 1].outHeight);
  const auto outWidth = static_cast<int32_t>(crops_[cropCount_ - 1].outWidth);
  const size_t pixel = channels_ * itemBytes;
  // Pixels of a line that repeat the first one of the picture, and those that repeat the last one.
  const int32_t left = clamped(place.xFirst - place.dx, 0, outWidth);
  const int32_t right = clamped(outWidth - 1 - (place.xLast - place.dx), 0, outWidth - left);
  const auto middle = static_cast<size_t>(outWidth - left - right) * pixel;
  for (uint32_t picture = 0; picture < pictures_; ++picture) {
    for (int32_t y = 0; y < outHeight; ++y) {
      const int32_t row = clamped(y + place.dy, place.yFirst, place.yLast);
      const size_t line = size_t{picture} * crops_[0].height + static_cast<size_t>(row);
      const uint8_t* const source = from + line * crops_[0].width * pixel;
      for (int32_t x = 0; x < left; ++x, to += pixel) memcpy(to, source + static_cast<size_t>(place.xFirst) * pixel, pixel);
      if (middle > 0) copyLine(to, source + static_cast<size_t>(left + place.dx) * pixel, middle);
      to += middle;
      for (int32_t x = 0; x < right; ++x, to += pixel) memcpy(to, source + static_cast<size_t>(place.xLast) * pixel, pixel);
    }
  }
}

}  // namespace exrp
