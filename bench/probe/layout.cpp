// How should a block keep its records? This probe stands alone: it links nothing of the kernel.
//
//   g++ -std=c++20 -O3 -o layout bench/probe/layout.cpp && ./layout all        (3 minutes, 5 GB)
//
// The file is long because a probe stands alone: it has the variants that it compares, and nothing else.
// (No -march=native, on purpose: the kernel is built for plain x86-64.)
// Parts, each alone: ./layout grid | blocks | ways | pages | threshold | image | write | stream
// A table goes to standard error, one JSON object per line to standard output.
//
// The layouts compared
//   columns   every column is one arena over the whole pool; row = slot
//   records   all fields of a step side by side, one arena; stride = the record's bytes
//   recordsP  the same, stride padded up to P bytes
//   blocks    a block of B slots is one piece of memory; inside it column after column
//   split     the state is an arena of its own; the other fields of a step side by side in a second one
//
// The pool. An episode has 200 records and one extra slot for its final state. It lives in ceil(201 / B) blocks of B slots, chained by
// a u32 per block. "joined": the blocks of an episode are physical neighbours, in order. "torn": all blocks of the pool are shuffled,
// so every block boundary is a jump. That is the worst that eviction can do.
//
// The task is one batch. Its `batch` dense indices are uniform and drawn beforehand. For each index, slot = table[index]. Then the task
// copies `len` steps into separate output columns: state, next state, action, reward. The next states are those of the following slots.
//
// The ways
//   plain       pick after pick, column after column, no prefetch
//   plainfused  the same, all columns of a pick in one pass over its rows
//   pick        chunks, prefetched; then pick after pick, all columns of one pick
//   column      chunks, prefetched; then column after column over the chunk
//   roll        the four stages below pick by pick, each stage a fixed number of picks behind the one before
//   fused       rolling; all columns of a pick in one pass over its rows
// A chunk passes four stages, and each stage is one chunk behind the stage before. A rolling pick passes them a number of picks behind.
//   1. Fetch the entry of the table.
//   2. Read the slot, and fetch the entry of the chain.
//   3. Follow the chain, and fetch the rows.
//   4. Copy.
//
// Before the timing, a check compares every variant with a walk along the chain: all bytes of the first 512 picks of a batch. The
// variants of a case take turns within one run. Each turn has one untimed pass and two timed ones over fresh indices. The minimum of all
// turns counts.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
#define INLINE inline __attribute__((always_inline))

static double now() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// ---- memory ---------------------------------------------------------------------------------------------------------------

struct Arena {
  u8* base = nullptr;
  void* raw = nullptr;
  size_t mapped = 0;
  Arena(size_t bytes, bool huge) {
    const size_t page = size_t{2} << 20;
    bytes = (bytes + page - 1) / page * page;
    mapped = bytes + page;
    raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) { perror("mmap"); exit(1); }
    base = reinterpret_cast<u8*>((reinterpret_cast<u64>(raw) + page - 1) / page * page);
    madvise(base, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  }
  Arena(const Arena&) = delete;
  ~Arena() { munmap(raw, mapped); }
};

// ---- the pool's chain and pick table --------------------------------------------------------------------------------------

constexpr u32 NONE = 0xffffffffu;
constexpr int EPISODE = 200;

struct Pool {
  int shift;
  u32 mask;
  Arena nextMem, tableMem;
  u32 *next, *table;
  u32 picks = 0;
  Pool(u32 slots, int shift, bool torn, int len, bool huge)
      : shift(shift), mask((1u << shift) - 1), nextMem(size_t(slots >> shift) * 4 + 64, huge), tableMem(size_t(slots) * 4 + 64, huge),
        next(reinterpret_cast<u32*>(nextMem.base)), table(reinterpret_cast<u32*>(tableMem.base)) {
    const u32 blocks = slots >> shift;
    std::vector<u32> order(blocks);
    std::iota(order.begin(), order.end(), 0u);
    if (torn) std::shuffle(order.begin(), order.end(), std::mt19937(7));
    std::fill(next, next + blocks, NONE);
    const u32 per = (EPISODE + 1 + mask) >> shift;
    for (u32 first = 0; first + per <= blocks; first += per) {
      for (u32 j = 0; j + 1 < per; j++) next[order[first + j]] = order[first + j + 1];
      for (int t = 0; t + len <= EPISODE; t++) table[picks++] = (order[first + (u32(t) >> shift)] << shift) | (u32(t) & mask);
    }
  }
};

// ---- layouts: where row `slot` of a column lies ---------------------------------------------------------------------------
// contiguous(): rows of one column are side by side, so that a run of rows may be copied at once.
// acrossBlocks: blocks that are physical neighbours make one longer run.

enum Column { STATE, ACTION, REWARD };

template <int SW_, int AW_>
struct Sizes {
  static constexpr int SW = SW_, AW = AW_, RW = 4, REC = SW_ + AW_ + 4;
};

INLINE void fetchLines(const u8* p, size_t bytes, size_t most) {
  const u8* end = p + (bytes < most ? bytes : most);
  for (const u8* q = reinterpret_cast<const u8*>(reinterpret_cast<u64>(p) & ~u64{63}); q < end; q += 64) __builtin_prefetch(q, 0, 3);
}
constexpr size_t MOST = 1024;  // of one run at most this many bytes are fetched by hand; the hardware's stream takes over from there

