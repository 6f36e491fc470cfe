// SPDX-License-Identifier: Apache-2.0
//
// sim/: the simulated machine, a deterministic implementation of the Machine concept on one host
// thread. docs/inside/simulator.md says what it models and what it leaves out. Its parts: memory/,
// threads/, caches/, htm/, medium/, design/, description/, support/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
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
#include "holdfast/machine/sim/threads/thread_runner.h"

namespace holdfast {

template <Word T>
class SimAtomic;

/// Thrown if no simulated thread can ever continue; what() is the report.
using SimStuck = sim::Stuck;
using SimImage = sim::Image;

/// A machine whose threads are fibers, whose schedule follows from a seed, and whose power can fail
/// before any chosen persist event. machine.h has the contract of each operation.
///
/// Thread safety: one machine can exist in a process at a time (else the constructor throws
/// Error(busy)). Only the host thread that made it uses it.
///
/// Outside run_threads operations execute directly, and stores become visible at once.
///
/// After a crash (crashed()) the medium is frozen: stores no longer reach it, failed() is true, and
/// fences and waits throw MediumFailure. So a heap on the machine can be destroyed but not used.
/// The stacks of threads that were running are freed without unwinding; memory that they owned on
/// the host's heap leaks.
class SimMachine {
 public:
  template <class T>
  using Atomic = SimAtomic<T>;
  using HtmThread = sim::SimHtmThread;
  using Medium = sim::SimMedium;
  static constexpr bool kDirectLoads = false;

  /// `start` is the content of the medium at power-on. Throws Error(invalid_argument) for options
  /// that do not fit together; also as power_on() in design/design_image.h.
  explicit SimMachine(const SimOptions& options = {}, const sim::StartImage& start = {});
  ~SimMachine();
  SimMachine(const SimMachine&) = delete;
  SimMachine& operator=(const SimMachine&) = delete;

  // ---- MemoryOps
  // Outside the arena (a thread's stack or the host's heap) these are plain accesses.
  template <Word T>
  static T load(const T* p) {
    if (!sim::in_arena(bytes_at(p))) {
      return plain_load(p);
    }
    return sim::from_bits<T>(memory().load(reinterpret_cast<uintptr_t>(p), kBytesOf<T>));
  }
  /// A plain load, because loads are in order on this machine.
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
  /// A plain store, because stores become visible in order on this machine (total store order).
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
  static void reach(Probe probe);
  static Phase phase(Phase next);
  static void transaction(TransactionKind kind);

