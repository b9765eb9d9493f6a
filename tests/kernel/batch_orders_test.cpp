// Batches ordered ahead, with another thread that draws them while this one records, sets priorities and evicts: what they hold must be
// what a twin gives that draws each at once. Under TSan this is the test that nobody else touches a replay meanwhile.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "kernel/exrp.h"
#include "kernel/random.hpp"
#include "tests/kernel/check.hpp"

namespace {

using exrp::Random;

constexpr uint32_t capacity = 200;

uint32_t make(uint32_t kind) {
  double config[EXRP_CONFIG_COUNT] = {};
  config[EXRP_CONFIG_CAPACITY] = capacity;
  config[EXRP_CONFIG_SEED] = 7;
  config[EXRP_CONFIG_EVICTION] = EXRP_EVICTION_LRU;
  double policy[EXRP_POLICY_COUNT] = {};
  policy[EXRP_POLICY_LENGTH] = 2;
  policy[EXRP_POLICY_STRIDE] = policy[EXRP_POLICY_STACK] = 1;
  policy[EXRP_POLICY_FLAGS] = EXRP_PICK_ALLOW_SHORT;
  policy[EXRP_POLICY_DISCOUNT] = 0.9;
  const uint32_t columns[] = {4, 5, 1, 4, 1, 1, 4, 1, 1};
  uint32_t replay = 0;
  CHECK_EQUAL(exrp_replay_create(config, EXRP_CONFIG_COUNT, policy, EXRP_POLICY_COUNT, columns, 3, &replay), 0);
  const double options[] = {0.6, 1e-6, 1, 0, 0};
  uint32_t selector = 0;
  const uint32_t optionCount = kind == EXRP_SELECTOR_PRIORITIZED ? 5 : 0;
  CHECK_EQUAL(exrp_selector_create(replay, 0, kind, options, optionCount, &selector), 0);
  return replay;
}

/// A batch and its parts' offsets.
struct Batch {
  std::vector<uint8_t> bytes;
  std::vector<double> offsets;
  Batch(uint32_t replay, uint32_t count) : offsets(EXRP_BATCH_COLUMN + 3) {
    CHECK_EQUAL(exrp_batch_layout(replay, 0, count, offsets.data(), static_cast<uint32_t>(offsets.size())), 0);
    bytes.resize(static_cast<size_t>(offsets[EXRP_BATCH_BYTES]));
  }
  template <typename T>
  const T* part(uint32_t index) const {
    return reinterpret_cast<const T*>(bytes.data() + static_cast<size_t>(offsets[index]));
  }
};

/// The same calls on two replays: one orders its batches, the other draws them at once.
void against(uint32_t kind, uint64_t seed) {
  const uint32_t ordered = make(kind);
  const uint32_t plain = make(kind);
  std::atomic<bool> stop = false;
  std::thread runner([&] {
    uint8_t none = 0;
    while (!stop.load(std::memory_order_relaxed)) exrp_batch_run(ordered, &none, 1);
  });
  Random random(seed, 1);
  double handles[2] = {};
  CHECK_EQUAL(exrp_episode_create(ordered, &handles[0]), 0);
  CHECK_EQUAL(exrp_episode_create(plain, &handles[1]), 0);
  std::vector<double> rowOffsets(EXRP_ROW_COLUMN + 3);
  CHECK_EQUAL(exrp_row_layout(ordered, rowOffsets.data(), static_cast<uint32_t>(rowOffsets.size())), 0);
  std::vector<uint8_t> row(static_cast<size_t>(rowOffsets[EXRP_ROW_BYTES]));
  const uint32_t replays[2] = {ordered, plain};
  for (uint32_t turn = 0; turn < 400; ++turn) {
    for (uint32_t step = 0; step < 1 + turn % 7; ++step) {
      for (size_t at = 16; at < row.size(); ++at) row[at] = static_cast<uint8_t>(random.below(256));
      const uint32_t flags = random.below(9) == 0 ? uint32_t{EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS} : 0;
      for (uint32_t which = 0; which < 2; ++which) {
        std::vector<uint8_t> copy = row;
        memcpy(copy.data(), &handles[which], 8);
        CHECK_EQUAL(exrp_record(replays[which], copy.data(), static_cast<uint32_t>(copy.size()), flags), 0);
        memcpy(&handles[which], copy.data(), 8);
      }
    }
    const uint32_t count = 1 + random.below(40);
    Batch one(ordered, count);
    Batch two(plain, count);
    double order = 0;
    CHECK_EQUAL(exrp_batch_order(ordered, 0, count, 0.5, one.bytes.data(), one.offsets[EXRP_BATCH_BYTES], &order), 0);
    const int32_t status = exrp_batch_get(plain, 0, 0, count, count, 0.5, two.bytes.data(), two.offsets[EXRP_BATCH_BYTES]);
    // Now and then this thread comes first, now and then the other.
    if (turn % 3 == 0) std::this_thread::yield();
    CHECK_EQUAL(exrp_batch_take(ordered, order), status);
    if (status == EXRP_STATUS_OK) {
      CHECK(one.bytes == two.bytes);
      std::vector<double> priorities(count);
      for (double& priority : priorities) priority = random.uniform();
      for (uint32_t which = 0; which < 2; ++which) {
        const Batch& batch = which == 0 ? one : two;
        uint32_t applied = 0;
        CHECK_EQUAL(exrp_priority_set(replays[which], 0, batch.part<double>(EXRP_BATCH_PICK_EPISODE),
                                      batch.part<int32_t>(EXRP_BATCH_PICK_POSITION),
                                      reinterpret_cast<const uint8_t*>(priorities.data()), 8, count, &applied),
                    0);
      }
    } else {
      CHECK_EQUAL(status, EXRP_STATUS_EMPTY);
    }
  }
  // The replay may go while the other thread looks for orders, and with orders that nobody takes.
  Batch last(ordered, 8);
  double order = 0;
  CHECK_EQUAL(exrp_batch_order(ordered, 0, 8, 1, last.bytes.data(), last.offsets[EXRP_BATCH_BYTES], &order), 0);
  CHECK_EQUAL(exrp_replay_destroy(ordered), 0);
  stop = true;
  runner.join();
  CHECK_EQUAL(exrp_replay_destroy(plain), 0);
}

void limits() {
  const uint32_t replay = make(EXRP_SELECTOR_UNIFORM);
  double order = 0;
  Batch batch(replay, 4);
  // Nothing is stored: ordered and refused as if drawn now.
  CHECK_EQUAL(exrp_batch_order(replay, 0, 4, 1, batch.bytes.data(), batch.offsets[EXRP_BATCH_BYTES], &order), 0);
  CHECK_EQUAL(exrp_batch_take(replay, order), EXRP_STATUS_EMPTY);
  CHECK_EQUAL(exrp_batch_take(replay, order), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(exrp_batch_take(replay, 0), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(exrp_batch_order(replay, 9, 4, 1, batch.bytes.data(), batch.offsets[EXRP_BATCH_BYTES], &order), 0);
  CHECK_EQUAL(exrp_batch_take(replay, order), EXRP_STATUS_SELECTOR_UNKNOWN);
  double detail[4] = {};
  exrp_error_detail(detail, 4);
  CHECK_EQUAL(detail[0], 9);
  std::vector<double> orders(EXRP_LIMIT_ORDERS);
  for (double& each : orders) {
    CHECK_EQUAL(exrp_batch_order(replay, 0, 4, 1, batch.bytes.data(), batch.offsets[EXRP_BATCH_BYTES], &each), 0);
  }
  CHECK_EQUAL(exrp_batch_order(replay, 0, 4, 1, batch.bytes.data(), batch.offsets[EXRP_BATCH_BYTES], &order), EXRP_STATUS_LIMIT);
  for (const double each : orders) CHECK_EQUAL(exrp_batch_take(replay, each), EXRP_STATUS_EMPTY);
  CHECK_EQUAL(exrp_replay_destroy(replay), 0);
  uint8_t none = 0;
  CHECK_EQUAL(exrp_batch_run(replay, &none, 1), EXRP_STATUS_REPLAY_UNKNOWN);
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    against(EXRP_SELECTOR_UNIFORM, seed);
    against(EXRP_SELECTOR_PRIORITIZED, seed);
  }
  limits();
  return exrp::test::checkResult("batch orders");
}