template <class S>
struct Columns : S {
  static constexpr bool acrossBlocks = true, dense = true;
  Arena s, a, r;
  Columns(u32 slots, bool huge) : s(size_t(slots) * S::SW + 64, huge), a(size_t(slots) * S::AW + 64, huge), r(size_t(slots) * 4 + 64, huge) {}
  void shape(int) {}
  template <Column C> INLINE u8* at(u32 slot) const {
    if constexpr (C == STATE) return s.base + size_t(slot) * S::SW;
    else if constexpr (C == ACTION) return a.base + size_t(slot) * S::AW;
    else return r.base + size_t(slot) * 4;
  }
  template <Column> static constexpr int stride(int w) { return w; }
  INLINE void fetch(u32 slot, u32 n) const {
    fetchLines(at<STATE>(slot), size_t(n) * S::SW, MOST);
    fetchLines(at<ACTION>(slot), size_t(n) * S::AW, MOST);
    fetchLines(at<REWARD>(slot), size_t(n) * 4, MOST);
  }
};

template <class S, int STRIDE>
struct Records : S {
  static constexpr bool acrossBlocks = true, dense = false;
  Arena m;
  Records(u32 slots, bool huge) : m(size_t(slots) * STRIDE + 64, huge) {}
  void shape(int) {}
  template <Column C> INLINE u8* at(u32 slot) const { return m.base + size_t(slot) * STRIDE + (C == STATE ? 0 : C == ACTION ? S::SW : S::SW + S::AW); }
  template <Column> static constexpr int stride(int) { return STRIDE; }
  INLINE void fetch(u32 slot, u32 n) const { fetchLines(at<STATE>(slot), size_t(n) * STRIDE, 2 * MOST); }
};

template <class S>
struct Blocks : S {
  static constexpr bool acrossBlocks = false, dense = true;
  Arena m;
  int shift = 0;
  u32 mask = 0;
  Blocks(u32 slots, bool huge) : m(size_t(slots) * S::REC + 64, huge) {}
  void shape(int k) { shift = k; mask = (1u << k) - 1; }
  template <Column C> INLINE u8* at(u32 slot) const {
    constexpr int before = C == STATE ? 0 : C == ACTION ? S::SW : S::SW + S::AW, w = C == STATE ? S::SW : C == ACTION ? S::AW : 4;
    return m.base + size_t(slot & ~mask) * S::REC + (size_t(before) << shift) + size_t(slot & mask) * w;
  }
  template <Column> static constexpr int stride(int w) { return w; }
  INLINE void fetch(u32 slot, u32 n) const {
    fetchLines(at<STATE>(slot), size_t(n) * S::SW, MOST);
    fetchLines(at<ACTION>(slot), size_t(n) * S::AW, MOST);
    fetchLines(at<REWARD>(slot), size_t(n) * 4, MOST);
  }
};

template <class S>
struct Split : S {
  static constexpr bool acrossBlocks = true, dense = true;
  Arena s, m;
  Split(u32 slots, bool huge) : s(size_t(slots) * S::SW + 64, huge), m(size_t(slots) * (S::AW + 4) + 64, huge) {}
  void shape(int) {}
  template <Column C> INLINE u8* at(u32 slot) const {
    if constexpr (C == STATE) return s.base + size_t(slot) * S::SW;
    else return m.base + size_t(slot) * (S::AW + 4) + (C == ACTION ? 0 : S::AW);
  }
  template <Column C> static constexpr int stride(int w) { return C == STATE ? w : S::AW + 4; }
  INLINE void fetch(u32 slot, u32 n) const {
    fetchLines(at<STATE>(slot), size_t(n) * S::SW, MOST);
    fetchLines(at<ACTION>(slot), size_t(n) * (S::AW + 4), MOST);
  }
};

// Contents are a function of slot, column and word, so that a copy can be checked without a second pool.
INLINE u32 word(u32 slot, int column, int i) { return slot * 2654435761u + u32(column) * 40503u + u32(i) * 2246822519u; }
template <Column C> static void fillRow(u8* p, u32 slot, int w) {
  for (int i = 0; i < w / 4; i++) { u32 v = word(slot, C, i); std::memcpy(p + i * 4, &v, 4); }
}
template <class L> static void fill(const L& l, u32 slots) {
  for (u32 s = 0; s < slots; s++) {
    fillRow<STATE>(l.template at<STATE>(s), s, L::SW);
    fillRow<ACTION>(l.template at<ACTION>(s), s, L::AW);
    fillRow<REWARD>(l.template at<REWARD>(s), s, 4);
  }
}

// ---- copying --------------------------------------------------------------------------------------------------------------

struct Out {
  u8 *state, *next, *action, *reward;
};
struct Run { u32 slot, n; };

template <int W, int STRIDE>
INLINE void copyRows(u8* d, const u8* s, u32 n) {
  if (STRIDE == W && size_t(n) * W >= 512) { std::memcpy(d, s, size_t(n) * W); return; }
#pragma GCC unroll 1
  for (u32 i = 0; i < n; i++) std::memcpy(d + size_t(i) * W, s + size_t(i) * STRIDE, W);
}

