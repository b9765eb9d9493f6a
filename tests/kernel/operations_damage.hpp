// Damaged snapshots of a replay: changed bits, bytes and words, and sections cut short. Then sections and items in an order, and with
// numbers, that no reader of a file would pass. The result must be a status, or a sound replay that works.
//
// Each is loaded into a replay of its own, which is gone again; the replay whose snapshot it is stays as it was.
#pragma once

#include <cstring>
#include <vector>

#include "tests/kernel/operations_setup.hpp"
#include "tests/kernel/operations_shadow.hpp"

namespace exrp::test {

class DamagedSnapshots {
 public:
  DamagedSnapshots(const Setup& setup, Random& random, const Shadow& shadow) : setup_(setup), random_(random), shadow_(shadow) {}

  /// How many of them were loaded, and how many gave a status.
  long accepted = 0;
  long refused = 0;

  /// Damaged snapshots: a status, or a replay that is sound and can be used.
  Failure run(uint32_t replay) {
    Snapshot whole;
    EXRP_CARRY(takeSnapshot(replay, setup_.selectorCount(), &whole));
    for (uint32_t round = 0; round < 8; ++round) {
      Snapshot damaged = whole;
      for (uint32_t hits = 1 + random_.below(3); hits > 0; --hits) damage(&damaged);
      uint32_t subject = 0;
      EXRP_CARRY(setup_.make(&subject));
      const int32_t status = loadSnapshot(subject, damaged);
      const Failure failure = status == 0 ? useLoaded(replay, subject) : Failure{};
      EXRP_REQUIRE(exrp_replay_destroy(subject) == 0);
      if (failure) return failure;
      (status == 0 ? accepted : refused) += 1;
    }
    return callsOutOfOrder(replay, whole);
  }

 private:
  void damage(Snapshot* snapshot) {
    std::vector<uint8_t>& bytes = (*snapshot)[random_.below(static_cast<uint32_t>(snapshot->size()))];
    if (bytes.empty()) return;
    const uint32_t at = random_.below(static_cast<uint32_t>(bytes.size()));
    switch (random_.below(5)) {
      case 0: bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1u << random_.below(8))); break;
      case 1: bytes[at] = static_cast<uint8_t>(random_.below(256)); break;
      case 2: bytes.resize(at); break;
      case 3:
        for (uint32_t index = at; index < bytes.size() && index < at + 8; ++index) bytes[index] = 0xFF;
        break;
      default: {
        // A word of another place: values that can be, where they can't.
        const uint32_t from = random_.below(static_cast<uint32_t>(bytes.size()));
        for (uint32_t index = 0; index < 4 && at + index < bytes.size() && from + index < bytes.size(); ++index) {
          bytes[at + index] = bytes[from + index];
        }
        break;
      }
    }
  }

  /// `subject` is sound, and can be drawn from and recorded into. Its batches lie as those of `replay` do, which is made like it.
  Failure useLoaded(uint32_t replay, uint32_t subject) {
    int32_t broken = -1;
    EXRP_REQUIRE(exrp_replay_check(subject, &broken) == 0 && broken == 0);
    std::vector<uint8_t> row(static_cast<size_t>(shadow_.rowOffsets[EXRP_ROW_BYTES]));
    std::vector<uint8_t> bytes;
    std::vector<double> offsets;
    double handle = 0;
    for (uint32_t step = 0; step < 12; ++step) {
      for (uint32_t selector = 0; selector < setup_.selectorCount(); ++selector) {
        EXRP_CARRY(setup_.makeBatch(replay, setup_.selectors[selector].table, 9, &bytes, &offsets));
        const int32_t status = exrp_batch_get(subject, selector, 0, 9, 9, 1, bytes.data(), offsets[EXRP_BATCH_BYTES]);
        EXRP_REQUIRE(status == 0 || status == EXRP_STATUS_EMPTY);
      }
      int32_t status = step == 0 ? exrp_episode_create(subject, &handle) : 0;
      memcpy(row.data(), &handle, 8);
      if (status == 0) status = exrp_record(subject, row.data(), static_cast<uint32_t>(row.size()), 0);
      EXRP_REQUIRE(status == 0 || (status == EXRP_STATUS_FULL && setup_.external()));
      if (status != 0) break;
      memcpy(&handle, row.data(), 8);
    }
    EXRP_REQUIRE(exrp_replay_check(subject, &broken) == 0 && broken == 0);
    return {};
  }

  /// Sections and items in an order, and with numbers, that no reader of a file would pass.
  Failure callsOutOfOrder(uint32_t replay, const Snapshot& whole) {
    uint32_t subject = 0;
    EXRP_CARRY(setup_.make(&subject));
    const double firsts[] = {0, 1, -1, 0.5, 5, __builtin_nan(""), __builtin_inf(), 1e18, 4294967296.0};
    for (uint32_t call = 0; call < 24; ++call) {
      const uint32_t section = random_.below(3) == 0 ? random_.below(40) : call % static_cast<uint32_t>(whole.size());
      const uint32_t count = random_.below(4) == 0 ? 0xFFFFFFFFu : random_.below(4);
      std::vector<uint8_t> items(512);
      const size_t from = section < whole.size() ? whole[section].size() : 0;
      if (from > 0) memcpy(items.data(), whole[section].data(), from < 512 ? from : 512);
      const double first = random_.below(2) == 0 ? 0 : firsts[random_.below(9)];
      if (random_.below(4) == 0) exrp_section_read(subject, section, first, count, items.data(), 512);
      else exrp_section_write(subject, section, first, count, items.data(), 512);
      double info[2] = {};
      exrp_section_info(subject, section, info, 2);
    }
    if (exrp_snapshot_end(subject) == 0) EXRP_CARRY(useLoaded(replay, subject));
    EXRP_REQUIRE(exrp_replay_destroy(subject) == 0);
    return {};
  }

  const Setup& setup_;
  Random& random_;
  const Shadow& shadow_;
};

}  // namespace exrp::test
