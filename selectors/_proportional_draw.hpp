// drawProportional: draws indices in proportion to the weights of a SumTree, for the selectors that keep one.
//
// Draw k of n is at r = ((k + u_k) / n) * sum where draws are stratified, and at r = u_k * sum where they are independent. The random
// numbers u_k come in order of k. While all weights are 0, draws are uniform: P(i) = 1 / N.
//
// Thread safety: none of its own. Cost: O(log N) a draw, cache misses overlap.
// It needs a tree that is summed up.
#pragma once

#include <cstdint>

#include "kernel/base/random.hpp"
#include "selectors/sum_tree.hpp"

namespace exrp {

/// Draws `count` of the `pickCount` > 0 indices of a tree that is summed up into `index`, and the probability of each into `probability`.
template <typename Leaf>
void drawProportional(const SumTree<Leaf>& tree, uint32_t pickCount, bool independent, Random& random, uint32_t count,
                      uint32_t* index, double* probability) {
  const double total = tree.total();
  if (!(total > 0.0)) {
    for (uint32_t k = 0; k < count; ++k) index[k] = random.below(pickCount);
    for (uint32_t k = 0; k < count; ++k) probability[k] = 1.0 / pickCount;
    return;
  }
  // Points, then weights, then probabilities stand in the same place: all are doubles.
  for (uint32_t k = 0; k < count; ++k) probability[k] = random.uniform();
  if (!independent) {
    const double share = 1.0 / count;
    const bool isPowerOfTwo = (count & (count - 1)) == 0;  // a product is then exactly the quotient
    for (uint32_t k = 0; k < count; ++k) {
      const double place = static_cast<double>(k) + probability[k];
      probability[k] = isPowerOfTwo ? place * share : place / count;
    }
  }
  for (uint32_t k = 0; k < count; ++k) probability[k] *= total;
  tree.findMany(probability, count, !independent, index, probability);
  for (uint32_t k = 0; k < count; ++k) probability[k] /= total;
}

/// The smallest probability that drawProportional() can report; summed up, with trackMin.
template <typename Leaf>
double proportionalMin(const SumTree<Leaf>& tree, uint32_t pickCount) {
  const double total = tree.total();
  return total > 0.0 ? static_cast<double>(tree.minPositive()) / total : 1.0 / pickCount;
}

}  // namespace exrp
