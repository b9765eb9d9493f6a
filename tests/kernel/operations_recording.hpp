// A recording of calls of the C ABI, replayed: each call must give the status and the results that it gave when it was recorded.
//
// tests/whole/model/model_test.ts writes recordings while the model confirms every result. So a replay under a sanitizer, or from another
// compiler, is compared with the model too. One call a line:
//
//   <function without exrp_> <arguments> = <status> <hash>
//
// Arguments in the order of exrp.h: numbers as decimals, and a replay as its number in the recording (0, 1, ...). A buffer that the
// call reads is x and its bytes in hexadecimal. Buffers that the call only writes are left out. The hash is FNV-1a (32 bits) of the
// bytes that the call wrote; 0 after a failure. It leaves out parts that may differ between builds (ids, memory use), and padding,
// which no call writes.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernel/exrp.h"
#include "tests/kernel/listed_episodes.hpp"

namespace exrp::test {

inline uint32_t fnv(const void* data, size_t bytes, uint32_t hash = 2166136261u) {
  const auto* at = static_cast<const uint8_t*>(data);
  for (size_t index = 0; index < bytes; ++index) hash = (hash ^ at[index]) * 16777619u;
  return hash;
}

/// The numbers of a pick policy.
using Policy = std::vector<double>;

/// The parts of a replay's shape that the hashes need.
struct ReplayShape {
  uint32_t id = 0;
  std::vector<uint32_t> columnBytes;
  std::vector<uint32_t> every;     // n, where every nth record keeps the column
  uint32_t leafCount = 1;         // columns of the state, which come first
  uint32_t rewardCount = 1;       // elements of one reward
  std::vector<Policy> policies;   // of each pick view
  std::vector<uint32_t> tables;   // of each selector

