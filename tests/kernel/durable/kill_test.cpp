// A process with a durable replay is killed, again and again, at any moment: while it records, writes, makes a checkpoint, evicts, or opens the folder. It says
// what was flushed, and the next process checks what it finds before it goes on.
//
// In half of the folders, one thread makes calls that follow from a seed, and each group says how many there were. A twin makes the same, and both must
// save the same bytes. In the others, three threads record into one replay while another draws: each record that is there must be whole, once, and in
// its place, and none may be missing between others.
//
// EXRP_KILLS sets how often, and EXRP_CRASH_SEED what the processes do.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <thread>
#include <vector>

#include "tests/kernel/durable/durable_side.hpp"
#include "tests/kernel/log/test_folder.hpp"
#include "tests/kernel/share_rows.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

#if defined(EXRP_TEST_MEMORY)
constexpr uint64_t usualKills = 24;  // under a sanitizer
#else
constexpr uint64_t usualKills = 300;
#endif
constexpr uint64_t roundsPerFolder = 6;
constexpr uint32_t writerCount = 3;

/// What a process tells: first what it has found, and then what is flushed.
struct Told {
  uint64_t isFound;
  uint64_t numbers[1 + writerCount];
};

void tell(int pipe, const Told& told) {
  if (write(pipe, &told, sizeof told) != sizeof told) _exit(6);
}

/// A check failed.
[[noreturn]] void giveUp(int code) {
  std::fflush(stdout);
  _exit(code);
}

/// Opens the folder, or makes its log.
void openFolder(uint32_t replay, const std::string& path, Random& random, bool hasState) {
  double options[EXRP_DURABLE_OPTION_COUNT] = {};
  options[EXRP_DURABLE_FLUSH_INTERVAL_MS] = random.below(2) * 3;
  options[EXRP_DURABLE_SEGMENT_BYTES] = 8192u << random.below(4);
  options[EXRP_DURABLE_QUEUE_BYTES] = 1 << 20;
  options[EXRP_DURABLE_GROUP_BYTES] = 500 << random.below(6);
  options[EXRP_DURABLE_CHECKPOINT_BYTES] = 10000 << random.below(4);
  options[EXRP_DURABLE_HAS_STATE] = hasState ? 1 : 0;
  for (const uint32_t limit : {EXRP_DURABLE_CAPACITY, EXRP_DURABLE_CAPACITY_BYTES, EXRP_DURABLE_AGE_MAX}) options[limit] = EXRP_DURABLE_KEEP;
  double report[EXRP_RECOVERY_COUNT] = {};
  for (int isNew = 0; isNew < 2; ++isNew) {
    options[EXRP_DURABLE_IS_NEW] = isNew;
    const int32_t status = exrp_durable_open(replay, reinterpret_cast<const uint8_t*>(path.data()), static_cast<uint32_t>(path.size()), options,
                                             EXRP_DURABLE_OPTION_COUNT, report, EXRP_RECOVERY_COUNT);
    if (status == 0) break;
    if (isNew == 0 && status == EXRP_STATUS_LOG && reason() == LogStatus::empty) continue;
    std::printf("status %d, reason %d, %g, %g\n", status, static_cast<int>(reason()), errorDetail[1], errorDetail[2]);
    giveUp(4);
  }
  CHECK_EQUAL(report[EXRP_RECOVERY_LOST_BLOCKS], 0.0);
  CHECK_EQUAL(report[EXRP_RECOVERY_REPAIRED], 0.0);
  CHECK_EQUAL(report[EXRP_RECOVERY_DAMAGE_SEGMENT], 0.0);
}

// ---- one thread ----

