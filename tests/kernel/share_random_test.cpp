// Random programs of several threads at one replay whose rows are large: each kind of call, of batch, of eviction and of limit. Each row
// says whose it is, and all its bytes follow from that. So a row that is torn, old or another's is seen. SHARE_RANDOM_SEED is the first seed,
// and SHARE_RANDOM_COUNT says how many programs there are. The file is long because what writes rows and what checks
// them belong together.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "kernel/base/random.hpp"
#include "tests/kernel/listed_episodes.hpp"
#include "tests/kernel/test_replay.hpp"

namespace {

using namespace exrp::test;
using exrp::Random;

constexpr uint32_t every = 4;
constexpr uint32_t writerCount = 3;
constexpr double gamma = 0.5;

/// What a program is made of.
struct Setup {
  struct Leaf {
    uint32_t stack, nextState;
    bool compact;
  };
  std::vector<Leaf> leaves;     // of the state: one or two
  std::vector<uint32_t> items;  // of each column: the leaves, action, reward, an extra, one that only some records keep
  uint32_t capacity, eviction, blockLength, segment, length, before, flags, nStep, compression;
  double age;

  uint32_t leafCount() const { return static_cast<uint32_t>(leaves.size()); }
  uint32_t columnCount() const { return static_cast<uint32_t>(items.size()); }
  uint32_t reward() const { return leafCount() + 1; }
  size_t bytes(uint32_t column) const { return size_t{4} * items[column]; }

  explicit Setup(Random& random) {
    const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random.below(bound)); };
    const uint32_t sizes[] = {1, 40, 255, 256, 300, 1100};
    leaves.resize(1 + below(2));
    items.resize(leafCount() + 4);
    for (uint32_t& item : items) item = sizes[below(6)];
    items[leafCount()] = sizes[below(2)];
    if (below(2) == 0) items[0] = sizes[4 + below(2)];
    if (below(2) == 0) items[reward()] = 1;
    capacity = 20 + below(180);
    eviction = 1 + below(7);
    blockLength = 2u << below(4);
    segment = below(3) == 0 ? 20 : capacity;
    length = 1 + below(3) * below(3);
    before = below(3) == 0 ? below(4) : 0;
    flags = 0;
    if (below(2) == 0) flags |= EXRP_PICK_ALLOW_SHORT | (below(2) == 0 ? EXRP_PICK_ALLOW_OPEN_END : 0);
    if (below(3) == 0) flags |= EXRP_PICK_ZERO_PADDED;
    if (below(3) == 0) flags |= EXRP_PICK_MASKS;
    if (below(3) == 0) flags |= EXRP_PICK_ALIGNED;
    bool mayReverse = before == 0 && (flags & EXRP_PICK_ALLOW_OPEN_END) == 0;
    for (Leaf& leaf : leaves) {
      leaf.stack = below(2) == 0 ? 1 + below(4) : 1;
      leaf.nextState = below(3);
      leaf.compact = below(4) == 0 && leaf.nextState != EXRP_NEXT_STATE_COPY;
      mayReverse = mayReverse && leaf.nextState != EXRP_NEXT_STATE_OVERLAP && !leaf.compact;
    }
    if (below(3) == 0 && mayReverse) flags |= EXRP_PICK_REVERSED;
    nStep = below(2) == 0 ? 1 + below(3) : 0;
    age = below(4) == 0 ? segment + length + below(100) : 0;
    compression = below(3);
  }
};

/// The number of a row's record: its writer, episode and position. No number is 0.
uint32_t numberOf(uint32_t writer, uint32_t episode, uint32_t position) { return writer << 28 | (episode & 0xFFFF) << 12 | position; }

