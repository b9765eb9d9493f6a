// Two threads call by one seat at once, so no lock stands between them: ThreadSanitizer must report it, or it reports nothing about calls by
// two seats either. (The program is built with the kernel, as the tests are.)
#include <thread>

#include "tests/kernel/test_replay.hpp"

int main() {
  const uint32_t replay = exrp::test::TestSetup().create();
  const auto begin = [replay] {
    double episode = 0;
    for (int turn = 0; turn < 1000; ++turn) exrp_episode_create(replay, &episode);
  };
  std::thread other(begin);
  begin();
  other.join();
  return 0;
}
