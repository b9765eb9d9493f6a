// Random calls against a plain model: vectors and linear searches, by the rules of Reverb as its source has them. After each call everything that
// a client can see is compared. The file is long because the plain model stands in it whole.
//
//   kernel_tables_model_test [SEED [ROUNDS]]
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "kernel/base/random.hpp"
#include "tests/kernel/tables/messages.hpp"

using namespace exrp::test;
using exrp::Random;

namespace {

enum class Rule { fifo, lifo, maxHeap, minHeap };

struct ModelChunk {
  uint64_t key;
  uint64_t episode;
  Message bytes;
};
using ChunkRef = std::shared_ptr<ModelChunk>;

struct ModelItem {
  uint64_t key;
  double priority;
  std::optional<double> own = {};  // its own priority for the remover
  uint64_t times = 0;
  uint64_t stamp = 0;           // of its insertion
  uint64_t touched = 0;         // of its insertion or latest update
  uint64_t removerTouched = 0;  // the same, of what the remover knows
  std::vector<ChunkRef> chunks;
  Message trajectory;
  uint32_t inserter = 0;
};

/// An update of an item, or an insert of a key that is there.
void update(ModelItem& item, double priority, std::optional<double> own, uint64_t stamp) {
  item.priority = priority;
  item.touched = stamp;
  if (own || !item.own) item.removerTouched = stamp;
  if (own) item.own = own;
}

struct ModelSample {
  ModelItem item;
  uint64_t tableSize;
};

struct ModelSampler {
  uint32_t table = 0;
  uint64_t wanted = 0;
  bool isInLine = false;
  bool isWhole = false;
  std::vector<ModelSample> drawn;
};

struct ModelInserter {
  std::vector<ChunkRef> held;
  std::vector<uint64_t> confirmed;
};

struct ModelTable {
  std::string name;
  Rule sampler;
  Rule remover;
  uint64_t maxSize;
  uint64_t maxBytes;
  uint64_t maxTimes;
  std::vector<double> limiter;
  int64_t inserts = 0, samples = 0, deletes = 0;
  uint64_t uniqueSamples = 0, episodesDeleted = 0;
  std::vector<ModelItem> items;
  std::vector<ModelItem> waiting;
  std::vector<uint32_t> line;
  std::vector<ModelSample> returned;

  bool mayInsert() const {
    if (inserts + 1 - deletes <= static_cast<int64_t>(limiter[1])) return true;
    return static_cast<double>(inserts + 1) * limiter[0] - static_cast<double>(samples) <= limiter[3];
  }
  bool maySample() const {
    if (items.empty() || inserts - deletes < static_cast<int64_t>(limiter[1])) return false;
    return static_cast<double>(inserts) * limiter[0] - static_cast<double>(samples) - 1 >= limiter[2];
  }
  /// Whether one who asks gets so many, if each draw takes the item that goes soonest.
  bool isSure(size_t count) const {
    if (!line.empty()) return false;
    ModelTable left = *this;
    for (size_t done = returned.size(); done < count; ++done) {
      if (!left.maySample()) return false;
      ++left.samples;
      const auto soonest = std::max_element(left.items.begin(), left.items.end(), [](const ModelItem& a, const ModelItem& b) { return a.times < b.times; });
      if (maxTimes == 0 || ++soonest->times < maxTimes) continue;
      ++left.deletes;
      left.items.erase(soonest);
    }
    return true;
  }
  size_t choose(Rule rule, bool isRemover) const {
    const auto priorityOf = [&](const ModelItem& item) { return isRemover ? item.own.value_or(item.priority) : item.priority; };
    const auto touchedOf = [&](const ModelItem& item) { return isRemover ? item.removerTouched : item.touched; };
    size_t best = 0;
    for (size_t k = 1; k < items.size(); ++k) {
      const ModelItem& a = items[k];
      const ModelItem& b = items[best];
      const double p = priorityOf(a);
      const double q = priorityOf(b);
      bool isBetter = false;
      switch (rule) {
        case Rule::fifo: isBetter = a.stamp < b.stamp; break;
        case Rule::lifo: isBetter = a.stamp > b.stamp; break;
        case Rule::maxHeap: isBetter = p > q || (p >= q && touchedOf(a) < touchedOf(b)); break;
        case Rule::minHeap: isBetter = p < q || (p <= q && touchedOf(a) < touchedOf(b)); break;
      }
      if (isBetter) best = k;
    }
    return best;
  }
  std::set<ChunkRef> chunks() const {
    std::set<ChunkRef> all;
    for (const ModelItem& item : items) all.insert(item.chunks.begin(), item.chunks.end());
    return all;
  }
  std::set<uint64_t> episodes() const {
    std::set<uint64_t> all;
    for (const ChunkRef& chunk : chunks()) all.insert(chunk->episode);
    return all;
  }
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const ChunkRef& chunk : chunks()) sum += chunk->bytes.size();
    return sum;
  }
  size_t find(uint64_t key) const {
    size_t at = 0;
    while (at < items.size() && items[at].key != key) ++at;
    return at;
  }
  void remove(size_t at) {
    const size_t before = episodes().size();
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
    episodesDeleted += before - episodes().size();
    ++deletes;
  }
};

