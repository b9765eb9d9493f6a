// A call that fails changes nothing, wherever in it memory is refused. Each call is tried with no memory, with memory for one request, for
// two, and so on, until it gets through. After each failure the replay would save what it would have saved before, its results are
// unwritten, and its journal is as long. A twin that never lacks memory gets each call once, and both stay equal.
#include <cstdlib>
#include <map>
#include <string>

#include "kernel/base/memory.hpp"
#include "tests/kernel/check.hpp"
#include "tests/kernel/operations_setup.hpp"

using namespace exrp::test;
using exrp::grantMemory;
using exrp::Random;

namespace {

constexpr uint64_t all = UINT64_MAX;
constexpr uint32_t operationCount = 120;

/// How often memory was refused, by what was called.
std::map<std::string, int> refusals;

class Refused {
 public:
  explicit Refused(uint64_t seed) : random_(seed, 91) {}

  Failure run() {
    setup_ = Setup::random(random_);
    EXRP_CARRY(setup_.make(&twin_));
    EXRP_CARRY(create());
    for (const uint32_t replay : {replay_, twin_}) EXRP_REQUIRE(exrp_journal_open(replay, 0) == 0);
    for (uint32_t operation = 0; operation < operationCount; ++operation) {
      const uint32_t choice = random_.below(100);
      if (choice < 10) EXRP_CARRY(begin());
      else if (choice < 35) EXRP_CARRY(record());
      else if (choice < 50) EXRP_CARRY(recordSteps(random_.below(2) == 0));
      else if (choice < 56) EXRP_CARRY(recordFlat());
      else if (choice < 60) EXRP_CARRY(endEpisode());
      else if (choice < 64) EXRP_CARRY(evict());
      else if (choice < 65) EXRP_CARRY(clear());
      else if (choice < 70) EXRP_CARRY(trim());
      else if (choice < 72) EXRP_CARRY(release());
      else if (choice < 82) EXRP_CARRY(batch());
      else if (choice < 95) EXRP_CARRY(setPriority());
      else if (choice < 97) EXRP_CARRY(addTable());
      else if (choice < 99) EXRP_CARRY(addSelector());
      else EXRP_CARRY(load());
    }
    int32_t broken = 0;
    EXRP_REQUIRE(exrp_replay_check(replay_, &broken) == 0 && broken == 0);
    EXRP_REQUIRE(exrp_replay_destroy(replay_) == 0 && exrp_replay_destroy(twin_) == 0);
    return {};
  }

 private:
  /// What can be seen of a replay, but for its memory.
  struct Seen {
    Snapshot snapshot;
    uint32_t journalCount = 0;
    bool operator==(const Seen&) const = default;
  };
  Failure look(uint32_t replay, Seen* seen) const {
    EXRP_CARRY(takeSnapshot(replay, setup_.selectorCount(), &seen->snapshot));
    EXRP_REQUIRE(exrp_journal_count(replay, 0, &seen->journalCount) == 0);
    return {};
  }

  /// `call` gets a replay and the memory for all its results, which holds `given` before.
  template <typename Call>
  Failure attempt(const char* name, std::vector<double>* given, Call call) {
    Seen before;
    Seen after;
    EXRP_CARRY(look(replay_, &before));
    std::vector<double> results;
    int32_t status = EXRP_STATUS_MEMORY;
    for (uint32_t granted = 0; status == EXRP_STATUS_MEMORY; ++granted) {
      results = *given;
      EXRP_REQUIRE(granted < 2000);  // a call gets through once it has enough
      grantMemory(granted);
      status = call(replay_, results);
      grantMemory(all);
      EXRP_CARRY(look(replay_, &after));
      EXRP_REQUIRE(status == 0 || after == before);
      EXRP_REQUIRE(status == 0 || memcmp(results.data(), given->data(), results.size() * sizeof(double)) == 0);
      if (status == EXRP_STATUS_MEMORY) ++refusals[name];
    }
    EXRP_REQUIRE(call(twin_, *given) == status);
    EXRP_REQUIRE(memcmp(results.data(), given->data(), results.size() * sizeof(double)) == 0);
    Seen twin;
    EXRP_CARRY(look(twin_, &twin));
    EXRP_REQUIRE(after == twin);
    return {};
  }

