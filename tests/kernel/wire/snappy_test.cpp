// Snappy: what is encoded comes back, whole or in part; damage is found or gives other bytes, and nothing outside the buffers is touched.
//
// Bytes that Reverb itself packed are in tests/reverb/real_samples.json.
#include <cstring>
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/wire/snappy.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

using Data = std::vector<uint8_t>;

Random stream(20261122, 0);

uint32_t below(uint32_t count) { return stream.below(count); }

/// Noise, few values, runs, or a pattern that repeats.
Data someData(uint32_t size) {
  Data data(size);
  const uint32_t kind = below(4);
  const uint32_t period = 1 + below(40);
  for (uint32_t k = 0; k < size; ++k) {
    const uint8_t value = static_cast<uint8_t>(below(256));
    if (kind == 0) data[k] = value;
    else if (kind == 1) data[k] = value & 1;
    else if (kind == 2) data[k] = k > 0 && below(20) > 0 ? data[k - 1] : value;
    else data[k] = k < period ? value : data[k - period];
  }
  return data;
}

/// In memory of exactly its size, so that a read beyond it is found.
Data encode(const Data& data) {
  Data out(snappyCapacity(data.size()));
  out.resize(snappyEncode(data.data(), data.size(), out.data()));
  return Data(out.begin(), out.end());
}

void comesBack(const Data& data) {
  const Data encoded = encode(data);
  uint64_t size = 0;
  CHECK(snappyLength(encoded.data(), encoded.size(), &size));
  CHECK_EQUAL(size, data.size());
  Data back(data.size());
  CHECK(snappyDecode(encoded.data(), encoded.size(), back.data(), back.size()));
  CHECK(back == data);
  Data part(below(static_cast<uint32_t>(data.size()) + 1));
  CHECK(snappyDecode(encoded.data(), encoded.size(), part.data(), part.size()));
  CHECK(part == Data(data.begin(), data.begin() + static_cast<int64_t>(part.size())));
}

void encodesAllSizes() {
  for (uint32_t size = 0; size < 300; ++size) comesBack(someData(size));
  const uint32_t sizes[] = {1000, 4095, 65535, 65536, 65537, 65550, 131072 + 15, 200000};
  for (const uint32_t size : sizes) {
    for (int k = 0; k < 8; ++k) comesBack(someData(size));
  }
}

void compresses() {
  CHECK(encode(Data(28224)).size() < 1400);
  CHECK(encode(Data(100)).size() < 12);
}

void knowsTheFormat() {
  // A literal of 5, a near copy of 4 from 3 back, a middle copy of 2 from 5 back, a far copy of 1 from 9 back.
  const Data made = {12, 4 << 2, 'h', 'e', 'l', 'l', 'o', 0 << 2 | 1, 3, 1 << 2 | 2, 5, 0, 0 << 2 | 3, 9, 0, 0, 0};
  uint8_t out[12] = {};
  CHECK(snappyDecode(made.data(), made.size(), out, 12));
  CHECK_EQUAL(memcmp(out, "hellollololl", 12), 0);
}

void refusesDamage() {
  uint8_t out[64] = {};
  const auto refused = [&](Data data, uint64_t size) { CHECK(!snappyDecode(data.data(), data.size(), out, size)); };
  refused({}, 0);
  refused({0x80}, 0);
  refused({0xFF, 0xFF, 0xFF, 0xFF, 0x7F}, 1);  // a length beyond 32 bits
  refused({1}, 1);                             // no element
  refused({1, 0, 7, 0, 8}, 1);                 // more than the length
  refused({2, 0, 7}, 2);                       // less
  refused({2, 1 << 2, 7}, 2);                  // a literal that ends too early
  refused({2, 60 << 2}, 2);                    // a literal without its length
  refused({9, 0, 7, 1 << 2 | 1, 0}, 9);        // distance 0
  refused({9, 0, 7, 1 << 2 | 1, 2}, 9);        // a distance before the beginning
  refused({9, 0, 7, 63 << 2 | 2, 1}, 9);       // half a distance
  refused({1, 0, 7}, 2);                       // another length than expected
}

/// Under a sanitizer this also finds reads and writes outside the buffers, which have exactly the sizes needed.
void survivesDamage(uint32_t rounds) {
  for (uint32_t round = 0; round < rounds; ++round) {
    const Data data = someData(below(400));
    Data encoded = encode(data);
    const uint32_t changes = 1 + below(4);
    for (uint32_t k = 0; k < changes; ++k) {
      const uint32_t at = below(static_cast<uint32_t>(encoded.size()));
      if (below(3) > 0) encoded[at] = static_cast<uint8_t>(below(256));
      else encoded.resize(at + 1);
    }
    const Data exact(encoded.begin(), encoded.end());
    Data out(below(2) == 0 ? data.size() : below(500));
    CHECK(snappyDecode(exact.data(), exact.size(), out.data(), out.size()) || true);
  }
}

}  // namespace

int main() {
  encodesAllSizes();
  compresses();
  knowsTheFormat();
  refusesDamage();
  survivesDamage(100000);
  return exrp::test::checkResult("snappy");
}