class Twins {
 public:
  explicit Twins(uint64_t seed) : random_(seed, 0), hasOwn_(seed % 2 == 0) {
    const std::vector<std::vector<double>> rules = {fifo, lifo, maxHeap, minHeap};
    const uint32_t tableCount = 1 + random_.below(3);
    std::vector<double> config = {static_cast<double>(seed % 1000), static_cast<double>(tableCount)};
    std::vector<std::string> names;
    for (uint32_t t = 0; t < tableCount; ++t) {
      ModelTable table;
      table.name = "table" + std::to_string(t);
      table.sampler = static_cast<Rule>(random_.below(4));
      table.remover = static_cast<Rule>(random_.below(4));
      table.maxSize = 1 + random_.below(30);
      table.maxBytes = random_.below(3) == 0 ? 400 + random_.below(2000) : 0;
      table.maxTimes = random_.below(2) == 0 ? 0 : 1 + random_.below(3);
      table.limiter = randomLimiter();
      addTable(config, static_cast<double>(table.maxSize), table.limiter, rules[static_cast<size_t>(table.sampler)],
               rules[static_cast<size_t>(table.remover)], static_cast<double>(table.maxTimes), static_cast<double>(table.maxBytes));
      names.push_back(table.name);
      model_.push_back(table);
    }
    real_ = std::make_unique<TablesUnderTest>(config, names);
  }

  void step() {
    switch (random_.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4: return feed();
      case 5: return mutate();
      case 6: return random_.below(12) == 0 ? reset() : setLimiter();
      case 7:
      case 8: return ask();
      case 9: return readSamples();
      case 10: return readConfirmed();
      default: return random_.below(4) == 0 ? closeOne() : openOne();
    }
  }

