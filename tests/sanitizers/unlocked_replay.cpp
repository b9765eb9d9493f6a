// Two threads call by one seat at once, so no lock stands between them: ThreadSanitizer must report it, or it reports nothing about calls by
// two seats either. (The program is built with the kernel, as the tests are.)
#include <thread>

#include "kernel/exrp.h"

int main() {
  double config[EXRP_CONFIG_COUNT] = {};
  config[EXRP_CONFIG_CAPACITY] = 100;
  config[EXRP_CONFIG_EVICTION] = EXRP_EVICTION_FIFO;
  double policy[EXRP_POLICY_COUNT] = {};
  policy[EXRP_POLICY_LENGTH] = policy[EXRP_POLICY_STRIDE] = policy[EXRP_POLICY_STACK] = 1;
  const uint32_t columns[] = {4, 1, 1, 4, 1, 1, 4, 1, 1};
  uint32_t replay = 0;
  if (exrp_replay_create(config, EXRP_CONFIG_COUNT, policy, EXRP_POLICY_COUNT, columns, 3, &replay) != 0) return 2;
  const auto begin = [replay] {
    double episode = 0;
    for (int turn = 0; turn < 1000; ++turn) exrp_episode_create(replay, &episode);
  };
  std::thread other(begin);
  begin();
  other.join();
  return 0;
}
