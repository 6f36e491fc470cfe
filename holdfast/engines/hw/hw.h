// SPDX-License-Identifier: Apache-2.0
//
// Hardware durability: the hardware makes transactions durable, software isolates them with one
// lock around tx_start, the body and tx_commit. The machine's hardware design guarantees atomicity,
// so this engine exists only for machines with a design: simulated ones.
//
// Idea      The design makes transactions atomic and durable; the engine only isolates them.
// Area      none.
// Store     in place. No log, no pwb, no pfence.
// Commit    tx_commit, which takes its place among the stores; then release the lock, so that no
//           other thread sees data before it is durable. With option wait=1 the thread returns only
//           when its stores, and the commit among them, have left for the caches.
// Rollback  tx_abort: the design restores the old values.
// Recovery  none. The design has recovered before the program starts.
// Persists  0 per update by software.
// Reads     take the same lock.
#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/retry.h"
#include "holdfast/engines/parts/basics/slot_statistics.h"

namespace holdfast {

/// The engine; see Engine in engine.h for the contract. Transactions run one at a time.
template <class M>
  requires HardwareTransactions<M>
class Hardware {
 public:
  using Machine = M;
  static constexpr OptionInfo kOptions[] = {
      {"wait", "1",
       "0: update() returns before its transaction is durable, which the next one's start or any "
       "fence of the thread then waits for"}};
  static Result<size_t> area_bytes(const Options& options, int /*max_threads*/) {
    auto wait = option_number(options, "wait", 1, 0, 1);
    return wait ? Result<size_t>(kLineBytes) : Result<size_t>(wait.status());
  }
  static constexpr Description kDescription = {
      .name = "hw",
      .title = "hardware durability under one lock",
      .paper = "Hercules (ACM TECS 2023), section 5: how its workloads use the designs",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::in_place,
      .needs_htm = false,
      .needs_design = true,
      .log = "the hardware design's",
      .fences = "0",
      .options = kOptions,
      .option_count = 1,
      .area_bytes = &area_bytes,
  };

  Hardware(M& machine, const Regions& regions, const Options& options, int /*max_threads*/)
      : machine_(machine),
        regions_(regions),
        waits_(option_number(options, "wait", 1, 0, 1).value() != 0),
        lock_(machine),
        contexts_(static_cast<size_t>(machine.slots())),
        statistics_(machine) {}

  Status format() { return design_present(); }
  Status recover(RecoveryReport& /*report*/) { return design_present(); }
  void grown(size_t bytes) { regions_.bytes = bytes; }
  Status close() { return {}; }

  void update(FunctionRef<void()> body) { run(Context::Mode::update, body); }
  void read(FunctionRef<void()> body) { run(Context::Mode::read, body); }

  template <class T>
  static T load(const T* p) {
    return M::load(p);
  }

  template <class T>
  static void store(T* p, T value) {
    count_store(p, sizeof(T));
    M::store(p, value);
  }

  static void load_range(void* to, const void* from, size_t n) { M::copy(to, from, n); }

  static void store_range(void* to, const void* from, size_t n) {
    count_store(to, n);
    M::copy(to, from, n);
  }

  static void promote(const void* /*p*/, size_t /*n*/) {}  // one lock: no read becomes stale
  static void fresh(const void* /*p*/, size_t /*n*/) {}    // the hardware has no use for it

  Statistics statistics() const { return statistics_.sum(); }

 private:
  struct Transaction : Context {
    Hardware* owner = nullptr;
  };

  static void count_store(const void* p, size_t n) {
    auto* context = static_cast<Context*>(M::context());
    if (context == nullptr || context->mode != Context::Mode::update || !context->covers(p, n))
        [[unlikely]] {
      throw_stray_store(context, p);
    }
    auto& statistics = static_cast<Transaction*>(context)->owner->statistics_.here();
    statistics.bytes_stored += n;
    statistics.bytes_written += n;
  }

  Status design_present() const {
    if (!machine_.design().empty()) {
      return {};
    }
    return {Code::unsupported,
            "engine hw needs a machine with a hardware design; name one that `holdfast designs` "
            "lists with --design"};
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

    const bool update = mode == Context::Mode::update;
    bool protects = update && !machine_.skips(Site{"hw.transaction"});
    bool locks = !machine_.skips(update ? Site{"hw.update.lock"} : Site{"hw.read.lock"});
    if (locks) {
      lock_.acquire();
    }
    void* const outer = M::context();
    M::set_context(&t);
    try {
      if (protects) {
        machine_.tx_start();
      }
      if (update && machine_.skips(Site{"hw.commit.order"})) {
        commit(std::exchange(protects, false));
      }
      body();
      if (t.nested_failure) {
        std::rethrow_exception(t.nested_failure);
      }
      if (update && machine_.skips(Site{"hw.release.order"})) {
        release(std::exchange(locks, false));
      }
      commit(protects);
    } catch (const MediumFailure&) {
      M::set_context(outer);
      throw;  // the lock stays held: nothing may be stored any more, and every wait throws
    } catch (...) {
      M::set_context(outer);
      if (update) {
        M::phase(Phase::roll_back);
        if (protects) {
          machine_.skips(Site{"hw.roll_back"}) ? machine_.tx_commit() : machine_.tx_abort();
        }
        ++statistics_.here().user_aborts;
      }
      release(locks);
      throw;
    }
    M::set_context(outer);
    auto& s = statistics_.here();
    ++(update ? s.update_commits : s.read_commits);
    release(locks);
    if (update && waits_) {
      M::phase(Phase::data_flush);
      // Separates the stores and the commit from the return: they are durable before the caller
      // knows of the commit.
      machine_.fence(Site{"hw.commit.wait"});
    }
  }

  void commit(bool open) {
    if (open) {
      M::phase(Phase::commit);
      machine_.tx_commit();
    }
  }

  void release(bool locked) {
    if (locked) {
      lock_.release();
    }
  }

  M& machine_;
  Regions regions_;
  bool waits_;
  GlobalLock<M> lock_;
  std::vector<Transaction> contexts_;
  SlotStatistics<M> statistics_;
};

}  // namespace holdfast
