// RateLimiter: against Reverb's formulas with random calls, by the C interface, and by several threads at once.
#include "kernel/base/rate_limiter.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/test_replay.hpp"

using exrp::Random;
using exrp::RateLimiter;
using exrp::Status;
using namespace exrp::test;

namespace {

/// Reverb's rate limiter as rate_limiter.cc has it: CanInsert() and CanSample(), with its three counts.
struct Reverb {
  double ratio;
  double minSize;
  double min;
  double max;
  double inserts = 0;
  double samples = 0;
  double deletes = 0;

  bool canSample(double count) const {
    if (inserts - deletes < minSize) return false;
    return inserts * ratio - samples - count >= min;
  }
  bool canInsert(double count) const {
    if (inserts + count - deletes <= minSize) return true;
    return (inserts + count) * ratio - samples <= max;
  }
};

Reverb randomRule(Random& random) {
  const double ratios[] = {0.25, 0.3, 0.5, 1, 1.7, 2, 8};
  const double ratio = ratios[random.below(7)];
  const auto minSize = static_cast<double>(1 + random.below(20));
  switch (random.below(4)) {
    case 0:
      return {1, minSize, -HUGE_VAL, HUGE_VAL};
    case 1:
      return {1, 1, 0, static_cast<double>(1 + random.below(20))};
    default: {
      const double least = ratio > 1 ? ratio : 1;
      const double error = least * (1 + static_cast<double>(random.below(50)) / 10);
      return {ratio, minSize, ratio * minSize - error, ratio * minSize + error};
    }
  }
}

RateLimiter limiterOf(const Reverb& rule, uint64_t capacity) {
  RateLimiter limiter;
  const double numbers[] = {rule.ratio, rule.minSize, rule.min, rule.max};
  CHECK_EQUAL(limiter.set(numbers, 1, capacity), Status::ok);
  return limiter;
}

/// What the model counted.
exrp::RateCounts countsOf(const Reverb& model) {
  return {static_cast<int64_t>(model.inserts), static_cast<int64_t>(model.samples), static_cast<int64_t>(model.deletes)};
}

void singleRecordsAndPicksFollowReverb(uint64_t seed) {
  Random random(seed, 0);
  for (uint32_t run = 0; run < 200; ++run) {
    Reverb model = randomRule(random);
    RateLimiter limiter = limiterOf(model, 100);
    for (uint32_t call = 0; call < 300; ++call) {
      limiter.setCounts(countsOf(model));
      const bool mayInsert = model.canInsert(1);
      const bool maySample = model.canSample(1);
      double info[EXRP_RATE_LIMITER_COUNT];
      limiter.info(info);
      CHECK_EQUAL(info[EXRP_RATE_LIMITER_INSERTS], model.inserts);
      CHECK_EQUAL(info[EXRP_RATE_LIMITER_SAMPLES], model.samples);
      CHECK_EQUAL(info[EXRP_RATE_LIMITER_INSERTS_ALLOWED] >= 1, mayInsert);
      CHECK_EQUAL(info[EXRP_RATE_LIMITER_SAMPLES_ALLOWED] >= 1, maySample);
      if (maySample && info[EXRP_RATE_LIMITER_SAMPLES_ALLOWED] < 1e9) {
        CHECK(model.canSample(info[EXRP_RATE_LIMITER_SAMPLES_ALLOWED]));
        CHECK(!model.canSample(info[EXRP_RATE_LIMITER_SAMPLES_ALLOWED] + 1));
      }
      CHECK(mayInsert || maySample);  // never a deadlock
      const uint64_t choice = random.below(10);
      if (choice == 0 && limiter.counts().stored() > 0) {
        model.deletes += 1;
      } else if (choice < 5) {
        CHECK_EQUAL(limiter.admit(EXRP_ALLOW_INSERTS, 1), mayInsert ? Status::ok : Status::rateLimiter);
        model.inserts += mayInsert ? 1 : 0;
      } else {
        CHECK_EQUAL(limiter.admit(EXRP_ALLOW_SAMPLES, 1), maySample ? Status::ok : Status::rateLimiter);
        model.samples += maySample ? 1 : 0;
      }
    }
  }
}

void callsOfManyAreAllOrNothingAndNeverWaitForEachOther(uint64_t seed) {
  Random random(seed, 1);
  uint32_t stuckCount = 0;
  for (uint32_t run = 0; run < 300; ++run) {
    Reverb model = randomRule(random);
    RateLimiter limiter = limiterOf(model, 100);
    const double band = model.max - model.min;
    const auto records = static_cast<uint32_t>(1 + random.below(12));
    const auto picks = static_cast<uint32_t>(1 + random.below(40));
    const bool fits = picks <= band && records * model.ratio <= band;
    for (uint32_t call = 0; call < 200; ++call) {
      limiter.setCounts(countsOf(model));
      const bool below = static_cast<double>(limiter.counts().stored()) < model.minSize && records * model.ratio <= band;
      const bool mayInsert = model.canInsert(records) || below;
      const bool maySample = model.canSample(picks);
      const Status inserted = limiter.admit(EXRP_ALLOW_INSERTS, records);
      CHECK_EQUAL(inserted == Status::ok, mayInsert);
      const Status drawn = limiter.admit(EXRP_ALLOW_SAMPLES, picks);
      CHECK_EQUAL(drawn == Status::ok, maySample);
      if (picks > band) CHECK(maySample || drawn == Status::rateLimiterSize);
      if (records * model.ratio > band) CHECK(mayInsert || inserted == Status::rateLimiterSize);
      if (fits && !mayInsert && !maySample) {
        // The second call that would wait for the first fails for good, and says how wide a band both need.
        CHECK_EQUAL(inserted, Status::rateLimiter);
        CHECK_EQUAL(drawn, Status::rateLimiterSize);
        const double needed = exrp::errorDetail[3];
        CHECK_EQUAL(needed, picks + records * model.ratio);
        CHECK(needed > band);
        ++stuckCount;
        break;
      }
      if (mayInsert && (random.below(2) == 0 || !maySample)) model.inserts += records;
      else if (maySample) model.samples += picks;
      if (random.below(20) == 0) model.deletes += static_cast<double>(random.below(static_cast<uint32_t>(limiter.counts().stored()) + 1));
    }
  }
  CHECK(stuckCount > 10);
}

// ---- by the C interface ----

TestSetup limited(double capacity) {
  return {.capacity = capacity, .seed = 7, .policy = policyOf(1, EXRP_PICK_ALLOW_OPEN_END), .selectors = {uniform()}};
}

/// One user of a replay, with an episode of its own.
class User : public TestReplay {
 public:
  explicit User(const TestSetup& setup) : TestReplay(setup) {}
  User(const TestSetup& setup, uint32_t attached) : TestReplay(setup, attached) {}

