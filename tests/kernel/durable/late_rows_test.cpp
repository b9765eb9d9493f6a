// Rows that change, or whose block goes, before the log's buffers have them: the group that has ended keeps those that it was told.
#include "kernel/store/logged_rows.hpp"
#include "tests/kernel/durable/durable_side.hpp"
#include "tests/kernel/log/simulated_disk.hpp"

using namespace exrp;
using namespace exrp::test;

namespace {

constexpr uint32_t width = 200;
constexpr uint32_t rowBytes = 4 * width;
constexpr uint32_t steps = 32;  // of an episode: two blocks
constexpr uint32_t episodes = 10;

/// Rows in one array, packed ones, and ones that may leave memory.
TestSetup setupOf(uint32_t form) {
  TestSetup setup = {.capacity = episodes * steps, .seed = 7, .columns = {4, width, 1, 4, 1, 1, 4, 1, 1}};
  setup.compression = form == 1 ? EXRP_COMPRESSION_FAST : EXRP_COMPRESSION_NONE;
  setup.residentBytes = form == 2 ? 1 << 20 : 0;
  return setup;
}

double record(const Side& side, uint32_t number) {
  double handle = -1;
  CHECK_EQUAL(exrp_episode_create(side.id(), &handle), 0);
  TestSteps made(side.id(), steps, 3, rowBytes);
  for (size_t k = 0; k < size_t{steps} * width; ++k) made.part<float>(EXRP_STEPS_COLUMN)[k] = static_cast<float>(1000 * number + k / width);
  const double begun = handle;
  CHECK_EQUAL(made.recordMany(side.id(), &handle), 0);
  const std::vector<uint8_t> final(rowBytes, 1);
  uint32_t ended = 0;
  CHECK_EQUAL(exrp_episode_end(side.id(), handle, final.data(), rowBytes, 0, &ended), 0);
  return begun;
}

double group(const Side& side) {
  double ticket = 0;
  CHECK_EQUAL(exrp_durable_group(side.id(), nullptr, 0, 0, &ticket), 0);
  return ticket;
}

/// Changes a row of each of the last episodes, lets the first ones go, and records others in their memory.
void change(const Side& side, const std::vector<double>& handles) {
  const std::vector<uint8_t> row(rowBytes, 99);
  for (uint32_t episode = episodes / 2; episode < episodes; ++episode) {
    const int32_t position = static_cast<int32_t>(episode);
    uint32_t updated = 0;
    CHECK_EQUAL(exrp_rows_set(side.id(), 0, &handles[episode], &position, 1, row.data(), rowBytes, &updated), 0);
    CHECK_EQUAL(updated, 1);
  }
  for (uint32_t episode = 0; episode < episodes / 2; ++episode) CHECK_EQUAL(exrp_episode_evict(side.id(), handles[episode]), 0);
  for (uint32_t episode = 0; episode < episodes / 2; ++episode) record(side, 100 + episode);
}

void run(uint32_t form) {
  SimulatedDisk disk(form);
  DurableOptions options;
  options.log.isThreaded = false;
  options.log.flushIntervalMs = 0;
  options.groupBytes = 1 << 30;
  options.hasState = true;  // so that a group ends only here
  RecoveryReport report;
  Side side = {{setupOf(form).create()}};
  CHECK_EQUAL(openDurable(side, disk, options, true, &report), Status::ok);
  Side twin = {{setupOf(0).create()}};
  std::vector<double> handles;
  for (uint32_t episode = 0; episode < episodes; ++episode) {
    handles.push_back(record(side, episode));
    CHECK_EQUAL(record(twin, episode), handles.back());
  }
  const double ticket = group(side);
  change(side, handles);
  CHECK_EQUAL(exrp_durable_wait(side.id(), ticket, UINT32_MAX), 0);
  side.instance().durable->abandon();
  side.destroy();
  disk.kill();
  Side again = {{setupOf(form).create()}};
  CHECK_EQUAL(openDurable(again, disk, options, false, &report), Status::ok);
  CHECK_EQUAL(report.groupCount, 1);
  const char* const differs = difference(again, twin);
  CHECK_EQUAL(std::string(differs == nullptr ? "" : differs), "");
  again.destroy();
  twin.destroy();
}

}  // namespace

int main() {
  for (uint32_t form = 0; form < 3; ++form) run(form);
  return checkResult("durable/late_rows");
}
