// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/sim_machine.h"

#include <algorithm>
#include <utility>

namespace holdfast {
namespace {

SimOptions checked(SimOptions options) {
  const auto refuse = [](const std::string& why) {
    throw Error(Status(Code::invalid_argument, "simulated machine: " + why));
  };
  if (options.line_bytes != 64 && options.line_bytes != 128) {
    refuse("line_bytes is 64 or 128, not " + std::to_string(options.line_bytes));
  }
  const int most = sim::kMaxSlots - sim::kFirstWorker;
  if (options.threads < 1 || options.threads > most) {
    refuse("threads is 1 to " + std::to_string(most) + ", not " + std::to_string(options.threads));
  }
  return options;
}

sim::Runner::Threads make_threads(SimMachine& machine, const SimOptions& options) {
  sim::Runner::Threads threads;
  for (int slot = 0; slot < options.threads + sim::kFirstWorker; ++slot) {
    threads.push_back(std::make_unique<sim::SimThread>(machine, slot, options.store_buffer));
  }
  return threads;
}

}  // namespace

SimMachine::SimMachine(const SimOptions& options, const SimImage& image)
    : options_(checked(options)),
      arena_(options_.arena_bytes),
      persistence_(options_.domain, options_.line_bytes, options_.medium_limit, image),
      medium_(options_, arena_, persistence_),
      threads_(make_threads(*this, options_)),
      memory_(options_, arena_, medium_, persistence_, threads_, runner_),
      runner_(options_, threads_, memory_.as_buffer_owner(),
              std::make_unique<sim::RandomScheduler>(options_)) {
  for (const auto& thread : threads_) {
    htm_threads_.emplace_back(memory_, *thread);
  }
  sim::current_thread = threads_[sim::kMainSlot].get();
}

SimMachine::~SimMachine() {
  sim::current_thread = nullptr;
}

void SimMachine::copy(void* to, const void* from, size_t n) {
  memory().copy(to, from, n);
}

// ---- threads

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
  active_slots_ = std::max(active_slots_, n + sim::kFirstWorker);
  end_of_run([&] { runner_.run(n, work, background_ ? &background_ : nullptr); });
}

/// Whatever way the threads ended, nothing of them stays behind.
template <class F>
void SimMachine::end_of_run(F&& run) {
  try {
    run();
  } catch (const SimStuck&) {
    abandoned_ = true;
    memory_.forget_threads();
    memory_.freeze(
        Status(Code::misuse, "the simulated threads were stuck and have been abandoned"));
    throw;
  } catch (...) {
    memory_.forget_threads();
    throw;
  }
  abandoned_ = crashed();
  memory_.forget_threads();
}

bool SimMachine::run_background_once() {
  bool worked = false;
  if (background_) {
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
    active_slots_ = std::max(active_slots_, sim::kBackgroundSlot + 1);
    if (runner_.running()) {
      runner_.start_background(background_);
    }
  }
}

bool SimMachine::wait_for_change(uintptr_t address, size_t size, uint64_t bits) {
  return runner_.running() ? memory_.wait(address) : wait_outside_run(address, size, bits);
}

/// Nobody but the background thread could change the word.
bool SimMachine::wait_outside_run(uintptr_t address, size_t size, uint64_t bits) {
  memory_.check_failure();
  if (htm(self()).doomed()) {
    return false;
  }
  if (!run_background_once() && memory_.load(address, size) == bits) {
    throw SimStuck(runner_.report("deadlock: a wait outside run_threads that nobody can end"));
  }
  return true;
}

void SimMachine::pause() {
  memory_.point(sim::Op::pause);
  if (!runner_.running() && !failed()) {
    run_background_once();
  }
}

void SimMachine::work(uint64_t) {
  memory_.point(sim::Op::work);
}

uint64_t SimMachine::now() {
  memory_.point(sim::Op::now);
  return runner_.steps();
}

// ---- persistence

void SimMachine::pwb(const void* p, Site) {
  memory_.pwb(reinterpret_cast<uintptr_t>(p));
}

void SimMachine::pwb_range(const void* p, size_t n, Site site) {
  const auto begin = reinterpret_cast<uintptr_t>(p);
  for (uintptr_t line = begin & ~uintptr_t{options_.line_bytes - 1}; line < begin + n;
       line += options_.line_bytes) {
    pwb(reinterpret_cast<const void*>(line), site);
  }
}

void SimMachine::pfence(Site) {
  memory_.pfence();
}
void SimMachine::psync(Site) {
  memory_.psync();
}
void SimMachine::heavy_fence(Site) {
  memory_.heavy_fence();
}

void SimMachine::fence(Site) {
  memory_.fence();
}

PersistCounters SimMachine::counters() const {
  PersistCounters sum;
  for (const auto& thread : threads_) {
    sum += thread->counters;
  }
  return sum;
}

HtmCapabilities SimMachine::htm_capabilities() const {
  return {"simulated", true, true, options_.htm_store_lines, options_.htm_load_lines};
}

static_assert(Machine<SimMachine>);

}  // namespace holdfast