  int32_t record() { return tryRecord(&episode_); }
  int32_t recordMany(uint32_t count, uint32_t* done) { return steps(count).recordMany(id, &episode_, 0, done); }
  /// Steps of which the third is no record but an end.
  int32_t recordFlat(uint32_t count) {
    TestSteps flat = steps(count);
    flat.bytes[2] = EXRP_RECORD_FINAL;
    uint32_t done[2] = {};
    std::vector<double> episodes(count);
    return exrp_record_flat(id, &episode_, flat.bytes.data(), flat.size(), count, 0, done, episodes.data(), count);
  }
  int32_t draw(uint32_t count) { return TestBatch(id, count).draw(id, 0, 0); }
  /// Orders a batch, runs the order and takes the batch.
  int32_t orderAndTake(uint32_t count) {
    TestBatch batch(id, count);
    double order = 0;
    CHECK_EQUAL(batch.order(id, &order, 0, 0), 0);
    CHECK_EQUAL(exrp_batch_run(id, order, batch.bytes.data(), batch.size()), 0);
    return exrp_batch_take(id, order);
  }
  double limiter(uint32_t index) const {
    double numbers[EXRP_RATE_LIMITER_COUNT];
    CHECK_EQUAL(exrp_rate_limiter_info(id, numbers, EXRP_RATE_LIMITER_COUNT), 0);
    return numbers[index];
  }

