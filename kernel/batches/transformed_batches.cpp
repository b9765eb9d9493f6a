#include "kernel/batches/transformed_batches.hpp"

#include <cstring>
#include <new>

#include "kernel/base/whole_number.hpp"

namespace exrp {
namespace {

constexpr size_t storedBytesMax = size_t{1} << 18;  // of some picks at a time: less than a second-level cache has
constexpr uint32_t askedMax = 64;                      // picks whose lines are asked for while others are converted

size_t wholeLines(size_t bytes) { return (bytes + lineBytes - 1) / lineBytes * lineBytes; }

}  // namespace

Status TransformedBatches::create(const Store& store, const PickPolicy& policy, uint32_t argument, uint32_t recordCountMax, uint64_t seed, uint32_t view) {
  store_ = &store;
  policy_ = policy;
  policy_.transforms = nullptr;  // the caller's
  seed_ = transformBits(transformBits(seed) ^ view);
  for (uint32_t column = 0; column < store.columnCount(); ++column) shownBytes_[column] = store.column(column).bytes;
  const double* numbers = policy.transforms;
  for (uint32_t left = policy.transformCount; left > 0;) {
    const double column = numbers[EXRP_TRANSFORM_COLUMN];
    if (!isWhole(column, 0, store.columnCount() - 1)) return fail(Status::argument, argument, column);
    const auto at = static_cast<uint32_t>(column);
    if (transforms_[at] != nullptr) return fail(Status::argument, argument, column);
    uint32_t count = 1;
    while (count < left && numbers[count * EXRP_TRANSFORM_COUNT + EXRP_TRANSFORM_COLUMN] == column) ++count;
    transforms_[at].reset(new (std::nothrow) ColumnTransform);
    if (transforms_[at] == nullptr) return fail(Status::memory, sizeof(ColumnTransform));
    const Status status = transforms_[at]->parse(store.column(at), at == store.rewardColumn(), numbers, count, argument);
    if (status != Status::ok) return status;
    shownBytes_[at] = transforms_[at]->shownBytes();
    numbers += count * EXRP_TRANSFORM_COUNT;
    left -= count;
  }
  const size_t partMax = size_t{columnMax} + size_t{store.leaves().count()} * (1 + EXRP_LIMIT_N_STEPS);
  parts_.reset(new (std::nothrow) Part[partMax]);
  if (parts_ == nullptr) return fail(Status::memory, static_cast<double>(partMax * sizeof(Part)));
  const auto rows = static_cast<uint32_t>(policy.rows());
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    if (transforms_[column] == nullptr) continue;
    const ColumnTransform& transform = *transforms_[column];
    const size_t bytes = transform.scratchBytes();
    if (bytes > rowBytes_) rowBytes_ = bytes;
    scaleAt_[column] = scaleCount_;
    if (transform.normalizes()) scaleCount_ += size_t{ColumnTransform::scalesPerItem} * store.column(column).itemCount;
    if (column >= store.leaves().count()) {
      const bool isKept = store.isKept(column);
      addPart({isKept ? Part::Kind::kept : Part::Kind::rows, 0, column, isKept ? 1 : rows, 1});
      continue;
    }
    const LeafPolicy& leaf = policy.leaves[column];
    const uint32_t more = leaf.overlaps() ? 1 : 0;
    if (leaf.compact) addPart({Part::Kind::frames, 0, column, static_cast<uint32_t>(leaf.frames(rows)), 1});
    else addPart({Part::Kind::states, 0, column, rows + more, leaf.stack});
    if (leaf.hasNext()) addPart({Part::Kind::next, 0, column, rows, leaf.stack});
    for (uint32_t part = 0; leaf.nStep && part < policy.nStepCount; ++part) {
      addPart({Part::Kind::nStep, static_cast<uint8_t>(part), column, rows, leaf.stack});
    }
  }
  const size_t fitting = storedBytesMax / pickBytes_;
  pickCount_ = fitting < 1 ? 1 : static_cast<uint32_t>(fitting);
  maker_.create(store, policy_, recordCountMax, PlainWalk::tuningFor(policy_), transforms_[store.rewardColumn()].get(), false);
  return Status::ok;
}

void TransformedBatches::addPart(const Part& part) {
  parts_[partCount_++] = part;
  pickBytes_ += storedBytes(part);
}

double TransformedBatches::memoryBytes() const {
  double bytes = double{sizeof(*this)};
  for (const auto& transform : transforms_) bytes += transform == nullptr ? 0.0 : double{sizeof(ColumnTransform)};
  return bytes;
}

Status TransformedBatches::createScratch(BatchScratch* scratch) const {
  const size_t bytes = wholeLines(rowBytes_) + pickBytes_ * pickCount_ + lineBytes * partCount_;
  if (!scratch->stored.commit(bytes)) return fail(Status::memory, static_cast<double>(bytes));
  if (!scratch->scales.commit(scaleCount_)) return fail(Status::memory, 4.0 * static_cast<double>(scaleCount_));
  return maker_.createScratch(scratch);
}