template <bool STREAM, int W>
INLINE void copyOne(u8* d, const u8* s) {
#if defined(__SSE2__)
  if constexpr (STREAM && W % 16 == 0) {
    for (int i = 0; i < W; i += 16) _mm_stream_si128(reinterpret_cast<__m128i*>(d + i), _mm_loadu_si128(reinterpret_cast<const __m128i*>(s + i)));
    return;
  }
#endif
  std::memcpy(d, s, W);
}

// The runs of one pick: len + 1 rows (the last is only a next state).
template <class L>
INLINE u32 follow(const Pool& p, u32 slot, u32 rows, Run* out) {
  u32 k = 0;
  for (;;) {
    u32 n = p.mask + 1 - (slot & p.mask), block = slot >> p.shift, start = slot;
    u32 nx = n < rows ? p.next[block] : NONE;
    if constexpr (L::acrossBlocks)
      while (n < rows && nx == block + 1) { n += p.mask + 1; block = nx; nx = n < rows ? p.next[block] : NONE; }
    if (n > rows) n = rows;
    out[k++] = {start, n};
    rows -= n;
    if (!rows) return k;
    slot = nx << p.shift;
  }
}
INLINE u32 follower(const Pool& p, u32 slot) {
  return (slot & p.mask) != p.mask ? slot + 1 : p.next[slot >> p.shift] << p.shift;
}

template <class L, Column C, bool NEXT>
INLINE void copyColumn(const L& l, u8* out, const Run* runs, u32 count, u32 len) {
  constexpr int W = C == STATE ? L::SW : C == ACTION ? L::AW : 4;
  constexpr int ST = L::template stride<C>(W);
  u32 row = 0;
  for (u32 k = 0; k < count; k++) {
    u32 skip = NEXT && row == 0 ? 1 : 0;
    u32 n = runs[k].n, stop = NEXT ? n : std::min(n, len - row);
    if (stop > skip) copyRows<W, ST>(out + size_t(row + skip - (NEXT ? 1 : 0)) * W, l.template at<C>(runs[k].slot) + size_t(skip) * ST, stop - skip);
    row += n;
    if (!NEXT && row >= len) break;
  }
}

// Two rows of the state and one of everything else: what a pick of length 1 reads.
template <class L>
INLINE void fetchTwo(const L& l, u32 slot, u32 next) {
  if (next == slot + 1) {
    if constexpr (L::dense) {
      fetchLines(l.template at<STATE>(slot), 2 * L::SW, 2 * MOST);
      __builtin_prefetch(l.template at<ACTION>(slot), 0, 3);
      __builtin_prefetch(l.template at<REWARD>(slot), 0, 3);
    } else {
      fetchLines(l.template at<STATE>(slot), L::template stride<STATE>(0) + L::SW, 2 * MOST);
    }
  } else {
    l.fetch(slot, 1);
    fetchLines(l.template at<STATE>(next), L::SW, MOST);
  }
}

// All columns of one pick in one pass over its rows, each brought in once and its state written twice.
template <class L>
INLINE void copyFused(const L& l, const Out& o, size_t first, const Run* runs, u32 count, u32 len) {
  u8 *st = o.state + first * L::SW, *nx = o.next + first * L::SW - L::SW, *ac = o.action + first * L::AW, *re = o.reward + first * 4;
  u32 row = 0;
  for (u32 k = 0; k < count; k++) {
    const u8 *s = l.template at<STATE>(runs[k].slot), *a = l.template at<ACTION>(runs[k].slot), *r = l.template at<REWARD>(runs[k].slot);
    constexpr int DS = L::template stride<STATE>(L::SW), DA = L::template stride<ACTION>(L::AW), DR = L::template stride<REWARD>(4);
    for (u32 i = 0; i < runs[k].n; i++, row++) {
      if (row) std::memcpy(nx + size_t(row) * L::SW, s + size_t(i) * DS, L::SW);
      if (row == len) return;
      std::memcpy(st + size_t(row) * L::SW, s + size_t(i) * DS, L::SW);
      std::memcpy(ac + size_t(row) * L::AW, a + size_t(i) * DA, L::AW);
      std::memcpy(re + size_t(row) * 4, r + size_t(i) * DR, 4);
    }
  }
}

enum Way { PLAIN, PLAINFUSED, PICK, COLUMN, ROLL, FUSED };
constexpr int CHUNK_MOST = 128;