  void compare() {
    CHECK_EQUAL(real_->check(), 0);
    std::set<ChunkRef> all;
    for (const auto& [id, inserter] : inserters_) all.insert(inserter.held.begin(), inserter.held.end());
    for (const auto& [id, sampler] : samplers_)
      for (const ModelSample& sample : sampler.drawn) all.insert(sample.item.chunks.begin(), sample.item.chunks.end());
    for (uint32_t t = 0; t < model_.size(); ++t) {
      const ModelTable& table = model_[t];
      const std::set<ChunkRef> own = table.chunks();
      all.insert(own.begin(), own.end());
      for (const ModelSample& sample : table.returned) all.insert(sample.item.chunks.begin(), sample.item.chunks.end());
      for (const ModelItem& item : table.waiting) all.insert(item.chunks.begin(), item.chunks.end());
      double info[EXRP_TABLES_INFO_COUNT] = {};
      CHECK_EQUAL(exrp_tables_info(real_->id, t, info, EXRP_TABLES_INFO_COUNT), EXRP_STATUS_OK);
      CHECK_EQUAL(info[EXRP_TABLES_INFO_SIZE], static_cast<double>(table.items.size()));
      CHECK_EQUAL(info[EXRP_TABLES_INFO_BYTES], static_cast<double>(table.bytes()));
      CHECK_EQUAL(info[EXRP_TABLES_INFO_INSERTS], static_cast<double>(table.inserts));
      CHECK_EQUAL(info[EXRP_TABLES_INFO_SAMPLES], static_cast<double>(table.samples));
      CHECK_EQUAL(info[EXRP_TABLES_INFO_DELETES], static_cast<double>(table.deletes));
      CHECK_EQUAL(info[EXRP_TABLES_INFO_EPISODES], static_cast<double>(table.episodes().size()));
      CHECK_EQUAL(info[EXRP_TABLES_INFO_EPISODES_DELETED], static_cast<double>(table.episodesDeleted));
      CHECK_EQUAL(info[EXRP_TABLES_INFO_UNIQUE_SAMPLES], static_cast<double>(table.uniqueSamples));
      CHECK_EQUAL(info[EXRP_TABLES_INFO_INSERTS_WAITING], static_cast<double>(table.waiting.size()));
      CHECK_EQUAL(info[EXRP_TABLES_INFO_SAMPLERS_WAITING], static_cast<double>(table.line.size()));
      double largest = 0;
      for (const ModelItem& item : table.items) largest = std::max(largest, item.priority);
      CHECK_EQUAL(info[EXRP_TABLES_INFO_PRIORITY_MAX], largest);
      compareItems(t, table);
    }
    CHECK_EQUAL(real_->store(EXRP_TABLES_STORE_CHUNKS), static_cast<double>(all.size()));
  }

  void end() {
    for (uint32_t t = 0; t < model_.size(); ++t) {
      // What waits goes in, and goes.
      const double open[EXRP_RATE_LIMITER_RULE_COUNT] = {1, 1e9, -1e9, 1e9};
      CHECK_EQUAL(exrp_tables_rate_limiter_set(real_->id, t, open, EXRP_RATE_LIMITER_RULE_COUNT), EXRP_STATUS_OK);
      CHECK_EQUAL(exrp_tables_reset(real_->id, t), EXRP_STATUS_OK);
    }
    for (const auto& [id, inserter] : inserters_) CHECK_EQUAL(exrp_stream_close(real_->id, id), EXRP_STATUS_OK);
    for (const auto& [id, sampler] : samplers_) CHECK_EQUAL(exrp_stream_close(real_->id, id), EXRP_STATUS_OK);
    // What samplers have given back goes as well.
    for (uint32_t t = 0; t < model_.size(); ++t) CHECK_EQUAL(exrp_tables_reset(real_->id, t), EXRP_STATUS_OK);
    CHECK_EQUAL(real_->store(EXRP_TABLES_STORE_CHUNKS), 0.0);
    CHECK_EQUAL(real_->check(), 0);
  }

 private:
  std::vector<double> randomLimiter() {
    const double ratio = 0.5 * (1 + random_.below(4));
    switch (random_.below(3)) {
      case 0: return minSize(1 + random_.below(5));
      case 1: return {1, 1, 0, static_cast<double>(1 + random_.below(10))};
      default: {
        const double size = 1 + random_.below(6);
        const double error = ratio + 1 + random_.below(5);
        return {ratio, size, ratio * size - error, ratio * size + error};
      }
    }
  }
  /// Half of the seeds have no item with a priority of its own for the remover.
  std::optional<double> someOwn() { return hasOwn_ && random_.below(3) == 0 ? std::optional<double>(random_.below(4)) : std::nullopt; }
  template <typename Map>
  uint32_t someOf(const Map& map) {
    auto at = map.begin();
    std::advance(at, random_.below(static_cast<uint32_t>(map.size())));
    return at->first;
  }

