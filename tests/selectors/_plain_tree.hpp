// PlainTree: the slow and obvious definition that SumTree is compared with. The sum of a range of a power of two is the sum of its
// halves. A search goes down by halves.
#pragma once

#include <cstdint>
#include <vector>

namespace exrp::test {

template <typename Leaf>
struct PlainTree {
  std::vector<Leaf> weights;

  double sum(uint64_t low, uint64_t high) const {
    if (low >= weights.size()) return 0.0;
    if (high - low == 1) return static_cast<double>(weights[low]);
    const uint64_t middle = low + (high - low) / 2;
    return sum(low, middle) + sum(middle, high);
  }
  uint64_t span() const {
    uint64_t result = 1;
    while (result < weights.size()) result *= 2;
    return result;
  }
  double total() const { return sum(0, span()); }
  uint64_t find(double r) const {
    uint64_t low = 0;
    uint64_t high = span();
    while (high - low > 1) {
      const uint64_t middle = low + (high - low) / 2;
      const double left = sum(low, middle);
      const bool right = r >= left && sum(middle, high) > 0.0;
      if (right) r -= left;
      (right ? low : high) = middle;
    }
    return low;
  }
  Leaf minPositive() const {
    Leaf result = 0;
    for (const Leaf weight : weights)
      if (weight > 0 && (result == 0 || weight < result)) result = weight;
    return result;
  }
};

}  // namespace exrp::test
