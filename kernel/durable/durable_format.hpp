// What a durable replay writes into its log: the types of frames, the commands in them, and the heads of their payloads.
// docs/internals/durable_format.md describes each.
//
// A replay is deterministic: equal calls have equal results. So the log has the calls that changed it, as commands, and the rows apart, block by
// block. A group is what came between two moments at which all belongs together: commands, the rows of all blocks that they filled, and a frame
// that ends it. Only whole groups count.
//
// Thread safety: plain data.
#pragma once

#include <cstdint>

namespace exrp {

enum DurableFrame : uint32_t {
  commandsFrame = 1,       // commands, one behind the other
  rowsFrame = 2,           // the rows of one block, as writeLoggedBlock() has them, and the next state of its episode
  carriedFrame = 3,        // a handle, and the row of each kept column that the episode carries
  statisticsFrame = 4,     // the running statistics of one column
  groupFrame = 5,          // ends a group (GroupHead), with the caller's own state
  checkpointFrame = 6,     // begins a checkpoint (CheckpointHead), with the commands that made the views and selectors
  sectionFrame = 7,        // items of one section of a snapshot (SectionHead)
  placesFrame = 8,         // where the rows of blocks are: a LogPlace for each, in order of episode and time
  checkpointEndFrame = 9,  // its checkpoint is whole
  discardFrame = 10,       // the frames behind the last group do not count: a crash came before their group ended
  packedRowsFrame = 11,    // as rowsFrame; the rows of some wide columns are packed
};

constexpr bool isOfRows(uint32_t type) { return type == rowsFrame || type == packedRowsFrame; }

/// A part of a group, which counts once the group has ended.
constexpr bool isOfGroup(uint32_t type) { return type == commandsFrame || type == carriedFrame || type == statisticsFrame || isOfRows(type); }

/// A call that changed a replay. Its arguments follow, each as the C ABI has it.
enum class Command : uint32_t {
  writer = 1,      // the seat that makes the calls from here on
  createEpisode,   // nothing
  tagEpisode,      // handle, tag
  recordMany,      // RecordsHead, priorities, tags: one record after the other, of one episode after the other
  recordBatch,     // RecordsHead, handles, flags, priorities, tags: one record of each episode
  recordFlat,      // RecordsHead, flags, priorities, tags
  endEpisode,      // handle, flags
  evictEpisode,    // handle
  clear,           // nothing
  trimEpisode,     // handle, position
  trimOpen,        // nothing
  release,         // handle, position
  setRows,         // PicksHead (number: the column), handles, positions, rows
  createView,      // the policy's numbers
  createSelector,  // SelectorHead, options
  setPriority,     // PicksHead (number: the selector), handles, positions, priorities
  draw,            // DrawHead (number: the selector)
  gather,          // DrawHead (number: the view), indices
  noteDraws,       // DrawHead (number: the log)
  abandon,         // a seat whose open episodes end
  setLimits,       // LimitsHead: the replay is made anew with them, and what does not fit goes
  adopt,           // a program begins: all open episodes are its first seat's
};

struct CommandHead {
  uint32_t command;
  uint32_t bytes;  // of its arguments; the next head follows at a multiple of 8
};
/// In place of a handle: the one that the command before left to go on with.
constexpr double handleBefore = -1;

struct RecordsHead {
  double handle;  // of recordBatch: 0, as each step has its own
  uint32_t flags;
  uint32_t count;
};
struct HandleHead {
  double handle;
  uint32_t number;  // a tag, flags or a position
  uint32_t zero;
};
struct PicksHead {
  uint32_t number;
  uint32_t count;
  uint32_t itemBytes;  // of a priority or a row
  uint32_t zero;
};
struct SelectorHead {
  uint32_t view;
  uint32_t kind;
};
struct LimitsHead {
  uint64_t capacityBytes;  // 0: no limit
  uint64_t ageMax;         // 0: no limit
  uint32_t capacity;
  uint32_t blockLength;  // never changes, but what a capacity makes of it where nobody says it might
};
/// Such a command, as it stands first among those of a checkpoint.
struct LimitsCommand {
  CommandHead head;
  LimitsHead limits;
};
struct DrawHead {
  uint32_t number;
  uint32_t count;
};

struct GroupHead {
  uint64_t number;  // groups before it
  uint32_t hasState;
  uint32_t zero;
};
struct CheckpointHead {
  uint64_t group;   // groups before it
  uint32_t version;
  uint32_t hasState;
  uint32_t stateBytes;    // of the caller's own state, which follows
  // Then these commands, setLimits first; how many picks each log of draws counted, EXRP_LIMIT_LOGS of 8 bytes; and an EpisodeHead for each episode of which a
  // snapshot does not say all.
  uint32_t commandBytes;
  uint32_t writer;  // the seat that made the last call
  uint32_t zero;
};
/// What a snapshot does not say of an episode that is open, or has released records.
struct EpisodeHead {
  double handle;
  uint32_t releasedTo;  // the position of the first record that is not released
  uint32_t writer;      // the seat that recorded into it last
};
struct SectionHead {
  double first;
  uint32_t section;
  uint32_t count;
};
struct StatisticsHead {
  uint64_t records;
  uint32_t column;
  uint32_t count;  // elements: as many means follow, and as many squares
};

constexpr uint32_t durableVersion = 1;

/// The file that says where the newest whole checkpoint begins.
constexpr const char* checkpointName = "checkpoint.exrp";
constexpr const char* newCheckpointName = "checkpoint.new";
constexpr const char* lockName = "lock.exrp";

struct CheckpointFile {
  uint8_t magic[8];
  uint64_t logId;
  uint32_t version;
  uint32_t segment;
  uint32_t offset;
  uint32_t sum;  // CRC-32C of the bytes before
};
static_assert(sizeof(CheckpointFile) == 32);

}  // namespace exrp
