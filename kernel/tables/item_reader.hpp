// ItemReader: reads the items that a call brings: of an InsertStreamRequest, with chunks, then items, then the keys of the chunks that the client keeps; or as plain
// rows, which it packs as a client would have done.
//
// It checks all of them, and takes all their memory. Nothing that can be seen has changed then: it has added chunks, and made the bodies of items. If
// anything is wrong, both go again.
//
// Thread safety: none of its own.
// Cost: a message is read once for its chunks and once for its items; nothing is allocated but what stays.
#pragma once

#include <memory>

#include "kernel/base/numbers.hpp"
#include "kernel/tables/streams.hpp"
#include "kernel/tables/tables_listener.hpp"
#include "kernel/wire/proto_reader.hpp"

namespace exrp {

/// Status::ok, if these are priorities of an item, or of a change of one: the `index`-th of a call. `own` is that for the remover.
Status checkPriorities(size_t index, uint64_t key, double priority, OptionalReal own);

class ItemReader {
 public:
  struct NewItem {
    WaitingItem item;
    uint32_t table;
  };

  /// For these tables on this store.
  void create(const std::unique_ptr<ItemTable>* tables, uint32_t tableCount, ChunkStore& store) {
    tables_ = tables;
    tableCount_ = tableCount;
    store_ = &store;
  }

  /// Reads a message. The inserter holds its chunks then, and no more of those before than the message says. `listener` may be null.
  Status readMessage(Inserter& inserter, ByteSpan message, const TablesListener* listener);
  /// Reads items of this process: `numbers` and `rows` are as exrp_inserter_insert has them.
  Status readRows(Inserter& inserter, Numbers numbers, ByteSpan rows, const TablesListener* listener);
  /// Those that were read.
  const Queue<NewItem>& items() const { return items_; }

  double memoryBytes() const { return items_.memoryBytes() + chunks_.memoryBytes() + made_.memoryBytes() + packed_.memoryBytes(); }

 private:
  /// An item as a call brings it.
  struct Head {
    uint64_t key;
    uint32_t table;
    double priority;
    OptionalReal own;  // for the remover
    bool isConfirmed;
  };
  /// A chunk that a call has made of rows.
  struct MadeChunk {
    Chunk* chunk;
    uint64_t key;
    uint32_t length;   // rows
    uint32_t columns;
    uint32_t item;     // the last item of the call that is made of it
  };

  Status readFieldsOf(Inserter& inserter, ByteSpan message, uint64_t kept);
  Status addChunk(Inserter& inserter, ByteSpan chunk);
  Status readItem(Inserter& inserter, ByteSpan message);
  Status readNumbers(Inserter& inserter, Numbers numbers, ByteSpan rows);
  Status readNewItem(Numbers& numbers);
  Status addItem(const Head& head, ByteSpan trajectory);
  Status prepare(Inserter& inserter);
  void drop();

  const std::unique_ptr<ItemTable>* tables_ = nullptr;
  uint32_t tableCount_ = 0;
  ChunkStore* store_ = nullptr;
  const TablesListener* listener_ = nullptr;  // of the call
  Queue<NewItem> items_;
  Queue<Chunk*> chunks_;  // of an item
  Queue<MadeChunk> made_;
  Scratch<uint8_t> packed_;
};

}  // namespace exrp
