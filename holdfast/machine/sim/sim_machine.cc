// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/sim_machine.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace holdfast {
namespace {

/// Sets the options that a machine description determines.
void take_over(const MachineDescription& machine, SimOptions& options) {
  options.line_bytes = machine.line_bytes;
  options.store_buffer = static_cast<size_t>(machine.core.store_buffer);
  options.rmw_orders_pwb = machine.persistence.rmw_orders_pwb;
  const auto lines = [&](HtmTracking tracking, size_t count) {
    // The cache limits the lines that it tracks: by its evictions on a timed machine, by its size
    // on the functional machine.
    const bool timed = options.schedule == Schedule::timed;
    const size_t cache = tracking == HtmTracking::l1 ? machine.l1.bytes : machine.llc.bytes;
    return tracking == HtmTracking::count ? count
           : timed                        ? std::numeric_limits<size_t>::max()
                                          : cache / machine.line_bytes;
  };
  options.htm_store_lines = lines(machine.htm.stores, machine.htm.store_lines);
  options.htm_load_lines = lines(machine.htm.loads, machine.htm.load_lines);
  options.htm_lines_together = machine.htm.loads_and_stores_share;
}

[[noreturn]] void refuse(const std::string& why) {
  throw Error(Status(Code::invalid_argument, "simulated machine: " + why));
}

std::unique_ptr<HardwareDesign> design_of(const SimOptions& options) {
  return options.make_design ? options.make_design() : nullptr;
}

/// Checks the options for a design, and lets the design adapt the machine description.
void fit(const HardwareDesign& design, SimOptions& options) {
  if (options.schedule != Schedule::timed || options.machine == nullptr) {
    refuse(
        "a hardware design needs a timed run and the description of a computer with caches, "
        "such as gem5-hercules");
  }
  if (options.domain != Domain::pmem && options.domain != Domain::eadr) {
    refuse(std::string("a hardware design needs domain pmem or eadr, not ") +
           to_string(options.domain));
  }
  auto machine = std::make_shared<MachineDescription>(*options.machine);
  design.adapt(*machine);
  options.machine = machine;
  options.design = options.design.empty() ? "custom" : options.design;
}

SimOptions checked(SimOptions options, const HardwareDesign* design) {
  if (options.journal && options.domain != Domain::file) {
    refuse(std::string("a journal is for domain file, not ") + to_string(options.domain));
  }
  if (design != nullptr) {
    fit(*design, options);
  }
  if (options.machine != nullptr) {
    take_over(*options.machine, options);
    if (options.threads > options.machine->hardware_threads()) {
      refuse(options.machine->name + " has " + std::to_string(options.machine->hardware_threads()) +
             " hardware threads, not " + std::to_string(options.threads));
    }
  } else if (options.schedule == Schedule::timed) {
    refuse("a timed run needs the description of a computer");
  }
  if (options.schedule == Schedule::exhaustive && options.explorer == nullptr) {
    refuse("an exhaustive schedule needs an explorer (holdfast/machine/sim/threads/scheduler.h)");
  }
  if (options.line_bytes != 64 && options.line_bytes != 128) {
    refuse("line_bytes is 64 or 128, not " + std::to_string(options.line_bytes));
  }
  const int most = sim::kMaxSlots - sim::kFirstWorker;
  if (options.threads < 1 || options.threads > most) {
    refuse("threads is 1 to " + std::to_string(most) + ", not " + std::to_string(options.threads));
  }
  return options;
}

sim::ThreadRunner::Threads make_threads(SimMachine& machine, const SimOptions& options) {
  std::vector<int> numbers(static_cast<size_t>(options.threads + sim::kFirstWorker));
  std::iota(numbers.begin(), numbers.end(), 0);
  if (options.slot_order != 0) {
    Random random(options.slot_order);
    for (size_t i = numbers.size(); i > 1; --i) {
      std::swap(numbers[i - 1], numbers[random.below(i)]);
    }
  }
  sim::ThreadRunner::Threads threads;
  threads.reserve(numbers.size());
  for (int slot = 0; slot < static_cast<int>(numbers.size()); ++slot) {
    threads.push_back(std::make_unique<sim::SimThread>(
        machine, slot, numbers[static_cast<size_t>(slot)], options.store_buffer));
  }
  return threads;
}

/// The inverse of SimThread::number.
std::vector<size_t> positions_of(const sim::ThreadRunner::Threads& threads) {
  std::vector<size_t> positions(threads.size());
  for (const auto& thread : threads) {
    positions[static_cast<size_t>(thread->number)] = static_cast<size_t>(thread->slot);
  }
  return positions;
}

bool has_design(const sim::StartImage& start) {
  return start.whole() != nullptr && has_design_state(*start.whole());
}

}  // namespace

