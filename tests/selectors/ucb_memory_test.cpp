// A draw of UcbSelector that fails for want of memory changes nothing: not what is saved, and so no later draw. Each batch is tried with
// no memory, with memory for one request, for two, and so on, until it succeeds. A twin that never fails draws the same.
#include "kernel/base/memory.hpp"
#include "selectors/ucb.hpp"
#include "tests/selectors/_table.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

constexpr uint32_t batchMax = 300;
constexpr uint32_t unwritten = 0xdeadbeef;

struct Failures {
  int count = 0;
  int afterDraws = 0;  // those that came after the batch's first draw
};

void drawsAsTheTwin(UcbSelector& selector, UcbSelector& twin, uint32_t pickCount, uint32_t count, Failures* failures) {
  uint32_t index[batchMax];
  double probability[batchMax];
  const std::vector<uint8_t> before = save(selector, pickCount);
  for (uint32_t granted = 0;; ++granted) {
    for (uint32_t k = 0; k < count; ++k) index[k] = unwritten;
    grantMemory(granted);
    const Status status = selector.select(count, index, probability);
    grantMemory(UINT64_MAX);
    if (status == Status::ok) break;
    CHECK_EQUAL(status, Status::memory);
    CHECK(save(selector, pickCount) == before);
    CHECK_EQUAL(selector.check(), 0);
    ++failures->count;
    if (count > 1 && index[1] != unwritten) ++failures->afterDraws;
  }
  uint32_t twinIndex[batchMax];
  double twinProbability[batchMax];
  CHECK_EQUAL(twin.select(count, twinIndex, twinProbability), Status::ok);
  for (uint32_t k = 0; k < count; ++k) {
    CHECK_EQUAL(index[k], twinIndex[k]);
    CHECK_EQUAL(probability[k], twinProbability[k]);
  }
  CHECK(save(selector, pickCount) == save(twin, pickCount));
}

void changePriorities(UcbSelector& selector, UcbSelector& twin, uint32_t pickCount, Random& random) {
  uint32_t index[20];
  double priority[20];
  for (uint32_t k = 0; k < 20; ++k) {
    index[k] = random.below(pickCount);
    priority[k] = random.below(4) == 0 ? random.below(3) : 3 * random.uniform();
  }
  selector.setPriority(index, priority, 20);
  twin.setPriority(index, priority, 20);
}

void failsWithoutATrace(uint64_t seed, bool isProportional, Failures* failures) {
  Random random(seed, 21);
  const double cs[] = {0.0, 1e-9, 0.3, 1.0, 1e6};
  UcbOptions options;
  options.c = cs[random.below(5)];
  options.proportional = isProportional;
  options.initialPriority = random.below(4) == 0 ? 0.0 : 1.0;
  const uint32_t countMax = 1 + random.below(400);
  UcbSelector selector(options, Random(seed, 1), countMax);
  UcbSelector twin(options, Random(seed, 1), countMax);
  CHECK_EQUAL(selector.create(), Status::ok);
  CHECK_EQUAL(twin.create(), Status::ok);
  Table table(selector);
  Table twinTable(twin);
  for (int step = 0; step < 60; ++step) {
    for (uint32_t pushes = random.below(40); pushes > 0 && table.count() < countMax; --pushes) {
      table.push();
      twinTable.push();
    }
    for (uint32_t removals = random.below(8); removals > 0 && table.count() > 1; --removals) {
      const uint32_t index = random.below(table.count());
      table.remove(index);
      twinTable.remove(index);
    }
    if (table.count() == 0) continue;
    if (random.below(2) == 0) changePriorities(selector, twin, table.count(), random);
    drawsAsTheTwin(selector, twin, table.count(), 1 + random.below(batchMax), failures);
  }
  CHECK_EQUAL(selector.check(), 0);
}

}  // namespace

int main() {
  for (bool isProportional : {false, true}) {
    Failures failures;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      const int before = failureCount;
      failsWithoutATrace(seed, isProportional, &failures);
      if (failureCount != before) std::printf("seed %d, %s\n", static_cast<int>(seed), isProportional ? "proportional" : "greedy");
    }
    std::printf("%d draws failed, %d after the first draw of the batch\n", failures.count, failures.afterDraws);
    CHECK(failures.afterDraws > 1000);
  }
  return checkResult("ucb_memory");
}