  // ---- Threads, volatile memory
  int self() const { return sim::current_thread->number; }
  int slots() const { return static_cast<int>(threads_.size()); }
  int active_slots() const { return active_slots_; }
  void run_threads(int n, FunctionRef<void(int)> work);
  void set_background(std::function<bool()> work);
  static void expect_background() {}  // no other thread has its slot
  template <Word T>
  T wait_while(const SimAtomic<T>& word, std::type_identity_t<T> old);
  void pause();
  void work(uint64_t cycles);
  /// The thread's virtual clock in picoseconds. On a functional machine, the operations of all
  /// threads so far.
  uint64_t now();
  uint64_t ticks_of_ms(uint64_t ms) const { return ms * (timed() ? 1'000'000'000 : 100); }
  uint64_t entropy() const { return mix64(options_.seed); }
  void* allocate(size_t n, size_t alignment) { return arena_.allocate(n, alignment); }
  size_t line_bytes() const { return options_.line_bytes; }

  // ---- Persistence
  void pwb(const void* p, Site site = {});
  void pwb_range(const void* p, size_t n, Site site = {});
  void store_nontemporal(void* to, const void* from, size_t n, Site site = {});
  void pfence(Site site = {});
  void psync(Site site = {});
  uint64_t begin_psync(Site site = {});
  void await_durable(uint64_t position, Site site = {}) {
    if (!skips(site)) {
      memory_.await_durable(position);
    }
  }
  bool durable(uint64_t position) const { return position <= persistence_.certain_position(); }
  bool defers_psync() const { return options_.journal; }
  uint64_t position() const { return options_.journal ? persistence_.position() : 0; }
  void let_psyncs_lag(uint64_t /*age_ms*/) { psyncs_lag_ = options_.journal; }
  void fence(Site site = {});
  void light_fence();
  void heavy_fence(Site site = {});
  /// False in domain `file`, where only pfence and psync make stores durable.
  bool rmw_orders_pwb() const { return options_.rmw_orders_pwb && options_.domain != Domain::file; }
  bool skips(Site site) const { return mutator_ != nullptr && mutator_->skips(site); }
  SlotRange scan(int slots, Site site) const;
  PersistCounters counters() const;
  bool failed() const { return !memory_.failure().ok(); }
  Status failure() const { return memory_.failure(); }

  // ---- HtmThread
  HtmThread& htm(int slot) { return htm_threads_[position_of(slot)]; }
  HtmCapabilities htm_capabilities() const;

  // ---- HardwareTransactions: of the hardware design (SimOptions::make_design)
  // The design decides when a commit is durable, and what is rolled back. Without a design these
  // throw Error(unsupported).
  const std::string& design() const { return options_.design; }
  bool design_isolates() const { return design_ != nullptr && design_->wishes().isolates; }
  void tx_start() { memory_.tx_start(); }
  void tx_commit() { memory_.tx_commit(); }
  AbortCause tx_abort() { return memory_.tx_abort(); }
  AbortCause tx_caught() { return memory_.tx_caught(); }

  Medium& medium() { return medium_; }

  // ---- Only on simulated machines
  /// Lets the hardware design recover, if the machine began with an image that a machine with this
  /// design has left behind. It takes simulated time, and its persist events count, from 0; after
  /// crash_at() it may throw Error(io_error), as the power fails again. Without such an image it
  /// does nothing. With one, the medium cannot be mapped before.
  void power_on() { memory_.power_on(); }
  const SimOptions& options() const { return options_; }
  bool timed() const { return runner_.timed(); }
  /// Machine operations of all threads so far.
  uint64_t steps() const { return runner_.steps(); }
  /// The time, by now(), at which the current thread last stopped waiting for a lock; 0 if never.
  uint64_t lock_wait_end() const { return sim::current_thread->phases.lock_wait_end(); }
  /// Timed, during run_threads: the current thread does nothing until now() is `time`.
  void sleep_until(uint64_t time) { memory_.sleep_until(time); }
  /// The counters of all threads together, or of the thread with this slot.
  SimCounters statistics() const;
  SimCounters statistics(int slot) const { return threads_.at(position_of(slot))->stats; }
  /// From now on the phases of threads go into this timeline, until record(nullptr). It must live
  /// until then.
  void record(sim::Timeline* timeline);
  std::byte* arena_base() const { return arena_.base(); }
  std::byte* persistent_base() const { return arena_.persistent_base(); }
  /// Persist events so far: stores that became visible on the medium, write-backs that left a store
  /// buffer, fences that completed. Outside run_threads they count only with count_main_events.
  uint64_t persist_events() const { return memory_.persist_events(); }
  /// Makes the power fail just before persist event number `event` (the first is 0). run_threads
  /// then returns, and crashed() is true. Outside run_threads the operation throws Error(io_error).
  void crash_at(uint64_t event) { memory_.crash_at(event); }
  bool crashed() const { return memory_.crashed(); }
  /// Ends the use of the machine: from now on fences and waits throw MediumFailure. So closing a
  /// heap does not bring its file up to date, and takes no time.
  void switch_off() {
    memory_.freeze(Status(Code::misuse, "the simulated machine was switched off"));
  }
  /// Calls look(event) just before each persist event, at the crash point of crash_at(event). So
  /// one run shows the images of all its crash points. look() may use the functions for images
  /// below, and must not execute a machine operation.
  void before_persist_event(std::function<void(uint64_t event)> look) {
    memory_.before_persist_event(std::move(look));
  }
  /// Calls look() when an epoch of the hardware design ends (DesignContext::epoch_ended). The same
  /// rules hold for look().
  void at_epoch_end(std::function<void()> look) { memory_.at_epoch_end(std::move(look)); }

  /// The labelled sites that the program has reached so far, by name. Empty without list_sites.
  std::vector<SiteUse> sites() const;
  /// Calls f with each of them, in no order.
  void for_each_site(FunctionRef<void(const char* name, SiteKind kind, uint64_t count)> f) const;
  /// The rare paths taken so far, by name, and how often.
  std::map<std::string, uint64_t> probes() const;
  /// Calls f with each of them, in no order. A name may come several times.
  void for_each_probe(FunctionRef<void(const char* name, uint64_t count)> f) const;
  /// The findings of the lint so far, by kind, the most frequent first. Empty without lint.
  std::vector<LintRow> lint_report() const;
  /// The number of operations that SimOptions::mutations has changed so far.
  uint64_t mutated() const { return mutator_ == nullptr ? 0 : mutator_->changed(); }

  // ---- Images
  // They are those of a power failure now, or after a crash, of that failure.
  /// The image by the modelled caches and queues. On the functional machine, which has none, it is
  /// the earliest image.
  SimImage surviving_image() const { return persistence_.surviving_image(); }
  /// Legal images by the rules of the domain, whatever the caches do; see Persistence in
  /// medium/persistence.h. With a hardware design there is only one image, which also holds the
  /// design's state; a machine with the same design recovers from it at power-on.
  SimImage earliest_image() const { return whole(persistence_.earliest_image()); }
  SimImage latest_image() const { return whole(persistence_.latest_image()); }
  SimImage sample_image(Random& random) const { return whole(persistence_.sample_image(random)); }
  uint64_t image_count() const { return persistence_.image_count(); }
  uint64_t for_each_image(uint64_t limit, FunctionRef<bool(const SimImage&)> f) const {
    return persistence_.for_each_image(limit,
                                       [&](const SimImage& image) { return f(whole(image)); });
  }
  /// The legal images as choices, line by line, for callers that look at many moments of one run.
  /// The choices are those of lines stored to since watch_images(). Without a hardware design only.
  void watch_images() { persistence_.watch(); }
  size_t medium_bytes() const { return persistence_.bytes(); }
  std::vector<std::shared_ptr<const sim::LineChoices>> image_choices() const {
    return persistence_.choices();
  }
  /// With a journal: the order of the choices; see Persistence::order().
  std::vector<uint32_t> image_order() const { return persistence_.order(); }
  /// The result of the hardware design's recovery in power_on(), and its counters since.
  DesignRecovery design_recovery() const;
  DesignCounters design_counters() const;
  /// The hooks, structures and state transitions of the design, and how often each was met.
  std::vector<DesignCoverageRow> design_coverage() const;
  /// The changes of surviving state so far, by kind: what SimOptions::design_fault counts.
  DesignChangeCounts design_changes() const;
  HardwareDesign* hardware_design() { return design_.get(); }
  /// Bytes of the design's non-volatile structures.
  uint64_t design_structure_bytes() const;
  /// Timed: the counters of the medium's controller.
  sim::MemoryCounters medium_counters() const;
  /// Timed: counts the medium's writes by line from now on, and tells the counts.
  void count_wear();
  sim::WearSummary medium_wear() const;
  /// Waits until the design has brought what it holds to its place.
  void settle_design() { memory_.settle_design(); }

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
  /// Returns the position in the simulator's tables of the thread with this slot.
  size_t position_of(int slot) const { return position_of_.at(static_cast<size_t>(slot)); }
  /// Counts the thread at a position among the active ones.
  void activate(int position);
  /// Waits until the word may differ from `bits`. Returns false if the thread's transaction is
  /// doomed.
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

  std::unique_ptr<HardwareDesign> design_;   ///< null: none
  std::unique_ptr<HardwareDesign> witness_;  ///< of the same design, for power failures
  SimOptions options_;
  DesignImage started_with_;  ///< only while the machine is made
  sim::Arena arena_;
  sim::Persistence persistence_;
  sim::SimMedium medium_;
  sim::ThreadRunner::Threads threads_;
  std::vector<size_t> position_of_;  ///< by slot
  sim::MemorySystem memory_;
  sim::ThreadRunner runner_;
  std::vector<sim::SimHtmThread> htm_threads_;
  std::unique_ptr<sim::Mutator> mutator_;   ///< null: operations are neither changed nor listed
  std::unique_ptr<sim::PersistLint> lint_;  ///< null: no lint
  /// By the address of the name, which is a literal; several literals may have one text.
  std::unordered_map<const char*, uint64_t> probes_;
  std::function<bool()> background_;
  int active_slots_ = 1;
  bool psyncs_lag_ = false;
  bool abandoned_ = false;  ///< threads were abandoned in a run, so no further run is possible
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
