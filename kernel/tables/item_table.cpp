#include "kernel/tables/item_table.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernel/base/prefetch.hpp"
#include "kernel/base/priority.hpp"
#include "kernel/tables/saving.hpp"

namespace exrp {
namespace {

/// The most samples that are drawn at once.
constexpr uint32_t drawAtOnce = 64;
/// The same where the draws of one call depend on one another: the next in age, each once.
constexpr uint32_t drawTogether = 4096;

}  // namespace

ItemBody* newBody(ChunkStore& store, Queue<Chunk*>& chunks, ByteSpan trajectory) {
  const size_t count = chunks.count();
  Arena::Block block = {};
  if (!store.arena().take(sizeof(ItemBody) + count * sizeof(Chunk*) + trajectory.size, &block)) return nullptr;
  auto* const body = reinterpret_cast<ItemBody*>(block.at);
  *body = {0, 1, block.slab, static_cast<uint32_t>(count), static_cast<uint32_t>(trajectory.size)};
  for (size_t k = 0; k < count; ++k) {
    store.keep(chunks[k]);
    body->chunks()[k] = chunks[k];
  }
  memcpy(body->trajectory(), trajectory.data, trajectory.size);  // it names a chunk, so it is not empty
  return body;
}

ItemTable::~ItemTable() {
  for (uint32_t index = 0; index < size_; ++index) {
    disuseChunks(*rows_[index].body);
    release(rows_[index].body);
  }
  for (size_t k = 0; k < inserts_.count(); ++k) release(inserts_[k].body);
  for (size_t k = 0; k < returned_.count(); ++k) release(returned_[k].item.body);
}

Status ItemTable::create(const TableConfig& config, std::unique_ptr<PickSelector> sampler, std::unique_ptr<PickSelector> remover,
                         ByteSpan rules) {
  config_ = config;
  if (!rules_.commit(rules.size)) return fail(Status::memory, static_cast<double>(rules.size));
  memcpy(rules_.data(), rules.data, rules.size);
  rulesBytes_ = rules.size;
  sampler_ = std::move(sampler);
  remover_ = std::move(remover);
  return rows_.create(uint64_t{config.maxSize} + 1) ? Status::ok : fail(Status::memory, sizeof(ItemRow) * (config.maxSize + 1.0));
}

bool ItemTable::prepare(size_t more) {
  if (!inserts_.prepare(more)) return false;
  const uint64_t wanted = uint64_t{size_} + inserts_.count() + more;
  const uint64_t most = uint64_t{config_.maxSize} + 1;
  const auto count = static_cast<uint32_t>(wanted < most ? wanted : most);
  return rows_.commit(count) && indexOf_.prepare(count) && sampler_->prepare(count) && remover_->prepare(count) &&
         (!keepsOwn_ || own_.commit(count));
}

bool ItemTable::prepareOwn() {
  if (own_.countMax() == 0 && !own_.create(rows_.countMax())) return false;
  if (!own_.commit(rows_.committed())) return false;
  for (uint32_t index = 0; !keepsOwn_ && index < size_; ++index) own_[index] = NAN;
  keepsOwn_ = true;
  return true;
}

void ItemTable::insert(const WaitingItem& item, double now) {
  const uint32_t known = find(item.key);
  if (known != KeyMap::none) {
    setPriority(known, item.priority, item.removerPriority);
    release(item.body);
    return;
  }
  item.body->insertedAt = now;
  push(item);
  if (size_ > config_.maxSize) removeOne();
  while (config_.maxBytes > 0 && used_.bytes > config_.maxBytes) removeOne();
  rateLimiter_.inserted();
}

void ItemTable::push(const WaitingItem& item) {
  const uint32_t index = size_++;
  if (size_ > sizeMax_) sizeMax_ = size_;
  rows_[index] = {item.key, item.priority, item.body, 0};
  indexOf_.add(item.key, index);
  if (keepsOwn_) own_[index] = item.removerPriority;
  const double forRemover = removerPriority(index);
  sampler_->pushed(index);
  sampler_->setPriority(&index, &item.priority, 1);
  remover_->pushed(index);
  remover_->setPriority(&index, &forRemover, 1);
  useChunks(*item.body);
  priorityMax_.raised(item.priority);
}

void ItemTable::useChunks(ItemBody& body) {
  for (uint32_t k = 0; k < body.chunkCount; ++k) store_.use(body.chunks()[k], number_, used_);
}

void ItemTable::disuseChunks(ItemBody& body) {
  for (uint32_t k = 0; k < body.chunkCount; ++k) store_.disuse(body.chunks()[k], number_, used_);
}

void ItemTable::removeOne() {
  uint32_t index = 0;
  double probability = 0;
  // A rule that can't draw for want of memory leaves the choice to the table, which must stay within its limits: the first item goes.
  if (remover_->select(1, &index, &probability) != Status::ok) index = 0;
  removeAt(index);
}

bool ItemTable::maySample(uint32_t count) const {
  if (!line_.isEmpty()) return false;
  if (count <= returned_.count()) return true;
  count -= static_cast<uint32_t>(returned_.count());
  if (size_ == 0 || !rateLimiter_.maySample(count)) return false;
  if (config_.maxTimesSampled == 0) return true;
  // The rate limiter allows draws until one item more than these has gone.
  const uint32_t mayGo = rateLimiter_.minSize() < 1 ? size_ - 1 : size_ - static_cast<uint32_t>(rateLimiter_.minSize());
  return count - 1 <= mayGo || count <= drawsToRemove(mayGo + 1);
}

/// The fewest draws by which `count` items go: those of the items that go soonest.
uint64_t ItemTable::drawsToRemove(uint32_t count) const {
  // A table may be loaded into one that allows fewer samples.
  const auto drawsLeft = [this](uint32_t index) {
    const uint32_t times = rows_[index].timesSampled;
    return times < config_.maxTimesSampled ? config_.maxTimesSampled - times : 1;
  };
  uint32_t least = 1;  // so many draws or fewer are left of `count` items: found by halving
  for (uint32_t most = config_.maxTimesSampled; least < most;) {
    const uint32_t middle = least + (most - least) / 2;
    uint32_t found = 0;
    for (uint32_t index = 0; index < size_; ++index) found += drawsLeft(index) <= middle ? 1 : 0;
    if (found < count) least = middle + 1;
    else most = middle;
  }
  uint64_t draws = 0;
  for (uint32_t index = 0; index < size_; ++index) {
    if (drawsLeft(index) >= least) continue;
    draws += drawsLeft(index);
    --count;
  }
  return draws + uint64_t{count} * least;
}

uint32_t ItemTable::drawMax(uint32_t wanted) const {
  if (config_.maxTimesSampled > 0) return 1;  // each draw may remove an item
  if (sampler_->drawsTogether()) {
    const uint32_t most = size_ < drawTogether ? size_ : drawTogether;
    return wanted < most ? wanted : most;
  }
  return wanted < drawAtOnce ? wanted : drawAtOnce;
}

Status ItemTable::draw(uint32_t count, uint64_t batch, bool isLimited, Queue<DrawnSample>& drawn) {
  if (!drawnIndex_.commit(count) || !drawnProbability_.commit(count)) return fail(Status::memory, 12.0 * count);
  uint32_t* const index = drawnIndex_.data();
  double* const probability = drawnProbability_.data();
  if (batch != batch_) sampler_->beginBatch();
  batch_ = batch;
  const Status status = sampler_->select(count, index, probability);
  if (status != Status::ok) return status;
  for (uint32_t k = 0; k < count; ++k) prefetchLine(&rows_[index[k]]);
  for (uint32_t k = 0; k < count; ++k) prefetchLineFar(rows_[index[k]].body);
  for (uint32_t k = 0; k < count; ++k) {
    ItemRow& row = rows_[index[k]];
    if (row.timesSampled == 0) ++uniqueSamples_;
    if (row.timesSampled < UINT32_MAX) ++row.timesSampled;
    ++row.body->references;
    const Chunk* const* const chunks = row.body->chunks();
    for (uint32_t c = 0; c < row.body->chunkCount && c < 8; ++c) prefetchLineFar(chunks[c]);
    drawn.push({{row.key, row.priority, row.body, row.timesSampled}, probability[k], size_, isLimited});
  }
  rateLimiter_.sampled(count);
  if (config_.maxTimesSampled > 0 && rows_[index[0]].timesSampled >= config_.maxTimesSampled) removeAt(index[0]);
  return Status::ok;
}

void ItemTable::setPriority(uint32_t index, double priority, double own) {
  ItemRow& row = rows_[index];
  const bool isOwn = !std::isnan(own);
  if (isOwn) own_[index] = own;
  if (priority < row.priority) priorityMax_.lowered(row.priority);
  row.priority = priority;
  priorityMax_.raised(priority);
  sampler_->setPriority(&index, &priority, 1);
  if (isOwn) remover_->setPriority(&index, &own, 1);
  else if (!hasOwn(index)) remover_->setPriority(&index, &priority, 1);
}

void ItemTable::removeAt(uint32_t index) {
  const ItemRow removed = rows_[index];
  const uint32_t last = --size_;
  indexOf_.remove(removed.key, index);
  if (index != last) {
    rows_[index] = rows_[last];
    if (keepsOwn_) own_[index] = own_[last];
    indexOf_.renumber(rows_[index].key, last, index);
    sampler_->moved(last, index);
    remover_->moved(last, index);
  }
  sampler_->popped(last);
  remover_->popped(last);
  rateLimiter_.deleted();
  priorityMax_.lowered(removed.priority);
  disuseChunks(*removed.body);
  release(removed.body);
}

void ItemTable::reset() {
  for (; size_ > 0; --size_) {
    sampler_->popped(size_ - 1);
    remover_->popped(size_ - 1);
    ItemBody* const body = rows_[size_ - 1].body;
    disuseChunks(*body);
    release(body);
  }
  for (; !returned_.isEmpty(); returned_.pop()) release(returned_.front().item.body);
  indexOf_.clear();
  rateLimiter_.setCounts({});
  used_.episodesDeleted = 0;
  uniqueSamples_ = 0;
  priorityMax_.clear();
}

void ItemTable::release(ItemBody* body) {
  if (--body->references > 0) return;
  for (uint32_t k = 0; k < body->chunkCount; ++k) store_.release(body->chunks()[k]);
  store_.arena().give({reinterpret_cast<uint8_t*>(body), body->slab});
}

uint64_t ItemTable::bytesOf(const ItemBody* body) const {
  uint64_t bytes = 0;
  for (uint32_t k = 0; k < body->chunkCount; ++k) bytes += body->chunks()[k]->bytes;
  return bytes;
}

bool ItemTable::save(SavedTable* saved) {
  const auto bytesOfRule = [this](const PickSelector& rule) { return rule.headerBytes() + size_t{size_} * rule.itemBytes(); };
  if (!saved->rows.commit(size_) || !saved->sampler.commit(bytesOfRule(*sampler_)) || !saved->remover.commit(bytesOfRule(*remover_))) return false;
  if (keepsOwn_ && !saved->own.commit(size_)) return false;
  if (size_ > 0) memcpy(saved->rows.data(), rows_.data(), size_ * sizeof(ItemRow));
  if (size_ > 0 && keepsOwn_) memcpy(saved->own.data(), own_.data(), size_ * sizeof(double));
  for (uint32_t index = 0; index < size_; ++index) ++rows_[index].body->references;
  sampler_->saveHeader(saved->sampler.data());
  sampler_->saveItems(0, size_, saved->sampler.data() + sampler_->headerBytes());
  remover_->saveHeader(saved->remover.data());
  remover_->saveItems(0, size_, saved->remover.data() + remover_->headerBytes());
  saved->size = size_;
  saved->batch = batch_;
  rateLimiter_.get(saved->rateLimiter);
  saved->counts = {rateLimiter_.counts(), uniqueSamples_, used_.episodesDeleted};
  return true;
}

void ItemTable::loadCounts(const TableCounts& counts) {
  rateLimiter_.setCounts(counts.rate);
  uniqueSamples_ = counts.uniqueSamples;
  used_.episodesDeleted = counts.episodesDeleted;
}

Status ItemTable::loadRules(ByteSpan sampler, ByteSpan remover) {
  const auto size = static_cast<uint32_t>(rateLimiter_.counts().stored());
  if (!prepare(size)) return fail(Status::memory, 64.0 * size);
  if (sampler.size != sampler_->headerBytes() || remover.size != remover_->headerBytes()) return Status::dataCorrupt;
  sampler_->pushedRun(0, size);
  remover_->pushedRun(0, size);
  const Status status = sampler_->loadHeader(sampler.data);
  return status == Status::ok ? remover_->loadHeader(remover.data) : status;
}

Status ItemTable::loadItem(const ItemRow& row, double own, ByteSpan sampler, ByteSpan remover) {
  if (sampler.size != sampler_->itemBytes() || remover.size != remover_->itemBytes()) return Status::dataCorrupt;
  Status status = sampler_->loadItems(size_, 1, sampler.data);
  if (status == Status::ok) status = remover_->loadItems(size_, 1, remover.data);
  if (status != Status::ok) return status;
  rows_[size_] = row;
  if (keepsOwn_) own_[size_] = own;
  indexOf_.add(row.key, size_++);
  useChunks(*row.body);
  priorityMax_.raised(row.priority);
  return Status::ok;
}

void ItemTable::restoreItem(const ItemRow& row, double own) {
  push({row.key, row.priority, own, row.body, 0, 0, false});
  rows_[size_ - 1].timesSampled = row.timesSampled;
}

Status ItemTable::loadEnd(bool hasRules) {
  if (size_ > sizeMax_) sizeMax_ = size_;
  if (config_.maxBytes > 0 && used_.bytes > config_.maxBytes) {
    return fail(Status::dataMismatch, number_, static_cast<double>(config_.maxBytes), static_cast<double>(used_.bytes));
  }
  if (!hasRules) return Status::ok;
  const Status status = sampler_->loadEnd();
  return status == Status::ok ? remover_->loadEnd() : status;
}

size_t ItemTable::waitingMax() const {
  const size_t tenth = config_.maxSize / 10;
  return tenth < 1 ? 1 : tenth < 1000 ? tenth : 1000;
}

bool ItemTable::setName(ByteSpan name) {
  if (!name_.commit(name.size + 1)) return false;
  memcpy(name_.data(), name.data, name.size);
  nameBytes_ = name.size;
  return true;
}

void ItemTable::info(double* info) const {
  const auto largest = [this] {
    double found = 0;
    for (uint32_t index = 0; index < size_; ++index) found = std::max(found, rows_[index].priority);
    return found;
  };
  info[EXRP_TABLES_INFO_SIZE] = size_;
  info[EXRP_TABLES_INFO_BYTES] = static_cast<double>(used_.bytes);
  info[EXRP_TABLES_INFO_INSERTS] = static_cast<double>(rateLimiter_.counts().inserts);
  info[EXRP_TABLES_INFO_SAMPLES] = static_cast<double>(rateLimiter_.counts().samples);
  info[EXRP_TABLES_INFO_DELETES] = static_cast<double>(rateLimiter_.counts().deletes);
  info[EXRP_TABLES_INFO_EPISODES] = static_cast<double>(used_.episodes);
  info[EXRP_TABLES_INFO_EPISODES_DELETED] = static_cast<double>(used_.episodesDeleted);
  info[EXRP_TABLES_INFO_UNIQUE_SAMPLES] = static_cast<double>(uniqueSamples_);
  info[EXRP_TABLES_INFO_INSERTS_WAITING] = static_cast<double>(inserts_.count());
  info[EXRP_TABLES_INFO_BYTES_WAITING] = static_cast<double>(inserts_.bytes());
  info[EXRP_TABLES_INFO_SAMPLERS_WAITING] = static_cast<double>(line_.count());
  info[EXRP_TABLES_INFO_PRIORITY_MAX] = priorityMax_.get(largest);
  info[EXRP_TABLES_INFO_MAX_SIZE] = config_.maxSize;
  info[EXRP_TABLES_INFO_MAX_BYTES] = static_cast<double>(config_.maxBytes);
  info[EXRP_TABLES_INFO_MAX_TIMES_SAMPLED] = config_.maxTimesSampled;
  rateLimiter_.get(info + EXRP_TABLES_INFO_RATE_LIMITER);
}

void ItemTable::items(uint32_t first, uint32_t count, uint8_t* keys, double* numbers) const {
  for (uint32_t k = 0; k < count; ++k) {
    const ItemRow& row = rows_[first + k];
    memcpy(keys + size_t{8} * k, &row.key, 8);
    double* const to = numbers + size_t{EXRP_ITEM_COUNT} * k;
    to[EXRP_ITEM_PRIORITY] = row.priority;
    to[EXRP_ITEM_TIMES_SAMPLED] = row.timesSampled;
    to[EXRP_ITEM_INSERTED_AT] = row.body->insertedAt;
    to[EXRP_ITEM_BYTES] = static_cast<double>(bytesOf(row.body));
    to[EXRP_ITEM_REMOVER_PRIORITY] = removerPriority(first + k);
  }
}

double ItemTable::memoryBytes() const {
  return sizeof(*this) + rows_.takenBytes(sizeMax_) + indexOf_.memoryBytes() + sampler_->memoryBytes(sizeMax_) +
         remover_->memoryBytes(sizeMax_) + (keepsOwn_ ? own_.takenBytes(sizeMax_) : 0) + inserts_.memoryBytes() + line_.memoryBytes() +
         returned_.memoryBytes() + name_.memoryBytes();
}

int32_t ItemTable::check() const {
  if (indexOf_.count() != size_ || size_ > config_.maxSize) return 1;
  if (inserts_.check() != 0) return 2;
  double largest = 0;
  for (uint32_t index = 0; index < size_; ++index) {
    const ItemRow& row = rows_[index];
    if (find(row.key) != index) return 1;
    if (row.body->references == 0) return 2;
    if (row.priority > largest) largest = row.priority;
    if (!isPriority(removerPriority(index))) return 5;
    for (uint32_t k = 0; k < row.body->chunkCount; ++k) {
      if (row.body->chunks()[k]->references == 0 || store_.usesOf(row.body->chunks()[k], number_) == 0) return 2;
    }
  }
  if (rateLimiter_.counts().stored() != static_cast<int64_t>(size_)) return 2;
  if (config_.maxBytes > 0 && used_.bytes > config_.maxBytes) return 2;
  if (size_ == 0 && (used_.bytes != 0 || used_.episodes != 0)) return 2;
  if (!returned_.isEmpty() && (config_.maxTimesSampled == 0 || !line_.isEmpty())) return 6;
  if (!priorityMax_.canBe(largest)) return 4;
  if (const int32_t broken = sampler_->check(); broken != 0) return 100 + broken;
  if (const int32_t broken = remover_->check(); broken != 0) return 200 + broken;
  return 0;
}

}  // namespace exrp
