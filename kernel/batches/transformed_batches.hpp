// TransformedBatches: the Gatherer (kernel/batches/gatherer.hpp) of a view with transforms.
//
// It lets a BatchMaker gather some picks at a time. The parts of columns with transforms go to scratch memory that fits the second-level cache, as they are
// stored, and from there into the batch, as the batch shows them. Floats that stay floats are changed in the batch itself.
//
// Where all columns are small, and change_runs.hpp knows the operations of each, a PipelinedCopier changes rows while it copies them. It leaves some picks, and
// these are gathered as above, one by one.
//
// Copies of large rows do not take place: the BatchMaker puts them into a queue, and the rows are converted from where they are stored. What goes to two
// places, as a frame that is in a stack and in the next one, is converted once.
//
// Of a large batch, a second thread gathers and converts some of the picks (kernel/base/second_thread.hpp).
//
// The random bits of a place depend on the seed, the view, how many batches the view has drawn before, the pick's place in the batch, and the part. So all
// frames of a stack and all rows of a pick move together, and states and next states do not (as in the code of Yarats et al., "Image Augmentation Is All You
// Need").
//
// Columns whose rows are on a device, which transforms them, get addresses (kernel/batches/addressed_batches.hpp), with the place of each crop.
//
// Thread safety: after create() it never changes, so many threads may share it. What a call changes is in its BatchScratch.
// Invariants:
//   1. Rows that stand for no record are zero.
// Cost: the stored bytes of small rows are written once and read once more, in the cache. Means and factors are computed anew where records came since the
// last batch.
// Copies are not put off until the lock of a shared replay is given back.
#pragma once

#include <memory>

#include "kernel/batches/batch.hpp"
#include "kernel/batches/column_transform.hpp"

namespace exrp {

class TransformedBatches final : public Gatherer {
 public:
  /// Reads the transforms of a policy; argument `argument` of the call. No episode has more than `recordCountMax` records.
  /// A batch has addresses of the columns whose bits are in `addressed`.
  Status create(const Store& store, const PickPolicy& policy, uint32_t argument, uint32_t recordCountMax, uint64_t seed, uint32_t view,
                uint64_t addressed = 0);
  /// What statistics the transforms need: the columns, and the types of their elements.
  template <typename Use>
  void forEachNormalized(Use use) const {
    for (uint32_t column = 0; column < columnMax; ++column) {
      const ColumnTransform* const found = transforms_.of[column].get();
      if (found != nullptr && found->normalizes()) use(column, found->storedType());
    }
  }
  /// Where the statistics are, before the first batch is drawn.
  void useStatistics(const ColumnStatistics& statistics) { statistics_ = &statistics; }
  /// Bytes of a row of each column as a batch shows it.
  const uint32_t* shownBytes() const { return shownBytes_; }
  /// Means, their rests and factors of a column, as the last batch that was gathered with this scratch took them. False where there are none.
  bool copyScales(const BatchScratch& scratch, uint32_t column, float* scales) const;
  double memoryBytes() const;

  Status createScratch(uint32_t count, BatchScratch* scratch) const override;
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
    bool isAddressed;        // they are addresses
    bool isInPlace = false;  // rows are gathered where they are shown
    size_t at = 0;           // else the place of a piece's rows in the scratch memory, in bytes
    size_t rowAt = 0;        // the number of the first of them, in BatchScratch::isConverted

    size_t rowsOf(size_t picks) const { return picks * rows * stack; }
    /// Its pointer in a target.
    template <typename Target>
    auto& in(Target& target) const {
      return kind == Kind::next ? target.nextStates[column] : kind == Kind::nStep ? target.nSteps[nStep].states[column] : target.columns[column];
    }
  };

  /// What is the same for all pieces of a batch.
  struct Call {
    const TransformedBatches& batches;
    const GatherJob& job;
    uint64_t bits;  // random ones of this batch
    bool isShared;  // with the second thread
    uint32_t pickCount;  // of a piece
  };
  /// Some picks, and the memory of the thread that does them.
  struct Piece {
    const Call& call;
    BatchScratch& scratch;
    uint32_t first, count;
  };
  /// A row of a piece, of part `number`.
  struct RowPlace {
    uint32_t number;
    size_t row;
  };

  /// Rows begin..end - 1.
  struct Rows {
    uint32_t begin, end;
  };

  void addPart(const Part& part);
  /// Bytes of a row that is not transformed yet.
  size_t rowBytes(const Part& part) const { return part.isAddressed ? shownBytes_[part.column] : store_->column(part.column).bytes; }
  size_t storedBytes(const Part& part) const { return size_t{part.rows} * part.stack * rowBytes(part); }
  Status createOneScratch(BatchScratch* scratch) const;
  bool isShared(uint32_t count) const;
  void takeScales(BatchScratch& scratch) const;
  void gatherPiece(const Call& call, uint32_t number, BatchScratch& scratch) const;
  void gatherStored(const Call& call, uint32_t done, uint32_t count, BatchScratch& scratch) const;
  uint8_t* storedAt(const Piece& piece, const Part& part) const;
  bool placeOf(const Piece& piece, const uint8_t* stored, RowPlace* place) const;
  uint8_t* shownAt(const Piece& piece, const RowPlace& place) const;
  void convertRows(const Piece& piece, const RowPlace& place, const uint8_t* from, size_t count) const;
  void convertLarge(const Piece& piece) const;
  void convertPart(const Piece& piece, uint32_t number, bool whole) const;
  void writeCrops(const Piece& piece, uint32_t number) const;
  CropPlace cropOf(const Piece& piece, uint32_t number, uint64_t pick) const {
    return transforms_.of[parts_[number].column]->placeOf(transformBits(transformBits(piece.call.bits ^ pick) ^ number));
  }
  bool areWhole(const Piece& piece) const;
  Rows realRows(const Part& part, const BatchTarget& target, uint32_t pick) const;

  const Store* store_ = nullptr;
  PickPolicy policy_;
  uint64_t seed_ = 0;
  PipelinedCopier::Transforms transforms_;
  uint32_t shownBytes_[columnMax] = {};
  const ColumnStatistics* statistics_ = nullptr;
  BatchMaker maker_;
  PipelinedCopier pipelined_;  // changes small rows while it copies them, where it takes all columns
  LargeCopier copier_;         // of columns without transforms
  std::unique_ptr<Part[]> parts_;
  uint32_t partCount_ = 0;
  size_t pickBytes_ = 0;    // of a pick in all parts_, as it is stored
  uint64_t shownPickBytes_ = 0;  // and as a batch shows it
  uint32_t pickCount_ = 0;  // picks at a time, which are a piece
  size_t rowBytes_ = 0;     // what a row of any needs while it is converted: at the beginning of the scratch memory
  size_t storedBytes_ = 0;  // of the scratch memory
  size_t rowCount_ = 0;     // of a piece in all parts_
  size_t scaleCount_ = 0;   // floats for means and factors
};

}  // namespace exrp
