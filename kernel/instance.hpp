// Instance: one replay as the registry keeps it: its state, the parts that work on it, their scratch, and the batches ordered ahead.
//
// Thread safety: runOrder() may be called from any thread, at any time. All else is the caller's to serialise. Who draws what was
// ordered uses the caller's lane: the caller waits meanwhile (batch_orders.hpp).
#pragma once

#include "kernel/batch_orders.hpp"
#include "kernel/drawing.hpp"
#include "kernel/lane.hpp"
#include "kernel/looking.hpp"
#include "kernel/recording.hpp"
#include "kernel/replay.hpp"
#include "kernel/snapshot.hpp"

namespace exrp {

class Instance {
 public:
  Status create(const ReplayConfig& config, const PickPolicy& pick) {
    const Status status = replay.create(config, pick);
    if (status == Status::ok) recording.create();
    return status;
  }

  /// Orders a batch, to be drawn as of now. Neither this nor takeBatch() waits for a draw, but for that of the order that is taken.
  Status orderBatch(uint32_t selector, uint32_t count, double beta, uint8_t* batch, double batchBytes, double* order) {
    BatchOrder made = {};
    made.selector = selector;
    made.count = count;
    made.beta = beta;
    made.batch = batch;
    made.batchBytes = batchBytes;
    const double id = orders_.give(made);
    if (id == 0) return fail(Status::ordersFull, EXRP_LIMIT_ORDERS);
    *order = id;
    return Status::ok;
  }
  Status takeBatch(double order) {
    Status status = Status::ok;
    if (orders_.take(order, &status)) return status;
    finishOrders();
    return orders_.take(order, &status) ? status : fail(Status::argument, 2, order);
  }
  /// Draws what was ordered before. Every call but those two comes here first.
  void finishOrders() {
    if (orders_.waiting() > 0) orders_.run([this](const BatchOrder& order) { return carryOut(order); });
  }
  /// From another thread, whose caller keeps the order's memory at `batch` until this returns.
  Status runOrder(double order, const uint8_t* batch) {
    const bool isKnown = orders_.runFor(order, batch, [this](const BatchOrder& each) { return carryOut(each); });
    return isKnown ? Status::ok : fail(Status::argument, 2, order);
  }
  /// Bytes of memory in use beside those of Replay::info().
  double memoryBytes() const {
    return static_cast<double>(sizeof(Instance)) + looking.memoryBytes() + lane.memoryBytes() + snapshot.memoryBytes();
  }
  /// Lets other threads leave runOrder(), as the replay is about to go.
  void closeOrders() { orders_.close(); }

  Replay replay;
  Recording recording{replay};
  Looking looking{replay};
  Drawing drawing{replay, looking};
  Snapshot snapshot{replay};
  Lane lane;
  /// Threads that are in runOrder(), and the thread that made the replay: both are the registry's business.
  uint32_t runnerCount = 0;
  uint64_t owner = 0;

 private:
  Status carryOut(const BatchOrder& order) {
    const Status status = snapshot.checkWhole();
    if (status != Status::ok) return status;
    return drawing.getBatch(lane, order.selector, {0, order.count, order.count}, order.beta, order.batch, order.batchBytes);
  }

  BatchOrders orders_;
};

}  // namespace exrp
