// The shadow: the contents that a replay must have, kept while the test records.
//
// 1. Every record has a stamp, from which the bytes of all its columns follow; so does every final state.
// 2. An episode that the replay has evicted is forgotten: episodes holds what is stored, in order of handles.
// 3. The mirror of the first pick view hears only the journal; which pick a new place holds is asked of the replay once.
//
// Draws are not predicted (the model in TypeScript does that); what a batch holds is. Calls name the replay, as steps go to a twin
// as well; the shadow is of one of them.
#pragma once

#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/kernel/listed_episodes.hpp"
#include "tests/kernel/operations_setup.hpp"

namespace exrp::test {

/// The contents of a replay, and their comparison.
struct Shadow {
  struct Episode {
    std::vector<uint32_t> stamps;  // of each record that it ever had
    uint32_t first = 0;            // those before this one are gone
    uint32_t finalStamp = 0;
    uint32_t released = 0;   // those before this one may go before any others
    uint32_t nextStamp = 0;  // of the state after the newest record, where it was given
    int32_t state = EXRP_EPISODE_OPEN;
    uint32_t count() const { return static_cast<uint32_t>(stamps.size()); }
    bool isEmpty() const { return first == count(); }
  };
  using Pick = std::pair<double, int32_t>;
  static constexpr Pick unknown{-1, -1};

  const Setup& setup;
  Random& random;
  ReplayShape shape = {};
  std::vector<double> rowOffsets = {};
  std::map<double, Episode> episodes = {};
  std::vector<Pick> mirror = {};
  std::vector<double> victims = {};  // of evictAny, in order
  std::set<double> orphans = {};     // handles whose episodes went while they were open, and that nobody has gone on with
  std::map<double, int32_t> tags = {};  // of every episode that ever was
  std::map<uint32_t, size_t> recordedAt = {};  // stamp -> how many records were written before
  double nextHandle = 0;
  uint32_t lastStamp = 0;

  Failure readLayout(uint32_t replay) {
    shape = setup.shape(replay);
    rowOffsets.resize(EXRP_ROW_COLUMN + setup.columnCount() + setup.leafCount() - 1);
    EXRP_REQUIRE(exrp_row_layout(replay, rowOffsets.data(), static_cast<uint32_t>(rowOffsets.size())) == 0);
    return {};
  }

  /// The bytes of column `column` of the record with this stamp. Most rows of a wide column are alike in most places, so that they can be packed.
  static void fill(uint8_t* to, size_t bytes, uint32_t stamp, size_t column) {
    uint32_t mixed = stamp * 2654435761u + static_cast<uint32_t>(column) * 40503u + 1;
    const bool isAlike = bytes > 128 && stamp % 4 != 0;
    for (size_t index = 0; index < bytes; ++index) {
      mixed = mixed * 1664525u + 1013904223u;
      to[index] = isAlike && index % 16 != 0 ? static_cast<uint8_t>(index) : static_cast<uint8_t>(mixed >> 24);
    }
  }
  /// Fills in all leaves of state `number` of those of the ABI that begin at `to`.
  void fillState(uint8_t* to, size_t stateCount, size_t number, uint32_t stamp) const {
    const std::vector<size_t> offsets = shape.stateOffsets(stateCount);
    for (uint32_t leaf = 0; leaf < shape.leafCount; ++leaf) {
      fill(to + offsets[leaf] + number * shape.columnBytes[leaf], shape.columnBytes[leaf], stamp, leaf);
    }
  }
  /// One state of the ABI.
  std::vector<uint8_t> stateOf(uint32_t stamp) const {
    std::vector<uint8_t> state(shape.stateOffsets(1).back());
    fillState(state.data(), 1, 0, stamp);
    return state;
  }
  static bool holds(const uint8_t* at, size_t bytes, uint32_t stamp, size_t column) {
    std::vector<uint8_t> expected(bytes);
    fill(expected.data(), bytes, stamp, column);
    return memcmp(at, expected.data(), bytes) == 0;
  }
  static bool isZero(const uint8_t* at, size_t bytes) {
    for (size_t index = 0; index < bytes; ++index)
      if (at[index] != 0) return false;
    return true;
  }

  double anyHandle() { return nextHandle == 0 ? 0 : random.below(static_cast<uint32_t>(nextHandle)); }
  double lateHandle() {
    const auto next = static_cast<uint32_t>(nextHandle);
    return next - 1 - random.below(next < 5 ? next : 5);
  }

