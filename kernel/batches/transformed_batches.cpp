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

Status TransformedBatches::create(const Store& store, const PickPolicy& policy, uint32_t argument, uint32_t recordCountMax, uint64_t seed, uint32_t view,
                                  uint64_t addressed) {
  store_ = &store;
  policy_ = policy;
  policy_.transforms = nullptr;  // the caller's
  seed_ = transformBits(transformBits(seed) ^ view);
  for (uint32_t column = 0; column < store.columnCount(); ++column) shownBytes_[column] = store.column(column).bytes;
  uint64_t croppedBits = 0;
  const double* numbers = policy.transforms;
  for (uint32_t left = policy.transformCount; left > 0;) {
    const double column = numbers[EXRP_TRANSFORM_COLUMN];
    if (!isWhole(column, 0, store.columnCount() - 1)) return fail(Status::argument, argument, column);
    const auto at = static_cast<uint32_t>(column);
    if (transforms_.of[at] != nullptr) return fail(Status::argument, argument, column);
    uint32_t count = 1;
    while (count < left && numbers[count * EXRP_TRANSFORM_COUNT + EXRP_TRANSFORM_COLUMN] == column) ++count;
    transforms_.of[at].reset(new (std::nothrow) ColumnTransform);
    if (transforms_.of[at] == nullptr) return fail(Status::memory, sizeof(ColumnTransform));
    const Status status = transforms_.of[at]->parse(store.column(at), at == store.rewardColumn(), numbers, count, argument);
    if (status != Status::ok) return status;
    shownBytes_[at] = transforms_.of[at]->shownBytes();
    if ((addressed >> at & 1) != 0 && transforms_.of[at]->crops()) croppedBits |= uint64_t{1} << at;
    numbers += count * EXRP_TRANSFORM_COUNT;
    left -= count;
  }
  const AddressedColumns addresses = {addressed, shownBytes_};
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    const uint32_t words = (croppedBits >> column & 1) != 0 ? EXRP_ADDRESS_COUNT : 1;
    if (addresses.has(column)) shownBytes_[column] = words * uint32_t{sizeof(uint32_t)};
  }
  const size_t partMax = size_t{columnMax} + size_t{store.leaves().count()} * (1 + EXRP_LIMIT_N_STEPS);
  parts_.reset(new (std::nothrow) Part[partMax]);
  if (parts_ == nullptr) return fail(Status::memory, static_cast<double>(partMax * sizeof(Part)));
  const auto rows = static_cast<uint32_t>(policy.rows());
  for (uint32_t column = 0; column < store.columnCount(); ++column) {
    if (transforms_.of[column] == nullptr) continue;
    const ColumnTransform& transform = *transforms_.of[column];
    const size_t bytes = addresses.has(column) ? 0 : transform.scratchBytes();
    if (bytes > rowBytes_) rowBytes_ = bytes;
    transforms_.scaleAt[column] = scaleCount_;
    scaleCount_ += transform.scaleCount();
    if (column >= store.leaves().count()) {
      const bool isKept = store.isKept(column);
      addPart({isKept ? Part::Kind::kept : Part::Kind::rows, 0, column, isKept ? 1 : rows, 1, addresses.has(column)});
      continue;
    }
    const LeafPolicy& leaf = policy.leaves[column];
    const uint32_t more = leaf.overlaps() ? 1 : 0;
    if (leaf.compact) addPart({Part::Kind::frames, 0, column, static_cast<uint32_t>(leaf.frames(rows)), 1, addresses.has(column)});
    else addPart({Part::Kind::states, 0, column, rows + more, leaf.stack, addresses.has(column)});
    if (leaf.hasNext()) addPart({Part::Kind::next, 0, column, rows, leaf.stack, addresses.has(column)});
    for (uint32_t part = 0; leaf.nStep && part < policy.nStepCount; ++part) {
      addPart({Part::Kind::nStep, static_cast<uint8_t>(part), column, rows, leaf.stack, addresses.has(column)});
    }
  }
  const size_t fitting = storedBytesMax / pickBytes_;
  pickCount_ = fitting < 1 ? 1 : static_cast<uint32_t>(fitting);
  storedBytes_ = wholeLines(rowBytes_);
  for (uint32_t number = 0; number < partCount_; ++number) {
    Part& part = parts_[number];
    part.isInPlace = part.isAddressed || transforms_.of[part.column]->isInPlace();
    part.at = storedBytes_;
    part.rowAt = rowCount_;
    if (!part.isInPlace) storedBytes_ += wholeLines(storedBytes(part) * pickCount_);
    rowCount_ += part.rowsOf(pickCount_);
  }
  const PipelinedCopier::Tuning tuning = PipelinedCopier::tuningFor(policy_);
  maker_.create(store, policy_, recordCountMax, tuning, transforms_.of[store.rewardColumn()].get(), false, addresses);
  if (addressed == 0) pipelined_.create(store, policy_, tuning, &transforms_);
  return Status::ok;
}

