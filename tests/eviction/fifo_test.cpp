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
  test::Items items() const {
    test::Items all;
    for (const uint32_t episode : order) all.push_back(EvictionItem{episode, 0});
    return all;
  }
  std::vector<uint32_t> order;
};

void evictsTheOldestAfterOneInTheMiddleWasRemoved() {
  Fifo fifo(8);
  CHECK(fifo.prepare(8));
  test::createEnded(fifo, {5, 2, 7, 0});
  fifo.removed(2);
  CHECK_EQUAL(fifo.victim(), 5u);
  fifo.removed(5);
  CHECK_EQUAL(fifo.victim(), 7u);
}

void reusedIndexIsTheYoungest() {
  Fifo fifo(3);
  CHECK(fifo.prepare(3));
  test::createEnded(fifo, {0, 1, 2});
  fifo.removed(0);
  test::createEnded(fifo, {0});
  for (const uint32_t episode : {1u, 2u, 0u}) {
    CHECK_EQUAL(fifo.victim(), episode);
    fifo.removed(episode);
  }
}

void passesOverOpenEpisodes() {
  Fifo fifo(3);
  CHECK(fifo.prepare(3));
  for (const uint32_t episode : {0u, 1u, 2u}) fifo.created(episode);
  CHECK_EQUAL(fifo.victim(), EvictionPolicy::none);
  fifo.ended(2, 1);
  CHECK_EQUAL(fifo.victim(), 2u);
  fifo.ended(1, 1);
  CHECK_EQUAL(fifo.victim(), 1u);
}

void loadRefusesAnotherOrder() {
  Fifo fifo(3);
  CHECK(fifo.prepare(3));
  test::createEnded(fifo, {0, 1, 2});
  CHECK_EQUAL(test::loaded(fifo, {{0, 0}, {1, 0}, {2, 0}}), Status::ok);
  CHECK_EQUAL(test::loaded(fifo, {{1, 0}, {0, 0}, {2, 0}}), Status::dataCorrupt);
  CHECK_EQUAL(test::loaded(fifo, {{0, 0}, {1, 1}, {2, 0}}), Status::dataCorrupt);
}

}  // namespace

int main() {
  evictsTheOldestAfterOneInTheMiddleWasRemoved();
  reusedIndexIsTheYoungest();
  passesOverOpenEpisodes();
  loadRefusesAnotherOrder();
  test::conforms<Fifo, FifoTwin>();
  return test::checkResult("fifo");
}