uint32_t wordOf(uint32_t number, uint32_t column, uint32_t at) {
  if (at == 0) return number;
  // Most rows are alike in most places, so that they can be packed.
  if (number % 4 != 0 && at % 8 != 0) return at * (column + 1);
  return (number ^ (column + 1) * 0x9E3779B9u) * (2 * at + 1) + at;
}
float rewardOf(uint32_t number, uint32_t at) { return static_cast<float>(number % 1009 + at % 7); }

void fillRow(const Setup& setup, uint32_t column, uint32_t number, uint8_t* to) {
  for (uint32_t at = 0; at < setup.items[column]; ++at) {
    if (column == setup.reward()) {
      const float reward = rewardOf(number, at);
      memcpy(to + 4 * size_t{at}, &reward, 4);
    } else {
      const uint32_t word = wordOf(number, column, at);
      memcpy(to + 4 * size_t{at}, &word, 4);
    }
  }
}

bool isRow(const Setup& setup, uint32_t column, uint32_t number, const uint8_t* row) {
  std::vector<uint8_t> expected(size_t{4} * setup.items[column]);
  if (number != 0) fillRow(setup, column, number, expected.data());
  return memcmp(expected.data(), row, expected.size()) == 0;
}

uint32_t numberAt(const uint8_t* row) {
  uint32_t number = 0;
  memcpy(&number, row, 4);
  return number;
}

uint32_t make(const Setup& setup) {
  TestSetup made = {.capacity = double(setup.capacity),
                    .segmentLength = double(setup.segment),
                    .seed = 7,
                    .eviction = double(setup.eviction),
                    .evictionOption = setup.eviction == EXRP_EVICTION_AFTER_DRAWS ? 2.0 : 0.0,
                    .blockLength = double(setup.blockLength),
                    .ageMax = setup.age,
                    .compression = double(setup.compression),
                    .policy = policyOf(setup.length, setup.flags, gamma),
                    .columns = {},
                    .leafCount = setup.leafCount(),
                    .selectors = {prioritized(), uniform(), {EXRP_SELECTOR_AGE_END, {1, 0}}}};
  made.policy[EXRP_POLICY_BEFORE] = setup.before;
  made.policy[EXRP_POLICY_N_STEP] = setup.nStep;
  for (const Setup::Leaf& leaf : setup.leaves) {
    const double flags = leaf.compact ? EXRP_LEAF_COMPACT : 0;
    made.policy.insert(made.policy.end(), {double(leaf.stack), double(leaf.nextState), flags});
  }
  for (uint32_t column = 0; column < setup.columnCount(); ++column) {
    made.columns.insert(made.columns.end(), {4, setup.items[column], column + 1 == setup.columnCount() ? every : 1});
  }
  return made.create();
}

/// One thread that records two episodes at once, by each of the calls.
class Writer {
 public:
  Writer(const Setup& setup, uint32_t writer, Random& random) : setup_(setup), writer_(writer), random_(random) {}

  void begin(uint32_t id) {
    id_ = id;
    for (Going& going : going_) next(going, true);
  }
  /// Status of a call. What it recorded goes on where it stopped.
  int32_t turn() {
    switch (random_.below(4)) {
      case 0: return one();
      case 1: return many();
      case 2: return batch();
      default: return flat();
    }
  }

 private:
  struct Going {
    double handle;
    uint32_t episode;
    uint32_t position;
  };

  void next(Going& going, bool isNew) {
    going.episode = episodes_++;
    going.position = 0;
    if (isNew) CHECK_EQUAL(exrp_episode_create(id_, &going.handle), 0);
  }
  uint32_t number(const Going& going, uint32_t ahead = 0) const { return numberOf(writer_, going.episode, going.position + ahead); }
  bool ends(const Going& going) { return random_.below(6) == 0 || going.position > 3000; }

