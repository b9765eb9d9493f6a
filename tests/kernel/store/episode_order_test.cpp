// EpisodeOrder against a plain list of positions, with many strides, block lengths and window sizes.
#include "kernel/store/episode_order.hpp"

#include <map>
#include <utility>
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/check.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

/// Episodes of records that are never written, and the picks at the multiples of `stride`.
struct Episodes {
  Episodes(uint32_t blockLength, uint32_t chosenStride) : stride(chosenStride) {
    const Column column = {4, 1, 4, 1, 0, 0};
    CHECK_EQUAL(store.create(&column, 1, blockLength, blockMax), Status::ok);
    CHECK_EQUAL(blocks.create(blockMax), Status::ok);
    PickPolicy policy;
    policy.allowOpenEnd = true;
    policy.stride = stride;
    CHECK_EQUAL(picks.create(policy, blockMax * blockLength, blockMax * blockLength), Status::ok);
    CHECK_EQUAL(store.prepareBlocks(blockMax), Status::ok);
    CHECK_EQUAL(blocks.prepare(store, blockMax), Status::ok);
    CHECK_EQUAL(picks.prepare(uint64_t{blockMax} * blockLength, blockMax * blockLength), Status::ok);
  }

  /// Appends a record to an episode; false where there is no block left.
  bool append(uint32_t episode) {
    const auto known = chains.find(episode);
    const uint32_t position = known == chains.end() ? 0 : known->second.count;
    if (store.within(position) == 0 && store.availableCount() == 0) return false;
    Chain& chain = chains[episode];
    if (store.within(position) == 0) {
      const uint32_t block = store.takeBlock(episode, store.ordinalOf(position), episode);
      if (position > 0) store.link(chain.last, block);
      if (position == 0) chain.first = block;
      chain.last = block;
      blocks.add(episode, store.ordinalOf(position), block);
    }
    ++chain.count;
    if (position % stride == 0) {
      picks.push(store.slotAt(chain.last, position));
      where[{episode, position}] = picks.count() - 1;
      who.push_back({episode, position});
    }
    return true;
  }

  void remove(uint32_t episode) {
    const Chain chain = chains[episode];
    if (begin(chain) < chain.count) picks.removeBefore(store, blocks.find(store, episode, store.ordinalOf(begin(chain))), begin(chain), chain.count);
    uint32_t blockCount = 0;
    for (uint32_t block = chain.first; block != blockNone; block = store.block(block).next, ++blockCount) blocks.remove(episode, store.head(block).ordinal(), block);
    if (store.head(chain.first).ordinal() != 0) blocks.removeFirst(episode, chain.first);
    store.giveChain(chain.first, chain.last, blockCount);
    chains.erase(episode);
    list();
  }

  void removePicks(uint32_t episode, uint32_t begin, uint32_t end) {
    if (begin < end) picks.removeBefore(store, blocks.find(store, episode, store.ordinalOf(begin)), begin, end);
  }

  /// Gives back the episode's first block, which is not its last.
  void trim(uint32_t episode) {
    Chain& chain = chains[episode];
    const uint32_t next = store.block(chain.first).next;
    const uint32_t to = store.head(next).ordinal() << store.blockShift();
    const uint32_t end = (to + stride - 1) / stride * stride;
    removePicks(episode, begin(chain), end < chain.count ? end : chain.count);
    blocks.moveFirst(episode, store.head(chain.first).ordinal(), chain.first, next);
    CHECK_EQUAL(store.giveFirst(chain.first), next);
    chain.first = next;
    list();
  }

  /// Asks the table again where each pick stands.
  void list() {
    where.clear();
    who.assign(picks.count(), {});
    for (const auto& [handle, rest] : chains) {
      uint32_t block = rest.first;
      const uint32_t first = store.head(block).ordinal() << store.blockShift();
      for (uint32_t position = first; position < rest.count; ++position) {
        if (position > first && store.within(position) == 0) block = store.block(block).next;
        if (position % stride != 0) continue;
        const uint32_t index = picks.indexOf(store.slotAt(block, position));
        where[{handle, position}] = index;
        who[index] = {handle, position};
      }
    }
  }

  struct Chain {
    uint32_t first = blockNone;
    uint32_t last = blockNone;
    uint32_t count = 0;
  };
  static constexpr uint32_t blockMax = 64;

  /// The first position that can be a pick.
  uint32_t begin(const Chain& chain) const {
    const uint32_t first = store.head(chain.first).ordinal() << store.blockShift();
    return (first + stride - 1) / stride * stride;
  }

  uint32_t stride;
  Store store;
  BlockIndex blocks;
  PickIndex picks;
  std::map<uint32_t, Chain> chains;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> where;  // episode and position -> index
  std::vector<std::pair<uint32_t, uint32_t>> who;           // and back
};

void predecessorsAreThoseOfTheList(uint64_t seed) {
  Random random(seed, 1);
  Episodes episodes(2u << random.below(5), 1 + random.below(random.below(2) == 0 ? 1 : 7));
  uint32_t born = 0;
  for (int step = 0; step < 300; ++step) {
    const uint32_t kind = random.below(12);
    if (kind == 0 || born == 0) {
      if (episodes.append(born)) ++born;
    } else if (kind < 11) {
      auto chosen = episodes.chains.begin();
      if (episodes.chains.empty()) continue;
      std::advance(chosen, random.below(static_cast<uint32_t>(episodes.chains.size())));
      const uint32_t episode = chosen->first;
      bool room = true;
      for (uint32_t n = 1 + random.below(20); n > 0 && room; --n) room = episodes.append(episode);
      if (!room) episodes.remove(episode);
      else if (random.below(3) == 0 && chosen->second.first != chosen->second.last) episodes.trim(episode);
    } else if (!episodes.chains.empty()) {
      episodes.remove(episodes.chains.begin()->first);
    }
    CHECK_EQUAL(episodes.blocks.check(episodes.store), 0);
    CHECK_EQUAL(episodes.store.check(), 0);
    CHECK_EQUAL(episodes.picks.check(episodes.store), 0);
    CHECK_EQUAL(episodes.picks.count(), static_cast<uint32_t>(episodes.where.size()));
    if (episodes.picks.count() == 0) continue;

    const uint32_t window = 1 + random.below(random.below(4) == 0 ? 100 : 8);
    const uint32_t count = random.below(150);
    std::vector<uint32_t> index(count);
    for (uint32_t& each : index) each = random.below(episodes.picks.count());
    std::vector<uint32_t> before(size_t{count} * window + 1, 0xabcd);
    const EpisodeOrder order(episodes.store, episodes.blocks, episodes.picks);
    order.before(index.data(), count, window, before.data());
    for (uint32_t k = 0; k < count; ++k) {
      const auto [episode, position] = episodes.who[index[k]];
      for (uint32_t i = 1; i <= window; ++i) {
        const uint64_t back = uint64_t{i} * episodes.stride;
        const auto found = back > position ? episodes.where.end() : episodes.where.find({episode, static_cast<uint32_t>(position - back)});
        const uint32_t expected = found == episodes.where.end() ? PickOrder::none : found->second;
        CHECK_EQUAL(before[size_t{k} * window + i - 1], expected);
      }
    }
    CHECK_EQUAL(before.back(), 0xabcdu);
  }
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const int failuresBefore = failureCount;
    predecessorsAreThoseOfTheList(seed);
    if (failureCount != failuresBefore) std::printf("seed %d\n", static_cast<int>(seed));
  }
  return checkResult("episode order");
}
