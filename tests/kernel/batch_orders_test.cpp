// Batches ordered ahead. Another thread draws them while this one records, sets priorities and evicts. A twin draws each batch at once,
// and both must hold the same bytes. Under TSan this is the test that nobody else touches a replay meanwhile. And a batch that is drawn
// can be taken, and a further one ordered, while the next is being drawn: else nothing would be gained.
#include <atomic>
#include <chrono>
#include <thread>

#include "kernel/base/random.hpp"
#include "kernel/sharing/batch_orders.hpp"
#include "tests/kernel/test_replay.hpp"

namespace {

using namespace exrp::test;
using exrp::Random;

uint32_t make(const SelectorSetup& selector) {
  const TestSetup setup = {.capacity = 200,
                           .seed = 7,
                           .eviction = EXRP_EVICTION_LRU,
                           .policy = policyOf(2, EXRP_PICK_ALLOW_SHORT, 0.9),
                           .columns = {4, 5, 1, 4, 1, 1, 4, 1, 1},
                           .selectors = {selector}};
  return setup.create();
}

/// The same calls on two replays: one orders its batches, the other draws them at once.
void against(const SelectorSetup& selector, uint64_t seed) {
  const uint32_t ordered = make(selector);
  const uint32_t plain = make(selector);
  // The other thread runs the order that it is told of, as a binding's pool does.
  std::atomic<bool> stop = false;
  std::atomic<double> toldOrder = 0;
  std::atomic<uint8_t*> toldBatch = nullptr;
  std::atomic<bool> isRunning = false;
  std::thread runner([&] {
    while (!stop.load()) {
      if (toldOrder.load() == 0) {
        std::this_thread::yield();
        continue;
      }
      isRunning = true;
      const double order = toldOrder.exchange(0);
      if (order != 0) exrp_batch_run(ordered, order, toldBatch.load(), 1);
      isRunning = false;
    }
  });
  Random random(seed, 1);
  double handles[2] = {};
  CHECK_EQUAL(exrp_episode_create(ordered, &handles[0]), 0);
  CHECK_EQUAL(exrp_episode_create(plain, &handles[1]), 0);
  TestRow row(ordered);
  const uint32_t replays[2] = {ordered, plain};
  for (uint32_t turn = 0; turn < 400; ++turn) {
    for (uint32_t step = 0; step < 1 + turn % 7; ++step) {
      for (size_t at = 16; at < row.bytes.size(); ++at) row.bytes[at] = static_cast<uint8_t>(random.below(256));
      const uint32_t flags = random.below(9) == 0 ? uint32_t{EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS} : 0;
      for (uint32_t which = 0; which < 2; ++which) {
        TestRow copy = row;
        CHECK_EQUAL(copy.record(replays[which], &handles[which], flags), 0);
      }
    }
    const uint32_t count = 1 + random.below(40);
    TestBatch one(ordered, count);
    TestBatch two(plain, count);
    double order = 0;
    CHECK_EQUAL(one.order(ordered, &order), 0);
    const int32_t status = two.draw(plain);
    toldBatch = one.bytes.data();
    toldOrder = order;
    // Now and then this thread comes first, now and then the other.
    if (turn % 3 == 0) std::this_thread::yield();
    CHECK_EQUAL(exrp_batch_take(ordered, order), status);
    if (status == EXRP_STATUS_OK) {
      CHECK(one.bytes == two.bytes);
      std::vector<double> priorities(count);
      for (double& priority : priorities) priority = random.uniform();
      for (const auto& [replay, batch] : {std::pair(ordered, &one), std::pair(plain, &two)}) {
        setPriorities(replay, 0, batch->handles(), batch->positions(), priorities);
      }
    } else {
      CHECK_EQUAL(status, EXRP_STATUS_EMPTY);
    }
    // The memory goes with this turn: the other thread has to be done with it.
    toldOrder = 0;
    while (isRunning) std::this_thread::yield();
  }
  // The replay may go while the other thread runs an order, and with orders that nobody takes.
  TestBatch last(ordered, 8);
  double order = 0;
  CHECK_EQUAL(last.order(ordered, &order), 0);
  toldBatch = last.bytes.data();
  toldOrder = order;
  if (seed % 2 == 0) std::this_thread::yield();
  CHECK_EQUAL(exrp_replay_destroy(ordered), 0);
  stop = true;
  runner.join();
  CHECK_EQUAL(exrp_replay_destroy(plain), 0);
}

/// While one order is being drawn, another that is done is taken and a third is given: neither waits.
void meanwhile() {
  exrp::CallFlags flags;
  exrp::BatchOrders orders(flags);
  const double first = orders.give({});
  orders.run([](const exrp::BatchOrder&) { return exrp::Status::ok; });
  const double second = orders.give({});
  std::atomic<bool> began = false;
  std::atomic<bool> ready = false;
  std::atomic<bool> waited = false;
  std::thread runner([&] {
    orders.runFor(second, nullptr, [&](const exrp::BatchOrder& order) {
      if (order.id != second) return exrp::Status::empty;
      began = true;
      // A draw that ends when the other thread has done its calls; were they to wait for it, it would end by itself, much later.
      const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
      while (!ready && std::chrono::steady_clock::now() < until) std::this_thread::yield();
      waited = !ready;
      return exrp::Status::ok;
    });
  });
  while (!began) std::this_thread::yield();
  exrp::Status status = exrp::Status::memory;
  CHECK(orders.take(first, &status));
  CHECK_EQUAL(static_cast<int32_t>(status), EXRP_STATUS_OK);
  CHECK(!orders.take(second, &status));
  const double third = orders.give({});
  CHECK_EQUAL(orders.waiting(), 2);
  ready = true;
  runner.join();
  CHECK(!waited);
  // Nobody kept the memory of the third: it waits for the caller's thread.
  CHECK_EQUAL(orders.waiting(), 1);
  CHECK(orders.take(second, &status));
  CHECK_EQUAL(static_cast<int32_t>(status), EXRP_STATUS_OK);
  CHECK(!orders.take(third, &status));
  orders.run([](const exrp::BatchOrder&) { return exrp::Status::empty; });
  CHECK(orders.take(third, &status));
  CHECK_EQUAL(static_cast<int32_t>(status), EXRP_STATUS_EMPTY);
}

/// Other threads write to the memory of an order only during that order's own call. Before that call, the memory may belong to a Worker
/// that has ended. So the newer of two orders waits for the older one's call, and both calls last until their orders are done.
void memoryIsKept() {
  exrp::CallFlags flags;
  exrp::BatchOrders orders(flags);
  uint8_t memory[2] = {};
  double ids[2] = {};
  for (uint32_t k = 0; k < 2; ++k) {
    exrp::BatchOrder order = {};
    order.batch = &memory[k];
    ids[k] = orders.give(order);
  }
  std::atomic<bool> isKept[2] = {};
  std::atomic<uint32_t> drawnCount = 0;
  std::atomic<uint32_t> unkeptCount = 0;
  const auto draw = [&](const exrp::BatchOrder& order) {
    ++drawnCount;
    if (!isKept[order.id == ids[0] ? 0 : 1]) ++unkeptCount;
    return exrp::Status::ok;
  };
  const auto runFor = [&](uint32_t k) {
    isKept[k] = true;
    if (!orders.runFor(ids[k], &memory[k], draw)) ++unkeptCount;
    isKept[k] = false;
  };
  CHECK(!orders.runFor(ids[1], &memory[0], draw));
  CHECK(!orders.runFor(99, &memory[0], draw));
  std::thread newer([&] { runFor(1); });
  while (!isKept[1]) std::this_thread::yield();
  // It would draw at once, if it were to draw.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_EQUAL(drawnCount.load(), 0u);
  CHECK(isKept[1].load());
  std::thread older([&] { runFor(0); });
  older.join();
  newer.join();
  CHECK_EQUAL(drawnCount.load(), 2u);
  CHECK_EQUAL(unkeptCount.load(), 0u);
  // If the older order's call never comes, closing ends the wait.
  exrp::BatchOrder order = {};
  orders.give(order);
  order.batch = memory;
  const double last = orders.give(order);
  std::thread waiting([&] { orders.runFor(last, memory, draw); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  orders.close();
  waiting.join();
  CHECK_EQUAL(drawnCount.load(), 2u);
}

/// A replay goes with the thread that made it, even while another thread is drawing from it; those of other threads stay.
void threadsEnd() {
  const uint32_t before = exrp_replay_count();
  const uint32_t mine = make(uniform());
  uint32_t left = 0;
  std::thread maker([&] {
    make(uniform());
    CHECK_EQUAL(exrp_replay_destroy(make(prioritized())), 0);
    left = make(uniform());
    CHECK_EQUAL(exrp_replay_count(), before + 3);
  });
  maker.join();
  CHECK_EQUAL(exrp_replay_count(), before + 1);
  CHECK_EQUAL(exrp_replay_destroy(left), EXRP_STATUS_REPLAY_UNKNOWN);
  CHECK_EQUAL(exrp_replay_destroy(mine), 0);
}

/// Ordering a batch, or taking a drawn one, draws no waiting batch. Any other call does.
void untouched() {
  const uint32_t replay = make(uniform());
  double handle = 0;
  CHECK_EQUAL(exrp_episode_create(replay, &handle), 0);
  TestRow row(replay);
  for (uint32_t step = 0; step < 9; ++step) CHECK_EQUAL(row.record(replay, &handle), 0);
  TestBatch batches[] = {TestBatch(replay, 4), TestBatch(replay, 4), TestBatch(replay, 4)};
  const std::vector<uint8_t> before(batches[0].bytes.size(), 0xEE);
  double orders[3] = {};
  for (uint32_t k = 0; k < 3; ++k) {
    batches[k].bytes = before;
    CHECK_EQUAL(batches[k].order(replay, &orders[k]), 0);
    if (k == 0) CHECK_EQUAL(exrp_batch_run(replay, orders[0], batches[0].bytes.data(), 1), 0);
  }
  CHECK_EQUAL(exrp_batch_take(replay, orders[0]), 0);
  CHECK(batches[0].bytes != before);
  CHECK(batches[1].bytes == before);
  CHECK(batches[2].bytes == before);
  double info[EXRP_PICK_VIEW_INFO_COUNT] = {};
  CHECK_EQUAL(exrp_pick_view_info(replay, 0, info, EXRP_PICK_VIEW_INFO_COUNT), 0);
  CHECK(batches[1].bytes != before);
  CHECK(batches[2].bytes != before);
  CHECK_EQUAL(exrp_batch_take(replay, orders[2]), 0);
  CHECK_EQUAL(exrp_batch_take(replay, orders[1]), 0);
  CHECK_EQUAL(exrp_replay_destroy(replay), 0);
}

void limits() {
  const uint32_t replay = make(uniform());
  double order = 0;
  TestBatch batch(replay, 4);
  // Nothing is stored: ordered and refused as if drawn now.
  CHECK_EQUAL(batch.order(replay, &order), 0);
  CHECK_EQUAL(exrp_batch_take(replay, order), EXRP_STATUS_EMPTY);
  CHECK_EQUAL(exrp_batch_take(replay, order), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(exrp_batch_take(replay, 0), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(batch.order(replay, &order, 9), 0);
  CHECK_EQUAL(exrp_batch_take(replay, order), EXRP_STATUS_SELECTOR_UNKNOWN);
  double detail[4] = {};
  exrp_error_detail(detail, 4);
  CHECK_EQUAL(detail[0], 9);
  std::vector<double> orders(EXRP_LIMIT_ORDERS);
  for (double& each : orders) {
    CHECK_EQUAL(batch.order(replay, &each), 0);
  }
  CHECK_EQUAL(batch.order(replay, &order), EXRP_STATUS_ORDERS_FULL);
  for (const double each : orders) CHECK_EQUAL(exrp_batch_take(replay, each), EXRP_STATUS_EMPTY);
  CHECK_EQUAL(exrp_batch_run(replay, orders[0], batch.bytes.data(), 1), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(exrp_replay_destroy(replay), 0);
  CHECK_EQUAL(exrp_batch_run(replay, orders[0], batch.bytes.data(), 1), EXRP_STATUS_REPLAY_UNKNOWN);
}

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    against(uniform(), seed);
    against(prioritized(), seed);
  }
  meanwhile();
  memoryIsKept();
  threadsEnd();
  untouched();
  limits();
  return checkResult("batch orders");
}
