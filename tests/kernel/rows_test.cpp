// rows_get, rows_set and episode_counts: every row of every episode, one at a time and in runs, must equal the recorded row, or the one that it was
// changed to. Rows that are not stored are refused, or skipped where they may be gone, and nothing is written.
#include <map>
#include <tuple>

#include "kernel/base/memory.hpp"
#include "kernel/base/random.hpp"
#include "tests/kernel/test_replay.hpp"

using namespace exrp::test;

namespace {

struct Recorded {
  double handle = 0;
  std::vector<float> values;  // of each row; the final state's at the end
  uint32_t first = 0;         // the rows before this one were trimmed
  uint32_t state = EXRP_EPISODE_OPEN;
  uint32_t count() const { return static_cast<uint32_t>(values.size()) - (state == EXRP_EPISODE_OPEN ? 0 : 1); }
};

struct Setup {
  uint32_t blockLength;
  uint32_t stateCount;  // floats; above 32 the state stands alone
};

/// A replay with a state, an action of 2 bytes, a reward and an extra of 3 bytes. Each value identifies its row.
class Subject : public TestReplay {
 public:
  Subject(const Setup& setup, uint64_t seed)
      : TestReplay({.capacity = 120,
                    .segmentLength = 50,
                    .blockLength = double(setup.blockLength),
                    .columns = {4, setup.stateCount, 1, 2, 1, 1, 4, 1, 1, 1, 3, 1}}),
        stateCount_(setup.stateCount),
        random_(seed, 0) {
    for (uint32_t episode = 0; episode < 12; ++episode) recordEpisode(episode);
  }

  void checkAll() {
    std::vector<double> handles;
    for (const Recorded& episode : episodes_) handles.push_back(episode.handle);
    std::vector<uint32_t> counts(handles.size());
    std::vector<uint32_t> firsts(handles.size(), 7);
    std::vector<uint32_t> states(handles.size());
    CHECK_EQUAL(exrp_episode_counts(id, handles.data(), static_cast<uint32_t>(handles.size()), counts.data(), firsts.data(), states.data()), 0);
    uint32_t evicted = 0;
    uint32_t trimmed = 0;
    for (size_t k = 0; k < handles.size(); ++k) {
      if (states[k] == EXRP_EPISODE_EVICTED) {
        CHECK_EQUAL(counts[k], 0u);
        ++evicted;
        continue;
      }
      CHECK_EQUAL(counts[k] + firsts[k], episodes_[k].count());
      CHECK(firsts[k] == 0 || states[k] == EXRP_EPISODE_OPEN);
      episodes_[k].first = firsts[k];
      trimmed += firsts[k] > 0 ? 1 : 0;
      CHECK_EQUAL(states[k], episodes_[k].state);
      checkEpisode(episodes_[k]);
    }
    CHECK(evicted > 0);
    CHECK(trimmed > 0);
    checkScattered(states);
    checkRefusals(states);
    for (uint32_t round = 0; round < 20; ++round) changeSome(states);
    for (size_t k = 0; k < handles.size(); ++k) {
      if (states[k] != EXRP_EPISODE_EVICTED) checkEpisode(episodes_[k]);
    }
    checkRefusedChanges();
    CHECK_EQUAL(broken(id), 0);
  }

 private:
  void recordEpisode(uint32_t nth) {
    Recorded episode;
    episode.handle = begin();
    const uint32_t count = 1 + random_.below(40);
    for (uint32_t step = 0; step < count; ++step) {
      const auto value = static_cast<float>(1000 * nth + step);
      fill(nextRow.part(EXRP_ROW_COLUMN), value);
      const auto action = static_cast<int16_t>(value);
      memcpy(nextRow.part(EXRP_ROW_COLUMN + 1), &action, 2);
      memcpy(nextRow.part(EXRP_ROW_COLUMN + 2), &value, 4);
      memset(nextRow.part(EXRP_ROW_COLUMN + 3), static_cast<int>(step), 3);
      uint32_t flags = 0;
      if (step + 1 == count && nth % 3 != 2) {
        flags = nth % 3 == 0 ? EXRP_RECORD_ENDS : EXRP_RECORD_ENDS | EXRP_RECORD_TRUNCATED;
        fill(nextRow.part(EXRP_ROW_FINAL_STATE), value + 1);
        episode.state = nth % 3 == 0 ? EXRP_EPISODE_TERMINATED : EXRP_EPISODE_TRUNCATED;
      }
      episode.handle = record(episode.handle, flags);
      episode.values.push_back(value);
      if (flags != 0) episode.values.push_back(value + 1);
    }
    episodes_.push_back(episode);
  }

