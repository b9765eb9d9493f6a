// PriorityEndSelector against a plain list that is searched for every draw.
#include "selectors/priority_end.hpp"

#include "tests/selectors/_table.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

struct Plain {
  struct Pick {
    double priority;
    uint64_t stamp;
  };
  std::vector<Pick> picks;
  double priorityMax;
  uint64_t stampNext = 0;

  uint32_t end(bool lowest) const {
    size_t best = 0;
    for (size_t k = 1; k < picks.size(); ++k) {
      const Pick& a = picks[k];
      const Pick& b = picks[best];
      const bool further = lowest ? a.priority < b.priority : a.priority > b.priority;
      if (further || (!(a.priority < b.priority) && !(a.priority > b.priority) && a.stamp < b.stamp)) best = k;
    }
    return static_cast<uint32_t>(best);
  }
};

void drawsAreTheEnd(bool lowest, uint64_t seed) {
  Random random(seed, 9);
  const uint32_t countMax = 1 + random.below(80);
  const double initialPriority = random.below(3);
  PriorityEndSelector selector(lowest, initialPriority, countMax);
  CHECK_EQUAL(selector.create(), Status::ok);
  Table table(selector);
  Plain plain{{}, initialPriority};
  for (int step = 0; step < 800; ++step) {
    const uint32_t kind = random.below(10);
    if (kind < 4 && table.count() < countMax) {
      table.push();
      plain.picks.push_back({plain.priorityMax, plain.stampNext++});
    } else if (kind < 6 && table.count() > 0) {
      const uint32_t index = random.below(table.count());
      table.remove(index);
      plain.picks[index] = plain.picks.back();
      plain.picks.pop_back();
    } else if (table.count() > 0) {
      uint32_t index[20];
      double priority[20];
      const uint32_t count = 1 + random.below(20);
      for (uint32_t k = 0; k < count; ++k) {
        index[k] = random.below(4) == 0 ? plain.end(lowest) : random.below(table.count());
        priority[k] = random.below(2) == 0 ? random.below(4) : random.uniform() * (1 + step / 100);
        plain.picks[index[k]] = {priority[k], plain.stampNext++};
        plain.priorityMax = std::fmax(plain.priorityMax, priority[k]);
      }
      selector.setPriority(index, priority, count);
    }
    CHECK_EQUAL(selector.check(), 0);
    if (table.count() == 0) continue;
    uint32_t index[3];
    double probability[3];
    CHECK_EQUAL(selector.select(3, index, probability), Status::ok);
    for (int k = 0; k < 3; ++k) {
      CHECK_EQUAL(index[k], plain.end(lowest));
      CHECK_EQUAL(probability[k], 1.0);
    }
  }
}

void fill(PriorityEndSelector& selector, uint32_t count, uint64_t seed) {
  Random random(seed, 3);
  for (uint32_t index = 0; index < count; ++index) {
    push(selector, index);
    const double priority = random.below(6);
    if (random.below(2) == 0) selector.setPriority(&index, &priority, 1);
  }
}

void savedAndLoadedItDrawsTheSame() {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    PriorityEndSelector a(seed % 2 == 0, 1.0, 100);
    PriorityEndSelector b(seed % 2 == 0, 1.0, 200);
    CHECK_EQUAL(a.create(), Status::ok);
    CHECK_EQUAL(b.create(), Status::ok);
    fill(a, 100, seed);
    CHECK_EQUAL(load(b, 100, save(a, 100)), Status::ok);
    drawsAreEqual(a, b, 100, seed);
  }
}

void hostileBytes() {
  PriorityEndSelector a(false, 1.0, 20);
  CHECK_EQUAL(a.create(), Status::ok);
  fill(a, 20, 1);
  const auto make = [] {
    auto* selector = new PriorityEndSelector(false, 1.0, 20);
    CHECK_EQUAL(selector->create(), Status::ok);
    return selector;
  };
  const std::vector<uint8_t> good = save(a, 20);
  hostileBytesAreSafe(make, 20, good, 1);
  for (double wrong : {-1.0, std::nan(""), static_cast<double>(HUGE_VAL), -0.0, 5.5}) {
    std::vector<uint8_t> bytes = good;
    std::memcpy(bytes.data() + a.headerBytes() + 16, &wrong, 8);
    auto* selector = make();
    CHECK_EQUAL(load(*selector, 20, bytes), Status::dataCorrupt);
    delete selector;
  }
}

void wrongOptionsAreRefused() {
  for (double wrong : {-1.0, static_cast<double>(HUGE_VAL), std::nan("")}) {
    PriorityEndSelector selector(false, wrong, 10);
    CHECK_EQUAL(selector.create(), Status::argument);
  }
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    drawsAreTheEnd(false, seed);
    drawsAreTheEnd(true, seed);
  }
  savedAndLoadedItDrawsTheSame();
  hostileBytes();
  wrongOptionsAreRefused();
  return checkResult("priority end");
}