  void compareItems(uint32_t t, const ModelTable& table) {
    const auto count = static_cast<uint32_t>(table.items.size());
    std::vector<uint8_t> keys(8 * count + 1);
    std::vector<double> numbers(EXRP_ITEM_COUNT * count + 1);
    CHECK_EQUAL(exrp_tables_items(real_->id, t, 0, count, keys.data(), 8 * count, numbers.data(), EXRP_ITEM_COUNT * count), EXRP_STATUS_OK);
    for (uint32_t k = 0; k < count; ++k) {
      uint64_t key = 0;
      memcpy(&key, keys.data() + 8 * k, 8);
      const size_t at = table.find(key);
      CHECK(at < table.items.size());
      if (at == table.items.size()) continue;
      CHECK_EQUAL(numbers[EXRP_ITEM_COUNT * k + EXRP_ITEM_PRIORITY], table.items[at].priority);
      CHECK_EQUAL(numbers[EXRP_ITEM_COUNT * k + EXRP_ITEM_REMOVER_PRIORITY], table.items[at].own.value_or(table.items[at].priority));
      CHECK_EQUAL(numbers[EXRP_ITEM_COUNT * k + EXRP_ITEM_TIMES_SAMPLED], static_cast<double>(table.items[at].times));
    }
  }

  void run(ModelTable& table) {
    bool isGoing = true;
    while (isGoing) {
      isGoing = false;
      if (!table.waiting.empty() && table.mayInsert()) {
        ModelItem item = table.waiting.front();
        table.waiting.erase(table.waiting.begin());
        insert(table, item);
        isGoing = true;
      }
      while (!table.line.empty() && (!table.returned.empty() || table.maySample())) {
        const uint32_t id = table.line.front();
        ModelSampler& sampler = samplers_[id];
        for (; sampler.wanted > 0 && !table.returned.empty(); --sampler.wanted) {
          sampler.drawn.push_back(table.returned.front());
          table.returned.erase(table.returned.begin());
        }
        while (sampler.wanted > 0 && table.maySample()) draw(table, sampler);
        if (sampler.wanted == 0) {
          table.line.erase(table.line.begin());
          sampler.isInLine = false;
        }
        isGoing = true;
      }
    }
  }
  void insert(ModelTable& table, ModelItem item) {
    const auto inserter = inserters_.find(item.inserter);
    if (inserter != inserters_.end()) inserter->second.confirmed.push_back(item.key);
    const size_t known = table.find(item.key);
    if (known < table.items.size()) {
      update(table.items[known], item.priority, item.own, ++stamp_);
      return;
    }
    item.stamp = item.touched = item.removerTouched = ++stamp_;
    table.items.push_back(item);
    if (table.items.size() > table.maxSize) table.remove(table.choose(table.remover, true));
    while (table.maxBytes > 0 && table.bytes() > table.maxBytes) table.remove(table.choose(table.remover, true));
    ++table.inserts;
  }
  void draw(ModelTable& table, ModelSampler& sampler) {
    const size_t at = table.choose(table.sampler, false);
    ModelItem& item = table.items[at];
    if (item.times++ == 0) ++table.uniqueSamples;
    ++table.samples;
    --sampler.wanted;
    sampler.drawn.push_back({item, table.items.size()});
    if (table.maxTimes > 0 && item.times == table.maxTimes) table.remove(at);
  }