  void fill(uint8_t* state, float value) const {
    for (uint32_t item = 0; item < stateCount_; ++item) {
      const float own = value + static_cast<float>(item) / 1024;
      memcpy(state + size_t{4} * item, &own, 4);
    }
  }

  uint32_t rowsOf(const Recorded& episode, uint32_t column) const {
    return column == 0 ? static_cast<uint32_t>(episode.values.size()) : episode.count();
  }
  size_t bytesOf(uint32_t column) const {
    const size_t bytes[] = {size_t{4} * stateCount_, 2, 4, 3};
    return bytes[column];
  }

  std::vector<uint8_t> expected(const Recorded& episode, uint32_t column, uint32_t position) const {
    std::vector<uint8_t> row(bytesOf(column));
    if (const auto found = changed_.find({episode.handle, column, position}); found != changed_.end()) return found->second;
    const float value = episode.values[position];
    const auto action = static_cast<int16_t>(value);
    if (column == 0) fill(row.data(), value);
    if (column == 1) memcpy(row.data(), &action, 2);
    if (column == 2) memcpy(row.data(), &value, 4);
    if (column == 3) memset(row.data(), static_cast<int>(position), 3);
    return row;
  }

  /// Each run of each length from each position, in a buffer of exactly its size.
  void checkEpisode(const Recorded& episode) {
    for (uint32_t column = 0; column < 4; ++column) {
      const size_t bytes = bytesOf(column);
      const uint32_t rowCount = rowsOf(episode, column);
      for (auto first = static_cast<int32_t>(episode.first); first < static_cast<int32_t>(rowCount); ++first) {
        const uint32_t run = 1 + random_.below(rowCount - static_cast<uint32_t>(first));
        std::vector<uint8_t> rows(run * bytes);
        CHECK_EQUAL(exrp_rows_get(id, column, &episode.handle, &first, 1, run, rows.data(), static_cast<double>(rows.size())), 0);
        for (uint32_t row = 0; row < run; ++row) {
          const std::vector<uint8_t> due = expected(episode, column, static_cast<uint32_t>(first) + row);
          CHECK(memcmp(rows.data() + row * bytes, due.data(), bytes) == 0);
        }
      }
    }
  }

  /// Many pairs in one call, more than go in one piece.
  void checkScattered(const std::vector<uint32_t>& states) {
    for (uint32_t column = 0; column < 4; ++column) {
      const size_t bytes = bytesOf(column);
      std::vector<double> handles;
      std::vector<int32_t> positions;
      std::vector<uint8_t> due;
      while (handles.size() < 300) {
        const uint32_t nth = random_.below(static_cast<uint32_t>(episodes_.size()));
        const uint32_t first = episodes_[nth].first;
        if (states[nth] == EXRP_EPISODE_EVICTED || rowsOf(episodes_[nth], column) < first + 2) continue;
        const uint32_t position = first + random_.below(rowsOf(episodes_[nth], column) - first - 1);
        handles.push_back(episodes_[nth].handle);
        positions.push_back(static_cast<int32_t>(position));
        for (uint32_t row = 0; row < 2; ++row) {
          const std::vector<uint8_t> one = expected(episodes_[nth], column, position + row);
          due.insert(due.end(), one.begin(), one.end());
        }
      }
      std::vector<uint8_t> rows(due.size());
      CHECK_EQUAL(exrp_rows_get(id, column, handles.data(), positions.data(), 300, 2, rows.data(), static_cast<double>(600 * bytes)), 0);
      CHECK(rows == due);
    }
  }