  Failure create() {
    const uint32_t countBefore = exrp_replay_count();
    int32_t status = EXRP_STATUS_MEMORY;
    for (uint32_t granted = 0; status == EXRP_STATUS_MEMORY; ++granted) {
      replay_ = 0;
      grantMemory(granted);
      status = exrp_replay_create(setup_.config.data(), EXRP_CONFIG_COUNT, setup_.policies[0].data(), EXRP_POLICY_COUNT,
                                  setup_.columns.data(), setup_.columnCount(), &replay_);
      grantMemory(all);
      if (status != EXRP_STATUS_MEMORY) break;
      EXRP_REQUIRE(replay_ == 0 && exrp_replay_count() == countBefore);
      ++refusals["replay_create"];
    }
    EXRP_REQUIRE(status == 0);
    EXRP_REQUIRE(exrp_replay_destroy(replay_) == 0);
    return setup_.make(&replay_);  // with its tables and selectors
  }

  Failure begin() {
    std::vector<double> results = {-1};
    EXRP_CARRY(attempt("episode_create", &results, [](uint32_t replay, auto& out) { return exrp_episode_create(replay, out.data()); }));
    if (results[0] >= 0) lastHandle_ = results[0];
    return {};
  }
  /// Mostly one of the latest.
  double handle() {
    const auto last = static_cast<uint32_t>(lastHandle_);
    const uint32_t back = random_.below(random_.below(4) == 0 ? last + 1 : 3);
    return last - (back < last ? back : last);
  }
  uint32_t recordFlags() {
    constexpr uint32_t ends = EXRP_RECORD_ENDS;
    const uint32_t flags[] = {0, 0, 0, 0, ends, ends | EXRP_RECORD_BEGINS, ends | EXRP_RECORD_TRUNCATED};
    return flags[random_.below(7)];
  }

  /// What may come with records.
  uint32_t additions() {
    return (random_.below(3) == 0 ? EXRP_RECORD_PRIORITY : 0) | (random_.below(3) == 0 ? EXRP_RECORD_NEXT_STATE : 0);
  }

  Failure record() {
    if (lastHandle_ < 0) return begin();
    std::vector<double> layout(EXRP_ROW_COLUMN + setup_.columnCount() + setup_.leafCount() - 1);
    EXRP_REQUIRE(exrp_row_layout(replay_, layout.data(), static_cast<uint32_t>(layout.size())) == 0);
    const auto size = static_cast<uint32_t>(layout[EXRP_ROW_BYTES]);
    std::vector<double> row(size / sizeof(double) + 1);
    for (double& number : row) number = random_.uniform();
    row[0] = handle();
    const uint32_t flags = recordFlags() | additions();
    EXRP_CARRY(attempt("record", &row, [&](uint32_t replay, auto& out) {
      return exrp_record(replay, reinterpret_cast<uint8_t*>(out.data()), size, flags);
    }));
    if (row[0] > lastHandle_) lastHandle_ = row[0];
    return {};
  }

  Failure recordSteps(bool isMany) {
    if (lastHandle_ < 0) return begin();
    const uint32_t count = 1 + random_.below(isMany ? 40 : 4);
    std::vector<double> layout(EXRP_STEPS_COLUMN + setup_.columnCount());
    EXRP_REQUIRE(exrp_steps_layout(replay_, count, layout.data(), static_cast<uint32_t>(layout.size())) == 0);
    const size_t stepsBytes = static_cast<size_t>(layout[EXRP_STEPS_FINAL_STATE]) + setup_.shape(replay_).stateOffsets(count).back();
    std::vector<double> steps(stepsBytes / sizeof(double) + 1);
    for (double& number : steps) number = random_.uniform();
    auto* const bytes = reinterpret_cast<uint8_t*>(steps.data());
    for (uint32_t step = 0; step < count; ++step) {
      bytes[static_cast<size_t>(layout[EXRP_STEPS_FLAGS]) + step] = static_cast<uint8_t>(isMany ? 0 : recordFlags());
    }
    const uint32_t flags = (isMany ? recordFlags() : 0) | (additions() & (isMany ? EXRP_RECORD_PRIORITY : UINT32_MAX));
    const uint32_t handleCount = isMany ? 1 : count;
    std::vector<double> results(handleCount + 1);  // the handles, and how many steps are done
    for (uint32_t at = 0; at < handleCount; ++at) results[at] = handle();
    const auto call = isMany ? exrp_record_many : exrp_record_batch;
    EXRP_CARRY(attempt(isMany ? "record_many" : "record_batch", &results, [&](uint32_t replay, auto& out) {
      auto* const done = reinterpret_cast<uint32_t*>(out.data() + handleCount);
      return call(replay, out.data(), bytes, static_cast<double>(steps.size() * sizeof(double)), count, flags, done);
    }));
    for (uint32_t at = 0; at < handleCount; ++at) lastHandle_ = results[at] > lastHandle_ ? results[at] : lastHandle_;
    return {};
  }

