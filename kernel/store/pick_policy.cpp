#include "kernel/store/pick_policy.hpp"

#include "kernel/base/typed_number.hpp"
#include "kernel/base/whole_number.hpp"

namespace exrp {

Status PickPolicy::parse(const double* numbers, uint32_t count, uint32_t argument, PickPolicy* parsed) {
  if (count < EXRP_POLICY_COUNT) return fail(Status::argument, argument + 1, count);
  PickPolicy policy;
  uint32_t leafNumbers = count - EXRP_POLICY_COUNT;
  const double given = numbers[EXRP_POLICY_FLAGS];
  if (isWhole(given, 0, EXRP_PICK_FLAGS_ALL) && (static_cast<uint32_t>(given) & EXRP_PICK_TRANSFORMS) != 0) {
    const double transformCount = numbers[count - 1];
    if (!isWhole(transformCount, 1, EXRP_LIMIT_COLUMNS * EXRP_LIMIT_TRANSFORMS)) return fail(Status::argument, argument, transformCount);
    policy.transformCount = static_cast<uint32_t>(transformCount);
    const uint32_t transformNumbers = policy.transformCount * EXRP_TRANSFORM_COUNT + 1;
    if (leafNumbers < transformNumbers) return fail(Status::argument, argument + 1, count);
    policy.transforms = numbers + (count - transformNumbers);
    leafNumbers -= transformNumbers;
  }
  if (leafNumbers % EXRP_LEAF_COUNT != 0 || leafNumbers / EXRP_LEAF_COUNT > EXRP_LIMIT_LEAVES) return fail(Status::argument, argument + 1, count);
  double wrong = 0;
  bool valid = true;
  const auto whole = [&](uint32_t index, uint32_t smallest, uint32_t largest) {
    const double value = numbers[index];
    const bool fits = value >= smallest && value <= largest && value == static_cast<double>(static_cast<uint32_t>(value));
    if (!fits && valid) {
      valid = false;
      wrong = value;
    }
    return fits ? static_cast<uint32_t>(value) : smallest;
  };
  policy.leafCount = leafNumbers / EXRP_LEAF_COUNT;
  policy.length = whole(EXRP_POLICY_LENGTH, 1, EXRP_LIMIT_CAPACITY);
  policy.stride = whole(EXRP_POLICY_STRIDE, 1, EXRP_LIMIT_CAPACITY);
  const uint32_t flags = whole(EXRP_POLICY_FLAGS, 0, EXRP_PICK_FLAGS_ALL);
  policy.before = whole(EXRP_POLICY_BEFORE, 0, EXRP_LIMIT_CAPACITY);
  // Frames once have no next states of their own; backwards in time there is no row after the last, and the first has a next state.
  bool anyOnce = false;
  bool anyMissing = false;
  for (uint32_t index = 0; index < (policy.leafCount == 0 ? EXRP_LIMIT_LEAVES : policy.leafCount); ++index) {
    LeafPolicy& leaf = policy.leaves[index];
    const bool hasOwn = policy.leafCount > 0;
    const uint32_t own = EXRP_POLICY_COUNT + EXRP_LEAF_COUNT * index;
    leaf.stack = whole(hasOwn ? own + EXRP_LEAF_STACK : EXRP_POLICY_STACK, 1, EXRP_LIMIT_WINDOW);
    leaf.nextState = whole(hasOwn ? own + EXRP_LEAF_NEXT_STATE : EXRP_POLICY_NEXT_STATE, 0, EXRP_NEXT_STATE_NONE);
    const uint32_t leafFlags = hasOwn ? whole(own + EXRP_LEAF_FLAGS, 0, EXRP_LEAF_FLAGS_ALL) : 0;
    leaf.compact = hasOwn ? (leafFlags & EXRP_LEAF_COMPACT) != 0 : (flags & EXRP_PICK_COMPACT) != 0;
    leaf.nStep = (leafFlags & EXRP_LEAF_NO_N_STEP) == 0;
    if (leaf.stack > policy.stack) policy.stack = leaf.stack;
    anyOnce = anyOnce || leaf.compact || leaf.overlaps();
    anyMissing = anyMissing || (leaf.compact && leaf.hasNext());
  }
  policy.rewardType = whole(EXRP_POLICY_REWARD_TYPE, 0, EXRP_TYPE_INT32);
  while (policy.nStepCount < EXRP_LIMIT_N_STEPS) {
    const uint32_t n = whole(EXRP_POLICY_N_STEP + policy.nStepCount, 0, EXRP_LIMIT_WINDOW);
    if (n == 0) break;
    policy.nSteps[policy.nStepCount++] = n;
    if (n > policy.nStepMax) policy.nStepMax = n;
  }
  policy.tagCount = whole(EXRP_POLICY_TAG_COUNT, 0, EXRP_LIMIT_TAGS);
  double before = -0x1p31 - 1;
  for (uint32_t at = 0; at < policy.tagCount; ++at) {
    const double tag = numbers[EXRP_POLICY_TAG + at];
    if (!(tag > before && tag < 0x1p31 && tag == static_cast<double>(static_cast<int32_t>(tag)))) {
      return fail(Status::argument, argument, tag);
    }
    policy.tags[at] = static_cast<int32_t>(tag);
    before = tag;
  }
  policy.discount = numbers[EXRP_POLICY_DISCOUNT];
  if (!valid) return fail(Status::argument, argument, wrong);
  if (!(policy.discount >= 0 && policy.discount <= 1)) return fail(Status::argument, argument, policy.discount);
  const auto flag = [&](uint32_t bit) { return (flags & bit) != 0; };
  policy.allowShort = flag(EXRP_PICK_ALLOW_SHORT);
  policy.allowOpenEnd = flag(EXRP_PICK_ALLOW_OPEN_END);
  policy.whole = flag(EXRP_PICK_WHOLE);
  policy.reversed = flag(EXRP_PICK_REVERSED);
  policy.aligned = flag(EXRP_PICK_ALIGNED);
  policy.zeroPadded = flag(EXRP_PICK_ZERO_PADDED);
  policy.masks = flag(EXRP_PICK_MASKS);
  policy.ends = flag(EXRP_PICK_ENDS);
  policy.returnToGo = flag(EXRP_PICK_RETURN_TO_GO);
  const bool possible = !anyMissing && !(policy.reversed && (anyOnce || policy.before > 0 || policy.allowOpenEnd)) &&
                        !(policy.hasReturns() && policy.rewardType == EXRP_TYPE_OTHER);
  if (!possible) return fail(Status::argument, argument, flags);
  *parsed = policy;
  return Status::ok;
}

bool PickPolicy::fitsReward(uint32_t itemBytes) const { return !hasReturns() || isTypeOf(rewardType, itemBytes); }

}  // namespace exrp
