// Locator finds what BatchMaker copies: what it says of a pick is what the batch says of it, and the rows at its slots are the batch's rows.
#include "kernel/batches/locator.hpp"

#include "tests/kernel/batches/torn_replay.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

/// A batch of some picks, to look at.
class Shown {
 public:
  Shown(const TornReplay& replay, const std::vector<uint32_t>& indices) : replay_(replay) {
    BatchMaker maker;
    maker.create(replay.store(), replay.policy, recordCountMax);
    bytes_ = replay.gather(maker, indices, scratch_);
    batch_ = batchTarget(replay.store(), replay.policy, scratch_.layout, bytes_.data());
  }
  const BatchTarget& operator*() const { return batch_; }

  /// Whether frame `frame` of row `row` of a part with stacks is what the store has of the state in `slot`.
  bool isFrame(const uint8_t* part, size_t row, uint32_t frame, uint32_t slot) const {
    const size_t bytes = replay_.store().column(0).bytes;
    return memcmp(part + (row * replay_.policy.stack + frame) * bytes, replay_.store().at(0, slot), bytes) == 0;
  }

  static constexpr uint32_t recordCountMax = 100;

 private:
  const TornReplay& replay_;
  BatchScratch scratch_;
  std::vector<uint8_t> bytes_;
  BatchTarget batch_;
};

/// The stack that ends at slots[end]: as many of its frames as the list has are there.
void checkStack(const TornReplay& replay, const Shown& shown, const uint8_t* part, size_t row, const uint32_t* slots, uint32_t end) {
  const uint32_t stack = replay.policy.stack;
  for (uint32_t frame = stack; frame > 0 && end + frame >= stack; --frame) {
    CHECK(shown.isFrame(part, row, frame - 1, slots[end + frame - stack]));
  }
}

void findsWhatBatchesShow(const double (&policy)[EXRP_POLICY_COUNT]) {
  TornReplay replay({3, true}, policy);
  Locator locator;
  locator.create(replay.store(), replay.policy, Shown::recordCountMax);
  const std::vector<uint32_t> indices = replay.choose(500);
  const Shown shown(replay, indices);
  const BatchTarget& batch = *shown;
  std::vector<uint32_t> slots(locator.slotCountMax());
  uint32_t torn = 0;
  for (uint32_t index = 0; index < indices.size(); ++index) {
    const LocatedPick pick = locator.locate(replay.episodes(), replay.picks().slot(indices[index]));
    CHECK(static_cast<double>(pick.handle) == batch.pickEpisode[index]);
    CHECK(replay.episodes()[pick.episode].handle == pick.handle);
    CHECK(static_cast<int32_t>(pick.position) == batch.pickPosition[index]);
    CHECK(static_cast<int32_t>(pick.lead + pick.real) == batch.seqLen[index]);
    CHECK(static_cast<int32_t>(pick.lead + pick.shownKnown()) == batch.nextSeqLen[index]);
    CHECK(pick.slotCount <= slots.size());
    torn += locator.listSlots(pick, slots.data()) ? 0 : 1;
    CHECK_EQUAL(slots[pick.back + pick.context], pick.slot);
    for (uint32_t at = 0; at < pick.real; ++at) {
      const size_t row = static_cast<size_t>(index * replay.policy.rows()) + locator.rowOf(pick, at);
      if (replay.policy.masks) CHECK((batch.contextMask[row] == 1) == (at < pick.context) && (batch.learnMask[row] == 1) == (at >= pick.context));
      const bool bootstraps = at < pick.known && !(pick.terminates() && at + 1 == pick.known);
      CHECK(batch.discount[row] == (bootstraps ? 0.5f : 0.0f));
      if (replay.policy.ends) {
        const bool isEnd = pick.showsEnd() && at + 1 == pick.known;
        CHECK_EQUAL(batch.terminated[row], isEnd && pick.terminates() ? 1 : 0);
        CHECK_EQUAL(batch.truncated[row], isEnd && !pick.terminates() ? 1 : 0);
      }
      checkStack(replay, shown, batch.columns[0], row, slots.data(), pick.back + at);
      if (at < pick.shownKnown()) checkStack(replay, shown, batch.nextStates[0], row, slots.data(), pick.back + at + 1);
      // The state that a return of all records ahead bootstraps from.
      const uint32_t n = replay.policy.nStepCount > 0 ? replay.policy.nSteps[0] : 0;
      if (n > 0 && at + n <= pick.known) checkStack(replay, shown, batch.nSteps[0].states[0], row, slots.data(), pick.back + at + n);
    }
  }
  CHECK(torn > 0);
}

}  // namespace

int main() {
  struct Setup {
    uint32_t length;
    uint32_t before;
    uint32_t stack;
    uint32_t nStep;
    uint32_t flags;
  };
  const Setup setups[] = {
      {1, 0, 1, 0, EXRP_PICK_ENDS},
      {8, 0, 1, 3, EXRP_PICK_ALLOW_SHORT},
      {40, 0, 1, 0, EXRP_PICK_ALLOW_OPEN_END},
      {4, 0, 4, 0, 0},
      {5, 6, 3, 2, EXRP_PICK_ALLOW_SHORT | EXRP_PICK_ALIGNED | EXRP_PICK_MASKS},
      {12, 0, 2, 0, EXRP_PICK_REVERSED | EXRP_PICK_ENDS},
      {7, 9, 1, 0, EXRP_PICK_MASKS | EXRP_PICK_ENDS},
  };
  for (const Setup& setup : setups) {
    double policy[EXRP_POLICY_COUNT] = {};
    policy[EXRP_POLICY_LENGTH] = setup.length;
    policy[EXRP_POLICY_STRIDE] = 1;
    policy[EXRP_POLICY_BEFORE] = setup.before;
    policy[EXRP_POLICY_STACK] = setup.stack;
    policy[EXRP_POLICY_DISCOUNT] = 0.5;
    policy[EXRP_POLICY_FLAGS] = setup.flags;
    policy[EXRP_POLICY_NEXT_STATE] = EXRP_NEXT_STATE_COPY;
    policy[EXRP_POLICY_REWARD_TYPE] = EXRP_TYPE_FLOAT32;
    policy[EXRP_POLICY_N_STEP] = setup.nStep;
    findsWhatBatchesShow(policy);
  }
  return checkResult("locator");
}