  /// Where the leaves of so many states of the ABI begin; behind the last, where they end.
  std::vector<size_t> stateOffsets(size_t count) const {
    std::vector<size_t> offsets;
    size_t end = 0;
    for (uint32_t leaf = 0; leaf < leafCount; ++leaf) {
      offsets.push_back((end + 7) / 8 * 8);
      end = offsets.back() + count * columnBytes[leaf];
    }
    offsets.push_back(end);
    return offsets;
  }
};

/// A part of a batch, and the bytes that one pick has in it.
struct BatchPart {
  uint32_t part;
  size_t bytes;
};

/// How many n a policy has.
inline uint32_t nStepCount(const Policy& policy) {
  uint32_t count = 0;
  while (count < EXRP_LIMIT_N_STEPS && policy[EXRP_POLICY_N_STEP + count] > 0) ++count;
  return count;
}

/// The parts of a table's batches that have bytes, in the order in which they are hashed.
inline std::vector<BatchPart> batchParts(const ReplayShape& shape, uint32_t table) {
  const Policy& policy = shape.policies[table];
  const auto number = [&](uint32_t index) { return static_cast<size_t>(policy[index]); };
  const auto flag = [&](uint32_t bit) { return (number(EXRP_POLICY_FLAGS) & bit) != 0; };
  const auto columns = static_cast<uint32_t>(shape.columnBytes.size());
  const size_t rows = number(EXRP_POLICY_BEFORE) + number(EXRP_POLICY_LENGTH);
  struct Leaf {
    size_t stack, nextState, frames, stacks;
    bool hasNSteps;
  };
  std::vector<Leaf> leaves;
  for (uint32_t leaf = 0; leaf < shape.leafCount; ++leaf) {
    const bool hasOwn = policy.size() > EXRP_POLICY_COUNT;
    const uint32_t own = EXRP_POLICY_COUNT + EXRP_LEAF_COUNT * leaf;
    const size_t stack = number(hasOwn ? own + EXRP_LEAF_STACK : EXRP_POLICY_STACK);
    const size_t nextState = number(hasOwn ? own + EXRP_LEAF_NEXT_STATE : EXRP_POLICY_NEXT_STATE);
    const size_t leafFlags = hasOwn ? number(own + EXRP_LEAF_FLAGS) : flag(EXRP_PICK_COMPACT) ? EXRP_LEAF_COMPACT : 0;
    const size_t more = nextState == EXRP_NEXT_STATE_OVERLAP ? 1 : 0;
    const size_t frames = (leafFlags & EXRP_LEAF_COMPACT) != 0 ? stack - 1 + rows + more : (rows + more) * stack;
    leaves.push_back({stack, nextState, frames, rows * stack * shape.columnBytes[leaf], (leafFlags & EXRP_LEAF_NO_N_STEP) == 0});
  }
  const auto nextBytes = [&](uint32_t leaf) { return leaves[leaf].nextState == EXRP_NEXT_STATE_COPY ? leaves[leaf].stacks : 0; };
  std::vector<BatchPart> parts = {
      {EXRP_BATCH_NEXT_STATE, nextBytes(0)},
      {EXRP_BATCH_SEQ_LEN, 4},
      {EXRP_BATCH_NEXT_SEQ_LEN, 4},
      {EXRP_BATCH_PICK_EPISODE, 8},
      {EXRP_BATCH_PICK_POSITION, 4},
      {EXRP_BATCH_PROBABILITY, 4},
      {EXRP_BATCH_IMPORTANCE_WEIGHT, 4},
      {EXRP_BATCH_DISCOUNT, rows * 4},
      {EXRP_BATCH_LEARN_MASK, flag(EXRP_PICK_MASKS) ? rows * 4 : 0},
      {EXRP_BATCH_CONTEXT_MASK, flag(EXRP_PICK_MASKS) ? rows * 4 : 0},
      {EXRP_BATCH_TERMINATED, flag(EXRP_PICK_ENDS) ? rows : 0},
      {EXRP_BATCH_TRUNCATED, flag(EXRP_PICK_ENDS) ? rows : 0},
      {EXRP_BATCH_RETURN_TO_GO, flag(EXRP_PICK_RETURN_TO_GO) ? rows * shape.rewardCount * 4 : 0},
      {EXRP_BATCH_COLUMN, leaves[0].frames * shape.columnBytes[0]},
  };
  for (uint32_t leaf = 1; leaf < shape.leafCount; ++leaf) {
    parts.push_back({EXRP_BATCH_COLUMN + leaf, leaves[leaf].frames * shape.columnBytes[leaf]});
  }
  for (uint32_t column = shape.leafCount; column < columns; ++column) {
    parts.push_back({EXRP_BATCH_COLUMN + column, (shape.every[column] > 1 ? 1 : rows) * shape.columnBytes[column]});
  }
  const uint32_t nSteps = nStepCount(policy);
  for (uint32_t index = 0; index < nSteps; ++index) {
    const uint32_t part = EXRP_BATCH_COLUMN + columns + EXRP_BATCH_N_STEP_PARTS * index;
    parts.push_back({part + EXRP_BATCH_N_STEP_RETURN, rows * shape.rewardCount * 4});
    parts.push_back({part + EXRP_BATCH_N_STEP_STATE, leaves[0].hasNSteps ? leaves[0].stacks : 0});
    parts.push_back({part + EXRP_BATCH_N_STEP_DISCOUNT, rows * 4});
  }
  for (uint32_t leaf = 1; leaf < shape.leafCount; ++leaf) {
    const uint32_t first = EXRP_BATCH_COLUMN + columns + EXRP_BATCH_N_STEP_PARTS * nSteps + (1 + nSteps) * (leaf - 1);
    parts.push_back({first, nextBytes(leaf)});
    for (uint32_t index = 0; index < nSteps; ++index) parts.push_back({first + 1 + index, leaves[leaf].hasNSteps ? leaves[leaf].stacks : 0});
  }
  return parts;
}

/// Elements that a batch layout of table `table` has.
inline uint32_t batchPartCount(const ReplayShape& shape, uint32_t table) {
  const uint32_t nSteps = table < shape.policies.size() ? nStepCount(shape.policies[table]) : 0;
  return EXRP_BATCH_COLUMN + static_cast<uint32_t>(shape.columnBytes.size()) + EXRP_BATCH_N_STEP_PARTS * nSteps +
         (1 + nSteps) * (shape.leafCount - 1);
}

/// The hash of places first..first + count - 1 of a batch of `total`; what lies between parts is not the call's to write.
inline uint32_t batchHash(const ReplayShape& shape, uint32_t table, uint32_t first, uint32_t count, uint32_t total,
                          const uint8_t* batch) {
  std::vector<double> offsets(batchPartCount(shape, table));
  if (exrp_batch_layout(shape.id, table, total, offsets.data(), static_cast<uint32_t>(offsets.size())) != 0) return 0;
  uint32_t hash = 2166136261u;
  for (const BatchPart& part : batchParts(shape, table)) {
    hash = fnv(batch + static_cast<size_t>(offsets[part.part]) + first * part.bytes, count * part.bytes, hash);
  }
  return hash;
}

class Recording {
 public:
  /// Replays a file; the number of calls that did not give what was recorded. Prints the first few.
  int replay(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) {
      std::printf("%s: cannot be read\n", path.c_str());
      return 1;
    }
    int failures = 0;
    long lineNumber = 0;
    for (std::string line; readLine(file, &line);) {
      ++lineNumber;
      if (line.empty() || line[0] == '#') continue;
      const char* problem = replayLine(line);
      if (problem == nullptr) continue;
      if (++failures <= 5) {
        std::printf("%s:%ld: %s: status %d hash %08x\n  %.200s\n", path.c_str(), lineNumber, problem, status_, hash_, line.c_str());
      }
    }
    std::fclose(file);
    for (const ReplayShape& shape : replays_) exrp_replay_destroy(shape.id);
    calls_ += lineNumber;
    return failures;
  }

