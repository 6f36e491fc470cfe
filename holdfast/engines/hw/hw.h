// SPDX-License-Identifier: Apache-2.0
//
// Hardware durability: the hardware makes transactions durable, software isolates them with locks
// around tx_start, the body and tx_commit. The machine's hardware design guarantees atomicity, so
// this engine exists only for machines with a design: simulated ones.
//
// Idea      The design makes transactions atomic and durable; the engine only isolates them.
// Area      the log of the fallback, if it has one.
// Store     in place. No log, no pwb, no pfence.
// Locks     one for all transactions, one for each partition that a transaction names, or none
//           where the program keeps its threads apart (hw_isolation.h). Readers share locks. With
//           lock=hardware the design isolates transactions, and reads are transactions, too.
// Commit    tx_commit, which takes its place among the stores; then release the locks, so that no
//           other thread sees data before it is durable. With option wait=1 the thread returns only
//           when its stores, and the commit among them, have left for the caches. With wait=0 and
//           lock=none nothing waits for a commit, so the commits of a thread overlap with its next
//           transactions. The compare-exchange of a lock waits for all stores before it.
// Rollback  tx_abort: the design restores the old values.
// Abort     A design may abort a transaction itself. The engine then repeats the body, after a
//           back-off if the cause is a conflict. If the design lacks room (capacity) and there is
//           a fallback, the update is repeated with software logging (hw_fallback.h). Otherwise, if
//           the design keeps aborting, the update ends with an error.
// Recovery  The design has recovered before the program starts. The fallback's log then puts back
//           what an update had changed.
// Persists  0 per update by software.
// Reads     take the same locks, beside other readers.
#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/hw/hw_fallback.h"
#include "holdfast/engines/hw/hw_isolation.h"
#include "holdfast/engines/parts/basics/retry.h"
#include "holdfast/engines/parts/basics/run_body.h"
#include "holdfast/engines/parts/basics/slot_statistics.h"

namespace holdfast {

/// The engine; see Engine and HasPartitions in engine.h for the contract.
template <class M>
  requires HardwareTransactions<M>
class Hardware {
 public:
  using Machine = M;
  static constexpr OptionInfo kOptions[] = {
      {"wait", "1",
       "0: update() returns before its transaction is durable, which the next one's start or any "
       "fence of the thread then waits for"},
      {"retries", "100",
       "repetitions of an update that the hardware design aborts for other causes than conflicts"},
      {"lock", "global",
       "global: one lock; partition: a lock for each partition, of which a transaction takes those "
       "that it names; none: transactions of one partition do not overlap, which the program "
       "promises; hardware: no lock, because the design aborts transactions in conflict"},
      {"fallback", "0",
       "bytes of a software undo log, 1024 to 1 GiB, for updates that the hardware design has no "
       "room for; 0: none, so that such an update ends with an error"}};
  static Result<size_t> area_bytes(const Options& options, int /*max_threads*/) {
    const auto wait = read_wait(options);
    const auto retries = read_retries(options);
    const auto lock = read_lock(options);
    const auto fallback = read_fallback(options);
    if (!wait.ok() || !retries.ok() || !lock.ok() || !fallback.ok()) {
      return !wait.ok()      ? wait.status()
             : !retries.ok() ? retries.status()
             : !lock.ok()    ? lock.status()
                             : fallback.status();
    }
    if (fallback.value() != 0 && lock.value() == HwLock::hardware) {
      return Status(Code::invalid_argument,
                    "options fallback and lock=hardware of engine hw exclude each other: stores of "
                    "the fallback abort no transaction that has loaded their lines");
    }
    return kLineBytes + fallback.value();
  }
  static constexpr Description kDescription = {
      .name = "hw",
      .title = "hardware durability, isolated by locks",
      .paper = "Hercules (ACM TECS 2023), section 5: how its workloads use the designs",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::in_place,
      .needs_htm = false,
      .needs_design = true,
      .log = "the hardware design's",
      .fences = "0",
      .options = kOptions,
      .option_count = sizeof(kOptions) / sizeof(kOptions[0]),
      .area_bytes = &area_bytes,
  };

  Hardware(M& machine, const Regions& regions, const Options& options, int /*max_threads*/)
      : machine_(machine),
        regions_(regions),
        waits_(read_wait(options).value() != 0),
        retries_(read_retries(options).value()),
        isolation_(machine, read_lock(options).value()),
        fallback_(machine, regions, read_fallback(options).value() != 0),
        contexts_(static_cast<size_t>(machine.slots())),
        statistics_(machine) {
    for (size_t slot = 0; slot < contexts_.size(); ++slot) {
      contexts_[slot].backoff = Backoff(slot);
      contexts_[slot].isolation = &isolation_;
      contexts_[slot].fallback = &fallback_;
    }
  }

