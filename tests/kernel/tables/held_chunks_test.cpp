// HeldChunks against a plain map: what was added and not swept out is found, and nothing else.
#include "kernel/tables/held_chunks.hpp"

#include <map>
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;

namespace {

/// As a message that fails: its chunks go again.
void cutsWhatCameLast(Random& random, HeldChunks& held, std::vector<Chunk>& chunks) {
  const uint32_t before = held.count();
  const uint32_t more = random.below(6);
  CHECK(held.prepare(more));
  for (uint64_t k = 0; k < more; ++k) held.add(5000 + k, &chunks[0]);
  uint32_t gone = 0;
  held.cut(before, [&](Chunk*) { ++gone; });
  CHECK_EQUAL(gone, more);
  CHECK_EQUAL(held.count(), before);
  CHECK(held.find(5000) == nullptr);
}

/// Once, a sweep walked through all places that there ever were: what follows took a minute.
void aSweepLooksAtWhatIsThereOnly() {
  constexpr uint64_t most = 1 << 20;
  HeldChunks held(7);
  Chunk chunk = {};
  uint64_t gone = 0;
  const auto isAny = [](const HeldChunks::Held&) { return true; };
  const auto count = [&](Chunk*) { ++gone; };
  for (uint64_t key = 0; key < most; ++key) {
    CHECK(held.prepare(1));
    held.add(key, &chunk);
  }
  held.sweep(isAny, count);
  for (uint64_t key = 0; key < 100'000; ++key) {
    held.add(key, &chunk);
    held.sweep(isAny, count);
  }
  CHECK_EQUAL(gone, most + 100'000);
  CHECK_EQUAL(held.count(), 0u);
}

/// Once, a sweep closed gaps from a place that it had just emptied itself: then some chunks were not found any more.
void holdsWhatAMapHolds(uint64_t seed) {
  Random random(seed, 0);
  HeldChunks held(random.next());
  std::vector<Chunk> chunks(64);
  std::map<uint64_t, Chunk*> plain;
  for (int step = 0; step < 400; ++step) {
    for (uint32_t k = random.below(6); k > 0; --k) {
      const uint64_t key = random.below(40) * (random.below(2) == 0 ? 1 : 0x100000000u);
      CHECK_EQUAL(held.find(key) != nullptr, plain.count(key) == 1);
      if (held.find(key) != nullptr || plain.size() == chunks.size()) continue;
      CHECK(held.prepare(1));
      Chunk* const chunk = &chunks[random.below(64)];
      held.add(key, chunk);
      plain[key] = chunk;
    }
    if (random.below(4) == 0) cutsWhatCameLast(random, held, chunks);
    const uint64_t mark = held.newMark();
    const uint32_t share = random.below(4);
    for (const auto& [key, chunk] : plain)
      if (random.below(4) < share) held.find(key)->mark = mark;
    size_t gone = 0;
    for (auto at = plain.begin(); at != plain.end();) {
      const bool goes = held.find(at->first)->mark == mark;
      gone += goes ? 1 : 0;
      at = goes ? plain.erase(at) : std::next(at);
    }
    size_t swept = 0;
    held.sweep([mark](const HeldChunks::Held& one) { return one.mark == mark; }, [&](Chunk*) { ++swept; });
    CHECK_EQUAL(swept, gone);
    CHECK_EQUAL(uint64_t{held.count()}, uint64_t{plain.size()});
    for (const auto& [key, chunk] : plain) {
      CHECK(held.find(key) != nullptr);
      if (held.find(key) != nullptr) CHECK(held.find(key)->chunk == chunk);
    }
  }
}

}  // namespace

int main() {
  const uint64_t seed = 20261122;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  for (uint64_t k = 0; k < 40; ++k) holdsWhatAMapHolds(seed + k);
  aSweepLooksAtWhatIsThereOnly();
  return exrp::test::checkResult("tables/held_chunks");
}
