// limit.cpp: for each workload, the shortest native loop that moves the same bytes. It is the line to stop at.
//
// It is not a replay. It checks nothing and forgets nothing. Only GatherByTable looks anything up. No episode ends, and each drawn number is a place in
// memory. It has what no replay can do without: it draws random places, and copies the records column by column to where the learner
// wants them. Records stand side by side as in the kernel, with the next state in the next row. Memory is in huge pages if the system
// grants them. A workload has several variants, which ask for lines more or less far ahead, for example. The fastest one counts.
//
// bench/limit.ts builds it for the processor's own vectors (x86-64-v3 if there is AVX2). The kernel is built for baseline x86-64.
// The file is long because it holds every workload, and the build takes this one file.
// Thread safety: none. Each workload's answer is checked by check() before it is timed.
// It does not fail gracefully: without memory it ends the process.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernel/base/random.hpp"

#define LIMIT_API extern "C" __attribute__((visibility("default")))

namespace {

/// Memory in huge pages where there are any, all touched.
template <typename T>
class Pages {
 public:
  explicit Pages(size_t count) : bytes_((count * sizeof(T) + hugeBytes - 1) / hugeBytes * hugeBytes) {
    data_ = static_cast<T*>(std::aligned_alloc(hugeBytes, bytes_));
    if (data_ == nullptr) {
      std::fprintf(stderr, "limit: no memory for %zu bytes\n", bytes_);
      std::abort();
    }
#if defined(__linux__)
    madvise(data_, bytes_, MADV_HUGEPAGE);
#endif
    std::memset(static_cast<void*>(data_), 0, bytes_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { std::free(data_); }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t index) { return data_[index]; }
  const T& operator[](size_t index) const { return data_[index]; }

 private:
  static constexpr size_t hugeBytes = size_t{2} << 20;
  size_t bytes_;
  T* data_;
};

/// The kernel's random numbers, turned into places by the shortest way: not even to the last bit.
class Random : exrp::Random {
 public:
  Random() : exrp::Random(1, 0) {}
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(((next() >> 32) * bound) >> 32); }
  float unit() { return static_cast<float>(next() >> 40) * 0x1p-24f; }
};

template <int near>
inline void prefetch(const void* from, size_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(from) & ~uintptr_t{63};
  const auto end = reinterpret_cast<uintptr_t>(from) + bytes;
  for (uintptr_t line = first; line < end; line += 64) __builtin_prefetch(reinterpret_cast<const void*>(line), 0, near);
}

/// What is measured: run() does `batch` of it, check() says what is wrong with what run() made.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual uint32_t variants() const { return 1; }
  virtual void run(uint32_t variant, uint32_t batch) = 0;
  virtual const char* check(uint32_t batch) = 0;
  /// What has to be put right before run() whose answer is checked.
  virtual void prepare() {}
};

/// Sequences of `length` records from random places: states, actions, rewards and next states.
template <uint32_t stateSize, uint32_t actionSize, uint32_t length>
class Gather final : public Workload {
 public:
  explicit Gather(uint32_t rowCount)
      : rowCount_(rowCount), rows_(size_t{rowCount} + 1), state_(batchMax * length * stateSize), action_(batchMax * length * actionSize),
        reward_(batchMax * length), next_(batchMax * length * stateSize) {
    for (uint32_t at = 0; at <= rowCount; ++at) rows_[at] = rowAt(at);
  }

  uint32_t variants() const override { return 8; }
  void run(uint32_t variant, uint32_t batch) override {
    switch (variant) {
      case 0: return gather<4, 3>(batch);
      case 1: return gather<8, 3>(batch);
      case 2: return gather<16, 3>(batch);
      case 3: return gather<32, 3>(batch);
      case 4: return gather<4, 2>(batch);
      case 5: return gather<8, 2>(batch);
      case 6: return gather<16, 2>(batch);
      default: return gather<32, 2>(batch);
    }
  }

