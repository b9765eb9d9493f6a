// ColumnTransform: rows of all types and many lengths by random lists, with vectors and without, compared with a slow twin that goes element by element.
// No byte outside a row may be read or written. Every half, and every number between two halves, is converted. What can't be is refused.
#include "kernel/batches/column_transform.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/base/typed_number.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

constexpr uint8_t untouched = 0xA5;
constexpr double infinite = __builtin_inf();

// ---- lists ----

/// A transform as the caller gives it.
struct Given {
  double kind;
  std::vector<double> numbers;
};
using List = std::vector<Given>;

std::vector<double> numbersOf(const List& list, uint32_t type) {
  std::vector<double> numbers;
  for (const Given& given : list) {
    std::vector<double> one(EXRP_TRANSFORM_COUNT);
    one[EXRP_TRANSFORM_KIND] = given.kind;
    one[EXRP_TRANSFORM_TYPE] = type;
    for (size_t at = 0; at < given.numbers.size(); ++at) one[EXRP_TRANSFORM_NUMBER + at] = given.numbers[at];
    numbers.insert(numbers.end(), one.begin(), one.end());
  }
  return numbers;
}

uint32_t bytesOf(uint32_t type) {
  for (const uint32_t bytes : {1u, 2u, 4u}) {
    if (isTypeOf(type, bytes)) return bytes;
  }
  return 8;
}

Column columnOf(uint32_t type, uint32_t itemCount, uint32_t every = 1) {
  Column column = {};
  column.itemBytes = bytesOf(type);
  column.itemCount = itemCount;
  column.bytes = column.itemBytes * itemCount;
  column.every = every;
  return column;
}

Status parse(ColumnTransform& transform, const Column& column, const List& list, uint32_t type, bool isReward = false) {
  return transform.parse(column, isReward, numbersOf(list, type).data(), static_cast<uint32_t>(list.size()), 7);
}

// ---- the slow twin ----

/// The half nearest to a number, ties to even, by the definition of binary16.
uint16_t slowHalf(float number) {
  if (std::isnan(number)) return 0x7e00;
  const uint16_t sign = std::signbit(number) ? 0x8000 : 0;
  const double size = std::fabs(static_cast<double>(number));
  if (size >= 65520) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(size, &exponent);  // size = fraction * 2^exponent, 1/2 <= fraction < 1
  if (size == 0 || exponent < -13) exponent = -13;
  // In units of the last place. A sum that carries into the exponent is right, too.
  const double units = std::nearbyint(std::ldexp(size, 11 - exponent));
  const int bits = (exponent + 13) * 1024 + static_cast<int>(units);
  return static_cast<uint16_t>(sign | bits);
}

/// Running statistics of rows.
struct Statistics {
  ColumnStatistics::Of of;

  Statistics(uint32_t count, Random& random) {
    of.count = count;
    of.records = 1 + random.below(1000);
    CHECK(of.numbers.commit(2 * size_t{count}));
    for (uint32_t item = 0; item < count; ++item) {
      of.numbers[item] = 1000 * random.uniform() - 500;
      of.numbers[count + item] = random.below(9) == 0 ? 0.0 : 1000 * random.uniform();
    }
  }
};

float slowClip(float number, float least, float largest) { return number < least ? least : number > largest ? largest : number; }

/// What one transform makes of one number.
float slowStep(const Given& given, float number, uint32_t item, const ColumnStatistics::Of& statistics) {
  const auto at = [&](size_t index) { return static_cast<float>(given.numbers[index]); };
  if (given.kind == EXRP_TRANSFORM_CLIP) return slowClip(number, at(0), at(1));
  if (given.kind == EXRP_TRANSFORM_LINEAR) {
    const float product = number * at(0);
    return at(1) == 0 ? product : product + at(1);
  }
  if (given.kind != EXRP_TRANSFORM_NORMALIZE) return number;
  const double mean = statistics.mean(item);
  const auto coarse = static_cast<float>(mean);
  const auto factor = static_cast<float>(1 / std::sqrt(statistics.variance(item) + given.numbers[0]));
  const float centred = number - coarse - static_cast<float>(mean - double{coarse});
  return slowClip(centred * factor, -at(1), at(1));
}

/// Pictures one behind the other, whose edges go on for ever.
struct Pictures {
  uint32_t height, width, channels;
  std::vector<uint32_t> items;  // the stored element of each
};