 private:
  double episode_ = begin();
};

int32_t trySet(uint32_t replay, std::vector<double> numbers) {
  return exrp_rate_limiter_set(replay, numbers.data(), static_cast<uint32_t>(numbers.size()));
}
void setLimiter(uint32_t replay, std::vector<double> numbers) { CHECK_EQUAL(trySet(replay, numbers), 0); }

void aRuleThatBlocksEverythingIsRefusedAndANewOneBeginsAtMinSize() {
  User user(limited(100));
  setLimiter(user.id, {8, 10, 0, 100});
  for (const std::vector<double>& wrong : std::vector<std::vector<double>>{{0, 10, 0, 100},
                                                                         {NAN, 10, 0, 100},
                                                                         {8, 0, 0, 100},
                                                                         {8, 10.5, 0, 100},
                                                                         {8, 101, 0, 100},
                                                                         {8, 10, 81, 100},
                                                                         {8, 10, 0, 7.5},
                                                                         {0.5, 10, 0, 0.9},
                                                                         {8, 10, NAN, 100},
                                                                         {8, 10, 0, NAN},
                                                                         {8, 10, 0},
                                                                         {8, 10, 0, 100, 1, 0},
                                                                         {8, 10, 0, 100, 0, -1}}) {
    CHECK_EQUAL(trySet(user.id, wrong), EXRP_STATUS_ARGUMENT);
    CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_MIN_SIZE), 10.0);
    CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_RATIO), 8.0);
  }
  setLimiter(user.id, {});
  uint32_t done = 0;
  CHECK_EQUAL(user.recordMany(500, &done), 0);
  setLimiter(user.id, {8, 10, 70, 90});
  CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_INSERTS), 10.0);
  CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_SAMPLES_ALLOWED), 10.0);
  CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_INSERTS_ALLOWED), 1.0);
  setLimiter(user.id, {8, 10, 70, 90, 40, 300});
  CHECK_EQUAL(user.record(), 0);
  CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_INSERTS), 41.0);
  CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_SAMPLES), 300.0);
  setLimiter(user.id, {});
  CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_MIN_SIZE), 0.0);
  CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_SAMPLES_ALLOWED), HUGE_VAL);
  CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_INSERTS_ALLOWED), HUGE_VAL);
  CHECK_EQUAL(user.draw(1000), 0);
  CHECK_EQUAL(user.record(), 0);
}

void eachCallThatRecordsOrDrawsFollowsTheRateLimiter() {
  User user(limited(1000));
  const uint32_t replay = user.id;
  CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_MIN_SIZE), 0.0);
  setLimiter(replay, {1, 4, 0, 8});  // from 4 on, between 0 and 8 records that were not drawn
  CHECK_EQUAL(user.record(), 0);
  CHECK_EQUAL(user.draw(1), EXRP_STATUS_RATE_LIMITER);
  uint32_t done = 0;
  CHECK_EQUAL(user.recordMany(7, &done), 0);
  CHECK_EQUAL(done, 7u);
  CHECK_EQUAL(user.record(), EXRP_STATUS_RATE_LIMITER);
  double detail[4];
  exrp_error_detail(detail, 4);
  CHECK(detail[0] == EXRP_ALLOW_INSERTS && detail[1] == 1 && detail[2] == 0 && detail[3] == 8);
  done = 0;
  CHECK_EQUAL(user.recordMany(2, &done), EXRP_STATUS_RATE_LIMITER);
  CHECK_EQUAL(done, 0u);
  CHECK_EQUAL(user.draw(9), EXRP_STATUS_RATE_LIMITER_SIZE);
  done = 1;  // a call that goes on was allowed before
  CHECK_EQUAL(user.recordMany(2, &done), 0);
  CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_INSERTS), 9.0);
  CHECK_EQUAL(user.draw(8), 0);
  CHECK_EQUAL(user.recordFlat(8), 0);  // seven records
  CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_INSERTS), 16.0);
  CHECK_EQUAL(user.recordFlat(3), EXRP_STATUS_RATE_LIMITER);

  // Batches of several calls, and steps that are handed out in another way.
  CHECK_EQUAL(exrp_rate_limiter_grant(replay, 9), EXRP_STATUS_RATE_LIMITER_SIZE);
  CHECK_EQUAL(exrp_rate_limiter_grant(replay, 5), 0);
  CHECK_EQUAL(user.draw(20), 0);
  CHECK_EQUAL(exrp_rate_limiter_grant_end(replay, 5), 0);
  CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_SAMPLES), 13.0);
  CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_SAMPLES_ALLOWED), 3.0);
  CHECK_EQUAL(exrp_rate_limiter_grant_end(replay, 1), 0);
  CHECK_EQUAL(user.draw(3), EXRP_STATUS_RATE_LIMITER);

  // Batches that are drawn ahead.
  CHECK_EQUAL(user.orderAndTake(2), 0);
  CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_SAMPLES), 16.0);
  CHECK_EQUAL(user.orderAndTake(1), EXRP_STATUS_RATE_LIMITER);

  // A draw that fails counts nothing, and a replay without a rate limiter goes on as ever.
  CHECK_EQUAL(user.record(), 0);
  CHECK_EQUAL(exrp_batch_get(replay, 9, 0, 1, 1, 0, nullptr, 0), EXRP_STATUS_SELECTOR_UNKNOWN);
  CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_SAMPLES), 16.0);
  setLimiter(replay, {});
  CHECK_EQUAL(user.draw(100), 0);
}