  int32_t one() {
    Going& going = going_[0];
    std::vector<double> offsets(EXRP_ROW_COLUMN + setup_.columnCount() + setup_.leafCount() - 1);
    if (const int32_t status = exrp_row_layout(id_, offsets.data(), static_cast<uint32_t>(offsets.size())); status != 0) return status;
    std::vector<uint8_t> row(static_cast<size_t>(offsets[EXRP_ROW_BYTES]));
    memcpy(row.data(), &going.handle, 8);
    for (uint32_t column = 0; column < setup_.columnCount(); ++column) {
      fillRow(setup_, column, number(going), row.data() + static_cast<size_t>(offsets[EXRP_ROW_COLUMN + column]));
    }
    for (uint32_t leaf = 0; leaf < setup_.leafCount(); ++leaf) {
      const size_t part = leaf == 0 ? EXRP_ROW_FINAL_STATE : EXRP_ROW_COLUMN + setup_.columnCount() + leaf - 1;
      fillRow(setup_, leaf, number(going, 1), row.data() + static_cast<size_t>(offsets[part]));
    }
    const bool isEnd = ends(going);
    const uint32_t flags = isEnd ? EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS : random_.below(2) == 0 ? EXRP_RECORD_NEXT_STATE : 0;
    const int32_t status = exrp_record(id_, row.data(), static_cast<uint32_t>(row.size()), flags);
    if (status != 0) return status;
    memcpy(&going.handle, row.data(), 8);
    ++going.position;
    if (isEnd) next(going, false);
    return 0;
  }

  /// The layout of `count` steps, and memory for them with `count` final states.
  int32_t layout(uint32_t count) {
    offsets_.resize(EXRP_STEPS_COLUMN + setup_.columnCount());
    if (const int32_t status = exrp_steps_layout(id_, count, offsets_.data(), static_cast<uint32_t>(offsets_.size())); status != 0) return status;
    steps_.assign(static_cast<size_t>(offsets_[EXRP_STEPS_FINAL_STATE]), 0);
    return 0;
  }
  /// Adds the states with these numbers behind the steps, leaf by leaf.
  void addStates(const std::vector<uint32_t>& numbers) {
    for (uint32_t leaf = 0; leaf < setup_.leafCount(); ++leaf) {
      const size_t begin = (steps_.size() + 7) / 8 * 8;
      steps_.resize(begin + numbers.size() * setup_.bytes(leaf));
      for (size_t index = 0; index < numbers.size(); ++index) fillRow(setup_, leaf, numbers[index], &steps_[begin + index * setup_.bytes(leaf)]);
    }
  }
  uint8_t* at(uint32_t part) { return steps_.data() + static_cast<size_t>(offsets_[part]); }
  void fill(uint32_t step, uint32_t number) {
    for (uint32_t column = 0; column < setup_.columnCount(); ++column) {
      fillRow(setup_, column, number, at(EXRP_STEPS_COLUMN + column) + size_t{step} * setup_.items[column] * 4);
    }
  }
  double size() const { return static_cast<double>(steps_.size()); }

  int32_t many() {
    Going& going = going_[0];
    const auto count = static_cast<uint32_t>(1 + random_.below(60));
    if (const int32_t status = layout(count); status != 0) return status;
    for (uint32_t step = 0; step < count; ++step) fill(step, number(going, step));
    addStates({number(going, count)});
    const bool isEnd = random_.below(2) == 0 || going.position > 3000;
    const uint32_t flags = isEnd ? EXRP_RECORD_ENDS | EXRP_RECORD_TRUNCATED | EXRP_RECORD_BEGINS : 0;
    for (uint32_t done = 0; done < count;) {
      const int32_t status = exrp_record_many(id_, &going.handle, steps_.data(), size(), count, flags, &done);
      if (status != 0) return status;
    }
    going.position += count;
    if (isEnd) next(going, false);
    return 0;
  }

