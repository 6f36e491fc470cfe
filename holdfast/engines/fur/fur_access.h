// SPDX-License-Identifier: Apache-2.0
//
// A thread's transaction under FUR. htm_access.h connects it to a Field's loads and stores.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <vector>

#include "holdfast/engines/parts/durability/replay/redo_log.h"
#include "holdfast/engines/parts/isolation/htm/htm_access.h"

namespace holdfast {

/// One thread's transaction, and the memory it keeps between transactions.
template <class M>
struct alignas(kMaxLineBytes) FurThread : HtmThread<M> {
  using Base = HtmThread<M>;
  using Mode = Context::Mode;
  using Path = typename Base::Path;

  FurThread(M& machine, const RedoLog<M>& redo_log, int own_slot, int slots)
      : Base(machine, own_slot), redo(redo_log), scratch(static_cast<size_t>(slots)) {}

  VolatileLog log;  ///< places the transaction has stored to
  RedoLog<M> redo;
  bool log_full = false;         ///< locked path: the rest of the log must be freed first
  std::vector<uint64_t> staged;  ///< the transaction's records, on their way to the redo log
  std::vector<uint64_t> scratch;
  /// The transaction's number (the paper's durTS), or 0. On lines of its own, because a suspended
  /// transaction stores to it (suspended.h).
  alignas(kMaxLineBytes) uint64_t number = 0;

  /// Begins an attempt of an update.
  void prepare(Path new_path) {
    Base::begin(Mode::update, new_path);
    number = 0;
    log_full = false;
    log.begin(redo.room());
  }

  /// Makes `staged` large enough for the records of `log`. Returns the exception if there is no
  /// memory.
  std::exception_ptr make_stage() {
    try {
      if (staged.size() < log.bytes() / 8) [[unlikely]] {
        staged.resize(log.bytes() / 8);
      }
    } catch (const std::bad_alloc&) {
      return std::current_exception();
    }
    return {};
  }

  /// Notes a store just before it happens.
  void storing(const void* p, size_t n) {
    const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(p) - this->data);
    if (log.add(offset, n) == VolatileLog::Outcome::full) [[unlikely]] {
      overflow();
    }
  }

 private:
  struct LogFull {};

  void overflow() {
    if (log.limit() < redo.size()) {  // the next attempt waits for the whole log
      if (this->path == Path::transaction) {
        this->htm->abort(AbortCode::log);
      }
      log_full = true;
      this->leave_body(LogFull());
    }
    M::reach(Probe{"fur.too_large"});
    this->leave_body(log_too_small(redo.size()));
  }
};

template <class M, Tracking kTracking>
using FurAccess = HtmAccess<FurThread<M>, kTracking>;

}  // namespace holdfast