void writersAndLearnersOfSeveralThreadsKeepTheBand() {
  const TestSetup setup = limited(500);
  User user(setup);
  const uint32_t replay = user.id;
  setLimiter(replay, {4, 20, 0, 160});
  double ticket[EXRP_TICKET_COUNT] = {};
  if (exrp_replay_share(replay, ticket, EXRP_TICKET_COUNT) != 0) return;  // a kernel of one thread
  constexpr uint32_t writerCount = 3;
  constexpr uint32_t records = 600;
  std::atomic<uint32_t> refused = 0;
  std::atomic<uint32_t> drawn = 0;
  std::vector<std::thread> threads;
  for (uint32_t each = 0; each < writerCount + 2; ++each) {
    threads.emplace_back([&, each] {
      uint32_t id = 0;
      CHECK_EQUAL(exrp_replay_attach(ticket, EXRP_TICKET_COUNT, &id), 0);
      User own(setup, id);
      const auto until = [&](auto call) {
        for (int32_t status = call(); status != 0; status = call()) {
          CHECK_EQUAL(status, EXRP_STATUS_RATE_LIMITER);
          refused.fetch_add(1, std::memory_order_relaxed);
          std::this_thread::yield();
        }
      };
      // The writers' picks to draw: all of them, but those that the band leaves in the end.
      constexpr uint32_t picks = 4 * writerCount * records - 160;
      for (uint32_t k = 0; each < writerCount && k < records; ++k) until([&] { return own.record(); });
      while (each >= writerCount && drawn.fetch_add(20, std::memory_order_relaxed) < picks) until([&] { return own.draw(20); });
      const double difference = own.limiter(EXRP_RATE_LIMITER_INSERTS) * 4 - own.limiter(EXRP_RATE_LIMITER_SAMPLES);
      CHECK(difference > -4 * 160 && difference < 4 * 160);  // two calls: others come in between
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(user.limiter(EXRP_RATE_LIMITER_INSERTS), double{1} * writerCount * records);
  const double difference = user.limiter(EXRP_RATE_LIMITER_INSERTS) * 4 - user.limiter(EXRP_RATE_LIMITER_SAMPLES);
  CHECK(difference >= 0 && difference <= 160);
  CHECK(refused.load() > 0);
}

}  // namespace

int main() {
  const uint64_t seed = 20261122;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  singleRecordsAndPicksFollowReverb(seed);
  callsOfManyAreAllOrNothingAndNeverWaitForEachOther(seed);
  aRuleThatBlocksEverythingIsRefusedAndANewOneBeginsAtMinSize();
  eachCallThatRecordsOrDrawsFollowsTheRateLimiter();
  writersAndLearnersOfSeveralThreadsKeepTheBand();
  return checkResult("rate_limiter");
}
