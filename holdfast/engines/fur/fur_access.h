// SPDX-License-Identifier: Apache-2.0
//
// A thread's transaction under FUR. How a Field's loads and stores come to it: htm_access.h.
#pragma once

#include <string>
#include <vector>

#include "holdfast/engines/parts/durability/replay/redo_log.h"
#include "holdfast/engines/parts/isolation/htm/htm_access.h"

namespace holdfast {

/// One thread's transaction, and what it keeps between transactions.
template <class M>
struct alignas(2 * kLineBytes) FurThread : HtmThread<M> {
  using Base = HtmThread<M>;
  using Mode = Context::Mode;
  using Path = typename Base::Path;

  FurThread(M& machine, const RedoLog<M>& redo_log, int own_slot, int slots)
      : Base(machine, own_slot), redo(redo_log), scratch(static_cast<size_t>(slots)) {}

  VolatileLog log;  ///< where the transaction has stored
  RedoLog<M> redo;
  bool log_full = false;         ///< locked path: the rest of the log has to be freed first
  std::vector<uint64_t> staged;  ///< the transaction's records, on their way to the redo log
  std::vector<uint64_t> scratch;
  /// durTS, or 0. Stored to while the transaction is suspended, so in lines of its own
  /// (suspended.h).
  alignas(2 * kLineBytes) uint64_t number = 0;

  void prepare(Mode new_mode, Path new_path) {
    Base::begin(new_mode, new_path);
    number = 0;
    log_full = false;
    log.begin(new_mode == Mode::update ? redo.room() : 0);
  }

  /// Room in `staged` for what is in `log`.
  void make_stage() {
    if (staged.size() < log.bytes() / 8) {
      staged.resize(log.bytes() / 8);
    }
  }

  /// Notes a store that is about to happen.
  void storing(const void* p, size_t n) {
    const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(p) - this->data);
    if (log.add(offset, n) == VolatileLog::Outcome::full) [[unlikely]] {
      overflow();
    }
  }

 private:
  struct LogFull {};

  void overflow() {
    if (log.limit() < redo.size()) {  // the next attempt will have the whole log
      if (this->path == Path::transaction) {
        this->htm->abort();
      }
      log_full = true;
      this->leave_body(LogFull());
    }
    this->leave_body(log_too_small(redo.size()));
  }
};

template <class M, Tracking kTracking>
using FurAccess = HtmAccess<FurThread<M>, kTracking>;

}  // namespace holdfast