  const char* check(uint32_t batch) override {
    uint32_t first = UINT32_MAX;
    bool differ = false;
    for (uint32_t pick = 0; pick < batch; ++pick) {
      const auto start = static_cast<uint32_t>(reward_[size_t{pick} * length]);
      differ = differ || (first != UINT32_MAX && start != first);
      first = start;
      for (uint32_t step = 0; step < length; ++step) {
        const size_t to = size_t{pick} * length + step;
        const Row row = rowAt(start + step);
        const Row after = rowAt(start + step + 1);
        if (reward_[to] != row.reward) return "a reward is wrong";
        if (std::memcmp(&state_[to * stateSize], row.state, sizeof row.state) != 0) return "a state is wrong";
        if (std::memcmp(&action_[to * actionSize], row.action, sizeof row.action) != 0) return "an action is wrong";
        if (std::memcmp(&next_[to * stateSize], after.state, sizeof row.state) != 0) return "a next state is wrong";
      }
    }
    return differ || batch < 2 ? nullptr : "all picks are one";
  }

 private:
  static constexpr size_t batchMax = 5000;
  struct Row {
    float state[stateSize];
    float action[actionSize];
    float reward;
  };

  static Row rowAt(uint32_t at) {
    Row row;
    for (uint32_t k = 0; k < stateSize; ++k) row.state[k] = static_cast<float>((at * 31 + k) & 0xffffff);
    for (uint32_t k = 0; k < actionSize; ++k) row.action[k] = static_cast<float>((at * 17 + k) & 0xffffff);
    row.reward = static_cast<float>(at);
    return row;
  }

  template <uint32_t ahead, int near>
  void gather(uint32_t batch) {
    uint32_t ring[ahead];
    const Row* rows = rows_.data();
    float* state = state_.data();
    float* action = action_.data();
    float* reward = reward_.data();
    float* next = next_.data();
    for (uint32_t step = 0; step < batch + ahead; ++step) {
      if (step >= ahead) {
        const Row* row = rows + ring[step % ahead];
        for (uint32_t k = 0; k < length; ++k, ++row) {
          std::memcpy(state, row->state, sizeof row->state);
          std::memcpy(action, row->action, sizeof row->action);
          *reward++ = row->reward;
          std::memcpy(next, row[1].state, sizeof row->state);
          state += stateSize;
          action += actionSize;
          next += stateSize;
        }
      }
      if (step < batch) {
        const uint32_t at = random_.below(rowCount_ - length + 1);
        ring[step % ahead] = at;
        prefetch<near>(rows + at, length * sizeof(Row) + sizeof Row::state);
      }
    }
  }

  uint32_t rowCount_;
  Random random_;
  Pages<Row> rows_;
  Pages<float> state_;
  Pages<float> action_;
  Pages<float> reward_;
  Pages<float> next_;
};

/// Gather with the look-ups that every replay of random picks needs. A pick's number leads to its slot by a table of 4 bytes a pick. The
/// slot leads to its block's head, of 8 bytes for 16 slots, and the head to the episode, of 32 bytes. The handle and the position of each
/// pick are written too. It works in four stages, `ahead` picks apart. Rows and blocks are those of a full replay: episodes of 200
/// records, each with a final state, whose blocks stand in order.
template <uint32_t stateSize, uint32_t actionSize, uint32_t length>
class GatherByTable final : public Workload {
 public:
  explicit GatherByTable(uint32_t rowCount)
      : episodeCount_(rowCount / episodeLength), pickCount_(episodeCount_ * picksPerEpisode), slots_(pickCount_),
        heads_(size_t{episodeCount_} * blocksPerEpisode), episodes_(episodeCount_),
        rows_(size_t{episodeCount_} * blocksPerEpisode * blockLength + 1), state_(batchMax * length * stateSize),
        action_(batchMax * length * actionSize), reward_(batchMax * length), next_(batchMax * length * stateSize),
        handle_(batchMax), position_(batchMax) {
    // Evictions mix the table by episodes: an odd factor mixes them here.
    uint32_t pick = 0;
    for (uint32_t k = 0; k < episodeCount_; ++k) {
      const uint32_t episode = static_cast<uint32_t>((uint64_t{k} * 2654435761u) % episodeCount_);
      const uint32_t first = episode * blocksPerEpisode * blockLength;
      for (uint32_t at = 0; at < picksPerEpisode; ++at) slots_[pick++] = first + at;
    }
    for (uint32_t block = 0; block < episodeCount_ * blocksPerEpisode; ++block) {
      heads_[block] = {block / blocksPerEpisode, block % blocksPerEpisode};
    }
    for (uint32_t k = 0; k < episodeCount_; ++k) episodes_[k] = {k + handleOfFirst, 0, 0, episodeLength, 0, 0, 0};
    for (uint32_t slot = 0; slot < episodeCount_ * blocksPerEpisode * blockLength; ++slot) rows_[slot] = rowAt(slot);
  }