  Status format() {
    Status present = design_present();
    if (present.ok()) {
      fallback_.format();
    }
    return present;
  }
  Status recover(RecoveryReport& report) {
    Status present = design_present();
    return present.ok() ? fallback_.recover(report) : present;
  }
  Status close() { return {}; }

  void have_partitions(int count) { isolation_.have_partitions(count); }
  void update(FunctionRef<void()> body) { update(Partitions::all(), body); }
  void update(Partitions partitions, FunctionRef<void()> body) {
    run(Context::Mode::update, partitions, body);
  }
  void read(FunctionRef<void()> body) { read(Partitions::all(), body); }
  void read(Partitions partitions, FunctionRef<void()> body) {
    run(Context::Mode::read, partitions, body);
  }
  static void metadata() {
    if (auto* t = static_cast<Transaction*>(static_cast<Context*>(M::context()))) {
      t->isolation->acquire_metadata(t->held);
    }
  }

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

  static void promote(const void* /*p*/, size_t /*n*/) {}  // locks: no read becomes stale
  static void fresh(const void* /*p*/, size_t /*n*/) {}    // the hardware has no use for it

  Statistics statistics() const { return statistics_.sum(); }

 private:
  struct Transaction : Context {
    uint64_t bytes_stored = 0;
    std::exception_ptr failure;  ///< has left the body, and rolls the transaction back
    Backoff backoff{0};
    HwIsolation<M>* isolation = nullptr;
    HwFallback<M>* fallback = nullptr;
    bool in_software = false;  ///< the fallback logs the update, not the design
    typename HwIsolation<M>::Held held;
  };

  static Result<uint64_t> read_wait(const Options& options) {
    return option_number(options, kOptions[0], 0, 1);
  }
  static Result<uint64_t> read_retries(const Options& options) {
    return option_number(options, kOptions[1], 0, 1'000'000);
  }

  static Result<uint64_t> read_fallback(const Options& options) {
    constexpr uint64_t kLeast = 1024;
    auto bytes = option_number(options, kOptions[3], 0, 1 << 30);
    if (bytes.ok() && bytes.value() != 0 && bytes.value() < kLeast) {
      return wrong_value("option fallback", std::to_string(bytes.value()), "0, or at least 1024");
    }
    return bytes;
  }

  static Result<HwLock> read_lock(const Options& options) {
    auto index = option_choice(options, kOptions[2], kHwLocks);
    return index.ok() ? Result<HwLock>(static_cast<HwLock>(*index)) : index.status();
  }

  static void count_store(const void* p, size_t n) {
    auto* context = static_cast<Context*>(M::context());
    if (context == nullptr || context->mode != Context::Mode::update || !context->covers(p, n))
        [[unlikely]] {
      throw_stray_store(context, p);
    }
    auto* const t = static_cast<Transaction*>(context);
    t->bytes_stored += n;
    if (t->in_software) {
      must_succeed(*t, [&] { t->fallback->before_store(p, n); });
    }
  }

  Status design_present() const {
    if (machine_.design().empty()) {
      return {Code::unsupported,
              "engine hw needs a machine with a hardware design; name one that `holdfast designs` "
              "lists with --design"};
    }
    if (isolation_.by_hardware() && !machine_.design_isolates()) {
      return {Code::unsupported,
              "engine hw with lock=hardware needs a design that isolates transactions; '" +
                  machine_.design() +
                  "' does not. Give it the option by which it does (`holdfast designs`), or "
                  "choose another design or value of lock"};
    }
    return {};
  }

  void run(Context::Mode mode, Partitions partitions, FunctionRef<void()> body) {
    const TransactionScope<M> scope(mode == Context::Mode::update ? TransactionKind::update
                                                                  : TransactionKind::read);
    const bool update = mode == Context::Mode::update;
    const int slot = machine_.self();
    Transaction& t = contexts_[static_cast<size_t>(slot)];
    t.data = regions_.data;
    t.capacity = regions_.capacity;
    t.mode = mode;
    t.slot = slot;
    t.in_software = false;
    t.held = {.partitions = partitions, .update = update, .slot = slot};
    run_until_not_aborted(t, body);
    auto& s = statistics_.here();
    if (t.failure) {
      ++s.user_aborts;
      std::rethrow_exception(std::exchange(t.failure, nullptr));
    }
    ++(update ? s.update_commits : s.read_commits);
    s.bytes_stored += t.bytes_stored;
    s.bytes_written += t.bytes_stored;
    if (update && waits_) {
      M::phase(Phase::data_flush);
      // Separates the stores and the commit from the return: they are durable before the caller
      // knows of the commit.
      machine_.fence(Site{"hw.commit.wait"});
    }
  }

