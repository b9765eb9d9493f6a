// Calls of the C ABI as data, so that a twin can make them again: which function, by which seat, with what. Whoever chooses the next call looks at nothing
// but the replay and the random numbers that it is given. So equal replays get equal calls.
//
// CHECKs report what must not fail. Calls that are refused are results like any other.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "kernel/abi/replay_calls.hpp"
#include "tests/kernel/listed_episodes.hpp"
#include "tests/kernel/operations_setup.hpp"

namespace exrp::test {

/// One replay, by the ids of its seats. The first one made it.
struct Side {
  std::vector<uint32_t> seats;

  uint32_t id() const { return seats[0]; }
  ReplayInstance& instance() const { return registry()->find(id())->instance; }
  /// Gives back all seats but the first, whose open episodes end. Then the first, which frees the replay.
  void destroy() {
    while (!seats.empty()) {
      CHECK_EQUAL(exrp_replay_destroy(seats.back()), 0);
      seats.pop_back();
    }
  }
};

enum class Kind : uint8_t {
  create, tag, record, recordMany, recordBatch, recordFlat, end, evict, clear, trim, trimOpen, release, setRows, makeView, makeSelector,
  setPriority, draw, drawAhead, gather, noteDraws, attach, leave, count,
};

struct Call {
  Kind kind = Kind::create;
  uint32_t seat = 0;
  uint32_t numbers[4] = {};
  std::vector<double> doubles;
  std::vector<int32_t> positions;
  std::vector<uint8_t> bytes;
};

/// What a call came to: its status, and a sum of all that it wrote.
struct Outcome {
  int32_t status = 0;
  uint32_t sum = 0;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

class Calls {
 public:
  explicit Calls(const Setup& setup, bool hasSeats) : setup_(setup), hasSeats_(hasSeats) {}

  /// The next call on a replay, as the random numbers say.
  Call choose(const Side& side, Random& random) const {
    Call call;
    const uint32_t id = side.id();
    const Replay& replay = side.instance().replay;
    const auto next = static_cast<uint32_t>(replay.book().nextHandle());
    const uint32_t views = replay.picks().viewCount();
    const uint32_t selectors = replay.picks().selectorCount();
    if (hasSeats_ && side.seats.size() > 1) call.seat = random.below(static_cast<uint32_t>(side.seats.size()));
    const uint32_t choice = next == 0 ? 0 : random.below(100);
    if (views < setup_.policies.size() && random.below(8) == 0) {
      call.kind = Kind::makeView;
      call.numbers[0] = views;
    } else if (selectors < setup_.selectors.size() && setup_.selectors[selectors].table < views && random.below(4) == 0) {
      call.kind = Kind::makeSelector;
      call.numbers[0] = selectors;
    } else if (choice < 6) {
      call.kind = Kind::create;
    } else if (choice < 8) {
      call.kind = Kind::tag;
      call.doubles = {lateHandle(next, random)};
      call.positions = {static_cast<int32_t>(random.below(6)) - 2};
    } else if (choice < 38) {
      chooseRecord(call, side, next, random);
    } else if (choice < 50) {
      call.kind = Kind::recordMany;
      call.doubles = {openHandle(side, next, random)};
      chooseSteps(call, id, 1 + random.below(24), random);
    } else if (choice < 56) {
      call.kind = Kind::recordBatch;
      for (uint32_t count = 1 + random.below(6); count > 0; --count) call.doubles.push_back(openHandle(side, next, random));
      chooseSteps(call, id, static_cast<uint32_t>(call.doubles.size()), random);
    } else if (choice < 62) {
      call.kind = Kind::recordFlat;
      call.doubles = {openHandle(side, next, random)};
      chooseSteps(call, id, 1 + random.below(24), random);
    } else if (choice < 65) {
      call.kind = Kind::end;
      call.doubles = {openHandle(side, next, random)};
      call.numbers[0] = random.below(2) * EXRP_RECORD_TRUNCATED;
      fill(call.bytes, stateBytes(1), random);
    } else if (choice < 68) {
      call.kind = Kind::evict;
      call.doubles = {double(random.below(next))};
    } else if (choice < 69) {
      call.kind = random.below(4) == 0 ? Kind::clear : Kind::trimOpen;
    } else if (choice < 73) {
      call.kind = random.below(2) == 0 ? Kind::trim : Kind::release;
      call.doubles = {lateHandle(next, random)};
      double info[EXRP_EPISODE_INFO_COUNT] = {};
      CHECK_EQUAL(exrp_episode_info(id, call.doubles[0], info, EXRP_EPISODE_INFO_COUNT), 0);
      const auto count = static_cast<uint32_t>(info[EXRP_EPISODE_RECORD_COUNT]);
      call.numbers[0] = static_cast<uint32_t>(info[EXRP_EPISODE_FIRST_POSITION]) + random.below(count + 1);
    } else if (choice < 79) {
      chooseRows(call, id, next, random);
    } else if (choice < 93) {
      choosePicks(call, id, selectors, random);
    } else if (choice < 95 && hasSeats_) {
      call.kind = side.seats.size() < 4 && random.below(3) > 0 ? Kind::attach : Kind::leave;
      if (call.kind == Kind::leave && side.seats.size() == 1) call.kind = Kind::attach;
    } else {
      chooseRecord(call, side, next, random);
    }
    // Most of what is recorded goes to open episodes.
    const double* const handle = call.kind == Kind::record ? reinterpret_cast<const double*>(call.bytes.data()) : call.doubles.data();
    if (call.kind >= Kind::record && call.kind <= Kind::end && random.below(6) > 0) {
      double info[EXRP_EPISODE_INFO_COUNT] = {};
      CHECK_EQUAL(exrp_episode_info(id, *handle, info, EXRP_EPISODE_INFO_COUNT), 0);
      if (info[EXRP_EPISODE_STATE] != EXRP_EPISODE_OPEN) {
        const uint32_t seat = call.seat;
        call = {};
        call.seat = seat;
      }
    }
    return call;
  }