  uint32_t variants() const override { return 8; }
  void run(uint32_t variant, uint32_t batch) override {
    switch (variant) {
      case 0: return gather<4, 3>(batch);
      case 1: return gather<8, 3>(batch);
      case 2: return gather<16, 3>(batch);
      case 3: return gather<32, 3>(batch);
      case 4: return gather<4, 2>(batch);
      case 5: return gather<8, 2>(batch);
      case 6: return gather<16, 2>(batch);
      default: return gather<32, 2>(batch);
    }
  }

  const char* check(uint32_t batch) override {
    uint32_t first = UINT32_MAX;
    bool differ = false;
    for (uint32_t pick = 0; pick < batch; ++pick) {
      const auto episode = static_cast<uint32_t>(handle_[pick]) - handleOfFirst;
      const uint32_t start = episode * blocksPerEpisode * blockLength + static_cast<uint32_t>(position_[pick]);
      differ = differ || (first != UINT32_MAX && start != first);
      first = start;
      for (uint32_t step = 0; step < length; ++step) {
        const size_t to = size_t{pick} * length + step;
        const Row row = rowAt(start + step);
        const Row after = rowAt(start + step + 1);
        if (reward_[to] != row.reward) return "a reward is wrong";
        if (std::memcmp(&state_[to * stateSize], row.state, sizeof row.state) != 0) return "a state is wrong";
        if (std::memcmp(&action_[to * actionSize], row.action, sizeof row.action) != 0) return "an action is wrong";
        if (std::memcmp(&next_[to * stateSize], after.state, sizeof row.state) != 0) return "a next state is wrong";
      }
    }
    return differ || batch < 2 ? nullptr : "all picks are one";
  }

 private:
  static constexpr size_t batchMax = 5000;
  static constexpr uint32_t episodeLength = 200;
  static constexpr uint32_t picksPerEpisode = episodeLength - length + 1;
  static constexpr uint32_t blockLength = 16;
  static constexpr uint32_t blocksPerEpisode = episodeLength / blockLength + 1;
  static constexpr uint32_t handleOfFirst = 1000;
  struct Row {
    float state[stateSize];
    float action[actionSize];
    float reward;
  };
  struct Head {
    uint32_t episode;
    uint32_t ordinal;
  };
  struct Episode {
    uint64_t handle;
    uint32_t firstBlock;
    uint32_t lastBlock;
    uint32_t count;
    uint32_t state;
    uint32_t older;
    uint32_t newer;
  };
  struct Found {
    uint32_t pick;
    uint32_t slot;
    uint32_t episode;
    uint32_t position;
  };

  static Row rowAt(uint32_t at) {
    Row row;
    for (uint32_t k = 0; k < stateSize; ++k) row.state[k] = static_cast<float>((at * 31 + k) & 0xffffff);
    for (uint32_t k = 0; k < actionSize; ++k) row.action[k] = static_cast<float>((at * 17 + k) & 0xffffff);
    row.reward = static_cast<float>(at);
    return row;
  }

