// SPDX-License-Identifier: Apache-2.0
//
// native/: the machine that is this computer. One folder per concept: memory/, medium/, htm/,
// threads/, support/.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/machine/machine.h"
#include "holdfast/machine/native/htm/native_htm.h"
#include "holdfast/machine/native/journal/line_list.h"
#include "holdfast/machine/native/medium/all_threads_fence.h"
#include "holdfast/machine/native/medium/medium.h"
#include "holdfast/machine/native/medium/write_back.h"
#include "holdfast/machine/native/memory/arena.h"
#include "holdfast/machine/native/memory/atomic.h"
#include "holdfast/machine/native/memory/words.h"
#include "holdfast/machine/native/support/options.h"
#include "holdfast/machine/native/support/probe_counts.h"
#include "holdfast/machine/native/support/spin.h"
#include "holdfast/machine/native/support/ticks.h"
#include "holdfast/machine/native/threads/fork_guard.h"
#include "holdfast/machine/native/threads/slots.h"
#include "holdfast/machine/native/threads/store_gate.h"
#include "holdfast/machine/native/threads/threads.h"

namespace holdfast {

/// The native machine. Memory operations compile to plain instructions, and the medium is a file.
/// Hardware transactional memory is `soft` (htm/soft_htm.h), or on request the processor's own
/// (htm/hardware_htm.h). machine.h has the contract of each operation;
/// docs/reference/native-machine.md says what each persistence domain survives.
///
/// Thread safety: any thread may call everything but set_background. Several machines can be open
/// at once. In a forked child only forked_child() and the destructor may be called.
class NativeMachine {
 public:
  template <class T>
  using Atomic = NativeAtomic<T>;
  using HtmThread = native::HtmThread;
  using Medium = NativeMedium;
  static constexpr bool kDirectLoads = true;

  /// Opens or creates the file. A file that another process has open is Code::busy. Each message
  /// names the file and says what to do.
  static Result<std::unique_ptr<NativeMachine>> open(const std::string& path,
                                                     const NativeOptions& options);
  ~NativeMachine();
  NativeMachine(const NativeMachine&) = delete;
  NativeMachine& operator=(const NativeMachine&) = delete;

  // ---- MemoryOps
  // Relaxed accesses are for private or otherwise protected memory. They order nothing else.
  template <Word T>
  static T load(const T* p) {
    return native::load_word(p);
  }
  template <Word T>
  static T load_acquire(const T* p) {
    return native::load_word<__ATOMIC_ACQUIRE>(p);
  }
  template <Word T>
  static void store(T* p, T value) {
    native::store_word(p, value);
  }
  template <Word T>
  static void store_release(T* p, T value) {
    native::store_word<__ATOMIC_RELEASE>(p, value);
  }
  static void copy(void* to, const void* from, size_t n) { native::copy_words(to, from, n); }
  void* allocate(size_t bytes, size_t alignment) { return arena_.allocate(bytes, alignment); }
  static size_t line_bytes() { return native::kNativeLineBytes; }
  /// Counts for the machine that the thread used last, if that one has NativeOptions::probes.
  static void reach(Probe probe) {
    if (native::thread_state.probes != nullptr) [[unlikely]] {
      native::thread_state.probes->count(probe);
    }
  }

  // ---- Threads
  static void* context() { return native::thread_state.context; }
  static void set_context(void* context) { native::thread_state.context = context; }
  static Phase phase(Phase next) { return next; }
  static void transaction(TransactionKind /*kind*/) {}
  int self() {
    if (native::thread_state.table == slots_.get()) [[likely]] {
      return native::thread_state.slot;
    }
    return native::find_or_take_slot(slots_);
  }
  /// A slot for a thread that has none, for the length of one transaction. Such threads take turns.
  class GuestSlot : public native::GuestSlot {
   public:
    explicit GuestSlot(NativeMachine& machine) : native::GuestSlot(machine.slots_) {}
  };
  /// A thread with a slot holds one while it stores to the heap's mappings. It costs nothing
  /// without a journal; with one it waits while memory goes back to the system.
  class StoreScope {
   public:
    explicit StoreScope(NativeMachine& machine) : gate_(machine.store_gate_) {
      if (gate_ != nullptr) [[unlikely]] {
        slot_ = machine.self();
        gate_->enter(slot_);
      }
    }
    ~StoreScope() {
      if (gate_ != nullptr) [[unlikely]] {
        gate_->leave(slot_);
      }
    }
    StoreScope(const StoreScope&) = delete;
    StoreScope& operator=(const StoreScope&) = delete;

