// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "holdfast/base/status.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// Durable counters of acknowledged updates, one per worker, each on a line of its own so that
/// workers do not conflict here. An update that advances its worker's counter can be distinguished
/// from one that a crash has undone. After recovery, the counter is at least the acknowledged one.
template <class H>
class Ledger {
  template <class T>
  using Field = typename H::template Field<T>;

 public:
  explicit Ledger(int workers)
      : workers_(workers), cell_(static_cast<Cell*>(H::allocate(bytes(workers)))) {
    Cell* cell = cell_;
    for (int i = 0; i < workers; ++i) {
      cell[i].sequence = 0;
    }
  }

  int workers() const { return static_cast<int>(workers_.load()); }
  uint64_t sequence(int worker) const { return cell_.load()[worker].sequence; }

  /// Call it inside the update that is to be acknowledged. Returns the sequence to acknowledge.
  uint64_t advance(int worker) {
    Field<uint64_t>& cell = cell_.load()[worker].sequence;
    const uint64_t next = cell + 1;
    cell = next;
    return next;
  }

  /// Call it inside a transaction. Fails if the counter is less than the acknowledged sequence.
  Status reached(uint64_t worker, uint64_t sequence) const {
    if (worker >= static_cast<uint64_t>(workers())) {
      return Status(Code::corrupt,
                    "worker " + std::to_string(worker) + " is not known to the heap");
    }
    const uint64_t found = this->sequence(static_cast<int>(worker));
    if (found < sequence) {
      return Status(Code::corrupt, "worker " + std::to_string(worker) + " was told that update " +
                                       std::to_string(sequence) + " is durable; the heap ends at " +
                                       std::to_string(found));
    }
    return {};
  }

  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    visit(static_cast<const void*>(cell_.load()), bytes(workers()));
  }

 private:
  struct alignas(kLineBytes) Cell {
    Field<uint64_t> sequence;
  };
  static size_t bytes(int workers) { return static_cast<size_t>(workers) * sizeof(Cell); }

  Field<int64_t> workers_;
  Field<Cell*> cell_;
};

}  // namespace holdfast