  Failure recordFlat() {
    if (lastHandle_ < 0) return begin();
    const uint32_t count = 1 + random_.below(60);
    std::vector<double> layout(EXRP_STEPS_COLUMN + setup_.columnCount());
    EXRP_REQUIRE(exrp_steps_layout(replay_, count, layout.data(), static_cast<uint32_t>(layout.size())) == 0);
    const size_t stepsBytes = static_cast<size_t>(layout[EXRP_STEPS_FINAL_STATE]) + setup_.shape(replay_).stateOffsets(count).back();
    std::vector<double> steps(stepsBytes / sizeof(double) + 1);
    for (double& number : steps) number = random_.uniform();
    auto* const bytes = reinterpret_cast<uint8_t*>(steps.data());
    constexpr uint32_t ends = EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS;
    const uint32_t kinds[] = {0, 0, 0, 0, 0, ends, ends | EXRP_RECORD_TRUNCATED, EXRP_RECORD_FINAL};
    for (uint32_t step = 0; step < count; ++step) {
      bytes[static_cast<size_t>(layout[EXRP_STEPS_FLAGS]) + step] = static_cast<uint8_t>(kinds[random_.below(8)]);
    }
    const uint32_t flags = additions();
    std::vector<double> results(2 + count);  // the handle, how many steps and episodes are done, the episodes
    results[0] = handle();
    EXRP_CARRY(attempt("record_flat", &results, [&](uint32_t replay, auto& out) {
      auto* const done = reinterpret_cast<uint32_t*>(out.data() + 1);
      return exrp_record_flat(replay, out.data(), bytes, static_cast<double>(steps.size() * sizeof(double)), count, flags, done,
                              out.data() + 2, count);
    }));
    lastHandle_ = results[0] > lastHandle_ ? results[0] : lastHandle_;
    return {};
  }

  Failure endEpisode() {
    if (lastHandle_ < 0) return begin();
    const double ending = handle();
    const std::vector<uint8_t> state(setup_.shape(replay_).stateOffsets(1).back());
    std::vector<double> results(1);
    return attempt("episode_end", &results, [&](uint32_t replay, auto& out) {
      auto* const ended = reinterpret_cast<uint32_t*>(out.data());
      return exrp_episode_end(replay, ending, state.data(), static_cast<uint32_t>(state.size()), 0, ended);
    });
  }

  Failure evict() {
    if (lastHandle_ < 0) return begin();
    const double gone = handle();
    std::vector<double> results(1);
    return attempt("episode_evict", &results, [&](uint32_t replay, auto&) { return exrp_episode_evict(replay, gone); });
  }

  Failure clear() {
    std::vector<double> results(1);
    return attempt("replay_clear", &results, [&](uint32_t replay, auto&) { return exrp_replay_clear(replay); });
  }

  Failure trim() {
    if (lastHandle_ < 0) return begin();
    std::vector<double> results(2);
    if (random_.below(2) == 0) {
      return attempt("open_trim", &results, [&](uint32_t replay, auto& out) { return exrp_open_trim(replay, &out[0], &out[1]); });
    }
    const double trimmed = handle();
    const uint32_t position = random_.below(20);
    return attempt("episode_trim", &results, [&](uint32_t replay, auto&) { return exrp_episode_trim(replay, trimmed, position); });
  }

  /// No snapshot has what was released. So the replay and its twin must let the same records go after it.
  Failure release() {
    if (lastHandle_ < 0) return begin();
    const double released = handle();
    const uint32_t position = random_.below(10);
    std::vector<double> results(1);
    return attempt("records_release", &results,
                   [&](uint32_t replay, auto&) { return exrp_records_release(replay, released, position); });
  }

  Failure batch() {
    const uint32_t selector = random_.below(setup_.selectorCount());
    const uint32_t count = 1 + random_.below(200);
    const uint32_t table = setup_.selectors[selector].table;
    std::vector<double> offsets(batchPartCount(setup_.shape(twin_), table));
    EXRP_REQUIRE(exrp_batch_layout(twin_, table, count, offsets.data(), static_cast<uint32_t>(offsets.size())) == 0);
    std::vector<double> bytes(static_cast<size_t>(offsets[EXRP_BATCH_BYTES]) / sizeof(double) + 1);
    return attempt("batch_get", &bytes, [&](uint32_t replay, auto& out) {
      return exrp_batch_get(replay, selector, 0, count, count, 0.5, reinterpret_cast<uint8_t*>(out.data()), offsets[EXRP_BATCH_BYTES]);
    });
  }