  int32_t batch() {
    if (const int32_t status = layout(2); status != 0) return status;
    double handles[2];
    bool isEnd[2];
    const bool keeps = random_.below(2) == 0;
    for (uint32_t step = 0; step < 2; ++step) {
      handles[step] = going_[step].handle;
      isEnd[step] = ends(going_[step]);
      at(EXRP_STEPS_FLAGS)[step] = isEnd[step] ? EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS : 0;
      fill(step, number(going_[step]));
    }
    addStates({number(going_[0], 1), number(going_[1], 1)});
    for (uint32_t done = 0; done < 2;) {
      const int32_t status = exrp_record_batch(id_, handles, steps_.data(), size(), 2, keeps ? EXRP_RECORD_NEXT_STATE : 0, &done);
      if (status != 0) return status;
    }
    for (uint32_t step = 0; step < 2; ++step) {
      going_[step].handle = handles[step];
      ++going_[step].position;
      if (isEnd[step]) next(going_[step], false);
    }
    return 0;
  }

  int32_t flat() {
    Going& going = going_[1];
    const auto count = static_cast<uint32_t>(1 + random_.below(100));
    if (const int32_t status = layout(count); status != 0) return status;
    std::vector<uint32_t> states;
    for (uint32_t step = 0; step < count; ++step) {
      fill(step, number(going));
      ++going.position;
      if (!ends(going)) continue;
      at(EXRP_STEPS_FLAGS)[step] = EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS;
      states.push_back(number(going));
      next(going, false);
    }
    const bool keeps = going.position > 0 && states.size() < count;
    if (keeps) states.push_back(number(going));
    addStates(states);
    std::vector<double> episodes(count);
    for (uint32_t done[2] = {}; done[0] < count;) {
      const int32_t status = exrp_record_flat(id_, &going.handle, steps_.data(), size(), count, keeps ? EXRP_RECORD_NEXT_STATE : 0, done,
                                              episodes.data(), count);
      if (status != 0) return status;
    }
    return 0;
  }

  const Setup& setup_;
  const uint32_t writer_;
  Random& random_;
  uint32_t id_ = 0;
  uint32_t episodes_ = 0;
  Going going_[2] = {};
  std::vector<double> offsets_;
  std::vector<uint8_t> steps_;
};

