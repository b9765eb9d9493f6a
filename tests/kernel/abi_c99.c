/* exrp.h is plain C99: a C program includes it, creates a replay and meets the statuses it is promised. */
#include "kernel/exrp.h"

#include <stdio.h>

#define EXPECT(condition)                                    \
  do {                                                       \
    if (!(condition)) {                                      \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      return 1;                                              \
    }                                                        \
  } while (0)

int main(void) {
  /* A state of four floats, an action of one, a reward of one. */
  const uint32_t columns[9] = {4, 4, 1, 4, 1, 1, 4, 1, 1};
  double config[EXRP_CONFIG_COUNT] = {0};
  double policy[EXRP_POLICY_COUNT] = {0};
  double info[EXRP_INFO_COUNT] = {0};
  uint32_t replay = 0;

  config[EXRP_CONFIG_CAPACITY] = 100;
  config[EXRP_CONFIG_STATE_COLUMNS] = 1;
  policy[EXRP_POLICY_LENGTH] = 1;
  policy[EXRP_POLICY_STRIDE] = 1;
  policy[EXRP_POLICY_STACK] = 1;
  policy[EXRP_POLICY_DISCOUNT] = 0.99;
  config[EXRP_CONFIG_EVICTION] = EXRP_EVICTION_FIFO;

  EXPECT(exrp_abi_version() == EXRP_ABI_VERSION);
  EXPECT(exrp_replay_create(config, EXRP_CONFIG_COUNT, policy, EXRP_POLICY_COUNT, columns, 3, &replay) == EXRP_STATUS_OK);
  EXPECT(exrp_replay_info(replay, info, EXRP_INFO_COUNT) == EXRP_STATUS_OK);
  EXPECT(info[EXRP_INFO_CAPACITY] == 100);
  EXPECT(exrp_replay_destroy(replay) == EXRP_STATUS_OK);
  EXPECT(exrp_replay_destroy(replay) == EXRP_STATUS_REPLAY_UNKNOWN);
  return 0;
}