void TransformedBatches::addPart(const Part& part) {
  parts_[partCount_++] = part;
  pickBytes_ += storedBytes(part);
  shownPickBytes_ += uint64_t{part.rows} * part.stack * shownBytes_[part.column];
}

double TransformedBatches::memoryBytes() const {
  double bytes = double{sizeof(*this)};
  for (const auto& transform : transforms_.of) bytes += transform == nullptr ? 0.0 : double{sizeof(ColumnTransform)};
  return bytes;
}

/// Whether the second thread takes part in a batch of so many picks.
bool TransformedBatches::isShared(uint32_t count) const { return count > pickCount_ && LargeCopier::isShared(count * shownPickBytes_); }

Status TransformedBatches::createScratch(uint32_t count, BatchScratch* scratch) const {
  if (!scratch->scales.commit(scaleCount_)) return fail(Status::memory, 4.0 * static_cast<double>(scaleCount_));
  const Status status = createOneScratch(scratch);
  if (status != Status::ok || !isShared(count)) return status;
  if (scratch->second == nullptr) scratch->second.reset(new (std::nothrow) BatchScratch);
  return scratch->second == nullptr ? fail(Status::memory, sizeof(BatchScratch)) : createOneScratch(scratch->second.get());
}

/// Takes the memory that one thread needs.
Status TransformedBatches::createOneScratch(BatchScratch* scratch) const {
  if (!scratch->stored.commit(storedBytes_)) return fail(Status::memory, static_cast<double>(storedBytes_));
  if (!scratch->isConverted.commit(rowCount_)) return fail(Status::memory, static_cast<double>(rowCount_));
  return maker_.createScratch(pickCount_, scratch);
}

/// Means and factors of the columns that are normalized. All statistics take each record, so one of them says whether there are new ones.
void TransformedBatches::takeScales(BatchScratch& scratch) const {
  uint64_t records = 0;
  forEachNormalized([&](uint32_t column, uint32_t) {
    const ColumnStatistics::Of& of = *statistics_->find(column);
    records = of.records;
    if (scratch.scaledAt != records) transforms_.of[column]->scalesOf(of, scratch.scales.data() + transforms_.scaleAt[column]);
  });
  scratch.scaledAt = records;
}

void TransformedBatches::gather(const GatherJob& job) const {
  takeScales(job.scratch);
  const float* const rewardScales = job.scratch.scales.data() + transforms_.scaleAt[store_->rewardColumn()];
  job.scratch.window.rewardScales = rewardScales;
  const bool shared = isShared(job.range.count) && job.scratch.second != nullptr;
  const uint32_t pickCount = pipelined_.takes() && !shared ? job.range.count : pickCount_;
  const Call call = {*this, job, transformBits(seed_ ^ job.drawn), shared, pickCount};
  const uint32_t pieces = pickCount == 0 ? 0 : (job.range.count + pickCount - 1) / pickCount;
  if (!shared) {
    for (uint32_t piece = 0; piece < pieces; ++piece) gatherPiece(call, piece, job.scratch);
    return;
  }
  job.scratch.second->window.rewardScales = rewardScales;
  const auto work = [](const void* context, uint32_t piece, uint32_t thread) {
    const Call& all = *static_cast<const Call*>(context);
    all.batches.gatherPiece(all, piece, thread == 0 ? all.job.scratch : *all.job.scratch.second);
  };
  SecondThread::share(pieces, work, &call);
}

/// Gathers the picks of a piece and converts them.
void TransformedBatches::gatherPiece(const Call& call, uint32_t number, BatchScratch& scratch) const {
  const GatherJob& job = call.job;
  const uint32_t done = number * call.pickCount;
  const uint32_t left = job.range.count - done;
  const uint32_t count = left < call.pickCount ? left : call.pickCount;
  if (done > 0) job.picks.prefetchFirst(job.indices + done, count);
  if (!pipelined_.takes()) return gatherStored(call, done, count, scratch);
  const GatherJob some = {job.episodes, job.blocks, job.picks, job.indices + done, {job.range.first + done, count, job.range.total}, job.target,
                          job.pickedEpisodes + done, scratch, job.drawn, job.scratch.scales.data()};
  pipelined_.run(
      some, scratch.joined.data(), [&](const FlightPick&, size_t index) { gatherStored(call, static_cast<uint32_t>(index) - job.range.first, 1, scratch); },
      [](uint32_t) {}, [](const FlightPick&, bool, size_t) {});
}