  template <uint32_t ahead, int near>
  void gather(uint32_t batch) {
    constexpr uint32_t ringCount = 4 * ahead;
    Found ring[ringCount];
    const uint32_t* slots = slots_.data();
    const Head* heads = heads_.data();
    const Episode* episodes = episodes_.data();
    const Row* rows = rows_.data();
    float* state = state_.data();
    float* action = action_.data();
    float* reward = reward_.data();
    float* next = next_.data();
    for (uint32_t step = 0; step < batch + 3 * ahead; ++step) {
      if (step < batch) {
        Found& found = ring[step % ringCount];
        found.pick = random_.below(pickCount_);
        __builtin_prefetch(slots + found.pick, 0, near);
      }
      if (step >= ahead && step - ahead < batch) {
        Found& found = ring[(step - ahead) % ringCount];
        found.slot = slots[found.pick];
        __builtin_prefetch(heads + found.slot / blockLength, 0, near);
        prefetch<near>(rows + found.slot, length * sizeof(Row) + sizeof Row::state);
      }
      if (step >= 2 * ahead && step - 2 * ahead < batch) {
        Found& found = ring[(step - 2 * ahead) % ringCount];
        const Head head = heads[found.slot / blockLength];
        found.episode = head.episode;
        found.position = head.ordinal * blockLength + found.slot % blockLength;
        __builtin_prefetch(episodes + found.episode, 0, near);
      }
      if (step < 3 * ahead) continue;
      const Found& found = ring[(step - 3 * ahead) % ringCount];
      const Episode& episode = episodes[found.episode];
      // All episodes are whole, but a replay must look.
      if (episode.count < found.position + length) continue;
      const size_t pick = step - 3 * ahead;
      handle_[pick] = static_cast<double>(static_cast<int64_t>(episode.handle));
      position_[pick] = static_cast<int32_t>(found.position);
      const Row* row = rows + found.slot;
      for (uint32_t k = 0; k < length; ++k, ++row) {
        std::memcpy(state, row->state, sizeof row->state);
        std::memcpy(action, row->action, sizeof row->action);
        *reward++ = row->reward;
        std::memcpy(next, row[1].state, sizeof row->state);
        state += stateSize;
        action += actionSize;
        next += stateSize;
      }
    }
  }

  uint32_t episodeCount_;
  uint32_t pickCount_;
  Random random_;
  Pages<uint32_t> slots_;
  Pages<Head> heads_;
  Pages<Episode> episodes_;
  Pages<Row> rows_;
  Pages<float> state_;
  Pages<float> action_;
  Pages<float> reward_;
  Pages<float> next_;
  Pages<double> handle_;
  Pages<int32_t> position_;
};

/// Stacks of four frames of 84 x 84 bytes and their next stacks.
class Stacks final : public Workload {
 public:
  explicit Stacks(uint32_t frameCount)
      : frameCount_(frameCount), frames_(size_t{frameCount} * frameBytes), state_(batchMax * stackBytes), next_(batchMax * stackBytes) {
    for (uint32_t frame = 0; frame < frameCount; ++frame) {
      std::memset(&frames_[size_t{frame} * frameBytes], static_cast<int>(frame % 251), frameBytes);
    }
  }

  uint32_t variants() const override { return 4; }
  void run(uint32_t variant, uint32_t batch) override {
    const uint8_t* following = place();
    for (uint32_t pick = 0; pick < batch; ++pick) {
      const uint8_t* from = following;
      following = place();
      uint8_t* state = &state_[pick * stackBytes];
      uint8_t* next = &next_[pick * stackBytes];
      if (variant == 0) {
        std::memcpy(state, from, stackBytes);
        std::memcpy(next, from + frameBytes, stackBytes);
      } else if (variant == 1) {
        both<false>(state, next, from);
      } else if (variant == 2) {
        both<true>(state, next, from);
      } else {
        askForPages(following);
        wide(state, next, from);
      }
    }
  }

  const char* check(uint32_t batch) override {
    for (size_t pick = 0; pick < batch; ++pick) {
      const uint8_t* state = &state_[pick * stackBytes];
      const uint8_t* next = &next_[pick * stackBytes];
      for (size_t frame = 0; frame < 4; ++frame) {
        for (size_t at = 0; at < frameBytes; ++at) {
          if (state[frame * frameBytes + at] != (state[0] + frame) % 251) return "a stack is wrong";
          if (next[frame * frameBytes + at] != (state[0] + frame + 1) % 251) return "a next stack is wrong";
        }
      }
    }
    return nullptr;
  }

