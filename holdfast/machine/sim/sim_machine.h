// SPDX-License-Identifier: Apache-2.0
//
// The simulated machine: a second implementation of the Machine concept, on one host thread,
// deterministic. What it models, and what not yet, is in docs/inside/simulator.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "holdfast/base/bytes.h"
#include "holdfast/machine/machine.h"
#include "holdfast/machine/sim/description/mutation.h"
#include "holdfast/machine/sim/description/sim_options.h"
#include "holdfast/machine/sim/design/design_image.h"
#include "holdfast/machine/sim/medium/arena.h"
#include "holdfast/machine/sim/medium/sim_medium.h"
#include "holdfast/machine/sim/memory/design_host.h"
#include "holdfast/machine/sim/memory/memory_system.h"
#include "holdfast/machine/sim/memory/persist_lint.h"
#include "holdfast/machine/sim/memory/sim_htm_thread.h"
#include "holdfast/machine/sim/threads/runner.h"

namespace holdfast {

template <Word T>
class SimAtomic;

/// Thrown when simulated threads can never go on; what() is the report.
using SimStuck = sim::Stuck;
using SimImage = sim::Image;

/// A machine whose threads are fibers, whose schedule follows from a seed, and whose power can fail
/// before any chosen persist event. `image` is what its medium holds at power-on.
///
/// One lives in a process at a time (the constructor throws Error(busy) otherwise), used from the
/// thread that made it. Outside run_threads operations execute directly and become visible at once.
///
/// After a crash (crashed()), the medium is frozen: stores no longer reach it, failed() is true,
/// and fences and waits throw MediumFailure, so that a heap on it can be destroyed but not used.
/// The stacks of threads that were running are freed without unwinding: what they owned on the
/// host's heap leaks.
class SimMachine {
 public:
  template <class T>
  using Atomic = SimAtomic<T>;
  using HtmThread = sim::SimHtmThread;
  using Medium = sim::SimMedium;
  static constexpr bool kDirectLoads = false;

  explicit SimMachine(const SimOptions& options = {}, const SimImage& image = {});
  ~SimMachine();
  SimMachine(const SimMachine&) = delete;
  SimMachine& operator=(const SimMachine&) = delete;

  // Memory. Outside the arena (a thread's own stack or heap) these are plain accesses.
  template <Word T>
  static T load(const T* p) {
    if (!sim::in_arena(bytes_at(p))) {
      return plain_load(p);
    }
    return sim::from_bits<T>(memory().load(reinterpret_cast<uintptr_t>(p), kBytesOf<T>));
  }
  /// Loads take place in order anyway.
  template <Word T>
  static T load_acquire(const T* p) {
    return load(p);
  }
  template <Word T>
  static void store(T* p, std::type_identity_t<T> value) {
    if (!sim::in_arena(p)) {
      plain_store(p, value);
    } else {
      memory().store(reinterpret_cast<uintptr_t>(p), sizeof(T), sim::to_bits(value));
    }
  }
  /// Stores become visible in order anyway (total store order).
  template <Word T>
  static void store_release(T* p, std::type_identity_t<T> value) {
    store(p, value);
  }
  static void copy(void* to, const void* from, size_t n);
  static void* context() {
    const sim::SimThread* thread = sim::current_thread;
    return thread == nullptr ? nullptr : thread->context;
  }
  static void set_context(void* context) { sim::current_thread->context = context; }
  static Phase phase(Phase next);
  static void transaction(TransactionKind kind);

  // Threads.
  int self() const { return sim::current_thread->slot; }
  int slots() const { return static_cast<int>(threads_.size()); }
  int active_slots() const { return active_slots_; }
  void run_threads(int n, FunctionRef<void(int)> work);
  void set_background(std::function<bool()> work);
  template <Word T>
  T wait_while(const SimAtomic<T>& word, std::type_identity_t<T> old);
  void pause();
  void work(uint64_t cycles);
  /// Timed: the thread's virtual clock in picoseconds; otherwise operations executed so far, over
  /// all threads.
  uint64_t now();
  uint64_t entropy() const { return mix64(options_.seed); }
  void* allocate(size_t n, size_t alignment) { return arena_.allocate(n, alignment); }
  size_t line_bytes() const { return options_.line_bytes; }