  /// Where the caller evicts: makes room by evicting the episode that must go, or else any.
  Failure evictAny(uint32_t replay) {
    EXRP_REQUIRE(!episodes.empty());
    double detail[3] = {};
    EXRP_REQUIRE(exrp_error_detail(detail, 3) == 0);
    auto victim = episodes.find(detail[2]);
    if (detail[2] != -1) {
      EXRP_REQUIRE(victim != episodes.end() && victim->second.state != EXRP_EPISODE_OPEN);
      EXRP_REQUIRE(setup.config[EXRP_CONFIG_AGE_MAX] > 0 || victim->second.released == victim->second.count());
    }
    if (detail[2] == -1) victim = episodes.begin();
    if (detail[2] == -1) std::advance(victim, random.below(static_cast<uint32_t>(episodes.size())));
    victims.push_back(victim->first);
    EXRP_REQUIRE(exrp_episode_evict(replay, victim->first) == 0);
    return forgetEvicted(replay);
  }
  /// Forgets the episodes that are gone, and of those that were trimmed the records.
  Failure forgetEvicted(uint32_t replay) {
    for (auto episode = episodes.begin(); episode != episodes.end();) {
      double info[EXRP_EPISODE_INFO_COUNT] = {};
      EXRP_REQUIRE(exrp_episode_info(replay, episode->first, info, EXRP_EPISODE_INFO_COUNT) == 0);
      if (info[EXRP_EPISODE_STATE] == EXRP_EPISODE_EVICTED) {
        if (episode->second.state == EXRP_EPISODE_OPEN) orphans.insert(episode->first);
        episode = episodes.erase(episode);
        continue;
      }
      const double first = info[EXRP_EPISODE_FIRST_POSITION];
      EXRP_REQUIRE(first == episode->second.first || episode->second.state == EXRP_EPISODE_OPEN || first <= episode->second.released);
      EXRP_REQUIRE(first >= episode->second.first && first <= episode->second.count());
      episode->second.first = static_cast<uint32_t>(first);
      ++episode;
    }
    return {};
  }

  Failure beginOn(uint32_t replay, double* made) { return beginOn(replay, made, static_cast<int32_t>(random.below(6)) - 2); }
  Failure beginOn(uint32_t replay, double* made, int32_t tag) {
    double handle = -1;
    while (true) {
      const int32_t status = exrp_episode_create(replay, &handle);
      if (status == 0) break;
      EXRP_REQUIRE(status == EXRP_STATUS_FULL && setup.external());
      EXRP_CARRY(evictAny(replay));
    }
    EXRP_REQUIRE(handle == nextHandle);
    nextHandle += 1;
    EXRP_CARRY(forgetEvicted(replay));
    episodes[handle] = Episode{};
    tags[handle] = tag;
    EXRP_REQUIRE(exrp_episode_tag(replay, handle, tag) == 0);
    double known[EXRP_EPISODE_INFO_COUNT] = {};
    EXRP_REQUIRE(exrp_episode_info(replay, handle, known, EXRP_EPISODE_INFO_COUNT) == 0 && known[EXRP_EPISODE_TAG] == tag);
    *made = handle;
    return {};
  }