[[noreturn]] void runAlone(const std::string& path, uint64_t seed, uint64_t round, const Told& flushed, int pipe) {
  Random random(seed, 11);
  const Setup setup = durableSetup(random);
  const Calls calls(setup, false);
  Side side = {{calls.makeReplay()}};
  Side twin = {{calls.makeReplay()}};
  random = Random(seed, 100 + round);
  openFolder(side.id(), path, random, true);
  uint64_t made = 0;
  if (side.instance().durable->stateBytes() > 0) {
    CHECK_EQUAL(exrp_durable_state(side.id(), reinterpret_cast<uint8_t*>(&made), sizeof made), 0);
  }
  const auto next = [&](Side& at, uint64_t number) {
    Random own(seed, 1000 + number);
    return calls.make(at, calls.choose(at, own));
  };
  CHECK(made >= flushed.numbers[0]);
  for (uint64_t number = 0; number < made; ++number) next(twin, number);
  const char* const what = difference(side, twin, setup.selectors);
  CHECK(what == nullptr);
  if (what != nullptr) std::printf("%s, after %llu calls of seed %llu\n", what, static_cast<unsigned long long>(made), static_cast<unsigned long long>(seed));
  if (failureCount > 0) giveUp(8);
  tell(pipe, {1, {made}});
  double asked = 0;
  uint64_t askedAt = 0;
  for (;; ++made) {
    if (made % 16 == 0 && askedAt > 0 && exrp_durable_wait(side.id(), asked, 0) == 0) {
      tell(pipe, {0, {askedAt}});
      askedAt = 0;
    }
    if (random.below(12) == 0) {
      double ticket = 0;
      if (exrp_durable_group(side.id(), reinterpret_cast<const uint8_t*>(&made), sizeof made, 1, &ticket) != 0) giveUp(5);
      if (askedAt == 0) {
        asked = ticket;
        askedAt = made;
      }
      if (random.below(20) == 0) {
        if (exrp_durable_wait(side.id(), ticket, UINT32_MAX) != 0) giveUp(7);
        tell(pipe, {0, {made}});
      }
    }
    next(side, made);
  }
}

// ---- several threads ----

/// Of the whole replay: each episode is of one writer, and its records are whole and in order. `newest` gets the number of each writer's newest episode.
void checkEpisodes(uint32_t replay, uint64_t (&newest)[writerCount]) {
  CHECK_EQUAL(broken(replay), 0);
  const ListedEpisodes list(replay, static_cast<uint32_t>(infoOf(replay, EXRP_INFO_EPISODE_COUNT)));
  CHECK_EQUAL(list.status, 0);
  for (uint32_t at = 0; at < list.count; ++at) {
    const uint32_t count = list.recordCounts[at];
    if (count == 0) continue;
    std::vector<uint8_t> states(size_t{count} * stateBytes());
    const auto first = static_cast<int32_t>(list.firsts[at]);
    CHECK_EQUAL(exrp_rows_get(replay, 0, &list.handles[at], &first, 1, count, states.data(), static_cast<double>(states.size())), 0);
    uint32_t state[5] = {};
    memcpy(state, states.data(), sizeof state);
    const uint32_t writer = state[0];
    const uint32_t number = state[1];
    CHECK(writer < writerCount);
    if (writer >= writerCount) return;
    // Episodes of one life follow one another, and a later life begins higher.
    CHECK(number > newest[writer]);
    if (newest[writer] / 65536 == number / 65536) CHECK_EQUAL(number, newest[writer] + 1);
    newest[writer] = number;
    for (uint32_t k = 0; k < count; ++k) {
      memcpy(state, states.data() + size_t{k} * stateBytes(), sizeof state);
      CHECK(isWhole(state) && state[0] == writer && state[1] == number && state[2] == list.firsts[at] + k);
    }
  }
}