  // Persistence.
  void pwb(const void* p, Site site = {});
  void pwb_range(const void* p, size_t n, Site site = {});
  void store_nontemporal(void* to, const void* from, size_t n, Site site = {});
  void pfence(Site site = {});
  void psync(Site site = {});
  void fence(Site site = {});
  void light_fence();
  void heavy_fence(Site site = {});
  /// Never in domain `file`, where only syncs make anything durable.
  bool rmw_orders_pwb() const { return options_.rmw_orders_pwb && options_.domain != Domain::file; }
  bool skips(Site site) const { return mutator_ != nullptr && mutator_->skips(site); }
  PersistCounters counters() const;
  bool failed() const { return !memory_.failure().ok(); }
  Status failure() const { return memory_.failure(); }

  // Hardware transactional memory.
  HtmThread& htm(int slot) { return htm_threads_[static_cast<size_t>(slot)]; }
  HtmCapabilities htm_capabilities() const;

  // A hardware design for atomic durability (SimOptions::design). What is stored to persistent
  // memory between tx_start and tx_commit survives a power failure together or not at all; when
  // that is certain, and what is rolled back, the design says. Error(unsupported) without one.
  const std::string& design() const { return options_.design; }
  void tx_start() { memory_.tx_start(); }
  /// Takes its place among the thread's stores: later ones become visible after the commit.
  void tx_commit() { memory_.tx_commit(); }
  /// The transaction's stores are undone, also in memory.
  void tx_abort() { memory_.tx_abort(); }

  Medium& medium() { return medium_; }

  // What only a simulated machine has.
  const SimOptions& options() const { return options_; }
  bool timed() const { return runner_.timed(); }
  /// Machine operations so far, over all threads.
  uint64_t steps() const { return runner_.steps(); }
  /// When the current thread last stopped waiting for a lock, by now(); 0: it never has.
  uint64_t lock_wait_end() const { return sim::current_thread->phases.lock_wait_end(); }
  /// What all threads did so far, or one of them (by slot).
  SimCounters statistics() const;
  SimCounters statistics(int slot) const { return threads_.at(static_cast<size_t>(slot))->stats; }
  /// From now on threads' phases go into the timeline, which must outlive that; null: no more.
  void record(sim::Timeline* timeline);
  std::byte* arena_base() const { return arena_.base(); }
  std::byte* persistent_base() const { return arena_.persistent_base(); }
  /// Persist events so far: stores that became visible on the medium, write-backs that left a store
  /// buffer, fences that completed. Outside run_threads they count only with count_main_events.
  uint64_t persist_events() const { return memory_.persist_events(); }
  /// The power fails just before persist event number `event` (the first is 0): run_threads returns
  /// and crashed() is true. Outside run_threads, Error(io_error) is thrown instead.
  void crash_at(uint64_t event) { memory_.crash_at(event); }
  bool crashed() const { return memory_.crashed(); }
  /// For who is done with the machine and what is on it: fences and waits throw MediumFailure from
  /// now on, and closing a heap ends at once instead of bringing its file up to date.
  void switch_off() {
    memory_.freeze(Status(Code::misuse, "the simulated machine was switched off"));
  }
  /// Calls look(event) just before each persist event, where crash_at(event) would cut the power,
  /// so that one run shows the images of all its crash points. It may look at images and must do no
  /// machine operation.
  void before_persist_event(std::function<void(uint64_t event)> look) {
    memory_.before_persist_event(std::move(look));
  }

  /// The labelled sites the program came to so far, by name. Empty without list_sites.
  std::vector<SiteUse> sites() const;
  /// What looked wasteful or wrong so far, most frequent first within a kind. Empty without lint.
  std::vector<LintRow> lint_report() const;
  /// How many operations SimOptions::mutations has changed so far.
  uint64_t mutated() const { return mutator_ == nullptr ? 0 : mutator_->changed(); }

