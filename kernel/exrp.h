/*
 * exrp.h: the C ABI of the replay kernel. Valid C99. The file is long because it is the whole contract.
 *
 * Conventions
 *  1. Names are exrp_<noun>_<verb>, constants EXRP_<GROUP>_<NAME>. Only what this header names is exported.
 *  2. A function that can fail returns an int32_t status. Results leave through out-pointers, which are the last parameters. The
 *     kernel writes them only on success. A call that fails has changed nothing that a caller can see. A status never changes its number.
 *  3. Objects are integer ids. The id of a replay carries a generation, so a stale id gives a status, not a crash.
 *     Pick views and selectors are numbered 0, 1, ... within their replay, in order of creation. They live as long as the replay.
 *  4. The caller owns every buffer. No buffer is null unless a line says so, and each comes with its size. A count is a number of
 *     elements, a size a number of bytes; the name says which. The kernel keeps no pointer after a call, except exrp_batch_order.
 *  5. Scalars are uint32_t, int32_t, float, double. A double carries counts, sizes and episode handles: exact integers up to 2^53.
 *  6. No callbacks, no variable arguments, no structs by value.
 *  7. Bytes in memory are in the order of the machine. Every supported platform is little-endian.
 *  8. Thread safety: any thread may create, use and destroy ids. Calls by one id come from one thread, one at a time. Several threads may
 *     use one replay, each by an id of its own: see exrp_replay_share. EXRP_SLOW functions are the exception: bindings call them from
 *     another thread, at any time.
 *     When a thread ends, the kernel destroys the ids that it created. The end of the process is not the end of a thread.
 *  9. exrp_error_detail gives up to four numbers about this thread's last failure. Each status below lists its numbers.
 */
#ifndef EXRP_H
#define EXRP_H

#include <stdint.h>

#if defined(_WIN32)
#if defined(EXRP_BUILD)
#define EXRP_API __declspec(dllexport)
#else
#define EXRP_API __declspec(dllimport)
#endif
#else
#define EXRP_API __attribute__((visibility("default")))
#endif

#define EXRP_SLOW EXRP_API

/* A buffer of `const` elements is read, any other is written. One that this word stands before is read and written. A binding that copies
 * buffers, as one for WebAssembly does, needs to know. */
#define EXRP_INOUT

#ifdef __cplusplus
extern "C" {
#endif

/* Changes whenever a function, a constant or the meaning of one changes. A number for a new selector or eviction policy changes nothing: an
 * older kernel refuses it. */
#define EXRP_ABI_VERSION 16

/* Statuses. 1x argument, 2x state, 3x resource, 4x data. In brackets: the numbers of detail. */
#define EXRP_STATUS_OK 0
#define EXRP_STATUS_ARGUMENT 10          /* an argument is out of its range [which, 1-based; value] */
#define EXRP_STATUS_REPLAY_UNKNOWN 11    /* no such replay, or destroyed [id] */
#define EXRP_STATUS_EPISODE_UNKNOWN 12   /* no episode has had this handle [handle, next handle] */
#define EXRP_STATUS_SELECTOR_UNKNOWN 13  /* no such selector [id, count] */
#define EXRP_STATUS_PRIORITY_INVALID 14  /* NaN, negative or infinite [index, value] */
#define EXRP_STATUS_BATCH_SIZE 15        /* not 1..EXRP_LIMIT_BATCH [count, largest] */
#define EXRP_STATUS_BUFFER_SIZE 16       /* a buffer is too small [bytes or elements given, needed] */
#define EXRP_STATUS_CAPACITY 17          /* too small for one pick, or too large [capacity, smallest, largest] */
#define EXRP_STATUS_PICK_INDEX 18        /* an index that is not in the pick view [index in the argument, pick index, pick count] */
#define EXRP_STATUS_EPISODE_TWICE 19     /* two steps of a batch have the same handle [handle, index of the first step, of the second] */
#define EXRP_STATUS_EMPTY 20             /* a batch from an empty pick view [record count] */
#define EXRP_STATUS_EPISODE_ENDED 21     /* a record for an episode that has ended [handle, its record count, or -1 where it was
                                            evicted since] */
#define EXRP_STATUS_FULL 22              /* the caller must evict an ended episode first; open ones may have lost records before
                                            [record count, capacity, the handle of the episode that must go, as it is too old or all
                                            released, or -1 where the caller chooses] */
#define EXRP_STATUS_ORDER 23             /* calls of a snapshot out of order, or a second snapshot while one is read, or a draw
                                            or change while it is loaded, or addresses of rows that a mirror lacks [section, expected first item, given] */
#define EXRP_STATUS_RECORD_UNKNOWN 24    /* rows that are not stored [index in the argument, handle, position, the episode's rows have positions
                                            below this; or, where the position's record is gone, minus the first position] */
#define EXRP_STATUS_NOT_SHARABLE 25      /* a call that a shared replay can't have, or a replay that can't be shared [EXRP_SHARE_*] */
#define EXRP_STATUS_TICKET 26            /* nobody can attach by this ticket [EXRP_TICKET_*] */
#define EXRP_STATUS_REVOKED 27           /* the ticket by which this id came was revoked [ticket] */
#define EXRP_STATUS_HELD 28              /* this thread holds the replay by another id: the call would wait for ever */
#define EXRP_STATUS_RATE_LIMITER 29      /* the rate limiter holds the call back for now [EXRP_ALLOW_*; how many were asked for; how many may come now;
                                            records stored] */
#define EXRP_STATUS_MEMORY 30            /* no memory [bytes asked for, bytes the machine has or 0] */
#define EXRP_STATUS_LIMIT 31             /* too many replays, pick views, selectors or mirrors [largest] */
#define EXRP_STATUS_JOURNAL_FULL 32      /* no room in a journal for the events that the call can cause: read it first [events in it, largest] */
#define EXRP_STATUS_ORDERS_FULL 33       /* too many ordered batches are not yet taken [largest] */
#define EXRP_STATUS_RATE_LIMITER_SIZE 34 /* the band of the rate limiter is too narrow for the call [EXRP_ALLOW_*; how many were asked for; the size
                                            of a call of the other kind that waits for this one as this one would for it, or 0; how wide the band must
                                            be] */
#define EXRP_STATUS_DATA_CORRUPT 40      /* a snapshot holds impossible values [section, item, which rule] */
#define EXRP_STATUS_DATA_MISMATCH 41     /* a snapshot of another schema, or of other selectors or eviction [section, expected, found] */
/* 5x tables. A key of 64 bits is two numbers: its high and its low half. An item's index is that in its message, from 0. */
#define EXRP_STATUS_TABLES_UNKNOWN 50    /* no such set of tables, or destroyed [id] */
#define EXRP_STATUS_TABLE_UNKNOWN 51     /* a set has no table of this number or name [item's index, or -1; number, or -1; count of tables] */
#define EXRP_STATUS_STREAM_UNKNOWN 52    /* no such inserter or sampler, or closed [id] */
#define EXRP_STATUS_MESSAGE 53           /* a message is no protobuf message of this kind [its bytes] */
#define EXRP_STATUS_MESSAGE_EMPTY 54     /* an insert has neither chunks nor items */
#define EXRP_STATUS_CHUNK_UNKNOWN 55     /* an item names a chunk that this inserter doesn't hold [item's index, chunk's key, high and low] */
#define EXRP_STATUS_CHUNKS_KEPT 56       /* a message keeps a chunk that this inserter doesn't hold [keys listed; chunks held; key, high and low] */
#define EXRP_STATUS_ITEM_PRIORITY 57     /* NaN, negative or infinite [item's or update's index; value; key, high and low] */
#define EXRP_STATUS_ITEM_BYTES 58        /* an item's chunks alone are more than its table may have [item's index, bytes, largest] */
#define EXRP_STATUS_ITEM_EMPTY 59        /* an item without any slice of a chunk [item's index; key, high and low] */

#define EXRP_STATUS_ITEM_SLICE 61        /* a slice of an item reaches beyond its chunk [item's index; chunk's key, high and low] */
#define EXRP_STATUS_DAMAGED 60           /* samples or a tensor are not what they must be [EXRP_DAMAGE_*; index of the sample; index of the column] */
#define EXRP_STATUS_LOG 62               /* the log of a durable replay [EXRP_LOG_*; EXRP_DISK_* that failed, or where it is damaged: the segment; the
                                            system's number for it, or the offset; where a block is larger than a frame may be: its bytes; the largest] */

/* What is wrong with a log. */
#define EXRP_LOG_ARGUMENT 1 /* an option that fits no log, or a block or a call that is larger than a frame may be */
#define EXRP_LOG_CLOSED 2   /* the replay is not durable */
#define EXRP_LOG_FULL 3     /* too much waits for the disk */
#define EXRP_LOG_TIMEOUT 4  /* the wait has ended before the disk was done */
#define EXRP_LOG_MEMORY 5   /* no memory */
#define EXRP_LOG_DISK 6     /* the disk failed, now or before: the log has failed for good */
#define EXRP_LOG_EMPTY 7    /* the folder has no log */
#define EXRP_LOG_EXISTS 8   /* the folder has a log */
#define EXRP_LOG_UNKNOWN 9  /* nothing is at this place of the log */
#define EXRP_LOG_DAMAGED 10 /* the log is damaged in its middle */
#define EXRP_LOG_VERSION 11 /* a newer library wrote the log */
#define EXRP_LOG_TAKEN 20   /* another replay has the folder open, in this process or another */
#define EXRP_LOG_UNFIT 21   /* the log is of a replay with other options, or of another library */
#define EXRP_LOG_BUSY 22    /* another copy of the folder is being made */
#define EXRP_LOG_SPACE 23   /* the disk has too little free space for a copy of the folder: so many bytes are missing */
#define EXRP_LOG_ROWS 24    /* the rows of a block can't be read: the segment, the offset, and the system's number, or 0 where they are damaged */
#define EXRP_LOG_RESIDENT 25 /* EXRP_CONFIG_RESIDENT_BYTES is too small: the bytes that rows need now, and the limit */

/* The call of the system that failed. */
#define EXRP_DISK_OPEN_FOLDER 1
#define EXRP_DISK_OPEN 2
#define EXRP_DISK_CLOSE 3
#define EXRP_DISK_SIZE 4
#define EXRP_DISK_READ 5
#define EXRP_DISK_WRITE 6
#define EXRP_DISK_SYNC 7
#define EXRP_DISK_TRUNCATE 8
#define EXRP_DISK_RENAME 9
#define EXRP_DISK_REMOVE 10
#define EXRP_DISK_LIST 11
#define EXRP_DISK_SYNC_FOLDER 12
#define EXRP_DISK_FREE_BYTES 13
#define EXRP_DISK_LOCK 14
#define EXRP_DISK_LINK 15
#define EXRP_DISK_CHECK 16 /* the folder, or a file in it, was removed */

/* Limits. */
#define EXRP_LIMIT_TABLES_SETS 4096    /* sets of tables in use */
#define EXRP_LIMIT_TABLES 64    /* tables of one set */
#define EXRP_LIMIT_TABLES_STREAMS 65536 /* inserters and samplers of one set */
#define EXRP_LIMIT_TABLES_LEFT_ITEMS 65536     /* items of streams that ended, which wait in one table */
#define EXRP_LIMIT_TABLES_LEFT_BYTES 268435456 /* of their chunks, once for each item */
#define EXRP_LIMIT_TABLES_NAME 65536   /* bytes of a table's name */
#define EXRP_LIMIT_TABLES_LOGGED_BYTES 1073741824 /* of a chunk, or of an item without its chunks, in durable tables */
#define EXRP_LIMIT_BATCH 16777216
#define EXRP_LIMIT_CAPACITY 268435456
#define EXRP_LIMIT_COLUMNS 64
#define EXRP_LIMIT_LEAVES 32     /* of a state */
#define EXRP_LIMIT_SELECTORS 64
#define EXRP_LIMIT_PICK_VIEWS 16
#define EXRP_LIMIT_LOGS 128      /* logs of draws: those of the selectors, then the caller's own from EXRP_LIMIT_SELECTORS on */
#define EXRP_LIMIT_NOTED 2048    /* draws that a log keeps */
#define EXRP_LIMIT_ORDERS 32     /* batches of one replay that are ordered and not yet taken */
#define EXRP_LIMIT_KEPT 8        /* columns that only some records keep */
#define EXRP_LIMIT_N_STEPS 8     /* n-step parts of one pick view */
#define EXRP_LIMIT_TRANSFORMS 9  /* of one column, in one pick view */
#define EXRP_LIMIT_TAGS 16       /* tags whose episodes one pick view takes */
#define EXRP_LIMIT_WINDOW 65536  /* frames of a stack, n of an n-step return */
#define EXRP_LIMIT_RANK 32       /* dimensions of a tensor in a message */
#define EXRP_LIMIT_REPLAYS 65536 /* ids in use */
#define EXRP_LIMIT_SEATS 255     /* ids of one replay */
#define EXRP_LIMIT_TICKETS 4096  /* tickets of one replay, ever */

