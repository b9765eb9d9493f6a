// Fifo, against a vector in order of creation.
#include "eviction/fifo.hpp"

#include <algorithm>
#include <vector>

#include "tests/eviction/conforms.hpp"

using namespace exrp;

namespace {

struct FifoTwin {
  void created(uint32_t episode) { order.push_back(episode); }
  void sampled(const std::vector<uint32_t>&) {}
  void removed(uint32_t episode) { order.erase(std::find(order.begin(), order.end(), episode)); }
  uint32_t victim(uint32_t spared) { return test::firstBut(items(), spared); }
  test::Items items() const {
    test::Items all;
    for (const uint32_t episode : order) all.push_back(EvictionItem{episode, 0});
    return all;
  }
  std::vector<uint32_t> order;
};

void evictsTheOldestAfterOneInTheMiddleWasRemoved() {
  Fifo fifo(8);
  for (const uint32_t episode : {5u, 2u, 7u, 0u}) fifo.created(episode);
  fifo.removed(2);
  CHECK_EQUAL(fifo.victim(), 5u);
  fifo.removed(5);
  CHECK_EQUAL(fifo.victim(), 7u);
}

void reusedIndexIsTheYoungest() {
  Fifo fifo(3);
  for (const uint32_t episode : {0u, 1u, 2u}) fifo.created(episode);
  fifo.removed(0);
  fifo.created(0);
  for (const uint32_t episode : {1u, 2u, 0u}) {
    CHECK_EQUAL(fifo.victim(), episode);
    fifo.removed(episode);
  }
}

void loadRefusesAnotherOrder() {
  Fifo fifo(3);
  for (const uint32_t episode : {0u, 1u, 2u}) fifo.created(episode);
  CHECK_EQUAL(test::loaded(fifo, {{0, 0}, {1, 0}, {2, 0}}), Status::ok);
  CHECK_EQUAL(test::loaded(fifo, {{1, 0}, {0, 0}, {2, 0}}), Status::dataCorrupt);
  CHECK_EQUAL(test::loaded(fifo, {{0, 0}, {1, 1}, {2, 0}}), Status::dataCorrupt);
}

}  // namespace

int main() {
  evictsTheOldestAfterOneInTheMiddleWasRemoved();
  reusedIndexIsTheYoungest();
  loadRefusesAnotherOrder();
  test::conforms<Fifo, FifoTwin>();
  return test::checkResult("fifo");
}
