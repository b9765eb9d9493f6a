// The states and next states of a plain batch whose state column stands alone: what is both is read once.

#include "kernel/batch.hpp"

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
    // Row k is state k, and next state k - 1. Of a run, the rows from `both` to `single` are both.
    const uint32_t end = done + run;
    const uint32_t stateEnd = end < rows.seqLen ? end : rows.seqLen;
    const uint32_t nextEnd = end < rows.nextSeqLen + 1 ? end : rows.nextSeqLen + 1;
    const uint32_t both = done == 0 ? 1 : done;  // row 0 is no one's next
    const uint32_t single = stateEnd < nextEnd ? stateEnd : nextEnd;
    if (done == 0) wide_.copy(state, from, bytes);
    if (both < single) {
      wide_.copyTwice(state + both * bytes, nextState + (both - 1) * bytes, from + (both - done) * bytes, (single - both) * bytes);
    }
    const uint32_t left = both > single ? both : single;
    if (left < stateEnd) wide_.copy(state + left * bytes, from + (left - done) * bytes, (stateEnd - left) * bytes);
    if (left < nextEnd) wide_.copy(nextState + (left - 1) * bytes, from + (left - done) * bytes, (nextEnd - left) * bytes);
    done = end;
    slot = nextSlot;
  }
}

}  // namespace exrp