  /// Makes it.
  Outcome make(Side& side, const Call& call) const {
    uint32_t id = side.seats[call.seat < side.seats.size() ? call.seat : 0];
    std::vector<double> out = call.doubles;
    Outcome outcome;
    uint32_t numbers[2] = {};
    const auto count = static_cast<uint32_t>(call.doubles.size());
    const auto size = static_cast<double>(call.bytes.size());
    const auto sum = [&](const void* bytes, size_t byteCount) { outcome.sum = checksum(outcome.sum, static_cast<const uint8_t*>(bytes), byteCount); };
    const double handle = count > 0 ? call.doubles[0] : 0;
    switch (call.kind) {
      case Kind::create:
        out = {-1};
        outcome.status = exrp_episode_create(id, out.data());
        break;
      case Kind::tag: outcome.status = exrp_episode_tag(id, handle, call.positions[0]); break;
      case Kind::record: {
        std::vector<uint8_t> row = call.bytes;
        outcome.status = exrp_record(id, row.data(), static_cast<uint32_t>(row.size()), call.numbers[0]);
        sum(row.data(), sizeof(double));
        break;
      }
      case Kind::recordMany:
        outcome.status = exrp_record_many(id, out.data(), call.bytes.data(), size, call.numbers[1], call.numbers[0], numbers);
        break;
      case Kind::recordBatch:
        outcome.status = exrp_record_batch(id, out.data(), call.bytes.data(), size, call.numbers[1], call.numbers[0], numbers);
        break;
      case Kind::recordFlat: {
        std::vector<double> episodes(call.numbers[1]);
        outcome.status =
            exrp_record_flat(id, out.data(), call.bytes.data(), size, call.numbers[1], call.numbers[0], numbers, episodes.data(), call.numbers[1]);
        sum(episodes.data(), numbers[1] * sizeof(double));
        break;
      }
      case Kind::end:
        outcome.status = exrp_episode_end(id, handle, call.bytes.data(), static_cast<uint32_t>(call.bytes.size()), call.numbers[0], numbers);
        break;
      case Kind::evict: outcome.status = exrp_episode_evict(id, handle); break;
      case Kind::clear: outcome.status = exrp_replay_clear(id); break;
      case Kind::trim: outcome.status = exrp_episode_trim(id, handle, call.numbers[0]); break;
      case Kind::trimOpen:
        out = {-1, -1};
        outcome.status = exrp_open_trim(id, &out[0], &out[1]);
        break;
      case Kind::release: outcome.status = exrp_records_release(id, handle, call.numbers[0]); break;
      case Kind::setRows:
        outcome.status = exrp_rows_set(id, call.numbers[0], call.doubles.data(), call.positions.data(), count, call.bytes.data(), size, numbers);
        break;
      case Kind::makeView: {
        const Policy& policy = setup_.policies[call.numbers[0]];
        outcome.status = exrp_pick_view_create(id, policy.data(), static_cast<uint32_t>(policy.size()), numbers);
        break;
      }
      case Kind::makeSelector: {
        const SelectorSetup& selector = setup_.selectors[call.numbers[0]];
        outcome.status = exrp_selector_create(id, selector.table, selector.kind, selector.options.data(),
                                              static_cast<uint32_t>(selector.options.size()), numbers);
        break;
      }
      case Kind::setPriority:
        outcome.status = exrp_priority_set(id, call.numbers[0], call.doubles.data(), call.positions.data(), call.bytes.data(), call.numbers[1],
                                           count, numbers);
        break;
      case Kind::draw:
      case Kind::drawAhead:
      case Kind::gather: drawInto(id, call, &outcome); break;
      case Kind::noteDraws:
        outcome.status = exrp_draws_note(id, call.numbers[0], call.doubles.data(), call.positions.data(), count);
        break;
      case Kind::attach: {
        double ticket[EXRP_TICKET_COUNT] = {};
        outcome.status = exrp_replay_share(side.id(), ticket, EXRP_TICKET_COUNT);
        if (outcome.status == 0) outcome.status = exrp_replay_attach(ticket, EXRP_TICKET_COUNT, &id);
        if (outcome.status == 0) side.seats.push_back(id);
        break;
      }
      case Kind::leave:
        outcome.status = exrp_replay_destroy(side.seats.back());
        side.seats.pop_back();
        break;
      case Kind::count: break;
    }
    sum(numbers, sizeof numbers);
    sum(out.data(), out.size() * sizeof(double));
    return outcome;
  }

