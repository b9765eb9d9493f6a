// Importance weights: the correction that a learner multiplies into its loss (Schaul et al., Prioritized Experience Replay, section 3.4).
//
// A pick of probability P among N has the weight (N P)^-beta. Divided by the largest weight, that of the smallest probability, it is
// (P_min / P)^beta.
//
// Thread safety: a pure function.
#pragma once

#include <cstdint>

#include "kernel/base/portable_math.hpp"

namespace exrp {

/// The smallest of `count` numbers. Four are found side by side, so that a comparison doesn't wait for the one before.
inline double smallestOf(const double* numbers, uint32_t count) {
  constexpr uint32_t lanes = 4;
  double least[lanes] = {numbers[0], numbers[0], numbers[0], numbers[0]};
  uint32_t index = 0;
  for (; index + lanes <= count; index += lanes) {
    for (uint32_t lane = 0; lane < lanes; ++lane) least[lane] = numbers[index + lane] < least[lane] ? numbers[index + lane] : least[lane];
  }
  for (; index < count; ++index) least[0] = numbers[index] < least[0] ? numbers[index] : least[0];
  for (uint32_t lane = 1; lane < lanes; ++lane) least[0] = least[lane] < least[0] ? least[lane] : least[0];
  return least[0];
}

/// The weights of `count` picks that were drawn with these probabilities. `probabilityMin` is the smallest of the view, or 0: then the
/// smallest of the batch scales them.
inline void importanceWeights(const double* probabilities, uint32_t count, double beta, double probabilityMin, bool avx2, float* weight) {
  const double smallest = probabilityMin > 0 ? probabilityMin : smallestOf(probabilities, count);
  constexpr uint32_t pieceMax = 64;
  double ratio[pieceMax] = {};
  double power[pieceMax];
  for (uint32_t first = 0; first < count; first += pieceMax) {
    const uint32_t piece = count - first < pieceMax ? count - first : pieceMax;
    for (uint32_t index = 0; index < piece; ++index) ratio[index] = smallest / probabilities[first + index];
    portablePow32Many(ratio, beta, power, piece, avx2);
    for (uint32_t index = 0; index < piece; ++index) weight[first + index] = static_cast<float>(power[index]);
  }
}

}  // namespace exrp