/* Indices into the numbers of exrp_replay_create. */
#define EXRP_CONFIG_CAPACITY 0        /* records, 1..EXRP_LIMIT_CAPACITY */
#define EXRP_CONFIG_SEGMENT_LENGTH 1  /* records after which the kernel cuts an open episode; at most the capacity and the age limit;
                                         0: it cuts at 2^31 - 1 only, as positions are int32 */
#define EXRP_CONFIG_SEED 2            /* an integer, 0..2^53 */
#define EXRP_CONFIG_EVICTION 3        /* EXRP_EVICTION_* */
#define EXRP_CONFIG_BLOCK_LENGTH 4    /* slots, a power of two 2..1024; 0: 16, or less where slot numbers would exceed 32 bits */
#define EXRP_CONFIG_EVICTION_OPTION 5 /* the option of the eviction policy; 0 where it has none */
#define EXRP_CONFIG_CAPACITY_BYTES 6  /* bytes for records and final states, enough for capacity records and a final state; 0: no limit */
#define EXRP_CONFIG_AGE_MAX 7         /* records written since a record, after which it goes; >= length of view 0; 0: no limit */
#define EXRP_CONFIG_STATE_COLUMNS 8   /* leaves of the state, 1..EXRP_LIMIT_LEAVES: they are the first columns */
#define EXRP_CONFIG_COMPRESSION 9     /* EXRP_COMPRESSION_*: of columns of more than 128 bytes, but not of the reward, nor of those that some records keep */
#define EXRP_CONFIG_RESIDENT_BYTES 10 /* of rows in memory, once the replay is durable: sealed blocks of such columns may be on the disk only; 0: all in memory */
#define EXRP_CONFIG_COUNT 11

#define EXRP_COMPRESSION_NONE 0
#define EXRP_COMPRESSION_FAST 1  /* rows of a block are packed once no more come to it */
#define EXRP_COMPRESSION_SMALL 2 /* the same, and what they have in common is in LZ4 */

/* Indices into the numbers of a pick policy. The policy says what a pick of the view is, and which parts of it a batch holds.
 * A batch has ROWS = BEFORE + LENGTH rows per pick.
 * STACK, NEXT_STATE and EXRP_PICK_COMPACT hold for every leaf of the state. Or EXRP_LEAF_COUNT numbers for each leaf follow on the
 * EXRP_POLICY_COUNT of the policy, and then those three are not read. With EXRP_PICK_TRANSFORMS, transforms come last: EXRP_TRANSFORM_COUNT
 * numbers for each, and then how many they are. */
#define EXRP_POLICY_LENGTH 0      /* records of a pick, from its position on, >= 1 */
#define EXRP_POLICY_STRIDE 1      /* picks begin at multiples of this number, >= 1 */
#define EXRP_POLICY_FLAGS 2       /* EXRP_PICK_* */
#define EXRP_POLICY_DISCOUNT 3    /* gamma, 0..1 */
#define EXRP_POLICY_BEFORE 4      /* records before the pick's position that a batch holds too, where the episode has them */
#define EXRP_POLICY_STACK 5       /* frames stacked into one state, >= 1 */
#define EXRP_POLICY_NEXT_STATE 6  /* EXRP_NEXT_STATE_* */
#define EXRP_POLICY_REWARD_TYPE 7 /* EXRP_TYPE_* of the reward column, for returns; as many bytes as an element of the column */
#define EXRP_POLICY_N_STEP 8      /* EXRP_LIMIT_N_STEPS numbers: n of each n-step part, then zeros */
#define EXRP_POLICY_TAG_COUNT 16  /* how many tags follow; 0: the view has picks of all episodes */
#define EXRP_POLICY_TAG 17        /* EXRP_LIMIT_TAGS numbers, int32, rising: only episodes with one of these tags have picks */
#define EXRP_POLICY_COUNT 33

/* Indices into the numbers of a leaf in a pick policy. */
#define EXRP_LEAF_STACK 0      /* as EXRP_POLICY_STACK */
#define EXRP_LEAF_NEXT_STATE 1 /* EXRP_NEXT_STATE_* */
#define EXRP_LEAF_FLAGS 2      /* EXRP_LEAF_COMPACT and the like */
#define EXRP_LEAF_COUNT 3

#define EXRP_LEAF_COMPACT 1   /* as EXRP_PICK_COMPACT */
#define EXRP_LEAF_NO_N_STEP 2 /* no n-step states of this leaf */
#define EXRP_LEAF_FLAGS_ALL 3

#define EXRP_PICK_ALLOW_SHORT 1
#define EXRP_PICK_ALLOW_OPEN_END 2
#define EXRP_PICK_WHOLE 4      /* picks are ended episodes of at most LENGTH records */
#define EXRP_PICK_REVERSED 8   /* rows run backwards in time */
#define EXRP_PICK_ALIGNED 16   /* a pick's position is row BEFORE; else row 0 is the first record that the episode has */
#define EXRP_PICK_ZERO_PADDED 32 /* frames before an episode's first are zero; else they repeat it */
#define EXRP_PICK_COMPACT 64   /* the states have each frame once, oldest first, instead of stacks */
#define EXRP_PICK_MASKS 128    /* the two masks */
#define EXRP_PICK_ENDS 256     /* whether a row terminated its episode, and whether it was cut off after it */
#define EXRP_PICK_RETURN_TO_GO 512 /* the rewards from each row to the end of its episode */
#define EXRP_PICK_TRANSFORMS 1024 /* transforms follow on the policy */
#define EXRP_PICK_FLAGS_ALL 2047

/* Indices into the numbers of a transform. A batch shows the rows of a column as its transforms make them of the stored rows, in order. All parts of a
 * leaf have its transforms: states, next states and n-step states. Returns are of transformed rewards. Rows of padding stay zero.
 * Arithmetic is that of floats, each operation rounded once. After NORMALIZE, LINEAR or CLIP the elements are floats. */
#define EXRP_TRANSFORM_COLUMN 0
#define EXRP_TRANSFORM_KIND 1   /* EXRP_TRANSFORM_* */
#define EXRP_TRANSFORM_TYPE 2   /* EXRP_TYPE_* of the column's stored elements, the same in all its transforms */
#define EXRP_TRANSFORM_NUMBER 3 /* 7 numbers, which the kind says; the others are 0 */
#define EXRP_TRANSFORM_COUNT 10

#define EXRP_TRANSFORM_LINEAR 1    /* scale, offset: x * scale + offset */
#define EXRP_TRANSFORM_CLIP 2      /* least, largest: what is below or above becomes these */
#define EXRP_TRANSFORM_NORMALIZE 3 /* epsilon, limit: (x - mean) / sqrt(variance + epsilon), clipped to -limit..limit. It comes first. The column's
                                      statistics begin with the records that are stored when the first view asks for them */
#define EXRP_TRANSFORM_CROP 4      /* height, width, channels of each picture, pad, height and width that are cut out, how (0 from the centre, 1 at random).
                                      A row is pictures one behind the other. `pad` pixels are added on each side before, which repeat the edge. At random,
                                      each pick has one place for all pictures of a part of the batch. It is not for the reward */
#define EXRP_TRANSFORM_FLOAT16 5   /* no numbers: the nearest float16, ties to even. It comes last */

#define EXRP_NEXT_STATE_COPY 0    /* the next states are a part of their own */
#define EXRP_NEXT_STATE_OVERLAP 1 /* the states have one row more: the next state of the last record */
#define EXRP_NEXT_STATE_NONE 2

#define EXRP_TYPE_OTHER 0 /* such a reward has no returns */
#define EXRP_TYPE_FLOAT32 1
#define EXRP_TYPE_FLOAT64 2
#define EXRP_TYPE_FLOAT16 3
#define EXRP_TYPE_UINT8 4
#define EXRP_TYPE_INT8 5
#define EXRP_TYPE_INT16 6
#define EXRP_TYPE_INT32 7

#define EXRP_EVICTION_EXTERNAL 0  /* the caller evicts: exrp_record returns EXRP_STATUS_FULL until exrp_episode_evict has made room */
#define EXRP_EVICTION_FIFO 1
#define EXRP_EVICTION_SECOND_CHANCE 2
#define EXRP_EVICTION_LRU 3
#define EXRP_EVICTION_LFU 4
#define EXRP_EVICTION_LOWEST_PRIORITY_FIRST 5
#define EXRP_EVICTION_AFTER_DRAWS 6  /* option: draws per pick, 1..2^32 - 2 */
#define EXRP_EVICTION_RESERVOIR 7

#define EXRP_SELECTOR_UNIFORM 1      /* no numbers */
#define EXRP_SELECTOR_PRIORITIZED 2  /* alpha, epsilon, initial priority, normalize (0 batch, 1 view), draw (0 stratified, 1 independent) */
#define EXRP_SELECTOR_UCB 3          /* c, mode (0 greedy, 1 proportional), initial priority */
#define EXRP_SELECTOR_AGE_END 4      /* which end (0 oldest, 1 newest), distinct (1: a batch takes the next pick in age for each place; else 0) */
#define EXRP_SELECTOR_PRIORITY_END 5 /* which end (0 highest, 1 lowest), initial priority */
#define EXRP_SELECTOR_RECENT 6       /* newest, fraction, eta, updates */
#define EXRP_SELECTOR_WITHOUT_REPLACEMENT 7 /* no numbers; a batch larger than the pick view is EXRP_STATUS_BATCH_SIZE. As the sampler of a table, it
                                             * draws in epochs (selectors/without_replacement.hpp), and no batch is too large */
#define EXRP_SELECTOR_RANK_BASED 8   /* alpha, initial priority, normalize (0 batch, 1 view), draw (0 stratified, 1 independent) */
#define EXRP_SELECTOR_PSER 9         /* the numbers of PRIORITIZED, then decay, window (1..1024), retain */
#define EXRP_SELECTOR_CURIOUS 10     /* c, beta, alpha, epsilon, weight of new picks, normalize (0 batch, 1 view), draw (0, 1) */
#define EXRP_SELECTOR_POWER 11       /* exponent, initial priority */

/* Flags of a record. */
#define EXRP_RECORD_ENDS 1       /* the row has a final state: the episode ends */
#define EXRP_RECORD_TRUNCATED 2  /* with ENDS: truncated, not terminated */
#define EXRP_RECORD_BEGINS 4     /* with ENDS: a new episode begins, and the kernel writes its handle back */
#define EXRP_RECORD_PRIORITY 8   /* the row has a first priority, for the pick that begins at the record, in every selector */
#define EXRP_RECORD_NEXT_STATE 16 /* the state after the record stands in the place of the final state. Where the episode goes on, the
                                     kernel keeps it until the episode's next record: exrp_next_states_get reads it */
#define EXRP_RECORD_FINAL 32     /* of exrp_record_flat: the row is no record. Its state ends the episode, as truncated, and a new one
                                    begins. An episode that never had a record stays as it is. One whose records were all trimmed goes */
#define EXRP_RECORD_TAG 64        /* the row has a tag: for the episode that it goes to, where it is the first record of that episode, and for
                                     the episode that begins after it, with BEGINS or FINAL, until a row with a tag comes */

