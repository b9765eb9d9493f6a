// The route "flights" (kernel/batches/pipelined_copier.hpp) writes the same batches, to the byte, whatever the size of its flights and the cache for
// look-ups. So a test on one kind of processor covers what others run. pipelined_copier_test.ts compares them with those of the other route.
#include "tests/kernel/batches/torn_replay.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

struct Setup {
  uint32_t stateCount;
  uint32_t nextState;
  uint32_t flags;
  uint32_t nStep;
  bool hasBeside;
  uint32_t length = 1;
};

}  // namespace

int main() {
  const Setup setups[] = {
      {4, EXRP_NEXT_STATE_COPY, 0, 0, true},
      {15, EXRP_NEXT_STATE_COPY, EXRP_PICK_ALLOW_SHORT | EXRP_PICK_ENDS, 3, false},
      {15, EXRP_NEXT_STATE_COPY, EXRP_PICK_ALLOW_OPEN_END, 0, false},
      {15, EXRP_NEXT_STATE_OVERLAP, 0, 0, false},
      {7, EXRP_NEXT_STATE_NONE, EXRP_PICK_ALLOW_SHORT, 0, false},
      {5, EXRP_NEXT_STATE_OVERLAP, EXRP_PICK_ALLOW_SHORT, 0, true},
      {32, EXRP_NEXT_STATE_COPY, 0, 2, true},
      {4, EXRP_NEXT_STATE_COPY, 0, 0, false, 8},
      {15, EXRP_NEXT_STATE_OVERLAP, EXRP_PICK_ALLOW_OPEN_END, 2, false, 5},
      {32, EXRP_NEXT_STATE_COPY, 0, 3, false, 20},
      {32, EXRP_NEXT_STATE_OVERLAP, EXRP_PICK_ALLOW_SHORT, 0, false, 20},
      {32, EXRP_NEXT_STATE_NONE, EXRP_PICK_ENDS, 0, true, 8},
      {5, EXRP_NEXT_STATE_COPY, EXRP_PICK_ALLOW_SHORT, 3, false, 12},
  };
  const PipelinedCopier::Tuning tunings[] = {{8, false}, {16, false}, {16, true}, {24, true}, {32, false}, {32, true}};
  uint32_t drawn = 0;
  for (const Setup& setup : setups) {
    double policy[EXRP_POLICY_COUNT] = {};
    policy[EXRP_POLICY_LENGTH] = setup.length;
    policy[EXRP_POLICY_STRIDE] = policy[EXRP_POLICY_STACK] = 1;
    policy[EXRP_POLICY_DISCOUNT] = 0.5;
    policy[EXRP_POLICY_FLAGS] = setup.flags;
    policy[EXRP_POLICY_NEXT_STATE] = setup.nextState;
    policy[EXRP_POLICY_REWARD_TYPE] = EXRP_TYPE_FLOAT32;
    policy[EXRP_POLICY_N_STEP] = setup.nStep;
    TornReplay replay({setup.stateCount, setup.hasBeside}, policy);
    PipelinedCopier copier;
    copier.create(replay.store(), replay.policy, tunings[0]);
    CHECK(copier.takes());
    BatchMaker own;
    own.create(replay.store(), replay.policy, 100);
    for (const uint32_t count : {1u, 7u, 15u, 16u, 17u, 31u, 32u, 33u, 63u, 64u, 65u, 100u, 256u, 1000u}) {
      const std::vector<uint32_t> indices = replay.choose(count);
      BatchScratch scratch;
      const std::vector<uint8_t> batch = replay.gather(own, indices, scratch);
      for (const PipelinedCopier::Tuning& tuning : tunings) {
        BatchMaker maker;
        maker.create(replay.store(), replay.policy, 100, tuning);
        CHECK(replay.gather(maker, indices, scratch) == batch);
        drawn += count;
      }
    }
  }
  std::printf("%u picks drawn\n", drawn);
  return checkResult("flights");
}