  /// A replay like it, without its views and selectors: these are made by calls.
  uint32_t makeReplay() const {
    uint32_t made = 0;
    CHECK_EQUAL(exrp_replay_create(setup_.config.data(), EXRP_CONFIG_COUNT, setup_.policies[0].data(),
                                   static_cast<uint32_t>(setup_.policies[0].size()), setup_.columns.data(), setup_.columnCount(), &made),
                0);
    return made;
  }

  const Setup& setup() const { return setup_; }

 private:
  static void fill(std::vector<uint8_t>& bytes, size_t size, Random& random) {
    bytes.resize(size);
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
      const uint64_t word = random.next();
      memcpy(&bytes[at], &word, size - at < sizeof word ? size - at : sizeof word);
    }
  }

  /// Of so many states of the ABI.
  size_t stateBytes(size_t count) const {
    size_t end = 0;
    for (uint32_t leaf = 0; leaf < setup_.leafCount(); ++leaf) {
      end = (end + 7) / 8 * 8 + count * setup_.columns[3 * leaf] * setup_.columns[3 * leaf + 1];
    }
    return end;
  }

  static double lateHandle(uint32_t next, Random& random) { return next - 1 - random.below(next < 5 ? next : 5); }
  /// An open episode, mostly.
  static double openHandle(const Side& side, uint32_t next, Random& random) {
    double handle = lateHandle(next, random);
    for (int turn = 0; turn < 6; ++turn, handle = lateHandle(next, random)) {
      double info[EXRP_EPISODE_INFO_COUNT] = {};
      CHECK_EQUAL(exrp_episode_info(side.id(), handle, info, EXRP_EPISODE_INFO_COUNT), 0);
      if (info[EXRP_EPISODE_STATE] == EXRP_EPISODE_OPEN) break;
    }
    return handle;
  }

  void chooseRecord(Call& call, const Side& side, uint32_t next, Random& random) const {
    call.kind = Kind::record;
    std::vector<double> offsets(EXRP_ROW_COLUMN + setup_.columnCount() + setup_.leafCount() - 1);
    CHECK_EQUAL(exrp_row_layout(side.id(), offsets.data(), static_cast<uint32_t>(offsets.size())), 0);
    fill(call.bytes, static_cast<size_t>(offsets[EXRP_ROW_BYTES]), random);
    const double handle = openHandle(side, next, random);
    memcpy(call.bytes.data(), &handle, sizeof handle);
    const uint32_t kinds[] = {0, 0, 0, 0, 0, 0, EXRP_RECORD_ENDS, EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS,
                              EXRP_RECORD_ENDS | EXRP_RECORD_TRUNCATED, EXRP_RECORD_NEXT_STATE};
    call.numbers[0] = kinds[random.below(10)];
    if (random.below(5) == 0) {
      call.numbers[0] |= EXRP_RECORD_PRIORITY;
      const double priority = random.uniform();
      memcpy(&call.bytes[static_cast<size_t>(offsets[EXRP_ROW_PRIORITY])], &priority, sizeof priority);
    }
    if (random.below(8) == 0) {
      call.numbers[0] |= EXRP_RECORD_TAG;
      const auto tag = static_cast<int32_t>(random.below(6)) - 2;
      memcpy(&call.bytes[static_cast<size_t>(offsets[EXRP_ROW_TAG])], &tag, sizeof tag);
    }
  }

