// limit_selector.cpp: the kernel's prioritized selector alone, which bench/limit.ts compares with the limit's tree. It draws and updates,
// but copies no batch and looks up no pick. It is built with the kernel's own flags.
//
// Thread safety: none.
#include <chrono>

#include "selectors/prioritized.hpp"

#define LIMIT_API extern "C" __attribute__((visibility("default")))

namespace {

constexpr uint32_t batchMax = 5000;
exrp::PrioritizedSelector* selector = nullptr;
exrp::Random* random_ = nullptr;
uint32_t picks = 0;
uint32_t indices[batchMax];
double values[batchMax];

}  // namespace

/// A selector of `count` picks with random priorities, in place of the last one; 0 where there is no memory.
LIMIT_API uint32_t limit_selector_create(uint32_t count) {
  delete selector;
  delete random_;
  random_ = new exrp::Random(2, 0);
  selector = new exrp::PrioritizedSelector({}, exrp::Random(1, 0), count);
  if (selector->create() != exrp::Status::ok || !selector->prepare(count)) return 0;
  picks = count;
  for (uint32_t index = 0; index < count; ++index) {
    const double priority = 0.5 + random_->uniform();
    selector->pushed(index);
    selector->setPriority(&index, &priority, 1);
  }
  return selector->select(1, indices, values) == exrp::Status::ok ? 1 : 0;
}

/// Nanoseconds of drawing `batch` picks, the mean of `repeats`.
LIMIT_API double limit_selector_draw(uint32_t batch, uint32_t repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (uint32_t repeat = 0; repeat < repeats; ++repeat) {
    if (selector->select(batch, indices, values) != exrp::Status::ok) return -1;
  }
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / repeats;
}

/// Nanoseconds of setting the priorities of `batch` random picks, and adding up the sums as the next draw would; of `repeats`.
LIMIT_API double limit_selector_update(uint32_t batch, uint32_t repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (uint32_t repeat = 0; repeat < repeats; ++repeat) {
    for (uint32_t k = 0; k < batch; ++k) {
      indices[k] = random_->below(picks);
      values[k] = 0.5 + random_->uniform();
    }
    selector->setPriority(indices, values, batch);
    if (selector->select(1, indices, values) != exrp::Status::ok) return -1;
  }
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / repeats;
}