  void feed() {
    if (inserters_.empty()) return openOne();
    const uint32_t id = someOf(inserters_);
    ModelInserter& inserter = inserters_[id];
    Insert insert;
    std::vector<ChunkRef> held = inserter.held;
    for (uint32_t k = random_.below(4); k > 0; --k) {
      const uint64_t key = random_.next() >> random_.below(64);
      const uint64_t episode = random_.below(6);
      const auto made = std::make_shared<ModelChunk>(ModelChunk{key, episode, chunkOf(key, episode, random_.below(200))});
      insert.chunks.push_back(made->bytes);
      if (std::none_of(held.begin(), held.end(), [&](const ChunkRef& other) { return other->key == key; })) held.push_back(made);
    }
    std::vector<std::pair<size_t, ModelItem>> items;
    for (uint32_t k = held.empty() ? 0 : random_.below(4); k > 0; --k) {
      const size_t t = random_.below(static_cast<uint32_t>(model_.size()));
      ModelItem item;
      item.key = random_.below(3) == 0 ? random_.below(40) : random_.next();
      item.priority = random_.below(4);
      item.own = someOwn();
      item.inserter = id;
      Item sent = {item.key, model_[t].name, item.priority, {}, {}, item.own};
      for (uint32_t c = 1 + random_.below(5); c > 0; --c) {
        const ChunkRef& chunk = held[random_.below(static_cast<uint32_t>(held.size()))];
        sent.chunks.push_back(chunk->key);
        if (std::find(item.chunks.begin(), item.chunks.end(), chunk) == item.chunks.end()) item.chunks.push_back(chunk);
      }
      item.trajectory = trajectoryOf(sent.chunks);
      uint64_t bytes = 0;
      for (const ChunkRef& chunk : item.chunks) bytes += chunk->bytes.size();
      if (model_[t].maxBytes > 0 && bytes > model_[t].maxBytes) continue;
      items.emplace_back(t, item);
      insert.items.push_back(sent);
    }
    if (!insert.items.empty()) {
      held.erase(std::remove_if(held.begin(), held.end(), [&](const ChunkRef&) { return random_.below(3) == 0; }), held.end());
      for (const ChunkRef& chunk : held) insert.keep.push_back(chunk->key);
    }
    if (random_.below(8) == 0) return refuse(id, insert);
    const int32_t status = real_->feed(id, insert);
    CHECK_EQUAL(status, insert.chunks.empty() && insert.items.empty() ? EXRP_STATUS_MESSAGE_EMPTY : EXRP_STATUS_OK);
    if (status != EXRP_STATUS_OK) return;
    inserter.held = held;
    std::set<size_t> touched;
    for (const auto& [t, item] : items) {
      model_[t].waiting.push_back(item);
      touched.insert(t);
    }
    for (const size_t t : touched) run(model_[t]);
  }
  /// Makes the message wrong in one way. The model does not hear of it.
  void refuse(uint32_t id, Insert insert) {
    const Item bad = {1, model_[0].name, 1, {0xdeadbeefcafe0000u}};
    switch (random_.below(4)) {
      case 0:
        insert.items.push_back(bad);
        CHECK_EQUAL(real_->feed(id, insert), EXRP_STATUS_CHUNK_UNKNOWN);
        break;
      case 1:
        insert.items.push_back({1, "no table", 1, {}});
        CHECK_EQUAL(real_->feed(id, insert), EXRP_STATUS_TABLE_UNKNOWN);
        break;
      case 2:
        insert.items.push_back({1, model_[0].name, -1.0, {}});
        CHECK_EQUAL(real_->feed(id, insert), EXRP_STATUS_ITEM_PRIORITY);
        break;
      default: CHECK_EQUAL(real_->feed(id, insert.message() + "\x0a\x05"), EXRP_STATUS_MESSAGE);
    }
  }