SimMachine::SimMachine(const SimOptions& options, const sim::StartImage& start)
    : design_(design_of(options)),
      witness_(design_of(options)),
      options_(checked(options, design_.get())),
      started_with_(has_design(start)
                        ? take_apart(*start.whole(), options_.design, options_.line_bytes)
                        : DesignImage{}),
      arena_(options_.arena_bytes, options_.pages.get()),
      persistence_(options_.domain, options_.line_bytes, options_.medium_limit,
                   has_design(start) ? started_with_.medium : start, options_.pages.get(),
                   options_.journal),
      medium_(options_, arena_, persistence_),
      threads_(make_threads(*this, options_)),
      position_of_(positions_of(threads_)),
      memory_(options_, arena_, medium_, persistence_, threads_, runner_, design_.get(),
              witness_.get()),
      runner_(options_, threads_, memory_.as_buffer_owner(),
              sim::make_scheduler(options_, threads_.size())) {
  htm_threads_.reserve(threads_.size());
  for (const auto& thread : threads_) {
    htm_threads_.emplace_back(memory_, *thread);
  }
  if (!options_.mutations.empty() || options_.list_sites) {
    mutator_ =
        std::make_unique<sim::Mutator>(options_.mutations, threads_.size(), options_.line_bytes);
  }
  if (options_.lint) {
    lint_ = std::make_unique<sim::PersistLint>(options_, medium_, threads_.size());
    memory_.attach(lint_.get());
  }
  sim::current_thread = threads_[sim::kMainSlot].get();
  activate(sim::kMainSlot);
  if (has_design(start)) {
    memory_.load(std::move(started_with_.remains));
  }
  started_with_ = {};
}

SimImage SimMachine::whole(SimImage image) const {
  return memory_.design() == nullptr ? image : memory_.design()->with_design(std::move(image));
}

SimMachine::~SimMachine() {
  sim::current_thread = nullptr;
}

void SimMachine::copy(void* to, const void* from, size_t n) {
  memory().copy(to, from, n);
}

// ---- threads

SlotRange SimMachine::scan(int slots, Site site) const {
  const SlotRange all{0, std::min(active_slots_, slots)};
  return mutator_ == nullptr ? all : mutator_->scan(all, site);
}

void SimMachine::activate(int position) {
  active_slots_ = std::max(active_slots_, threads_[static_cast<size_t>(position)]->number + 1);
}

void SimMachine::run_threads(int n, FunctionRef<void(int)> work) {
  if (runner_.running()) {
    throw Error(Status(Code::misuse, "run_threads inside run_threads"));
  }
  if (n > options_.threads) {
    throw Error(Status(Code::too_many_threads, "the simulated machine has " +
                                                   std::to_string(options_.threads) +
                                                   " threads, not " + std::to_string(n)));
  }
  if (abandoned_) {
    throw Error(failure());
  }
  // Slots below the highest one in use count as active. Without a permutation these include the
  // background thread's.
  for (int i = 0; i < n; ++i) {
    activate(sim::kFirstWorker + i);
  }
  memory_.start_run(n);
  start_phases();
  end_of_run([&] { runner_.run(n, work, background_ ? &background_ : nullptr); });
}

/// Runs threads. Cleans up after them in whichever way they end.
template <class F>
void SimMachine::end_of_run(F&& run) {
  try {
    run();
    memory_.end_run();
  } catch (const SimStuck&) {
    abandoned_ = true;
    memory_.end_run();
    forget_threads();
    memory_.freeze(
        Status(Code::misuse, "the simulated threads were stuck and have been abandoned"));
    throw;
  } catch (...) {
    memory_.end_run();
    forget_threads();
    throw;
  }
  abandoned_ = crashed();
  forget_threads();
}

/// The present time for phases: the thread's clock, or the step on a functional machine.
uint64_t SimMachine::moment(const sim::SimThread& thread) const {
  return timed() ? thread.clock : runner_.steps();
}

void SimMachine::start_phases() {
  for (const auto& thread : threads_) {
    if (thread->slot != sim::kMainSlot) {  // main waits meanwhile, perhaps inside a transaction
      thread->phases.start(moment(*thread), timed());
    }
  }
}

