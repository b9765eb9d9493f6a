// Damaged messages, under the sanitizers: whatever comes, it is taken in or refused, and what is refused has changed nothing.
//
// EXRP_FUZZ_COUNT sets how many are tried, and EXRP_FUZZ_SEED which ones: `deno task fuzz:messages`.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "kernel/base/random.hpp"
#include "tests/kernel/tables/messages.hpp"

using namespace exrp::test;
using exrp::Random;

namespace {

Message randomInsert(Random& random) {
  Insert insert;
  std::vector<uint64_t> keys;
  for (uint32_t k = random.below(4); k > 0; --k) {
    keys.push_back(random.below(12));
    insert.chunks.push_back(chunkOf(keys.back(), random.below(3), random.below(60)));
  }
  for (uint32_t k = random.below(3); k > 0 && !keys.empty(); --k) {
    Item item = {random.below(30), random.below(8) == 0 ? "other" : "t", static_cast<double>(random.below(3)), {}};
    if (random.below(4) == 0) item.own = random.below(3);
    for (uint32_t c = 1 + random.below(3); c > 0; --c) item.chunks.push_back(keys[random.below(static_cast<uint32_t>(keys.size()))]);
    insert.items.push_back(item);
  }
  for (const uint64_t key : keys)
    if (random.below(2) == 0) insert.keep.push_back(key);
  return insert.message();
}

Message randomMutate(Random& random) {
  std::vector<Update> updates;
  std::vector<uint64_t> deletes;
  for (uint32_t k = random.below(4); k > 0; --k) {
    updates.push_back({random.below(30), static_cast<double>(random.below(3))});
    if (random.below(4) == 0) updates.back().own = random.below(3);
  }
  for (uint32_t k = random.below(3); k > 0; --k) deletes.push_back(random.below(30));
  return mutateOf("t", updates, deletes);
}

void damage(Random& random, Message& message) {
  const auto size = static_cast<uint32_t>(message.size());
  for (uint32_t k = random.below(4); k > 0 && size > 0; --k) {
    const size_t at = random.below(size);
    switch (random.below(5)) {
      case 0: message[at] = static_cast<char>(message[at] ^ (1 << random.below(8))); break;
      case 1: message[at] = static_cast<char>(random.next()); break;
      case 2: message[at] = static_cast<char>(message[at] + static_cast<char>(random.below(5)) - 2); break;  // lengths a little off
      case 3: message.insert(at, 1, static_cast<char>(random.below(2) == 0 ? 0xff : random.next())); break;
      default: message.erase(at, 1 + random.below(4)); break;
    }
    if (message.empty()) return;
    if (message.size() < size && k > 1) return;  // places before `size` may be gone
  }
  if (random.below(10) == 0) message.resize(random.below(static_cast<uint32_t>(message.size()) + 1));
}

}  // namespace

int main() {
  const uint64_t count = fromEnvironment("EXRP_FUZZ_COUNT", 60000);
  const uint64_t seed = fromEnvironment("EXRP_FUZZ_SEED", 20261122);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Random random(seed, 0);
  std::vector<double> config = {1, 2};
  addTable(config, 20, {1, 1, -5, 15}, power(0.7), fifo, 4, 3000);
  addTable(config, 5, minSize(2), maxHeap, minHeap);
  TablesUnderTest tables(config, {"t", "other"});
  uint32_t inserter = tables.inserter();
  const uint32_t sampler = tables.sampler(0);
  std::vector<uint8_t> out(4096);
  double before[2 * EXRP_TABLES_INFO_COUNT + EXRP_INSERTER_COUNT + 1] = {};
  double after[2 * EXRP_TABLES_INFO_COUNT + EXRP_INSERTER_COUNT + 1] = {};
  const auto look = [&](double* info) {
    (void)exrp_tables_info(tables.id, 0, info, EXRP_TABLES_INFO_COUNT);
    (void)exrp_tables_info(tables.id, 1, info + EXRP_TABLES_INFO_COUNT, EXRP_TABLES_INFO_COUNT);
    (void)exrp_inserter_read(tables.id, inserter, nullptr, 0, info + 2 * EXRP_TABLES_INFO_COUNT, EXRP_INSERTER_COUNT);
    double store[EXRP_TABLES_STORE_COUNT] = {};
    (void)exrp_tables_store_info(tables.id, store, EXRP_TABLES_STORE_COUNT);
    info[2 * EXRP_TABLES_INFO_COUNT + EXRP_INSERTER_COUNT] = store[EXRP_TABLES_STORE_CHUNK_BYTES];
  };
  uint64_t taken = 0;
  for (uint64_t k = 0; k < count; ++k) {
    const bool isInsert = random.below(3) > 0;
    Message message = isInsert ? randomInsert(random) : randomMutate(random);
    damage(random, message);
    // Memory of exactly this size: the sanitizer sees a byte too many.
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[message.size()]);
    memcpy(exact.get(), message.data(), message.size());
    look(before);
    double info[EXRP_INSERTER_COUNT] = {};
    const auto size = static_cast<uint32_t>(message.size());
    const int32_t status = isInsert ? exrp_inserter_feed(tables.id, inserter, exact.get(), size, 5, info, EXRP_INSERTER_COUNT)
                                    : exrp_tables_mutate(tables.id, exact.get(), size);
    if (status == EXRP_STATUS_OK) {
      ++taken;
    } else {
      look(after);
      CHECK(std::equal(before, std::end(before), after));
      CHECK(status >= EXRP_STATUS_TABLE_UNKNOWN && status <= EXRP_STATUS_ITEM_SLICE);
    }
    if (k % 8 == 0) {
      (void)exrp_sampler_ask(tables.id, sampler, 1 + random.below(3), random.below(3));
      double numbers[EXRP_SAMPLER_COUNT] = {};
      CHECK_EQUAL(exrp_sampler_read(tables.id, sampler, out.data(), static_cast<double>(out.size()), numbers, EXRP_SAMPLER_COUNT), EXRP_STATUS_OK);
      const auto room = static_cast<uint32_t>(out.size());
      CHECK_EQUAL(exrp_inserter_read(tables.id, inserter, out.data(), room, info, EXRP_INSERTER_COUNT), EXRP_STATUS_OK);
    }
    if (k % 512 == 0) {
      CHECK_EQUAL(tables.check(), 0);
      CHECK_EQUAL(exrp_stream_close(tables.id, inserter), EXRP_STATUS_OK);
      inserter = tables.inserter();
    }
  }
  std::printf("%llu of %llu messages were taken in\n", static_cast<unsigned long long>(taken), static_cast<unsigned long long>(count));
  // Both ends must be well met, or the damage is too large or too small.
  CHECK(taken > count / 10 && taken < count - count / 10);
  return checkResult("tables/fuzz");
}