/* Indices into the numbers of exrp_replay_info. */
#define EXRP_INFO_CAPACITY 0
#define EXRP_INFO_EPISODE_COUNT 1
#define EXRP_INFO_RECORD_COUNT 2
#define EXRP_INFO_PICK_COUNT 3      /* of pick view 0 */
#define EXRP_INFO_MEMORY_BYTES 4    /* all of the replay: COLUMN_BYTES, INDEX_BYTES, what has a fixed size, and scratch */
#define EXRP_INFO_COLUMN_BYTES 5    /* slots ever used x bytes of a record */
#define EXRP_INFO_INDEX_BYTES 6     /* blocks, episodes, pick view, selectors, eviction */
#define EXRP_INFO_BLOCK_LENGTH 7
#define EXRP_INFO_SEGMENT_LENGTH 8
#define EXRP_INFO_NEXT_HANDLE 9     /* the handle the next episode will have */
#define EXRP_INFO_RECORDED_COUNT 10 /* records ever written */
#define EXRP_INFO_EVICTED_COUNT 11  /* episodes ever evicted */
#define EXRP_INFO_SELECTOR_COUNT 12
#define EXRP_INFO_RECORD_BYTES 13   /* bytes of one record's columns, without the columns that only some records keep */
#define EXRP_INFO_TABLE_COUNT 14
#define EXRP_INFO_STORED_BYTES 15   /* bytes of the records and final states that are stored */
#define EXRP_INFO_COUNT 16

/* Indices into the numbers of exrp_pick_view_info. */
#define EXRP_PICK_VIEW_PICK_COUNT 0
#define EXRP_PICK_VIEW_SELECTOR_COUNT 1
#define EXRP_PICK_VIEW_INFO_COUNT 2

/* Indices into the numbers of exrp_episode_info. */
#define EXRP_EPISODE_STATE 0  /* EXRP_EPISODE_* below */
#define EXRP_EPISODE_RECORD_COUNT 1   /* records that it holds */
#define EXRP_EPISODE_TAG 2            /* 0 for an evicted episode */
#define EXRP_EPISODE_FIRST_POSITION 3 /* the position of the oldest record that it holds; of the next record where it holds none */
#define EXRP_EPISODE_INFO_COUNT 4

#define EXRP_EPISODE_EVICTED 0
#define EXRP_EPISODE_OPEN 1
#define EXRP_EPISODE_TERMINATED 2
#define EXRP_EPISODE_TRUNCATED 3

/* Indices into the numbers of exrp_episode_list, which say what episodes it lists. */
#define EXRP_EPISODES_ENDS 0        /* which are wanted, a sum: 1 for open ones, 2 for terminated ones, 4 for truncated ones */
#define EXRP_EPISODES_LENGTH_MIN 1  /* records that an episode holds */
#define EXRP_EPISODES_LENGTH_MAX 2
#define EXRP_EPISODES_TAG_COUNT 3   /* 0: episodes of any tag */
#define EXRP_EPISODES_TAG 4         /* EXRP_LIMIT_TAGS numbers, int32 */
#define EXRP_EPISODES_REWARD_TYPE 20 /* EXRP_TYPE_* of the reward column, for returns; EXRP_TYPE_OTHER: no returns are wanted */
#define EXRP_EPISODES_DISCOUNT 21    /* 0..1, of the returns */
#define EXRP_EPISODES_COUNT 22

/* Offsets, in bytes, in the row of exrp_record. The handle is at 0 (a double, in and out). Columns follow in order. */
#define EXRP_ROW_BYTES 0        /* the whole row */
#define EXRP_ROW_FINAL_STATE 1  /* the first leaf of the final state, read only with EXRP_RECORD_ENDS or NEXT_STATE */
#define EXRP_ROW_PRIORITY 2     /* double, read only with EXRP_RECORD_PRIORITY */
#define EXRP_ROW_TAG 3          /* int32, read only with EXRP_RECORD_TAG */
#define EXRP_ROW_COLUMN 4       /* column k is at 4 + k. Behind the columns come the other leaves of the final state: the kth at 4 + columns + k - 1 */

/* Offsets, in bytes, in the `count` steps of exrp_record_many and exrp_record_batch. Each part starts at a multiple of 8.
 * The final states come last. The buffer holds as many as the call reads: none, one (many), one per step (batch), or one per end (flat).
 * They are *states of the ABI*: all rows of the first leaf, then all of the second, and so on. Each leaf starts at a multiple of 8, counted from
 * where the states begin. */
#define EXRP_STEPS_FLAGS 0        /* uint8 [count]: EXRP_RECORD_*; exrp_record_many does not read them */
#define EXRP_STEPS_FINAL_STATE 1  /* where they begin; read only with EXRP_RECORD_ENDS or NEXT_STATE */
#define EXRP_STEPS_PRIORITY 2     /* double [count], read only with EXRP_RECORD_PRIORITY */
#define EXRP_STEPS_TAG 3          /* int32 [count], read only with EXRP_RECORD_TAG */
#define EXRP_STEPS_COLUMN 4       /* column k is at 4 + k: [count, column] */

/* Offsets, in bytes, in a batch. Each part starts at a multiple of 64. A part that the policy leaves out has no bytes. */
#define EXRP_BATCH_BYTES 0              /* the whole batch */
#define EXRP_BATCH_NEXT_STATE 1         /* [batch, rows, stack, first leaf of the state] */
#define EXRP_BATCH_SEQ_LEN 2            /* int32 [batch] */
#define EXRP_BATCH_NEXT_SEQ_LEN 3       /* int32 [batch] */
#define EXRP_BATCH_PICK_EPISODE 4       /* double [batch] */
#define EXRP_BATCH_PICK_POSITION 5      /* int32 [batch] */
#define EXRP_BATCH_PROBABILITY 6        /* float [batch] */
#define EXRP_BATCH_IMPORTANCE_WEIGHT 7  /* float [batch] */
#define EXRP_BATCH_DISCOUNT 8           /* float [batch, rows] */
#define EXRP_BATCH_LEARN_MASK 9         /* float [batch, rows]: 1 at the pick's own records */
#define EXRP_BATCH_CONTEXT_MASK 10      /* float [batch, rows]: 1 at the records before the pick */
#define EXRP_BATCH_TERMINATED 11        /* uint8 [batch, rows]: 1 at the last record of an episode that terminated */
#define EXRP_BATCH_TRUNCATED 12         /* uint8 [batch, rows]: 1 at the last record of an episode that was cut off */
#define EXRP_BATCH_RETURN_TO_GO 13      /* float [batch, rows, reward]: the sum of the rewards from the row to the last stored one of its episode */
#define EXRP_BATCH_COLUMN 14            /* column k is at 14 + k: [batch, rows, column], or [batch, column] where only some records keep it;
                                           a leaf of the state is [batch, rows, stack, leaf], and COMPACT and NEXT_STATE change that */
/* Added to the size of a batch. In place of each row of a column that is mirrored (exrp_mirror_begin), the batch has an address, which is one uint32, or
 * EXRP_ADDRESS_COUNT of them where the pick view crops the column. All else is as without it, and so are the picks. exrp_batch_order does not take it. */
#define EXRP_BATCH_ADDRESSES 2147483648u

/* Indices into the numbers of an address. */
#define EXRP_ADDRESS_ROW 0   /* EXRP_ADDRESS_SLOT + the row's slot in the mirror; 0 for padding, or EXRP_ADDRESS_ZEROS */
#define EXRP_ADDRESS_CROP 1  /* int32: dy, yFirst, yLast, dx, xFirst, xLast. Pixel (y, x) is that at min(max(y + dy, yFirst), yLast) of the row, x likewise */
#define EXRP_ADDRESS_COUNT 7
#define EXRP_ADDRESS_SLOT 1
#define EXRP_ADDRESS_ZEROS 4294967295u /* a frame of zeros before the episode's first, which is transformed as others are */

/* The n-step parts follow the columns, EXRP_BATCH_N_STEP_PARTS for each n.
 * Those of the i-th n are at EXRP_BATCH_COLUMN + columns + EXRP_BATCH_N_STEP_PARTS * i + one of these: */
#define EXRP_BATCH_N_STEP_RETURN 0      /* float [batch, rows, reward] */
#define EXRP_BATCH_N_STEP_STATE 1       /* [batch, rows, stack, first leaf of the state] */
#define EXRP_BATCH_N_STEP_DISCOUNT 2    /* float [batch, rows] */
#define EXRP_BATCH_N_STEP_PARTS 3
/* The parts of the other leaves follow on those: of each leaf its next state, and then its n-step state for each n. Those of leaf k >= 1 begin at
 * EXRP_BATCH_COLUMN + columns + EXRP_BATCH_N_STEP_PARTS x (count of n) + (1 + count of n) x (k - 1). */

/* Indices into the numbers of a summary. With picks of no weight, SMALLEST is the smallest above 0. */
#define EXRP_SUMMARY_COUNT 0
#define EXRP_SUMMARY_SUM 1
#define EXRP_SUMMARY_SQUARES 2  /* the sum of the squares */
#define EXRP_SUMMARY_SMALLEST 3 /* the smallest above 0, or 0 */
#define EXRP_SUMMARY_LARGEST 4
#define EXRP_SUMMARY_EXISTS 5   /* 1, or 0 where the rule draws by no weights, or keeps no priorities */
#define EXRP_SUMMARY_NUMBERS 6

/* What exrp_selector_sums sums up. */
#define EXRP_SUMS_WEIGHTS 0
#define EXRP_SUMS_PRIORITIES 1
#define EXRP_SUMS_TOTAL 2 /* of the weights, COUNT and SUM alone, at once: without edges */

/* Indices into the numbers of exrp_draws_read. */
#define EXRP_DRAWS_DRAWN_COUNT 0 /* picks drawn since the replay was created */
#define EXRP_DRAWS_NOTED_COUNT 1 /* picks noted now */
#define EXRP_DRAWS_INFO_COUNT 2

/* Why a replay can't be shared, or a shared replay can't have a call. */
#define EXRP_SHARE_NO_THREADS 1   /* this kernel has one thread: WebAssembly */
#define EXRP_SHARE_OWN_EVICTION 2 /* the caller chooses what to evict */
#define EXRP_SHARE_JOURNAL 3      /* a selector of the caller's reads a journal */
#define EXRP_SHARE_LOADING 4      /* a snapshot can be loaded only into a replay that is not shared */

/* Why a ticket is no good. */
#define EXRP_TICKET_OTHER_KERNEL 1 /* another kernel made it: another process, or another copy of the library */
#define EXRP_TICKET_GONE 2         /* the replay was destroyed, or never had this ticket */
#define EXRP_TICKET_REVOKED 3

/* Indices into the numbers of a ticket. */
#define EXRP_TICKET_KERNEL 0  /* a number of this copy of the kernel */
#define EXRP_TICKET_REPLAY 1  /* a number of the replay */
#define EXRP_TICKET_SERIAL 2  /* a number of the ticket, within the replay: exrp_ticket_revoke takes it */
#define EXRP_TICKET_COUNT 3

/* Indices into the numbers of exrp_share_info. */
#define EXRP_SHARE_INFO_SHARED 0  /* 1 once the replay is shared, else 0 */
#define EXRP_SHARE_INFO_SEATS 1   /* ids of the replay */
#define EXRP_SHARE_INFO_ENDED 2   /* ids that the kernel took back, as their threads ended, since exrp_share_reap */
#define EXRP_SHARE_INFO_NOTE 3    /* bytes of the note */
#define EXRP_SHARE_INFO_COUNT 4

/* Indices into the numbers of a rate limiter, of a replay or a table. In a replay, a record is an insert and a pick a sample. The difference is
 * inserts x RATIO - samples. kernel/base/rate_limiter.hpp says what is allowed. */
#define EXRP_RATE_LIMITER_RATIO 0          /* samples for each insert: above 0, finite; in a replay at most 2^32 */
#define EXRP_RATE_LIMITER_MIN_SIZE 1       /* an integer: records that must be stored before one is sampled, 1..capacity; items of a table, 0..2^53 */
#define EXRP_RATE_LIMITER_DIFFERENCE_MIN 2 /* least difference, perhaps -infinity; in a replay at most RATIO x MIN_SIZE */
#define EXRP_RATE_LIMITER_DIFFERENCE_MAX 3 /* largest difference, at least DIFFERENCE_MIN; in a replay at least max(1, RATIO) more; perhaps infinity */
#define EXRP_RATE_LIMITER_RULE_COUNT 4
#define EXRP_RATE_LIMITER_INSERTS 4        /* since it was set, as the next */
#define EXRP_RATE_LIMITER_SAMPLES 5
#define EXRP_RATE_LIMITER_SAVED_COUNT 6
#define EXRP_RATE_LIMITER_INSERTS_ALLOWED 6 /* the most that a call may make now; infinity without a limit */
#define EXRP_RATE_LIMITER_SAMPLES_ALLOWED 7
#define EXRP_RATE_LIMITER_COUNT 8

/* What a rate limiter lets in. */
#define EXRP_ALLOW_INSERTS 0
#define EXRP_ALLOW_SAMPLES 1