/// Means and factors of the columns that are normalized. All statistics take each record, so one of them says whether there are new ones.
void TransformedBatches::takeScales(BatchScratch& scratch) const {
  uint64_t records = 0;
  forEachNormalized([&](uint32_t column, uint32_t) {
    const ColumnStatistics::Of& of = *statistics_->find(column);
    records = of.records;
    if (scratch.scaledAt != records) transforms_[column]->scalesOf(of, scratch.scales.data() + scaleAt_[column]);
  });
  scratch.scaledAt = records;
}

void TransformedBatches::gather(const GatherJob& job) const {
  BatchScratch& scratch = job.scratch;
  takeScales(scratch);
  scratch.window.rewardScales = scratch.scales.data() + scaleAt_[store_->rewardColumn()];
  const uint64_t bits = transformBits(seed_ ^ job.drawn);
  for (uint32_t done = 0, count = 0; done < job.range.count; done += count) {
    count = job.range.count - done < pickCount_ ? job.range.count - done : pickCount_;
    const uint32_t first = job.range.first + done;
    BatchTarget target = job.target;
    uint8_t* stored = scratch.stored.data() + wholeLines(rowBytes_);
    for (uint32_t at = 0; at < partCount_; ++at) {
      const size_t bytes = storedBytes(parts_[at]);
      // The place where pick 0 of the batch would be, so that this one is at the beginning.
      parts_[at].in(target) = reinterpret_cast<uint8_t*>(reinterpret_cast<uintptr_t>(stored) - first * bytes);
      stored += wholeLines(count * bytes);
    }
    if (done > 0) job.picks.prefetchFirst(job.indices + done, count);
    maker_.gather({job.episodes, job.blocks, job.picks, job.indices + done, {first, count, job.range.total}, target, job.pickedEpisodes + done, scratch});
    stored = scratch.stored.data() + wholeLines(rowBytes_);
    if (count <= askedMax) {
      // Few picks are large ones. Their lines come while these are converted.
      for (uint32_t next = done + count; next < job.range.count && next < done + 2 * count; ++next) {
        maker_.prefetch(job.picks.slot(job.indices[next]));
      }
    }
    for (uint32_t at = 0; at < partCount_; ++at) {
      convert(at, job, first, count, bits, stored);
      stored += wholeLines(count * storedBytes(parts_[at]));
    }
  }
}

/// Converts some picks of a part, which stand at `stored`.
void TransformedBatches::convert(uint32_t number, const GatherJob& job, uint32_t first, uint32_t count, uint64_t bits, const uint8_t* stored) const {
  const Part& part = parts_[number];
  const ColumnTransform& transform = *transforms_[part.column];
  const size_t rowBytes = store_->column(part.column).bytes;
  const size_t shownBytes = size_t{part.stack} * transform.shownBytes();
  const float* const scales = job.scratch.scales.data() + scaleAt_[part.column];
  BatchTarget target = job.target;
  uint8_t* to = part.in(target) + first * (part.rows * shownBytes);
  const bool isUniform = transform.isUniform();
  if (isUniform) transform.runMany(stored, to, size_t{count} * part.rows * part.stack);
  for (uint32_t pick = first; pick < first + count; ++pick) {
    const auto [begin, end] = realRows(part, target, pick);
    if (begin > 0) memset(to, 0, begin * shownBytes);
    if (end < part.rows) memset(to + end * shownBytes, 0, (part.rows - end) * shownBytes);
    if (!isUniform) {
      const CropPlace place = transform.crops() ? transform.placeOf(transformBits(transformBits(bits ^ pick) ^ number)) : CropPlace{};
      for (size_t at = begin * part.stack; at < size_t{end} * part.stack; ++at) {
        transform.run(stored + at * rowBytes, to + at * transform.shownBytes(), place, scales, job.scratch.stored.data());
      }
    }
    stored += part.rows * part.stack * rowBytes;
    to += part.rows * shownBytes;
  }
}

/// Which rows of a pick's part stand for a record or a state; the others are zero. What stands for frames before the episode's first is like a frame.
TransformedBatches::Rows TransformedBatches::realRows(const Part& part, const BatchTarget& target, uint32_t pick) const {
  const auto end = static_cast<uint32_t>(target.seqLen[pick]);
  const auto knownEnd = static_cast<uint32_t>(target.nextSeqLen[pick]);
  const auto position = static_cast<uint32_t>(target.pickPosition[pick]);
  const uint32_t lead = policy_.aligned && position < policy_.before ? policy_.before - position : 0;
  const LeafPolicy& leaf = policy_.leaves[part.column < store_->leaves().count() ? part.column : 0];
  // One row more, where the next state of the last record is known.
  const uint32_t endAll = leaf.overlaps() ? knownEnd + 1 : end;
  switch (part.kind) {
    case Part::Kind::rows: return {lead, end};
    case Part::Kind::kept: return {0, 1};
    case Part::Kind::states: return {lead, endAll};
    case Part::Kind::frames: return {0, endAll + leaf.stack - 1};
    default: return {lead, knownEnd};
  }
}

}  // namespace exrp
