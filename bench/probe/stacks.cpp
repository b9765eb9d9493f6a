// stacks.cpp: how to copy stacks of four frames of 84 x 84 bytes and their next stacks from random places.
//
//   g++ -std=c++20 -O3 -pthread -I. -o stacks bench/probe/stacks.cpp kernel/batches/large_copy.cpp && ./stacks [batch ...]
//
// The variants of a batch take 25 turns of a few milliseconds within one process. It prints the minimum and the median in microseconds:
// alone, and with a reader that at once reads a word of each line of the batch. Batches lie in small pages, 16 bytes from the beginning
// of a page, as those of the engine do. A check compares every variant with memcpy before the timing. One variant makes a thread that
// copies half of the batch, and joins it. The first line is the time of such a thread that does nothing. x86-64 only.
#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "bench/probe/_times.hpp"
#include "kernel/base/random.hpp"
#include "kernel/batches/large_copy.hpp"

namespace {

constexpr size_t frameBytes = 84 * 84;
constexpr size_t stackBytes = 4 * frameBytes;
constexpr uint32_t frameCount = 20000;
constexpr uint32_t turns = 25;

using Copy = void (*)(uint8_t* state, uint8_t* next, const uint8_t* from);
struct Variant {
  const char* name;
  Copy copy;
  uint32_t ahead;  // picks; 0: nothing is asked for
  bool twoThreads = false;
};

void byMemcpy(uint8_t* state, uint8_t* next, const uint8_t* from) {
  memcpy(state, from, stackBytes);
  memcpy(next, from + frameBytes, stackBytes);
}

template <bool vectors>
void once(uint8_t* state, uint8_t* next, const uint8_t* from) {
  static const exrp::LargeCopier copier(vectors);
  copier.copy(state, from, frameBytes);
  copier.copyTwice(state + frameBytes, next, from + frameBytes, stackBytes - frameBytes);
  copier.copy(next + stackBytes - frameBytes, from + stackBytes, frameBytes);
}

/// Stores that pass the caches by; a frame is a whole number of 16 bytes, and so is where it goes.
void stream(uint8_t* state, uint8_t* next, const uint8_t* from) {
  const auto load = [](const uint8_t* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); };
  const auto store = [](uint8_t* to, __m128i value) { _mm_stream_si128(reinterpret_cast<__m128i*>(to), value); };
  for (size_t at = 0; at < frameBytes; at += 16) store(state + at, load(from + at));
  for (size_t at = frameBytes; at < stackBytes; at += 16) {
    const __m128i value = load(from + at);
    store(state + at, value);
    store(next + at - frameBytes, value);
  }
  for (size_t at = stackBytes; at < stackBytes + frameBytes; at += 16) store(next + at - frameBytes, load(from + at));
}

constexpr Variant variants[] = {
    {"memcpy, twice", byMemcpy, 0},        {"memcpy, twice, asked for", byMemcpy, 1}, {"once, 16 bytes", once<false>, 1},
    {"once, vectors, not asked", once<true>, 0}, {"once, vectors", once<true>, 1},       {"once, 8 ahead", once<true>, 8},
    {"once, vectors, two threads", once<true>, 1, true}, {"stream, 16 bytes", stream, 1},
};

uint8_t* pages(size_t bytes, bool huge) {
  constexpr size_t hugeBytes = size_t{2} << 20;
  auto* mapped = static_cast<uint8_t*>(mmap(nullptr, bytes + hugeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (mapped == MAP_FAILED) std::abort();
  uint8_t* data = mapped + (hugeBytes - reinterpret_cast<uintptr_t>(mapped) % hugeBytes) % hugeBytes;
  if (huge) madvise(data, bytes, MADV_HUGEPAGE);
  memset(data, 1, bytes);
  return data;
}

volatile uint64_t sink;

void measure(const uint8_t* frames, uint32_t batch) {
  const size_t partBytes = batch * stackBytes;
  uint8_t* const state = pages(2 * partBytes + 4096, false) + 16;
  uint8_t* const next = state + partBytes;
  exrp::Random random(1, 0);
  std::vector<uint32_t> places(batch + 8);
  const auto copy = [&](const Variant& variant, uint32_t first, uint32_t end) {
    for (uint32_t pick = first; pick < end; ++pick) {
      if (variant.ahead > 0) exrp::prefetchPages(frames + places[pick + variant.ahead] * frameBytes, 5 * frameBytes);
      variant.copy(state + pick * stackBytes, next + pick * stackBytes, frames + places[pick] * frameBytes);
    }
    _mm_sfence();
  };
  const auto run = [&](const Variant& variant, bool read) {
    for (uint32_t& place : places) place = random.below(frameCount - 5);
    if (variant.twoThreads) {
      std::thread other([&] { copy(variant, batch / 2, batch); });
      copy(variant, 0, batch / 2);
      other.join();
    } else {
      copy(variant, 0, batch);
    }
    if (!read) return;
    uint64_t sum = 0;
    for (size_t at = 0; at < 2 * partBytes; at += 64) {
      uint64_t word;
      memcpy(&word, state + at, sizeof word);
      sum += word;
    }
    sink = sum;
  };
  for (const Variant& variant : variants) {
    run(variant, false);
    for (uint32_t pick = 0; pick < batch; ++pick) {
      const uint8_t* from = frames + places[pick] * frameBytes;
      if (memcmp(state + pick * stackBytes, from, stackBytes) != 0 || memcmp(next + pick * stackBytes, from + frameBytes, stackBytes) != 0) {
        std::printf("%s is wrong\n", variant.name);
        std::exit(1);
      }
    }
  }
  constexpr size_t kinds = 2 * std::size(variants);
  std::vector<double> times[kinds];
  const uint32_t repeats = std::max(1u, 1500 / batch);
  for (uint32_t turn = 0; turn < turns; ++turn) {
    for (size_t kind = 0; kind < kinds; ++kind) {
      const auto once = [&] { run(variants[kind / 2], kind % 2 == 1); };
      once();
      const double start = probe::nowUs();
      for (uint32_t repeat = 0; repeat < repeats; ++repeat) once();
      times[kind].push_back((probe::nowUs() - start) / repeats);
    }
  }
  std::printf("batch of %u (%.1f MB)         alone: min   median   and read: min   median\n", batch, 2e-6 * static_cast<double>(partBytes));
  for (size_t k = 0; k < std::size(variants); ++k) {
    const probe::Times alone = probe::summary(times[2 * k]);
    const probe::Times read = probe::summary(times[2 * k + 1]);
    std::printf("  %-26s %12.1f %8.1f %15.1f %8.1f\n", variants[k].name, alone.least, alone.median, read.least, read.median);
  }
}

void measureThread() {
  std::vector<double> times;
  for (uint32_t turn = 0; turn < 40 * turns; ++turn) {
    const double start = probe::nowUs();
    std::thread([] {}).join();
    times.push_back(probe::nowUs() - start);
  }
  const auto [least, median] = probe::summary(times);
  std::printf("a thread made and joined: min %.1f, median %.1f\n", least, median);
}

}  // namespace

int main(int count, char** arguments) {
  uint8_t* const frames = pages(frameCount * frameBytes, true);
  for (uint32_t frame = 0; frame < frameCount; ++frame) memset(frames + frame * frameBytes, static_cast<int>(frame % 251), frameBytes);
  measureThread();
  if (count < 2) {
    for (const uint32_t batch : {32u, 256u, 512u, 1024u, 2048u}) measure(frames, batch);
  }
  for (int k = 1; k < count; ++k) measure(frames, static_cast<uint32_t>(std::atoi(arguments[k])));
  return 0;
}