template <class L, bool STREAM = false>
struct One {  // pick length 1: two slots a pick, widths all constant
  struct Job { u32 slot, next; };
  INLINE static void all(const L& l, const Job& j, const Out& o, u32 i) {
    copyOne<STREAM, L::SW>(o.state + size_t(i) * L::SW, l.template at<STATE>(j.slot));
    copyOne<STREAM, L::SW>(o.next + size_t(i) * L::SW, l.template at<STATE>(j.next));
    std::memcpy(o.action + size_t(i) * L::AW, l.template at<ACTION>(j.slot), L::AW);
    std::memcpy(o.reward + size_t(i) * 4, l.template at<REWARD>(j.slot), 4);
  }
  static void copy(const L& l, const Job* j, u32 first, u32 n, const Out& o, Way way) {
    if (way == PICK) { for (u32 i = 0; i < n; i++) all(l, j[i], o, first + i); return; }
    for (u32 i = 0; i < n; i++) copyOne<STREAM, L::SW>(o.state + size_t(first + i) * L::SW, l.template at<STATE>(j[i].slot));
    for (u32 i = 0; i < n; i++) copyOne<STREAM, L::SW>(o.next + size_t(first + i) * L::SW, l.template at<STATE>(j[i].next));
    for (u32 i = 0; i < n; i++) std::memcpy(o.action + size_t(first + i) * L::AW, l.template at<ACTION>(j[i].slot), L::AW);
    for (u32 i = 0; i < n; i++) std::memcpy(o.reward + size_t(first + i) * 4, l.template at<REWARD>(j[i].slot), 4);
  }
};

template <class L, bool STREAM = false>
static void gather(const L& l, const Pool& p, const u32* idx, u32 batch, u32 len, const Out& o, Way way, u32 chunk) {
  static Run runs[2][CHUNK_MOST][84];
  static u32 counts[2][CHUNK_MOST];
  static u32 slots[2][CHUNK_MOST];
  static typename One<L, STREAM>::Job jobs[2][CHUNK_MOST];
  auto pickOut = [&](u32 i, const Run* r, u32 c) __attribute__((always_inline)) {
    copyColumn<L, STATE, false>(l, o.state + size_t(i) * len * L::SW, r, c, len);
    copyColumn<L, STATE, true>(l, o.next + size_t(i) * len * L::SW, r, c, len);
    copyColumn<L, ACTION, false>(l, o.action + size_t(i) * len * L::AW, r, c, len);
    copyColumn<L, REWARD, false>(l, o.reward + size_t(i) * len * 4, r, c, len);
  };
  if (way == PLAIN || way == PLAINFUSED) {
    for (u32 i = 0; i < batch; i++) {
      u32 slot = p.table[idx[i]];
      if (len == 1) One<L, STREAM>::all(l, {slot, follower(p, slot)}, o, i);
      else {
        u32 k = follow<L>(p, slot, len + 1, runs[0][0]);
        if (way == PLAIN) pickOut(i, runs[0][0], k);
        else if constexpr (L::SW <= 1024) copyFused(l, o, size_t(i) * len, runs[0][0], k, len);
      }
    }
    return;
  }
  if (way == ROLL || way == FUSED) {  // the same four stages, `chunk` picks apart, one pick of each at a time
    constexpr u32 M = CHUNK_MOST - 1;
    const u32 d = chunk;
    for (u32 i = 0; i < batch + 3 * d; i++) {
      if (i < batch) __builtin_prefetch(p.table + idx[i], 0, 3);
      if (u32 j = i - d; j < batch) {
        u32 s = slots[0][j & M] = p.table[idx[j]];
        if (((s & p.mask) + len) > p.mask) __builtin_prefetch(p.next + (s >> p.shift), 0, 3);
      }
      if (u32 j = i - 2 * d; j < batch) {
        const u32 s = slots[0][j & M];
        if (len == 1) {
          jobs[0][j & M] = {s, follower(p, s)};
          fetchTwo(l, jobs[0][j & M].slot, jobs[0][j & M].next);
        } else {
          Run* r = runs[0][j & M];
          const u32 k = counts[0][j & M] = follow<L>(p, s, len + 1, r);
          for (u32 q = 0; q < k; q++) l.fetch(r[q].slot, r[q].n);
        }
      }
      if (u32 j = i - 3 * d; j < batch) {
        if (len == 1) One<L, STREAM>::all(l, jobs[0][j & M], o, j);
        else if (way == ROLL) pickOut(j, runs[0][j & M], counts[0][j & M]);
        else if constexpr (L::SW <= 1024) copyFused(l, o, size_t(j) * len, runs[0][j & M], counts[0][j & M], len);
      }
    }
    return;
  }
  const u32 chunks = (batch + chunk - 1) / chunk;
  auto span = [&](u32 c) { return std::min(chunk, batch - c * chunk); };
  for (u32 c = 0; c < chunks + 3; c++) {
    if (c < chunks) {  // 1: the table's entry
      const u32* q = idx + c * chunk;
      for (u32 i = 0, n = span(c); i < n; i++) __builtin_prefetch(p.table + q[i], 0, 3);
    }
    if (c >= 1 && c - 1 < chunks) {  // 2: the slot; the chain's entry
      const u32* q = idx + (c - 1) * chunk;
      u32* s = slots[(c - 1) & 1];
      for (u32 i = 0, n = span(c - 1); i < n; i++) {
        s[i] = p.table[q[i]];
        if (((s[i] & p.mask) + len) > p.mask) __builtin_prefetch(p.next + (s[i] >> p.shift), 0, 3);
      }
    }
    if (c >= 2 && c - 2 < chunks) {  // 3: along the chain; the rows
      const u32 *s = slots[(c - 2) & 1], h = (c - 2) & 1;
      if (len == 1)
        for (u32 i = 0, n = span(c - 2); i < n; i++) {
          jobs[h][i] = {s[i], follower(p, s[i])};
          fetchTwo(l, jobs[h][i].slot, jobs[h][i].next);
        }
      else
        for (u32 i = 0, n = span(c - 2); i < n; i++) {
          u32 k = counts[h][i] = follow<L>(p, s[i], len + 1, runs[h][i]);
          for (u32 j = 0; j < k; j++) l.fetch(runs[h][i][j].slot, runs[h][i][j].n);
        }
    }
    if (c >= 3) {  // 4: copy
      const u32 first = (c - 3) * chunk, n = span(c - 3), h = (c - 3) & 1;
      if (len == 1) One<L, STREAM>::copy(l, jobs[h], first, n, o, way);
      else if (way == PICK) for (u32 i = 0; i < n; i++) pickOut(first + i, runs[h][i], counts[h][i]);
      else {
        for (u32 i = 0; i < n; i++) copyColumn<L, STATE, false>(l, o.state + size_t(first + i) * len * L::SW, runs[h][i], counts[h][i], len);
        for (u32 i = 0; i < n; i++) copyColumn<L, STATE, true>(l, o.next + size_t(first + i) * len * L::SW, runs[h][i], counts[h][i], len);
        for (u32 i = 0; i < n; i++) copyColumn<L, ACTION, false>(l, o.action + size_t(first + i) * len * L::AW, runs[h][i], counts[h][i], len);
        for (u32 i = 0; i < n; i++) copyColumn<L, REWARD, false>(l, o.reward + size_t(first + i) * len * 4, runs[h][i], counts[h][i], len);
      }
    }
  }
#if defined(__SSE2__)
  if (STREAM) _mm_sfence();
#endif
}