/// The crop by its definition: `pad` pixels on each side, and a part of that.
void slowCrop(const Given& given, uint64_t& seed, Pictures& pictures) {
  const auto number = [&](size_t index) { return static_cast<uint32_t>(given.numbers[index]); };
  const uint32_t pad = number(3), outHeight = number(4), outWidth = number(5);
  const uint32_t downs = pictures.height + 2 * pad - outHeight, rights = pictures.width + 2 * pad - outWidth;
  seed = transformBits(seed);
  const bool isRandom = number(6) == 1;
  const auto top = static_cast<int64_t>(isRandom ? (seed >> 32) * (downs + 1) >> 32 : downs / 2) - pad;
  const auto left = static_cast<int64_t>(isRandom ? (seed & 0xffffffffu) * (rights + 1) >> 32 : rights / 2) - pad;
  const auto inside = [](int64_t place, uint32_t size) { return static_cast<size_t>(place < 0 ? 0 : place >= size ? size - 1 : place); };
  std::vector<uint32_t> made;
  const size_t bytes = size_t{pictures.height} * pictures.width * pictures.channels;
  for (size_t from = 0; from < pictures.items.size(); from += bytes) {
    for (int64_t y = top; y < top + outHeight; ++y) {
      for (int64_t x = left; x < left + outWidth; ++x) {
        const size_t pixel = from + (inside(y, pictures.height) * pictures.width + inside(x, pictures.width)) * pictures.channels;
        for (size_t channel = 0; channel < pictures.channels; ++channel) made.push_back(pictures.items[pixel + channel]);
      }
    }
  }
  pictures = {outHeight, outWidth, pictures.channels, made};
}

/// What a batch shows of a row.
std::vector<uint8_t> slowRow(const List& list, uint32_t type, const std::vector<uint8_t>& row, Pictures pictures, uint64_t seed,
                             const ColumnStatistics::Of& statistics) {
  const uint32_t bytes = bytesOf(type);
  bool isHalf = false, isFloat = false;
  for (const Given& given : list) {
    if (given.kind == EXRP_TRANSFORM_CROP) slowCrop(given, seed, pictures);
    else (given.kind == EXRP_TRANSFORM_FLOAT16 ? isHalf : isFloat) = true;
  }
  std::vector<uint8_t> made;
  const auto add = [&](const auto& value) {
    const auto* const from = reinterpret_cast<const uint8_t*>(&value);
    made.insert(made.end(), from, from + sizeof value);
  };
  for (const uint32_t item : pictures.items) {
    const uint8_t* const from = row.data() + size_t{item} * bytes;
    if (!isHalf && !isFloat) {
      made.insert(made.end(), from, from + bytes);
      continue;
    }
    auto number = static_cast<float>(typedNumber(from, type));
    for (const Given& given : list) number = slowStep(given, number, item, statistics);
    isHalf ? add(slowHalf(number)) : add(number);
  }
  return made;
}

// ---- comparing ----

/// Whether two rows are the same, where the bits of a NaN do not count. Halves have one NaN only.
bool areSame(const uint8_t* a, const uint8_t* b, size_t bytes, bool areFloats) {
  if (!areFloats) return memcmp(a, b, bytes) == 0;
  for (size_t at = 0; at < bytes; at += sizeof(float)) {
    float x = 0, y = 0;
    memcpy(&x, a + at, sizeof x);
    memcpy(&y, b + at, sizeof y);
    if (std::bit_cast<uint32_t>(x) != std::bit_cast<uint32_t>(y) && !(std::isnan(x) && std::isnan(y))) return false;
  }
  return true;
}

bool areUntouched(const uint8_t* from, size_t bytes) {
  for (size_t at = 0; at < bytes; ++at) {
    if (from[at] != untouched) return false;
  }
  return true;
}

/// Random elements, as numbers that transforms have to do with, or as any bits.
std::vector<uint8_t> randomRows(Random& random, uint32_t type, size_t count) {
  std::vector<uint8_t> rows(count * bytesOf(type));
  const bool any = random.below(2) == 0;
  for (size_t at = 0; at < rows.size(); at += bytesOf(type)) {
    const uint64_t bits = random.next();
    const double size = 2000 * random.uniform() - 1000;
    const auto number = static_cast<float>(size);
    if (type == EXRP_TYPE_FLOAT64 && !any) memcpy(&rows[at], &size, sizeof size);
    else if (type == EXRP_TYPE_FLOAT32 && !any) memcpy(&rows[at], &number, sizeof number);
    else memcpy(&rows[at], &bits, bytesOf(type));
  }
  return rows;
}

