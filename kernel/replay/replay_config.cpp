#include "kernel/replay/replay_config.hpp"

#include "kernel/base/whole_number.hpp"
#include "kernel/store/byte_limit.hpp"

namespace exrp {

Status ReplayConfig::parse(const double* config, uint32_t configCount, const PickPolicy& pick, const uint32_t* columns,
                           uint32_t columnCount, ReplayConfig* parsed) {
  if (configCount != EXRP_CONFIG_COUNT) return fail(Status::argument, 2, configCount);
  const auto number = [&](uint32_t index, double smallest, double largest) {
    return isWhole(config[index], smallest, largest);
  };
  ReplayConfig& to = *parsed;
  to = ReplayConfig{};
  if (!number(EXRP_CONFIG_STATE_COLUMNS, 1, leafMax)) return fail(Status::argument, 1, config[EXRP_CONFIG_STATE_COLUMNS]);
  to.leafCount = static_cast<uint32_t>(config[EXRP_CONFIG_STATE_COLUMNS]);
  const uint32_t extrasFirst = to.leafCount + 2;
  if (columnCount < extrasFirst || columnCount > columnMax) return fail(Status::argument, 6, columnCount);
  if (!pick.fitsLeaves(to.leafCount)) return fail(Status::argument, 4, pick.leafCount);
  if (!number(EXRP_CONFIG_CAPACITY, 1, EXRP_LIMIT_CAPACITY)) {
    return fail(Status::capacity, config[EXRP_CONFIG_CAPACITY], 1, EXRP_LIMIT_CAPACITY);
  }
  to.capacity = static_cast<uint32_t>(config[EXRP_CONFIG_CAPACITY]);
  if (to.capacity < pick.length) return fail(Status::capacity, to.capacity, pick.length, EXRP_LIMIT_CAPACITY);
  if (!number(EXRP_CONFIG_SEGMENT_LENGTH, 0, EXRP_LIMIT_CAPACITY)) return fail(Status::argument, 1, config[EXRP_CONFIG_SEGMENT_LENGTH]);
  to.segmentLength = static_cast<uint32_t>(config[EXRP_CONFIG_SEGMENT_LENGTH]);
  if (!number(EXRP_CONFIG_AGE_MAX, 0, 0x1p53)) return fail(Status::argument, 1, config[EXRP_CONFIG_AGE_MAX]);
  to.ageMax = static_cast<uint64_t>(config[EXRP_CONFIG_AGE_MAX]);
  if (to.ageMax != 0 && to.ageMax < pick.length) return fail(Status::argument, 1, config[EXRP_CONFIG_AGE_MAX]);
  const uint32_t segmentMax = to.ageMax != 0 && to.ageMax < to.capacity ? static_cast<uint32_t>(to.ageMax) : to.capacity;
  const bool cuts = to.segmentLength != 0;
  if (cuts && (to.segmentLength < pick.length || to.segmentLength > segmentMax)) return fail(Status::argument, 1, to.segmentLength);
  if (!cuts) to.segmentLength = positionMax;
  if (!number(EXRP_CONFIG_SEED, 0, 0x1p53)) return fail(Status::argument, 1, config[EXRP_CONFIG_SEED]);
  to.seed = static_cast<uint64_t>(config[EXRP_CONFIG_SEED]);
  // Which numbers are rules, and which options they take, createEvictionPolicy() knows.
  if (!number(EXRP_CONFIG_EVICTION, 0, UINT32_MAX)) return fail(Status::argument, 1, config[EXRP_CONFIG_EVICTION]);
  to.eviction = static_cast<uint32_t>(config[EXRP_CONFIG_EVICTION]);
  if (!number(EXRP_CONFIG_EVICTION_OPTION, 0, UINT32_MAX)) return fail(Status::argument, 1, config[EXRP_CONFIG_EVICTION_OPTION]);
  to.evictionOption = static_cast<uint32_t>(config[EXRP_CONFIG_EVICTION_OPTION]);

  if (!number(EXRP_CONFIG_COMPRESSION, EXRP_COMPRESSION_NONE, EXRP_COMPRESSION_SMALL)) {
    return fail(Status::argument, 1, config[EXRP_CONFIG_COMPRESSION]);
  }
  to.compression = static_cast<uint32_t>(config[EXRP_CONFIG_COMPRESSION]);

  if (!number(EXRP_CONFIG_RESIDENT_BYTES, 0, 0x1p53)) return fail(Status::argument, 1, config[EXRP_CONFIG_RESIDENT_BYTES]);
  to.residentBytes = static_cast<uint64_t>(config[EXRP_CONFIG_RESIDENT_BYTES]);

  double recordBytes = 0;
  double stateBytes = 0;
  uint32_t keptCount = 0;
  to.columnCount = columnCount;
  for (uint32_t index = 0; index < columnCount; ++index) {
    const uint32_t itemBytes = columns[3 * index];
    const uint32_t itemCount = columns[3 * index + 1];
    const uint32_t every = columns[3 * index + 2];
    const double bytes = double{1} * itemBytes * itemCount;
    if (itemBytes == 0 || itemBytes > 8 || (itemBytes & (itemBytes - 1)) != 0) return fail(Status::argument, 5, itemBytes);
    if (itemCount == 0 || bytes > 0x1p30) return fail(Status::argument, 5, itemCount);
    if (every < 1 || every > EXRP_LIMIT_CAPACITY || (every > 1 && (index < extrasFirst || ++keptCount > EXRP_LIMIT_KEPT))) {
      return fail(Status::argument, 5, every);
    }
    to.columns[index] = Column{itemBytes, itemCount, itemBytes * itemCount, every, 0, 0};
    recordBytes += bytes;
    if (index < to.leafCount) stateBytes += bytes;
  }
  if (recordBytes > 0x1p31) return fail(Status::argument, 5, recordBytes);
  if (stateBytes > 0x1p30) return fail(Status::argument, 5, stateBytes);
  if (!pick.fitsReward(columns[3 * (to.leafCount + 1)])) return fail(Status::argument, 3, pick.rewardType);
  const double bytesNeeded = ByteLimit::episodeBytes(to.columns, columnCount, to.leafCount, to.capacity);
  const double capacityBytes = config[EXRP_CONFIG_CAPACITY_BYTES];
  if (!number(EXRP_CONFIG_CAPACITY_BYTES, 0, 0x1p53) || (capacityBytes > 0 && capacityBytes < bytesNeeded)) {
    return fail(Status::argument, 1, capacityBytes);
  }
  to.capacityBytes = static_cast<uint64_t>(capacityBytes);

  const double blockLength = config[EXRP_CONFIG_BLOCK_LENGTH];
  if (!number(EXRP_CONFIG_BLOCK_LENGTH, 0, 1024) || blockLength == 1) return fail(Status::argument, 1, blockLength);
  to.blockLength = static_cast<uint32_t>(blockLength);
  if ((to.blockLength & (to.blockLength - 1)) != 0) return fail(Status::argument, 1, blockLength);
  if (to.blockLength == 0) to.blockLength = 16;
  // Slots are numbered in 32 bits.
  const double blockCount = double{1} * to.capacity + emptyEpisodeSlack + blocksPerRecordMax;
  while (to.blockLength > 2 && blockCount * to.blockLength >= 0x1p32) to.blockLength /= 2;
  return Status::ok;
}

Status ReplayConfig::change(uint32_t toCapacity, uint64_t toBytes, uint64_t toAge, const PickPolicy& pick) {
  // Blocks stay as long as they are, and slots are numbered in 32 bits.
  const double slotCount = (double{1} * toCapacity + emptyEpisodeSlack + blocksPerRecordMax) * blockLength;
  const bool isTooLarge = toCapacity > EXRP_LIMIT_CAPACITY || (blockLength > 2 && slotCount >= 0x1p32);
  if (toCapacity < 1 || toCapacity < pick.length || isTooLarge) return fail(Status::capacity, toCapacity, pick.length, EXRP_LIMIT_CAPACITY);
  if (toAge != 0 && toAge < pick.length) return fail(Status::argument, 1, static_cast<double>(toAge));
  const uint64_t segmentMax = toAge != 0 && toAge < toCapacity ? toAge : toCapacity;
  if (segmentLength != positionMax && segmentLength > segmentMax) return fail(Status::argument, 1, segmentLength);
  const double bytesNeeded = ByteLimit::episodeBytes(columns, columnCount, leafCount, toCapacity);
  if (toBytes != 0 && static_cast<double>(toBytes) < bytesNeeded) return fail(Status::argument, 1, static_cast<double>(toBytes));
  capacity = toCapacity;
  capacityBytes = toBytes;
  ageMax = toAge;
  return Status::ok;
}

}  // namespace exrp