/* Indices into the numbers of exrp_tables_create: two, then those of each table. EXRP_TABLES_RULES are followed by the kind of the sampler
 * (EXRP_SELECTOR_*), the count of its options and the options, and then by the same of the remover. */
#define EXRP_TABLES_SEED 0            /* an integer, 0..2^53 */
#define EXRP_TABLES_COUNT 1           /* tables, 1..EXRP_LIMIT_TABLES */
#define EXRP_TABLES_FIRST 2
#define EXRP_TABLES_MAX_SIZE 0        /* items, 1..EXRP_LIMIT_CAPACITY */
#define EXRP_TABLES_MAX_BYTES 1       /* bytes of the chunks that the table's items refer to, each chunk once; 0: no limit */
#define EXRP_TABLES_MAX_TIMES_SAMPLED 2 /* an item goes once it was sampled so often; 0: no limit */
#define EXRP_TABLES_RATE_LIMITER 3    /* EXRP_RATE_LIMITER_RULE_COUNT numbers */
#define EXRP_TABLES_RULES 7

/* Indices into the numbers of exrp_tables_info. */
#define EXRP_TABLES_INFO_SIZE 0             /* items */
#define EXRP_TABLES_INFO_BYTES 1            /* of the chunks that they refer to, each chunk once */
#define EXRP_TABLES_INFO_INSERTS 2          /* since the last reset, as the next two: what the rate limiter counts */
#define EXRP_TABLES_INFO_SAMPLES 3
#define EXRP_TABLES_INFO_DELETES 4
#define EXRP_TABLES_INFO_EPISODES 5         /* different episodes of those chunks */
#define EXRP_TABLES_INFO_EPISODES_DELETED 6 /* episodes that no item refers to any more, since the last reset */
#define EXRP_TABLES_INFO_UNIQUE_SAMPLES 7   /* items that were sampled for the first time, since the last reset */
#define EXRP_TABLES_INFO_INSERTS_WAITING 8
#define EXRP_TABLES_INFO_BYTES_WAITING 9    /* of the chunks of the items that wait, once for each item */
#define EXRP_TABLES_INFO_SAMPLERS_WAITING 10
#define EXRP_TABLES_INFO_PRIORITY_MAX 11    /* the largest priority of an item; 0 without any */
#define EXRP_TABLES_INFO_MAX_SIZE 12
#define EXRP_TABLES_INFO_MAX_BYTES 13
#define EXRP_TABLES_INFO_MAX_TIMES_SAMPLED 14
#define EXRP_TABLES_INFO_RATE_LIMITER 15    /* EXRP_RATE_LIMITER_RULE_COUNT numbers */
#define EXRP_TABLES_INFO_COUNT 19

/* Indices into the numbers of exrp_tables_store_info. */
#define EXRP_TABLES_STORE_CHUNKS 0
#define EXRP_TABLES_STORE_CHUNK_BYTES 1
#define EXRP_TABLES_STORE_MEMORY_BYTES 2 /* all memory of the set */
#define EXRP_TABLES_STORE_INSERTERS 3
#define EXRP_TABLES_STORE_SAMPLERS 4
#define EXRP_TABLES_STORE_COUNT 5

/* Indices into the numbers of exrp_inserter_feed, exrp_inserter_insert and exrp_inserter_read. */
#define EXRP_INSERTER_WAITING 0       /* items of this inserter that wait for the rate limiters */
#define EXRP_INSERTER_BYTES_WAITING 1 /* of their chunks, once for each item */
#define EXRP_INSERTER_CONFIRMED 2     /* keys that exrp_inserter_read would give */
#define EXRP_INSERTER_CHUNKS 3        /* chunks that it holds for items to come */
#define EXRP_INSERTER_PAUSE 4         /* 1 where so many items of a table wait that no more should be fed: min(1000, a tenth of MAX_SIZE); else 0 */
#define EXRP_INSERTER_CHUNK_BYTES 5   /* memory of these chunks, also of the small ones */
#define EXRP_INSERTER_BYTES 6         /* bytes of the message that exrp_inserter_read wrote; else 0 */
#define EXRP_INSERTER_COUNT 7

/* Indices into the numbers of exrp_sampler_read. */
#define EXRP_SAMPLER_BYTES 0   /* bytes of the message; 0 for none */
#define EXRP_SAMPLER_SAMPLES 1 /* samples in it */
#define EXRP_SAMPLER_WANTED 2  /* samples that were asked for and not read yet */
#define EXRP_SAMPLER_NEEDED 3  /* bytes that the next sample needs, where not even one fitted; else 0 */
#define EXRP_SAMPLER_WAITS 4   /* 1 where the rate limiter, or another sampler before it, makes it wait; else 0 */
#define EXRP_SAMPLER_HELD 5    /* samples that were drawn and not read yet */
#define EXRP_SAMPLER_COUNT 6

/* How a sampler gets what it asks for. */
#define EXRP_ASK_FLOWING 0 /* each sample can be read once it is drawn */
#define EXRP_ASK_WHOLE 1   /* none can be read before all are drawn. If the sampler is closed before, a table that removes items by sampling
                            * gives those that were drawn to the next that asks */
#define EXRP_ASK_NOW 2     /* as WHOLE; and none is drawn, and nothing waits, unless all can be drawn now */

/* Indices into the numbers of each item of exrp_tables_items. */
#define EXRP_ITEM_PRIORITY 0
#define EXRP_ITEM_TIMES_SAMPLED 1
#define EXRP_ITEM_INSERTED_AT 2 /* milliseconds since 1970 */
#define EXRP_ITEM_BYTES 3       /* of its chunks */
#define EXRP_ITEM_REMOVER_PRIORITY 4
#define EXRP_ITEM_COUNT 5

/* Indices into the numbers of exrp_tables_save_read. */
#define EXRP_TABLES_SAVE_BYTES 0  /* bytes of the piece */
#define EXRP_TABLES_SAVE_NEEDED 1 /* bytes that the next piece needs, where nothing fitted; else 0 */
#define EXRP_TABLES_SAVE_ENDED 2  /* 1 once all was written, and what was kept for it is let go; else 0 */
#define EXRP_TABLES_SAVE_COUNT 3

/* The elements of tensors in messages: the numbers of TensorFlow's DataType. */
#define EXRP_TENSOR_FLOAT32 1
#define EXRP_TENSOR_FLOAT64 2
#define EXRP_TENSOR_INT32 3
#define EXRP_TENSOR_UINT8 4
#define EXRP_TENSOR_INT16 5
#define EXRP_TENSOR_INT8 6
#define EXRP_TENSOR_STRING 7
#define EXRP_TENSOR_COMPLEX64 8
#define EXRP_TENSOR_INT64 9
#define EXRP_TENSOR_BOOL 10
#define EXRP_TENSOR_BFLOAT16 14
#define EXRP_TENSOR_UINT16 17
#define EXRP_TENSOR_COMPLEX128 18
#define EXRP_TENSOR_FLOAT16 19
#define EXRP_TENSOR_UINT32 22
#define EXRP_TENSOR_UINT64 23

/* New chunks, as numbers: EXRP_CHUNK_HEAD of them, then those of its columns, whose rows follow one another as bytes. A column has
 * EXRP_COLUMN_HEAD numbers and then its shape, rows first; all columns of a chunk have as many rows. Elements are little-endian. A column of
 * strings has the length of each as an uint32, and then all their bytes. A key of 64 bits is its low and its high half. */
#define EXRP_CHUNK_KEY 0     /* two numbers */
#define EXRP_CHUNK_EPISODE 2 /* two numbers */
#define EXRP_CHUNK_FIRST 4   /* the number of the first row's step in its episode, and that of the last */
#define EXRP_CHUNK_LAST 5
#define EXRP_CHUNK_FLAGS 6   /* EXRP_ROWS_* */
#define EXRP_CHUNK_COLUMNS 7 /* how many, from 1 on */
#define EXRP_CHUNK_HEAD 8
#define EXRP_COLUMN_DTYPE 0  /* EXRP_TENSOR_* */
#define EXRP_COLUMN_BYTES 1  /* of its rows */
#define EXRP_COLUMN_RANK 2   /* sizes of its shape, 1..EXRP_LIMIT_RANK */
#define EXRP_COLUMN_HEAD 3
#define EXRP_ROWS_DELTA 1    /* rows of integers with a shape are written as differences to the row before */
#define EXRP_ROWS_SPARSE 2   /* some steps between the first and the last are left out */

/* New items, as the numbers of exrp_inserter_insert: two, then the chunks, then the items. An item has EXRP_NEW_ITEM_HEAD numbers, and then
 * EXRP_SLICE_COUNT for each of its columns. */
#define EXRP_INSERT_CHUNKS 0
#define EXRP_INSERT_ITEMS 1
#define EXRP_INSERT_HEAD 2
#define EXRP_NEW_ITEM_TABLE 0
#define EXRP_NEW_ITEM_KEY 1              /* two numbers */
#define EXRP_NEW_ITEM_PRIORITY 3
#define EXRP_NEW_ITEM_REMOVER_PRIORITY 4 /* its own for the remover; NaN: none */
#define EXRP_NEW_ITEM_COLUMNS 5          /* how many, from 1 on */
#define EXRP_NEW_ITEM_HEAD 6
#define EXRP_SLICE_CHUNK 0    /* which chunk of this call */
#define EXRP_SLICE_COLUMN 1   /* which of its columns */
#define EXRP_SLICE_OFFSET 2   /* the first row */
#define EXRP_SLICE_LENGTH 3   /* rows */
#define EXRP_SLICE_SQUEEZED 4 /* 1 where the only row stands for itself, without a dimension of rows; else 0 */
#define EXRP_SLICE_COUNT 5

/* What is wrong with samples or a tensor. */
#define EXRP_DAMAGE_PROTOBUF 1 /* no protobuf message */
#define EXRP_DAMAGE_ITEM 2     /* a sample without its item */
#define EXRP_DAMAGE_CHUNK 3    /* a slice of a chunk that did not come with the sample */
#define EXRP_DAMAGE_TENSOR 4   /* a slice of a tensor that its chunk does not have */
#define EXRP_DAMAGE_SLICE 5    /* no slice, or one of rows that its tensor does not have */
#define EXRP_DAMAGE_SQUEEZE 6  /* a squeezed column that has not exactly one row */
#define EXRP_DAMAGE_MIXED 7    /* slices of one column whose rows have different dtypes or shapes */
#define EXRP_DAMAGE_DTYPE 8    /* elements of a dtype without a fixed size, or unknown */
#define EXRP_DAMAGE_SHAPE 9    /* a shape that is unknown, too large, or has no rows */
#define EXRP_DAMAGE_CONTENT 10 /* elements that do not unpack to what the shape says */
#define EXRP_DAMAGE_LAYOUT 11  /* samples other than those that the layout is of; after EXRP_SCAN_ALIKE, samples that are not like the first */

/* How exrp_samples_scan looks. */
#define EXRP_SCAN_ALL 0
#define EXRP_SCAN_ALIKE 1 /* takes all samples to be like the first, which saves half the time; exrp_samples_decode says where they are not */

/* Indices into the layout of samples: EXRP_SAMPLES_HEAD numbers, then EXRP_SAMPLES_COLUMN numbers for each column. The offsets are places in the
 * buffer of exrp_samples_decode. */
#define EXRP_SAMPLES_COUNT 0         /* whole samples */
#define EXRP_SAMPLES_MESSAGE_BYTES 1 /* bytes of the message up to the end of the last of them */
#define EXRP_SAMPLES_OUT_BYTES 2     /* bytes of the buffer; infinite where no buffer can be so large */
#define EXRP_SAMPLES_COLUMNS 3       /* columns of the first sample */
#define EXRP_SAMPLES_ALL_AGREE 4     /* 1 where all samples have the same columns, but perhaps other lengths; else they can't be decoded together */
#define EXRP_SAMPLES_KEYS 5          /* offset of 8 bytes a sample: its item's key, little-endian */
#define EXRP_SAMPLES_PROBABILITIES 6 /* offsets of a double a sample */
#define EXRP_SAMPLES_PRIORITIES 7
#define EXRP_SAMPLES_TABLE_SIZES 8
#define EXRP_SAMPLES_TIMES_SAMPLED 9
#define EXRP_SAMPLES_HEAD 10
#define EXRP_SAMPLES_DTYPE 0     /* EXRP_TENSOR_*; a column of strings gets no bytes in the buffer */
#define EXRP_SAMPLES_RANK 1      /* dimensions of a row */
#define EXRP_SAMPLES_ROWS 2      /* of all samples together */
#define EXRP_SAMPLES_LENGTH 3    /* rows of each sample, or EXRP_SAMPLES_RAGGED */
#define EXRP_SAMPLES_SQUEEZED 4  /* 1 where the only row of a sample stands for itself, without a dimension of rows */
#define EXRP_SAMPLES_AGREES 5    /* 0 where dtype, shape or squeezing differ between samples */
#define EXRP_SAMPLES_OFFSET 6    /* of the column's rows */
#define EXRP_SAMPLES_BYTES 7     /* of them */
#define EXRP_SAMPLES_LENGTHS 8   /* offset of the rows of each sample, uint32; -1 where they are the same */
#define EXRP_SAMPLES_ROW_BYTES 9
#define EXRP_SAMPLES_DIMS 10     /* EXRP_LIMIT_RANK numbers: the shape of a row */
#define EXRP_SAMPLES_COLUMN 42
#define EXRP_SAMPLES_RAGGED -1