Given randomStep(Random& random) {
  const double scales[] = {1.0, 1.0 / 255, -0.3, 0.0, 3e38, 1e-40};
  const double offsets[] = {0.0, -0.5, 7.25, -3e38};
  const double bounds[] = {-infinite, -1.0, 0.0, 0.4, 200.0, infinite};
  if (random.below(3) > 0) return {EXRP_TRANSFORM_LINEAR, {scales[random.below(6)], offsets[random.below(4)]}};
  const uint32_t least = random.below(6);
  return {EXRP_TRANSFORM_CLIP, {bounds[least], bounds[least + random.below(6 - least)]}};
}

Given randomCrop(Random& random, const Pictures& pictures, uint32_t height, uint32_t width) {
  const uint32_t pad = random.below(5);
  const bool isShift = random.below(2) == 0;
  const double outHeight = isShift ? height : 1 + random.below(height + 2 * pad);
  const double outWidth = isShift ? width : 1 + random.below(width + 2 * pad);
  return {EXRP_TRANSFORM_CROP, {double(height), double(width), double(pictures.channels), double(pad), outHeight, outWidth, double(random.below(3) > 0)}};
}

/// Rows by a random list: run(), runMany() and runTwice() give what the twin gives, and touch nothing else.
void matchesTwin(uint64_t seed, bool vectors) {
  Random random(seed, vectors ? 1 : 0);
  const uint32_t type = EXRP_TYPE_FLOAT32 + random.below(EXRP_TYPE_INT32);
  const bool crops = random.below(2) == 0;
  Pictures pictures = {1, 1, 1, {}};
  uint32_t pictureCount = 1 + random.below(random.below(4) == 0 ? 1500 : 40);
  if (crops) {
    pictureCount = 1 + random.below(3);
    pictures = {1 + random.below(12), 1 + random.below(20), random.below(2) == 0 ? 1 : 1 + random.below(4), {}};
  }
  const uint32_t itemCount = pictureCount * pictures.height * pictures.width * pictures.channels;
  for (uint32_t item = 0; item < itemCount; ++item) pictures.items.push_back(item);
  List list;
  if (random.below(3) == 0) list.push_back({EXRP_TRANSFORM_NORMALIZE, {random.below(2) == 0 ? 1e-8 : 0.5, random.below(2) == 0 ? infinite : 1.5}});
  uint32_t height = pictures.height, width = pictures.width;
  for (uint32_t steps = random.below(4); steps > 0; --steps) {
    if (!crops || random.below(2) == 0) {
      list.push_back(randomStep(random));
      continue;
    }
    list.push_back(randomCrop(random, pictures, height, width));
    height = static_cast<uint32_t>(list.back().numbers[4]);
    width = static_cast<uint32_t>(list.back().numbers[5]);
  }
  if (list.empty() || random.below(2) == 0) list.push_back({EXRP_TRANSFORM_FLOAT16, {}});
  const bool isHalf = list.back().kind == EXRP_TRANSFORM_FLOAT16;

  ColumnTransform transform(vectors);
  CHECK(parse(transform, columnOf(type, itemCount), list, type) == Status::ok);
  const Statistics statistics(itemCount, random);
  std::vector<float> scales(transform.scaleCount());
  if (transform.normalizes()) transform.scalesOf(statistics.of, scales.data());
  const uint32_t rowCount = 1 + random.below(40);
  std::vector<uint8_t> rows = randomRows(random, type, size_t{rowCount} * itemCount);
  const size_t rowBytes = rows.size() / rowCount;
  const size_t shown = transform.shownBytes();
  std::vector<uint8_t> expected;
  const size_t guard = 64 + 4 * random.below(16);
  std::vector<uint8_t> target(2 * guard + rowCount * shown, untouched);
  std::vector<uint8_t> scratch(transform.scratchBytes());
  for (uint32_t row = 0; row < rowCount; ++row) {
    // No byte more than a row has: a read past it is one that the sanitizer sees.
    const std::vector<uint8_t> one(rows.begin() + static_cast<ptrdiff_t>(row * rowBytes), rows.begin() + static_cast<ptrdiff_t>((row + 1) * rowBytes));
    const uint64_t bits = random.next();
    const std::vector<uint8_t> made = slowRow(list, type, one, pictures, bits, statistics.of);
    CHECK_EQUAL(made.size(), shown);
    if (made.size() != shown) return;
    expected.insert(expected.end(), made.begin(), made.end());
    transform.run(one.data(), target.data() + guard + row * shown, transform.crops() ? transform.placeOf(bits) : CropPlace{}, scales.data(),
                  scratch.data());
  }
  const bool areFloats = !isHalf && std::any_of(list.begin(), list.end(), [](const Given& given) { return given.kind != EXRP_TRANSFORM_CROP; });
  const auto isRight = [&] {
    return areSame(target.data() + guard, expected.data(), expected.size(), areFloats) && areUntouched(target.data(), guard) &&
           areUntouched(target.data() + guard + expected.size(), guard);
  };
  const bool runs = isRight();
  CHECK(runs);
  bool runsMany = true;
  if (!transform.crops()) {
    memset(target.data(), untouched, target.size());
    transform.runMany(rows.data(), target.data() + guard, rowCount, scales.data());
    runsMany = isRight();
    memset(target.data(), untouched, target.size());
    std::vector<uint8_t> other = target;
    transform.runTwice(rows.data(), other.data() + guard, target.data() + guard, rowCount, scales.data());
    runsMany = runsMany && isRight();
    target.swap(other);
    runsMany = runsMany && isRight();
    CHECK(runsMany);
  }
  if (!runs || !runsMany) std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  // A reward's number is that before FLOAT16.
  if (transform.crops()) return;
  const uint32_t item = random.below(itemCount);
  auto number = static_cast<float>(typedNumber(rows.data() + item * bytesOf(type), type));
  for (const Given& given : list) number = slowStep(given, number, item, statistics.of);
  const float found = transform.numberOf(rows.data() + item * bytesOf(type), item, scales.data());
  CHECK(found == number || (std::isnan(found) && std::isnan(number)));
}