  /// Records and shadows it; the handle to go on with. The final state is the next one where `hasNextState` and the episode goes on.
  /// `tag` is that of the record, or null.
  Failure recordOn(uint32_t replay, double* current, uint32_t flags, uint32_t stamp, uint32_t finalStamp, bool hasNextState,
                   const int32_t* tag) {
    const double handle = *current;
    std::vector<uint8_t> row(static_cast<size_t>(rowOffsets[EXRP_ROW_BYTES]));
    memcpy(row.data(), &handle, 8);
    for (size_t column = 0; column < shape.columnBytes.size(); ++column) {
      fill(row.data() + static_cast<size_t>(rowOffsets[EXRP_ROW_COLUMN + column]), shape.columnBytes[column], stamp, column);
    }
    for (uint32_t leaf = 0; leaf < shape.leafCount; ++leaf) {
      const size_t index = leaf == 0 ? EXRP_ROW_FINAL_STATE : EXRP_ROW_COLUMN + shape.columnBytes.size() + leaf - 1;
      fill(row.data() + static_cast<size_t>(rowOffsets[index]), shape.columnBytes[leaf], finalStamp, leaf);
    }
    if (tag != nullptr) memcpy(row.data() + static_cast<size_t>(rowOffsets[EXRP_ROW_TAG]), tag, sizeof *tag);

    const auto known = episodes.find(handle);
    const bool ended = known == episodes.end() ? orphans.count(handle) == 0 : known->second.state != EXRP_EPISODE_OPEN;
    const std::vector<uint8_t> before = row;
    const uint32_t more = (hasNextState ? EXRP_RECORD_NEXT_STATE : 0u) | (tag != nullptr ? EXRP_RECORD_TAG : 0u);
    int32_t status = exrp_record(replay, row.data(), static_cast<uint32_t>(row.size()), flags | more);
    while (status == EXRP_STATUS_FULL) {
      EXRP_REQUIRE(setup.external() && row == before);
      EXRP_CARRY(evictAny(replay));
      status = exrp_record(replay, row.data(), static_cast<uint32_t>(row.size()), flags | more);
    }
    if (ended) {
      EXRP_REQUIRE(status == EXRP_STATUS_EPISODE_ENDED && row == before);
      return {};
    }
    EXRP_REQUIRE(status == 0);
    double to = -1;
    memcpy(&to, row.data(), 8);
    if (to != handle) {
      EXRP_REQUIRE(to == nextHandle);
      nextHandle += 1;
      tags[to] = tags[handle];
      EXRP_CARRY(forgetEvicted(replay));
      orphans.erase(handle);
      // Still there: it was cut, and this record's state is its final state.
      if (const auto cut = episodes.find(handle); cut != episodes.end()) {
        cut->second.state = EXRP_EPISODE_TRUNCATED;
        cut->second.finalStamp = stamp;
      }
    } else {
      EXRP_CARRY(forgetEvicted(replay));
    }
    Episode& episode = episodes[to];
    if (tag != nullptr && episode.count() == 0) tags[to] = *tag;
    episode.stamps.push_back(stamp);
    episode.nextStamp = hasNextState ? finalStamp : 0;
    recordedAt.emplace(stamp, recordedAt.size());
    if (flags != 0) {
      episode.finalStamp = finalStamp;
      episode.state = flags == EXRP_RECORD_ENDS ? EXRP_EPISODE_TERMINATED : EXRP_EPISODE_TRUNCATED;
    }
    *current = to;
    return {};
  }

  /// Every row of a batch is what was recorded, and nothing past a pick's end is anything but zero.
  Failure checkBatch(uint32_t count, const std::vector<uint8_t>& bytes, const std::vector<double>& offsets) {
    const auto part = [&](size_t index) { return bytes.data() + static_cast<size_t>(offsets[index]); };
    const auto* seqLen = reinterpret_cast<const int32_t*>(part(EXRP_BATCH_SEQ_LEN));
    const auto* nextSeqLen = reinterpret_cast<const int32_t*>(part(EXRP_BATCH_NEXT_SEQ_LEN));
    const auto* handles = reinterpret_cast<const double*>(part(EXRP_BATCH_PICK_EPISODE));
    const auto* positions = reinterpret_cast<const int32_t*>(part(EXRP_BATCH_PICK_POSITION));
    const auto* probability = reinterpret_cast<const float*>(part(EXRP_BATCH_PROBABILITY));
    const auto* weight = reinterpret_cast<const float*>(part(EXRP_BATCH_IMPORTANCE_WEIGHT));
    const auto* discount = reinterpret_cast<const float*>(part(EXRP_BATCH_DISCOUNT));
    const uint32_t length = setup.length();
    for (uint32_t pick = 0; pick < count; ++pick) {
      const auto found = episodes.find(handles[pick]);
      EXRP_REQUIRE(found != episodes.end());
      const Episode& episode = found->second;
      const auto recordCount = static_cast<uint32_t>(episode.stamps.size());
      const auto first = static_cast<uint32_t>(positions[pick]);
      EXRP_REQUIRE(first >= episode.first && first < recordCount);
      const uint32_t left = recordCount - first;
      const uint32_t known = episode.state == EXRP_EPISODE_OPEN ? left - 1 : left;
      const uint32_t real = left < length ? left : length;
      const uint32_t nextReal = known < length ? known : length;
      EXRP_REQUIRE(seqLen[pick] == static_cast<int32_t>(real) && nextSeqLen[pick] == static_cast<int32_t>(nextReal));
      EXRP_REQUIRE(probability[pick] > 0 && probability[pick] <= 1);
      EXRP_REQUIRE(weight[pick] >= 0 && weight[pick] <= 1);  // 0: too small for a float
      for (uint32_t step = 0; step < length; ++step) {
        const size_t row = size_t{pick} * length + step;
        for (size_t column = 0; column < shape.columnBytes.size(); ++column) {
          const size_t size = shape.columnBytes[column];
          if (shape.every[column] > 1) {
            const uint32_t kept = first - first % shape.every[column];
            EXRP_REQUIRE(holds(part(EXRP_BATCH_COLUMN + column) + pick * size, size, episode.stamps[kept], column));
            continue;
          }
          const uint8_t* at = part(EXRP_BATCH_COLUMN + column) + row * size;
          EXRP_REQUIRE(step < real ? holds(at, size, episode.stamps[first + step], column) : isZero(at, size));
        }
        const bool isLast = first + step + 1 == recordCount;
        const uint32_t stamp = step >= nextReal ? 0 : isLast ? episode.finalStamp : episode.stamps[first + step + 1];
        for (uint32_t leaf = 0; leaf < shape.leafCount; ++leaf) {
          const size_t size = shape.columnBytes[leaf];
          const size_t index = leaf == 0 ? EXRP_BATCH_NEXT_STATE : EXRP_BATCH_COLUMN + shape.columnBytes.size() + leaf - 1;
          const uint8_t* const next = part(index) + row * size;
          EXRP_REQUIRE(step < nextReal ? holds(next, size, stamp, leaf) : isZero(next, size));
        }
        const bool bootstraps = step < nextReal && !(isLast && episode.state == EXRP_EPISODE_TERMINATED);
        EXRP_REQUIRE(discount[row] == (bootstraps ? static_cast<float>(setup.policies[0][EXRP_POLICY_DISCOUNT]) : 0.0f));
      }
    }
    return {};
  }