/* An event of the journal is a pair of pick indices (from, to). EXRP_INDEX_NONE stands for no index. */
#define EXRP_INDEX_NONE 4294967295u

/* Options of a durable replay. */
#define EXRP_DURABLE_IS_NEW 0            /* 1: the folder has no log, and gets one; 0: it has one, which is read; or EXRP_DURABLE_READS */
#define EXRP_DURABLE_FLUSH_INTERVAL_MS 1 /* groups end, and are on the disk, after so long at the latest; 0: only when asked for */
#define EXRP_DURABLE_SEGMENT_BYTES 2     /* of a file of the log */
#define EXRP_DURABLE_QUEUE_BYTES 3       /* that may wait for the disk */
#define EXRP_DURABLE_GROUP_BYTES 4       /* after which a group ends */
#define EXRP_DURABLE_CHECKPOINT_BYTES 5  /* by which the log grows between two checkpoints, at least */
#define EXRP_DURABLE_HAS_STATE 6         /* 1: the caller ends all groups, as it has state of its own */
#define EXRP_DURABLE_GOES_ON 7           /* 1: records are taken in memory once the log has failed */
/* Other limits than those of the log that is read, or EXRP_DURABLE_KEEP. What does not fit goes. */
#define EXRP_DURABLE_CAPACITY 8
#define EXRP_DURABLE_CAPACITY_BYTES 9 /* 0: no limit */
#define EXRP_DURABLE_AGE_MAX 10       /* 0: no limit */
#define EXRP_DURABLE_OPTION_COUNT 11
#define EXRP_DURABLE_KEEP (-1)
/* The log is read, and nothing in the folder is changed: what is done then is kept nowhere. */
#define EXRP_DURABLE_READS 2

/* What exrp_durable_open() found. */
#define EXRP_RECOVERY_GROUPS 0
#define EXRP_RECOVERY_TAIL_BYTES 1     /* cut off: of no whole group, or torn */
#define EXRP_RECOVERY_REPAIRED 2       /* frames with a flipped bit */
#define EXRP_RECOVERY_LOST_BLOCKS 3    /* blocks whose rows were damaged; their episodes were evicted */
#define EXRP_RECOVERY_DAMAGE_SEGMENT 4 /* where the first damage is that was not repaired; 0: nowhere */
#define EXRP_RECOVERY_DAMAGE_OFFSET 5
#define EXRP_RECOVERY_STATE_BYTES 6    /* of the caller's state */
#define EXRP_RECOVERY_EVICTED 7        /* records that went because of the limits that were asked for */
#define EXRP_RECOVERY_CAPACITY 8       /* the limits from now on */
#define EXRP_RECOVERY_CAPACITY_BYTES 9
#define EXRP_RECOVERY_AGE_MAX 10
#define EXRP_RECOVERY_COUNT 11

/* What is known of a durable replay. */
#define EXRP_DURABLE_INFO_OPEN 0          /* 1 where it is durable, or was until its log failed */
#define EXRP_DURABLE_INFO_FAILED 1        /* EXRP_LOG_*, or 0 */
#define EXRP_DURABLE_INFO_WRITTEN_BYTES 2 /* since it was opened */
#define EXRP_DURABLE_INFO_SYNCS 3
#define EXRP_DURABLE_INFO_QUEUED_BYTES 4
#define EXRP_DURABLE_INFO_SEGMENTS 5
#define EXRP_DURABLE_INFO_LOG_BYTES 6 /* of all segments, with what waits for the disk */
#define EXRP_DURABLE_INFO_RESIDENT_BYTES 7 /* EXRP_CONFIG_RESIDENT_BYTES */
#define EXRP_DURABLE_INFO_ROW_BYTES 8      /* of rows in memory, with what reads and packs them */
#define EXRP_DURABLE_INFO_READ_BLOCKS 9    /* that were read back, since it was opened */
#define EXRP_DURABLE_INFO_READ_BYTES 10
#define EXRP_DURABLE_INFO_UNREAD_BLOCKS 11 /* whose rows are not in memory yet, nor known to be whole */
/* what was found in such blocks since it was opened, beside what EXRP_RECOVERY_* said */
#define EXRP_DURABLE_INFO_LOST_BLOCKS 12
#define EXRP_DURABLE_INFO_REPAIRED 13
#define EXRP_DURABLE_INFO_DAMAGE_SEGMENT 14
#define EXRP_DURABLE_INFO_DAMAGE_OFFSET 15
#define EXRP_DURABLE_INFO_KEPT_BYTES 16 /* of rows in memory, as far as they may leave: EXRP_DURABLE_INFO_RESIDENT_BYTES, or less while there is a mirror without a host copy */
#define EXRP_DURABLE_INFO_LEAN 17       /* 1 while there is a mirror without a host copy, whichever id has it */
#define EXRP_DURABLE_INFO_COUNT 18
/* If the rows of older blocks have more bytes in the log, exrp_durable_open() leaves most of them there. Another thread reads them afterwards, unless
 * EXRP_CONFIG_RESIDENT_BYTES says otherwise, and a call that needs some reads them first. If they are damaged, it fails with EXRP_LOG_ROWS, and their episode is
 * evicted with the next group once it has ended. In WebAssembly, and with EXRP_DURABLE_READS, all are read at once. */
#define EXRP_READ_NOW_BYTES 67108864

/* What exrp_folder_verify() found. */
#define EXRP_VERIFY_SEGMENTS 0
#define EXRP_VERIFY_BYTES 1      /* of them */
#define EXRP_VERIFY_GROUPS 2
#define EXRP_VERIFY_TAIL_BYTES 3 /* that nothing proves to have been on the disk, and opening would cut off */
#define EXRP_VERIFY_CHECKPOINT 4 /* the file that names the checkpoint: 0 not there, 1 whole, 2 damaged, 3 whole but for one bit */
#define EXRP_VERIFY_FLAWS 5      /* places that are damaged; there may be more than were listed */
#define EXRP_VERIFY_FAILED 6     /* why it could not be read: EXRP_LOG_*, or 0; */
#define EXRP_VERIFY_CALL 7       /* the call of the disk, */
#define EXRP_VERIFY_SYSTEM 8     /* and the system's number */
#define EXRP_VERIFY_COUNT 9

/* A place that is damaged. */
#define EXRP_FLAW_SEGMENT 0
#define EXRP_FLAW_OFFSET 1
#define EXRP_FLAW_BYTES 2
#define EXRP_FLAW_KIND 3
#define EXRP_FLAW_COST 4
#define EXRP_FLAW_COUNT 5

/* Kinds of damage. */
#define EXRP_FLAW_KIND_BIT 0     /* one flipped bit, which is repaired whenever it is read */
#define EXRP_FLAW_KIND_PAYLOAD 1 /* what a frame holds */
#define EXRP_FLAW_KIND_FRAMES 2  /* any number of frames */
#define EXRP_FLAW_KIND_HEAD 3    /* the head of a file */
#define EXRP_FLAW_KIND_MISSING 4 /* a file, or its end, or the checkpoint is not there */

/* What a damage costs. */
#define EXRP_FLAW_COST_NOTHING 0
#define EXRP_FLAW_COST_EPISODES 1 /* rows, at most: their episodes are evicted when the folder is opened */
#define EXRP_FLAW_COST_ALL 2      /* the folder can't be opened */

/* A copy of the folder of a durable replay. */
#define EXRP_COPY_TICKET 0       /* it may be made once this is flushed */
#define EXRP_COPY_FIRST 1        /* what it has: the first segment, and the one behind the last; exrp_durable_seal gives these */
#define EXRP_COPY_NEXT 2
#define EXRP_COPY_CHECKPOINT_SEGMENT 3
#define EXRP_COPY_CHECKPOINT_OFFSET 4
#define EXRP_COPY_LINKED_BYTES 5 /* exrp_durable_copy gives these: bytes of files that two folders have now, */
#define EXRP_COPY_COPIED_BYTES 6 /* bytes that were written, */
#define EXRP_COPY_FAILED 7       /* and what failed: EXRP_LOG_*, or 0, */
#define EXRP_COPY_CALL 8         /* the call of the disk, or how many bytes are missing, */
#define EXRP_COPY_SYSTEM 9       /* and the system's number */
#define EXRP_COPY_COUNT 10

/* Sections of a snapshot, in the order in which they are loaded. */
#define EXRP_SECTION_COUNTERS 0  /* one item */
#define EXRP_SECTION_EPISODES 1  /* an item per episode, oldest first */
#define EXRP_SECTION_RECORDS 2   /* an item per record or final state, in order of episode and time */
#define EXRP_SECTION_EVICTION 3  /* the policy's header, if it has one, then an item per episode, in the policy's order */
#define EXRP_SECTION_PRIORITIES 4 /* an item per record: its first priority, a double, -1 for none; empty until a record came with one */
#define EXRP_SECTION_ORPHANS 5   /* an item per handle whose episode went while it was open, in the order in which they went: u64, and its tag */
#define EXRP_SECTION_BIRTHS 6    /* an item per run of records of an episode: how many records had been written before the run's first, u64 */
#define EXRP_SECTION_NEXT_STATES 7 /* an item per open episode that has a next state, in order of age: its leaves, one behind the other */
#define EXRP_SECTION_KEPT 8      /* 8 + k: an item per stored row of the kth column that only some records keep, by episode and time */
#define EXRP_SECTION_PICKS 16    /* pick view t is section 16 + t: an item per pick, in the order of the view */
#define EXRP_SECTION_SELECTOR 32 /* selector k has section 32 + 2k (one item: its header) and 33 + 2k (an item per pick of its view) */
/* The section after the last selector's is of transforms; it is empty where no view has any. Its items are doubles: how many batches each view has
 * drawn; then of each column with statistics, in order: how many records they are of, the mean of each element, and the sum of its squared
 * differences from the mean. */
/* Sections between these are empty. */

/* Indices into the numbers of exrp_mirror_read. */
#define EXRP_MIRROR_RUNS 0   /* runs that were read */
#define EXRP_MIRROR_MORE 1   /* 1 where the mirror lacks rows still */
#define EXRP_MIRROR_SLOTS 2  /* below this are all slots; a later call may say more */
#define EXRP_MIRROR_BLOCK 3  /* slots of a block: no run goes beyond a multiple of it */
#define EXRP_MIRROR_COUNT 4

/* Indices into the numbers of a run of a mirror. */
#define EXRP_MIRROR_RUN_COLUMN 0 /* of which column */
#define EXRP_MIRROR_RUN_SLOT 1   /* the first slot */
#define EXRP_MIRROR_RUN_SLOTS 2  /* how many; 0: the block of that slot has gone, which is told of columns that come packed */
#define EXRP_MIRROR_RUN_BYTE 3   /* where its bytes begin */
#define EXRP_MIRROR_RUN_PACKED 4 /* bytes of all rows of a block: a uint32, how many rows, then packed rows with a plain key, in words. 0: rows as they are */
#define EXRP_MIRROR_RUN_COUNT 5

/* ---- the library ---- */

EXRP_API uint32_t exrp_abi_version(void);

/* Up to four numbers about the calling thread's last failure. Each status lists its own. */
EXRP_API int32_t exrp_error_detail(double* detail, uint32_t detail_count);