/// Draws a batch, and looks at each of its rows.
int32_t drawAndCheck(const Setup& setup, uint32_t id, uint32_t selector, uint32_t count, std::vector<uint8_t>& bytes, bool isOrdered) {
  const uint32_t nStepFirst = EXRP_BATCH_COLUMN + setup.columnCount();
  const uint32_t nSteps = setup.nStep > 0 ? 1 : 0;
  const uint32_t leafFirst = nStepFirst + EXRP_BATCH_N_STEP_PARTS * nSteps;  // of the second leaf
  std::vector<double> offsets(leafFirst + (1 + nSteps) * (setup.leafCount() - 1));
  CHECK_EQUAL(exrp_batch_layout(id, 0, count, offsets.data(), static_cast<uint32_t>(offsets.size())), 0);
  bytes.assign(static_cast<size_t>(offsets[EXRP_BATCH_BYTES]), 0xAB);
  const auto size = static_cast<double>(bytes.size());
  int32_t status = 0;
  if (isOrdered) {
    double order = 0;
    status = exrp_batch_order(id, selector, count, 0.5, bytes.data(), size, &order);
    if (status != 0) return status;
    std::thread runner([&] { exrp_batch_run(id, order, bytes.data(), size); });
    if (count % 2 == 0) {
      double info[EXRP_INFO_COUNT];
      exrp_replay_info(id, info, EXRP_INFO_COUNT);
    }
    runner.join();
    status = exrp_batch_take(id, order);
  } else {
    status = exrp_batch_get(id, selector, 0, count, count, 0.5, bytes.data(), size);
  }
  if (status != 0) return status;
  const auto part = [&](uint32_t index) { return bytes.data() + static_cast<size_t>(offsets[index]); };
  const auto* const lengths = reinterpret_cast<const int32_t*>(part(EXRP_BATCH_SEQ_LEN));
  const auto* const nextLengths = reinterpret_cast<const int32_t*>(part(EXRP_BATCH_NEXT_SEQ_LEN));
  const uint32_t rows = setup.length + setup.before;
  const auto stateRows = [&](uint32_t leaf) { return rows + (setup.leaves[leaf].nextState == EXRP_NEXT_STATE_OVERLAP ? 1 : 0); };
  for (uint32_t pick = 0; pick < count; ++pick) {
    CHECK(lengths[pick] >= 1 && lengths[pick] <= static_cast<int32_t>(rows));
    for (uint32_t leaf = 0; leaf < setup.leafCount(); ++leaf) {
      const uint32_t frames = setup.leaves[leaf].compact ? stateRows(leaf) + setup.leaves[leaf].stack - 1 : 0;
      for (uint32_t frame = 0; frame < frames; ++frame) {
        const uint8_t* const row = part(EXRP_BATCH_COLUMN + leaf) + (size_t{pick} * frames + frame) * setup.bytes(leaf);
        CHECK(isRow(setup, leaf, numberAt(row), row));
      }
    }
    for (uint32_t row = 0; row < rows; ++row) {
      const size_t at = size_t{pick} * rows + row;
      // The record of the row, by its extra.
      const auto rowOf = [&](uint32_t column) { return part(EXRP_BATCH_COLUMN + column) + at * setup.bytes(column); };
      const uint32_t extra = setup.leafCount() + 2;
      const uint32_t number = numberAt(rowOf(extra));
      for (uint32_t column = setup.leafCount(); column <= extra; ++column) CHECK(isRow(setup, column, number, rowOf(column)));
      if (number == 0) continue;
      const uint32_t keptColumn = extra + 1;
      const uint8_t* const kept = part(EXRP_BATCH_COLUMN + keptColumn) + pick * setup.bytes(keptColumn);
      const uint32_t keptNumber = numberAt(kept);
      CHECK(isRow(setup, keptColumn, keptNumber, kept) && keptNumber >> 12 == number >> 12 && keptNumber != 0);
      uint32_t steps = 1;
      for (uint32_t leaf = 0; leaf < setup.leafCount(); ++leaf) {
        const uint32_t stack = setup.leaves[leaf].stack;
        const size_t frameBytes = setup.bytes(leaf);
        const auto stackOf = [&](const uint8_t* state, uint32_t newest) {
          for (uint32_t frame = 0; frame < stack; ++frame) {
            const uint8_t* const each = state + frame * frameBytes;
            const uint32_t found = numberAt(each);
            const uint32_t back = stack - 1 - frame;
            const bool isPadding = found == 0 || (found >> 12 == newest >> 12 && newest - found < back);
            CHECK(isRow(setup, leaf, found, each) && (isPadding || found == newest - back));
            if (back == 0) CHECK(found == newest);
          }
        };
        if (!setup.leaves[leaf].compact) {
          const size_t index = size_t{pick} * stateRows(leaf) + row;
          stackOf(part(EXRP_BATCH_COLUMN + leaf) + index * stack * frameBytes, number);
        }
        if (setup.leaves[leaf].nextState == EXRP_NEXT_STATE_COPY) {
          const uint8_t* const next = part(leaf == 0 ? EXRP_BATCH_NEXT_STATE : leafFirst) + at * stack * frameBytes;
          const bool isKnown = numberAt(next + (stack - 1) * frameBytes) != 0;
          if (isKnown) stackOf(next, number + 1);
          CHECK(isKnown || nextLengths[pick] < lengths[pick]);
        }
        if (setup.nStep == 0) continue;
        const uint8_t* const state = part(leaf == 0 ? nStepFirst + EXRP_BATCH_N_STEP_STATE : leafFirst + 1) + at * stack * frameBytes;
        const uint32_t newest = numberAt(state + (stack - 1) * frameBytes);
        if (newest != 0) stackOf(state, newest);
        const uint32_t found = newest == 0 ? 1 : newest - number;
        CHECK(found >= 1 && found <= setup.nStep && (leaf == 0 || found == steps));
        steps = found;
      }
      if (setup.nStep == 0) continue;
      const uint32_t rewardCount = setup.items[setup.reward()];
      const auto* const sums = reinterpret_cast<const float*>(part(nStepFirst + EXRP_BATCH_N_STEP_RETURN)) + at * rewardCount;
      for (uint32_t item = 0; item < rewardCount; ++item) {
        double sum = 0;
        double discount = 1;
        for (uint32_t step = 0; step < steps; ++step, discount *= gamma) sum += discount * static_cast<double>(rewardOf(number + step, item));
        CHECK(sums[item] == static_cast<float>(sum));
      }
    }
  }
  std::vector<double> priorities(count);
  for (uint32_t pick = 0; pick < count; ++pick) priorities[pick] = 0.1 + pick;
  uint32_t applied = 0;
  return exrp_priority_set(id, 0, reinterpret_cast<const double*>(part(EXRP_BATCH_PICK_EPISODE)),
                           reinterpret_cast<const int32_t*>(part(EXRP_BATCH_PICK_POSITION)),
                           reinterpret_cast<const uint8_t*>(priorities.data()), 8, count, &applied);
}

