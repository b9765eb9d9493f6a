#include "kernel/durable/block_reader.hpp"

#include <cstring>

#include "kernel/durable/durable_format.hpp"
#include "kernel/store/logged_rows.hpp"

namespace exrp {
namespace {

/// Packed columns of a block that is read in parts.
constexpr uint32_t partsMax = 8;

}  // namespace

void BlockReader::create() {
  const Store& store = book_.store();
  plainBytes_ = joinedRowBytes(store);
  for (uint32_t column = 0; column < store.columnCount() && plainBytes_ > 0; ++column) {
    if (store.isKept(column) || store.isAlone(column)) plainBytes_ = 0;
    else if (store.isPacked(column)) plainBytes_ += store.column(column).bytes;
  }
}

bool BlockReader::prepare() {
  const auto bytes = static_cast<size_t>(loggedBlockBytesMax(book_.store()));
  return buffers_[0].commit(bytes) && buffers_[1].commit(bytes);
}

// ---- memory for what is read ----

BlockReader::Layout BlockReader::guess(const Missing& missing) const {
  const Store& store = book_.store();
  const BlockRows now = book_.rowsOf(missing.block);
  const uint32_t end = now.first + now.count;
  const uint32_t columns = store.packed().count();
  const bool isKnown = missing.place.segment != 0 && !book_.part<LoggedRows>().isLost(missing.block);
  // Of an unread block, the narrow columns are needed, too.
  if (!isKnown || unread_.is(missing.block) || plainBytes_ == 0 || columns > partsMax || missing.place.bytes <= sizeof(LoggedBlockHead)) return {};
  const uint32_t bytes = missing.place.bytes - uint32_t{sizeof(LoggedBlockHead)};
  const uint32_t count = bytes / plainBytes_;
  const uint32_t tail = bytes % plainBytes_;
  const uint32_t joined = joinedRowBytes(store);
  if (count >= now.count && count <= end && (tail == 0 || tail == store.leaves().bytes())) {
    return {uint32_t{sizeof(LoggedBlockHead)} + count * joined, count, end - count, 0, tail};
  }
  // None was trimmed before it was written.
  const uint32_t lead = uint32_t{sizeof(LoggedBlockHead)} + end * joined + uint32_t{sizeof(uint32_t)};
  return columns == 1 && missing.place.bytes > lead ? Layout{lead, end, 0, missing.place.bytes - lead, 0} : Layout{};
}

/// Without memory for one, the frame is read as a whole first.
void BlockReader::takeMemory(Missing& missing, RowPart* parts) {
  Store& store = book_.store();
  const Layout layout = guess(missing);
  missing.layout = layout;
  for (uint32_t k = 0; k < store.packed().count(); ++k) {
    parts[k] = {};
    if (layout.leadBytes == 0) continue;
    const uint32_t column = store.packed().column(k);
    // Plain rows stand where they would be had none been trimmed.
    const uint32_t end = layout.within + layout.rowCount;
    const uint32_t bytes = layout.packedBytes > 0 ? layout.packedBytes : end * store.column(column).bytes;
    parts[k] = {store.packed().of(column).takeBytes(bytes), bytes, end};
    if (parts[k].data == nullptr) missing.layout = {};
  }
}

// ---- reading, also by the second thread ----

void BlockReader::read(Missing& missing, RowPart* parts, uint32_t thread) {
  Scratch<uint8_t>& buffer = buffers_[thread];
  LogFailure failure;
  missing.status = missing.layout.leadBytes > 0 ? readGuessed(missing, parts, buffer, &failure) : LogStatus::unknown;
  missing.system = failure.error.system;
  if (missing.status == LogStatus::ok) return;
  for (uint32_t k = 0; k < book_.store().packed().count(); ++k) {
    if (parts[k].data != nullptr) PackedColumn::freeBytes(parts[k].data);
    parts[k] = {};
  }
  if (missing.status == LogStatus::disk) return;
  uint32_t type = 0;
  bool isRepaired = false;
  const uint32_t block = missing.block;
  const bool isUnreadYet = unread_.is(block);
  const bool isLost = missing.place.segment == 0 || book_.part<LoggedRows>().isLost(block) || unread_.isLost(block);
  missing.status = isLost || missing.place.bytes > buffer.committed() ? LogStatus::damaged : LogStatus::ok;
  if (missing.status == LogStatus::ok) missing.status = log_.read(missing.place, buffer.data(), &type, &failure, &isRepaired);
  missing.system = missing.status == LogStatus::disk ? failure.error.system : 0;
  if (missing.status != LogStatus::ok) return;
  if (isRepaired && isUnreadYet) unread_.noteRepair();
  const RowRange now(book_.rowsOf(block));
  missing.status = takeRows(book_.store(), block, now, isUnreadYet, type, buffer.data(), missing.place.bytes, parts);
}

/// Reads the rows to where they belong. `disk` where it can't be read, and another status where the frame is another one, or damaged.
LogStatus BlockReader::readGuessed(const Missing& missing, RowPart* parts, Scratch<uint8_t>& buffer, LogFailure* failure) const {
  const Store& store = book_.store();
  const Layout& layout = missing.layout;
  const uint32_t columns = store.packed().count();
  uint32_t type = 0;
  DiskPart places[partsMax + 2] = {{buffer.data(), layout.leadBytes}};
  for (uint32_t k = 0; k < columns; ++k) {
    const uint32_t skipped = layout.within * store.column(store.packed().column(k)).bytes;
    places[k + 1] = {parts[k].data + skipped, parts[k].bytes - skipped};
  }
  places[columns + 1] = {buffer.data() + layout.leadBytes, layout.tailBytes};
  const LogStatus status = log_.readParts(missing.place, places, columns + 2, &type, failure);
  if (status != LogStatus::ok || !isOfRows(type)) return status == LogStatus::disk ? status : LogStatus::unknown;
  LoggedBlockHead head = {};
  memcpy(&head, buffer.data(), sizeof head);
  const BlockRows now = book_.rowsOf(missing.block);
  const bool isRight = head.handle == store.handleOf(missing.block) && store.ordinalOf(head.position) == store.head(missing.block).ordinal() &&
                       store.within(head.position) == layout.within && head.rowCount == layout.rowCount && layout.within <= now.first;
  if (!isRight || (type == packedRowsFrame) != (layout.packedBytes > 0)) return LogStatus::unknown;
  if (layout.packedBytes == 0) return LogStatus::ok;
  uint32_t said = 0;
  memcpy(&said, buffer.data() + layout.leadBytes - sizeof said, sizeof said);
  const bool isPacked = said == layout.packedBytes && checkPacked({parts[0].data, parts[0].bytes, store.column(store.packed().column(0)).bytes, parts[0].count});
  return isPacked ? LogStatus::ok : LogStatus::unknown;
}

}  // namespace exrp
