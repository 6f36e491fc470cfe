// SPDX-License-Identifier: Apache-2.0
//
// Textbook undo logging under one lock: the simplest engine that is right, and the yardstick for
// the others. (Gray and Reuter, "Transaction Processing", 1992, chapter 10.)
//
// Area      one line with the epoch, then one log shared by all threads (there is one writer).
// Record    { offset, length, check } and the old bytes. `check` covers record, position and epoch,
//           so a torn or outdated record ends the log by itself and no count has to be kept.
// Store     append the record, pwb, pfence; only then change the data in place.
// Commit    pwb the changed lines, pfence; epoch + 1 (which empties the log), pwb, psync.
// Recovery  restore the records of the current epoch, last one first; pwb, pfence; epoch + 1,
// psync.
//           Restoring twice gives the same bytes, so a crash in recovery is harmless.
// Persists  one pfence per record, plus 2 per update. Blocks allocated by the transaction itself
// need
//           no record: rolled back, they are free again.
// Reads     take the same lock. Everything visible is durable, so readers never wait for
// durability.
#pragma once

#include <algorithm>
#include <vector>

#include "holdfast/engines/common/retry.h"
#include "holdfast/engines/common/slot_statistics.h"
#include "holdfast/engines/engine.h"
#include "holdfast/engines/undo/undo_log.h"

namespace holdfast {

template <class M>
class Undo {
 public:
  using Machine = M;
  static constexpr OptionInfo kOptions[] = {
      {"log_bytes", "16777216", "size of the undo log, 1024 bytes to 1 GiB; bounds one transaction",
       "2048"}};
  static Result<size_t> area_bytes(const Options& options, int /*max_threads*/) {
    auto log = option_number(options, "log_bytes", 16 << 20, 1024, 1 << 30);
    return log ? Result<size_t>(kLineBytes + *log) : Result<size_t>(log.status());
  }
  static constexpr Description kDescription = {
      .name = "undo",
      .title = "undo log under one lock",
      .paper = "textbook",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::in_place,
      .needs_htm = false,
      .log = "undo",
      .fences = "2 + one per store",
      .options = kOptions,
      .option_count = 1,
      .area_bytes = &area_bytes,
  };

  Undo(M& machine, const Regions& regions, const Options& /*options*/, int /*max_threads*/)
      : machine_(machine),
        regions_(regions),
        log_(machine, regions),
        lock_(machine),
        contexts_(static_cast<size_t>(machine.slots())),
        statistics_(machine) {}

  Status format() {
    log_.format();
    return {};
  }

  Status recover(RecoveryReport& report) { return log_.recover(report); }
  void grown(size_t bytes) {
    regions_.bytes = bytes;
    log_.grown(bytes);
  }
  Status close() { return {}; }

  void update(FunctionRef<void()> body) { run(Context::Mode::update, body); }
  void read(FunctionRef<void()> body) { run(Context::Mode::read, body); }

  template <class T>
  static T load(const T* p) {
    return M::load(p);
  }

  template <class T>
  static void store(T* p, T value) {
    writing(p, sizeof(T))->before_store(p, sizeof(T));
    M::store(p, value);
  }

  static void load_range(void* to, const void* from, size_t n) { M::copy(to, from, n); }

  static void store_range(void* to, const void* from, size_t n) {
    writing(to, n)->before_store(to, n);
    M::copy(to, from, n);
  }

  static void promote(const void* /*p*/, size_t /*n*/) {}  // one lock: reads cannot be overtaken

  /// What this transaction has freed before is somebody's again after a roll-back.
  static void fresh(const void* p, size_t n) {
    auto* const t = static_cast<Transaction*>(M::context());
    const auto* begin = static_cast<const std::byte*>(p);
    const bool reused = std::any_of(t->released.begin(), t->released.end(), [&](const Range& r) {
      return begin < r.begin + r.bytes && r.begin < begin + n;
    });
    if (!reused) {
      t->fresh.push_back({begin, n});
    }
  }
  static void released(const void* p, size_t n) {
    static_cast<Transaction*>(M::context())
        ->released.push_back({static_cast<const std::byte*>(p), n});
  }

  Statistics statistics() const { return statistics_.sum(); }

 private:
  struct Range {
    const std::byte* begin;
    size_t bytes;
  };

  struct Transaction : Context {
    Undo* owner = nullptr;
    std::vector<Range> fresh;     // allocated by this transaction
    std::vector<Range> released;  // freed by it
    std::vector<Range> stored;    // to be written back at commit

    void before_store(void* p, size_t n) {
      const auto* address = static_cast<const std::byte*>(p);
      const bool is_fresh = std::any_of(fresh.rbegin(), fresh.rend(), [&](const Range& r) {
        return address >= r.begin && address + n <= r.begin + r.bytes;
      });
      if (!is_fresh && !owner->machine_.skips(Site{"undo.record"})) {
        const PhaseScope<M> scope(Phase::log_flush);
        owner->log_.append(p, n);
      }
      if (!stored.empty() && stored.back().begin + stored.back().bytes == address) {
        stored.back().bytes += n;  // structures are filled field by field
      } else {
        stored.push_back({address, n});
      }
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

  void run(Context::Mode mode, FunctionRef<void()> body) {
    const TransactionScope<M> scope(mode == Context::Mode::update ? TransactionKind::update
                                                                  : TransactionKind::read);
    const int slot = machine_.self();
    Transaction& t = contexts_[static_cast<size_t>(slot)];
    t.owner = this;
    t.data = regions_.data;
    t.capacity = regions_.capacity;
    t.mode = mode;
    t.slot = slot;
    t.nested_failure = nullptr;
    t.fresh.clear();
    t.released.clear();
    t.stored.clear();

    const bool locks = mode == Context::Mode::update || !machine_.skips(Site{"undo.read.lock"});
    if (locks) {
      lock_.acquire();
    }
    void* const outer = M::context();
    M::set_context(&t);
    try {
      body();
      if (t.nested_failure) {
        std::rethrow_exception(t.nested_failure);
      }
      if (mode == Context::Mode::update) {
        commit(t);
      }
    } catch (const MediumFailure&) {
      M::set_context(outer);
      throw;  // the lock stays held: nothing may be stored any more, and every wait throws
    } catch (...) {
      M::set_context(outer);
      if (mode == Context::Mode::update) {
        M::phase(Phase::roll_back);
        log_.roll_back();
        ++statistics_.here().user_aborts;
      }
      release(locks);
      throw;
    }
    M::set_context(outer);
    auto& s = statistics_.here();
    ++(mode == Context::Mode::update ? s.update_commits : s.read_commits);
    release(locks);
  }

  void release(bool locked) {
    if (locked) {
      lock_.release();
    }
  }

  void commit(const Transaction& t) {
    if (t.stored.empty()) {
      return;
    }
    M::phase(Phase::data_flush);
    for (const Range& r : t.stored) {
      machine_.pwb_range(r.begin, r.bytes, Site{"undo.data"});
    }
    machine_.pfence(
        Site{"undo.data.fence"});  // data durable before the log that could undo it is emptied
    M::phase(Phase::marker_flush);
    statistics_.here().bytes_written += log_.finish();
  }

  M& machine_;
  Regions regions_;
  UndoLog<M> log_;
  GlobalLock<M> lock_;
  std::vector<Transaction> contexts_;
  SlotStatistics<M> statistics_;
};

}  // namespace holdfast