  Failure setPriority() {
    if (lastHandle_ < 0) return begin();
    const uint32_t count = 1 + random_.below(60);
    const uint32_t selector = random_.below(setup_.selectorCount());
    std::vector<double> handles(count);
    std::vector<int32_t> positions(count);
    std::vector<double> priorities(count);
    for (uint32_t at = 0; at < count; ++at) {
      handles[at] = handle();
      positions[at] = static_cast<int32_t>(random_.below(10));
      priorities[at] = random_.below(30) == 0 ? -1 : 3 * random_.uniform();  // one that is invalid is refused
    }
    std::vector<double> results(1);
    return attempt("priority_set", &results, [&](uint32_t replay, auto& out) {
      return exrp_priority_set(replay, selector, handles.data(), positions.data(), reinterpret_cast<const uint8_t*>(priorities.data()), 8,
                               count, reinterpret_cast<uint32_t*>(out.data()));
    });
  }

  Failure addTable() {
    if (setup_.policies.size() == 6) return {};
    const Policy policy = Setup::randomPolicy(random_, setup_.length());
    std::vector<double> results(1);
    EXRP_CARRY(attempt("table_create", &results, [&](uint32_t replay, auto& out) {
      return exrp_pick_view_create(replay, policy.data(), EXRP_POLICY_COUNT, reinterpret_cast<uint32_t*>(out.data()));
    }));
    setup_.policies.push_back(policy);
    return {};
  }

  Failure addSelector() {
    if (setup_.selectors.size() == 8) return {};
    SelectorSetup made = Setup::randomSelector(random_);
    made.table = random_.below(static_cast<uint32_t>(setup_.policies.size()));
    std::vector<double> results(1);
    EXRP_CARRY(attempt("selector_create", &results, [&](uint32_t replay, auto& out) {
      return exrp_selector_create(replay, made.table, made.kind, made.options.data(), static_cast<uint32_t>(made.options.size()),
                                  reinterpret_cast<uint32_t*>(out.data()));
    }));
    setup_.selectors.push_back(made);
    return {};
  }

  /// A snapshot whose loading lacks memory leaves a replay that can be destroyed. What is loaded at last goes on in place of the replay.
  Failure load() {
    Snapshot snapshot;
    EXRP_CARRY(takeSnapshot(replay_, setup_.selectorCount(), &snapshot));
    for (uint32_t granted = 0;; ++granted) {
      uint32_t loaded = 0;
      EXRP_CARRY(setup_.make(&loaded));
      grantMemory(granted);
      const int32_t status = loadSnapshot(loaded, snapshot);
      grantMemory(all);
      EXRP_REQUIRE(status == 0 || status == EXRP_STATUS_MEMORY);
      EXRP_REQUIRE(exrp_replay_destroy(status == 0 ? replay_ : loaded) == 0);
      if (status != 0) ++refusals["section_write, snapshot_end"];
      if (status != 0) continue;
      replay_ = loaded;
      break;
    }
    // The journals of both begin anew.
    EXRP_REQUIRE(exrp_replay_destroy(twin_) == 0);
    EXRP_CARRY(setup_.make(&twin_));
    EXRP_REQUIRE(loadSnapshot(twin_, snapshot) == 0);
    for (const uint32_t replay : {replay_, twin_}) EXRP_REQUIRE(exrp_journal_open(replay, 0) == 0);
    return {};
  }

  Random random_;
  Setup setup_;
  uint32_t replay_ = 0;
  uint32_t twin_ = 0;
  double lastHandle_ = -1;
};

}  // namespace

int main() {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const Failure failure = Refused(seed).run();
    CHECK(!failure);
    grantMemory(all);
    if (failure) std::printf("seed %d: %s:%d: %s\n", static_cast<int>(seed), failure.file, failure.line, failure.what);
  }
  for (const auto& [name, count] : refusals) std::printf("%s: %d refused\n", name.c_str(), count);
  for (const char* name : {"batch_get", "episode_create", "episode_end", "episode_evict", "priority_set", "record", "record_batch",
                           "record_flat", "record_many", "records_release", "replay_create", "section_write, snapshot_end",
                           "selector_create", "table_create"}) {
    CHECK(refusals[name] > 0);
  }
  return checkResult("refused_memory_test");
}
