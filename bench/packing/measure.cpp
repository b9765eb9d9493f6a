// measure.cpp: packed rows of real frames compared with plain ones: how small, how long to pack, how long for a batch from a large pool.
//
//   g++ -std=c++20 -O3 -I. -o measure bench/packing/measure.cpp kernel/packing/*.cpp -ldl && ./measure [--pool=BYTES] [--games=N] [--frame=BYTES] [--stack=5] FILE...
//
// A FILE has frames of 84 x 84 bytes or of --frame, as frames.py writes them: those of N games (12), as many of each. The pool has all blocks of 16 frames,
// and copies of them at places of their own until its frames have 1 GiB. A batch is 256 stacks of 4 frames and the frame after each: 5 frames,
// of which some begin near a block's end and need two blocks. --stack=1 takes single frames. The ways take 60 turns in one process, and the table has each one's least time.
// All ask for the next stack's memory ahead where that helps them.
//
// LZ4 and zstd come from the system's libraries, one call a frame, as RLlib and TorchRL do; they are left out where there are none.
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/probe/_times.hpp"
#include "kernel/base/prefetch.hpp"
#include "kernel/base/random.hpp"
#include "kernel/packing/packed_rows.hpp"

namespace {

using exrp::PackedKey;
using exrp::PackedRows;
using Bytes = std::vector<uint8_t>;

size_t frameBytes = 84 * 84;
constexpr uint32_t blockRows = 16;
uint32_t stackRows = 5;
constexpr uint32_t batch = 256;
constexpr uint32_t turns = 60;

[[noreturn]] void stop(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  std::exit(1);
}

/// Memory in large pages where the system has some, as the engine's.
class Pool {
 public:
  explicit Pool(size_t bytes) {
    constexpr size_t hugeBytes = size_t{2} << 20;
    auto* mapped = static_cast<uint8_t*>(mmap(nullptr, bytes + hugeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (mapped == MAP_FAILED) stop("There is not enough memory for the pool.");
    data_ = mapped + (hugeBytes - reinterpret_cast<uintptr_t>(mapped) % hugeBytes) % hugeBytes;
    madvise(data_, bytes, MADV_HUGEPAGE);
  }
  uint8_t* add(const uint8_t* from, size_t bytes) {
    uint8_t* const to = data_ + used_;
    memcpy(to, from, bytes);
    // As the kernel's heap of blocks: whole units of 16 bytes.
    used_ += (bytes + 15) / 16 * 16;
    return to;
  }

 private:
  uint8_t* data_;
  size_t used_ = 0;
};

/// One way to keep frames.
struct Way {
  const char* name;
  size_t packedBytes = 0;
  double packUs = 0;  // a frame
  std::vector<double> batchUs = {};
};

struct Pick {
  uint32_t block;
  uint32_t row;
};

/// A stack that goes over a block's end goes on in the next block.
template <typename Run>
void eachPart(const Pick& pick, Run run) {
  const uint32_t here = std::min(stackRows, blockRows - pick.row);
  run(pick.block, pick.row, here, 0u);
  if (here < stackRows) run(pick.block + 1, 0u, stackRows - here, here);
}

struct Library {
  int (*encode)(const char*, char*, int, int) = nullptr;
  int (*decode)(const char*, char*, int, int) = nullptr;
};

Library lz4Library() {
  void* const file = dlopen("liblz4.so.1", RTLD_NOW);
  if (file == nullptr) return {};
  return {reinterpret_cast<int (*)(const char*, char*, int, int)>(dlsym(file, "LZ4_compress_default")),
          reinterpret_cast<int (*)(const char*, char*, int, int)>(dlsym(file, "LZ4_decompress_safe"))};
}

struct Zstd {
  void* (*makeEncoder)() = nullptr;
  void* (*makeDecoder)() = nullptr;
  size_t (*encode)(void*, void*, size_t, const void*, size_t, int) = nullptr;
  size_t (*decode)(void*, void*, size_t, const void*, size_t) = nullptr;
};

Zstd zstdLibrary() {
  void* const file = dlopen("libzstd.so.1", RTLD_NOW);
  if (file == nullptr) return {};
  Zstd zstd;
  zstd.makeEncoder = reinterpret_cast<decltype(zstd.makeEncoder)>(dlsym(file, "ZSTD_createCCtx"));
  zstd.makeDecoder = reinterpret_cast<decltype(zstd.makeDecoder)>(dlsym(file, "ZSTD_createDCtx"));
  zstd.encode = reinterpret_cast<decltype(zstd.encode)>(dlsym(file, "ZSTD_compressCCtx"));
  zstd.decode = reinterpret_cast<decltype(zstd.decode)>(dlsym(file, "ZSTD_decompressDCtx"));
  return zstd;
}

/// A frame that was encoded alone.
struct Piece {
  const uint8_t* data;
  size_t bytes;
};

void measure(const char* file, size_t poolBytes, uint32_t games) {
  const size_t blockBytes = blockRows * frameBytes;
  Bytes frames;
  {
    std::FILE* const in = std::fopen(file, "rb");
    if (in == nullptr) stop("A file of frames cannot be read.");
    std::fseek(in, 0, SEEK_END);
    const auto bytes = static_cast<size_t>(std::ftell(in));
    std::rewind(in);
    Bytes all(bytes);
    if (std::fread(all.data(), 1, bytes, in) != bytes) stop("A file of frames cannot be read.");
    std::fclose(in);
    // Whole blocks of each game.
    const size_t gameBytes = bytes / games / frameBytes * frameBytes;
    for (uint32_t game = 0; game < games; ++game) {
      const auto begin = all.begin() + static_cast<ptrdiff_t>(game * gameBytes);
      frames.insert(frames.end(), begin, begin + static_cast<ptrdiff_t>(gameBytes / blockBytes * blockBytes));
    }
  }
  const size_t blocks = frames.size() / blockBytes;
  if (blocks == 0) stop("A file has fewer than 16 frames a game.");
  const size_t copies = (poolBytes + frames.size() - 1) / frames.size();
  const size_t plainBytes = copies * frames.size();
  std::printf("\n%s: %zu frames, in a pool of %zu copies, %.2f GB\n", file, blocks * blockRows, copies, static_cast<double>(plainBytes) / 1e9);

  enum { plain, fast, small, lz4, zstd, wayCount };
  Way ways[wayCount] = {{"plain"}, {"patches on a plain key"}, {"patches on an LZ4 key"}, {"LZ4 a frame"}, {"zstd a frame, level 1"}};
  Pool pools[wayCount] = {Pool(plainBytes + 64), Pool(plainBytes + 64), Pool(plainBytes + 64), Pool(plainBytes + 64), Pool(plainBytes + 64)};
  const Library library = lz4Library();
  const Zstd zstdWith = zstdLibrary();
  void* const encoder = zstdWith.encode == nullptr ? nullptr : zstdWith.makeEncoder();
  void* const decoder = zstdWith.decode == nullptr ? nullptr : zstdWith.makeDecoder();

  // Each block's least time of three.
  const auto leastOf = [](auto work) {
    double least = 1e30;
    for (int k = 0; k < 3; ++k) {
      const double begin = probe::nowUs();
      work();
      least = std::min(least, probe::nowUs() - begin);
    }
    return least;
  };

  std::vector<size_t> gameBytes[2] = {std::vector<size_t>(games), std::vector<size_t>(games)};
  std::vector<PackedRows> packed[2];
  std::vector<Piece> pieces[2];
  {
    Bytes out(exrp::packedBytesMax(frameBytes, blockRows) + 4 * frameBytes);
    std::vector<Bytes> made[2];
    std::vector<Bytes> alone[2];
    for (size_t block = 0; block < blocks; ++block) {
      const uint8_t* const from = frames.data() + block * blockBytes;
      for (int form = 0; form < 2; ++form) {
        Way& way = ways[fast + form];
        size_t bytes = 0;
        way.packUs += leastOf([&] { bytes = exrp::packRows(from, frameBytes, blockRows, form == 0 ? PackedKey::plain : PackedKey::lz4, out.data()); });
        made[form].push_back(bytes == 0 ? Bytes(from, from + blockBytes) : Bytes(out.begin(), out.begin() + static_cast<ptrdiff_t>(bytes)));
        way.packedBytes += made[form].back().size();
        gameBytes[form][block * games / blocks] += made[form].back().size();
      }
      for (uint32_t row = 0; row < blockRows; ++row) {
        const auto* const frame = from + row * frameBytes;
        for (int kind = 0; kind < 2; ++kind) {
          if (kind == 0 ? library.encode == nullptr : encoder == nullptr) continue;
          Way& way = ways[lz4 + kind];
          size_t bytes = 0;
          way.packUs += leastOf([&] {
            bytes = kind == 0 ? static_cast<size_t>(library.encode(reinterpret_cast<const char*>(frame), reinterpret_cast<char*>(out.data()),
                                                                   static_cast<int>(frameBytes), static_cast<int>(out.size())))
                              : zstdWith.encode(encoder, out.data(), out.size(), frame, frameBytes, 1);
          });
          alone[kind].emplace_back(out.begin(), out.begin() + static_cast<ptrdiff_t>(bytes));
          way.packedBytes += bytes;
        }
      }
    }
    for (size_t copy = 0; copy < copies; ++copy) {
      pools[plain].add(frames.data(), frames.size());
      for (int form = 0; form < 2; ++form) {
        for (const Bytes& bytes : made[form]) packed[form].push_back({pools[fast + form].add(bytes.data(), bytes.size()), bytes.size(), frameBytes, blockRows});
      }
      for (int kind = 0; kind < 2; ++kind) {
        for (const Bytes& bytes : alone[kind]) pieces[kind].push_back({pools[lz4 + kind].add(bytes.data(), bytes.size()), bytes.size()});
      }
    }
  }
  ways[plain].packedBytes = frames.size();
  const uint8_t* const plainFrames = pools[plain].add(nullptr, 0) - plainBytes;

  Bytes out(size_t{batch} * stackRows * frameBytes + 64);
  std::vector<Pick> picks(batch + 2);
  const auto place = [&](uint32_t stack, uint32_t row) { return out.data() + (size_t{stack} * stackRows + row) * frameBytes; };
  const auto copyPlain = [&] {
    const auto ask = [&](const Pick& pick) {
      const uint8_t* from = plainFrames + pick.block * blockBytes + pick.row * frameBytes;
      for (size_t at = 0; at < stackRows * frameBytes; at += 4096) exrp::prefetchLineFar(from + at);
    };
    for (uint32_t k = 0; k < batch; ++k) {
      ask(picks[k + 1]);
      memcpy(place(k, 0), plainFrames + picks[k].block * blockBytes + picks[k].row * frameBytes, stackRows * frameBytes);
    }
  };
  const auto unpack = [&](int form) {
    for (uint32_t k = 0; k < batch; ++k) {
      eachPart(picks[k + 2], [&](uint32_t block, uint32_t row, uint32_t count, uint32_t) { exrp::prefetchPackedHead(packed[form][block]); (void)row; (void)count; });
      eachPart(picks[k + 1], [&](uint32_t block, uint32_t row, uint32_t count, uint32_t) { exrp::prefetchPacked(packed[form][block], row, count); });
      eachPart(picks[k], [&](uint32_t block, uint32_t row, uint32_t count, uint32_t to) {
        if (!exrp::unpackRows(packed[form][block], row, count, place(k, to), frameBytes)) stop("Packed rows were refused.");
      });
    }
  };
  const auto decode = [&](int kind) {
    for (uint32_t k = 0; k < batch; ++k) {
      const size_t next = size_t{picks[k + 1].block} * blockRows + picks[k + 1].row;
      for (uint32_t row = 0; row < stackRows; ++row) exrp::prefetchSpan<exrp::prefetchLineFar>(pieces[kind][next + row].data, pieces[kind][next + row].bytes);
      for (uint32_t row = 0; row < stackRows; ++row) {
        const Piece& piece = pieces[kind][size_t{picks[k].block} * blockRows + picks[k].row + row];
        if (kind == 0) {
          (void)library.decode(reinterpret_cast<const char*>(piece.data), reinterpret_cast<char*>(place(k, row)), static_cast<int>(piece.bytes), static_cast<int>(frameBytes));
        } else {
          (void)zstdWith.decode(decoder, place(k, row), frameBytes, piece.data, piece.bytes);
        }
      }
    }
  };
  exrp::Random random(1, 0);
  for (uint32_t turn = 0; turn < turns; ++turn) {
    for (Pick& pick : picks) {
      // Not over the end of the pool, nor of a game: there the frame after is of another game, which costs no more.
      const uint32_t record = random.below(static_cast<uint32_t>(blocks * copies * blockRows - stackRows));
      pick = {record / blockRows, record % blockRows};
    }
    Bytes expected;
    for (int way = 0; way < wayCount; ++way) {
      if (way == lz4 && library.decode == nullptr) continue;
      if (way == zstd && decoder == nullptr) continue;
      const double begin = probe::nowUs();
      if (way == plain) copyPlain();
      else if (way <= small) unpack(way - fast);
      else decode(way - lz4);
      ways[way].batchUs.push_back(probe::nowUs() - begin);
      if (turn > 0) continue;
      if (way == plain) expected = out;
      else if (expected != out) stop("A way gives other bytes.");
    }
  }
  std::printf("%-24s %8s %14s %14s %10s\n", "", "smaller", "pack, us/frame", "batch, us (median)", "x plain");
  const double plainUs = probe::summary(ways[plain].batchUs).least;
  for (const Way& way : ways) {
    if (way.batchUs.empty()) continue;
    const probe::Times times = probe::summary(way.batchUs);
    std::printf("%-24s %7.2fx %14.2f %6.0f (%5.0f) %9.2fx\n", way.name, static_cast<double>(frames.size()) / static_cast<double>(way.packedBytes),
                way.packUs / static_cast<double>(blocks * blockRows), times.least, times.median, times.least / plainUs);
  }
  std::printf("each game, plain key / LZ4 key:");
  for (uint32_t game = 0; game < games; ++game) {
    const auto plainGame = static_cast<double>(frames.size()) / games;
    std::printf("  %.1f / %.1f", plainGame / static_cast<double>(gameBytes[0][game]), plainGame / static_cast<double>(gameBytes[1][game]));
  }
  std::printf("\n");
}

}  // namespace

int main(int count, char** words) {
  size_t poolBytes = size_t{1} << 30;
  uint32_t games = 12;
  for (int k = 1; k < count; ++k) {
    const std::string word = words[k];
    if (word.rfind("--pool=", 0) == 0) poolBytes = std::strtoull(word.c_str() + 7, nullptr, 10);
    else if (word.rfind("--frame=", 0) == 0) frameBytes = std::strtoull(word.c_str() + 8, nullptr, 10);
    else if (word.rfind("--stack=", 0) == 0) stackRows = static_cast<uint32_t>(std::strtoul(word.c_str() + 8, nullptr, 10));
    else if (word.rfind("--games=", 0) == 0) games = static_cast<uint32_t>(std::strtoul(word.c_str() + 8, nullptr, 10));
    else measure(words[k], poolBytes, games);
  }
}