  void chooseSteps(Call& call, uint32_t id, uint32_t count, Random& random) const {
    std::vector<double> offsets(EXRP_STEPS_COLUMN + setup_.columnCount());
    CHECK_EQUAL(exrp_steps_layout(id, count, offsets.data(), static_cast<uint32_t>(offsets.size())), 0);
    const auto at = [&](uint32_t part) { return static_cast<size_t>(offsets[part]); };
    fill(call.bytes, at(EXRP_STEPS_FINAL_STATE) + stateBytes(size_t{count} + 1), random);
    constexpr uint32_t ends = EXRP_RECORD_ENDS;
    constexpr uint32_t begins = EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS;
    uint32_t flags = 0;
    if (call.kind == Kind::recordMany) {
      const uint32_t kinds[] = {0, 0, 0, ends, begins, ends | EXRP_RECORD_TRUNCATED};
      flags = kinds[random.below(6)];
    } else if (random.below(2) == 0) {
      flags = EXRP_RECORD_NEXT_STATE;
    }
    for (uint32_t step = 0; step < count; ++step) {
      const uint32_t own[] = {0, 0, 0, 0, begins, begins | EXRP_RECORD_TRUNCATED, call.kind == Kind::recordFlat ? uint32_t{EXRP_RECORD_FINAL} : ends};
      call.bytes[at(EXRP_STEPS_FLAGS) + step] = static_cast<uint8_t>(own[random.below(7)]);
    }
    if (random.below(4) == 0) flags |= EXRP_RECORD_PRIORITY;
    if (random.below(4) == 0) flags |= EXRP_RECORD_TAG;
    for (uint32_t step = 0; step < count; ++step) {
      const double priority = random.uniform();
      const auto tag = static_cast<int32_t>(random.below(6)) - 2;
      memcpy(&call.bytes[at(EXRP_STEPS_PRIORITY) + step * sizeof priority], &priority, sizeof priority);
      memcpy(&call.bytes[at(EXRP_STEPS_TAG) + step * sizeof tag], &tag, sizeof tag);
    }
    call.numbers[0] = flags;
    call.numbers[1] = count;
  }

  /// Rows of some records of one column, of which some may be gone.
  void chooseRows(Call& call, uint32_t id, uint32_t next, Random& random) const {
    call.kind = Kind::setRows;
    call.numbers[0] = random.below(setup_.columnCount());
    for (uint32_t count = 1 + random.below(5); count > 0; --count) {
      const double handle = lateHandle(next, random);
      double info[EXRP_EPISODE_INFO_COUNT] = {};
      CHECK_EQUAL(exrp_episode_info(id, handle, info, EXRP_EPISODE_INFO_COUNT), 0);
      const auto end = static_cast<uint32_t>(info[EXRP_EPISODE_FIRST_POSITION] + info[EXRP_EPISODE_RECORD_COUNT]);
      if (end == 0) continue;
      call.doubles.push_back(handle);
      call.positions.push_back(static_cast<int32_t>(random.below(3) == 0 ? end - 1 : random.below(end)));
    }
    fill(call.bytes, call.doubles.size() * setup_.columns[3 * call.numbers[0]] * setup_.columns[3 * call.numbers[0] + 1], random);
  }

