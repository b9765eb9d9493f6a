// BlockIndex against a list of the keys there are, among them keys of the same hash; through growth, removal and new blocks.
#include "kernel/store/block_index.hpp"

#include <unordered_map>
#include <utility>
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

struct Blocks {
  explicit Blocks(uint32_t countMax) {
    const Column column = {4, 1, 4, 1, 0, 0};
    CHECK_EQUAL(store.create(&column, 1, 2, countMax), Status::ok);
    CHECK_EQUAL(store.prepareBlocks(countMax), Status::ok);
    CHECK_EQUAL(index.create(countMax), Status::ok);
  }

  /// The first block of an episode, which was trimmed where the ordinal is not 0; or one that follows on `last`.
  uint32_t add(uint64_t handle, uint32_t ordinal, uint32_t last = blockNone) {
    CHECK_EQUAL(index.prepare(store, 2), Status::ok);
    if (last == blockNone && unused.empty()) unused.push_back(episodeCount++);
    const uint32_t episode = last == blockNone ? unused.back() : store.head(last).episode;
    if (last == blockNone) unused.pop_back();
    const uint32_t block = store.takeBlock(handle, ordinal, episode);
    index.add(handle, ordinal, block);
    if (last != blockNone) store.link(last, block);
    else if (ordinal != 0) index.addFirst(handle, block);
    return block;
  }

  /// The only block of an episode.
  void remove(uint32_t block) {
    if (store.head(block).ordinal() != 0) index.removeFirst(store.handleOf(block), block);
    index.remove(store.handleOf(block), store.head(block).ordinal(), block);
    unused.push_back(store.head(block).episode);
    store.giveChain(block, block, 1);
  }

  Store store;
  BlockIndex index;
  std::vector<uint32_t> unused;  // numbers of episodes
  uint32_t episodeCount = 0;
};

void followsAList(uint64_t seed) {
  constexpr uint32_t countMax = 500;
  Random random(seed, 1);
  Blocks blocks(countMax);
  struct Key {
    uint64_t handle;
    uint32_t ordinal;
    uint32_t block;
  };
  std::vector<Key> live;
  for (int step = 0; step < 20000; ++step) {
    // Up to a random fill and down again.
    const uint32_t wanted = step / 1000 % 2 == 0 ? 9 : 1;
    if (live.size() < countMax && random.below(10) < wanted) {
      const uint64_t handle = static_cast<uint64_t>(step) + 1;
      const uint32_t ordinal = random.below(3) == 0 ? random.below(1 << 20) : 0;
      live.push_back({handle, ordinal, blocks.add(handle, ordinal)});
    } else if (!live.empty()) {
      const uint32_t at = random.below(static_cast<uint32_t>(live.size()));
      const Key gone = live[at];
      live[at] = live.back();
      live.pop_back();
      blocks.remove(gone.block);
      CHECK_EQUAL(blocks.index.find(blocks.store, gone.handle, gone.ordinal), blockNone);
      CHECK_EQUAL(blocks.index.findEpisode(blocks.store, gone.handle), UINT32_MAX);
    }
    if (step % 97 != 0) continue;
    uint32_t entries = 0;
    for (const Key& key : live) {
      CHECK_EQUAL(blocks.index.find(blocks.store, key.handle, key.ordinal), key.block);
      CHECK_EQUAL(blocks.index.findEpisode(blocks.store, key.handle), blocks.store.head(key.block).episode);
      CHECK_EQUAL(blocks.index.find(blocks.store, key.handle, 0), key.ordinal == 0 ? key.block : blockNone);
      entries += key.ordinal == 0 ? 1 : 2;
    }
    CHECK_EQUAL(blocks.index.count(), entries);
    CHECK_EQUAL(blocks.index.check(blocks.store), 0);
  }
}

/// With this many keys, some have the same hash. Each is found, and after one is gone the other still is.
void keysOfOneHash() {
  constexpr uint32_t countMax = 300000;
  Blocks blocks(countMax);
  std::unordered_map<uint32_t, uint32_t> first;  // hash -> block
  std::vector<std::pair<uint32_t, uint32_t>> alike;
  uint32_t last = blockNone;
  for (uint32_t k = 0; k < countMax; ++k) {
    const uint64_t handle = 1 + k / 4;
    last = blocks.add(handle, k % 4, k % 4 == 0 ? blockNone : last);
    const uint32_t block = last;
    const auto [known, isNew] = first.try_emplace(BlockIndex::hashOf(handle, k % 4), block);
    if (!isNew) alike.emplace_back(known->second, block);
  }
  CHECK(!alike.empty());
  CHECK_EQUAL(blocks.index.check(blocks.store), 0);
  for (size_t pair = 0; pair < alike.size(); ++pair) {
    const auto [one, other] = pair % 2 == 0 ? alike[pair] : std::pair{alike[pair].second, alike[pair].first};
    const auto find = [&](uint32_t block) {
      return blocks.index.find(blocks.store, blocks.store.handleOf(block), blocks.store.head(block).ordinal());
    };
    const uint64_t handle = blocks.store.handleOf(one);
    const uint32_t ordinal = blocks.store.head(one).ordinal();
    blocks.index.remove(handle, ordinal, one);
    CHECK_EQUAL(find(one), blockNone);
    CHECK_EQUAL(find(other), other);
    blocks.index.add(handle, ordinal, one);
  }
  CHECK_EQUAL(blocks.index.check(blocks.store), 0);
}

/// An episode loses its blocks one after the other. It is found all the time, and takes no more entries than before.
void aTrimmedEpisodeIsFound() {
  Blocks blocks(64);
  const uint32_t neighbour = blocks.add(6, 0);
  uint32_t first = blocks.add(7, 0);
  uint32_t last = first;
  for (uint32_t ordinal = 1; ordinal < 50; ++ordinal) last = blocks.add(7, ordinal, last);
  CHECK_EQUAL(blocks.index.count(), 51u);
  for (uint32_t ordinal = 0; ordinal + 1 < 50; ++ordinal) {
    blocks.index.moveFirst(7, ordinal, first, blocks.store.block(first).next);
    first = blocks.store.giveFirst(first);
    CHECK_EQUAL(blocks.index.count(), 51 - ordinal);
    CHECK_EQUAL(blocks.index.findEpisode(blocks.store, 7), blocks.store.head(first).episode);
    for (uint32_t other = 0; other < 50; ++other) CHECK_EQUAL(blocks.index.find(blocks.store, 7, other) != blockNone, other > ordinal);
    CHECK_EQUAL(blocks.index.find(blocks.store, 6, 0), neighbour);
    CHECK_EQUAL(blocks.index.check(blocks.store), 0);
  }
  CHECK_EQUAL(blocks.store.head(first).ordinal(), 49u);
  blocks.remove(first);
  CHECK_EQUAL(blocks.index.findEpisode(blocks.store, 7), UINT32_MAX);
  CHECK_EQUAL(blocks.index.count(), 1u);
  CHECK_EQUAL(blocks.index.check(blocks.store), 0);
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const int before = failureCount;
    followsAList(seed);
    if (failureCount != before) std::printf("with seed %llu\n", static_cast<unsigned long long>(seed));
  }
  keysOfOneHash();
  aTrimmedEpisodeIsFound();
  return checkResult("block_index_test");
}
