// Payloads: the bytes of a frame follow from the number that it begins with, so that nobody has to keep them. Listens: what a scan tells of such frames.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/log/log_scan.hpp"

namespace exrp::test {

struct Told {
  LogPlace place;
  uint32_t type;
  bool isWhole;  // the bytes are those of its place in the stream
  bool isRepaired;

  friend bool operator==(const Told& a, const Told& b) {
    return a.place.position() == b.place.position() && a.place.bytes == b.place.bytes && a.type == b.type && a.isWhole == b.isWhole;
  }
};

/// They follow from the seed, too.
class Payloads {
 public:
  explicit Payloads(uint64_t seed) : seed_(seed) {}

  static constexpr uint32_t leastBytes = 4;

  std::vector<uint8_t> make(uint32_t number, uint32_t size) const {
    std::vector<uint8_t> bytes(size);
    fill(number, bytes.data(), size);
    return bytes;
  }
  bool isRight(const uint8_t* bytes, uint32_t size, uint32_t* number) const {
    if (size < leastBytes) return false;
    memcpy(number, bytes, leastBytes);
    std::vector<uint8_t> right(size);
    fill(*number, right.data(), size);
    return memcmp(right.data(), bytes, size) == 0;
  }

 private:
  void fill(uint32_t number, uint8_t* bytes, uint32_t size) const {
    Random random(seed_, number);
    for (uint32_t at = 0; at < size; at += 8) {
      const uint64_t word = number % 3 == 0 ? 0 : random.next();  // zeros look like what a crash leaves
      memcpy(bytes + at, &word, std::min(size - at, 8u));
    }
    memcpy(bytes, &number, leastBytes);
  }

  const uint64_t seed_;
};

class Listens final : public LogVisitor {
 public:
  explicit Listens(const Payloads& payloads) : payloads_(payloads) {}

  bool frame(const LogFrame& frame) override {
    uint32_t number = 0;
    const bool isRight = payloads_.isRight(frame.payload, frame.place.bytes, &number);
    frames.push_back({frame.place, frame.type, isRight, frame.isRepaired});
    numbers.push_back(number);
    if (damages.empty()) ++beforeDamage;
    return true;
  }
  bool damage(const LogDamage& damage) override {
    damages.push_back(damage);
    return true;
  }

  std::vector<Told> frames;
  std::vector<uint32_t> numbers;
  std::vector<LogDamage> damages;
  size_t beforeDamage = 0;

 private:
  const Payloads& payloads_;
};

}  // namespace exrp::test