  /// Something with picks: a draw, priorities, or a note of draws.
  void choosePicks(Call& call, uint32_t id, uint32_t selectors, Random& random) const {
    const uint32_t selector = selectors == 0 ? 0 : random.below(selectors);
    const uint32_t view = selectors == 0 ? 0 : setup_.selectors[selector].table;
    double info[EXRP_PICK_VIEW_INFO_COUNT] = {};
    CHECK_EQUAL(exrp_pick_view_info(id, view, info, EXRP_PICK_VIEW_INFO_COUNT), 0);
    const auto picks = static_cast<uint32_t>(info[EXRP_PICK_VIEW_PICK_COUNT]);
    const uint32_t count = 1 + random.below(12);
    const uint32_t choice = random.below(10);
    call.numbers[0] = selector;
    call.numbers[1] = count;
    call.numbers[2] = view;
    if (choice < 4) {
      call.kind = random.below(5) == 0 ? Kind::drawAhead : Kind::draw;
      return;
    }
    if (choice == 4 && picks > 0) {
      call.kind = Kind::gather;
      for (uint32_t k = 0; k < count; ++k) {
        call.positions.push_back(static_cast<int32_t>(random.below(picks)));
        call.doubles.push_back(random.uniform() + 0.01);
      }
      return;
    }
    const uint32_t first = picks > 0 ? random.below(picks) : 0;
    const uint32_t listed = picks - first < count ? picks - first : count;
    call.doubles.resize(listed);
    call.positions.resize(listed);
    if (listed > 0) CHECK_EQUAL(exrp_pick_list(id, view, first, listed, call.doubles.data(), call.positions.data()), 0);
    if (choice == 5) {
      call.kind = Kind::noteDraws;
      call.numbers[0] = EXRP_LIMIT_SELECTORS + random.below(3);
      return;
    }
    call.kind = Kind::setPriority;
    call.numbers[1] = random.below(2) == 0 ? 4 : 8;
    for (uint32_t k = 0; k < listed; ++k) {
      const double wide = random.uniform() * 3;
      const auto narrow = static_cast<float>(wide);
      const auto* const from = call.numbers[1] == 8 ? reinterpret_cast<const uint8_t*>(&wide) : reinterpret_cast<const uint8_t*>(&narrow);
      call.bytes.insert(call.bytes.end(), from, from + call.numbers[1]);
    }
  }

  void drawInto(uint32_t id, const Call& call, Outcome* outcome) const {
    const uint32_t count = call.numbers[1];
    std::vector<uint8_t> bytes;
    std::vector<double> offsets;
    if (setup_.makeBatch(id, call.numbers[2], count, &bytes, &offsets)) {
      outcome->status = -1;  // a forged log has another view
      return;
    }
    const auto size = static_cast<double>(bytes.size());
    if (call.kind == Kind::draw) {
      outcome->status = exrp_batch_get(id, call.numbers[0], 0, count, count, 0.4, bytes.data(), size);
    } else if (call.kind == Kind::drawAhead) {
      double order = 0;
      CHECK_EQUAL(exrp_batch_order(id, call.numbers[0], count, 0.4, bytes.data(), size, &order), 0);
      outcome->status = exrp_batch_take(id, order);
    } else {
      std::vector<uint32_t> indices(call.positions.begin(), call.positions.end());
      outcome->status = exrp_batch_gather(id, call.numbers[2], indices.data(), call.doubles.data(), 0, count, count, 0.4, 0.01, 1, bytes.data(), size);
    }
    outcome->sum = checksum(0, bytes.data(), bytes.size());
  }

  const Setup& setup_;
  const bool hasSeats_;
};

/// What the program of a twin ends by: other seats go, and their open episodes are those of its first seat from then on.
inline void reopenTwin(Side& twin) {
  adoptEpisodes(twin.instance().replay, 1);
  while (twin.seats.size() > 1) {
    CHECK_EQUAL(exrp_replay_destroy(twin.seats.back()), 0);
    twin.seats.pop_back();
  }
}

/// A setup that a durable replay can have: its eviction is the library's. Now and then a view normalizes a column, whose statistics are in the log.
inline Setup durableSetup(Random& random) {
  Setup setup = Setup::random(random);
  while (setup.external()) setup = Setup::random(random);
  for (size_t view = 1; view < setup.policies.size(); ++view) {
    if (random.below(2) == 0) continue;
    Policy& policy = setup.policies[view];
    policy[EXRP_POLICY_FLAGS] += EXRP_PICK_TRANSFORMS;
    policy.insert(policy.end(), {0, EXRP_TRANSFORM_NORMALIZE, EXRP_TYPE_FLOAT32, 1e-8, 10, 0, 0, 0, 0, 0, 1});
  }
  // More than there will be.
  if (random.below(2) == 0) setup.config[EXRP_CONFIG_RESIDENT_BYTES] = 1 << 30;
  return setup;
}

}  // namespace exrp::test