  /// What the medium holds if the power fails now (after a crash: then), by the modelled caches and
  /// queues; on the functional machine, which has none, the earliest image.
  SimImage surviving_image() const { return persistence_.surviving_image(); }
  /// What it may hold by the rules of the domain, whatever the caches do.
  /// With a hardware design there is one image only, which holds the design's own state as well:
  /// a machine with the same design recovers from it when it is made.
  SimImage earliest_image() const { return whole(persistence_.earliest_image()); }
  SimImage latest_image() const { return whole(persistence_.latest_image()); }
  SimImage sample_image(Random& random) const { return whole(persistence_.sample_image(random)); }
  uint64_t image_count() const { return persistence_.image_count(); }
  uint64_t for_each_image(uint64_t limit, FunctionRef<bool(const SimImage&)> f) const {
    return persistence_.for_each_image(limit,
                                       [&](const SimImage& image) { return f(whole(image)); });
  }
  /// The legal images as choices, line by line, for those who look at many moments of one run:
  /// remembered from watch_images() on, where the medium is as base. Without a hardware design.
  void watch_images() { persistence_.watch(); }
  size_t medium_bytes() const { return persistence_.bytes(); }
  std::vector<sim::LineChoices> image_choices() const { return persistence_.choices(); }
  /// What the hardware design did at power-on, and since.
  const DesignRecovery& design_recovery() const { return power_on_.recovery; }
  DesignCounters design_counters() const;
  HardwareDesign* hardware_design() { return design_.get(); }

 private:
  template <Word T>
  friend class SimAtomic;
  friend class sim::SimHtmThread;
  friend bool compare_exchange(SimMachine& machine, DoubleWord* at, DoubleWord& expected,
                               const DoubleWord& desired);

  static sim::MemorySystem& memory() { return sim::current_thread->machine.memory_; }
  template <class T>
  static T plain_load(const T* p) {
    T value;
    __atomic_load(p, &value, __ATOMIC_RELAXED);
    return value;
  }
  template <class T>
  static void plain_store(T* p, T value) {
    __atomic_store(p, &value, __ATOMIC_RELAXED);
  }
  /// Waits until the word may differ from `bits`. False: the caller's transaction is doomed.
  bool wait_for_change(uintptr_t address, size_t size, uint64_t bits);
  bool wait_outside_run(uintptr_t address, size_t size, uint64_t bits);
  void submit(const sim::SiteOperation& operation);
  void perform(const sim::SiteOperation& operation);
  bool run_background_once();
  uint64_t moment(const sim::SimThread& thread) const;
  void start_phases();
  void forget_threads();
  template <class F>
  void end_of_run(F&& run);

  SimImage whole(SimImage image) const;

  std::unique_ptr<HardwareDesign> design_;  ///< null: none
  SimOptions options_;
  PowerOn power_on_;
  sim::Arena arena_;
  sim::Persistence persistence_;
  sim::SimMedium medium_;
  sim::Runner::Threads threads_;
  sim::MemorySystem memory_;
  sim::Runner runner_;
  std::vector<sim::SimHtmThread> htm_threads_;
  std::unique_ptr<sim::Mutator> mutator_;   ///< null: every operation happens as asked for
  std::unique_ptr<sim::PersistLint> lint_;  ///< null: nobody looks on
  std::function<bool()> background_;
  int active_slots_ = 1;
  bool abandoned_ = false;  ///< threads were left where they stood: none can run any more
};

namespace sim {

template <Word T>
T SimHtmThread::load(const T* p) {
  return SimMachine::load(p);
}

template <Word T>
void SimHtmThread::store(T* p, std::type_identity_t<T> value) {
  SimMachine::store(p, value);
}

}  // namespace sim
}  // namespace holdfast

#include "holdfast/machine/sim/sim_atomic-inl.h"