/// One random thing that changes the replay under everybody.
void disturb(uint32_t id, Random& random) {
  const bool holds = random.below(3) == 0;
  if (holds) CHECK_EQUAL(exrp_hold_begin(id), 0);
  double info[EXRP_INFO_COUNT];
  CHECK_EQUAL(exrp_replay_info(id, info, EXRP_INFO_COUNT), 0);
  double chosen = 0;
  if (holds && info[EXRP_INFO_EPISODE_COUNT] > 0) {
    const ListedEpisodes list(id, static_cast<uint32_t>(info[EXRP_INFO_EPISODE_COUNT]));
    CHECK_EQUAL(list.status, 0);
    chosen = list.handles[random.below(list.count)];
  } else {
    chosen = std::floor(random.uniform() * info[EXRP_INFO_NEXT_HANDLE]);
  }
  double about[EXRP_EPISODE_INFO_COUNT];
  const bool isThere = info[EXRP_INFO_NEXT_HANDLE] > 0 && exrp_episode_info(id, chosen, about, EXRP_EPISODE_INFO_COUNT) == 0 && about[0] != 0;
  int32_t found = 0;
  switch (isThere ? random.below(12) : 12) {
    case 0: exrp_episode_evict(id, chosen); break;
    case 1:
    case 2: exrp_records_release(id, chosen, static_cast<uint32_t>(about[EXRP_EPISODE_FIRST_POSITION] + random.below(4))); break;
    case 3:
    case 4: exrp_episode_trim(id, chosen, static_cast<uint32_t>(about[EXRP_EPISODE_FIRST_POSITION] + random.below(4))); break;
    case 5: {
      double episode = 0;
      double first = 0;
      exrp_open_trim(id, &episode, &first);
      break;
    }
    case 6:
      if (random.below(4) == 0) CHECK_EQUAL(exrp_replay_clear(id), 0);
      break;
    default: CHECK_EQUAL(exrp_replay_check(id, &found), 0);
  }
  CHECK_EQUAL(found, 0);
  if (holds) CHECK_EQUAL(exrp_hold_end(id), 0);
}