void SimMachine::forget_threads() {
  for (const auto& thread : threads_) {
    if (thread->slot != sim::kMainSlot) {
      thread->phases.stop(moment(*thread));
      if (mutator_ != nullptr) {
        mutator_->forget(thread->slot);
      }
      if (lint_ != nullptr) {
        lint_->forget(thread->slot);
      }
    }
  }
  memory_.forget_threads();
}

Phase SimMachine::phase(Phase next) {
  sim::SimThread* const thread = sim::current_thread;
  return thread == nullptr ? next : thread->phases.enter(next, thread->machine.moment(*thread));
}

void SimMachine::transaction(TransactionKind kind) {
  if (sim::SimThread* const thread = sim::current_thread; thread != nullptr) {
    const uint64_t now = thread->machine.moment(*thread);
    if (sim::PersistLint* lint = thread->machine.lint_.get(); lint != nullptr) {
      lint->transaction(*thread, kind, thread->machine.failed());
    }
    kind == TransactionKind::none ? thread->phases.end_transaction(now)
                                  : thread->phases.begin_transaction(kind, now);
  }
}

void SimMachine::record(sim::Timeline* timeline) {
  if (timeline != nullptr) {
    timeline->begin(moment(*threads_[sim::kMainSlot]), timed());
  }
  for (const auto& thread : threads_) {
    thread->phases.record(timeline);
  }
}

bool SimMachine::run_background_once() {
  bool worked = false;
  if (background_) {
    memory_.start_run(0);
    start_phases();
    end_of_run([&] { worked = runner_.run_once(background_); });
    memory_.check_failure();
  }
  return worked;
}

void SimMachine::set_background(std::function<bool()> work) {
  if (runner_.running()) {
    runner_.stop_background();
  }
  background_ = std::move(work);
  if (background_) {
    activate(sim::kBackgroundSlot);
    if (runner_.running()) {
      runner_.start_background(background_);
    }
  }
}

bool SimMachine::wait_for_change(uintptr_t address, size_t size, uint64_t bits) {
  return runner_.running() ? memory_.wait(address) : wait_outside_run(address, size, bits);
}

/// Outside run_threads only the background thread can change the word, so it runs once.
bool SimMachine::wait_outside_run(uintptr_t address, size_t size, uint64_t bits) {
  memory_.check_failure();
  if (htm(self()).doomed()) {
    return false;
  }
  if (!run_background_once() && memory_.load(address, size) == bits) {
    throw SimStuck(runner_.report("deadlock: a wait outside run_threads that no thread can end"));
  }
  return true;
}

void SimMachine::pause() {
  memory_.pause();
  if (!runner_.running() && !failed()) {
    run_background_once();
  }
}

void SimMachine::work(uint64_t cycles) {
  memory_.work(cycles);
}

uint64_t SimMachine::now() {
  memory_.point(sim::Op::now);
  return timed() ? sim::current_thread->clock : runner_.steps();
}

// ---- persistence

inline void SimMachine::perform(const sim::SiteOperation& operation) {
  if (lint_ != nullptr) [[unlikely]] {
    lint_->asked(*sim::current_thread, operation);
  }
  switch (operation.kind) {
    case sim::SiteOperation::Kind::pwb:
      memory_.pwb(reinterpret_cast<uintptr_t>(operation.p));
      break;
    case sim::SiteOperation::Kind::pwb_range: {
      const auto begin = reinterpret_cast<uintptr_t>(operation.p);
      const size_t before = begin % options_.line_bytes;
      for (size_t at = 0; at < before + operation.n; at += options_.line_bytes) {
        memory_.pwb(begin - before + at);
      }
      break;
    }
    case sim::SiteOperation::Kind::store_nontemporal:
      memory_.store_nontemporal(const_cast<void*>(operation.p), operation.from, operation.n,
                                operation.site);
      break;
    case sim::SiteOperation::Kind::copy:
      memory_.copy(const_cast<void*>(operation.p), operation.from, operation.n);
      break;
    case sim::SiteOperation::Kind::pfence:
      memory_.pfence();
      break;
    case sim::SiteOperation::Kind::psync:
      memory_.psync();
      break;
    case sim::SiteOperation::Kind::begin_psync:
      memory_.begin_psync();
      break;
    case sim::SiteOperation::Kind::fence:
      memory_.fence();
      break;
    case sim::SiteOperation::Kind::heavy_fence:
      memory_.heavy_fence();
      break;
  }
}