  long calls() const { return calls_; }

 private:
  struct Argument {
    double number = 0;
    std::vector<uint64_t> bytes;  // as words, so that any element type is aligned
    size_t size = 0;
  };

  // Streams would take most of the C++ library, which tests/prebuilt would compile for each target.
  static bool readLine(std::FILE* file, std::string* line) {
    line->clear();
    char piece[4096];
    while (std::fgets(piece, sizeof piece, file) != nullptr) {
      line->append(piece);
      if (line->back() != '\n') continue;
      line->resize(line->size() - 1);
      return true;
    }
    return !line->empty();
  }

  /// The words of a line, between its blanks.
  static std::vector<std::string> wordsOf(const std::string& line) {
    std::vector<std::string> words;
    for (size_t begin = 0; begin < line.size();) {
      size_t end = line.find(' ', begin);
      if (end == std::string::npos) end = line.size();
      if (end > begin) words.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    return words;
  }

  const char* replayLine(const std::string& line) {
    const std::vector<std::string> words = wordsOf(line);
    // <function> <arguments> = <status> <hash>
    if (words.size() < 4 || words[words.size() - 3] != "=") return "no line of a recording";
    const std::string& name = words[0];
    arguments_.clear();
    for (size_t index = 1; index + 3 < words.size(); ++index) arguments_.push_back(parse(words[index]));
    const auto statusExpected = static_cast<int32_t>(std::strtol(words[words.size() - 2].c_str(), nullptr, 10));
    const std::string& hashExpected = words.back();
    hash_ = 0;
    if (!call(name)) return "unknown call";
    if (status_ != statusExpected) return "another status";
    if (hash_ != static_cast<uint32_t>(std::strtoul(hashExpected.c_str(), nullptr, 16))) return "other results";
    return nullptr;
  }

  static Argument parse(const std::string& token) {
    Argument argument;
    if (token[0] != 'x') {
      argument.number = std::strtod(token.c_str(), nullptr);
      return argument;
    }
    argument.size = (token.size() - 1) / 2;
    argument.bytes.resize(argument.size / 8 + 1);
    auto* bytes = reinterpret_cast<uint8_t*>(argument.bytes.data());
    const auto digit = [](char c) { return static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10); };
    for (size_t index = 0; index < argument.size; ++index) {
      bytes[index] = static_cast<uint8_t>(digit(token[1 + 2 * index]) << 4 | digit(token[2 + 2 * index]));
    }
    return argument;
  }

