// LZ4 blocks: what is encoded comes back; damage is found or gives other bytes, and nothing outside the buffers is touched.
#include "kernel/packing/lz4_block.hpp"

#include <cstring>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

#include <vector>

using namespace exrp;

namespace {

using Data = std::vector<uint8_t>;

Random stream(20261128, 1);

uint32_t below(uint32_t count) { return stream.below(count); }

/// Noise, few values, runs, or a pattern that repeats.
Data someData(uint32_t size) {
  Data data(size);
  const uint32_t kind = below(4);
  const uint32_t period = 1 + below(90);
  for (uint32_t k = 0; k < size; ++k) {
    const auto value = static_cast<uint8_t>(below(256));
    if (kind == 0) data[k] = value;
    else if (kind == 1) data[k] = value & 1;
    else if (kind == 2) data[k] = k > 0 && below(20) > 0 ? data[k - 1] : value;
    else data[k] = k < period || below(200) == 0 ? value : data[k - period];
  }
  return data;
}

/// In memory of exactly its size, so that a read beyond it is found.
Data encode(const Data& data) {
  Data out(lz4Capacity(data.size()));
  out.resize(lz4Encode(data.data(), data.size(), out.data()));
  return Data(out.begin(), out.end());
}

bool decode(const Data& encoded, Data& out) {
  const bool good = lz4Decode(encoded.data(), encoded.size(), out.data(), out.size());
  CHECK_EQUAL(lz4Check(encoded.data(), encoded.size(), out.size()), good);
  return good;
}

void comesBack(const Data& data) {
  Data back(data.size());
  CHECK(decode(encode(data), back));
  CHECK(back == data);
}

void encodesAllSizes() {
  for (uint32_t size = 0; size < 400; ++size) comesBack(someData(size));
  for (const uint32_t size : {1000, 7056, 65535, 65536, 65537, 70000, 200000, 1 << 20}) {
    for (int k = 0; k < 8; ++k) comesBack(someData(static_cast<uint32_t>(size)));
  }
  // Runs of all lengths, and the same noise from farther away than a distance can be.
  for (uint32_t run = 0; run < 600; ++run) {
    Data data = someData(20);
    data.insert(data.end(), run, 7);
    const Data more = someData(20);
    data.insert(data.end(), more.begin(), more.end());
    comesBack(data);
  }
  for (const uint32_t apart : {65534, 65535, 65536, 65537}) {
    Data data(apart + 100);
    for (uint32_t k = 0; k < 100; ++k) data[k] = data[k + apart] = static_cast<uint8_t>(below(256));
    comesBack(data);
  }
}

void compresses() {
  CHECK(encode(Data(7056)).size() < 50);
  CHECK(encode(Data(100)).size() < 20);
}

void knowsTheFormat() {
  // 5 literals, 4 bytes from 3 back, 1 literal and 20 bytes from 1 back, 5 last literals.
  const Data made = {0x50, 'h', 'e', 'l', 'l', 'o', 3, 0, 0x1F, '.', 1, 0, 1, 0x50, 'w', 'o', 'r', 'l', 'd'};
  Data out(35);
  CHECK(decode(made, out));
  CHECK_EQUAL(memcmp(out.data(), "hellollol.....................world", 35), 0);
  // As other encoders write it: the empty block, and a length in many bytes.
  Data none;
  CHECK(decode({0}, none));
  Data long_ = {0xF0, 255, 255, 3};
  long_.insert(long_.end(), 15 + 255 + 255 + 3, 'a');
  Data back(528);
  CHECK(decode(long_, back));
  CHECK(back == Data(528, 'a'));
}

void refusesDamage() {
  const auto refused = [](const Data& data, size_t size) {
    Data out(size);
    CHECK(!decode(data, out));
  };
  refused({}, 0);
  refused({}, 1);
  refused({0x10}, 1);                          // a literal that is not there
  refused({0x10, 7}, 2);                       // fewer bytes than asked for
  refused({0x10, 7}, 0);                       // more
  refused({0x11, 7}, 1);                       // ends with a match
  refused({0x10, 7, 1}, 5);                    // half a distance
  refused({0x10, 7, 0, 0, 0}, 5);              // distance 0
  refused({0x10, 7, 2, 0, 0}, 5);              // a distance before the beginning
  refused({0x10, 7, 1, 0}, 5);                 // no last sequence
  refused({0x1F, 7, 1, 0}, 50);                // a length without its rest
  refused({0xF0, 255}, 300);                   // the same of literals
  refused({0x1F, 7, 1, 0, 255, 255, 9, 0}, 40); // a match longer than the output
  Data endless(1 << 16, 255);
  endless[0] = 0xF0;
  refused(endless, 1000);
}

/// Under a sanitizer this also finds reads and writes outside the buffers, which have exactly the sizes needed.
void survivesDamage(uint64_t rounds) {
  for (uint64_t round = 0; round < rounds; ++round) {
    const Data data = someData(below(400));
    Data encoded = encode(data);
    for (uint32_t k = 1 + below(4); k > 0; --k) {
      const uint32_t at = below(static_cast<uint32_t>(encoded.size()));
      if (below(3) > 0) encoded[at] = static_cast<uint8_t>(below(256));
      else encoded.resize(at + 1);
    }
    const Data exact(encoded.begin(), encoded.end());
    Data out(below(2) == 0 ? data.size() : below(500));
    (void)decode(exact, out);
  }
}

}  // namespace

int main() {
  encodesAllSizes();
  compresses();
  knowsTheFormat();
  refusesDamage();
  survivesDamage(exrp::test::fromEnvironment("EXRP_FUZZ_COUNT", 60000));
  return exrp::test::checkResult("packing/lz4_block");
}