// ---- one case: several variants, checked, then timed in turns -------------------------------------------------------------

using Gather = std::function<void(const Pool&, const u32*, u32, u32, const Out&, Way, u32)>;
struct Variant {
  std::string layout;
  Way way;
  u32 chunk;
  Gather run;
  double best = 1e30;
  const Pool* pool = nullptr;  // instead of the case's
  const char* pages = "huge";
};

template <class L, bool STREAM = false>
static Variant variant(const std::string& name, const std::shared_ptr<L>& l, Way way, u32 chunk) {
  return {name, way, chunk, [l](const Pool& p, const u32* i, u32 b, u32 n, const Out& o, Way w, u32 c) { gather<L, STREAM>(*l, p, i, b, n, o, w, c); }};
}

struct Case {
  const char* what;
  const char* shape;
  int sw, aw;
  u32 slots;
  bool torn;
  u32 len, batch;
};

static std::vector<u32>& indices() {
  static std::vector<u32> v(1u << 20);
  return v;
}
static Arena& outMemory(size_t bytes) {
  static std::unique_ptr<Arena> a;
  static size_t have = 0;
  if (bytes > have) { a.reset(); a = std::make_unique<Arena>(bytes, true); std::memset(a->base, 1, bytes); have = bytes; }
  return *a;
}

static void check(const Case& c, const Pool& p, const Variant& v, const u32* idx, const Out& o, u32 batch) {
  auto bad = [&](const char* col, u32 i, u32 t) { fprintf(stderr, "WRONG %s %s %s pick %u step %u\n", c.shape, v.layout.c_str(), col, i, t); exit(1); };
  auto same = [](const u8* d, u32 slot, int col, int w) {
    for (int i = 0; i < w / 4; i++) { u32 x; std::memcpy(&x, d + i * 4, 4); if (x != word(slot, col, i)) return false; }
    return true;
  };
  for (u32 i = 0; i < batch; i++) {
    u32 slot = p.table[idx[i]];
    for (u32 t = 0; t < c.len; t++) {
      const size_t row = size_t(i) * c.len + t;
      u32 nx = follower(p, slot);
      if (!same(o.state + row * c.sw, slot, STATE, c.sw)) bad("state", i, t);
      if (!same(o.next + row * c.sw, nx, STATE, c.sw)) bad("next", i, t);
      if (!same(o.action + row * c.aw, slot, ACTION, c.aw)) bad("action", i, t);
      if (!same(o.reward + row * 4, slot, REWARD, 4)) bad("reward", i, t);
      slot = nx;
    }
  }
}

static const char* wayName(Way w) { 
  static const char* const names[] = {"plain", "plainfused", "pick", "column", "roll", "fused"};
  return names[w];
}
static int ROUNDS = 5;
static double WORK = 24000;  // rows copied in one timed pass, at least one batch