 private:
  static constexpr size_t frameBytes = 84 * 84;
  static constexpr size_t stackBytes = 4 * frameBytes;
  static constexpr size_t batchMax = 256;

  const uint8_t* place() { return &frames_[size_t{random_.below(frameCount_ - 4)} * frameBytes]; }

  /// The first line of each page of five frames: within a page the processor finds the rest.
  static void askForPages(const uint8_t* from) {
    const auto end = reinterpret_cast<uintptr_t>(from) + 5 * frameBytes;
    __builtin_prefetch(from, 0, 2);
    for (auto page = (reinterpret_cast<uintptr_t>(from) | 4095) + 1; page < end; page += 4096) {
      __builtin_prefetch(reinterpret_cast<const void*>(page), 0, 2);
    }
  }

  /// Each frame read once and written to both, by vectors of 256 bits.
  static void wide(uint8_t* state, uint8_t* next, const uint8_t* from) {
#if defined(__AVX2__)
    // A frame is no whole number of vectors, but four of them are; the second half of one is written a second time.
    const auto copy = [](uint8_t* to, uint8_t* also, const uint8_t* source, size_t bytes) {
      for (size_t at = 0; at < bytes; at += 32) {
        const size_t where = at + 32 <= bytes ? at : bytes - 32;
        const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + where));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + where), value);
        if (also != nullptr) _mm256_storeu_si256(reinterpret_cast<__m256i*>(also + where), value);
      }
    };
    copy(state, nullptr, from, frameBytes);
    copy(state + frameBytes, next, from + frameBytes, stackBytes - frameBytes);
    copy(next + stackBytes - frameBytes, nullptr, from + stackBytes, frameBytes);
#else
    both<false>(state, next, from);
#endif
  }

  /// Each frame read once and written to both, with stores that pass the caches by or without. frameBytes is a multiple of 16.
  template <bool streaming>
  static void both(uint8_t* state, uint8_t* next, const uint8_t* from) {
#if defined(__SSE2__)
    const auto store = [](uint8_t* to, __m128i value) {
      if constexpr (streaming) {
        _mm_stream_si128(reinterpret_cast<__m128i*>(to), value);
      } else {
        _mm_store_si128(reinterpret_cast<__m128i*>(to), value);
      }
    };
    const auto load = [](const uint8_t* at) { return _mm_load_si128(reinterpret_cast<const __m128i*>(at)); };
    for (size_t at = 0; at < frameBytes; at += 16) store(state + at, load(from + at));
    for (size_t at = frameBytes; at < stackBytes; at += 16) {
      const __m128i value = load(from + at);
      store(state + at, value);
      store(next + at - frameBytes, value);
    }
    for (size_t at = stackBytes; at < stackBytes + frameBytes; at += 16) store(next + at - frameBytes, load(from + at));
    if constexpr (streaming) _mm_sfence();
#else
    for (size_t frame = 0; frame < 5; ++frame) {
      if (frame < 4) std::memcpy(state + frame * frameBytes, from + frame * frameBytes, frameBytes);
      if (frame > 0) std::memcpy(next + (frame - 1) * frameBytes, from + frame * frameBytes, frameBytes);
    }
#endif
  }

  uint32_t frameCount_;
  Random random_;
  Pages<uint8_t> frames_;
  Pages<uint8_t> state_;
  Pages<uint8_t> next_;
};

/// A tree of nodes of 16 running sums in single precision, with a cache line for each node. It makes stratified draws in proportion to
/// the weights, 32 or 64 of them in flight. It adds the difference of a new weight to the running sums on the way up.
class Tree final : public Workload {
 public:
  Tree(uint32_t count, bool updates) : count_(count), updates_(updates), memory_((nodeTotal(count) + 1) * 16), nodes_(memory_.data() + 16), index_(batchMax) {
    uint64_t nodes = count;
    while (nodes > 1) {
      nodes = (nodes + 15) / 16;
      start_[depth_++] = used_;
      used_ += nodes;
    }
    for (uint32_t leaf = 0; leaf < count; ++leaf) weightOf(leaf) = 0.5f + random_.unit();
    for (uint64_t node = 0; node < (depth_ > 1 ? start_[1] : used_); ++node) addUp(node);
    prepare();
  }