// ---- halves ----

/// FLOAT16 of floats.
std::vector<uint16_t> halvesOf(const std::vector<float>& numbers, bool vectors) {
  const auto count = static_cast<uint32_t>(numbers.size());
  ColumnTransform transform(vectors);
  CHECK(parse(transform, columnOf(EXRP_TYPE_FLOAT32, count), {{EXRP_TRANSFORM_FLOAT16, {}}}, EXRP_TYPE_FLOAT32) == Status::ok);
  std::vector<uint16_t> halves(count);
  transform.runMany(reinterpret_cast<const uint8_t*>(numbers.data()), reinterpret_cast<uint8_t*>(halves.data()), 1, nullptr);
  return halves;
}

/// Each half as a float and back, and the floats around the middle between it and the next one.
void everyHalf(bool vectors) {
  std::vector<uint16_t> halves(0x10000);
  for (size_t bits = 0; bits < halves.size(); ++bits) halves[bits] = static_cast<uint16_t>(bits);
  ColumnTransform transform(vectors);
  const List asFloats = {{EXRP_TRANSFORM_LINEAR, {1, 0}}};
  CHECK(parse(transform, columnOf(EXRP_TYPE_FLOAT16, 0x10000), asFloats, EXRP_TYPE_FLOAT16) == Status::ok);
  std::vector<float> floats(halves.size());
  transform.runMany(reinterpret_cast<const uint8_t*>(halves.data()), reinterpret_cast<uint8_t*>(floats.data()), 1, nullptr);
  uint32_t wrong = 0;
  std::vector<float> between;
  for (size_t bits = 0; bits < halves.size(); ++bits) {
    const double right = halfAt(reinterpret_cast<const uint8_t*>(&halves[bits]));
    wrong += std::bit_cast<uint32_t>(floats[bits]) == std::bit_cast<uint32_t>(static_cast<float>(right)) || (std::isnan(right) && std::isnan(floats[bits])) ? 0 : 1;
    if ((bits & 0x7fff) >= 0x7c00) continue;
    const uint16_t next = static_cast<uint16_t>(bits + 1);
    const double after = (next & 0x7fff) == 0x7c00 ? std::copysign(65536.0, right) : halfAt(reinterpret_cast<const uint8_t*>(&next));
    const auto middle = static_cast<float>((right + after) / 2);
    for (const float number : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, std::copysign(1e30f, middle))}) between.push_back(number);
  }
  CHECK_EQUAL(wrong, 0u);
  for (const float number : {0x1p-149f, 0x1p-25f, 0x1.000002p-25f, 3e38f, __builtin_inff(), -__builtin_inff(), __builtin_nanf(""), -__builtin_nanf("")}) {
    between.push_back(number);
  }
  between.push_back(std::bit_cast<float>(0x7f800001u));  // a signalling NaN
  const std::vector<uint16_t> back = halvesOf(floats, vectors);
  const std::vector<uint16_t> rounded = halvesOf(between, vectors);
  wrong = 0;
  for (size_t at = 0; at < floats.size(); ++at) wrong += back[at] == slowHalf(floats[at]) ? 0 : 1;
  for (size_t at = 0; at < between.size(); ++at) wrong += rounded[at] == slowHalf(between[at]) ? 0 : 1;
  CHECK_EQUAL(wrong, 0u);
}