static void measure(const Case& c, const Pool& pool, std::vector<Variant>& vs) {
  const size_t rows = size_t(c.batch) * c.len, w = rows * (2 * c.sw + c.aw + 4) + 4 * 4096;
  Arena& mem = outMemory(w);
  auto up = [](size_t x) { return (x + 4095) / 4096 * 4096; };
  Out o;
  o.state = mem.base; o.next = o.state + up(rows * c.sw); o.action = o.next + up(rows * c.sw); o.reward = o.action + up(rows * c.aw);
  auto& idx = indices();
  std::mt19937 g(11);
  for (auto& x : idx) x = u32((u64(g()) * pool.picks) >> 32);
  const u32 reps = std::max(1u, u32(WORK * (c.sw > 1000 ? 0.1 : 1) / double(rows)));
  size_t at = 0;
  auto take = [&]() { if (at + c.batch > idx.size()) at = g() % 1000; const u32* q = idx.data() + at; at += c.batch; return q; };
  for (auto& v : vs) {
    const Pool& p = v.pool ? *v.pool : pool;
    std::memset(mem.base, 0xee, std::min(w, size_t(1) << 26));
    const u32* q = take();
    v.run(p, q, c.batch, c.len, o, v.way, v.chunk);
    check(c, p, v, q, o, std::min(c.batch, 512u));
  }
  for (int r = 0; r < ROUNDS; r++)
    for (auto& v : vs) {
      const Pool& p = v.pool ? *v.pool : pool;
      for (int s = 0; s < 3; s++) {
        double t0 = now();
        for (u32 k = 0; k < reps; k++) v.run(p, take(), c.batch, c.len, o, v.way, v.chunk);
        double t = (now() - t0) / reps;
        if (s) v.best = std::min(v.best, t);
      }
    }
  fprintf(stderr, "%-9s %-8s N=2^%-2d B=%-2u %-6s len %-2u batch %-4u", c.what, c.shape, 31 - __builtin_clz(c.slots), pool.mask + 1, c.torn ? "torn" : "joined", c.len, c.batch);
  for (auto& v : vs) {
    fprintf(stderr, "  %s/%s%s%s %.1f", v.layout.c_str(), wayName(v.way), v.chunk ? std::to_string(v.chunk).c_str() : "", strcmp(v.pages, "huge") ? "/4K" : "", v.best);
    printf("{\"part\":\"%s\",\"shape\":\"%s\",\"slots\":%u,\"block\":%u,\"torn\":%s,\"len\":%u,\"batch\":%u,\"layout\":\"%s\",\"way\":\"%s\",\"chunk\":%u,\"pages\":\"%s\",\"us\":%.2f}\n", c.what,
           c.shape, c.slots, pool.mask + 1, c.torn ? "true" : "false", c.len, c.batch, v.layout.c_str(), wayName(v.way), v.chunk, v.pages, v.best);
  }
  fprintf(stderr, "\n");
  fflush(stdout);
}

template <class L> static std::shared_ptr<L> make(u32 slots, bool huge = true, int shift = 4) {
  auto l = std::make_shared<L>(slots, huge);
  l->shape(shift);
  fill(*l, slots);
  return l;
}

using Small = Sizes<16, 4>;    // 4 float32, int32 action, float32 reward: 24 bytes
using Middle = Sizes<60, 12>;  // 15 float32, 3 float32 action, float32 reward: 76 bytes
using Image = Sizes<7056, 4>;  // 84 x 84 uint8, int32 action, float32 reward

// ---- parts ----------------------------------------------------------------------------------------------------------------

static const u32 LENS[] = {1, 8, 80}, BATCHES[] = {32, 256, 5000};

template <class S, int PAD1, int PAD2>
static void grid(const char* name, std::vector<int> logs, std::vector<int> shifts, std::vector<bool> torns) {
  for (int lg : logs) {
    const u32 n = 1u << lg;
    auto a = make<Columns<S>>(n);
    auto b = make<Records<S, S::REC>>(n);
    auto b1 = make<Records<S, PAD1>>(n);
    auto b2 = make<Records<S, PAD2>>(n);
    auto d = make<Split<S>>(n);
    for (int sh : shifts) {
      auto c = make<Blocks<S>>(n, true, sh);
      for (bool torn : torns)
        for (u32 len : LENS) {
          Pool p(n, sh, torn, int(len), true);
          for (u32 batch : BATCHES) {
            std::vector<Variant> vs;
            auto add = [&](const char* layout, auto& l) {
              vs.push_back(variant(layout, l, PLAIN, 0));
              if (len > 1) vs.push_back(variant(layout, l, PLAINFUSED, 0));
              vs.push_back(variant(layout, l, COLUMN, 32));
              vs.push_back(variant(layout, l, ROLL, 8));
              if (len > 1) vs.push_back(variant(layout, l, FUSED, 8));
            };
            add("columns", a);
            add("records", b);
            add("blocks", c);
            vs.push_back(variant("split", d, ROLL, 8));
            if (len > 1) vs.push_back(variant("split", d, FUSED, 8));
            vs.push_back(variant("records" + std::to_string(PAD1), b1, FUSED, 8));
            vs.push_back(variant("records" + std::to_string(PAD2), b2, FUSED, 8));
            measure({"grid", name, S::SW, S::AW, n, torn, len, batch}, p, vs);
          }
        }
    }
  }
}