  /// The sums above the leaves' parents, from those below: in single precision differences that are added drift away from them.
  void prepare() override {
    for (uint32_t level = 1; level < depth_; ++level) {
      const uint64_t end = level + 1 < depth_ ? start_[level + 1] : used_;
      std::memset(&nodes_[start_[level] * 16], 0, (end - start_[level]) * 16 * sizeof(float));
      for (uint64_t below = start_[level - 1]; below < start_[level]; ++below) {
        nodes_[start_[level] * 16 + (below - start_[level - 1])] = nodes_[below * 16 + 15];
      }
      for (uint64_t node = start_[level]; node < end; ++node) addUp(node);
    }
  }

  uint32_t variants() const override { return 3; }
  void run(uint32_t variant, uint32_t batch) override {
    if (updates_) return variant == 0 ? update<8>(batch) : variant == 1 ? update<16>(batch) : update<32>(batch);
    if (variant == 0) return draw<32, 3>(batch);
    return variant == 1 ? draw<32, 2>(batch) : draw<64, 2>(batch);
  }

  const char* check(uint32_t batch) override {
    double sum = 0;
    for (uint32_t leaf = 0; leaf < count_; ++leaf) sum += static_cast<double>(weightAt(leaf));
    const auto total = static_cast<double>(nodes_[start_[depth_ - 1] * 16 + 15]);
    if (std::abs(sum - total) > 1e-3 * sum) return "the tree's total is not the sum of its weights";
    if (updates_) return nullptr;
    // Pick k lies where the weights before it add up to k/n to (k + 1)/n of the whole.
    double before = 0;
    uint32_t leaf = 0;
    for (uint32_t k = 0; k < batch; ++k) {
      if (index_[k] >= count_ || index_[k] < leaf) return "draws are out of order";
      for (; leaf < index_[k]; ++leaf) before += static_cast<double>(weightAt(leaf));
      const double low = sum * k / batch;
      const double slack = 1e-3 * sum / batch + 1e-5 * sum;
      if (before + 2 < low - slack || before > low + sum / batch + slack) return "a draw is not where its point is";
    }
    return nullptr;
  }

 private:
  static constexpr size_t batchMax = 5000;
  static uint64_t nodeTotal(uint64_t count) {
    uint64_t total = 0;
    while (count > 1) total += count = (count + 15) / 16;
    return total;
  }
  float& weightOf(uint32_t leaf) { return nodes_[leaf]; }
  /// Weights become running sums.
  void addUp(uint64_t node) {
    float* sums = &nodes_[node * 16];
    for (int k = 1; k < 16; ++k) sums[k] += sums[k - 1];
  }
  float weightAt(uint32_t leaf) const { return nodes_[leaf] - (leaf % 16 == 0 ? 0.0f : nodes_[leaf - 1]); }

  /// How many of the 15 first running sums are at most r, and what r is beyond them.
  static uint32_t childAt(const float* sums, float& r) {
#if defined(__AVX2__)
    const __m256 point = _mm256_set1_ps(r);
    const auto low = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(_mm256_load_ps(sums), point, _CMP_LE_OQ)));
    const auto high = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(_mm256_load_ps(sums + 8), point, _CMP_LE_OQ)));
    const auto child = static_cast<uint32_t>(__builtin_popcount((low | high << 8) & 0x7fff));
#elif defined(__SSE2__)
    const __m128 point = _mm_set1_ps(r);
    uint32_t bits = 0;
    for (int k = 0; k < 4; ++k) {
      bits |= static_cast<uint32_t>(_mm_movemask_ps(_mm_cmple_ps(_mm_load_ps(sums + 4 * k), point))) << (4 * k);
    }
    const auto child = static_cast<uint32_t>(__builtin_ctz(~bits | 0x8000));