// ---- what can't be ----

void refusesWhatCantBe() {
  constexpr uint32_t type = EXRP_TYPE_UINT8;
  const auto refused = [](const List& list, uint32_t given = EXRP_TYPE_UINT8, uint32_t items = 24, uint32_t every = 1, bool isReward = false) {
    ColumnTransform transform;
    CHECK(parse(transform, columnOf(type, items, every), list, given, isReward) == Status::argument);
  };
  const Given linear = {EXRP_TRANSFORM_LINEAR, {2, 1}}, half = {EXRP_TRANSFORM_FLOAT16, {}}, normal = {EXRP_TRANSFORM_NORMALIZE, {1e-8, 10}};
  const Given crop = {EXRP_TRANSFORM_CROP, {4, 6, 1, 0, 2, 2, 1}};
  const double nan = __builtin_nan("");
  refused({linear}, EXRP_TYPE_OTHER);
  refused({linear}, EXRP_TYPE_INT32);  // of another size
  refused({linear}, EXRP_TYPE_INT32 + 1);
  refused({{0, {1, 0}}});
  refused({{EXRP_TRANSFORM_FLOAT16 + 1, {}}});
  refused({half, linear});
  refused({half, half});
  refused({linear, normal});
  refused({normal}, type, 24, 2);
  for (const double bad : {nan, 0.0, -1.0, infinite}) refused({{EXRP_TRANSFORM_NORMALIZE, {bad, 10}}});
  for (const double bad : {nan, 0.0, -1.0}) refused({{EXRP_TRANSFORM_NORMALIZE, {1e-8, bad}}});
  for (const double bad : {nan, infinite, -infinite, 1e39}) {
    refused({{EXRP_TRANSFORM_LINEAR, {bad, 0}}});
    refused({{EXRP_TRANSFORM_LINEAR, {1, bad}}});
  }
  refused({{EXRP_TRANSFORM_CLIP, {1, 0}}});
  refused({{EXRP_TRANSFORM_CLIP, {nan, 0}}});
  refused({{EXRP_TRANSFORM_CLIP, {0, nan}}});
  refused({crop}, type, 25);             // no whole picture
  refused({crop}, type, 24, 1, true);    // of a reward
  refused({{EXRP_TRANSFORM_CROP, {4, 6, 1, 0, 5, 2, 1}}});
  refused({{EXRP_TRANSFORM_CROP, {4, 6, 1, 0, 2, 7, 1}}});
  refused({{EXRP_TRANSFORM_CROP, {4, 6, 1, 0, 2, 2, 2}}});
  refused({{EXRP_TRANSFORM_CROP, {4, 6, 1, -1, 2, 2, 1}}});
  refused({{EXRP_TRANSFORM_CROP, {4, 6.5, 1, 0, 2, 2, 1}}});
  refused({{EXRP_TRANSFORM_CROP, {4, 6, 0, 0, 2, 2, 1}}});
  refused(List(EXRP_LIMIT_TRANSFORMS + 1, linear));
  ColumnTransform most;
  CHECK(parse(most, columnOf(type, 24), List(EXRP_LIMIT_TRANSFORMS, linear), type) == Status::ok);
  // A first crop of a picture that the second one does not fit.
  refused({crop, crop});
}

}  // namespace

int main() {
  const uint64_t first = exrp::test::fromEnvironment("EXRP_SEED", 1);
  for (const bool vectors : {false, true}) {
    if (vectors && !hasAvx2()) continue;
    everyHalf(vectors);
    for (uint64_t seed = first; seed < first + 800; ++seed) matchesTwin(seed, vectors);
  }
  refusesWhatCantBe();
  return exrp::test::checkResult("column_transform");
}
