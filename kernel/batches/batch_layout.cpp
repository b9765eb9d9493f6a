#include "kernel/batches/batch_layout.hpp"

#include <cstring>

namespace exrp {
namespace {

/// The first of the parts of n-step return `index`.
uint32_t nStepPart(const Store& store, uint32_t index) { return EXRP_BATCH_COLUMN + store.columnCount() + EXRP_BATCH_N_STEP_PARTS * index; }

/// The first of the parts of a leaf that is not the first one.
uint32_t leafPart(const Store& store, const PickPolicy& policy, uint32_t leaf) {
  return nStepPart(store, policy.nStepCount) + (1 + policy.nStepCount) * (leaf - 1);
}
uint32_t nextStatePart(const Store& store, const PickPolicy& policy, uint32_t leaf) {
  return leaf == 0 ? EXRP_BATCH_NEXT_STATE : leafPart(store, policy, leaf);
}
uint32_t nStepStatePart(const Store& store, const PickPolicy& policy, uint32_t index, uint32_t leaf) {
  return leaf == 0 ? nStepPart(store, index) + EXRP_BATCH_N_STEP_STATE : leafPart(store, policy, leaf) + 1 + index;
}

uint32_t rowBytes(const Store& store, uint32_t column, const uint32_t* shown) { return shown == nullptr ? store.column(column).bytes : shown[column]; }

}  // namespace

uint32_t batchPartCount(const Store& store, const PickPolicy& policy) { return leafPart(store, policy, store.leaves().count()); }

double batchBytes(const Store& store, const PickPolicy& policy, uint32_t count, const uint32_t* shown) {
  const double rows = static_cast<double>(policy.rows());
  const auto bytesOf = [&](uint32_t column) { return rowBytes(store, column, shown); };
  double row = 4.0 * (1.0 + policy.nStepCount) * store.reward().itemCount + 64;
  double pick = 64;
  for (uint32_t leaf = 0; leaf < store.leaves().count(); ++leaf) {
    row += (1.0 + policy.nStepCount) * policy.leaves[leaf].stack * bytesOf(leaf);
    pick += static_cast<double>(policy.leaves[leaf].frames(policy.rows())) * bytesOf(leaf);
  }
  for (uint32_t column = store.leaves().count(); column < store.columnCount(); ++column) row += bytesOf(column);
  return count * (rows * row + pick);
}

BatchLayout layoutBatch(const Store& store, const PickPolicy& policy, uint32_t count, const uint32_t* shown) {
  BatchLayout layout;
  const auto bytesOf = [&](uint32_t column) { return uint64_t{rowBytes(store, column, shown)}; };
  if (clearsPadding) layout.ends[0] = 0;
  uint64_t end = 0;
  const auto add = [&](uint32_t part, uint64_t bytes) {
    layout.offsets[part] = end;
    if (clearsPadding) layout.ends[part] = end + bytes;
    end = (end + bytes + lineBytes - 1) & ~uint64_t{lineBytes - 1};
  };
  const uint64_t rows = uint64_t{count} * policy.rows();
  const uint32_t leafCount = store.leaves().count();
  const auto stacks = [&](uint32_t leaf) { return rows * policy.leaves[leaf].stack * bytesOf(leaf); };
  for (uint32_t leaf = 0; leaf < leafCount; ++leaf) {
    add(EXRP_BATCH_COLUMN + leaf, count * policy.leaves[leaf].frames(policy.rows()) * bytesOf(leaf));
  }
  for (uint32_t index = leafCount; index < store.columnCount(); ++index) {
    add(EXRP_BATCH_COLUMN + index, (store.isKept(index) ? count : rows) * bytesOf(index));
  }
  for (uint32_t leaf = 0; leaf < leafCount; ++leaf) add(nextStatePart(store, policy, leaf), policy.leaves[leaf].hasNext() ? stacks(leaf) : 0);
  add(EXRP_BATCH_DISCOUNT, rows * sizeof(float));
  add(EXRP_BATCH_LEARN_MASK, policy.masks ? rows * sizeof(float) : 0);
  add(EXRP_BATCH_CONTEXT_MASK, policy.masks ? rows * sizeof(float) : 0);
  add(EXRP_BATCH_TERMINATED, policy.ends ? rows : 0);
  add(EXRP_BATCH_TRUNCATED, policy.ends ? rows : 0);
  add(EXRP_BATCH_RETURN_TO_GO, policy.returnToGo ? rows * store.reward().itemCount * sizeof(float) : 0);
  for (uint32_t index = 0; index < policy.nStepCount; ++index) {
    const uint32_t part = nStepPart(store, index);
    add(part + EXRP_BATCH_N_STEP_RETURN, rows * store.reward().itemCount * sizeof(float));
    for (uint32_t leaf = 0; leaf < leafCount; ++leaf) add(nStepStatePart(store, policy, index, leaf), policy.leaves[leaf].nStep ? stacks(leaf) : 0);
    add(part + EXRP_BATCH_N_STEP_DISCOUNT, rows * sizeof(float));
  }
  add(EXRP_BATCH_SEQ_LEN, uint64_t{count} * sizeof(int32_t));
  add(EXRP_BATCH_NEXT_SEQ_LEN, uint64_t{count} * sizeof(int32_t));
  add(EXRP_BATCH_PICK_EPISODE, uint64_t{count} * sizeof(double));
  add(EXRP_BATCH_PICK_POSITION, uint64_t{count} * sizeof(int32_t));
  add(EXRP_BATCH_PROBABILITY, uint64_t{count} * sizeof(float));
  add(EXRP_BATCH_IMPORTANCE_WEIGHT, uint64_t{count} * sizeof(float));
  layout.offsets[EXRP_BATCH_BYTES] = end;
  return layout;
}

void clearPadding(const BatchLayout& layout, uint32_t partCount, uint8_t* batch) {
  for (uint32_t part = 0; part < partCount; ++part) {
    const auto end = static_cast<size_t>(layout.ends[part]);
    memset(batch + end, 0, (lineBytes - end % lineBytes) % lineBytes);
  }
}

BatchTarget batchTarget(const Store& store, const PickPolicy& policy, const BatchLayout& layout, uint8_t* batch) {
  const auto bytes = [&](uint32_t part) { return batch + layout.offsets[part]; };
  const auto floats = [&](uint32_t part) { return reinterpret_cast<float*>(bytes(part)); };
  const auto integers = [&](uint32_t part) { return reinterpret_cast<int32_t*>(bytes(part)); };
  BatchTarget target;
  for (uint32_t index = 0; index < store.columnCount(); ++index) target.columns[index] = bytes(EXRP_BATCH_COLUMN + index);
  target.nextStates[0] = bytes(EXRP_BATCH_NEXT_STATE);
  target.discount = floats(EXRP_BATCH_DISCOUNT);
  target.learnMask = floats(EXRP_BATCH_LEARN_MASK);
  target.contextMask = floats(EXRP_BATCH_CONTEXT_MASK);
  target.terminated = bytes(EXRP_BATCH_TERMINATED);
  target.truncated = bytes(EXRP_BATCH_TRUNCATED);
  target.returnToGo = floats(EXRP_BATCH_RETURN_TO_GO);
  for (uint32_t index = 0; index < policy.nStepCount; ++index) {
    const uint32_t part = nStepPart(store, index);
    BatchTarget::NStep& to = target.nSteps[index];
    to.reward = floats(part + EXRP_BATCH_N_STEP_RETURN);
    to.discount = floats(part + EXRP_BATCH_N_STEP_DISCOUNT);
    to.states[0] = bytes(part + EXRP_BATCH_N_STEP_STATE);
  }
  for (uint32_t leaf = 1; leaf < store.leaves().count(); ++leaf) {
    target.nextStates[leaf] = bytes(nextStatePart(store, policy, leaf));
    for (uint32_t index = 0; index < policy.nStepCount; ++index) {
      target.nSteps[index].states[leaf] = bytes(nStepStatePart(store, policy, index, leaf));
    }
  }
  target.seqLen = integers(EXRP_BATCH_SEQ_LEN);
  target.nextSeqLen = integers(EXRP_BATCH_NEXT_SEQ_LEN);
  target.pickEpisode = reinterpret_cast<double*>(bytes(EXRP_BATCH_PICK_EPISODE));
  target.pickPosition = integers(EXRP_BATCH_PICK_POSITION);
  return target;
}

}  // namespace exrp