  /// Changes up to 90 records of one column, also such that are gone.
  void changeSome(const std::vector<uint32_t>& states) {
    const uint32_t column = random_.below(4);
    const size_t bytes = bytesOf(column);
    std::vector<double> handles;
    std::vector<int32_t> positions;
    std::vector<uint8_t> rows;
    uint32_t there = 0;
    for (uint32_t left = random_.below(90); left > 0; --left) {
      const uint32_t nth = random_.below(static_cast<uint32_t>(episodes_.size()));
      const Recorded& episode = episodes_[nth];
      const bool isGone = states[nth] == EXRP_EPISODE_EVICTED;
      const uint32_t position = random_.below(isGone ? 60 : episode.count());
      handles.push_back(episode.handle);
      positions.push_back(static_cast<int32_t>(position));
      std::vector<uint8_t> row(bytes);
      for (uint8_t& byte : row) byte = static_cast<uint8_t>(random_.below(256));
      rows.insert(rows.end(), row.begin(), row.end());
      if (isGone || position < episode.first) continue;
      changed_[{episode.handle, column, position}] = row;
      ++there;
    }
    uint32_t updated = 7;
    CHECK_EQUAL(exrp_rows_set(id, column, handles.data(), positions.data(), static_cast<uint32_t>(handles.size()), rows.data(),
                              static_cast<double>(rows.size()), &updated),
                0);
    CHECK_EQUAL(updated, there);
  }

  /// The last pair is wrong, and none is changed.
  void checkRefusedChanges() {
    const Recorded& last = episodes_.back();
    const std::vector<uint8_t> rows(2 * bytesOf(0), 0x5a);
    const auto set = [&](uint32_t column, double handle, int32_t position, double bytes = -1) {
      const double handles[2] = {last.handle, handle};
      const int32_t positions[2] = {static_cast<int32_t>(last.first), position};
      uint32_t updated = 7;
      const int32_t status =
          exrp_rows_set(id, column, handles, positions, 2, rows.data(), bytes < 0 ? static_cast<double>(rows.size()) : bytes, &updated);
      CHECK(updated == 7);
      return status;
    };
    CHECK_EQUAL(set(0, last.handle, static_cast<int32_t>(last.count())), EXRP_STATUS_RECORD_UNKNOWN);
    CHECK_EQUAL(set(0, episodes_[9].handle, static_cast<int32_t>(episodes_[9].count())), EXRP_STATUS_RECORD_UNKNOWN);  // the final state
    CHECK_EQUAL(set(0, last.handle, -1), EXRP_STATUS_RECORD_UNKNOWN);
    CHECK_EQUAL(set(0, 12, 0), EXRP_STATUS_EPISODE_UNKNOWN);
    CHECK_EQUAL(set(4, last.handle, 0), EXRP_STATUS_ARGUMENT);
    CHECK_EQUAL(set(0, last.handle, 0, static_cast<double>(rows.size()) - 1), EXRP_STATUS_BUFFER_SIZE);
    checkEpisode(last);
  }