/// Gathers picks as they are stored, and converts them then.
void TransformedBatches::gatherStored(const Call& call, uint32_t done, uint32_t count, BatchScratch& scratch) const {
  const GatherJob& job = call.job;
  const Piece piece = {call, scratch, job.range.first + done, count};
  const BatchTarget* target = &job.target;
  BatchTarget moved;  // some kilobytes, so it is filled only where it is needed
  for (uint32_t at = 0; at < partCount_; ++at) {
    if (parts_[at].isInPlace) continue;
    if (target == &job.target) moved = job.target;
    target = &moved;
    // The place where pick 0 of the batch would be, so that this one is at the beginning.
    const auto begin = reinterpret_cast<uintptr_t>(scratch.stored.data() + parts_[at].at);
    parts_[at].in(moved) = reinterpret_cast<uint8_t*>(begin - piece.first * storedBytes(parts_[at]));
  }
  scratch.large.clear();
  scratch.window.queue = &scratch.large;
  maker_.gather({job.episodes, job.blocks, job.picks, job.indices + done, {piece.first, piece.count, job.range.total}, *target,
                 job.pickedEpisodes + done, scratch});
  if (piece.count <= askedMax) {
    // Few picks are large ones. Their lines come while these are converted. The other thread has probably taken the piece between.
    const uint32_t ahead = done + (call.isShared ? 2 : 1) * pickCount_;
    for (uint32_t next = ahead; next < job.range.count && next < ahead + pickCount_; ++next) maker_.prefetch(job.picks.slot(job.indices[next]));
  }
  convertLarge(piece);
  const bool whole = areWhole(piece);
  for (uint32_t at = 0; at < partCount_; ++at) convertPart(piece, at, whole);
}

/// Where the first row of a piece stands before it is transformed.
uint8_t* TransformedBatches::storedAt(const Piece& piece, const Part& part) const {
  return part.isInPlace ? part.in(piece.call.job.target) + piece.first * storedBytes(part) : piece.scratch.stored.data() + part.at;
}

/// Where a row belongs that is to be transformed. False for an address elsewhere.
bool TransformedBatches::placeOf(const Piece& piece, const uint8_t* stored, RowPlace* place) const {
  for (uint32_t number = 0; number < partCount_; ++number) {
    const Part& part = parts_[number];
    const uintptr_t at = reinterpret_cast<uintptr_t>(stored) - reinterpret_cast<uintptr_t>(storedAt(piece, part));
    if (at >= storedBytes(part) * piece.count) continue;
    *place = {number, at / rowBytes(part)};
    return true;
  }
  return false;
}

/// Where the batch shows it.
uint8_t* TransformedBatches::shownAt(const Piece& piece, const RowPlace& place) const {
  const Part& part = parts_[place.number];
  return part.in(piece.call.job.target) + (part.rowsOf(piece.first) + place.row) * transforms_.of[part.column]->shownBytes();
}

/// Converts rows of one pick, which stand one after another at `from`.
void TransformedBatches::convertRows(const Piece& piece, const RowPlace& place, const uint8_t* from, size_t count) const {
  const Part& part = parts_[place.number];
  const ColumnTransform& transform = *transforms_.of[part.column];
  const float* const scales = piece.call.job.scratch.scales.data() + transforms_.scaleAt[part.column];
  uint8_t* to = shownAt(piece, place);
  if (!transform.crops()) return transform.runMany(from, to, count, scales);
  const CropPlace crop = cropOf(piece, place.number, piece.first + place.row / part.rowsOf(1));
  for (; count > 0; --count, from += store_->column(part.column).bytes, to += transform.shownBytes()) {
    transform.run(from, to, crop, scales, piece.scratch.stored.data());
  }
}