   private:
    native::StoreGate* const gate_;
    int slot_ = 0;
  };
  int slots() const { return slots_->slots(); }
  int active_slots() const { return slots_->active(); }
  void run_threads(int n, FunctionRef<void(int)> f) { native::run_pinned(n, processors_, f); }
  void set_background(std::function<bool()> f);
  void expect_background() { slots_->expect_background(true); }

  template <class T>
  T wait_while(const Atomic<T>& a, std::type_identity_t<T> old) {
    // Over a journal the awaited thread may wait for the disk.
    native::Backoff backoff(journaled_ ? native::LongWait::sleep : native::LongWait::yield);
    for (;;) {
      // Acquire, with the storing thread's release: stores before the awaited one are visible when
      // the wait ends.
      const T value = a.load(std::memory_order_acquire);
      if (value != old) {
        return value;
      }
      // A PAUSE or a system call would abort the hardware transaction. So the call returns at once,
      // and the caller loops.
      if (in_hardware_ && native::hardware::active()) [[unlikely]] {
        return old;
      }
      if (backoff.wait() && waited_in_vain()) {
        return old;
      }
    }
  }
  static void pause() { native::pause(); }
  static void work(uint64_t /*cycles*/) {}
  uint64_t now() const { return ticks_.now(); }
  double ns_per_tick() const { return ticks_.ns_per_tick(); }
  uint64_t ticks_of_ms(uint64_t ms) const {
    return static_cast<uint64_t>(1e6 * static_cast<double>(ms) / ns_per_tick());
  }
  static uint64_t entropy();

  // ---- Persistence
  void pwb(const void* p, Site /*site*/) {
    count(mine().pwb);
    native::write_back_line(write_back_, p);
    if (pwb_is_slow_) [[unlikely]] {
      finish_pwb(p);
    }
  }
  void pwb_range(const void* p, size_t n, Site site) {
    const auto begin = reinterpret_cast<uintptr_t>(p);
    constexpr size_t kLine = native::kNativeLineBytes;
    for (uintptr_t line = begin & ~(kLine - 1); line < begin + n; line += kLine) {
      pwb(reinterpret_cast<const void*>(line), site);
    }
  }
  /// Bypasses the caches in domain pmem only; elsewhere it is a copy
  /// (docs/reference/native-machine.md says why).
  void store_nontemporal(void* to, const void* from, size_t n, Site site);
  void pfence(Site /*site*/) {
    count(mine().pfence);
    if (!fences_nothing()) {
      complete_write_backs(pfence_delay_, false);
    }
  }
  void psync(Site /*site*/) {
    count(mine().psync);
    if (!fences_nothing()) {
      complete_write_backs(psync_delay_, !lagging_.load(std::memory_order_acquire));
    }
  }
  uint64_t begin_psync(Site site) {
    if (!journaled_) [[likely]] {
      psync(site);
      return 0;
    }
    count(mine().psync);
    const uint64_t position = complete_write_backs(psync_delay_, false);
    return lagging_.load(std::memory_order_acquire) ? 0 : position;
  }
  bool defers_psync() const { return journaled_; }
  uint64_t position() const { return journaled_ ? medium_.journal_position() : 0; }
  void let_psyncs_lag(uint64_t age_ms);
  bool durable(uint64_t position) const {
    return position == 0 || medium_.durable_position() >= position;
  }
  void await_durable(uint64_t position, Site /*site*/);
  void fence(Site /*site*/) {
    count(mine().fence);
    native::full_fence();
  }
  /// Only a compiler barrier if heavy_fence can interrupt the other processors (membarrier), else a
  /// full fence.
  void light_fence() const {
    if (asymmetric_) [[likely]] {
      asm volatile("" ::: "memory");
    } else {
      native::full_fence();
    }
  }
  void heavy_fence(Site /*site*/) const {
    asymmetric_ ? native::fence_all_threads() : native::full_fence();
  }
  bool rmw_orders_pwb() const { return medium_.persistence().rmw_orders_pwb; }
  static constexpr bool skips(Site /*site*/) { return false; }
  SlotRange scan(int slots, Site /*site*/) const { return {0, std::min(active_slots(), slots)}; }
  PersistCounters counters() const;
  bool failed() const { return medium_.sync().failed(); }
  Status failure() const { return medium_.sync().failure(); }