  double f64(size_t index) const { return index < arguments_.size() ? arguments_[index].number : 0; }
  uint32_t u32(size_t index) const { return static_cast<uint32_t>(f64(index)); }
  template <typename T>
  T* buffer(size_t index) {
    static uint64_t nothing[4] = {};
    return reinterpret_cast<T*>(index < arguments_.size() && arguments_[index].size > 0 ? arguments_[index].bytes.data() : nothing);
  }
  /// The replay that argument 0 names; an unknown one becomes an id that no replay has.
  ReplayShape& shape() {
    static ReplayShape none{0xFFFFFFFFu, {1, 1, 1}, {1, 1, 1}, 1, 1, {}, {}};
    const auto index = static_cast<size_t>(f64(0));
    return f64(0) >= 0 && index < replays_.size() ? replays_[index] : none;
  }

  /// The hash of what was written, had the call succeeded.
  void done(int32_t status, const void* data, size_t bytes) {
    status_ = status;
    hash_ = status == 0 ? fnv(data, bytes) : 0;
  }

  bool call(const std::string& name);

  std::vector<Argument> arguments_;
  std::vector<ReplayShape> replays_;
  int32_t status_ = 0;
  uint32_t hash_ = 0;
  long calls_ = 0;
};

inline bool Recording::call(const std::string& name) {
  std::vector<uint8_t> bytes;
  const uint32_t id = shape().id;
  const auto columnCount = static_cast<uint32_t>(shape().columnBytes.size());
  if (name == "replay_create") {
    ReplayShape made;
    const auto* config = buffer<const double>(0);
    const auto* policy = buffer<const double>(2);
    const auto* columns = buffer<const uint32_t>(4);
    status_ = exrp_replay_create(config, u32(1), policy, u32(3), columns, u32(5), &made.id);
    if (status_ != 0) return true;
    made.policies.emplace_back(policy, policy + u32(3));
    made.leafCount = static_cast<uint32_t>(config[EXRP_CONFIG_STATE_COLUMNS]);
    made.rewardCount = columns[3 * (made.leafCount + 1) + 1];
    for (uint32_t column = 0; column < u32(5); ++column) {
      made.columnBytes.push_back(columns[3 * column] * columns[3 * column + 1]);
      made.every.push_back(columns[3 * column + 2]);
    }
    replays_.push_back(made);
  } else if (name == "replay_destroy") {
    status_ = exrp_replay_destroy(id);
  } else if (name == "replay_info") {
    double info[EXRP_INFO_COUNT] = {};
    const int32_t status = exrp_replay_info(id, info, EXRP_INFO_COUNT);
    info[EXRP_INFO_MEMORY_BYTES] = info[EXRP_INFO_COLUMN_BYTES] = info[EXRP_INFO_INDEX_BYTES] = 0;
    done(status, info, sizeof info);
  } else if (name == "replay_check") {
    int32_t broken = 0;
    const int32_t status = exrp_replay_check(id, &broken);
    done(status, &broken, sizeof broken);
  } else if (name == "row_layout") {
    std::vector<double> offsets(EXRP_ROW_COLUMN + columnCount + shape().leafCount - 1);
    const int32_t status = exrp_row_layout(id, offsets.data(), static_cast<uint32_t>(offsets.size()));
    done(status, offsets.data(), offsets.size() * 8);
  } else if (name == "episode_create") {
    double handle = 0;
    const int32_t status = exrp_episode_create(id, &handle);
    done(status, &handle, sizeof handle);
  } else if (name == "episode_tag") {
    done(exrp_episode_tag(id, f64(1), static_cast<int32_t>(f64(2))), nullptr, 0);
  } else if (name == "record") {
    const int32_t status = exrp_record(id, buffer<uint8_t>(1), u32(2), u32(3));
    done(status, buffer<uint8_t>(1), u32(2));
  } else if (name == "steps_layout") {
    std::vector<double> offsets(EXRP_STEPS_COLUMN + columnCount);
    const int32_t status = exrp_steps_layout(id, u32(1), offsets.data(), static_cast<uint32_t>(offsets.size()));
    done(status, offsets.data(), offsets.size() * 8);
  } else if (name == "record_many" || name == "record_batch") {
    const bool many = name == "record_many";
    auto* stored = buffer<uint32_t>(6);
    auto* handles = buffer<double>(1);
    status_ = (many ? exrp_record_many : exrp_record_batch)(id, handles, buffer<const uint8_t>(2), f64(3), u32(4), u32(5), stored);
    if (status_ == 0) hash_ = fnv(stored, 4, fnv(handles, size_t{8} * (many ? 1 : u32(4))));
  } else if (name == "record_flat") {
    auto* stored = buffer<uint32_t>(6);
    auto* handle = buffer<double>(1);
    auto* episodes = buffer<double>(7);
    status_ = exrp_record_flat(id, handle, buffer<const uint8_t>(2), f64(3), u32(4), u32(5), stored, episodes, u32(8));
    if (status_ == 0) hash_ = fnv(episodes, size_t{8} * u32(8), fnv(stored, 8, fnv(handle, 8)));
  } else if (name == "episode_end") {
    uint32_t ended = 0;
    const int32_t status = exrp_episode_end(id, f64(1), buffer<const uint8_t>(2), u32(3), u32(4), &ended);
    done(status, &ended, sizeof ended);
  } else if (name == "episode_evict") {
    done(exrp_episode_evict(id, f64(1)), nullptr, 0);
  } else if (name == "replay_clear") {
    done(exrp_replay_clear(id), nullptr, 0);
  } else if (name == "episode_trim") {
    done(exrp_episode_trim(id, f64(1), u32(2)), nullptr, 0);
  } else if (name == "open_trim") {
    double trimmed[2] = {};
    const int32_t status = exrp_open_trim(id, &trimmed[0], &trimmed[1]);
    done(status, trimmed, sizeof trimmed);
  } else if (name == "records_release") {
    done(exrp_records_release(id, f64(1), u32(2)), nullptr, 0);
  } else if (name == "episode_info") {
    double info[EXRP_EPISODE_INFO_COUNT] = {};
    const int32_t status = exrp_episode_info(id, f64(1), info, EXRP_EPISODE_INFO_COUNT);
    done(status, info, sizeof info);
  } else if (name == "episode_list") {
    const auto* filter = buffer<const double>(1);
    const ListedEpisodes list(id, u32(3), std::vector<double>(filter, filter + u32(2)));
    status_ = list.status;
    const size_t rows = list.count;
    if (status_ == 0) {
      hash_ = fnv(list.tags.data(), 4 * rows, fnv(list.firsts.data(), 4 * rows, fnv(list.recordCounts.data(), 4 * rows, fnv(list.handles.data(), 8 * rows))));
      hash_ = fnv(list.returns.data(), 8 * list.returns.size(), fnv(list.ages.data(), 8 * rows, fnv(list.ends.data(), rows, hash_)));
      hash_ = fnv(&list.count, 4, hash_);
    }
  } else if (name == "episode_counts") {
    std::vector<uint32_t> counts(u32(2) + 1);
    std::vector<uint32_t> states(u32(2) + 1);
    std::vector<uint32_t> firsts(u32(2) + 1);
    status_ = exrp_episode_counts(id, buffer<const double>(1), u32(2), counts.data(), firsts.data(), states.data());
    const size_t countBytes = size_t{u32(2)} * 4;
    if (status_ == 0) hash_ = fnv(states.data(), countBytes, fnv(firsts.data(), countBytes, fnv(counts.data(), countBytes)));
  } else if (name == "next_states_get") {
    std::vector<uint8_t> there(u32(2) + 1);
    const auto size = static_cast<size_t>(f64(3));
    bytes.assign(size + 1, 0);
    status_ = exrp_next_states_get(id, buffer<const double>(1), u32(2), there.data(), bytes.data(), f64(3));
    if (status_ == 0) hash_ = fnv(bytes.data(), size, fnv(there.data(), u32(2)));
  } else if (name == "episode_actors") {
    std::vector<uint32_t> actors(u32(2) + 1);
    status_ = exrp_episode_actors(id, buffer<const double>(1), u32(2), actors.data());
    if (status_ == 0) hash_ = fnv(actors.data(), size_t{u32(2)} * 4);
  } else if (name == "rows_get") {
    bytes.resize(static_cast<size_t>(f64(6)) + 1);
    const int32_t status = exrp_rows_get(id, u32(1), buffer<const double>(2), buffer<const int32_t>(3), u32(4), u32(5), bytes.data(),
                                         f64(6));
    const size_t rowBytes = u32(1) < columnCount ? shape().columnBytes[u32(1)] : 0;
    done(status, bytes.data(), size_t{u32(4)} * u32(5) * rowBytes);
  } else if (name == "rows_set") {
    uint32_t updated = 0;
    const int32_t status = exrp_rows_set(id, u32(1), buffer<const double>(2), buffer<const int32_t>(3), u32(4), buffer<const uint8_t>(5), f64(6),
                                         &updated);
    done(status, &updated, sizeof updated);
  } else if (name == "rows_prepare") {
    done(exrp_rows_prepare(id, u32(1), buffer<const double>(2), buffer<const int32_t>(3), u32(4)), nullptr, 0);
  } else if (name == "pick_view_create") {
    uint32_t table = 0;
    const auto* policy = buffer<const double>(1);
    const int32_t status = exrp_pick_view_create(id, policy, u32(2), &table);
    if (status == 0) shape().policies.emplace_back(policy, policy + u32(2));
    done(status, &table, sizeof table);
  } else if (name == "pick_view_info") {
    double info[EXRP_PICK_VIEW_INFO_COUNT] = {};
    const int32_t status = exrp_pick_view_info(id, u32(1), info, EXRP_PICK_VIEW_INFO_COUNT);
    done(status, info, sizeof info);
  } else if (name == "selector_create") {
    uint32_t selector = 0;
    const int32_t status = exrp_selector_create(id, u32(1), u32(2), buffer<const double>(3), u32(4), &selector);
    if (status == 0) shape().tables.push_back(u32(1));
    done(status, &selector, sizeof selector);
  } else if (name == "priority_get") {
    std::vector<double> priorities(u32(4) + 1);
    const int32_t status = exrp_priority_get(id, u32(1), buffer<const double>(2), buffer<const int32_t>(3), u32(4), priorities.data());
    done(status, priorities.data(), size_t{8} * u32(4));
  } else if (name == "priority_set") {
    uint32_t applied = 0;
    const int32_t status = exrp_priority_set(id, u32(1), buffer<const double>(2), buffer<const int32_t>(3), buffer<const uint8_t>(4),
                                             u32(5), u32(6), &applied);
    done(status, &applied, sizeof applied);
  } else if (name == "batch_layout") {
    std::vector<double> offsets(batchPartCount(shape(), u32(1)));
    const int32_t status = exrp_batch_layout(id, u32(1), u32(2), offsets.data(), static_cast<uint32_t>(offsets.size()));
    done(status, offsets.data(), offsets.size() * 8);
  } else if (name == "batch_check") {
    done(exrp_batch_check(id, u32(1), u32(2)), nullptr, 0);
  } else if (name == "batch_get") {
    bytes.resize(static_cast<size_t>(f64(6)) + 1);
    status_ = exrp_batch_get(id, u32(1), u32(2), u32(3), u32(4), f64(5), bytes.data(), f64(6));
    if (status_ == 0) hash_ = batchHash(shape(), shape().tables[u32(1)], u32(2), u32(3), u32(4), bytes.data());
  } else if (name == "batch_gather") {
    bytes.resize(static_cast<size_t>(f64(10)) + 1);
    status_ = exrp_batch_gather(id, u32(1), buffer<const uint32_t>(2), buffer<const double>(3), u32(4), u32(5), u32(6), f64(7), f64(8),
                                u32(9), bytes.data(), f64(10));
    if (status_ == 0) hash_ = batchHash(shape(), u32(1), u32(4), u32(5), u32(6), bytes.data());
  } else if (name == "pick_find") {
    std::vector<uint32_t> indices(u32(4) + 1);
    const int32_t status = exrp_pick_find(id, u32(1), buffer<const double>(2), buffer<const int32_t>(3), u32(4), indices.data());
    done(status, indices.data(), size_t{u32(4)} * 4);
  } else if (name == "pick_list") {
    std::vector<double> handles(u32(3) + 1);
    std::vector<int32_t> positions(u32(3) + 1);
    status_ = exrp_pick_list(id, u32(1), u32(2), u32(3), handles.data(), positions.data());
    if (status_ == 0) hash_ = fnv(positions.data(), size_t{u32(3)} * 4, fnv(handles.data(), size_t{u32(3)} * 8));
  } else if (name == "pick_priorities") {
    std::vector<double> priorities(u32(3) + 1);
    const int32_t status = exrp_pick_priorities(id, u32(1), u32(2), u32(3), priorities.data());
    done(status, priorities.data(), size_t{u32(3)} * 8);
  } else if (name == "journal_open") {
    done(exrp_journal_open(id, u32(1)), nullptr, 0);
  } else if (name == "journal_count") {
    uint32_t count = 0;
    const int32_t status = exrp_journal_count(id, u32(1), &count);
    done(status, &count, sizeof count);
  } else if (name == "journal_read") {
    std::vector<uint32_t> events(size_t{u32(2)} * 2 + 2);
    uint32_t count = 0;
    const int32_t status = exrp_journal_read(id, u32(1), events.data(), u32(2), &count);
    done(status, events.data(), size_t{count} * 8);
  } else if (name == "replay_save_begin") {
    done(exrp_replay_save_begin(id), nullptr, 0);
  } else if (name == "replay_save_end") {
    done(exrp_replay_save_end(id), nullptr, 0);
  } else if (name == "section_info") {
    double info[2] = {};
    const int32_t status = exrp_section_info(id, u32(1), info, 2);
    done(status, info, sizeof info);
  } else if (name == "section_read") {
    double info[2] = {};
    exrp_section_info(id, u32(1), info, 2);
    bytes.resize(static_cast<size_t>(f64(4)) + 1);
    const int32_t status = exrp_section_read(id, u32(1), f64(2), u32(3), bytes.data(), f64(4));
    done(status, bytes.data(), status == 0 ? u32(3) * static_cast<size_t>(info[1]) : 0);
  } else if (name == "section_write") {
    done(exrp_section_write(id, u32(1), f64(2), u32(3), buffer<const uint8_t>(4), f64(5)), nullptr, 0);
  } else if (name == "snapshot_end") {
    done(exrp_snapshot_end(id), nullptr, 0);
  } else {
    return false;
  }
  return true;
}

}  // namespace exrp::test
