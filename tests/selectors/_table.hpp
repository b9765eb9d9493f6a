// Shared by the tests of all native selectors: a pick view that tells a selector its changes, random changes, saving and loading, and
// statistics.
#pragma once

#include <cmath>
#include <cstdlib>
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/rules/pick_selector.hpp"
#include "tests/kernel/check.hpp"

namespace exrp::test {

/// A pick is added at the end, with memory for it.
inline void push(PickSelector& selector, uint32_t index) {
  CHECK(selector.prepare(index + 1));
  selector.pushed(index);
}

/// The picks in the view, each by a number that identifies it.
struct Table {
  explicit Table(PickSelector& observer) : selector(&observer) {}

  void push() {
    exrp::test::push(*selector, count());
    picks.push_back(next++);
  }
  void remove(uint32_t index) {
    const uint32_t last = count() - 1;
    if (index != last) selector->moved(last, index);
    selector->popped(last);
    picks[index] = picks[last];
    picks.pop_back();
  }
  uint32_t count() const { return static_cast<uint32_t>(picks.size()); }

  PickSelector* selector;
  std::vector<uint64_t> picks;
  uint64_t next = 0;
};

inline std::vector<uint8_t> save(const PickSelector& selector, uint32_t count) {
  std::vector<uint8_t> bytes(selector.headerBytes() + size_t{selector.itemBytes()} * count + 1);
  selector.saveHeader(bytes.data());
  const uint32_t half = count / 2;  // in two pieces
  uint8_t* items = bytes.data() + selector.headerBytes();
  selector.saveItems(0, half, items);
  selector.saveItems(half, count - half, items + size_t{selector.itemBytes()} * half);
  return bytes;
}

/// Into a selector that has seen no pick yet.
inline Status load(PickSelector& selector, uint32_t count, const std::vector<uint8_t>& bytes) {
  CHECK(selector.prepare(count));
  for (uint32_t index = 0; index < count; ++index) selector.pushed(index);
  const uint32_t part = count / 3;
  const uint8_t* items = bytes.data() + selector.headerBytes();
  Status status = selector.loadHeader(bytes.data());
  if (status == Status::ok) status = selector.loadItems(0, part, items);
  if (status == Status::ok) status = selector.loadItems(part, count - part, items + size_t{selector.itemBytes()} * part);
  if (status == Status::ok) status = selector.loadEnd();
  return status;
}

/// The next 1,000 draws of both are equal, with changes of the view and of priorities between.
inline void drawsAreEqual(PickSelector& a, PickSelector& b, uint32_t count, uint64_t seed) {
  Random random(seed, 77);
  uint32_t indexA[40];
  uint32_t indexB[40];
  double probabilityA[40];
  double probabilityB[40];
  for (int round = 0; round < 40; ++round) {
    CHECK_EQUAL(a.select(25, indexA, probabilityA), Status::ok);
    CHECK_EQUAL(b.select(25, indexB, probabilityB), Status::ok);
    for (int k = 0; k < 25; ++k) {
      CHECK_EQUAL(indexA[k], indexB[k]);
      CHECK_EQUAL(probabilityA[k], probabilityB[k]);
    }
    CHECK_EQUAL(a.probabilityMin(), b.probabilityMin());
    const uint32_t to = random.below(count);
    for (PickSelector* selector : {&a, &b}) {
      if (to != count - 1) selector->moved(count - 1, to);
      selector->popped(count - 1);
      selector->pushed(count - 1);
    }
    double priority[25];
    for (double& p : priority) p = random.below(5) == 0 ? 0.0 : random.uniform() * 3;
    a.setPriority(indexA, priority, 25);
    b.setPriority(indexA, priority, 25);
  }
  CHECK_EQUAL(a.check(), 0);
  CHECK_EQUAL(b.check(), 0);
}

/// Hostile bytes: loading gives a status, and what loaded can be checked, drawn from and changed.
template <typename Make>
void hostileBytesAreSafe(Make make, uint32_t count, const std::vector<uint8_t>& good, uint64_t seed) {
  Random random(seed, 78);
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint8_t> bytes = good;
    if (round % 3 == 0)
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
    else
      for (uint32_t flips = 1 + random.below(4); flips > 0; --flips)
        bytes[random.below(static_cast<uint32_t>(bytes.size()))] ^= static_cast<uint8_t>(1u << random.below(8));
    auto selector = make();
    if (load(*selector, count, bytes) == Status::ok) {
      ++accepted;
      CHECK_EQUAL(selector->check(), 0);
      uint32_t index[16];
      double probability[16];
      CHECK_EQUAL(selector->select(16, index, probability), Status::ok);
      for (uint32_t k = 0; k < 16; ++k) CHECK(index[k] < count);
      CHECK_EQUAL(selector->check(), 0);
    }
    delete selector;
  }
  std::printf("hostile bytes: %d of 3000 accepted\n", accepted);
}

/// Chi-square of counts against expectations, as a distance from its mean in standard deviations.
inline double chiSquareDeviation(const std::vector<double>& observed, const std::vector<double>& expected) {
  double sum = 0.0;
  for (size_t i = 0; i < observed.size(); ++i) sum += (observed[i] - expected[i]) * (observed[i] - expected[i]) / expected[i];
  const auto freedom = static_cast<double>(observed.size() - 1);
  return (sum - freedom) / std::sqrt(2.0 * freedom);
}

}  // namespace exrp::test