#else
    uint32_t child = 0;
    for (int k = 0; k < 15; ++k) child += sums[k] <= r ? 1 : 0;
#endif
    // Without a branch on where the point lies, which no processor can guess; before the first node there is one of zeros.
    uint32_t before;
    std::memcpy(&before, sums + static_cast<int32_t>(child) - 1, sizeof before);
    before &= child == 0 ? 0u : ~0u;
    float taken;
    std::memcpy(&taken, &before, sizeof taken);
    r -= taken;
    return child;
  }

  template <uint32_t flight, int near>
  void draw(uint32_t batch) {
    const float total = nodes_[start_[depth_ - 1] * 16 + 15];
    for (uint32_t first = 0; first < batch; first += flight) {
      const uint32_t n = batch - first < flight ? batch - first : flight;
      float r[flight];
      uint32_t at[flight] = {};
      const float each = total / static_cast<float>(batch);
      for (uint32_t k = 0; k < n; ++k) r[k] = (static_cast<float>(first + k) + random_.unit()) * each;
      for (uint32_t level = depth_; level-- > 0;) {
        for (uint32_t k = 0; k < n; ++k) {
          at[k] = at[k] * 16 + childAt(&nodes_[(start_[level] + at[k]) * 16], r[k]);
          if (level > 0) __builtin_prefetch(&nodes_[(start_[level - 1] + at[k]) * 16], 0, near);
        }
      }
      for (uint32_t k = 0; k < n; ++k) index_[first + k] = at[k] < count_ ? at[k] : count_ - 1;
    }
  }

  template <uint32_t flight>
  void update(uint32_t batch) {
    for (uint32_t first = 0; first < batch; first += flight) {
      const uint32_t n = batch - first < flight ? batch - first : flight;
      uint32_t leaf[flight];
      for (uint32_t k = 0; k < n; ++k) {
        leaf[k] = random_.below(count_);
        for (uint32_t level = 0; level < 3 && level < depth_; ++level) {
          __builtin_prefetch(&nodes_[(start_[level] + (leaf[k] >> (4 * level + 4))) * 16], 1);
        }
      }
      for (uint32_t k = 0; k < n; ++k) {
        const float difference = 0.5f + random_.unit() - weightAt(leaf[k]);
        for (uint32_t level = 0; level < depth_; ++level) {
          float* sums = &nodes_[(start_[level] + (leaf[k] >> (4 * level + 4))) * 16];
          const auto child = static_cast<int32_t>(leaf[k] >> (4 * level) & 15);
          for (int32_t at = 0; at < 16; ++at) sums[at] += at >= child ? difference : 0.0f;
        }
      }
    }
  }

  uint32_t count_;
  bool updates_;
  Random random_;
  uint64_t start_[8] = {};  // the first node of each level, leaves' parents first
  uint32_t depth_ = 0;
  uint64_t used_ = 0;
  Pages<float> memory_;  // a node of zeros, then
  float* nodes_;         // the tree's
  Pages<uint32_t> index_;
};

/// `batch` steps, one after the other, from the arrays of a caller to a ring of records.
template <uint32_t stateSize, uint32_t actionSize>
class Record final : public Workload {
 public:
  explicit Record(uint32_t rowCount) : rowCount_(rowCount), rows_(rowCount), from_(batchMax * sizeof(Row) / sizeof(float)) {
    for (size_t k = 0; k < batchMax * sizeof(Row) / sizeof(float); ++k) from_[k] = static_cast<float>(k);
  }
  void run(uint32_t, uint32_t batch) override {
    const float* state = from_.data();
    const float* action = state + batch * stateSize;
    const float* reward = action + batch * actionSize;
    for (uint32_t step = 0; step < batch; ++step) {
      Row& row = rows_[head_];
      std::memcpy(row.state, state + step * stateSize, sizeof row.state);
      std::memcpy(row.action, action + step * actionSize, sizeof row.action);
      row.reward = reward[step];
      head_ = head_ + 1 == rowCount_ ? 0 : head_ + 1;
    }
  }
  const char* check(uint32_t batch) override {
    for (uint32_t step = 0; step < batch; ++step) {
      const Row& row = rows_[(head_ + rowCount_ - batch + step) % rowCount_];
      if (row.state[stateSize - 1] != static_cast<float>(step * stateSize + stateSize - 1)) return "a state is wrong";
      if (row.action[0] != static_cast<float>(batch * stateSize + step * actionSize)) return "an action is wrong";
      if (row.reward != static_cast<float>(batch * (stateSize + actionSize) + step)) return "a reward is wrong";
    }
    return nullptr;
  }