  void checkRefusals(const std::vector<uint32_t>& states) {
    std::vector<uint8_t> rows(size_t{8} * stateCount_ * 4, 0xa5);
    const std::vector<uint8_t> untouched = rows;
    const Recorded& last = episodes_.back();  // open: nth 11
    const auto get = [&](uint32_t column, double handle, int32_t position, uint32_t run, double bytes = -1) {
      const double handles[2] = {last.handle, handle};
      const int32_t positions[2] = {static_cast<int32_t>(last.first), position};
      const int32_t status = exrp_rows_get(id, column, handles, positions, 2, run, rows.data(),
                                           bytes < 0 ? static_cast<double>(rows.size()) : bytes);
      CHECK(status != 0);
      CHECK(rows == untouched);
      return status;
    };
    double detail[4] = {};
    uint32_t gone = 0;
    while (states[gone] != EXRP_EPISODE_EVICTED) ++gone;
    CHECK_EQUAL(get(0, episodes_[gone].handle, 0, 1), EXRP_STATUS_RECORD_UNKNOWN);
    CHECK_EQUAL(exrp_error_detail(detail, 4), 0);
    CHECK_EQUAL(detail[0], 1.0);
    CHECK_EQUAL(detail[1], episodes_[gone].handle);
    CHECK_EQUAL(detail[3], 0.0);
    for (size_t nth = 0; nth < episodes_.size(); ++nth) {
      if (states[nth] == EXRP_EPISODE_EVICTED) continue;
      const Recorded& episode = episodes_[nth];
      for (uint32_t column = 0; column < 4; ++column) {
        const auto past = static_cast<int32_t>(rowsOf(episode, column));
        CHECK_EQUAL(get(column, episode.handle, past, 1), EXRP_STATUS_RECORD_UNKNOWN);
        CHECK_EQUAL(exrp_error_detail(detail, 4), 0);
        CHECK_EQUAL(detail[2], static_cast<double>(past));
        CHECK_EQUAL(detail[3], static_cast<double>(past));
        CHECK_EQUAL(get(column, episode.handle, past - 1, 2), EXRP_STATUS_RECORD_UNKNOWN);
        CHECK_EQUAL(get(column, episode.handle, -1, 1), EXRP_STATUS_RECORD_UNKNOWN);
        if (episode.first > 0) {
          const auto before = static_cast<int32_t>(episode.first) - 1;
          CHECK_EQUAL(get(column, episode.handle, before, 1), EXRP_STATUS_RECORD_UNKNOWN);
          CHECK_EQUAL(exrp_error_detail(detail, 4), 0);
          CHECK_EQUAL(detail[2], static_cast<double>(before));
          CHECK_EQUAL(detail[3], -static_cast<double>(episode.first));
          CHECK_EQUAL(get(column, episode.handle, 0, 1), EXRP_STATUS_RECORD_UNKNOWN);
        }
        CHECK_EQUAL(get(column, episode.handle, INT32_MAX, 1), EXRP_STATUS_RECORD_UNKNOWN);
        CHECK_EQUAL(get(column, episode.handle, INT32_MIN, 1), EXRP_STATUS_RECORD_UNKNOWN);
      }
    }
    CHECK_EQUAL(get(0, 12, 0, 1), EXRP_STATUS_EPISODE_UNKNOWN);
    CHECK_EQUAL(get(0, 0.5, 0, 1), EXRP_STATUS_EPISODE_UNKNOWN);
    CHECK_EQUAL(get(0, -1, 0, 1), EXRP_STATUS_EPISODE_UNKNOWN);
    CHECK_EQUAL(get(4, last.handle, 0, 1), EXRP_STATUS_ARGUMENT);
    CHECK_EQUAL(get(0, last.handle, 0, 0), EXRP_STATUS_ARGUMENT);
    CHECK_EQUAL(get(0, last.handle, 0, 1, static_cast<double>(2 * bytesOf(0) - 1)), EXRP_STATUS_BUFFER_SIZE);
    CHECK_EQUAL(get(0, last.handle, 0, UINT32_MAX), EXRP_STATUS_BUFFER_SIZE);
    CHECK_EQUAL(get(0, last.handle, 0, UINT32_MAX, 1e300), EXRP_STATUS_RECORD_UNKNOWN);

    uint32_t counts[2] = {7, 7};
    uint32_t firsts[2] = {7, 7};
    uint32_t found[2] = {7, 7};
    const double handles[2] = {last.handle, 12};
    CHECK_EQUAL(exrp_episode_counts(id, handles, 2, counts, firsts, found), EXRP_STATUS_EPISODE_UNKNOWN);
    CHECK(counts[0] == 7 && firsts[0] == 7 && found[0] == 7);
    CHECK_EQUAL(exrp_episode_counts(id + 1, handles, 1, counts, firsts, found), EXRP_STATUS_REPLAY_UNKNOWN);
    CHECK_EQUAL(exrp_rows_get(id, 0, handles, nullptr, 0, 1, rows.data(), 0), 0);
    CHECK_EQUAL(exrp_rows_get(id, 0, handles, nullptr, EXRP_LIMIT_BATCH + 1, 1, rows.data(), 0), EXRP_STATUS_BATCH_SIZE);
    CHECK_EQUAL(exrp_episode_counts(id, handles, 0, counts, firsts, found), 0);
  }