  /// Everything visible agrees with the shadow. The mirror of the journal agrees with the pick view.
  Failure sound(uint32_t replay) {
    int32_t broken = -1;
    EXRP_REQUIRE(exrp_replay_check(replay, &broken) == 0);
    EXRP_REQUIRE(broken == 0);
    double info[EXRP_INFO_COUNT] = {};
    EXRP_REQUIRE(exrp_replay_info(replay, info, EXRP_INFO_COUNT) == 0);
    size_t recordCount = 0;
    const ListedEpisodes list(replay, static_cast<uint32_t>(episodes.size()));
    EXRP_REQUIRE(list.status == 0 && list.count == episodes.size());
    size_t at = 0;
    for (const auto& [handle, episode] : episodes) {
      EXRP_REQUIRE(list.handles[at] == handle && list.firsts[at] == episode.first && list.tags[at] == tags[handle]);
      EXRP_REQUIRE(list.recordCounts[at] == episode.count() - episode.first && list.ends[at] == episode.state - EXRP_EPISODE_OPEN);
      EXRP_REQUIRE(episode.isEmpty() ? list.ages[at] != list.ages[at] : list.ages[at] >= 0);
      ++at;
      double known[EXRP_EPISODE_INFO_COUNT] = {};
      EXRP_REQUIRE(exrp_episode_info(replay, handle, known, EXRP_EPISODE_INFO_COUNT) == 0);
      EXRP_REQUIRE(known[EXRP_EPISODE_STATE] == episode.state && known[EXRP_EPISODE_RECORD_COUNT] == double(episode.count() - episode.first));
      EXRP_REQUIRE(known[EXRP_EPISODE_FIRST_POSITION] == episode.first);
      EXRP_REQUIRE(known[EXRP_EPISODE_TAG] == tags[handle]);
      recordCount += episode.count() - episode.first;
    }
    EXRP_REQUIRE(info[EXRP_INFO_EPISODE_COUNT] == double(episodes.size()));
    EXRP_REQUIRE(info[EXRP_INFO_RECORD_COUNT] == double(recordCount));
    EXRP_REQUIRE(double(recordCount) <= setup.config[EXRP_CONFIG_CAPACITY]);
    EXRP_CARRY(withinLimits(info));
    EXRP_CARRY(nextStates(replay));
    EXRP_REQUIRE(info[EXRP_INFO_NEXT_HANDLE] == nextHandle);
    EXRP_CARRY(readJournal(replay));
    return compareMirror(replay, static_cast<uint32_t>(info[EXRP_INFO_PICK_COUNT]));
  }

