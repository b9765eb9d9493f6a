// cold_stacks.cpp: the least time of a batch of 256 stacks of four frames of 84 x 84 bytes and their next stacks, by how many blocks of memory batches
// lie in by turns.
//
//   g++ -std=c++20 -O3 -pthread -I. -o cold_stacks bench/probe/cold_stacks.cpp && ./cold_stacks
//
// One block stays in the caches, as that of a reused batch does. More than two are cold when their turn comes, as memory of new batches is. Two threads
// copy, each on a core of its own, and none of them ever sleeps; nothing is looked up. *Stacks* reads five frames a pick and writes eight, once
// by stores that pass the caches by. *Frames* writes the five. It prints the least and (the median) of 60 batches, in microseconds. x86-64 and Linux only.
#include <immintrin.h>
#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "bench/probe/_times.hpp"
#include "kernel/base/random.hpp"

namespace {

constexpr size_t frameBytes = 84 * 84;
constexpr uint32_t picks = 256;
constexpr uint32_t frameCount = 8192;
constexpr uint32_t turns = 60;
constexpr uint32_t blocksMax = 30;
constexpr size_t hugePageBytes = size_t{2} << 20;
constexpr size_t blockBytes = 7 * hugePageBytes;

enum class Kind { stacks, passing, frames };

struct Batch {
  Kind kind;
  uint8_t* to;
  const uint8_t* frames;
  const uint32_t* first;
};

/// A frame is a whole number of 16 bytes, and so is where it goes. `also` may be null.
template <bool passes>
__attribute__((target("avx2"))) void copy(uint8_t* to, uint8_t* also, const uint8_t* from, size_t bytes) {
  constexpr size_t unit = passes ? 16 : 32;
  const auto one = [&](size_t at) __attribute__((target("avx2"))) {
    if constexpr (passes) {
      const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), value);
      if (also != nullptr) _mm_stream_si128(reinterpret_cast<__m128i*>(also + at), value);
    } else {
      const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), value);
      if (also != nullptr) _mm256_storeu_si256(reinterpret_cast<__m256i*>(also + at), value);
    }
  };
  for (size_t at = 0; at + unit < bytes; at += unit) one(at);
  one(bytes - unit);
}

template <bool passes>
void stacks(uint8_t* state, uint8_t* next, const uint8_t* from) {
  copy<passes>(state, nullptr, from, frameBytes);
  copy<passes>(state + frameBytes, next, from + frameBytes, 3 * frameBytes);
  copy<passes>(next + 3 * frameBytes, nullptr, from + 4 * frameBytes, frameBytes);
}

void copyPick(const Batch& batch, uint32_t pick) {
  const uint8_t* const from = batch.frames + batch.first[pick] * frameBytes;
  if (batch.kind == Kind::frames) return copy<false>(batch.to + pick * 5 * frameBytes, nullptr, from, 5 * frameBytes);
  uint8_t* const state = batch.to + pick * 4 * frameBytes;
  uint8_t* const next = state + picks * 4 * frameBytes;
  batch.kind == Kind::passing ? stacks<true>(state, next, from) : stacks<false>(state, next, from);
}

/// Two threads that never sleep. They take four picks at a time.
struct Pair {
  Batch batch = {};
  std::atomic<uint32_t> next = 0;
  std::atomic<uint32_t> begun = 0;
  std::atomic<uint32_t> done = 0;

  void part() {
    for (uint32_t pick; (pick = next.fetch_add(4)) < picks;) {
      for (uint32_t k = pick; k < pick + 4; ++k) copyPick(batch, k);
    }
    if (batch.kind == Kind::passing) _mm_sfence();
  }
  void serve() {
    for (uint32_t turn = 1;; ++turn) {
      while (begun != turn) _mm_pause();
      part();
      done = turn;
    }
  }
  void copyAll() {
    next = 0;
    ++begun;
    part();
    while (done != begun) _mm_pause();
  }
};

void stayOn(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (sched_setaffinity(0, sizeof cores, &cores) != 0) std::printf("core %d is not to be had\n", core);
}

uint8_t* memory(size_t bytes, int advice) {
  void* const mapped = mmap(nullptr, bytes + hugePageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) std::exit(1);
  const auto whole = (reinterpret_cast<uintptr_t>(mapped) + hugePageBytes - 1) & ~(uintptr_t{hugePageBytes} - 1);
  auto* const at = reinterpret_cast<uint8_t*>(whole);
  madvise(at, bytes, advice);
  for (size_t k = 0; k < bytes; ++k) at[k] = static_cast<uint8_t>(k * 7);
  return at;
}

}  // namespace

int main() {
  stayOn(0);
  auto* const pair = new Pair;
  std::thread([pair] {
    stayOn(1);
    pair->serve();
  }).detach();
  const uint8_t* const frames = memory(frameCount * frameBytes, MADV_HUGEPAGE);
  exrp::Random random(1, 0);
  std::vector<uint32_t> first(picks);
  for (const bool isHuge : {false, true}) {
    std::vector<uint8_t*> blocks;
    for (uint32_t k = 0; k < blocksMax; ++k) blocks.push_back(memory(blockBytes, isHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE));
    for (const uint32_t count : {1u, 2u, 3u, 5u, blocksMax}) {
      std::printf("%s pages, %2u blocks:", isHuge ? "huge" : "small", count);
      for (const Kind kind : {Kind::stacks, Kind::passing, Kind::frames}) {
        std::vector<double> times;
        for (uint32_t turn = 0; turn < turns; ++turn) {
          for (uint32_t& each : first) each = random.below(frameCount - 5);
          pair->batch = {kind, blocks[turn % count], frames, first.data()};
          const double before = probe::nowUs();
          pair->copyAll();
          times.push_back(probe::nowUs() - before);
        }
        const auto [least, median] = probe::summary(times);
        std::printf("  %s %3.0f (%3.0f)", kind == Kind::stacks ? "stacks" : kind == Kind::passing ? "passing" : "frames", least, median);
      }
      std::printf("\n");
    }
  }
  std::fflush(stdout);
  std::quick_exit(0);
}
