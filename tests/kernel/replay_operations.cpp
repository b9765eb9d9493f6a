// replay_operations [FILE...]: the kernel under many operations, for the sanitizers.
//
// First it replays the named recordings, and every *.ops file of the folder EXRP_OPERATIONS_DIR. The results must equal those that the
// model test recorded (operations_recording.hpp). Then generated operations, damaged snapshots and threads (operations_stress.hpp):
// EXRP_STRESS_SEEDS says how many seeds (0: none), EXRP_STRESS_SEED the first of them. A failure prints the seed that it takes to see
// it again.
// Every recording is replayed twice, and every odd seed runs so: the second time each array that grows moves, as in WebAssembly. A pointer
// that was kept then points to nothing.
// Under ThreadSanitizer only the threads run: it finds nothing in what one thread does.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "kernel/base/memory.hpp"
#include "tests/kernel/operations_recording.hpp"
#include "tests/kernel/operations_stress.hpp"

namespace {

using exrp::test::Failure;
using exrp::test::Recording;
using exrp::test::Setup;
using exrp::test::Stress;

constexpr uint32_t operationCount = 300;

#if defined(__SANITIZE_THREAD__)
constexpr bool seeksRaces = true;
#elif defined(__has_feature)
constexpr bool seeksRaces = __has_feature(thread_sanitizer);
#else
constexpr bool seeksRaces = false;
#endif

uint64_t environmentNumber(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

std::vector<std::string> recordingsOfEnvironment() {
  std::vector<std::string> paths;
  const char* folder = std::getenv("EXRP_OPERATIONS_DIR");
  if (folder == nullptr || *folder == '\0') return paths;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".ops") paths.push_back(entry->path().string());
  }
  if (error) std::printf("EXRP_OPERATIONS_DIR=%s: %s\n", folder, error.message().c_str());
  std::sort(paths.begin(), paths.end());
  return paths;
}

int replayRecordings(const std::vector<std::string>& paths) {
  int failures = 0;
  long calls = 0;
  for (const std::string& path : paths) {
    for (const bool isMoving : {false, true}) {
      exrp::moveMemory(isMoving);
      Recording recording;
      failures += recording.replay(path);
      calls += recording.calls();
    }
  }
  exrp::moveMemory(false);
  std::printf("replay_operations: %zu recordings, %ld calls, %d failed\n", paths.size(), calls, failures);
  return failures;
}

bool stressOne(uint64_t seed, std::atomic<long>* accepted, std::atomic<long>* refused) {
  exrp::moveMemory(seed % 2 == 1);
  Stress stress(seed);
  const Failure failure = stress.run(operationCount);
  exrp::moveMemory(false);
  accepted->fetch_add(stress.damaged().accepted);
  refused->fetch_add(stress.damaged().refused);
  if (!failure) return true;
  std::printf("EXRP_STRESS_SEED=%llu EXRP_STRESS_SEEDS=1: %s:%d: %s\n", static_cast<unsigned long long>(seed), failure.file,
              failure.line, failure.what);
  return false;
}

int stressSeeds(uint64_t first, uint64_t count) {
  std::atomic<long> accepted = 0;
  std::atomic<long> refused = 0;
  int failures = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) failures += stressOne(seed, &accepted, &refused) ? 0 : 1;
  std::printf("replay_operations: %llu seeds from %llu of %u operations, %d failed; damaged snapshots: %ld accepted, %ld refused\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(first), operationCount, failures,
              accepted.load(), refused.load());
  return failures;
}

/// Threads that share nothing but the registry: each has replays of its own and makes and frees others all the while.
int stressThreads(uint64_t first, uint64_t seedCount) {
  constexpr uint32_t threadCount = 4;
  std::atomic<long> accepted = 0;
  std::atomic<long> refused = 0;
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < threadCount; ++thread) {
    threads.emplace_back([&, thread] {
      exrp::Random random(first, thread);
      const uint64_t own = (seedCount + threadCount - 1) / threadCount;
      for (uint64_t seed = 0; seed < own; ++seed) {
        if (!stressOne(first + 1000 * (thread + 1) + seed, &accepted, &refused)) ++failures;
        std::vector<uint32_t> held;
        for (uint32_t round = 0; round < 40; ++round) {
          uint32_t replay = 0;
          if (Setup::random(random).make(&replay)) ++failures;
          held.push_back(replay);
          double handle = 0;
          if (exrp_episode_create(replay, &handle) != 0 || handle != 0 || exrp_replay_count() == 0) ++failures;
          if (held.size() < 5) continue;
          const uint32_t gone = random.below(5);
          if (exrp_replay_destroy(held[gone]) != 0) ++failures;
          if (exrp_episode_create(held[gone], &handle) != EXRP_STATUS_REPLAY_UNKNOWN) ++failures;
          held.erase(held.begin() + gone);
        }
        for (const uint32_t replay : held) failures += exrp_replay_destroy(replay) != 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("replay_operations: %u threads, %d failed\n", threadCount, failures.load());
  return failures;
}

}  // namespace

int main(int argumentCount, char** arguments) {
  std::vector<std::string> paths = recordingsOfEnvironment();
  for (int index = 1; index < argumentCount; ++index) paths.emplace_back(arguments[index]);
  int failures = paths.empty() || seeksRaces ? 0 : replayRecordings(paths);
  const uint64_t first = environmentNumber("EXRP_STRESS_SEED", 1);
  const uint64_t count = environmentNumber("EXRP_STRESS_SEEDS", 60);
  if (count > 0 && !seeksRaces) failures += stressSeeds(first, count);
  if (count > 0) failures += stressThreads(first, count / 4 + 1);
  if (exrp_replay_count() != 0) {
    std::printf("replay_operations: %u replays were left\n", exrp_replay_count());
    ++failures;
  }
  return failures == 0 ? 0 : 1;
}
