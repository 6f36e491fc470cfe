// SPDX-License-Identifier: Apache-2.0
//
// The frame of engines that save old bytes in one undo log before they change the data in place.
//
// update()  lock; body; pwb the changed lines, pfence; empty the log, durably; unlock
// read()    the shared side of the lock around the body
// A body that throws is rolled back from the log, while the lock is held.
#pragma once

#include <algorithm>
#include <vector>

#include "holdfast/base/bytes.h"
#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/run_body.h"
#include "holdfast/engines/parts/basics/slot_statistics.h"

namespace holdfast::undo {

/// A range of bytes in the heap's data.
struct Range {
  const std::byte* begin;
  size_t bytes;

  const std::byte* end() const { return begin + bytes; }
  bool covers(const Range& other) const { return other.begin >= begin && other.end() <= end(); }
  bool meets(const Range& other) const { return begin < other.end() && other.begin < end(); }
};

/// An undo engine; see Engine in engine.h for the contract. A Variant has the parts that differ:
///
///   kDescription
///   Lock<M>(machine, options)
///       lock(), unlock()         around an update
///       enter(slot)              before a read; returns whether the reader shares the lock
///       leave(slot, shared)      after a read; `shared` is the result of enter()
///   Log<M>(machine, regions, options)
///       as UndoLog: format(), append(), finish(), roll_back(), recover()
///   Ranges<M>(machine, regions, options)
///       the bytes that the running transaction has saved and stored; for one thread
///       clear()                  a transaction begins
///       any()                    whether the transaction has stored anything
///       fresh(block)             stores into the block need no records
///       add(range, save)         called before a store to `range`; calls save(range) for each part
///                                that needs a record first
///       for_each_stored(line, visit)
///                                calls visit(range) for all bytes to be written back; `line` is
///                                the size of a line
template <class M, class Variant>
class UndoEngine {
 public:
  using Machine = M;
  static constexpr bool kDirectLoads = M::kDirectLoads;
  static constexpr bool kUpdatesAwaitOlder = true;  // they have the data to themselves
  static constexpr Description kDescription = Variant::kDescription;

  UndoEngine(M& machine, const Regions& regions, const Options& options, int /*max_threads*/)
      : machine_(machine),
        regions_(regions),
        log_(machine, regions, options),
        lock_(machine, options),
        statistics_(machine) {
    contexts_.reserve(static_cast<size_t>(machine.slots()));
    for (int slot = 0; slot < machine.slots(); ++slot) {
      contexts_.emplace_back(*this, options);
      contexts_.back().slot = slot;
    }
  }
  UndoEngine(const UndoEngine&) = delete;
  UndoEngine& operator=(const UndoEngine&) = delete;

  Status format() {
    log_.format();
    return {};
  }

  Status recover(RecoveryReport& report) { return log_.recover(report); }
  Status close() { return {}; }

  void update(FunctionRef<void()> body) {
    const TransactionScope<M> scope(TransactionKind::update);
    Transaction& t = begin(Context::Mode::update);
    lock_.lock();
    try {
      run_inside(t, body);
      commit(t);
    } catch (const MediumFailure&) {
      throw;  // keeps the lock: no thread may store any more, and every wait throws
    } catch (...) {
      M::reach(Probe{"undo.user_abort"});
      M::phase(Phase::roll_back);
      log_.roll_back();
      ++statistics_.here().user_aborts;
      lock_.unlock();
      throw;
    }
    ++statistics_.here().update_commits;
    lock_.unlock();
  }

  void read(FunctionRef<void()> body) {
    const TransactionScope<M> scope(TransactionKind::read);
    Transaction& t = begin(Context::Mode::read);
    const bool locks = !machine_.skips(Site{"undo.read.lock"});
    const bool shared = locks && lock_.enter(t.slot);
    const auto leave = [&] {
      if (locks) {
        lock_.leave(t.slot, shared);
      }
    };
    try {
      run_inside(t, body);
    } catch (const MediumFailure&) {
      throw;
    } catch (...) {
      ++statistics_.here().user_aborts;
      leave();
      throw;
    }
    ++statistics_.here().read_commits;
    leave();
  }

  template <class T>
  static T load(const T* p) {
    return M::load(p);
  }

