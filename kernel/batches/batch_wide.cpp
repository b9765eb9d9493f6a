// The states and next states of a plain batch whose state column stands alone: what is both is read once.

#include "kernel/batches/batch.hpp"

namespace exrp {

void BatchMaker::copyStateWide(const Rows& rows, const BatchTarget& target) const {
  const size_t bytes = store_->column(0).bytes;
  uint8_t* const state = target.columns[0] + rows.to * bytes;
  uint8_t* const nextState = target.nextState + rows.to * bytes;
  uint32_t slot = rows.slot;
  for (uint32_t done = 0; done < rows.count;) {
    uint32_t nextSlot = 0;
    const uint32_t run = runAt(slot, rows.count - done, &nextSlot);
    const uint8_t* const from = store_->at(0, slot);
    // Row k is state k, and next state k - 1: row 0 is no one's next, and after the last state there is one next state more, or none.
    const uint32_t end = done + run;
    const uint32_t stateEnd = end < rows.seqLen ? end : rows.seqLen;
    const uint32_t both = done == 0 ? 1 : done;
    if (done == 0) wide_.copy(state, from, bytes);
    if (both < stateEnd) {
      wide_.copyTwice(state + both * bytes, nextState + (both - 1) * bytes, from + (both - done) * bytes, (stateEnd - both) * bytes);
    }
    if (stateEnd < end) wide_.copy(nextState + (stateEnd - 1) * bytes, from + (stateEnd - done) * bytes, bytes);
    done = end;
    slot = nextSlot;
  }
}

}  // namespace exrp