/* Rows on their way to another machine: `count` rows of `row_size` bytes, packed by 16 as docs/internals/packing_format.md has them. Each sixteen begin with
 * their bytes, an uint32: 0 where the rows follow as they are. `packed_bytes` is 0 where all of them did not fit into `packed`. */
EXRP_API int32_t exrp_rows_pack(const uint8_t* rows, double rows_size, uint32_t row_size, uint32_t count, uint8_t* packed, double packed_size,
                                double* packed_bytes);
/* Unpacks them. EXRP_STATUS_DATA_CORRUPT where they are no such rows: [0, which sixteen, 0]. */
EXRP_API int32_t exrp_rows_unpack(const uint8_t* packed, double packed_size, uint32_t row_size, uint32_t count, uint8_t* rows, double rows_size);

/* CRC-32C (Castagnoli) of `bytes`, continuing from `seed` (0 at first). */
EXRP_API uint32_t exrp_checksum(uint32_t seed, const uint8_t* bytes, uint32_t bytes_size);

/* ---- replays ---- */

/* Columns are triples (bytes of an element, elements of a row, n). The first are the leaves of the state, together at most 2^30 bytes; then come
 * the action, the reward, and extras.
 * An extra with n > 1 comes with every record. The kernel keeps it for every nth record of an episode only, from the first on.
 * A batch has one row of such an extra per pick: the newest row kept at or before the pick's first row.
 * `policy` is the policy of pick view 0. */
EXRP_API int32_t exrp_replay_create(const double* config, uint32_t config_count, const double* policy, uint32_t policy_count,
                                    const uint32_t* columns, uint32_t column_count, uint32_t* replay);
/* Gives the id back. The replay goes with its last id. */
EXRP_API int32_t exrp_replay_destroy(uint32_t replay);
/* The number of ids in use in the process. */
EXRP_API uint32_t exrp_replay_count(void);
EXRP_API int32_t exrp_replay_info(uint32_t replay, double* info, uint32_t info_count);
/* `broken` is 0, or the number of the broken invariant. O(records). For tests. */
EXRP_API int32_t exrp_replay_check(uint32_t replay, int32_t* broken);

/* ---- sharing ---- */

/* Several threads may use one replay. One of them shares it, and gives the ticket to the others. Each attaches by it and gets an id of its
 * own, which it alone calls with. Each call then waits for those of other ids. When an id is given back, or its thread ends, the open
 * episodes that it recorded into last end as truncated. The final state is the next state that came with the last record. Where none came, that
 * record goes, and its state is the final state. */
EXRP_API int32_t exrp_replay_share(uint32_t replay, double* ticket, uint32_t ticket_count);
EXRP_API int32_t exrp_replay_attach(const double* ticket, uint32_t ticket_count, uint32_t* replay);
/* Nobody attaches by this ticket any more. The ids that came by it are barred, but for the caller's: their calls return
 * EXRP_STATUS_REVOKED, and their open episodes end as above. */
EXRP_API int32_t exrp_ticket_revoke(uint32_t replay, uint32_t serial);
/* From here to exrp_hold_end, no other id's call comes in between, and on the disk is all that the calls change, or nothing of it. Holds may be
 * nested: as many ends as holds. On a replay that is neither shared nor durable, both do nothing. */
EXRP_API int32_t exrp_hold_begin(uint32_t replay);
EXRP_API int32_t exrp_hold_end(uint32_t replay);
EXRP_API int32_t exrp_share_info(uint32_t replay, double* info, uint32_t info_count);
/* How many ids the kernel took back since the last call, as their threads ended. */
EXRP_API int32_t exrp_share_reap(uint32_t replay, uint32_t* reaped);
/* A note of the binding's, which all ids can read: what it knows of the replay and the kernel does not, such as the columns' names. */
EXRP_API int32_t exrp_share_note_set(uint32_t replay, const uint8_t* note, uint32_t note_size);
EXRP_API int32_t exrp_share_note_get(uint32_t replay, uint8_t* note, uint32_t note_size);

/* ---- recording ---- */

/* The offsets of a row: EXRP_ROW_COLUMN + columns + leaves - 1 elements. */
EXRP_API int32_t exrp_row_layout(uint32_t replay, double* offsets, uint32_t offset_count);
EXRP_API int32_t exrp_episode_create(uint32_t replay, double* episode);
/* Gives an open episode without records a tag, an int32. A new episode has tag 0. Where an episode follows on another (after a cut, by
 * EXRP_RECORD_BEGINS, or because that one was evicted while it was open), it takes the tag of that one, unless EXRP_RECORD_TAG gives another. If the episode has a record or
 * is gone, the status is EXRP_STATUS_ARGUMENT. */
EXRP_API int32_t exrp_episode_tag(uint32_t replay, double episode, int32_t tag);
/* Appends the row to the episode whose handle it carries, and writes back the handle of the episode that stores it. */
EXRP_API int32_t exrp_record(uint32_t replay, EXRP_INOUT uint8_t* row, uint32_t row_size, uint32_t flags);
/* The offsets of `count` steps (1..EXRP_LIMIT_BATCH): EXRP_STEPS_COLUMN + columns elements. */
EXRP_API int32_t exrp_steps_layout(uint32_t replay, uint32_t count, double* offsets, uint32_t offset_count);
/* exrp_record_many, exrp_record_batch and exrp_record_flat do the work of exrp_record for each step. They begin at step `done`, which
 * is 0 in the first call, and write back the number of steps stored so far. They check all steps before they store the first.
 * If `done` is less than `count` after a call, read the journal, where one is open, and call again with the values written back.
 * EXRP_STATUS_FULL means that no step could be stored: evict an episode first. */
/* Records consecutive steps of one episode. `flags` belong to the last step, except PRIORITY and TAG, which hold for all steps. Writes back
 * the handle of the episode that the next step belongs to. */
EXRP_API int32_t exrp_record_many(uint32_t replay, EXRP_INOUT double* episode, const uint8_t* steps, double steps_size, uint32_t count,
                                  uint32_t flags, EXRP_INOUT uint32_t* done);
/* Records one step of each of `count` episodes. No open episode may be named twice. `flags` has any of PRIORITY, NEXT_STATE and TAG; each
 * step has its own flags in the steps. Writes back the handles of the episodes that the next steps belong to. */
EXRP_API int32_t exrp_record_batch(uint32_t replay, EXRP_INOUT double* episodes, const uint8_t* steps, double steps_size, uint32_t count,
                                   uint32_t flags, EXRP_INOUT uint32_t* done);
/* Records consecutive steps of many episodes, one after the other. `flags` has any of PRIORITY, NEXT_STATE and TAG. Each step has its own flags
 * in the steps: 0, or ENDS and BEGINS, perhaps with TRUNCATED, or FINAL alone. There is one final state for each step that ENDS, in order.
 * With NEXT_STATE, the state after the last step follows, unless that step has flags. `episode` is in and out as in exrp_record_many. `done` has two numbers: the steps, and how many handles are in `episodes`, which gets those of the
 * episodes that got records, in order. `episode_count` is at least `count`. */
EXRP_API int32_t exrp_record_flat(uint32_t replay, EXRP_INOUT double* episode, const uint8_t* steps, double steps_size, uint32_t count,
                                  uint32_t flags, EXRP_INOUT uint32_t* done, EXRP_INOUT double* episodes, uint32_t episode_count);
/* Ends an open episode without another record. `final_state` is one state of the ABI, `flags` 0 or EXRP_RECORD_TRUNCATED. `ended` is 1, or 0 where
 * there was nothing to end: the episode was evicted before, or has no record, in which case the call removes it. */
EXRP_API int32_t exrp_episode_end(uint32_t replay, double episode, const uint8_t* final_state, uint32_t final_state_size,
                                  uint32_t flags, uint32_t* ended);
EXRP_API int32_t exrp_episode_evict(uint32_t replay, double episode);
/* Evicts all episodes, the oldest first: the result is that of exrp_episode_evict for each. */
EXRP_API int32_t exrp_replay_clear(uint32_t replay);
/* Lets the records of an open episode before `position` go. The episode keeps its handle, its positions and its other picks, and stays
 * open even if it holds no record then. `position` is at most that of the next record. */
EXRP_API int32_t exrp_episode_trim(uint32_t replay, double episode, uint32_t position);
/* Lets the oldest records of one open episode go: of the one whose oldest record is the oldest. Writes its handle, or -1 if no open
 * episode holds a record, and its first position. */
EXRP_API int32_t exrp_open_trim(uint32_t replay, double* episode, double* first_position);
/* Says that the records of an episode before `position` may go before any others, once room is needed: those of an ended episode, too.
 * `position` is at most that of the next record. No snapshot has this. */
EXRP_API int32_t exrp_records_release(uint32_t replay, double episode, uint32_t position);
EXRP_API int32_t exrp_episode_info(uint32_t replay, double episode, double* info, uint32_t info_count);
/* Lists the episodes that the filter takes, oldest first, a row for each. `row_count` is the number of elements of each column, and at least
 * the episode count; `listed` is how many rows were written. Of each episode: its handle, how many records it holds, the position of the
 * oldest, its tag, its end (its EXRP_EPISODE_* less EXRP_EPISODE_OPEN, so 0 for an open one), how many records were written since its
 * newest one (NaN where it holds none), and its return: the sum over k of discount^k times the reward of the k-th record that it holds, from
 * k = 0 on. `returns` may have no elements where no returns are wanted; they need rewards of one element. */
EXRP_API int32_t exrp_episode_list(uint32_t replay, const double* filter, uint32_t filter_count, double* episodes, uint32_t* record_counts,
                                    uint32_t* first_positions, int32_t* tags, uint8_t* ends, double* ages, double* returns,
                                    uint32_t row_count, uint32_t* listed);

/* ---- reading records ---- */

/* Of each of `count` episodes: how many records it holds, the position of the oldest, and its state (EXRP_EPISODE_*). An evicted episode
 * holds 0 records. */
EXRP_API int32_t exrp_episode_counts(uint32_t replay, const double* episodes, uint32_t count, uint32_t* record_counts,
                                     uint32_t* first_positions, uint32_t* states);
/* Copies rows of one column: `run_length` (>= 1) rows from each of `count` pairs (episode, position) on, in the order of the pairs.
 * Each leaf of the state has one row more in an ended episode: the final state, at the position after the last record.
 * All rows must be stored. If not, EXRP_STATUS_RECORD_UNKNOWN says which pair failed. */
EXRP_API int32_t exrp_rows_get(uint32_t replay, uint32_t column, const double* episodes, const int32_t* positions, uint32_t count,
                               uint32_t run_length, uint8_t* rows, double rows_size);

/* Overwrites one column of the record at each of `count` pairs (episode, position), in order. A column that only some records keep gets the row that
 * is kept at or before the record. Records that are gone, evicted or trimmed, are skipped: `updated` counts the others. A position that an episode
 * does not have yet is EXRP_STATUS_RECORD_UNKNOWN. A state is also the next state of the record before it. Final states stay. */
EXRP_API int32_t exrp_rows_set(uint32_t replay, uint32_t column, const double* episodes, const int32_t* positions, uint32_t count,
                               const uint8_t* rows, double rows_size, uint32_t* updated);
/* Checks these pairs as exrp_rows_set does, and takes the memory for it, so that it then can't fail. Who changes several columns prepares each first. */
EXRP_API int32_t exrp_rows_prepare(uint32_t replay, uint32_t column, const double* episodes, const int32_t* positions, uint32_t count);

/* The next states that came with the newest records: `there` is 1 for each of `count` episodes that is open and has one, else 0.
 * `next_states` are `count` states of the ABI. State k is then that one, and the others stay as they were. It may have no bytes: then only `there`
 * is written. */
EXRP_API int32_t exrp_next_states_get(uint32_t replay, const double* episodes, uint32_t count, uint8_t* there, EXRP_INOUT uint8_t* next_states,
                                      double next_states_size);
/* The actor of each of `count` episodes; 0 for an evicted one. An episode that follows on another (by EXRP_RECORD_BEGINS, or after a cut)
 * has the actor of that one; any other episode has one of its own: the low 32 bits of its handle. */
EXRP_API int32_t exrp_episode_actors(uint32_t replay, const double* episodes, uint32_t count, uint32_t* actors);

/* ---- pick views ---- */

/* Creates another pick view. It begins with the picks of the records already stored, oldest episode first. */
EXRP_API int32_t exrp_pick_view_create(uint32_t replay, const double* policy, uint32_t policy_count, uint32_t* view);
EXRP_API int32_t exrp_pick_view_info(uint32_t replay, uint32_t view, double* info, uint32_t info_count);

