// Several threads at one replay. Writers record, a learner draws and sets priorities, another reads and forgets, a third saves, and threads
// come and go. Each row carries a number that follows from its other numbers, so a torn row is seen. Each writer's own records must come
// out in its own order. Under TSan this is the test that nobody touches a replay without its lock.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/kernel/listed_episodes.hpp"
#include "tests/kernel/share_rows.hpp"

namespace {

using namespace exrp::test;
using exrp::Random;

/// Writers, a learner, a reader that forgets, one that saves, all at once.
void stress(const Options& options, uint64_t seed, uint32_t chunks, uint32_t rows = 1) {
  const uint32_t replay = make(options);
  const Ticket ticket(replay);
  constexpr uint32_t writerCount = 3;
  std::atomic<uint32_t> writing = writerCount;
  std::vector<std::thread> threads;
  for (uint32_t writer = 1; writer <= writerCount; ++writer) {
    threads.emplace_back([&, writer] {
      Random random(seed, writer);
      uint32_t id = ticket.attach();
      uint32_t episode = 0;
      double handle = 0;
      CHECK_EQUAL(exrp_episode_create(id, &handle), 0);
      uint32_t position = 0;
      for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
        const auto count = static_cast<uint32_t>(1 + random.below(40));
        const bool ends = random.below(4) == 0;
        const uint32_t flags = ends ? EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS : 0;
        CHECK_EQUAL(Steps(id, count).record(id, &handle, writer, episode, position, flags, random), 0);
        position = ends ? 0 : position + count;
        episode += ends ? 1 : 0;
        if (random.below(30) != 0) continue;
        // Another seat, by the same thread: the first one's episode ends.
        CHECK_EQUAL(exrp_replay_destroy(id), 0);
        id = ticket.attach();
        CHECK_EQUAL(exrp_episode_create(id, &handle), 0);
        position = 0;
        ++episode;
      }
      // Half of them give their seat back. The others end without.
      if (writer % 2 == 0) CHECK_EQUAL(exrp_replay_destroy(id), 0);
      --writing;
    });
  }
  threads.emplace_back([&] {
    Random random(seed, 100);
    const uint32_t id = ticket.attach();
    while (writing.load() > 0) {
      Batch batch(id, static_cast<uint32_t>(1 + random.below(100)));
      const auto selector = static_cast<uint32_t>(random.below(2));
      const int32_t status = batch.draw(id, selector);
      if (status == EXRP_STATUS_EMPTY) continue;
      CHECK_EQUAL(status, 0);
      batch.check(rows);
      std::vector<double> priorities(batch.count);
      for (double& priority : priorities) priority = random.uniform();
      setPriorities(id, 0, batch.handles(), batch.positions(), priorities);
    }
  });
  threads.emplace_back([&] {
    Random random(seed, 200);
    const uint32_t id = ticket.attach();
    while (writing.load() > 0) {
      // What several calls say fits together under a hold.
      CHECK_EQUAL(exrp_hold_begin(id), 0);
      const auto count = static_cast<uint32_t>(infoOf(id, EXRP_INFO_EPISODE_COUNT));
      const ListedEpisodes list(id, count);
      CHECK_EQUAL(list.count, count);
      const std::vector<double>& episodes = list.handles;
      std::vector<uint32_t> counts(count + 1);
      std::vector<uint32_t> firsts(count + 1);
      std::vector<uint32_t> endings(count + 1);
      CHECK_EQUAL(exrp_episode_counts(id, episodes.data(), count, counts.data(), firsts.data(), endings.data()), 0);
      double sum = 0;
      for (uint32_t at = 0; at < count; ++at) sum += counts[at];
      CHECK(sum == infoOf(id, EXRP_INFO_RECORD_COUNT));
      for (uint32_t at = 0; at < count; ++at) CHECK(list.recordCounts[at] == counts[at] && list.firsts[at] == firsts[at]);
      for (uint32_t at = 0; at < count; ++at) {
        std::vector<uint32_t> states(size_t{counts[at]} * stateCount);
        const auto first = static_cast<int32_t>(firsts[at]);
        if (counts[at] == 0) continue;
        CHECK_EQUAL(exrp_rows_get(id, 0, &episodes[at], &first, 1, counts[at], reinterpret_cast<uint8_t*>(states.data()),
                                  static_cast<double>(states.size() * 4)),
                    0);
        // One writer's records, in its order.
        for (uint32_t row = 0; row < counts[at]; ++row) {
          const uint32_t* const state = &states[size_t{row} * stateCount];
          CHECK(isWhole(state) && state[0] == states[0] && state[1] == states[1] && state[2] == states[2] + row);
        }
      }
      if (count > 0 && random.below(3) == 0) CHECK_EQUAL(exrp_episode_evict(id, episodes[0]), 0);
      CHECK_EQUAL(exrp_hold_end(id), 0);
      std::this_thread::yield();
    }
  });
  threads.emplace_back([&] {
    const uint32_t id = ticket.attach();
    while (writing.load() > 0) {
      CHECK_EQUAL(exrp_hold_begin(id), 0);
      Snapshot whole;
      CHECK(!takeSnapshot(id, 0, &whole));
      CHECK_EQUAL(exrp_replay_save_begin(id), 0);
      CHECK_EQUAL(exrp_hold_end(id), 0);
      // The others go on, and the snapshot stays that of its beginning.
      double info[2];
      CHECK_EQUAL(exrp_section_info(id, EXRP_SECTION_RECORDS, info, 2), 0);
      std::vector<uint8_t> saved(static_cast<size_t>(info[0] * info[1]));
      for (double first = 0; first < info[0]; first += 16) {
        const auto count = static_cast<uint32_t>(info[0] - first < 16 ? info[0] - first : 16);
        uint8_t* const to = saved.data() + static_cast<size_t>(first * info[1]);
        CHECK_EQUAL(exrp_section_read(id, EXRP_SECTION_RECORDS, first, count, to, count * info[1]), 0);
        if (static_cast<uint32_t>(first) % 64 == 0) std::this_thread::yield();
      }
      CHECK(saved == whole[EXRP_SECTION_RECORDS]);
      CHECK_EQUAL(exrp_replay_save_end(id), 0);
      CHECK_EQUAL(broken(id), 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(broken(replay), 0);
  double info[EXRP_SHARE_INFO_COUNT];
  CHECK_EQUAL(exrp_share_info(replay, info, EXRP_SHARE_INFO_COUNT), 0);
  CHECK(info[EXRP_SHARE_INFO_SEATS] == 1);
  CHECK(info[EXRP_SHARE_INFO_ENDED] == 5);  // two writers, the learner, the reader, and the one that saves
  CHECK_EQUAL(exrp_replay_destroy(replay), 0);
}

/// The open episodes of a seat that goes.
void ends() {
  Options options;
  options.capacity = 100;
  const uint32_t replay = make(options);
  const Ticket ticket(replay);
  Random random(3, 1);
  const auto stateOf = [&](double handle, uint32_t* count) {
    double info[EXRP_EPISODE_INFO_COUNT];
    CHECK_EQUAL(exrp_episode_info(replay, handle, info, EXRP_EPISODE_INFO_COUNT), 0);
    *count = static_cast<uint32_t>(info[EXRP_EPISODE_RECORD_COUNT]);
    return static_cast<uint32_t>(info[EXRP_EPISODE_STATE]);
  };
  double own = 0;
  CHECK_EQUAL(exrp_episode_create(replay, &own), 0);
  CHECK_EQUAL(Steps(replay, 3).record(replay, &own, 0, 0, 0, 0, random), 0);
  double handles[4] = {};
  std::thread other([&] {
    const uint32_t id = ticket.attach();
    // 16 records fill a block: the state that becomes the final one is the last of it.
    const uint32_t counts[] = {16, 17, 1, 0};
    for (uint32_t at = 0; at < 4; ++at) {
      CHECK_EQUAL(exrp_episode_create(id, &handles[at]), 0);
      if (counts[at] > 0) CHECK_EQUAL(Steps(id, counts[at]).record(id, &handles[at], 1, at, 0, 0, random), 0);
    }
    // Also the record that goes at the end is released.
    CHECK_EQUAL(exrp_records_release(id, handles[1], 17), 0);
  });
  other.join();
  CHECK_EQUAL(broken(replay), 0);
  uint32_t count = 0;
  CHECK_EQUAL(stateOf(handles[0], &count), EXRP_EPISODE_TRUNCATED);
  CHECK_EQUAL(count, 15);
  CHECK_EQUAL(stateOf(handles[1], &count), EXRP_EPISODE_TRUNCATED);
  CHECK_EQUAL(count, 16);
  CHECK_EQUAL(stateOf(handles[2], &count), EXRP_EPISODE_EVICTED);
  CHECK_EQUAL(stateOf(handles[3], &count), EXRP_EPISODE_EVICTED);
  CHECK_EQUAL(stateOf(own, &count), EXRP_EPISODE_OPEN);
  const int32_t last = 15;
  std::vector<uint32_t> state(stateCount);
  CHECK_EQUAL(exrp_rows_get(replay, 0, handles, &last, 1, 1, reinterpret_cast<uint8_t*>(state.data()), stateBytes()), 0);
  CHECK(isWhole(state.data()) && state[2] == 15);
  CHECK(infoOf(replay, EXRP_INFO_RECORD_COUNT) == 15 + 16 + 3);
  CHECK(infoOf(replay, EXRP_INFO_PICK_COUNT) == 15 + 16 + 2);
  uint32_t reaped = 0;
  CHECK_EQUAL(exrp_share_reap(replay, &reaped), 0);
  CHECK_EQUAL(reaped, 1);
  CHECK_EQUAL(exrp_share_reap(replay, &reaped), 0);
  CHECK_EQUAL(reaped, 0);
  CHECK_EQUAL(exrp_replay_destroy(replay), 0);
}

/// The newest pick of an episode that is left goes alone: its others, which stand last in the table, stay.
void openEnds() {
  Options options;
  options.capacity = 100;
  options.length = 2;
  options.flags = EXRP_PICK_ALLOW_SHORT | EXRP_PICK_ALLOW_OPEN_END;
  const uint32_t replay = make(options);
  const Ticket ticket(replay);
  Random random(3, 1);
  const uint32_t id = ticket.attach();
  double handles[3];
  for (uint32_t at = 0; at < 3; ++at) CHECK_EQUAL(exrp_episode_create(id, &handles[at]), 0);
  // Picks of three episodes by turns.
  for (uint32_t position = 0; position < 20; ++position) {
    for (uint32_t at = 0; at < 3; ++at) CHECK_EQUAL(Steps(id, 1).record(id, &handles[at], 1, at, position, 0, random), 0);
  }
  CHECK_EQUAL(exrp_replay_destroy(id), 0);
  CHECK_EQUAL(broken(replay), 0);
  CHECK(infoOf(replay, EXRP_INFO_RECORD_COUNT) == 3 * 19 && infoOf(replay, EXRP_INFO_PICK_COUNT) == 3 * 19);
  CHECK_EQUAL(exrp_replay_destroy(replay), 0);
}

/// One call that writes and evicts so many large episodes that blocks are wanted whose copies the call itself has put off.
void manyEpisodesAtOnce() {
  Options options;
  options.capacity = 40;
  const uint32_t replay = make(options);
  const Ticket ticket(replay);
  constexpr uint32_t count = 150;
  std::vector<double> offsets(EXRP_STEPS_COLUMN + 3);
  CHECK_EQUAL(exrp_steps_layout(replay, count, offsets.data(), static_cast<uint32_t>(offsets.size())), 0);
  const auto at = [&](uint32_t part) { return static_cast<size_t>(offsets[part]); };
  std::vector<uint8_t> steps(at(EXRP_STEPS_FINAL_STATE) + size_t{count} * stateBytes());
  std::vector<uint32_t> state(stateCount);
  for (uint32_t step = 0; step < count; ++step) {
    steps[at(EXRP_STEPS_FLAGS) + step] = EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS;
    writeState(state.data(), 1, step, 0, 5);
    memcpy(steps.data() + at(EXRP_STEPS_COLUMN) + size_t{step} * stateBytes(), state.data(), stateBytes());
    writeState(state.data(), 1, step, 1, 6);
    memcpy(steps.data() + at(EXRP_STEPS_FINAL_STATE) + size_t{step} * stateBytes(), state.data(), stateBytes());
  }
  double handle = 0;
  CHECK_EQUAL(exrp_episode_create(replay, &handle), 0);
  uint32_t done[2] = {};
  std::vector<double> episodes(count);
  while (done[0] < count) {
    CHECK_EQUAL(exrp_record_flat(replay, &handle, steps.data(), static_cast<double>(steps.size()), count, 0, done, episodes.data(), count), 0);
    CHECK_EQUAL(broken(replay), 0);
  }
  for (uint32_t episode = count - 30; episode < count; ++episode) {
    for (int32_t position = 0; position < 2; ++position) {
      CHECK_EQUAL(exrp_rows_get(replay, 0, &episodes[episode], &position, 1, 1, reinterpret_cast<uint8_t*>(state.data()), stateBytes()), 0);
      CHECK(isWhole(state.data()) && state[1] == episode && state[2] == static_cast<uint32_t>(position));
    }
  }
  CHECK_EQUAL(exrp_replay_destroy(replay), 0);
}

/// Tickets that are no good, seats that are barred, holds that would wait for themselves.
void refusals() {
  const uint32_t replay = make({});
  Ticket ticket(replay);
  const Ticket second(replay);
  const uint32_t first = ticket.attach();
  const uint32_t other = second.attach();
  double handle = 0;
  CHECK_EQUAL(exrp_episode_create(first, &handle), 0);
  uint32_t id = 0;
  // A hold bars the others, and the thread that has it is told so.
  CHECK_EQUAL(exrp_hold_begin(first), 0);
  CHECK_EQUAL(exrp_hold_begin(first), 0);
  CHECK_EQUAL(exrp_episode_create(other, &handle), EXRP_STATUS_HELD);
  CHECK_EQUAL(exrp_replay_attach(ticket.numbers, EXRP_TICKET_COUNT, &id), EXRP_STATUS_HELD);
  CHECK_EQUAL(exrp_hold_end(first), 0);
  CHECK_EQUAL(exrp_episode_create(other, &handle), EXRP_STATUS_HELD);
  CHECK_EQUAL(exrp_hold_end(first), 0);
  CHECK_EQUAL(exrp_hold_end(first), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(exrp_episode_create(other, &handle), 0);
  // A seat that holds can go.
  const uint32_t third = second.attach();
  CHECK_EQUAL(exrp_hold_begin(third), 0);
  CHECK_EQUAL(exrp_hold_begin(third), 0);
  CHECK_EQUAL(exrp_replay_destroy(third), 0);
  CHECK_EQUAL(exrp_episode_create(other, &handle), 0);
  // Another seat's revoke bars those of that ticket only.
  CHECK_EQUAL(exrp_ticket_revoke(replay, ticket.serial()), 0);
  CHECK_EQUAL(exrp_ticket_revoke(replay, 99), EXRP_STATUS_ARGUMENT);
  CHECK_EQUAL(exrp_episode_create(first, &handle), EXRP_STATUS_REVOKED);
  CHECK_EQUAL(exrp_hold_begin(first), EXRP_STATUS_REVOKED);
  CHECK_EQUAL(exrp_replay_attach(ticket.numbers, EXRP_TICKET_COUNT, &id), EXRP_STATUS_TICKET);
  double detail[1];
  CHECK_EQUAL(exrp_error_detail(detail, 1), 0);
  CHECK(detail[0] == EXRP_TICKET_REVOKED);
  CHECK_EQUAL(exrp_episode_create(other, &handle), 0);
  CHECK_EQUAL(exrp_replay_destroy(first), 0);
  CHECK_EQUAL(broken(replay), 0);
  // A shared replay has no journal, and loads nothing.
  CHECK_EQUAL(exrp_journal_open(replay, 0), EXRP_STATUS_NOT_SHARABLE);
  CHECK_EQUAL(exrp_snapshot_end(replay), EXRP_STATUS_NOT_SHARABLE);
  // The creator goes first; the last one frees the replay.
  CHECK_EQUAL(exrp_replay_destroy(replay), 0);
  CHECK_EQUAL(exrp_replay_destroy(replay), EXRP_STATUS_REPLAY_UNKNOWN);
  CHECK_EQUAL(exrp_episode_create(other, &handle), 0);
  CHECK_EQUAL(broken(other), 0);
  CHECK_EQUAL(exrp_replay_destroy(other), 0);
  CHECK_EQUAL(exrp_replay_attach(second.numbers, EXRP_TICKET_COUNT, &id), EXRP_STATUS_TICKET);
  CHECK_EQUAL(exrp_error_detail(detail, 1), 0);
  CHECK(detail[0] == EXRP_TICKET_GONE);
  double foreign[EXRP_TICKET_COUNT] = {second.numbers[0] + 1, second.numbers[1], second.numbers[2]};
  CHECK_EQUAL(exrp_replay_attach(foreign, EXRP_TICKET_COUNT, &id), EXRP_STATUS_TICKET);
  CHECK_EQUAL(exrp_error_detail(detail, 1), 0);
  CHECK(detail[0] == EXRP_TICKET_OTHER_KERNEL);
  CHECK_EQUAL(exrp_replay_count(), 0);

  Options options;
  options.eviction = EXRP_EVICTION_EXTERNAL;
  const uint32_t external = make(options);
  double numbers[EXRP_TICKET_COUNT];
  CHECK_EQUAL(exrp_replay_share(external, numbers, EXRP_TICKET_COUNT), EXRP_STATUS_NOT_SHARABLE);
  CHECK_EQUAL(exrp_replay_destroy(external), 0);
  const uint32_t heard = make({});
  CHECK_EQUAL(exrp_journal_open(heard, 0), 0);
  CHECK_EQUAL(exrp_replay_share(heard, numbers, EXRP_TICKET_COUNT), EXRP_STATUS_NOT_SHARABLE);
  CHECK_EQUAL(exrp_replay_destroy(heard), 0);
}

/// A thread that ends while it holds the replay by one of its seats, whichever of them the kernel takes back first.
void endsWhileHolding() {
  const uint32_t replay = make({});
  const Ticket ticket(replay);
  for (uint32_t holder = 0; holder < 3; ++holder) {
    double handle = 0;
    std::thread other([&] {
      const uint32_t seats[] = {ticket.attach(), ticket.attach(), ticket.attach()};
      CHECK_EQUAL(exrp_episode_create(seats[1], &handle), 0);
      CHECK_EQUAL(exrp_hold_begin(seats[holder]), 0);
      CHECK_EQUAL(exrp_hold_begin(seats[holder]), 0);
    });
    other.join();
    double info[EXRP_SHARE_INFO_COUNT];
    CHECK_EQUAL(exrp_share_info(replay, info, EXRP_SHARE_INFO_COUNT), 0);
    CHECK(info[EXRP_SHARE_INFO_SEATS] == 1);
    uint32_t reaped = 0;
    CHECK_EQUAL(exrp_share_reap(replay, &reaped), 0);
    CHECK_EQUAL(reaped, 3);
    CHECK_EQUAL(broken(replay), 0);
  }
  CHECK_EQUAL(exrp_replay_destroy(replay), 0);
}

/// Batches ordered ahead by a seat, while another records and the first one holds now and then.
/// A seat that holds the replay draws a large batch, which a second thread helps to copy. Then nobody copies any more: blocks that go are used again.
void drawsMuchWhileHolding() {
  Options options;
  options.capacity = 40;
  const uint32_t replay = make(options);
  const Ticket ticket(replay);
  Random random(9, 1);
  double handle = 0;
  CHECK_EQUAL(exrp_episode_create(replay, &handle), 0);
  CHECK_EQUAL(Steps(replay, 40).record(replay, &handle, 1, 0, 0, 0, random), 0);
  CHECK_EQUAL(exrp_hold_begin(replay), 0);
  Batch batch(replay, 1000);
  CHECK_EQUAL(batch.draw(replay, 1), 0);
  batch.check();
  CHECK_EQUAL(exrp_hold_end(replay), 0);
  for (uint32_t position = 40; position < 4000; position += 40) CHECK_EQUAL(Steps(replay, 40).record(replay, &handle, 1, 0, position, 0, random), 0);
  // Each of many short episodes takes a block, so all blocks are used.
  for (uint32_t episode = 1; episode < 20'000; ++episode) {
    double other = 0;
    CHECK_EQUAL(exrp_episode_create(replay, &other), 0);
    CHECK_EQUAL(Steps(replay, 1).record(replay, &other, 1, episode, 0, EXRP_RECORD_ENDS, random), 0);
  }
  CHECK_EQUAL(broken(replay), 0);
  CHECK_EQUAL(exrp_replay_destroy(replay), 0);
}

void orders() {
  const uint32_t replay = make({});
  const Ticket ticket(replay);
  Random random(5, 1);
  double handle = 0;
  CHECK_EQUAL(exrp_episode_create(replay, &handle), 0);
  CHECK_EQUAL(Steps(replay, 50).record(replay, &handle, 0, 0, 0, 0, random), 0);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    Random own(5, 2);
    const uint32_t id = ticket.attach();
    double episode = 0;
    CHECK_EQUAL(exrp_episode_create(id, &episode), 0);
    for (uint32_t turn = 0; !stop.load(); ++turn) CHECK_EQUAL(Steps(id, 10).record(id, &episode, 1, 0, 10 * turn, 0, own), 0);
  });
  for (uint32_t turn = 0; turn < 200; ++turn) {
    Batch batch(replay, 64);
    double order = 0;
    CHECK_EQUAL(batch.order(replay, &order), 0);
    std::thread runner([&] { CHECK_EQUAL(exrp_batch_run(replay, order, batch.bytes.data(), batch.size()), 0); });
    if (turn % 3 == 0) {
      CHECK_EQUAL(exrp_hold_begin(replay), 0);
      CHECK_EQUAL(broken(replay), 0);
      CHECK_EQUAL(exrp_hold_end(replay), 0);
    }
    runner.join();
    CHECK_EQUAL(exrp_batch_take(replay, order), 0);
    batch.check();
  }
  stop = true;
  writer.join();
  CHECK_EQUAL(exrp_replay_destroy(replay), 0);
}

}  // namespace

int main() {
  refusals();
  ends();
  openEnds();
  orders();
  for (const uint32_t eviction : {uint32_t{EXRP_EVICTION_FIFO}, uint32_t{EXRP_EVICTION_LRU}, uint32_t{EXRP_EVICTION_LOWEST_PRIORITY_FIRST}}) {
    Options options;
    options.eviction = eviction;
    stress(options, 11 + eviction, 150);
  }
  Options sequences;
  sequences.capacity = 300;
  sequences.flags = EXRP_PICK_ALLOW_SHORT | EXRP_PICK_ALLOW_OPEN_END;
  stress(sequences, 23, 150);
  // Large states. With few records, blocks are wanted while others still copy from them.
  stateCount = 400;
  manyEpisodesAtOnce();
  ends();
  endsWhileHolding();
  drawsMuchWhileHolding();
  orders();
  for (const uint32_t eviction : {uint32_t{EXRP_EVICTION_FIFO}, uint32_t{EXRP_EVICTION_RESERVOIR}}) {
    for (const uint32_t capacity : {40u, 1000u}) {
      Options large;
      large.capacity = capacity;
      large.eviction = eviction;
      stress(large, 31 + eviction + capacity, 75);
    }
  }
  Options windows;
  windows.capacity = 200;
  windows.length = 3;
  windows.flags = EXRP_PICK_ALLOW_SHORT | EXRP_PICK_MASKS;
  stress(windows, 41, 75, 3);
  CHECK_EQUAL(exrp_replay_count(), 0);
  return checkResult("share_test");
}