/// Converts what waits in the queue from where it is stored.
void TransformedBatches::convertLarge(const Piece& piece) const {
  const CopyQueue& queue = piece.scratch.large;
  uint8_t* const isConverted = piece.scratch.isConverted.data();
  if (queue.count() > 0) memset(isConverted, 0, rowCount_);
  constexpr uint32_t ahead = 2;
  const auto ask = [&](uint32_t at) {
    if (at < queue.count()) prefetchPages(queue[at].from, queue[at].bytes);
  };
  for (uint32_t at = 0; at < ahead; ++at) ask(at);
  for (uint32_t at = 0; at < queue.count(); ++at) {
    ask(at + ahead);
    const auto [to, also, from, bytes] = queue[at];
    RowPlace place = {}, second = {};
    if (!placeOf(piece, to, &place)) {
      copier_.copyTwice(to, also, from, bytes);
      continue;
    }
    const Part& part = parts_[place.number];
    const size_t count = bytes / store_->column(part.column).bytes;
    memset(isConverted + part.rowAt + place.row, 1, count);
    const bool isTwice = also != nullptr && placeOf(piece, also, &second);
    if (isTwice) memset(isConverted + parts_[second.number].rowAt + second.row, 1, count);
    const ColumnTransform& transform = *transforms_.of[part.column];
    if (isTwice && !transform.crops()) {
      const float* const scales = piece.call.job.scratch.scales.data() + transforms_.scaleAt[part.column];
      transform.runTwice(from, shownAt(piece, place), shownAt(piece, second), count, scales);
      continue;
    }
    convertRows(piece, place, from, count);
    if (isTwice) convertRows(piece, second, from, count);
  }
}

/// Converts what was copied of a part. `whole`: all of its rows stand for a record or a state.
void TransformedBatches::convertPart(const Piece& piece, uint32_t number, bool whole) const {
  const Part& part = parts_[number];
  if (part.isAddressed) return writeCrops(piece, number);
  const ColumnTransform& transform = *transforms_.of[part.column];
  const size_t rowBytes = store_->column(part.column).bytes;
  const uint8_t* const stored = storedAt(piece, part);
  const uint8_t* const isConverted = piece.scratch.isConverted.data() + part.rowAt;
  const bool isLarge = store_->isAlone(part.column) && piece.scratch.large.count() > 0;
  const bool inOne = !isLarge && !transform.crops();
  uint8_t* const to = shownAt(piece, {number, 0});
  if (inOne) transform.runMany(stored, to, part.rowsOf(piece.count), piece.call.job.scratch.scales.data() + transforms_.scaleAt[part.column]);
  if (inOne && whole) return;
  for (uint32_t pick = 0; pick < piece.count; ++pick) {
    const auto [begin, end] = realRows(part, piece.call.job.target, piece.first + pick);
    const size_t first = part.rowsOf(pick);
    const size_t shownBytes = transform.shownBytes();
    const size_t stack = part.stack;
    if (begin > 0) memset(to + first * shownBytes, 0, begin * stack * shownBytes);
    if (end < part.rows) memset(to + (first + end * stack) * shownBytes, 0, (part.rows - end) * stack * shownBytes);
    if (inOne) continue;
    for (size_t row = first + begin * stack; row < first + end * stack; ++row) {
      if (!isLarge || isConverted[row] == 0) convertRows(piece, {number, row}, stored + row * rowBytes, 1);
    }
  }
}

/// Writes the place of each pick's crop into its addresses, where they have one.
void TransformedBatches::writeCrops(const Piece& piece, uint32_t number) const {
  const Part& part = parts_[number];
  const size_t bytes = shownBytes_[part.column];
  if (bytes < EXRP_ADDRESS_COUNT * sizeof(uint32_t)) return;
  uint8_t* to = storedAt(piece, part) + EXRP_ADDRESS_CROP * sizeof(uint32_t);
  for (uint32_t pick = 0; pick < piece.count; ++pick) {
    const CropPlace crop = cropOf(piece, number, uint64_t{piece.first} + pick);
    for (size_t row = 0; row < part.rowsOf(1); ++row, to += bytes) memcpy(to, &crop, sizeof crop);
  }
}

bool TransformedBatches::copyScales(const BatchScratch& scratch, uint32_t column, float* scales) const {
  const ColumnTransform* const transform = column < columnMax ? transforms_.of[column].get() : nullptr;
  if (transform == nullptr || !transform->normalizes() || scratch.scaledAt == UINT64_MAX) return false;
  const size_t itemCount = store_->column(column).itemCount;
  const size_t stride = transform->scaleCount() / 3;
  const float* const from = scratch.scales.data() + transforms_.scaleAt[column];
  for (size_t at = 0; at < 3; ++at) memcpy(scales + at * itemCount, from + at * stride, itemCount * sizeof(float));
  return true;
}

/// Whether all rows of all picks stand for a record, and those of next states for a state.
bool TransformedBatches::areWhole(const Piece& piece) const {
  const BatchTarget& target = piece.call.job.target;
  const auto rows = static_cast<int32_t>(policy_.rows());
  int32_t differs = policy_.aligned && policy_.before > 0 ? 1 : 0;
  for (uint32_t pick = piece.first; pick < piece.first + piece.count; ++pick) {
    differs |= (target.seqLen[pick] ^ rows) | (target.nextSeqLen[pick] ^ rows);
  }
  return differs == 0;
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