  /// Repeats the body as long as the design aborts the transaction.
  void run_until_not_aborted(Transaction& t, FunctionRef<void()> body) {
    uint64_t conflicts = 0;
    uint64_t others = 0;
    for (;;) {
      const AbortCause cause = attempt(t, body);
      if (cause == AbortCause::none) {
        return;
      }
      ++statistics_.here().aborts[static_cast<size_t>(cause)];
      if (cause == AbortCause::conflict) {
        M::reach(Probe{"hw.conflict"});
        M::phase(Phase::back_off);
        t.backoff.pause(machine_, conflicts++);
      } else if (cause == AbortCause::capacity && fallback_.enabled()) {
        M::reach(Probe{"hw.fallback"});
        t.in_software = true;
        ++statistics_.here().lock_fallbacks;
      } else if (others++ == retries_) {
        M::reach(Probe{"hw.gives_up"});
        throw given_up(cause);
      }
    }
  }

  /// Runs the body once. Returns the cause if the design has aborted the transaction. Sets the
  /// transaction's failure if an exception has left the body. The handlers contain no machine
  /// operation.
  AbortCause attempt(Transaction& t, FunctionRef<void()> body) {
    M::phase(Phase::execute);
    const bool update = t.mode == Context::Mode::update;
    t.nested_failure = nullptr;
    t.bytes_stored = 0;
    bool protects = !t.in_software && (update || isolation_.by_hardware()) &&
                    !machine_.skips(Site{"hw.transaction"});
    isolation_.acquire(t.held);
    if (t.in_software) {
      fallback_.begin();
    }
    void* const outer = M::context();
    M::set_context(&t);
    bool aborted = false;
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
        isolation_.release(t.held);
      }
      isolation_.confirm(t.held);
      if (t.in_software) {
        statistics_.here().bytes_written += fallback_.commit();
      } else {
        commit(protects);
      }
    } catch (const MediumFailure&) {
      M::set_context(outer);
      throw;  // the locks stay held: nothing may be stored any more, and every wait throws
    } catch (const HtmAbort&) {
      aborted = true;
    } catch (...) {
      t.failure = std::current_exception();
    }
    M::set_context(outer);
    AbortCause cause = AbortCause::none;
    if (aborted) {
      cause = machine_.tx_caught();
    } else if (t.failure && (update || protects)) {
      M::reach(Probe{"hw.user_abort"});
      M::phase(Phase::roll_back);
      if (t.in_software) {
        M::reach(Probe{"hw.fallback.user_abort"});
        fallback_.roll_back();
      } else {
        cause = roll_back(protects);
      }
    }
    if (cause != AbortCause::none) {
      M::phase(Phase::aborted);
      t.failure = nullptr;  // the body may have failed because it had swallowed the abort
    }
    isolation_.release(t.held);
    return cause;
  }

  /// Returns the cause if the design has aborted the transaction already.
  AbortCause roll_back(bool open) {
    if (!open) {
      return AbortCause::none;
    }
    if (machine_.skips(Site{"hw.roll_back"})) {
      machine_.tx_commit();
      return AbortCause::none;
    }
    return machine_.tx_abort();
  }

  Error given_up(AbortCause cause) const {
    const std::string attempts = std::to_string(retries_ + 1) + " attempts";
    if (cause == AbortCause::capacity) {
      return Error(Status(Code::too_large,
                          "the hardware design '" + machine_.design() +
                              "' cannot hold so large a transaction: it has aborted all of " +
                              attempts +
                              " for lack of room; split the transaction, give the design more "
                              "room by its options (`holdfast designs`), or give engine hw a log "
                              "for such transactions (option fallback)"));
    }
    return Error(Status(Code::unsupported, "the hardware design '" + machine_.design() +
                                               "' has aborted all of " + attempts +
                                               " of a transaction, the last one for cause '" +
                                               to_string(cause) + "'"));
  }

  void commit(bool open) {
    if (open) {
      M::phase(Phase::commit);
      machine_.tx_commit();
    }
  }

  M& machine_;
  Regions regions_;
  bool waits_;
  uint64_t retries_;
  HwIsolation<M> isolation_;
  HwFallback<M> fallback_;
  std::vector<Transaction> contexts_;
  SlotStatistics<M> statistics_;
};

}  // namespace holdfast