  template <class T>
  static void store(T* p, T value) {
    writing(bytes_at(p), kBytesOf<T>)->before_store(bytes_at(p), kBytesOf<T>);
    M::store(p, value);
  }

  static void load_range(void* to, const void* from, size_t n) { M::copy(to, from, n); }

  static void store_range(void* to, const void* from, size_t n) {
    Transaction* const transaction = writing(to, n);
    if (n != 0) {  // recovery takes a record without bytes for a damaged one
      transaction->before_store(to, n);
      M::copy(to, from, n);
    }
  }

  static void promote(const void* /*p*/, size_t /*n*/) {}  // writers exclude each other

  /// A block that this transaction has freed is not fresh when it allocates the block again. A
  /// rollback gives the block back, so its old content must be logged.
  static void fresh(const void* p, size_t n) {
    auto* const t = static_cast<Transaction*>(M::context());
    const Range block{static_cast<const std::byte*>(p), n};
    const bool reused = std::any_of(t->released.begin(), t->released.end(),
                                    [&](const Range& freed) { return freed.meets(block); });
    if (!reused) {
      must_succeed(*t, [&] { t->ranges.fresh(block); });
    } else {
      M::reach(Probe{"undo.fresh_again"});
    }
  }
  static void released(const void* p, size_t n) {
    auto* const t = static_cast<Transaction*>(M::context());
    must_succeed(*t, [&] { t->released.push_back({static_cast<const std::byte*>(p), n}); });
  }

  Statistics statistics() const { return statistics_.sum(); }

 private:
  struct Transaction : Context {
    Transaction(UndoEngine& engine, const Options& options)
        : owner(&engine), ranges(engine.machine_, engine.regions_, options) {}

    UndoEngine* owner;
    typename Variant::template Ranges<M> ranges;
    std::vector<Range> released;  // blocks that this transaction has freed

    void before_store(const void* p, size_t n) {
      must_succeed(*this, [&] {  // for example, the log may be full
        ranges.add({static_cast<const std::byte*>(p), n}, [&](const Range& range) {
          if (!owner->machine_.skips(Site{"undo.record"})) {
            const PhaseScope<M> scope(Phase::log_flush);
            owner->log_.append(range.begin, range.bytes);
          }
        });
      });
      owner->statistics_.here().bytes_stored += n;
      owner->statistics_.here().bytes_written += n;
    }
  };

  static Transaction* writing(const void* p, size_t n) {
    auto* context = static_cast<Context*>(M::context());
    if (context == nullptr || context->mode != Context::Mode::update || !context->covers(p, n))
        [[unlikely]] {
      throw_stray_store(context, p);
    }
    return static_cast<Transaction*>(context);
  }

  Transaction& begin(Context::Mode mode) {
    Transaction& t = contexts_[static_cast<size_t>(machine_.self())];
    t.data = regions_.data;
    t.capacity = regions_.capacity;
    t.mode = mode;
    t.nested_failure = nullptr;
    t.ranges.clear();
    t.released.clear();
    return t;
  }

  static void run_inside(Transaction& t, FunctionRef<void()> body) {
    void* const outer = M::context();
    M::set_context(&t);
    try {
      body();
      if (t.nested_failure) {
        std::rethrow_exception(t.nested_failure);
      }
    } catch (...) {
      M::set_context(outer);
      throw;
    }
    M::set_context(outer);
  }

  void commit(const Transaction& t) {
    if (!t.ranges.any()) {
      return;
    }
    M::phase(Phase::data_flush);
    t.ranges.for_each_stored(machine_.line_bytes(), [&](const Range& range) {
      machine_.pwb_range(range.begin, range.bytes, Site{"undo.data"});
    });
    // The data are durable before the log that could undo them is emptied.
    machine_.pfence(Site{"undo.data.fence"});
    M::phase(Phase::marker_flush);
    statistics_.here().bytes_written += log_.finish();
  }

  M& machine_;
  Regions regions_;
  typename Variant::template Log<M> log_;
  typename Variant::template Lock<M> lock_;
  std::vector<Transaction> contexts_;
  SlotStatistics<M> statistics_;
};

}  // namespace holdfast::undo