template <class S>
static void blockSizes(const char* name, std::vector<int> logs) {
  for (int lg : logs) {
    const u32 n = 1u << lg;
    auto a = make<Columns<S>>(n);
    auto b = make<Records<S, S::REC>>(n);
    std::vector<std::shared_ptr<Blocks<S>>> cs;
    for (int sh = 2; sh <= 6; sh++) cs.push_back(make<Blocks<S>>(n, true, sh));
    for (bool torn : {false, true})
      for (u32 len : LENS) {
        std::vector<std::unique_ptr<Pool>> ps;
        for (int sh = 2; sh <= 6; sh++) ps.push_back(std::make_unique<Pool>(n, sh, torn, int(len), true));
        for (u32 batch : {256u, 5000u}) {
          std::vector<Variant> vs;
          for (int sh = 2; sh <= 6; sh++) {
            auto add = [&](const char* l, Variant v) { v.pool = ps[sh - 2].get(); v.layout = std::string(l) + ".B" + std::to_string(1 << sh); vs.push_back(v); };
            add("columns", variant("", a, ROLL, 8));
            add("records", variant("", b, FUSED, 8));
            add("blocks", variant("", cs[sh - 2], FUSED, 8));
          }
          // The pool given here only bounds the indices: the one with the fewest picks.
          const Pool* least = ps[0].get();
          for (auto& q : ps) if (q->picks < least->picks) least = q.get();
          measure({"blocks", name, S::SW, S::AW, n, torn, len, batch}, *least, vs);
        }
      }
  }
}

template <class S>
static void ways(const char* name, std::vector<int> logs) {
  for (int lg : logs) {
    const u32 n = 1u << lg;
    auto a = make<Columns<S>>(n);
    auto b = make<Records<S, S::REC>>(n);
    for (u32 len : LENS) {
      Pool p(n, 5, true, int(len), true);
      for (u32 batch : {32u, 256u, 5000u}) {
        std::vector<Variant> vs;
        vs.push_back(variant("records", b, PLAIN, 0));
        for (u32 d : {4u, 8u, 32u, 64u}) { vs.push_back(variant("records", b, PICK, d)); vs.push_back(variant("records", b, COLUMN, d)); }
        for (u32 d : {1u, 2u, 4u, 8u, 16u, 32u}) vs.push_back(variant("columns", a, ROLL, d));
        for (u32 d : {1u, 2u, 4u, 8u, 16u, 32u}) vs.push_back(variant("records", b, ROLL, d));
        if (len > 1) for (u32 d : {1u, 2u, 4u, 8u, 16u, 32u}) vs.push_back(variant("records", b, FUSED, d));
        measure({"ways", name, S::SW, S::AW, n, true, len, batch}, p, vs);
      }
    }
  }
}

template <class S>
static void pages(const char* name, std::vector<int> logs) {
  for (int lg : logs) {
    const u32 n = 1u << lg;
    auto a = make<Columns<S>>(n), a4 = make<Columns<S>>(n, false);
    auto b = make<Records<S, S::REC>>(n), b4 = make<Records<S, S::REC>>(n, false);
    for (u32 len : LENS) {
      Pool p(n, 5, true, int(len), true), p4(n, 5, true, int(len), false);
      for (u32 batch : {256u, 5000u}) {
        std::vector<Variant> vs;
        auto add = [&](Variant v, bool small) { if (small) { v.pool = &p4; v.pages = "4K"; } vs.push_back(v); };
        for (Way w : {PLAIN, ROLL}) { add(variant("columns", a, w, w ? 8 : 0), false); add(variant("columns", a4, w, w ? 8 : 0), true); }
        for (Way w : {PLAIN, FUSED}) { add(variant("records", b, w, w ? 8 : 0), false); add(variant("records", b4, w, w ? 8 : 0), true); }
        measure({"pages", name, S::SW, S::AW, n, true, len, batch}, p, vs);
      }
    }
  }
}

// Up to which width should the state stay in the record? Pools of about half a gigabyte.
template <int SW>
static void width() {
  using S = Sizes<SW, 4>;
  const u32 n = 1u << (29 - (31 - __builtin_clz(u32(SW + 8))));
  auto a = make<Columns<S>>(n);
  auto b = make<Records<S, S::REC>>(n);
  auto d = make<Split<S>>(n);
  const std::string name = "state" + std::to_string(SW);
  for (bool torn : {false, true})
    for (u32 len : {1u, 8u}) {
      Pool p(n, 5, torn, int(len), true);
      for (u32 batch : {32u, 256u}) {
        std::vector<Variant> vs;
        for (Way w : {ROLL, FUSED}) {
          if (w == FUSED && (len == 1 || SW > 1024)) continue;
          vs.push_back(variant("columns", a, w, 8));
          vs.push_back(variant("records", b, w, 8));
          vs.push_back(variant("split", d, w, 8));
        }
        measure({"threshold", name.c_str(), SW, 4, n, torn, len, batch}, p, vs);
      }
    }
}

static void image() {
  const u32 n = 1u << 16;
  auto a = make<Columns<Image>>(n);
  auto b = make<Records<Image, Image::REC>>(n);
  auto d = make<Split<Image>>(n);
  for (bool torn : {false, true})
    for (u32 len : {1u, 8u}) {
      Pool p(n, 5, torn, int(len), true);
      for (u32 batch : {32u, 256u}) {
        std::vector<Variant> vs;
        vs.push_back(variant("columns", a, PLAIN, 0));
        vs.push_back(variant("records", b, PLAIN, 0));
        for (u32 d2 : {1u, 2u, 8u}) {
          vs.push_back(variant("columns", a, ROLL, d2));
          vs.push_back(variant("records", b, ROLL, d2));
          vs.push_back(variant("split", d, ROLL, d2));
        }
        measure({"image", "84x84", Image::SW, Image::AW, n, torn, len, batch}, p, vs);
      }
    }
}

