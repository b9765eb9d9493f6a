// OrphanHandles: handles are used up in any order, and beyond the most the oldest is forgotten.
#include "kernel/store/orphan_handles.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

int32_t tagOf(uint64_t handle) { return static_cast<int32_t>(handle % 7) - 3; }

std::unique_ptr<OrphanHandles> newOrphans() {
  auto orphans = std::make_unique<OrphanHandles>();
  CHECK(orphans->create() == Status::ok);
  CHECK(orphans->prepare(UINT64_MAX) == Status::ok);
  return orphans;
}

void keepsTheNewest() {
  const std::unique_ptr<OrphanHandles> orphans = newOrphans();
  CHECK_EQUAL(orphans->memoryBytes(), 0.0);
  for (uint64_t handle = 0; handle < 4172; ++handle) orphans->add(handle, tagOf(handle));
  CHECK_EQUAL(orphans->count(), OrphanHandles::countMax);
  CHECK(!orphans->contains(75));
  CHECK_EQUAL(orphans->find(76), 0u);
  CHECK_EQUAL(orphans->find(4171), OrphanHandles::countMax - 1);
  CHECK_EQUAL(orphans->check(), 0);
}

void isAListInOrder() {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const int before = test::failureCount;
    Random random(seed, 0);
    const std::unique_ptr<OrphanHandles> orphans = newOrphans();
    std::vector<uint64_t> twin;
    for (uint64_t handle = 0; handle < 12000; ++handle) {
      if (random.below(8) > 0) {
        orphans->add(handle, tagOf(handle));
        twin.push_back(handle);
        if (twin.size() > OrphanHandles::countMax) twin.erase(twin.begin());
      }
      const uint64_t used = random.below(static_cast<uint32_t>(handle) + 1);
      const auto at = std::find(twin.begin(), twin.end(), used);
      CHECK_EQUAL(orphans->contains(used), at != twin.end());
      CHECK_EQUAL(orphans->remove(used), at != twin.end() ? tagOf(used) : 0);
      if (at != twin.end()) twin.erase(at);
      CHECK_EQUAL(size_t{orphans->count()}, twin.size());
    }
    CHECK(std::equal(twin.begin(), twin.end(), orphans->handles()));
    for (uint32_t at = 0; at < orphans->count(); ++at) CHECK_EQUAL(orphans->tag(at), tagOf(twin[at]));
    CHECK_EQUAL(orphans->check(), 0);
    if (test::failureCount != before) {
      std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
      return;
    }
  }
}

}  // namespace

int main() {
  keepsTheNewest();
  isAListInOrder();
  return test::checkResult("orphan_handles");
}