/* The statistics of a column that a view normalizes: how many records they are of, then the mean of each of its elements, then the variances.
 * They are of the records that were stored when the first such view was made, and of all that came since. A value that is not finite counts as the
 * mean. `count` is 1 + 2 x elements, or 0 where there are no statistics. `numbers` may have no elements: then only `count` is written. */
EXRP_API int32_t exrp_column_statistics(uint32_t replay, uint32_t column, double* numbers, uint32_t number_count, uint32_t* count);

/* ---- selectors and priorities ---- */

EXRP_API int32_t exrp_selector_create(uint32_t replay, uint32_t view, uint32_t kind, const double* options,
                                      uint32_t option_count, uint32_t* selector);
/* Priorities are floats (priority_size 4) or doubles (8). The call skips evicted picks; `applied` counts the others.
 * Selector EXRP_INDEX_NONE - t stands for a selector of the caller's own on pick view t. Then only the eviction policy gets the
 * priorities. */
EXRP_API int32_t exrp_priority_set(uint32_t replay, uint32_t selector, const double* episodes, const int32_t* positions,
                                   const uint8_t* priorities, uint32_t priority_size, uint32_t count, uint32_t* applied);

/* The priorities of `count` picks as this selector keeps them: those set last, or those that new picks began with. NaN where the pick
 * view does not hold the pick, or the rule does not know the priority. A rule that keeps none gives EXRP_STATUS_ARGUMENT [2, selector]. */
EXRP_API int32_t exrp_priority_get(uint32_t replay, uint32_t selector, const double* episodes, const int32_t* positions,
                                   uint32_t count, double* priorities);

/* ---- batches ---- */

/* The offsets of a batch of `count` picks: EXRP_BATCH_COLUMN + columns + EXRP_BATCH_N_STEP_PARTS x (count of n in the policy) elements, and
 * 1 + (count of n) more for each leaf but the first. */
EXRP_API int32_t exrp_batch_layout(uint32_t replay, uint32_t view, uint32_t count, double* offsets, uint32_t offset_count);
/* Whether this selector could draw `count` picks now. The status is that of exrp_batch_get, as far as these arguments decide it. The call
 * draws nothing, but it takes the scratch memory of such a draw. A count of 0 asks only whether there is any pick. */
EXRP_API int32_t exrp_batch_check(uint32_t replay, uint32_t selector, uint32_t count);
/* Draws `count` picks, which become picks first..first + count - 1 of a batch of `total`. */
EXRP_API int32_t exrp_batch_get(uint32_t replay, uint32_t selector, uint32_t first, uint32_t count, uint32_t total, double beta,
                                EXRP_INOUT uint8_t* batch, double batch_size);
/* Like exrp_batch_get, but the caller chooses the picks. With probability_min > 0 the largest weight of the view scales the weights,
 * else the largest weight of these picks. Without `weighted`, all importance weights are 1. */
EXRP_API int32_t exrp_batch_gather(uint32_t replay, uint32_t view, const uint32_t* indices, const double* probabilities,
                                   uint32_t first, uint32_t count, uint32_t total, double beta, double probability_min,
                                   uint32_t weighted, EXRP_INOUT uint8_t* batch, double batch_size);

/* Orders a batch of `count` picks from the current state of the replay. The kernel draws it in exrp_batch_run, or in the next call that
 * reads or changes this replay, whichever comes first. exrp_batch_order is no such call, and exrp_batch_take of a drawn batch is none.
 * `batch` must stay where it is until exrp_batch_take, or until the replay is destroyed. */
EXRP_API int32_t exrp_batch_order(uint32_t replay, uint32_t selector, uint32_t count, double beta, uint8_t* batch,
                                  double batch_size, double* order);
/* Draws an order after the older orders, and returns when it is drawn. Call it once for each order, oldest first.
 * `batch` is the memory of the order. The caller keeps it until this call returns, even if the caller's isolate ends.
 * Other threads write to it only until this call returns. */
EXRP_SLOW int32_t exrp_batch_run(uint32_t replay, double order, uint8_t* batch, double batch_size);
/* Ends the order and returns the status that exrp_batch_get would have returned. */
EXRP_API int32_t exrp_batch_take(uint32_t replay, double order);

/* ---- a mirror: the rows of some columns in other memory, as that of a GPU ---- */

/* From now on this id has the replay's mirror of these columns, which lacks all rows. A mirror has the row of a slot at its number, and each row takes a multiple
 * of 4 bytes. `packed` gets 1 for each column whose sealed blocks may come packed (docs/internals/packing_format.md), and 0 for the others. EXRP_STATUS_LIMIT where
 * another id has one. Columns that some records keep can't be mirrored. Where `host_copy` is 0, rows leave memory once the mirror has them and they are on the disk, as
 * long as it is there: EXRP_STATUS_ARGUMENT [5, -1] where rows can't leave memory, or [5, column] where this column could, and is not mirrored. */
EXRP_API int32_t exrp_mirror_begin(uint32_t replay, const uint32_t* columns, uint32_t column_count, uint32_t* packed, uint32_t host_copy);
/* It goes with the id, too. */
EXRP_API int32_t exrp_mirror_end(uint32_t replay);
/* Reads rows that the mirror lacks, as many as there is room for, which it has then. `run_count` counts runs, of which a block has one for each column at most.
 * A block that can't be read from the disk is passed over, and tried again by the next call. Until then a batch with its addresses is EXRP_STATUS_LOG.
 * EXRP_STATUS_BUFFER_SIZE where not one block's fit: those of a column may take (rows of a block + 1) x (bytes of a row + 8).
 * Until the mirror has all other rows, batches with EXRP_BATCH_ADDRESSES are EXRP_STATUS_ORDER. */
EXRP_API int32_t exrp_mirror_read(uint32_t replay, uint8_t* rows, uint32_t rows_size, uint32_t* runs, uint32_t run_count, uint32_t* info);
/* What this id's last batch with addresses was normalized by: of each element of the column the mean, then what is left of it, then the factor. An element x
 * becomes (x - mean - rest) x factor, before it is clipped. EXRP_STATUS_ARGUMENT where the view does not normalize the column. */
EXRP_API int32_t exrp_mirror_scales(uint32_t replay, uint32_t view, uint32_t column, float* scales, uint32_t scale_count);

/* ---- a pick view, for selectors written outside the kernel ---- */

/* The index of each pick in the pick view, or EXRP_INDEX_NONE where the view does not hold the pick.
 * The kernel takes the old contents of `indices` as guesses: a right guess saves a search, and a wrong one does no harm. */
EXRP_API int32_t exrp_pick_find(uint32_t replay, uint32_t view, const double* episodes, const int32_t* positions, uint32_t count,
                                EXRP_INOUT uint32_t* indices);
/* The picks at `first`..first + count - 1 of the pick view. */
EXRP_API int32_t exrp_pick_list(uint32_t replay, uint32_t view, uint32_t first, uint32_t count, double* episodes,
                                int32_t* positions);
/* The first priorities of the picks `first`..first + count - 1, each given with the pick's first record; -1 for none. */
EXRP_API int32_t exrp_pick_priorities(uint32_t replay, uint32_t view, uint32_t first, uint32_t count, double* priorities);
/* Opens the journal of the pick view: it keeps every later change until you read it. */
EXRP_API int32_t exrp_journal_open(uint32_t replay, uint32_t view);
/* The number of unread events. Read them often: each takes 8 bytes. */
EXRP_API int32_t exrp_journal_count(uint32_t replay, uint32_t view, uint32_t* count);
/* Takes up to event_count of the oldest events. (NONE, i): pick i was added. (j, i): pick j moved to i. (i, NONE): pick i was removed.
 * (i, i): pick i got a priority. The next event holds the 64 bits of that priority, a double, low half first. */
EXRP_API int32_t exrp_journal_read(uint32_t replay, uint32_t view, uint32_t* events, uint32_t event_count, uint32_t* read_count);

/* ---- the rate limiter of a replay ---- */

/* Holds records and draws back, so that they keep pace (kernel/base/rate_limiter.hpp has the rules). A call that stores n records counts n, if it is
 * made with `done` 0, and exrp_batch_get counts `count` samples. What is not allowed now is EXRP_STATUS_RATE_LIMITER, and has changed nothing.
 * There are no numbers, and then there is no rate limiter: its MIN_SIZE is 0. Or the first EXRP_RATE_LIMITER_RULE_COUNT, and then counts begin anew:
 * INSERTS is MIN_SIZE, or the records that are stored if they are fewer, and SAMPLES is 0. Or EXRP_RATE_LIMITER_SAVED_COUNT. No snapshot has them. */
EXRP_API int32_t exrp_rate_limiter_set(uint32_t replay, const double* numbers, uint32_t number_count);
EXRP_API int32_t exrp_rate_limiter_info(uint32_t replay, double* info, uint32_t info_count);
/* For a batch that the caller puts together by several calls: asks for all its picks at once. If the status is EXRP_STATUS_OK, this id's draws are
 * neither held back nor counted until exrp_rate_limiter_grant_end. */
EXRP_API int32_t exrp_rate_limiter_grant(uint32_t replay, uint32_t count);
/* Ends a grant, if there is one, and counts picks: those that were drawn meanwhile, or that the caller handed out in another way. */
EXRP_API int32_t exrp_rate_limiter_grant_end(uint32_t replay, uint32_t count);

/* ---- statistics ---- */

/* Each fills a summary, and counts values into bins. Edges rise. `counts` has edge_count + 1 elements: values below the first edge, values
 * from edge k up to edge k + 1, and values from the last edge on. The bins of all values are edge_count 0 and one count. */
/* The ages of all records: how many records were written after each. The kernel keeps the time of each block's first record, so a record
 * may be younger than it says by what other episodes got since then. */
EXRP_API int32_t exrp_record_ages(uint32_t replay, const double* edges, uint32_t edge_count, double* counts, double* summary,
                                  uint32_t summary_count);
/* What a selector keeps of all picks of its table: the weights that it draws by, or the priorities that exrp_priority_get would read.
 * Priorities that the rule does not know are left out. */
EXRP_API int32_t exrp_selector_sums(uint32_t replay, uint32_t selector, uint32_t what, const double* edges, uint32_t edge_count,
                                    double* counts, double* summary, uint32_t summary_count);
/* Notes `count` picks as one batch in a log of the caller's, EXRP_LIMIT_SELECTORS..EXRP_LIMIT_LOGS - 1. Evicted picks only count. */
EXRP_API int32_t exrp_draws_note(uint32_t replay, uint32_t log, const double* episodes, const int32_t* positions, uint32_t count);
/* The numbers of a log, EXRP_DRAWS_*. Snapshots have no logs. */
EXRP_API int32_t exrp_draws_info(uint32_t replay, uint32_t log, double* info, uint32_t info_count);
/* The latest noted draws of a log, in no order: triples (slot; number of the record, modulo 2^32; its age when it was drawn, at most
 * 2^32 - 1). No two picks have the same first two numbers. Which draws are noted: kernel/calls/draw_statistics.hpp. There are as many triples as
 * EXRP_DRAWS_NOTED_COUNT says, at most EXRP_LIMIT_NOTED; `draws` has at least three numbers for each. */
EXRP_API int32_t exrp_draws_read(uint32_t replay, uint32_t log, uint32_t* draws, uint32_t draws_count);

/* ---- snapshots ---- */

/* Keeps this moment for a snapshot, until exrp_replay_save_end. It copies what may change, and keeps the records by reference, so the replay may
 * change while the sections are read. EXRP_STATUS_ORDER where a snapshot is kept already, also for another id of the replay. */
EXRP_API int32_t exrp_replay_save_begin(uint32_t replay);
/* Lets go what this id keeps, read or not. */
EXRP_API int32_t exrp_replay_save_end(uint32_t replay);
/* Two numbers: the item count of a section, and the bytes of one item. They are of the moment that is kept; without one, of now. */
EXRP_API int32_t exrp_section_info(uint32_t replay, uint32_t section, double* info, uint32_t info_count);
/* Reads items of a section as they were at the moment that is kept, in pieces of any size. Without one, the call returns EXRP_STATUS_ORDER.
 * Records are read in order, each once; of other sections any items can be read at any time. */
EXRP_API int32_t exrp_section_read(uint32_t replay, uint32_t section, double first, uint32_t count, uint8_t* items,
                                   double items_size);
