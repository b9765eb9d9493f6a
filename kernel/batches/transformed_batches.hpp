// TransformedBatches: the Gatherer (kernel/batches/gatherer.hpp) of a view with transforms.
//
// It lets a BatchMaker gather some picks at a time. The parts of columns with transforms go to scratch memory that fits the second-level cache, as they are
// stored, and from there into the batch, as the batch shows them. So no way of gathering knows of transforms, and views without any pay nothing.
//
// The random bits of a place depend on the seed, the view, how many batches the view has drawn before, the pick's place in the batch, and the part. So all
// frames of a stack and all rows of a pick move together, and states and next states do not (as in the code of Yarats et al., "Image Augmentation Is All You
// Need").
//
// Thread safety: after create() it never changes, so many threads may share it. What a call changes is in its BatchScratch.
// Invariants:
//   1. Rows that stand for no record are zero.
// Cost: the stored bytes are written once and read once more, in the cache. Means and factors are computed anew where records came since the last batch.
// Copies are not put off until the lock of a shared replay is given back.
#pragma once

#include <memory>

#include "kernel/batches/batch.hpp"
#include "kernel/batches/column_transform.hpp"

namespace exrp {

class TransformedBatches final : public Gatherer {
 public:
  /// Reads the transforms of a policy; argument `argument` of the call. No episode has more than `recordCountMax` records.
  Status create(const Store& store, const PickPolicy& policy, uint32_t argument, uint32_t recordCountMax, uint64_t seed, uint32_t view);
  /// What statistics the transforms need: the columns, and the types of their elements.
  template <typename Use>
  void forEachNormalized(Use use) const {
    for (uint32_t column = 0; column < columnMax; ++column) {
      const ColumnTransform* const found = transforms_[column].get();
      if (found != nullptr && found->normalizes()) use(column, found->storedType());
    }
  }
  /// Where the statistics are, before the first batch is drawn.
  void useStatistics(const ColumnStatistics& statistics) { statistics_ = &statistics; }
  /// Bytes of a row of each column as a batch shows it.
  const uint32_t* shownBytes() const { return shownBytes_; }
  double memoryBytes() const;

  Status createScratch(BatchScratch* scratch) const override;
  void gather(const GatherJob& job) const override;

 private:
  /// A part of the batch that is of a column with transforms.
  struct Part {
    enum class Kind : uint8_t { rows, kept, states, frames, next, nStep };
    Kind kind;
    uint8_t nStep;
    uint32_t column;
    uint32_t rows;   // a pick has in it
    uint32_t stack;  // stored rows that are one of them

    uint8_t*& in(BatchTarget& target) const {
      return kind == Kind::next ? target.nextStates[column] : kind == Kind::nStep ? target.nSteps[nStep].states[column] : target.columns[column];
    }
  };

  /// Rows begin..end - 1.
  struct Rows {
    uint32_t begin, end;
  };

  void addPart(const Part& part);
  size_t storedBytes(const Part& part) const { return size_t{part.rows} * part.stack * store_->column(part.column).bytes; }
  void takeScales(BatchScratch& scratch) const;
  void convert(uint32_t number, const GatherJob& job, uint32_t first, uint32_t count, uint64_t bits, const uint8_t* stored) const;
  Rows realRows(const Part& part, const BatchTarget& target, uint32_t pick) const;

  const Store* store_ = nullptr;
  PickPolicy policy_;
  uint64_t seed_ = 0;
  std::unique_ptr<ColumnTransform> transforms_[columnMax];
  uint32_t shownBytes_[columnMax] = {};
  const ColumnStatistics* statistics_ = nullptr;
  BatchMaker maker_;
  std::unique_ptr<Part[]> parts_;
  uint32_t partCount_ = 0;
  size_t pickBytes_ = 0;    // of a pick in all parts_, as it is stored
  uint32_t pickCount_ = 0;  // picks at a time
  size_t rowBytes_ = 0;     // what a row of any needs while it is converted: at the beginning of the scratch memory
  size_t scaleCount_ = 0;   // floats for means and factors
  size_t scaleAt_[columnMax] = {};
};

}  // namespace exrp