  /// The open episodes have the next states that they were given.
  Failure nextStates(uint32_t replay) {
    std::vector<double> handles;
    for (const auto& [handle, episode] : episodes) handles.push_back(handle);
    const auto count = static_cast<uint32_t>(handles.size());
    std::vector<uint8_t> there(count + 1);
    const std::vector<size_t> offsets = shape.stateOffsets(count);
    std::vector<uint8_t> states(offsets.back() + 1);
    const auto size = static_cast<double>(offsets.back());
    EXRP_REQUIRE(exrp_next_states_get(replay, handles.data(), count, there.data(), states.data(), size) == 0);
    for (uint32_t at = 0; at < count; ++at) {
      const Episode& episode = episodes.at(handles[at]);
      const bool known = episode.state == EXRP_EPISODE_OPEN && episode.nextStamp != 0;
      EXRP_REQUIRE(there[at] == (known ? 1 : 0));
      for (uint32_t leaf = 0; known && leaf < shape.leafCount; ++leaf) {
        const size_t bytes = shape.columnBytes[leaf];
        EXRP_REQUIRE(holds(&states[offsets[leaf] + at * bytes], bytes, episode.nextStamp, leaf));
      }
    }
    return {};
  }

  /// No more bytes than allowed, and no record older.
  Failure withinLimits(const double* info) {
    double bytes = 0;
    for (const auto& [handle, episode] : episodes) {
      bytes += setup.episodeBytes(episode.first, episode.count());
      if (episode.state != EXRP_EPISODE_OPEN) bytes += setup.stateBytes();
    }
    EXRP_REQUIRE(info[EXRP_INFO_STORED_BYTES] == bytes);
    const double bytesMax = setup.config[EXRP_CONFIG_CAPACITY_BYTES];
    EXRP_REQUIRE(bytesMax == 0 || bytes <= bytesMax);
    const double ageMax = setup.config[EXRP_CONFIG_AGE_MAX];
    if (ageMax == 0) return {};
    for (const auto& [handle, episode] : episodes) {
      if (!episode.isEmpty()) EXRP_REQUIRE(double(recordedAt.size() - recordedAt.at(episode.stamps[episode.first])) <= ageMax);
    }
    return {};
  }

  /// (NONE, i): a pick was added at i; (j, i): j takes the place of i; (i, NONE): i is gone. Kept as marks: what stands where is
  /// asked of the pick view only for picks that are new.
  Failure readJournal(uint32_t replay) {
    uint32_t events[14] = {};
    uint32_t waiting = 0;
    EXRP_REQUIRE(exrp_journal_count(replay, 0, &waiting) == 0);
    for (uint32_t count = 7; count == 7;) {
      EXRP_REQUIRE(exrp_journal_read(replay, 0, events, 7, &count) == 0);
      for (uint32_t event = 0; event < count; ++event, --waiting) {
        const uint32_t from = events[2 * event];
        const uint32_t to = events[2 * event + 1];
        if (from == EXRP_INDEX_NONE) {
          EXRP_REQUIRE(to == mirror.size());
          mirror.push_back(unknown);
        } else if (to == EXRP_INDEX_NONE) {
          EXRP_REQUIRE(from + 1 == mirror.size());
          mirror.pop_back();
        } else {
          EXRP_REQUIRE(from + 1 == mirror.size() && to < from);
          mirror[to] = mirror[from];
        }
      }
    }
    EXRP_REQUIRE(waiting == 0);
    return {};
  }

  Failure compareMirror(uint32_t replay, uint32_t pickCount) {
    EXRP_REQUIRE(pickCount == mirror.size());
    std::vector<double> handles(pickCount + 1);
    std::vector<int32_t> positions(pickCount + 1);
    EXRP_REQUIRE(exrp_pick_list(replay, 0, 0, pickCount, handles.data(), positions.data()) == 0);
    std::vector<uint32_t> indices(pickCount + 1);
    EXRP_REQUIRE(exrp_pick_find(replay, 0, handles.data(), positions.data(), pickCount, indices.data()) == 0);
    for (uint32_t index = 0; index < pickCount; ++index) {
      const Pick pick(handles[index], positions[index]);
      EXRP_REQUIRE(indices[index] == index);
      if (mirror[index] == unknown) mirror[index] = pick;
      EXRP_REQUIRE(mirror[index] == pick);
    }
    return {};
  }
};

}  // namespace exrp::test