 private:
  static constexpr size_t batchMax = 1000;
  struct Row {
    float state[stateSize];
    float action[actionSize];
    float reward;
  };
  uint32_t rowCount_;
  uint32_t head_ = 0;
  Pages<Row> rows_;
  Pages<float> from_;
};

constexpr uint32_t workloadMax = 64;
Workload* workloads[workloadMax];

Workload* make(uint32_t kind, uint32_t count) {
  switch (kind) {
    case 0: return new Gather<15, 3, 1>(count);
    case 1: return new Gather<15, 3, 8>(count);
    case 2: return new Gather<4, 1, 8>(count);
    case 3: return new Stacks(count);
    case 4: return new Tree(count, false);
    case 5: return new Tree(count, true);
    case 6: return new Record<4, 1>(count);
    case 7: return new Record<15, 3>(count);
    case 8: return new GatherByTable<15, 3, 1>(count);
    case 9: return new GatherByTable<15, 3, 8>(count);
    case 10: return new GatherByTable<4, 1, 8>(count);
    default: return nullptr;
  }
}

}  // namespace

/// An empty call: what any call of a native function costs.
LIMIT_API uint32_t limit_nothing(uint32_t value) { return value; }

/// Additions a nanosecond, about. Where another thread runs on the same core, they are about half as many.
LIMIT_API double limit_probe() {
  constexpr uint32_t rounds = 4000;
  uint64_t a = 0;
  uint64_t b = 0;
  uint64_t c = 0;
  uint64_t d = 0;
  const auto start = std::chrono::steady_clock::now();
  for (uint32_t round = 0; round < rounds; ++round) {
    // Empty statements, so that the compiler does not join the additions.
    for (uint32_t k = 0; k < 2; ++k) {
      a += round;
      b += round;
      c += round;
      d += round;
      asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    }
  }
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
  return 8.0 * rounds / elapsed.count();
}

/// Makes a workload over `count` records (frames, picks); its number, or UINT32_MAX.
LIMIT_API uint32_t limit_create(uint32_t kind, uint32_t count) {
  for (uint32_t id = 0; id < workloadMax; ++id) {
    if (workloads[id] != nullptr) continue;
    workloads[id] = make(kind, count);
    return workloads[id] == nullptr ? UINT32_MAX : id;
  }
  return UINT32_MAX;
}

LIMIT_API void limit_destroy(uint32_t id) {
  delete workloads[id];
  workloads[id] = nullptr;
}

LIMIT_API uint32_t limit_variants(uint32_t id) { return workloads[id]->variants(); }

/// Nanoseconds of one run, the mean of `repeats`.
LIMIT_API double limit_run(uint32_t id, uint32_t variant, uint32_t batch, uint32_t repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (uint32_t repeat = 0; repeat < repeats; ++repeat) workloads[id]->run(variant, batch);
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / repeats;
}

/// What is wrong with what a fresh run made, into `text`; 0 where nothing is.
LIMIT_API uint32_t limit_check(uint32_t id, uint32_t variant, uint32_t batch, char* text, uint32_t textBytes) {
  workloads[id]->prepare();
  workloads[id]->run(variant, batch);
  const char* wrong = workloads[id]->check(batch);
  if (wrong == nullptr) return 0;
  std::snprintf(text, textBytes, "%s", wrong);
  return 1;
}