/* Loads items into an empty replay of the same configuration and selectors, section by section, each in order from item 0.
 * exrp_snapshot_end then checks the whole. Until it has succeeded, calls that draw from the replay or change it are EXRP_STATUS_ORDER.
 * After a failure, the replay can only be destroyed. */
EXRP_API int32_t exrp_section_write(uint32_t replay, uint32_t section, double first, uint32_t count, const uint8_t* items,
                                    double items_size);
EXRP_API int32_t exrp_snapshot_end(uint32_t replay);

/* ---- tables that many clients write to and sample from (kernel/tables/tables.hpp) ---- */

/* A durable replay. */

/* Makes a replay durable, in a folder (UTF-8) that is made where its parent is there. A new log begins with the replay as it is. A log that is there is
 * read, into a replay of the same options that was just made, with no view but its first and no selector. It gets the limits that the log says, or others
 * that are asked for. After a failure, the replay can only be destroyed. */
EXRP_API int32_t exrp_durable_open(uint32_t replay, const uint8_t* path, uint32_t path_size, const double* options, uint32_t option_count,
                                   double* report, uint32_t report_count);
/* The caller's state, as it was with the last group. */
EXRP_API int32_t exrp_durable_state(uint32_t replay, uint8_t* state, uint32_t state_size);
/* Ends a group: what was called until now counts together. `ticket` stands for its being on the disk. `has_state` is 0 or 1, or 2 where there is one, and
 * only these calls end groups from now on: what the caller keeps then always belongs to the records that are on the disk. */
EXRP_API int32_t exrp_durable_group(uint32_t replay, const uint8_t* state, uint32_t state_size, uint32_t has_state, double* ticket);
/* Waits until what the ticket stands for is on the disk; timeout_ms 0 only asks. */
EXRP_SLOW int32_t exrp_durable_wait(uint32_t replay, double ticket, uint32_t timeout_ms);
/* Ends a group, as exrp_durable_group does, and begins a copy of the folder as it is then. Until exrp_durable_unseal, nothing of it is removed. */
EXRP_API int32_t exrp_durable_seal(uint32_t replay, const uint8_t* state, uint32_t state_size, uint32_t has_state, double* copy, uint32_t copy_count);
/* Makes the copy in a folder (UTF-8) that has none of its files, once it is flushed. Files are linked where that is possible. */
EXRP_SLOW int32_t exrp_durable_copy(uint32_t replay, const uint8_t* path, uint32_t path_size, EXRP_INOUT double* copy, uint32_t copy_count);
EXRP_API int32_t exrp_durable_unseal(uint32_t replay);
EXRP_API int32_t exrp_durable_info(uint32_t replay, double* info, uint32_t info_count);

/* Reads all files of the log of a durable folder (UTF-8), of a replay or of tables, and lists what is damaged: EXRP_FLAW_COUNT numbers each. It changes nothing, and another process may
 * have the folder open. */
EXRP_SLOW int32_t exrp_folder_verify(const uint8_t* path, uint32_t path_size, uint32_t of_tables, double* report, uint32_t report_count,
                                     double* flaws, uint32_t flaws_count);

/* A set of tables. Messages are protobuf messages of Reverb's service, without gRPC's five bytes before them. One thread uses a set. */
EXRP_API int32_t exrp_tables_create(const double* config, uint32_t config_count, uint32_t* tables);
EXRP_API int32_t exrp_tables_destroy(uint32_t tables);
/* How many sets there are in the process. */
EXRP_API uint32_t exrp_tables_count(void);
/* The name by which messages know a table. A name is of one table only. */
EXRP_API int32_t exrp_tables_name_set(uint32_t tables, uint32_t table, const uint8_t* name, uint32_t name_size);
/* Another rate limiter from now on. Counts stay, and what waits and is now allowed goes on. */
EXRP_API int32_t exrp_tables_rate_limiter_set(uint32_t tables, uint32_t table, const double* numbers, uint32_t number_count);
EXRP_API int32_t exrp_tables_info(uint32_t tables, uint32_t table, double* info, uint32_t info_count);
EXRP_API int32_t exrp_tables_store_info(uint32_t tables, double* info, uint32_t info_count);
/* Whether `count` inserts or samples would be made now, as EXRP_ALLOW_* says: 1 or 0. Samples would be, whichever items they are. */
EXRP_API int32_t exrp_tables_allow(uint32_t tables, uint32_t table, uint32_t what, uint32_t count, uint32_t* allowed);
/* Items `first`..first + count - 1 of a table, in no order that means anything: 8 bytes of key each, and EXRP_ITEM_COUNT numbers each. */
EXRP_API int32_t exrp_tables_items(uint32_t tables, uint32_t table, uint32_t first, uint32_t count, uint8_t* keys, uint32_t keys_size,
                                   double* numbers, uint32_t numbers_count);
/* Removes all items of a table and sets its counts to 0. Items that wait stay, and may go in now. */
EXRP_API int32_t exrp_tables_reset(uint32_t tables, uint32_t table);
/* Applies a MutatePrioritiesRequest: first deletes, then updates. Keys that the table doesn't hold are passed over. */
EXRP_API int32_t exrp_tables_mutate(uint32_t tables, const uint8_t* message, uint32_t message_size);
/* 0, or the number of an invariant that does not hold. For tests. */
EXRP_API int32_t exrp_tables_check(uint32_t tables, int32_t* broken);

/* An inserter is one InsertStream: it holds the chunks that its client keeps for items to come. */
EXRP_API int32_t exrp_inserter_open(uint32_t tables, uint32_t* inserter);
/* Takes in one InsertStreamRequest. Items that a rate limiter refuses wait in their table, in order. `now`, in milliseconds since 1970, is the
 * time at which items are inserted from here on. */
EXRP_API int32_t exrp_inserter_feed(uint32_t tables, uint32_t inserter, const uint8_t* message, uint32_t message_size, double now,
                                    double* info, uint32_t info_count);
/* Inserts new items, as EXRP_INSERT_* says, with the rows of their chunks one after another. They stand in the same lines as items of messages, and
 * their keys are not confirmed: `info` says how many wait. The inserter holds no chunk of theirs. */
EXRP_API int32_t exrp_inserter_insert(uint32_t tables, uint32_t inserter, const double* numbers, uint32_t numbers_count, const uint8_t* rows,
                                      double rows_size, double now, double* info, uint32_t info_count);
/* How many items of this inserter wait, for each table of the set. Where `withdraw` is 1, they leave the lines, and are never inserted. */
EXRP_API int32_t exrp_inserter_waiting(uint32_t tables, uint32_t inserter, uint32_t withdraw, double* counts, uint32_t counts_count);
/* Writes an InsertStreamResponse with the keys that were inserted since the last one: as many as fit, and so perhaps none. */
EXRP_API int32_t exrp_inserter_read(uint32_t tables, uint32_t inserter, uint8_t* message, uint32_t message_size, double* info,
                                    uint32_t info_count);

/* A sampler is one SampleStream of a table. */
EXRP_API int32_t exrp_sampler_open(uint32_t tables, uint32_t table, uint32_t* sampler);
/* Asks for `count` samples more. They are a batch, together with those that were asked for before and not drawn yet. `how` is EXRP_ASK_*: but for
 * FLOWING, everything that was asked for before must have been read (EXRP_STATUS_ORDER). */
EXRP_API int32_t exrp_sampler_ask(uint32_t tables, uint32_t sampler, uint32_t count, uint32_t how);
/* Writes one SampleStreamResponse with the samples that were drawn: as many as fit. */
EXRP_API int32_t exrp_sampler_read(uint32_t tables, uint32_t sampler, uint8_t* message, double message_size, double* info,
                                   uint32_t info_count);
/* An inserter or a sampler has ended. Items of an inserter that wait still go in, as long as those of all streams that ended are few in their table:
 * at most EXRP_LIMIT_TABLES_LEFT_ITEMS, and no item after the first EXRP_LIMIT_TABLES_LEFT_BYTES of chunks. The others are dropped. What was drawn
 * for a sampler and not read is lost, unless EXRP_ASK_WHOLE says otherwise. */
EXRP_API int32_t exrp_stream_close(uint32_t tables, uint32_t stream);

/* The inserters and samplers for which a call for somebody else made something ready: keys to confirm, or samples. Each comes once. `count` is how
 * many of `streams` were written; where all were, call again. */
EXRP_API int32_t exrp_tables_awake(uint32_t tables, uint32_t* streams, uint32_t streams_count, uint32_t* count);

/* ---- Reverb's data (kernel/wire/) ---- */

/* Writes a ChunkData of new rows into `chunk`: EXRP_CHUNK_* says what `numbers` are. `place` gets two numbers: where in `chunk` the message
 * begins, and its bytes. EXRP_STATUS_BUFFER_SIZE says how much room it needs. */
EXRP_API int32_t exrp_chunk_encode(const double* numbers, uint32_t numbers_count, const uint8_t* rows, double rows_size, uint8_t* chunk,
                                   double chunk_size, double* place, uint32_t place_count);
/* Looks at the first samples of a SampleStreamResponse, at most samples_max: EXRP_SAMPLES_*. Messages one after another are a message too, so a
 * sample may come in several. What is left of one at the end is not counted. */
EXRP_API int32_t exrp_samples_scan(const uint8_t* message, uint32_t message_size, uint32_t samples_max, uint32_t flags,
                                   double* layout, uint32_t layout_count);
/* Decodes these samples into the places of their layout. After a failure `out` holds anything. */
EXRP_API int32_t exrp_samples_decode(const uint8_t* message, uint32_t message_size, const double* layout, uint32_t layout_count,
                                     uint8_t* out, double out_size);

/* Takes a snapshot of all tables, at one moment (kernel/tables/saving.hpp says what is in it). The set may change while it is read. */
EXRP_API int32_t exrp_tables_save_begin(uint32_t tables);
/* Writes the next piece of the snapshot. After the last one, calls write 0 bytes and let some of what was kept go, until EXRP_TABLES_SAVE_ENDED
 * is 1. EXRP_STATUS_ORDER without a snapshot. */
EXRP_API int32_t exrp_tables_save_read(uint32_t tables, uint8_t* piece, double piece_size, double* info, uint32_t info_count);
/* Lets the snapshot go, read or not. */
EXRP_API int32_t exrp_tables_save_end(uint32_t tables);
/* Loads the pieces of a snapshot, each as it was read, into a set that has tables of the same names and rules, and into which nothing was ever
 * inserted. Its tables may have another order, and those that the snapshot lacks stay empty.
 * exrp_tables_load_end checks the whole. Until it has succeeded, calls that insert, sample or change anything are EXRP_STATUS_ORDER. After a failure, the set can
 * only be destroyed. The rate limiters keep their own numbers, and take the counts. */
EXRP_API int32_t exrp_tables_load(uint32_t tables, const uint8_t* piece, double piece_size);
EXRP_API int32_t exrp_tables_load_end(uint32_t tables);

/* Makes tables durable, in a folder (UTF-8), as exrp_durable_open does with a replay. The tables were just made. `options` and `report` are as there, but that
 * only options up to EXRP_DURABLE_GOES_ON and numbers up to EXRP_RECOVERY_STATE_BYTES count. EXRP_RECOVERY_GROUPS is how many changes were made again, and
 * EXRP_RECOVERY_LOST_BLOCKS how many items were lost. EXRP_STATUS_ORDER where a chunk is there. After a failure, the set can only be destroyed. */
EXRP_API int32_t exrp_tables_durable_open(uint32_t tables, const uint8_t* path, uint32_t path_size, const double* options, uint32_t option_count,
                                          double* report, uint32_t report_count);
/* The caller's state, as it was written last. */
EXRP_API int32_t exrp_tables_durable_state(uint32_t tables, uint8_t* state, uint32_t state_size);
/* Writes the caller's state, where it has changed. `ticket` stands for all that was done until now being on the disk. */
EXRP_API int32_t exrp_tables_durable_note(uint32_t tables, const uint8_t* state, uint32_t state_size, double* ticket);
/* Waits until what the ticket stands for is on the disk; timeout_ms 0 only asks. */
EXRP_SLOW int32_t exrp_tables_durable_wait(uint32_t tables, double ticket, uint32_t timeout_ms);
/* What exrp_durable_info says of a replay. */
EXRP_API int32_t exrp_tables_durable_info(uint32_t tables, double* info, uint32_t info_count);

#ifdef __cplusplus
}
#endif

#endif /* EXRP_H */