[[noreturn]] void runTogether(const std::string& path, uint64_t seed, uint64_t round, const Told& flushed, int pipe) {
  Random random(seed, 100 + round);
  const TestSetup setup = {.capacity = 600, .seed = 7, .policy = policyOf(1, 0, 0.9), .columns = {4, stateCount, 1, 4, 1, 1, 4, 1, 1}};
  const uint32_t replay = setup.create();
  openFolder(replay, path, random, false);
  uint64_t newest[writerCount] = {};
  checkEpisodes(replay, newest);
  const double recorded = infoOf(replay, EXRP_INFO_RECORDED_COUNT);
  CHECK(recorded >= static_cast<double>(flushed.numbers[writerCount]));
  for (uint32_t writer = 0; writer < writerCount; ++writer) {
    // Another writer's records may have taken the place of all of its own.
    if (newest[writer] > 0) CHECK(newest[writer] >= flushed.numbers[writer]);
  }
  if (failureCount > 0) giveUp(8);
  tell(pipe, {1, {}});
  if (infoOf(replay, EXRP_INFO_SELECTOR_COUNT) == 0) addSelector(replay, prioritized());
  const Ticket ticket(replay);
  std::vector<std::thread> threads;
  for (uint32_t writer = 0; writer < writerCount; ++writer) {
    threads.emplace_back([&, writer] {
      Random own(seed, 10000 + 10 * round + writer);
      const uint32_t id = ticket.attach();
      Told told = {};
      for (auto number = static_cast<uint32_t>(65536 * (round + 1));; ++number) {
        double handle = 0;
        if (exrp_episode_create(id, &handle) != 0) giveUp(9);
        const uint32_t count = 1 + own.below(30);
        Steps steps(id, count);
        if (steps.record(id, &handle, writer, number, 0, EXRP_RECORD_ENDS, own) != 0) giveUp(10);
        if (own.below(4) > 0) continue;
        // What was recorded until now, by all of them, is told once it is flushed.
        const double recordedNow = infoOf(id, EXRP_INFO_RECORDED_COUNT);
        double flush = 0;
        if (exrp_durable_group(id, nullptr, 0, 0, &flush) != 0 || exrp_durable_wait(id, flush, UINT32_MAX) != 0) giveUp(11);
        told = {};
        told.numbers[writer] = number;
        told.numbers[writerCount] = static_cast<uint64_t>(recordedNow);
        tell(pipe, told);
      }
    });
  }
  threads.emplace_back([&] {
    const uint32_t id = ticket.attach();
    for (;;) {
      Batch batch(id, 16);
      const int32_t status = batch.draw(id, 0, 0.4);
      if (status == EXRP_STATUS_EMPTY) continue;
      if (status != 0) giveUp(12);
      batch.check();
      if (failureCount > 0) giveUp(8);
      const std::vector<double> priorities(16, 0.5);
      setPriorities(id, 0, batch.handles(), batch.positions(), priorities);
    }
  });
  for (std::thread& thread : threads) thread.join();
  giveUp(13);
}

/// Takes over what a process told.
void keep(Told& flushed, const Told& told) {
  if (told.isFound != 0) return;
  for (uint32_t k = 0; k <= writerCount; ++k) flushed.numbers[k] = std::max(flushed.numbers[k], told.numbers[k]);
}

}  // namespace

int main() {
  const uint64_t kills = fromEnvironment("EXRP_KILLS", usualKills);
  const uint64_t seed = fromEnvironment("EXRP_CRASH_SEED", 20261128);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Random random(seed, 1);
  // Here, so that not each process does it.
  CHECK(KernelRules::all().evictionCount() > 0);
  uint64_t found = 0;
  for (uint64_t folderNumber = 0; folderNumber * roundsPerFolder < kills && failureCount == 0; ++folderNumber) {
    const TestFolder folder;
    Told flushed = {};
    for (uint64_t round = 0; round < roundsPerFolder && failureCount == 0; ++round) {
      int ends[2];
      if (pipe(ends) != 0) return 1;
      std::fflush(stdout);
      const pid_t process = fork();
      if (process == 0) {
        close(ends[0]);
        if (folderNumber % 2 == 0) runAlone(folder.path(), seed + folderNumber, round, flushed, ends[1]);
        runTogether(folder.path(), seed + folderNumber, round, flushed, ends[1]);
      }
      close(ends[1]);
      Told told = {};
      // Mostly once the process has compared, and now and then before.
      if (random.below(5) > 0 && read(ends[0], &told, sizeof told) == sizeof told) {
        ++found;
        // Nobody else gets the folder meanwhile.
        Disk* const disk = folder.disk();
        bool isTaken = false;
        CHECK(!disk->lock(lockName, &isTaken).isError() && isTaken);
        delete disk;
        usleep(100 * random.below(120));
      } else {
        usleep(100 * random.below(60));
      }
      kill(process, SIGKILL);
      int ended = 0;
      waitpid(process, &ended, 0);
      CHECK(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
      if (!WIFSIGNALED(ended)) {
        std::printf("the process ended with status %d: folder %llu, round %llu\n", WEXITSTATUS(ended), static_cast<unsigned long long>(folderNumber),
                    static_cast<unsigned long long>(round));
      }
      while (read(ends[0], &told, sizeof told) == sizeof told) keep(flushed, told);
      close(ends[0]);
    }
  }
  std::printf("%llu kills, %llu of them after all was compared\n", static_cast<unsigned long long>(kills), static_cast<unsigned long long>(found));
  return checkResult("durable/kill");
}
