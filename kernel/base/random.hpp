// Random: a seeded stream of random numbers, the same on every platform.
//
// xoshiro256++ 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021). splitmix64 fills its state from a
// seed and a stream number, so every selector of a replay has its own stream.
// Thread safety: none; one owner at a time. Cost: about 1 ns a number. Not for cryptography.
// Invariants: 1. the state is never all zero.
#pragma once

#include <cstdint>

namespace exrp {

class Random {
 public:
  static constexpr uint32_t stateBytes = 32;

  Random(uint64_t seed, uint64_t stream) {
    uint64_t mix = seed ^ (stream * 0xD1342543DE82EF95u);
    for (uint64_t& word : state_) word = splitmix(mix);
  }

  /// 64 random bits.
  uint64_t next() {
    const uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  /// Uniform integer in [0, bound), bound >= 1, without bias (Lemire 2019, "Fast random integer generation in an interval").
  uint32_t below(uint32_t bound) {
    uint64_t product = (next() >> 32) * bound;
    auto low = static_cast<uint32_t>(product);
    if (low < bound) {
      const uint32_t threshold = (0u - bound) % bound;
      while (low < threshold) {
        product = (next() >> 32) * bound;
        low = static_cast<uint32_t>(product);
      }
    }
    return static_cast<uint32_t>(product >> 32);
  }

  /// The 32 bytes of state, little-endian.
  void save(uint8_t* bytes) const {
    for (int word = 0; word < 4; ++word)
      for (int byte = 0; byte < 8; ++byte) bytes[word * 8 + byte] = static_cast<uint8_t>(state_[word] >> (8 * byte));
  }

  /// Whether it is not in the one state that can't be: all zero. Bytes of a snapshot may say so.
  bool isPossible() const { return (state_[0] | state_[1] | state_[2] | state_[3]) != 0; }

  /// False, with nothing changed, unless the state isPossible().
  bool load(const uint8_t* bytes) {
    Random made = *this;
    for (int word = 0; word < 4; ++word) {
      made.state_[word] = 0;
      for (int byte = 0; byte < 8; ++byte) made.state_[word] |= static_cast<uint64_t>(bytes[word * 8 + byte]) << (8 * byte);
    }
    if (!made.isPossible()) return false;
    *this = made;
    return true;
  }

 private:
  static uint64_t rotate(uint64_t value, int count) { return (value << count) | (value >> (64 - count)); }
  static uint64_t splitmix(uint64_t& state) {
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  uint64_t state_[4];
};

}  // namespace exrp