  void mutate() {
    ModelTable& table = model_[random_.below(static_cast<uint32_t>(model_.size()))];
    const auto some = [&]() -> uint64_t {
      return table.items.empty() || random_.below(4) == 0 ? random_.below(40) : table.items[random_.below(static_cast<uint32_t>(table.items.size()))].key;
    };
    std::vector<Update> updates;
    std::vector<uint64_t> deletes;
    for (uint32_t k = random_.below(4); k > 0; --k) updates.push_back({some(), static_cast<double>(random_.below(5)), someOwn()});
    for (uint32_t k = random_.below(3); k > 0; --k) deletes.push_back(some());
    if (random_.below(6) == 0) {
      std::vector<Update> wrong = updates;
      wrong.push_back({1, -1});
      CHECK_EQUAL(real_->mutate(mutateOf(table.name, wrong, deletes)), EXRP_STATUS_ITEM_PRIORITY);
      return;
    }
    CHECK_EQUAL(real_->mutate(mutateOf(table.name, updates, deletes)), EXRP_STATUS_OK);
    for (const uint64_t key : deletes) {
      const size_t at = table.find(key);
      if (at < table.items.size()) table.remove(at);
    }
    for (const Update& change : updates) {
      const size_t at = table.find(change.key);
      if (at < table.items.size()) update(table.items[at], change.priority, change.own, ++stamp_);
    }
    run(table);
  }
  void reset() {
    const uint32_t t = random_.below(static_cast<uint32_t>(model_.size()));
    CHECK_EQUAL(exrp_tables_reset(real_->id, t), EXRP_STATUS_OK);
    ModelTable& table = model_[t];
    table.items.clear();
    table.returned.clear();
    table.inserts = table.samples = table.deletes = 0;
    table.uniqueSamples = table.episodesDeleted = 0;
    run(table);
  }
  void setLimiter() {
    const uint32_t t = random_.below(static_cast<uint32_t>(model_.size()));
    model_[t].limiter = randomLimiter();
    CHECK_EQUAL(exrp_tables_rate_limiter_set(real_->id, t, model_[t].limiter.data(), EXRP_RATE_LIMITER_RULE_COUNT), EXRP_STATUS_OK);
    run(model_[t]);
  }
  void ask() {
    if (samplers_.empty()) return openOne();
    const uint32_t id = someOf(samplers_);
    ModelSampler& sampler = samplers_[id];
    const uint32_t count = 1 + random_.below(random_.below(8) == 0 ? 100 : 6);
    const uint32_t how = random_.below(3);
    const bool isSure = model_[sampler.table].isSure(count);
    uint32_t allowed = 2;
    CHECK_EQUAL(exrp_tables_allow(real_->id, sampler.table, EXRP_ALLOW_SAMPLES, count, &allowed), EXRP_STATUS_OK);
    CHECK_EQUAL(allowed, isSure ? 1u : 0u);
    const bool isIdle = sampler.wanted == 0 && sampler.drawn.empty();
    const bool isRefused = !isIdle && (how != EXRP_ASK_FLOWING || sampler.isWhole);
    CHECK_EQUAL(exrp_sampler_ask(real_->id, id, count, how), isRefused ? EXRP_STATUS_ORDER : EXRP_STATUS_OK);
    if (isRefused || (how == EXRP_ASK_NOW && !isSure)) return;
    sampler.isWhole = how != EXRP_ASK_FLOWING;
    sampler.wanted += count;
    if (!sampler.isInLine) {
      sampler.isInLine = true;
      model_[sampler.table].line.push_back(id);
      run(model_[sampler.table]);
    }
  }
  void readSamples() {
    if (samplers_.empty()) return;
    const uint32_t id = someOf(samplers_);
    ModelSampler& sampler = samplers_[id];
    const size_t room = random_.below(4) == 0 ? random_.below(1500) : 1 << 20;
    double info[EXRP_SAMPLER_COUNT] = {};
    const std::vector<Sample> samples = real_->read(id, room, info);
    CHECK(samples.size() <= sampler.drawn.size());
    for (size_t k = 0; k < samples.size() && k < sampler.drawn.size(); ++k) {
      const ModelItem& item = sampler.drawn[k].item;
      CHECK_EQUAL(samples[k].key, item.key);
      CHECK(samples[k].table == model_[sampler.table].name);
      CHECK_EQUAL(samples[k].priority, item.priority);
      CHECK_EQUAL(samples[k].timesSampled, item.times);
      CHECK_EQUAL(samples[k].tableSize, sampler.drawn[k].tableSize);
      CHECK_EQUAL(samples[k].probability, 1.0);
      CHECK(samples[k].trajectory == item.trajectory);
      CHECK_EQUAL(samples[k].chunks.size(), item.chunks.size());
      for (size_t c = 0; c < item.chunks.size() && c < samples[k].chunks.size(); ++c) CHECK(samples[k].chunks[c] == item.chunks[c]->bytes);
    }
    const bool isHeld = sampler.isWhole && sampler.wanted > 0;
    if (isHeld) CHECK_EQUAL(samples.size(), 0u);
    else if (room == 1 << 20) CHECK_EQUAL(samples.size(), sampler.drawn.size());
    if (samples.empty() && !sampler.drawn.empty() && !isHeld) CHECK(info[EXRP_SAMPLER_NEEDED] > static_cast<double>(room));
    sampler.drawn.erase(sampler.drawn.begin(), sampler.drawn.begin() + static_cast<std::ptrdiff_t>(samples.size()));
    CHECK_EQUAL(info[EXRP_SAMPLER_WANTED], static_cast<double>(sampler.wanted + sampler.drawn.size()));
    CHECK_EQUAL(info[EXRP_SAMPLER_WAITS], sampler.isInLine ? 1.0 : 0.0);
    CHECK_EQUAL(info[EXRP_SAMPLER_HELD], static_cast<double>(sampler.drawn.size()));
  }
  void readConfirmed() {
    if (inserters_.empty()) return;
    const uint32_t id = someOf(inserters_);
    std::vector<uint64_t>& expected = inserters_[id].confirmed;
    const bool isShort = random_.below(3) == 0;
    const std::vector<uint64_t> keys = real_->confirmed(id, isShort ? random_.below(30) : 100000);
    CHECK(keys.size() <= expected.size() && std::equal(keys.begin(), keys.end(), expected.begin()));
    if (!isShort) CHECK_EQUAL(keys.size(), expected.size());
    expected.erase(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(std::min(keys.size(), expected.size())));
  }
  void openOne() {
    if (random_.below(2) == 0 && inserters_.size() < 4) {
      inserters_[real_->inserter()] = {};
    } else if (samplers_.size() < 4) {
      const uint32_t table = random_.below(static_cast<uint32_t>(model_.size()));
      samplers_[real_->sampler(table)].table = table;
    }
  }
  void closeOne() {
    if (random_.below(2) == 0 && !inserters_.empty()) {
      const uint32_t id = someOf(inserters_);
      CHECK_EQUAL(exrp_stream_close(real_->id, id), EXRP_STATUS_OK);
      inserters_.erase(id);
    } else if (!samplers_.empty()) {
      const uint32_t id = someOf(samplers_);
      CHECK_EQUAL(exrp_stream_close(real_->id, id), EXRP_STATUS_OK);
      const ModelSampler& sampler = samplers_[id];
      ModelTable& table = model_[sampler.table];
      if (sampler.isWhole && table.maxTimes > 0) table.returned.insert(table.returned.end(), sampler.drawn.begin(), sampler.drawn.end());
      table.line.erase(std::remove(table.line.begin(), table.line.end(), id), table.line.end());
      samplers_.erase(id);
      run(table);
    }
  }

  Random random_;
  const bool hasOwn_;
  std::unique_ptr<TablesUnderTest> real_;
  std::vector<ModelTable> model_;
  std::map<uint32_t, ModelInserter> inserters_;
  std::map<uint32_t, ModelSampler> samplers_;
  uint64_t stamp_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20261122;
  const uint64_t rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 60;
  for (uint64_t seed = first; seed < first + rounds; ++seed) {
    Twins twins(seed);
    for (int step = 0; step < 300; ++step) {
      twins.step();
      twins.compare();
      if (failureCount > 0) {
        std::printf("seed %llu, step %d\n", static_cast<unsigned long long>(seed), step);
        return checkResult("tables/model");
      }
    }
    twins.end();
  }
  std::printf("seeds %llu and %llu more\n", static_cast<unsigned long long>(first), static_cast<unsigned long long>(rounds - 1));
  CHECK_EQUAL(exrp_tables_count(), 0u);
  return checkResult("tables/model");
}