// Without mutations this costs one branch: it is inlined, so the switch is resolved at compile
// time.
inline void SimMachine::submit(const sim::SiteOperation& operation) {
  if (runner_.idle_too_long()) [[unlikely]] {
    throw Error(Status(Code::misuse, "no end after " + std::to_string(options_.max_steps) +
                                         " operations outside run_threads"));
  }
  if (mutator_ == nullptr) [[likely]] {
    perform(operation);
  } else {
    mutator_->submit(sim::current_thread->slot, operation,
                     [this](const sim::SiteOperation& op) { perform(op); });
  }
}

void SimMachine::pwb(const void* p, Site site) {
  submit({sim::SiteOperation::Kind::pwb, p, 0, site});
}
void SimMachine::pwb_range(const void* p, size_t n, Site site) {
  // An engine with a planted bug may request any size.
  if (n > options_.medium_limit) {
    throw Error(Status(Code::misuse, "a write-back of " + std::to_string(n) +
                                         " bytes, more than the medium can have"));
  }
  submit({sim::SiteOperation::Kind::pwb_range, p, n, site});
}
void SimMachine::store_nontemporal(void* to, const void* from, size_t n, Site site) {
  check_nontemporal(to, from, n);
  submit({sim::SiteOperation::Kind::store_nontemporal, to, n, site, from});
}
void SimMachine::pfence(Site site) {
  submit({sim::SiteOperation::Kind::pfence, nullptr, 0, site});
}
void SimMachine::psync(Site site) {
  using Kind = sim::SiteOperation::Kind;
  submit({psyncs_lag_ ? Kind::begin_psync : Kind::psync, nullptr, 0, site});
}

uint64_t SimMachine::begin_psync(Site site) {
  using Kind = sim::SiteOperation::Kind;
  submit({options_.journal ? Kind::begin_psync : Kind::psync, nullptr, 0, site});
  return options_.journal && !psyncs_lag_ ? persistence_.position() : 0;
}
void SimMachine::fence(Site site) {
  submit({sim::SiteOperation::Kind::fence, nullptr, 0, site});
}
void SimMachine::heavy_fence(Site site) {
  submit({sim::SiteOperation::Kind::heavy_fence, nullptr, 0, site});
}
void SimMachine::light_fence() {
  memory_.light_fence();
}

std::vector<LintRow> SimMachine::lint_report() const {
  return lint_ == nullptr ? std::vector<LintRow>() : lint_->report();
}

std::vector<SiteUse> SimMachine::sites() const {
  return options_.list_sites ? mutator_->sites() : std::vector<SiteUse>();
}

void SimMachine::for_each_site(FunctionRef<void(const char*, SiteKind, uint64_t)> f) const {
  if (options_.list_sites) {
    mutator_->for_each_site(f);
  }
}

PersistCounters SimMachine::counters() const {
  PersistCounters sum;
  for (const auto& thread : threads_) {
    sum += thread->counters;
  }
  return sum;
}

SimCounters SimMachine::statistics() const {
  SimCounters sum;
  for (const auto& thread : threads_) {
    sum += thread->stats;
  }
  return sum;
}

HtmCapabilities SimMachine::htm_capabilities() const {
  HtmCapabilities can{.backend = "simulated",
                      .untracked_loads = true,
                      .suspend = true,
                      .store_lines = options_.htm_store_lines,
                      .load_lines = options_.htm_load_lines,
                      .suspend_loads = true};
  if (options_.machine != nullptr) {
    const HtmDescription& htm = options_.machine->htm;
    if (!htm.present) {
      return {};
    }
    can.untracked_loads = htm.rollback_only || htm.suspend_load_tracking;
    can.suspend = htm.suspend;
    can.suspend_loads = htm.suspend_load_tracking;
  }
  return can;
}

static_assert(Machine<SimMachine>);
static_assert(HardwareTransactions<SimMachine>);

bool compare_exchange(SimMachine& machine, DoubleWord* at, DoubleWord& expected,
                      const DoubleWord& desired) {
  if (reinterpret_cast<uintptr_t>(at) % sizeof(DoubleWord) != 0) {
    throw_misaligned_double_word();
  }
  return machine.memory_.compare_exchange(at, expected, desired);
}

}  // namespace holdfast