  uint32_t stateCount_;
  exrp::Random random_;
  std::vector<Recorded> episodes_;
  std::map<std::tuple<double, uint32_t, uint32_t>, std::vector<uint8_t>> changed_;  // by handle, column, position
};

/// Two packed columns get other rows, and memory is short. Prepared first, both change or none. Otherwise, the first one may change alone.
bool changesAlone(uint64_t granted, bool isPrepared) {
  constexpr uint32_t wide = 1 << 15;
  constexpr uint32_t count = 80;
  const TestSetup setup = {
      .capacity = count, .blockLength = 4, .compression = EXRP_COMPRESSION_FAST, .columns = {1, wide, 1, 4, 1, 1, 4, 1, 1, 1, wide, 1}};
  const TestReplay replay(setup);
  double handle = 0;
  CHECK_EQUAL(exrp_episode_create(replay.id, &handle), 0);
  // In few pieces of memory, one after the other.
  TestSteps steps(replay.id, 4, 4, wide);
  for (uint32_t k = 0; k < count; k += 4) CHECK_EQUAL(steps.recordMany(replay.id, &handle), 0);
  std::vector<double> handles(count, handle);
  std::vector<int32_t> positions;
  for (int32_t k = 0; k < static_cast<int32_t>(count); ++k) positions.push_back(k);
  // Rows that gain nothing by packing.
  std::vector<uint8_t> rows(size_t{count} * wide);
  exrp::Random random(3, 0);
  for (uint8_t& byte : rows) byte = static_cast<uint8_t>(random.next());
  int32_t status = 0;
  uint32_t updated[2] = {};
  exrp::grantMemory(granted);
  for (uint32_t k = 0; isPrepared && status == 0 && k < 2; ++k) status = exrp_rows_prepare(replay.id, 3 * k, handles.data(), positions.data(), count);
  for (uint32_t k = 0; status == 0 && k < 2; ++k) {
    status = exrp_rows_set(replay.id, 3 * k, handles.data(), positions.data(), count, rows.data(), static_cast<double>(rows.size()), &updated[k]);
  }
  exrp::grantMemory(UINT64_MAX);
  CHECK(status == 0 || status == EXRP_STATUS_MEMORY);
  CHECK_EQUAL(broken(replay.id), 0);
  std::vector<uint8_t> found(rows.size());
  for (uint32_t k = 0; k < 2; ++k) {
    CHECK_EQUAL(exrp_rows_get(replay.id, 3 * k, handles.data(), positions.data(), count, 1, found.data(), static_cast<double>(found.size())), 0);
    CHECK_EQUAL(found == rows, updated[k] == count);
    CHECK(updated[k] == count || updated[k] == 0);
  }
  CHECK_EQUAL(status == 0, updated[1] == count);
  return updated[0] != updated[1];
}

void severalColumns() {
  bool hasChangedAlone = false;
  for (uint64_t granted = 0; granted < 16; ++granted) {
    CHECK(!changesAlone(granted, true));
    hasChangedAlone = changesAlone(granted, false) || hasChangedAlone;
  }
  CHECK(hasChangedAlone);
}

}  // namespace

int main() {
  severalColumns();
  const Setup setups[] = {{2, 1}, {2, 40}, {4, 3}, {16, 2}, {16, 33}, {64, 17}};
  for (const Setup& setup : setups) {
    for (uint64_t seed = 1; seed <= 3; ++seed) Subject(setup, seed).checkAll();
  }
  return checkResult("rows_test");
}