// Appending: one writer; or 64 or 1024 actors in turn, each in its own block, the blocks torn.
template <class L>
static void append(const L& l, u32 slots, u32 shift, u32 actors, const std::vector<u32>& order, const u8* in, u32 many, u32& cursor, std::vector<u32>& at) {
  const u32 mask = (1u << shift) - 1, blocks = slots >> shift;
  for (u32 i = 0, who = 0; i < many; i++) {
    u32 slot = at[who];
    const u8* from = in + (i & 15) * L::REC;
    std::memcpy(l.template at<STATE>(slot), from, L::SW);
    std::memcpy(l.template at<ACTION>(slot), from + L::SW, L::AW);
    std::memcpy(l.template at<REWARD>(slot), from + L::SW + L::AW, 4);
    if ((slot & mask) == mask) {
      at[who] = order[cursor] << shift;
      if (++cursor == blocks) cursor = 0;
    } else {
      at[who] = slot + 1;
    }
    if (++who == actors) who = 0;
  }
}
template <class S>
static void writes(const char* name, std::vector<int> logs) {
  for (int lg : logs) {
    const u32 n = 1u << lg, shift = 5;
    auto a = make<Columns<S>>(n);
    auto b = make<Records<S, S::REC>>(n);
    auto c = make<Blocks<S>>(n, true, 5);
    std::vector<u8> in(16 * S::REC, 3);
    for (bool torn : {false, true})
      for (u32 actors : {1u, 64u, 1024u}) {
        std::vector<u32> order(n >> shift);
        std::iota(order.begin(), order.end(), 0u);
        if (torn) std::shuffle(order.begin(), order.end(), std::mt19937(3));
        double best[3] = {1e30, 1e30, 1e30};
        u32 cur[3];
        std::vector<u32> at[3];
        for (int k = 0; k < 3; k++) {
          cur[k] = actors % (n >> shift);
          at[k].resize(actors);
          for (u32 i = 0; i < actors; i++) at[k][i] = order[i % order.size()] << shift | (i & 31);
        }
        const u32 many = 1u << 17;
        for (int r = 0; r < 12; r++)
          for (int k = 0; k < 3; k++) {
            double t0 = now();
            if (k == 0) append(*a, n, shift, actors, order, in.data(), many, cur[k], at[k]);
            if (k == 1) append(*b, n, shift, actors, order, in.data(), many, cur[k], at[k]);
            if (k == 2) append(*c, n, shift, actors, order, in.data(), many, cur[k], at[k]);
            best[k] = std::min(best[k], (now() - t0) * 1000 / many);
          }
        fprintf(stderr, "write     %-8s N=2^%d B=32 %-6s actors %-4u  ns/record: columns %.1f  records %.1f  blocks %.1f\n", name, lg, torn ? "torn" : "joined", actors, best[0], best[1], best[2]);
        const char* names[] = {"columns", "records", "blocks"};
        for (int k = 0; k < 3; k++)
          printf("{\"part\":\"write\",\"shape\":\"%s\",\"slots\":%u,\"block\":32,\"torn\":%s,\"actors\":%u,\"layout\":\"%s\",\"ns\":%.2f}\n", name, n, torn ? "true" : "false", actors, names[k], best[k]);
      }
  }
}

// Stores that pass the caches by.
static void stream() {
  for (int lg : {16, 20, 23}) {
    const u32 n = 1u << lg;
    auto b = make<Records<Small, 24>>(n);
    Pool p(n, 4, true, 1, true);
    for (u32 batch : BATCHES) {
      std::vector<Variant> vs;
      vs.push_back(variant("records", b, ROLL, 8));
      vs.push_back(variant<Records<Small, 24>, true>("recordsNT", b, ROLL, 8));
      measure({"stream", "4f", 16, 4, n, true, 1, batch}, p, vs);
    }
  }
}

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "all";
  auto is = [&](const char* s) { return part == s || part == "all"; };
  if (is("grid")) {
    grid<Small, 32, 64>("4f", {12, 16, 20, 23}, {5}, {false, true});
    grid<Middle, 80, 128>("15f+3", {12, 16, 20, 23}, {5}, {false, true});
  }
  if (is("blocks")) { blockSizes<Small>("4f", {12, 16, 20, 23}); blockSizes<Middle>("15f+3", {12, 16, 20, 22}); }
  if (is("ways")) { ways<Small>("4f", {12, 16, 20, 23}); ways<Middle>("15f+3", {16, 20, 23}); }
  if (is("pages")) { pages<Small>("4f", {12, 16, 20, 23}); pages<Middle>("15f+3", {20, 23}); }
  if (is("threshold")) { width<16>(); width<32>(); width<64>(); width<96>(); width<128>(); width<192>(); width<256>(); width<512>(); width<1024>(); width<2048>(); width<4096>(); }
  if (is("image")) image();
  if (is("write")) { writes<Small>("4f", {16, 20, 23}); writes<Middle>("15f+3", {20, 23}); }
  if (is("stream")) stream();
}
