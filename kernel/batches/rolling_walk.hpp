// RollingWalk: the route "rolling" of kernel/batches/batch.hpp. It copies plain picks (kernel/batches/plain_picks.hpp) of one record,
// without n-step returns, where no column lies beside the group of the state.
//
// Picks go through it in groups of 16. There are four stages:
// (1) ask: ask for the picks' entries in the pick table;
// (2) find: read their slots; ask for the heads of their blocks, and for their rows as if these lay together, which is nearly always so;
// (3) locate: read the heads; write the picks' episodes and positions, and ask for the episodes;
// (4) copy: read the episodes; copy states and next states.
// Each group is one stage ahead of the group behind it. Where four groups are under way, one loop does all four stages: of one pick of
// each group in turn. So the processor copies one pick while lines of others come. In PlainWalk's flights it asks for many lines at once
// and waits: Intel's processors have few buffers for lines that are on their way (docs/internals/performance.md, "On Intel machines").
// After stage 4, finish() copies the other columns of the group, and mends the picks that are not whole.
//
// Thread safety: after create() it changes nothing but the batch, so many threads may share it.
// Invariants:
//   1. It writes what BatchMaker's other routes would write, to the byte.
// Cost: near that of moving the bytes; no allocation.
#pragma once

#include "kernel/batches/copy_runs.hpp"
#include "kernel/batches/plain_picks.hpp"

namespace exrp {

class RollingWalk : public PlainPicks {
 public:
  /// Copies a pick that is not whole: all its parts but pickEpisode and pickPosition. The discounts of its rows are the policy's until then.
  struct CopyAlone {
    void (*call)(const void* context, const Episode& episode, const WalkedPick& pick, size_t index);
    const void* context;
  };

  void create(const Store& store, const PickPolicy& policy);

  /// Asks for what run() reads first, so that it may come meanwhile.
  static void begin(const PickTable& table, const uint32_t* indices, uint32_t count) {
    ask(table, indices, smaller(count, 3 * groupCount));
  }
  /// Fills the range, after begin().
  void run(const WalkJob& job, const CopyAlone& alone) const;

 private:
  static constexpr uint32_t groupCount = 16;
  static constexpr uint32_t blockShift = 4;  // of the stores that it takes: a shift by a known number is cheaper

  /// What is known of the picks of a group between the stages.
  struct Group {
    const uint8_t* rows[groupCount];
    double handles[groupCount];
    uint32_t slots[groupCount];
    uint32_t episodes[groupCount];
    uint32_t positions[groupCount];
    uint32_t cuts[groupCount];  // not 0: the pick is not whole; bit 0: its rows are torn
  };
  /// Where the states of a batch go, one pick after another.
  struct StateTarget {
    uint8_t* state;
    uint8_t* next;
    size_t stateStep;
    size_t nextStep;
  };
  /// The store and the tables, as the stages need them.
  struct Sources {
    const uint32_t* slots;
    const BlockHead* heads;
    const Episode* episodes;
    const uint8_t* rows;
    size_t stride;
    size_t lastByte;
    uint32_t lines;
    uint32_t reach;
    size_t lastUnit;  // of the state
  };
  /// The groups under way: the one that is copied, and those behind it.
  struct UnderWay {
    Group* copied;
    Group* located;
    Group* found;
  };

  /// Whether any pick was not whole, of those that were copied; whether the rows of any were torn, of those that were located. 0: none.
  struct Seen {
    uint32_t cut = 0;
    uint32_t torn = 0;
  };

  // The stages of `count` picks. locate() says whether the rows of any are torn.
  static void ask(const PickTable& table, const uint32_t* indices, uint32_t count);
  static void findOne(const Sources& from, uint32_t index, uint32_t k, Group* group);
  static uint32_t locateOne(const Sources& from, uint32_t k, Group* group);
  static void find(const Sources& from, const uint32_t* indices, uint32_t count, Group* group);
  static uint32_t locate(const Sources& from, uint32_t count, Group* group);
  using Copy = Seen (*)(const Sources& from, const uint32_t* indices, uint32_t count, const UnderWay& groups,
                            const StateTarget& target);
  struct Stages {
    Copy copy = nullptr;
    Copy all = nullptr;  // all stages: copy() of this whole group, and what is next for the three groups behind it
  };
  template <typename State, bool all>
  static Seen copyBody(const Sources& from, const uint32_t* indices, uint32_t count, const UnderWay& groups, const StateTarget& target);
  template <typename State, bool all>
  static Seen copyPlain(const Sources& from, const uint32_t* indices, uint32_t count, const UnderWay& groups, const StateTarget& target);
  template <typename State, bool all>
  static Seen copyAvx2(const Sources& from, const uint32_t* indices, uint32_t count, const UnderWay& groups, const StateTarget& target);
  struct Fit {
    Stages stages;
    size_t lastUnit = 0;
  };
  static Fit fitFor(uint32_t stateBytes);
  void askTorn(const Group& group, uint32_t count) const;
  void finish(const WalkJob& job, const CopyAlone& alone, uint32_t begin, uint32_t count, bool anyCut, const Group& group,
              uint8_t* next, size_t nextStep) const;
  void mend(const WalkJob& job, const CopyAlone& alone, uint32_t pick, uint32_t slot, bool isTorn, uint8_t* next) const;

  Stages stages_;
  size_t lastUnit_ = 0;
  CopyRuns copyParts_[columnMax] = {};
};

}  // namespace exrp