/// Answers how many batches were drawn: none where the writers were done before a reader came to it.
uint32_t program(uint64_t seed, uint32_t turns) {
  Random random(seed, 0);
  const Setup setup(random);
  const uint32_t replay = make(setup);
  if (exrp_replay_count() == 0) return 0;
  const Ticket ticket(replay);
  std::atomic<uint32_t> writing = writerCount;
  std::atomic<uint32_t> drawn = 0;
  std::vector<std::thread> threads;
  for (uint32_t number = 1; number <= writerCount; ++number) {
    threads.emplace_back([&, number] {
      Random own(seed, number);
      Writer writer(setup, number, own);
      uint32_t id = ticket.attach();
      writer.begin(id);
      for (uint32_t turn = 0; turn < turns; ++turn) {
        const int32_t status = writer.turn();
        CHECK_EQUAL(status, 0);
        if (status != 0) break;
        if (own.below(40) != 0) continue;
        CHECK_EQUAL(exrp_replay_destroy(id), 0);
        id = ticket.attach();
        writer.begin(id);
      }
      if (number % 2 == 0) CHECK_EQUAL(exrp_replay_destroy(id), 0);
      --writing;
    });
  }
  for (uint32_t reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&, reader] {
      Random own(seed, 100 + reader);
      const uint32_t id = ticket.attach();
      std::vector<uint8_t> bytes;
      while (writing.load() > 0) {
        const auto selector = static_cast<uint32_t>(own.below(3));
        const int32_t status = drawAndCheck(setup, id, selector, static_cast<uint32_t>(1 + own.below(24)), bytes, own.below(4) == 0);
        if (status == EXRP_STATUS_EMPTY) std::this_thread::yield();
        else CHECK_EQUAL(status, 0);
        drawn += status == 0 ? 1 : 0;
      }
    });
  }
  threads.emplace_back([&] {
    Random own(seed, 200);
    const uint32_t id = ticket.attach();
    while (writing.load() > 0) {
      disturb(id, own);
      std::this_thread::yield();
    }
  });
  // Somebody who comes by a ticket of its own, records, and is barred.
  threads.emplace_back([&] {
    Random own(seed, 300);
    const uint32_t id = ticket.attach();
    uint32_t writerNumber = writerCount + 1;
    while (writing.load() > 0) {
      const Ticket passing(id);
      std::atomic<bool> began = false;
      std::thread guest([&] {
        Writer writer(setup, writerNumber, own);
        writer.begin(passing.attach());
        began = true;
        for (uint32_t turn = 0; turn < 20; ++turn) {
          if (const int32_t status = writer.turn(); status != 0) {
            CHECK_EQUAL(status, EXRP_STATUS_REVOKED);
            break;
          }
        }
      });
      while (!began.load()) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      CHECK_EQUAL(exrp_ticket_revoke(id, passing.serial()), 0);
      guest.join();
      if (++writerNumber == 15) break;
    }
  });
  for (std::thread& thread : threads) thread.join();
  int32_t found = 0;
  CHECK_EQUAL(exrp_replay_check(replay, &found), 0);
  CHECK_EQUAL(found, 0);
  double info[EXRP_SHARE_INFO_COUNT];
  CHECK_EQUAL(exrp_share_info(replay, info, EXRP_SHARE_INFO_COUNT), 0);
  CHECK(info[EXRP_SHARE_INFO_SEATS] == 1);
  CHECK_EQUAL(exrp_replay_destroy(replay), 0);
  CHECK_EQUAL(exrp_replay_count(), 0);
  return drawn.load();
}

}  // namespace

int main() {
  setvbuf(stdout, nullptr, _IONBF, 0);
  const char* const given = getenv("SHARE_RANDOM_SEED");
  const char* const count = getenv("SHARE_RANDOM_COUNT");
  const uint64_t first = given == nullptr ? 1 : strtoull(given, nullptr, 10);
  const uint64_t last = first + (count == nullptr ? 4 : strtoull(count, nullptr, 10));
  uint64_t drawn = 0;
  for (uint64_t seed = first; seed < last; ++seed) {
    const int before = failureCount;
    drawn += program(seed, 60);
    if (failureCount > before) printf("share_random_test: the program of seed %llu failed\n", static_cast<unsigned long long>(seed));
  }
  CHECK(drawn > 0);
  return checkResult("share_random_test");
}
