#include "kernel/tables/tables.hpp"

#include <bit>
#include <cmath>
#include <new>
#include <utility>

#include "kernel/base/process.hpp"
#include "kernel/base/whole_number.hpp"
#include "kernel/rules/native_rules.hpp"
#include "kernel/wire/reverb_fields.hpp"

namespace exrp {
namespace {

/// The selector whose kind, count of options and options come next. A table can't know where a client's batch ends.
Status readSelector(Numbers& from, bool isSampler, Random random, uint32_t countMax, std::unique_ptr<PickSelector>* made) {
  if (!from.has(2)) return fail(Status::argument, 2, from.left);
  const double* const head = from.take(2);
  if (!isWhole(head[0], 0, UINT32_MAX)) return fail(Status::argument, 1, head[0]);
  if (!isWhole(head[1], 0, 64) || !from.has(head[1])) return fail(Status::argument, 1, head[1]);
  const auto count = static_cast<uint32_t>(head[1]);
  const auto kind = static_cast<uint32_t>(head[0]);
  const Draws draws = isSampler ? Draws::inStreams : Draws::inBatches;
  return createPickSelector(kind, from.take(count), count, random, countMax, draws, made);
}

}  // namespace

Tables::~Tables() {
  streams_.forEach([this](uint32_t id, const Inserter*, const Sampler*) { close(id); });
}

Status Tables::create(const double* config, uint32_t count) {
  if (count < EXRP_TABLES_FIRST) return fail(Status::argument, 2, count);
  const double seed = config[EXRP_TABLES_SEED];
  const double tableCount = config[EXRP_TABLES_COUNT];
  if (!isWhole(seed, 0, 0x1p53)) return fail(Status::argument, 1, seed);
  if (!isWhole(tableCount, 1, tableMax)) return fail(Status::argument, 1, tableCount);
#if defined(EXRP_TEST_MEMORY)
  secret_ = static_cast<uint64_t>(seed) * 0x9E3779B97F4A7C15u;  // for tests: what fails once fails again
#else
  secret_ = static_cast<uint64_t>(numberOfThisCopy()) * 0x9E3779B97F4A7C15u;
#endif
  store_.reset(new (std::nothrow) ChunkStore(static_cast<uint32_t>(tableCount), secret_));
  if (store_ == nullptr) return fail(Status::memory, sizeof(ChunkStore));
  if (const Status status = store_->create(); status != Status::ok) return status;

  Numbers from = {config + EXRP_TABLES_FIRST, count - EXRP_TABLES_FIRST};
  for (; tableCount_ < static_cast<uint32_t>(tableCount); ++tableCount_) {
    if (!from.has(EXRP_TABLES_RULES)) return fail(Status::argument, 2, count);
    const double* const numbers = from.take(EXRP_TABLES_RULES);
    if (!isWhole(numbers[EXRP_TABLES_MAX_SIZE], 1, EXRP_LIMIT_CAPACITY)) return fail(Status::argument, 1, numbers[EXRP_TABLES_MAX_SIZE]);
    if (!isWhole(numbers[EXRP_TABLES_MAX_BYTES], 0, 0x1p53)) return fail(Status::argument, 1, numbers[EXRP_TABLES_MAX_BYTES]);
    if (!isWhole(numbers[EXRP_TABLES_MAX_TIMES_SAMPLED], 0, INT32_MAX)) {
      return fail(Status::argument, 1, numbers[EXRP_TABLES_MAX_TIMES_SAMPLED]);
    }
    const TableConfig table = {static_cast<uint32_t>(numbers[EXRP_TABLES_MAX_SIZE]), static_cast<uint64_t>(numbers[EXRP_TABLES_MAX_BYTES]),
                               static_cast<uint32_t>(numbers[EXRP_TABLES_MAX_TIMES_SAMPLED])};
    std::unique_ptr<ItemTable>& made = tables_[tableCount_];
    made.reset(new (std::nothrow) ItemTable(tableCount_, secret_, *store_));
    if (made == nullptr) return fail(Status::memory, sizeof(ItemTable));
    std::unique_ptr<PickSelector> rules[2];
    const double* const ruleNumbers = from.at;
    for (uint32_t which = 0; which < 2; ++which) {
      const Random random(static_cast<uint64_t>(seed), uint64_t{2} * tableCount_ + which + 1);
      if (const Status status = readSelector(from, which == 0, random, table.maxSize + 1, &rules[which]); status != Status::ok) return status;
    }
    Status status = made->rateLimiter().set(numbers + EXRP_TABLES_RATE_LIMITER, 1, 0);
    if (status == Status::ok) {
      const ByteSpan text = {reinterpret_cast<const uint8_t*>(ruleNumbers), static_cast<size_t>(from.at - ruleNumbers) * sizeof(double)};
      status = made->create(table, std::move(rules[0]), std::move(rules[1]), text);
    }
    if (status != Status::ok) return status;
  }
  reader_.create(tables_, tableCount_, *store_);
  return from.left == 0 ? Status::ok : fail(Status::argument, 2, count);
}

Status Tables::setName(ItemTable& table, ByteSpan name) {
  const uint32_t known = exrp::findTable(tables_, tableCount_, name);
  if (name.size == 0 || name.size > EXRP_LIMIT_TABLES_NAME || (known != noTable && known != table.number())) {
    return fail(Status::argument, 3, static_cast<double>(name.size));
  }
  return table.setName(name) ? Status::ok : fail(Status::memory, static_cast<double>(name.size));
}

Status Tables::saveBegin() {
  if (loader_ != nullptr) return fail(Status::order);
  saver_.reset(new (std::nothrow) Saver(tables_, tableCount_, *store_, secret_));
  if (saver_ == nullptr) return fail(Status::memory, sizeof(Saver));
  const Status status = saver_->take();
  if (status != Status::ok) saver_.reset();
  return status;
}

Status Tables::load(ByteSpan piece) {
  // Whoever listens would not hear of it.
  if (isBroken_ || listener_ != nullptr) return fail(Status::order);
  if (loader_ == nullptr) {
    for (uint32_t number = 0; number < tableCount_; ++number) {
      ItemTable& table = *tables_[number];
      if (table.rateLimiter().counts().inserts != 0 || !table.inserts().isEmpty() || !table.line().isEmpty()) return fail(Status::order, number);
    }
    loader_.reset(new (std::nothrow) Loader(tables_, tableCount_, *store_, secret_));
    if (loader_ == nullptr) return fail(Status::memory, sizeof(Loader));
  }
  const Status status = loader_->load(piece);
  isBroken_ = status != Status::ok;
  return status;
}

Status Tables::loadEnd() {
  if (isBroken_ || loader_ == nullptr) return fail(Status::order);
  const Status status = loader_->end();
  isBroken_ = status != Status::ok;
  if (isBroken_) return status;
  if (loader_->insertedAtMax() > now_) now_ = loader_->insertedAtMax();
  loader_.reset();
  return Status::ok;
}

Status Tables::setRateLimiter(ItemTable& table, const double* numbers) {
  const Status status = table.rateLimiter().set(numbers, 3, 0);
  if (status != Status::ok) return status;
  if (listener_ != nullptr) listener_->settingRateLimiter(table, numbers);
  run(table);
  return Status::ok;
}

Status Tables::reset(ItemTable& table) {
  if (loader_ != nullptr) return fail(Status::order);
  if (listener_ != nullptr) listener_->resetting(table);
  table.reset();
  run(table);
  return Status::ok;
}

void Tables::storeInfo(double* info) const {
  double memory = sizeof(*this) + store_->memoryBytes() + streams_.memoryBytes() + reader_.memoryBytes() + changes_.memoryBytes() +
                  deletes_.memoryBytes();
  for (uint32_t number = 0; number < tableCount_; ++number) memory += tables_[number]->memoryBytes();
  if (saver_ != nullptr) memory += saver_->memoryBytes();
  if (listener_ != nullptr) memory += listener_->memoryBytes();
  info[EXRP_TABLES_STORE_CHUNKS] = store_->chunkCount();
  info[EXRP_TABLES_STORE_CHUNK_BYTES] = store_->chunkBytes();
  info[EXRP_TABLES_STORE_MEMORY_BYTES] = memory;
  info[EXRP_TABLES_STORE_INSERTERS] = streams_.inserterCount();
  info[EXRP_TABLES_STORE_SAMPLERS] = streams_.samplerCount();
}

// ---- streams ----

Status Tables::openInserter(uint32_t* id) {
  std::unique_ptr<Inserter> made(new (std::nothrow) Inserter(secret_));
  if (made == nullptr) return fail(Status::memory, sizeof(Inserter));
  return streams_.add(std::move(made), nullptr, id);
}

Status Tables::openSampler(uint32_t table, uint32_t* id) {
  std::unique_ptr<Sampler> made(new (std::nothrow) Sampler(table));
  if (made == nullptr || !tables_[table]->line().prepare(2 * (size_t{streams_.samplerCount()} + 1))) return fail(Status::memory, sizeof(Sampler));
  return streams_.add(nullptr, std::move(made), id);
}

Status Tables::close(uint32_t id) {
  std::unique_ptr<Inserter> inserter;
  std::unique_ptr<Sampler> sampler;
  streams_.take(id, &inserter, &sampler);
  if (inserter == nullptr && sampler == nullptr) return fail(Status::streamUnknown, id);
  if (inserter != nullptr) {
    // An id comes again once 2^15 streams had its place: no item may wait under it until then.
    for (uint64_t left = inserter->waiting > 0 ? inserter->tables : 0; left != 0; left &= left - 1) {
      ItemTable& table = *tables_[static_cast<uint32_t>(std::countr_zero(left))];
      table.inserts().leave(id, [&table](const WaitingItem& item) { table.release(item.body); });
    }
    inserter->held.sweep([](const HeldChunks::Held&) { return true; }, [this](Chunk* chunk) { store_->release(chunk); });
    return Status::ok;
  }
  ItemTable& table = *tables_[sampler->table];
  Queue<DrawnSample>& drawn = sampler->drawn;
  const bool isReturned = sampler->isWhole && table.config().maxTimesSampled > 0 && table.returned().prepare(drawn.count());
  for (; !drawn.isEmpty(); drawn.pop()) {
    if (isReturned) table.returned().push(drawn.front());
    else table.release(drawn.front().item.body);
  }
  endBatch(table, sampler->batch);
  // The others keep their order. Whoever was behind it may be served now.
  Queue<uint32_t>& line = table.line();
  for (size_t left = sampler->isInLine ? line.count() : 0; left > 0; --left) {
    const uint32_t other = line.front();
    line.pop();
    if (other != id) line.push(other);
  }
  run(table);
  return Status::ok;
}

// ---- progress ----

// In the order of Reverb's worker of a table: one insert if the rate limiter lets it through, then all samples, and again.
void Tables::run(ItemTable& table) {
  bool isGoing = true;
  while (isGoing) {
    isGoing = insertOne(table);
    while (serveOne(table)) isGoing = true;
  }
  if (listener_ != nullptr) listener_->settled();
}

/// Status::ok, or why nothing is taken in now.
Status Tables::mayTake() const {
  if (loader_ != nullptr) return fail(Status::order);
  return listener_ == nullptr ? Status::ok : listener_->mayInsert();
}

void Tables::endBatch(ItemTable& table, uint64_t batch) {
  if (listener_ != nullptr && batch == table.batch()) listener_->endingBatch(table);
  table.endBatch(batch);
}

bool Tables::insertOne(ItemTable& table) {
  if (table.inserts().isEmpty() || !table.rateLimiter().mayInsert(1)) return false;
  const WaitingItem item = table.inserts().pop();
  if (listener_ != nullptr) listener_->inserting(table, item, now_);
  table.insert(item, now_);
  Inserter* const inserter = streams_.inserter(item.inserter);
  if (inserter == nullptr) return true;  // its client has gone
  --inserter->waiting;
  inserter->waitingBytes -= item.bytes;
  if (item.isConfirmed) inserter->confirmed.push(item.key);
  streams_.wake(item.inserter);
  return true;
}

bool Tables::serveOne(ItemTable& table) {
  constexpr uint64_t drawnBytesMax = uint64_t{4} << 20;
  constexpr size_t drawnMax = 8192;
  if (table.line().isEmpty()) return false;
  const uint32_t id = table.line().front();
  Sampler& sampler = *streams_.sampler(id);
  const size_t before = sampler.drawn.count();
  const uint32_t count = drawFor(table, sampler);
  if (count == 0) return false;
  sampler.wanted -= count;
  if (sampler.wanted == 0) endBatch(table, sampler.batch);
  for (size_t k = before; k < sampler.drawn.count(); ++k) sampler.drawnBytes += table.bytesOf(sampler.drawn[k].item.body);
  const bool isMuch = sampler.drawnBytes >= drawnBytesMax || sampler.drawn.count() >= drawnMax;
  if (sampler.wanted == 0 || (isMuch && !sampler.isWhole)) {
    table.line().pop();
    sampler.isInLine = false;
  }
  if (sampler.wanted == 0 || !sampler.isWhole) streams_.wake(id);
  return true;
}

/// Draws some of the samples that a sampler wants, or takes returned ones. Returns how many: 0 where there are none for it now.
uint32_t Tables::drawFor(ItemTable& table, Sampler& sampler) {
  const uint32_t wanted = sampler.wanted < INT32_MAX ? static_cast<uint32_t>(sampler.wanted) : INT32_MAX;
  Queue<DrawnSample>& returned = table.returned();
  if (!returned.isEmpty()) {
    const uint32_t count = returned.count() < wanted ? static_cast<uint32_t>(returned.count()) : wanted;
    if (!sampler.drawn.prepare(count)) return 0;
    for (uint32_t k = 0; k < count; ++k) sampler.drawn.push(returned[k]);
    returned.pop(count);
    return count;
  }
  if (table.size() == 0) return 0;
  const auto allowed = static_cast<uint32_t>(table.rateLimiter().allowed(EXRP_ALLOW_SAMPLES, wanted));
  if (allowed == 0) return 0;
  const uint32_t count = table.drawMax(allowed);
  if (!sampler.drawn.prepare(count) || table.draw(count, sampler.batch, sampler.isLimited, sampler.drawn) != Status::ok) return 0;
  if (listener_ != nullptr) listener_->drawn(table, count, sampler.batch);
  return count;
}

// ---- changes of priorities ----

Status Tables::readChanges(ByteSpan message, ItemTable** table) {
  using Fields = reverb::MutatePrioritiesRequest;
  using UpdateFields = reverb::KeyWithPriority;
  ByteSpan name;
  bool hasOwn = false;
  Status status = Status::ok;
  const auto takeUpdate = [&](ByteSpan update) {
    Change change = {};
    OptionalReal own;
    const bool isGood = readFields(update, Field{UpdateFields::key, change.key}, Field{UpdateFields::priority, change.priority},
                                   Field{UpdateFields::removerPriority, own});
    if (!isGood) return false;
    status = checkPriorities(changes_.count(), change.key, change.priority, own);
    if (status == Status::ok && !changes_.prepare(1)) status = fail(Status::memory, sizeof(Change));
    if (status != Status::ok) return false;
    change.removerPriority = own.isThere ? own.value : NAN;
    hasOwn = hasOwn || own.isThere;
    changes_.push(change);
    return true;
  };
  const auto takeDelete = [&](uint64_t key) {
    if (status == Status::ok && !deletes_.prepare(1)) status = fail(Status::memory, sizeof(uint64_t));
    if (status == Status::ok) deletes_.push(key);
  };
  const bool isGood = readFields(message, Field{Fields::table, name}, Field{Fields::updates, takeUpdate}, Field{Fields::deleteKeys, takeDelete});
  if (status != Status::ok) return status;
  if (!isGood) return fail(Status::message, static_cast<double>(message.size));
  const uint32_t number = exrp::findTable(tables_, tableCount_, name);
  if (number == noTable) return fail(Status::tableUnknown, -1, -1, tableCount_);
  *table = tables_[number].get();
  if (hasOwn && !(*table)->prepareOwn()) return fail(Status::memory, 8.0 * (*table)->size());
  return Status::ok;
}

Status Tables::mutate(ByteSpan message) {
  if (loader_ != nullptr) return fail(Status::order);
  changes_.clear();
  deletes_.clear();
  ItemTable* table = nullptr;
  const Status status = readChanges(message, &table);
  if (status != Status::ok) return status;
  for (size_t k = 0; k < deletes_.count(); ++k) {
    const uint32_t index = table->find(deletes_[k]);
    if (index == KeyMap::none) continue;
    if (listener_ != nullptr) listener_->removing(*table, index);
    table->removeAt(index);
  }
  for (size_t k = 0; k < changes_.count(); ++k) {
    const Change& change = changes_[k];
    const uint32_t index = table->find(change.key);
    if (index == KeyMap::none) continue;
    if (listener_ != nullptr) listener_->settingPriority(*table, index, change.priority + 0.0, change.removerPriority + 0.0);
    table->setPriority(index, change.priority + 0.0, change.removerPriority + 0.0);
  }
  run(*table);
  return Status::ok;
}

int32_t Tables::check() {
  uint64_t waiting = 0;
  for (uint32_t number = 0; number < tableCount_; ++number) {
    ItemTable& table = *tables_[number];
    if (const int32_t broken = table.check(); broken != 0) return 1000 * (static_cast<int32_t>(number) + 1) + broken;
    if (!table.inserts().isEmpty() && table.rateLimiter().mayInsert(1)) return 1;
    if (!table.line().isEmpty() && table.size() > 0 && table.rateLimiter().maySample(1)) return 1;
    for (size_t k = 0; k < table.line().count(); ++k) {
      const Sampler* const sampler = streams_.sampler(table.line()[k]);
      if (sampler == nullptr || !sampler->isInLine || sampler->wanted == 0) return 1;
    }
    for (size_t k = 0; k < table.inserts().count(); ++k) {
      if (streams_.inserter(table.inserts()[k].inserter) != nullptr) ++waiting;
    }
  }
  streams_.forEach([&](uint32_t, const Inserter* inserter, const Sampler*) { waiting -= inserter == nullptr ? 0 : inserter->waiting; });
  if (waiting != 0) return 2;
  const int32_t broken = store_->check();
  return broken == 0 ? 0 : 100000 + broken;
}

}  // namespace exrp