  // ---- HtmThread, Medium
  HtmThread& htm(int slot) { return *threads_[static_cast<size_t>(slot)]; }
  HtmCapabilities htm_capabilities() const { return htm_capabilities_; }

  Medium& medium() { return medium_; }

  /// NativeMedium::start_journal, before other threads use the machine. In domain `file` fences go
  /// through the journal from here on: a pfence costs no input or output, a psync waits for it.
  Status start_journal(uint64_t offset, uint64_t bytes, bool fresh);

  /// True in a child forked from the process that opened the machine. The heap's mappings do not
  /// exist there.
  bool forked_child() const { return fork_guard_.forked_child(); }

 private:
  struct alignas(kMaxLineBytes) Counters {
    uint64_t pwb = 0;
    uint64_t pfence = 0;
    uint64_t psync = 0;
    uint64_t fence = 0;
    uint64_t nontemporal = 0;
  };

  struct alignas(kMaxLineBytes) Listed {
    native::LineList lines;
  };

  NativeMachine(native::File file, size_t bytes, const native::Persistence& persistence,
                const HtmCapabilities& htm, const NativeOptions& options);

  void end_background();
  /// The calling thread's counters. Threads without a slot (-1) share the first element, which may
  /// miss some of their operations.
  Counters& mine() { return counters_[static_cast<size_t>(self()) + 1]; }
  // Relaxed, and not one atomic step: only one thread writes each counter, and a reader that sums
  // them up may miss the latest steps.
  static void count(uint64_t& counter) {
    native::store_word(&counter, native::load_word(&counter) + 1);
  }
  /// The rare part of pwb: a delay, or a journal that needs to know the line.
  void finish_pwb(const void* p);
  /// Lists lines for the calling thread's next fence.
  void list_lines(const void* p, size_t n);
  /// Returns whether a fence is for the compiler only, and then is one. That is enough for a killed
  /// process: it has performed exactly its stores up to some instruction.
  bool fences_nothing() const {
    native::compiler_barrier();
    return domain_ == Domain::process && (pfence_delay_ | psync_delay_) == 0 && !failed();
  }
  /// `wait`: a psync. With a journal it returns the position behind the write-backs, else 0.
  uint64_t complete_write_backs(uint64_t delay, bool wait);
  /// The slow check of a waiting thread: true if its transaction is doomed. Throws MediumFailure
  /// once the medium has failed.
  bool waited_in_vain();

  // First the members that hot paths read.
  std::shared_ptr<native::SlotTable> slots_;
  native::WriteBack write_back_;
  Domain domain_;
  bool read_only_;
  bool in_hardware_;                         // the backend is `rtm` or `power`
  bool journaled_ = false;                   // fences go through a journal
  native::StoreGate* store_gate_ = nullptr;  // null without a journal
  // No psync waits. Acquire and release: a thread that sees it sees what was stored before
  // let_psyncs_lag().
  std::atomic<bool> lagging_{false};
  const bool asymmetric_ = native::can_fence_all_threads();
  bool pwb_is_slow_ = false;  // a delay or a journal
  uint64_t pwb_delay_ = 0;    // in ticks
  uint64_t pfence_delay_ = 0;
  uint64_t psync_delay_ = 0;
  std::vector<Counters> counters_;
  std::vector<Listed> listed_;  // with a journal: by slot, else empty
  std::vector<std::unique_ptr<HtmThread>> threads_;
  native::Ticks ticks_;

  std::vector<int> processors_;
  native::Arena arena_;
  HtmCapabilities htm_capabilities_;
  native::SoftShared soft_;
  native::ForkGuard fork_guard_;
  NativeMedium medium_;
  std::unique_ptr<native::Background> background_;
};

static_assert(Machine<NativeMachine>);

}  // namespace holdfast
